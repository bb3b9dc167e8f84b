package main

import (
	"os"
	"testing"

	"referee.example/internal/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// TestMovesLeaveNoBloat plays twenty thousand moves on a hundred matches: in steady
// state nearly every move's row stays on its page, and what they leave behind is
// cleared. `make soak-moves` plays a million on a thousand.
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
	// while, as an autovacuum that analyzes does, so the best part counts, and less is
	// asked of it than the long soak shows. Were an indexed column written, none would be.
	best := 0.0
	for i, s := range all {
		t.Logf("part %d: %d moves, %d updates, %d heap-only, table %d bytes, indexes %d", i, s.played, s.updates, s.hot, s.heap, s.indexes)
		if s.updates < s.played {
			t.Errorf("part %d: %d updates were counted for %d moves", i, s.updates, s.played)
		}
		if i > 0 {
			best = max(best, s.share())
		}
	}
	if best < 0.8 {
		t.Errorf("at best %.0f %% of a part's updates were heap-only", 100*best)
	}
	// Each version of a state takes more than a kilobyte: were none cleared, the table
	// would have more than twenty megabytes. How much room it settles at within so few
	// moves is the machine's doing: up to a fifth of that was seen.
	if last := all[parts-1].heap; last > 10_000_000 {
		t.Errorf("a hundred states take %d bytes after %d moves", last, moves)
	}
}
