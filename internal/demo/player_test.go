package demo

import (
	"math/rand/v2"
	"strings"
	"testing"

	refereev1 "referee.example/proto/referee/v1"
)

func mustParse(t *testing.T, text string) board {
	t.Helper()
	b, err := parseBoard(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestParseBoard(t *testing.T) {
	b := mustParse(t, "K---/----/----/----/----/----/-X--/g--p")
	for square, want := range map[string]byte{"a8": 'K', "d1": 'p', "a1": 'g', "b2": faceDown, "c5": emptySquare} {
		at, ok := parseSquare(square)
		if !ok || b[at] != want {
			t.Errorf("%s: got %q, want %q", square, b[at], want)
		}
	}
	for _, name := range []string{"", "a", "e1", "a9", "a0", "a10", "A1"} {
		if _, ok := parseSquare(name); ok {
			t.Errorf("%q is a square", name)
		}
	}
}

func action(from, to, captures string) *refereev1.LegalAction {
	return &refereev1.LegalAction{Action: &refereev1.Action{From: from, To: to}, Captures: captures}
}

func TestChoose(t *testing.T) {
	cases := []struct {
		name, board string
		actions     []*refereev1.LegalAction
		want        int
	}{
		{"captures rather than flips", "X---/----/----/----/Gm--/----/----/----",
			[]*refereev1.LegalAction{action("a8", "", ""), action("a4", "b4", "m"), action("a4", "a5", "")}, 1},
		{"captures the greater", "----/----/----/-k--/CPg-/-r--/----/----",
			[]*refereev1.LegalAction{action("a4", "c4", "g"), action("b4", "b5", "k")}, 1},
		{"leaves a guarded soldier alone", "----/----/----/----/Gp--/-k--/----/----",
			[]*refereev1.LegalAction{action("a4", "b4", "p"), action("a4", "a5", "")}, 1},
		{"runs from a threat", "----/----/----/----/Rg--/X---/----/----",
			[]*refereev1.LegalAction{action("a3", "", ""), action("a4", "a5", "")}, 1},
		{"does not walk before a cannon", "----/----/----/----/K---/-X-c/----/----",
			[]*refereev1.LegalAction{action("a4", "a3", ""), action("a4", "b4", "")}, 1},
		{"goes after what it takes", "----/----/----/----/K---/----/----/---g",
			[]*refereev1.LegalAction{action("a4", "a5", ""), action("a4", "b4", "")}, 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for seed := range uint64(20) {
				p := player{rand.New(rand.NewPCG(seed, 0))}
				if got := p.choose(mustParse(t, c.board), c.actions); got != c.actions[c.want] {
					t.Fatalf("seed %d: it chose %v", seed, got.GetAction())
				}
			}
		})
	}
}

func TestThreatened(t *testing.T) {
	cases := []struct {
		board, square string
		want          bool
	}{
		{"----/----/----/----/Kp--/----/----/----", "a4", true},
		{"----/----/----/----/Kp--/----/----/----", "b4", false},
		{"----/----/----/----/K-p-/----/----/----", "a4", false},
		{"----/----/----/----/cP--/----/----/----", "b4", false},
		{"----/----/----/----/cXK-/----/----/----", "c4", true},
		{"----/----/----/----/cXXK/----/----/----", "d4", false},
		{"c---/----/X---/----/K---/----/----/----", "a4", true},
		{"c---/----/X---/----/k---/----/----/----", "a4", false},
	}
	for _, c := range cases {
		square, _ := parseSquare(c.square)
		if got := threatened(mustParse(t, c.board), square); got != c.want {
			t.Errorf("%s %s: got %t", c.board, c.square, got)
		}
	}
}

func TestHopeless(t *testing.T) {
	open := "K---/----/----/----/g---/----/----/----"
	cases := []struct {
		board, colour string
		quiet         uint32
		want          bool
	}{
		{open, "black", 24, true},
		{open, "black", 23, false},
		{open, "red", 40, false},
		{strings.Replace(open, "-", "X", 1), "black", 40, false},
		{"K---/----/----/----/k---/----/----/----", "red", 40, false},
	}
	for _, c := range cases {
		if got := hopeless(mustParse(t, c.board), c.colour, c.quiet); got != c.want {
			t.Errorf("%s, %s, %d quiet: got %t", c.board, c.colour, c.quiet, got)
		}
	}
}
