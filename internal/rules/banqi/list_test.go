package banqi

import (
	"slices"
	"testing"

	"referee.example/internal/rules"
)

// TestListAppends: a list goes behind what stands there, with whatever room, and
// is the same each time.
func TestListAppends(t *testing.T) {
	g := compiled(t, "7club-standard")
	s := position(t, g, midgame)
	want := g.List(&s, nil)
	for length := range 3 {
		for room := range MaxActions + 2 {
			before := make([]rules.Action, length, length+room)
			for i := range before {
				before[i] = rules.Stop()
			}
			got := g.List(&s, before)
			if len(got) != length+len(want) || !slices.Equal(got[length:], want) || slices.ContainsFunc(got[:length], func(a rules.Action) bool { return a != rules.Stop() }) {
				t.Fatalf("behind %d actions with room for %d: %v", length, room, got)
			}
		}
	}
}
