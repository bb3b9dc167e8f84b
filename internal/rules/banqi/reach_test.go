package banqi

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"referee.example/internal/rules"
)

// TestEveryRuleIsReached: each refusal that has a sentence is met by a case, so
// that none is dead or unworded.
func TestEveryRuleIsReached(t *testing.T) {
	met := map[string]bool{
		string(RuleTurn): true, string(RuleAction): true, // TestListedIsAccepted
	}
	var cases []ruleCase
	readJSON(t, "own_cases.json", &cases)
	for _, c := range cases {
		met[c.Rule] = true
	}
	for rule := range sentences {
		if !met[string(rule)] {
			t.Errorf("no case is refused by %s", rule)
		}
	}
}

// TestView compares whole views: a standing chase, and the pause after it.
func TestView(t *testing.T) {
	g := compiled(t, "7club-standard")
	s := position(t, g, "P---/----/----/----/-r--/--G-/----/---p red ply=9 idle=4 turns=4,5 captured=Pnk chase0=c3>b4:b4x5")
	want := View{
		Board: "P---/----/----/----/-r--/--G-/----/---p", Colours: [2]Colour{Red, Black}, Ply: 9, Turns: [2]int{4, 5},
		Captured: [2][]rules.Piece{{BlackGeneral, BlackHorse}, {RedSoldier}}, Idle: 4, IdleLimit: 50,
		Requester: rules.NoSeat, Chain: rules.NoSquare,
		Chases: []ChaseView{{Chaser: 0, Piece: 10, Targets: []ChaseTarget{{13, 5}}, Allowed: 6}},
	}
	if got := g.View(&s, rules.NoSeat); !reflect.DeepEqual(got, want) {
		t.Errorf("view %+v\nwant %+v", got, want)
	}
	if s.Captures(0) != 2 || s.Captures(1) != 1 || s.Captures(rules.NoSeat) != 0 {
		t.Errorf("captures %d and %d", s.Captures(0), s.Captures(1))
	}
	(&ruleCase{}).play(t, g, &s, "c3-b3")
	want.Board, want.ToMove, want.Ply, want.Turns, want.Idle = "P---/----/----/----/-r--/-G--/----/---p", 1, 10, [2]int{5, 5}, 5
	want.Chases[0].Piece, want.Chases[0].Targets[0].Length = 9, 6
	want.Pauses = []PauseView{{Chaser: 0, Piece: 9, Target: 13}}
	for _, viewer := range []rules.Seat{0, 1, rules.NoSeat} {
		if got := g.View(&s, viewer); !reflect.DeepEqual(got, want) {
			t.Errorf("seat %d sees %+v\nwant %+v", viewer, got, want)
		}
	}
}

// TestViewOfRequest: the limit shows once a count is running.
func TestViewOfRequest(t *testing.T) {
	g := compiled(t, "mingjian-2026")
	s := position(t, g, "P---/----/----/----/-r--/--G-/----/---p red")
	before := g.View(&s, 0)
	g.RequestCount(&s, 0)
	after := g.View(&s, 0)
	if before.IdleLimit != 0 || before.Requester != rules.NoSeat || after.IdleLimit != 50 || after.Requester != 0 {
		t.Errorf("before %+v, after %+v", before, after)
	}
}

// TestCanWinByChain: several captures in one turn may be what wins.
func TestCanWinByChain(t *testing.T) {
	for _, c := range []struct {
		rules, position string
		want            bool
	}{
		{"open-chain", "----/----/----/----/----/g---/G---/P--- black", true},
		{"standard", "----/----/----/----/----/g---/G---/P--- black", false},
		{"open-chain", "R---/----/----/----/----/g---/G---/P--- black", false}, // the chain leaves the chariot
		{"open-chain", "----/----/----/----/g---/G---/P---/PP-- black", true},  // round the corner
		{"open-chain", "----/----/----/----/g---/G---/P---/XP-- black", false}, // the way is barred
	} {
		g := compiled(t, c.rules)
		s := position(t, g, c.position)
		if got := g.canWin(&s); got != c.want {
			t.Errorf("%s, %s: %v", c.rules, c.position, got)
		}
	}
}

// TestVocabulary pins letters, characters, ranks and the deck's order: they
// stand in stored games.
func TestVocabulary(t *testing.T) {
	var deck []byte
	count := make(map[rules.Piece]int)
	for _, p := range Deck() {
		deck = append(deck, PieceLetter(p))
		count[p]++
		if again, err := ParsePiece(PieceLetter(p)); again != p || err != nil {
			t.Errorf("%c is read as %d, %v", PieceLetter(p), again, err)
		}
	}
	if string(deck) != "KGGMMRRNNCCPPPPPkggmmrrnnccppppp" {
		t.Errorf("deck %s", deck)
	}
	var names strings.Builder
	for _, p := range []rules.Piece{RedGeneral, RedAdvisor, RedElephant, RedChariot, RedHorse, RedCannon, RedSoldier,
		BlackGeneral, BlackAdvisor, BlackElephant, BlackChariot, BlackHorse, BlackCannon, BlackSoldier, FaceDown, rules.NoPiece, codes, 99} {
		names.WriteString(PieceName(p))
	}
	if names.String() != "帥仕相俥傌炮兵將士象車馬包卒暗" {
		t.Errorf("names %s", names.String())
	}
	for _, a := range Deck() {
		for _, b := range Deck() {
			order := strings.IndexByte(rankLetters, PieceLetter(b&rankMask)) - strings.IndexByte(rankLetters, PieceLetter(a&rankMask))
			if Higher(a, b) != order {
				t.Errorf("%s is higher than %s by %d, want %d", PieceName(a), PieceName(b), Higher(a, b), order)
			}
		}
	}
	for p, want := range map[rules.Piece]Colour{RedSoldier: Red, RedGeneral: Red, BlackSoldier: Black, BlackGeneral: Black,
		rules.NoPiece: NoColour, FaceDown: NoColour, codes: NoColour, codes + 1: NoColour} {
		if got := PieceColour(p); got != want {
			t.Errorf("%s is %v, want %v", PieceName(p), got, want)
		}
	}
	if PieceLetter(codes) != '?' {
		t.Errorf("what is no piece has the letter %c", PieceLetter(codes))
	}
	for _, letter := range []byte("X-?Qz\x00") {
		if _, err := ParsePiece(letter); !errors.Is(err, ErrPiece) {
			t.Errorf("%q is read as a piece", letter)
		}
	}
	for square := range rules.Square(squares) {
		if again, err := ParseSquare(SquareName(square)); again != square || err != nil {
			t.Errorf("%s is read as %d, %v", SquareName(square), again, err)
		}
	}
	for _, name := range []string{"", "a", "@1", "e1", "a0", "a9", "1a", "A1", "a11", "a1 "} {
		if square, err := ParseSquare(name); !errors.Is(err, ErrSquare) || square != rules.NoSquare {
			t.Errorf("%q is read as the square %d, %v", name, square, err)
		}
	}
	if SquareName(0)+SquareName(1)+SquareName(31)+SquareName(32) != "a1b1d8??" {
		t.Error("squares are misnamed")
	}
}

// TestBinary: a state is small, and damaged bytes are refused.
func TestBinary(t *testing.T) {
	g := compiled(t, "7club-standard")
	s := position(t, g, "P---/----/----/----/-r--/--G-/----/---p red ply=200 idle=3 turns=100,100 captured=KGMMRRNNCCPPPPkggmmrnnccpppp chase0=c3>b4:b4x5")
	b := g.AppendBinary(nil, &s)
	if len(b) > 48 {
		t.Errorf("%d bytes", len(b))
	}
	for i := range b {
		if _, err := g.DecodeBinary(b[:i]); !errors.Is(err, ErrBinary) {
			t.Errorf("cut at %d: %v", i, err)
		}
	}
	if _, err := g.DecodeBinary(append(slices.Clone(b), 0)); !errors.Is(err, ErrBinary) {
		t.Errorf("a byte too many: %v", err)
	}
	b[0] = 2
	if _, err := g.DecodeBinary(b); !errors.Is(err, ErrVersion) {
		t.Errorf("unknown version: %v", err)
	}
	var wrong *TextError
	if _, err := compiled(t, "standard").DecodeBinary(g.AppendBinary(nil, &s)); !errors.As(err, &wrong) {
		t.Errorf("a state of other rules: %v", err)
	}
}

// TestNotAwaiting: rulings where there is nothing to rule on.
func TestNotAwaiting(t *testing.T) {
	g := compiled(t, "mingjian-2026")
	s := g.Start(1)
	before := g.Text(&s)
	if _, err := g.RuleFoul(&s, true); !errors.Is(err, ErrNoRuling) {
		t.Errorf("ruling: %v", err)
	}
	if g.Text(&s) != before || s.Turn() != 1 {
		t.Errorf("changed: %s", g.Text(&s))
	}
}
