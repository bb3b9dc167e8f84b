package main

import (
	"math"
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
	// A session that a busy machine holds up keeps old versions on their pages for a
	// while, as an autovacuum that analyzes does, so the best part counts: moves that
	// left bloat would in all of them.
	best, least := 0.0, math.Inf(1)
	for i, s := range all {
		t.Logf("part %d: %d moves, %d updates, %d heap-only, table %d bytes, indexes %d", i, s.played, s.updates, s.hot, s.heap, s.indexes)
		if s.updates < s.played {
			t.Errorf("part %d: %d updates were counted for %d moves", i, s.updates, s.played)
		}
		if i > 0 {
			best = max(best, s.share())
			least = min(least, float64(s.heap)/float64(all[i-1].heap))
		}
	}
	if best < 0.95 {
		t.Errorf("at best %.0f %% of a part's updates were heap-only", 100*best)
	}
	if least > 1.1 {
		t.Errorf("the table grew by %.0f %% at least in each part", 100*(least-1))
	}
}
