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

// TestNotationRefuses: what is no action is none, however near it comes.
func TestNotationRefuses(t *testing.T) {
	for _, text := range []string{
		"", "a", "a1 ", "e1", "a9", "(n)", "a1(", "a1n)", "a1(n", "a1(X)", "a1(q)", "a1[n)", "a1(n]", "(n)a1", "a1((n)",
		"a1a2", "a1_a2", "a1-a", "a1-a9", "e1-a1", "a1-a22", "a1--a2", "a1-a2(n)(n)", "Stop", "stop(n)",
	} {
		if a, turned, err := ParseAction(text); err == nil || a != (rules.Action{}) || turned != rules.NoPiece {
			t.Errorf("%q is read as %v, %d, %v", text, a, turned, err)
		}
	}
}
