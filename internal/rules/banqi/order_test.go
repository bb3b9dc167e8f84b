package banqi

import (
	"slices"
	"strings"
	"testing"

	"referee.example/internal/rules"
)

// meeting is a game whose last ply meets several endings at once.
type meeting struct {
	position string
	actions  string
	endings  []string
	winners  map[string]rules.SeatSet // of the endings that are no draws
}

var meetings = []meeting{
	// The advisor's second step is its side's first foul, walls the chariot in,
	// and is the third quiet ply of a game of three plies.
	{"----/----/----/----/----/----/K-G-/-r-- red", "c2-c1 b1-a1 c1-b1", []string{"fouls", "no_legal_action", "idle", "max_plies"},
		map[string]rules.SeatSet{"fouls": rules.SeatsOf(1), "no_legal_action": rules.SeatsOf(0)}},
	// Here the position of before comes back, with black to move.
	{"P---/----/----/----/-r--/-G--/----/---p black seat=1 ply=0", "b4-c4 b3-c3 c4-b4 c3-b3", []string{"fouls", "repetition", "idle", "max_plies"},
		map[string]rules.SeatSet{"fouls": rules.SeatsOf(1)}},
	{"----/----/----/----/----/----/----/Rn-- red", "a1-b1", []string{"all_captured", "no_legal_action", "max_plies"},
		map[string]rules.SeatSet{"all_captured": rules.SeatsOf(0), "no_legal_action": rules.SeatsOf(0)}},
}

// TestEndingOrder: of the endings that one ply meets, the first in the ruleset's
// order decides, whatever that order is.
func TestEndingOrder(t *testing.T) {
	for _, m := range meetings {
		actions := strings.Fields(m.actions)
		r := allRules(t)["foul-at-once"]
		r.Idle, r.Repetition, r.MaxPlies = Idle{Limit: max(3, len(actions))}, Repetition{Kind: "position", Times: 2}, len(actions)
		for _, r.EndingOrder = range permutations(DefaultEndingOrder()) {
			g, err := Compile(r)
			if err != nil {
				t.Fatal(err)
			}
			s := position(t, g, m.position)
			for _, action := range actions {
				if s.outcome.Over() {
					t.Fatalf("over before %s", action)
				}
				(&ruleCase{}).play(t, g, &s, action)
			}
			first := slices.IndexFunc(r.EndingOrder, func(e string) bool { return slices.Contains(m.endings, e) })
			want := r.EndingOrder[first]
			if got := outcomeNames[s.outcome.Reason]; got != want || s.outcome.Winners != m.winners[want] {
				t.Fatalf("%s in the order %v: ended by %s, %+v", m.actions, r.EndingOrder, got, s.outcome)
			}
		}
	}
}

// permutations returns all orders of the words.
func permutations(words []string) [][]string {
	if len(words) == 0 {
		return [][]string{nil}
	}
	var all [][]string
	for i, first := range words {
		rest := slices.Concat(words[:i], words[i+1:])
		for _, tail := range permutations(rest) {
			all = append(all, append([]string{first}, tail...))
		}
	}
	return all
}
