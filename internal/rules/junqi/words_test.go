package junqi

import (
	"slices"
	"strings"
	"testing"

	"referee.example/internal/rules"
)

// TestWords: positions and endings in words.
func TestWords(t *testing.T) {
	for _, c := range []struct {
		rules, position string
		words           []string
	}{
		{"junqi-dark", "A1=tF?,A4=t2?,L1=bF?,L4=b2? seat=0", []string{"Seat 0 is to move.", "Legal: L4-K4 L4-L3"}},
		{"junqi-flip", "A0=??,A1=b5 seat=1", []string{"Seat 1 is to move.", "It is not settled yet who plays which side.", "Legal: A0"}},
		{"junqi-flip", "A0=??,A1=b5 seat=1 colours=t,b", []string{"Seat 1 is to move, with the side b.", "Legal: A0 A1-A2 A1-B1"}},
		{"junqi-dark", "A1=t? seat=1 out=1 outcome=flag:0:0:0", []string{"The game is over: seat 0 wins by flag."}},
		{"siguo", "S11=S? seat=1 out=1,3 outcome=resignation:0+2:0:0", []string{"The game is over: seats 0 and 2 win by resignation."}},
		{"siguo", "S11=S? seat=1 outcome=disconnection:void:0:0", []string{"The game is over: it counts for nothing, by disconnection."}},
		{"siguo", "S11=S? seat=1 ply=71 idle=71 outcome=idle:-:1:71", []string{"The game is over: draw by idle (plies 1 to 71)."}},
	} {
		g := compiled(t, c.rules)
		s, ids, err := g.ParsePosition(c.position)
		if err != nil {
			t.Fatalf("%s: %v", c.position, err)
		}
		if got := g.Words(&s, ids); !slices.Equal(got, c.words) {
			t.Errorf("%s: %q, want %q", c.position, got, c.words)
		}
	}
}

// TestSentencesOfSafeFlags: how an attack on a safe flag is answered is said where a
// flag can be safe, and only there.
func TestSentencesOfSafeFlags(t *testing.T) {
	const (
		safe    = "An attack on a flag that is safe from it is "
		lost    = safe + "answered like one on a stronger piece: the attacker is lost."
		refused = safe + "refused."
	)
	for _, c := range []struct {
		rules string
		said  string
	}{{"junqi-dark", lost}, {"junqi-dark-contest-2012", ""}, {"siguo", ""}, {"junqi-flip", refused}, {"junqi-flip-simple", ""}} {
		r := compiled(t, c.rules).rules
		said := func() string {
			i := slices.IndexFunc(r.Sentences(), func(s string) bool { return strings.HasPrefix(s, safe) })
			if i < 0 {
				return ""
			}
			return r.Sentences()[i]
		}
		if got := said(); got != c.said {
			t.Errorf("%s: said is %q", c.rules, got)
		}
		r.FlagTaker = "engineer"
		want := lost
		if r.Form == FormFlip {
			want = refused
		}
		if got := said(); got != want {
			t.Errorf("%s, only engineers take flags: said is %q", c.rules, got)
		}
	}
}

// TestPieceNames: each rank has a letter, a name and a word of its own, and a side's
// 25 pieces are those of the rules.
func TestPieceNames(t *testing.T) {
	seen := make(map[string]bool)
	for rank := Engineer; rank <= Flag; rank++ {
		for _, name := range []string{string(rank.Letter()), rank.Name(), rank.String()} {
			if name == "" || seen[name] {
				t.Errorf("rank %d: %q", rank, name)
			}
			seen[name] = true
		}
	}
	g := compiled(t, "junqi-flip")
	var deck string
	for _, p := range g.Deck() {
		deck += string(RankOf(p).Letter())
	}
	if deck != strings.Repeat("FMMMBB9877665544333222111", 2) {
		t.Errorf("deck %s", deck)
	}
	if g.PieceText(rules.NoPiece) != "--" || g.PieceText(FaceDown) != "??" || g.PieceText(Hidden(1)) != "t?" || g.PieceText(PieceOf(3, Flag)) != "??" {
		t.Error("pieces without a rank have other texts")
	}
}

// TestPutOut: who may be put out, for what and when.
func TestPutOut(t *testing.T) {
	dark, contest, four := compiled(t, "hq_protects"), compiled(t, "junqi-dark-contest-2012"), compiled(t, "siguo")
	start := func(g *Game) (State, *Identities) {
		ids := newDice(1).identities(g)
		return g.Start(0, ids), ids
	}
	for _, c := range []struct {
		g      *Game
		change Change
		want   string // of the error
	}{
		{dark, PutOut(0, rules.EndTime), ""},
		{dark, PutOut(1, rules.EndDisconnection), ""},
		{dark, Leave(1), ""},
		{dark, PutOut(0, rules.EndResignation), "illegal: resign_too_early"},
		{dark, PutOut(0, rules.EndIllegalAction), ErrChange.Error()},
		{dark, PutOut(2, rules.EndTime), "illegal: seat_out"},
		{dark, PutOut(rules.NoSeat, rules.EndTime), "illegal: seat_out"},
		{dark, PutOut(0, rules.EndIdle), ErrChange.Error()},
		{dark, Change{Kind: ChangeLeave, Seat: 1, Reason: rules.EndTime}, ErrChange.Error()},
		{dark, Pass(), ErrChange.Error()},
		{contest, PutOut(0, rules.EndIllegalAction), ""},
		{contest, PutOut(1, rules.EndIllegalAction), ErrChange.Error()},
		{contest, PutOut(1, rules.EndResignation), ""},
		{four, Pass(), ""},
		{four, PutOut(3, rules.EndResignation), ""},
	} {
		s, ids := start(c.g)
		before := s
		e, err := c.g.Play(&s, ids, c.change)
		switch {
		case c.want == "" && err != nil, c.want != "" && (err == nil || err.Error() != c.want):
			t.Errorf("%s: %v, want %q", c.g.FormatChange(c.change, 0), err, c.want)
		case err != nil && s != before:
			t.Errorf("%s changed the state", c.g.FormatChange(c.change, 0))
		case err == nil && c.change.Kind != ChangePass && c.change.Kind != ChangeLeave && e.Out != rules.SeatsOf(c.change.Seat):
			t.Errorf("%s puts out %v", c.g.FormatChange(c.change, 0), e.Out)
		}
	}
}

// TestIllegalLoses: which refusals cost the game, under the contest's rule and else.
func TestIllegalLoses(t *testing.T) {
	contest, dark := compiled(t, "junqi-dark-contest-2012"), compiled(t, "junqi-dark")
	for rule, loses := range map[rules.Rule]bool{
		"": false, RuleGameOver: false, RuleTurn: false, RuleAction: false, RuleNoPath: true, RuleNotYours: true, RuleImmobile: true,
		RuleNoPiece: true, RuleCamp: true,
	} {
		if i := (rules.Illegal{Rule: rule}); contest.IllegalLoses(i) != loses || dark.IllegalLoses(i) {
			t.Errorf("%q: loses %v in the contest, %v elsewhere", rule, contest.IllegalLoses(i), dark.IllegalLoses(i))
		}
	}
}
