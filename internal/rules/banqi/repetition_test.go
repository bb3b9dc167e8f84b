package banqi

import (
	"fmt"
	"testing"

	"referee.example/internal/rules"
)

// path is a walk over squares and back the same way: 2*(len-1) plies of a side.
func path(names ...string) []string {
	var walk []string
	for i := 1; i < len(names); i++ {
		walk = append(walk, names[i-1]+"-"+names[i])
	}
	for i := len(names) - 1; i > 0; i-- {
		walk = append(walk, names[i]+"-"+names[i-1])
	}
	return walk
}

// weave alternates two walks of equal length.
func weave(red, black []string) []string {
	var plies []string
	for i := range red {
		plies = append(plies, red[i], black[i])
	}
	return plies
}

// redLane and blackLane are the squares of the left and the right half, from
// one end of a lane without crossings to the other.
var (
	redLane   = []string{"a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "b8", "b7", "b6", "b5", "b4", "b3", "b2", "b1"}
	blackLane = []string{"d8", "d7", "d6", "d5", "d4", "d3", "d2", "d1", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8"}
)

// TestCycles: a cycle of n plies draws on ply 3n, not before, and the proof is
// those plies; the longest is 60.
func TestCycles(t *testing.T) {
	g := compiled(t, "daily")
	for _, n := range []int{4, 8, 12, 28, 60, 64} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			steps := min(n/4, 15) + 1
			red, black := path(redLane[:steps]...), path(blackLane[:steps]...)
			if n == 64 {
				red, black = append(red, path(redLane[:2]...)...), append(black, path(blackLane[:2]...)...)
			}
			cycle := weave(red, black)
			if len(cycle) != n {
				t.Fatalf("the cycle has %d plies", len(cycle))
			}
			s := position(t, g, "---r/----/----/----/----/----/----/R--- red")
			for i := range 3 * n {
				if s.outcome.Over() {
					t.Fatalf("over on ply %d: %+v", i, s.outcome)
				}
				(&ruleCase{}).play(t, g, &s, cycle[i%n])
			}
			want := rules.Outcome{Reason: rules.EndRepetition, FirstPly: 1, LastPly: 3 * n}
			if n == 64 {
				want = rules.Outcome{}
			}
			if s.outcome != want {
				t.Errorf("outcome %+v, want %+v", s.outcome, want)
			}
		})
	}
}

// TestCycleAfterApproach: a cycle of 60 plies three times over is found wherever
// it begins and wherever the history was cut. Here it begins in the approach,
// whose last 14 plies are those of the cycle.
func TestCycleAfterApproach(t *testing.T) {
	g := compiled(t, "daily")
	s := position(t, g, "---r/----/----/----/----/----/----/R--- red")
	approach := weave(path(redLane[:8]...), path(blackLane[:8]...)) // 28 plies, walked twice
	plies := append(append([]string{}, approach...), approach...)
	longest := weave(path(redLane...), path(blackLane...))
	for range 3 {
		plies = append(plies, longest...)
	}
	straight := s
	for i, ply := range plies[:222] {
		if s.outcome.Over() {
			t.Fatalf("over on ply %d", i)
		}
		(&ruleCase{}).play(t, g, &s, ply)
		(&ruleCase{}).play(t, g, &straight, ply)
		copied := position(t, g, g.Text(&s))
		if text := g.Text(&straight); g.Text(&copied) != text || g.Text(&s) != text {
			t.Fatalf("ply %d: %s\nis not %s", i+1, g.Text(&copied), text)
		}
		s = copied
		stored, err := g.DecodeBinary(g.AppendBinary(nil, &straight))
		if err != nil || g.Text(&stored) != g.Text(&straight) {
			t.Fatalf("ply %d: stored as %s, %v", i+1, g.Text(&stored), err)
		}
	}
	if want := (rules.Outcome{Reason: rules.EndRepetition, FirstPly: 43, LastPly: 222}); s.outcome != want {
		t.Errorf("outcome %+v, want %+v", s.outcome, want)
	}
}

// TestPositionLongAgo: an occurrence further back than a history holds without
// allocating still counts.
func TestPositionLongAgo(t *testing.T) {
	r := allRules(t)["icga"]
	r.Idle = Idle{}
	g, err := Compile(r)
	if err != nil {
		t.Fatal(err)
	}
	s := position(t, g, "---r/----/----/----/----/----/----/R--- red")
	// Two loops of 16 and 14 squares: they meet again after 112 turns each.
	red := append(path(redLane...)[:15], "b1-a1")
	black := append(path(blackLane[1:15]...)[:13], "c7-d7")
	s.board.move(31, 27) // black starts on d7
	for i := range 448 {
		if s.outcome.Over() {
			t.Fatalf("over on ply %d: %+v", i, s.outcome)
		}
		ply := red[i/2%16]
		if i%2 == 1 {
			ply = black[i/2%14]
		}
		(&ruleCase{}).play(t, g, &s, ply)
	}
	if want := (rules.Outcome{Reason: rules.EndRepetition, FirstPly: 0, LastPly: 448}); s.outcome != want {
		t.Errorf("outcome %+v, want %+v", s.outcome, want)
	}
}

// TestHistoryCopies: copies of a state go their own ways, however long; and the
// history of a cycle rule stays about as long as the rule looks back. Two
// cannons without a third piece never take each other.
func TestHistoryCopies(t *testing.T) {
	g := compiled(t, "daily")
	s := position(t, g, "---c/----/----/----/----/----/----/C--- red")
	var room [MaxActions]rules.Action
	walk := func(s *State, d dice) {
		for range 30 {
			if actions := g.List(s, room[:0]); len(actions) > 0 {
				if _, err := g.Apply(s, actions[d.IntN(len(actions))], rules.NoPiece); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	trunk := newDice(5)
	for round := range uint64(30) {
		one, other := s, s
		walk(&one, newDice(round))
		want := g.Text(&one)
		walk(&other, newDice(round+100))
		if got := g.Text(&one); got != want {
			t.Fatalf("playing one copy changed another:\n%s\n%s", want, got)
		}
		walk(&s, trunk)
	}
	if n := s.history.len(); s.Ply() != 900 || n > g.keep()+2*recentPlies {
		t.Errorf("%d plies of history after %d", n, s.Ply())
	}
}

// TestEqualKeys: arrangements are told apart even where their keys agree.
func TestEqualKeys(t *testing.T) {
	g := compiled(t, "icga")
	s := position(t, g, "---r/----/----/----/----/----/----/R--- red")
	for _, ply := range weave(path(redLane[:4]...), path(blackLane[:4]...)) {
		(&ruleCase{}).play(t, g, &s, ply)
		for i := range s.history.count {
			s.history.recent[i] &= plyAction | plyExempt // all keys 0
		}
		if n := s.history.occurrences(&s.board, 3); n >= 0 {
			t.Fatalf("ply %d: third occurrence after %d plies", s.ply, n)
		}
	}
	if n := s.history.occurrences(&s.board, 2); n != 0 {
		t.Errorf("the start's second occurrence goes back to %d", n)
	}
}

// TestRequestRunsOut: a count runs through 50 quiet plies from the requester's
// next ply on, restarts after a capture, and draws on the last.
func TestRequestRunsOut(t *testing.T) {
	g := compiled(t, "mingjian-2026")
	s := position(t, g, "---r/----/----/----/----/----/--p-/R-K- red")
	c := ruleCase{}
	c.play(t, g, &s, "a1-a2")
	c.play(t, g, &s, "d8-d7")
	if i := g.RequestCount(&s, 1); i.Rule != RuleTurn {
		t.Fatalf("a request on the other's turn: %v", i.Rule)
	}
	c.play(t, g, &s, "request")
	walk := weave(path("a2", "a3"), path("d7", "d6"))
	for i := range 49 {
		c.play(t, g, &s, walk[i%4])
	}
	if s.Idle() != 49 || s.Requester() != 0 || s.Turn() != 1 {
		t.Fatalf("idle %d, requester %d, turn %d", s.Idle(), s.Requester(), s.Turn())
	}
	c.play(t, g, &s, "c2-c1") // black's soldier takes the general
	if s.Idle() != 0 || s.outcome.Over() {
		t.Fatalf("after the capture idle is %d, outcome %+v", s.Idle(), s.outcome)
	}
	walk = weave(path("a3", "a2"), path("d7", "d6"))
	for i := range 50 {
		if s.outcome.Over() {
			t.Fatalf("over after %d quiet plies", i)
		}
		c.play(t, g, &s, walk[i%4])
	}
	if want := (rules.Outcome{Reason: rules.EndIdle, FirstPly: 53, LastPly: 102}); s.outcome != want {
		t.Errorf("outcome %+v, want %+v", s.outcome, want)
	}
	if i := g.RequestCount(&s, s.Turn()); i.Rule != RuleGameOver {
		t.Errorf("a request after the end: %v", i.Rule)
	}
}
