package main

import (
	"os"
	"testing"

	"referee.example/internal/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// TestMovesLeaveNoBloat plays twenty thousand moves on a hundred matches: in steady
// state nearly every move's row stays on its page, and the table of states has
// stopped growing. `make soak-moves` plays a million on a thousand.
func TestMovesLeaveNoBloat(t *testing.T) {
	b := &bench{url: pgtest.New(t).URL, maxConns: 8}
	if err := b.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer b.close()
	// The first part fills the room that pages keep. Autovacuum is not waited for:
	// dead rows of moves are cleared by the moves after them.
	const moves, parts = 20_000, 4
	phases := make([]phase, parts)
	for i := range phases {
		phases[i] = phase{name: "nothing", moves: moves / parts}
	}
	all, err := b.soak(t.Context(), 100, phases)
	if err != nil {
		t.Fatal(err)
	}
	var updates, hot int64
	for i, s := range all {
		t.Logf("part %d: %d moves, %d updates, %d heap-only, table %d bytes, indexes %d", i, s.played, s.updates, s.hot, s.heap, s.indexes)
		if i > 0 {
			updates += s.updates
			hot += s.hot
		}
	}
	if updates < moves*(parts-1)/parts {
		t.Errorf("%d updates were counted", updates)
	}
	if 100*hot < 95*updates {
		t.Errorf("%d of %d updates were heap-only, want 95 of 100", hot, updates)
	}
	// It holds the matches that have ended besides, which are a few in a part.
	first, last := all[0], all[parts-1]
	if last.heap > 2*first.heap {
		t.Errorf("the table grew from %d to %d bytes", first.heap, last.heap)
	}
}
