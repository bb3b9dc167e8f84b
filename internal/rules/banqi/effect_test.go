package banqi

import (
	"fmt"
	"strings"
	"testing"

	"referee.example/internal/rules"
)

// TestEffects compares everything that an applied action reports.
func TestEffects(t *testing.T) {
	var cases []struct {
		Rules    string `json:"rules"`
		Position string `json:"position"`
		Action   string `json:"action"`
		Effect   string `json:"effect"` // as effectText writes it
	}
	readJSON(t, "effects.json", &cases)
	all := games(t)
	for _, c := range cases {
		t.Run(c.Rules+" "+c.Position+" "+c.Action, func(t *testing.T) {
			g := all[c.Rules]
			s := position(t, g, c.Position)
			a, turned, err := ParseAction(c.Action)
			if err != nil {
				t.Fatal(err)
			}
			if listed := g.Manner(&s, a).String(); !strings.HasPrefix(c.Effect, listed+" ") {
				t.Errorf("before it is played it is a %s", listed)
			}
			e, err := g.Apply(&s, a, turned)
			if err != nil {
				t.Fatal(err)
			}
			if got := effectText(e); got != c.Effect {
				t.Errorf("%s\nwant %s", got, c.Effect)
			}
			if e.Outcome != s.outcome {
				t.Errorf("the effect's outcome is %+v, the state's %+v", e.Outcome, s.outcome)
			}
		})
	}
}

// TestNoManner: what is no action has no manner and turns nothing.
func TestNoManner(t *testing.T) {
	g := compiled(t, "standard")
	s := g.Start(0)
	if got := g.Manner(&s, rules.Action{}); got.String() != "none" || g.TurnsFace(&s, rules.Action{}) {
		t.Errorf("it is a %s", got)
	}
	if got := FormatAction(rules.Action{}, rules.NoPiece); got != "none" {
		t.Errorf("it is written %q", got)
	}
	for rule, want := range map[rules.Rule]string{"": "", RuleAction: "no such action on this board", RuleTurn: "it is the other seat's turn"} {
		if got := g.Describe(rules.Illegal{Rule: rule}); got != want {
			t.Errorf("%q is told as %q, want %q", rule, got, want)
		}
	}
	_, err := g.Apply(&s, rules.Stop(), rules.NoPiece)
	if err == nil || err.Error() != "illegal action: no_chain" {
		t.Errorf("refused as %v", err)
	}
}

// TestUnknownActions: what is no action on this board is refused as that, about
// no square, whatever stands on the squares it names.
func TestUnknownActions(t *testing.T) {
	g := compiled(t, "standard")
	up, down := position(t, g, "P---/----/----/----/-r--/--G-/----/---p red"), g.Start(0)
	for _, a := range []rules.Action{
		{}, {Kind: rules.ActionStop + 1, From: 0, To: 1},
		rules.Flip(squares), rules.Flip(rules.NoSquare), {Kind: rules.ActionFlip, From: 0, To: 1}, {Kind: rules.ActionFlip, From: squares, To: 1},
		rules.Move(squares, 0), rules.Move(0, squares), rules.Move(squares, squares), rules.Move(rules.NoSquare, 0), rules.Move(0, rules.NoSquare),
		{Kind: rules.ActionStop, From: 0, To: rules.NoSquare}, {Kind: rules.ActionStop, From: rules.NoSquare, To: 0},
	} {
		for _, s := range []State{up, down} {
			want := rules.Illegal{Rule: RuleAction, Squares: [2]rules.Square{rules.NoSquare, rules.NoSquare}}
			if i := g.Check(&s, s.turn, a); i != want {
				t.Errorf("%+v is refused as %+v", a, i)
			}
		}
	}
}

// effectText writes an effect; what is absent is left out.
func effectText(e Effect) string {
	text := fmt.Sprintf("%s seat=%d", e.Manner, e.Seat)
	for _, p := range []struct {
		name  string
		piece rules.Piece
	}{{"mover", e.Mover}, {"turned", e.Turned}, {"captured", e.Captured}} {
		if p.piece != rules.NoPiece {
			text += fmt.Sprintf(" %s=%c", p.name, PieceLetter(p.piece))
		}
	}
	if e.CapturedBy != rules.NoSeat {
		text += fmt.Sprintf(" by=%d", e.CapturedBy)
	}
	for _, f := range []struct {
		name string
		is   bool
	}{{"failed", e.Failed}, {"goes-on", !e.TurnEnded}, {"merit", e.Merit}, {"disputable", e.Foul.Disputable}} {
		if f.is {
			text += " " + f.name
		}
	}
	if e.Foul.Number > 0 {
		text += fmt.Sprintf(" foul=%d", e.Foul.Number)
	}
	if e.Outcome.Over() {
		text += " " + ResultOf(e.Outcome, 0).String()
	}
	return text
}

// TestRefusals compares whole refusals: rule, squares, what stands there, count.
func TestRefusals(t *testing.T) {
	var cases []struct {
		Rules    string `json:"rules"`
		Position string `json:"position"`
		Action   string `json:"action"`
		Refusal  string `json:"refusal"` // rule, each square with its piece, count
	}
	readJSON(t, "refusals.json", &cases)
	all := games(t)
	for _, c := range cases {
		t.Run(c.Rules+" "+c.Position+" "+c.Action, func(t *testing.T) {
			g := all[c.Rules]
			s := position(t, g, c.Position)
			a, _, err := ParseAction(c.Action)
			if err != nil {
				t.Fatal(err)
			}
			i := g.Check(&s, s.turn, a)
			got := string(i.Rule)
			for n, square := range i.Squares {
				if square != rules.NoSquare {
					got += fmt.Sprintf(" %s=%c", SquareName(square), PieceLetter(i.Pieces[n]))
				}
			}
			if got += fmt.Sprintf(" %d", i.Count); got != c.Refusal {
				t.Errorf("refused by %q, want %q", got, c.Refusal)
			}
		})
	}
}
