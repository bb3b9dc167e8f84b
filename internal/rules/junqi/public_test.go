package junqi

import (
	"errors"
	"strings"
	"testing"

	"referee.example/internal/rules"
)

// TestDisclosures: what a log may say of a change, and what it can't. In each
// position it is clear to everybody why.
func TestDisclosures(t *testing.T) {
	const dark = "A1=t?,A4=t?,B4=tF,E2=b?,F1=t?,F2=t?,F3=t4,G1=b4,G2=b?,L1=b?,L4=b? seat=0"
	hiddenFlag := strings.Replace(dark, "tF", "t?", 1)
	for _, c := range []struct {
		rules, position, action string
		told                    Disclosure
		fits                    bool
	}{
		{"scouts", dark, "G2-F2", Disclosure{Verdict: AttackerWon}, true},
		{"scouts", dark, "G2-F2", Disclosure{Verdict: DefenderWon}, true},
		{"scouts", dark, "G2-F2", Disclosure{Verdict: BothGone}, true},
		{"scouts", dark, "G2-F2", Disclosure{}, false},
		{"scouts", dark, "G2-F2", Disclosure{Verdict: 5}, false},
		{"scouts", dark, "G2-F2", Disclosure{Verdict: NeitherGone}, false},
		{"bounce", dark, "G2-F2", Disclosure{Verdict: NeitherGone}, true},
		{"scouts", dark, "G2-F2", Disclosure{Verdict: AttackerWon, Turned: PieceOf(1, Captain)}, false},
		{"scouts", dark, "G2-H2", Disclosure{}, true},
		{"scouts", dark, "G2-H2", Disclosure{Verdict: AttackerWon}, false},
		{"scouts", dark, "G2-H2", Disclosure{Flag: true}, false},
		// Flags.
		{"scouts", hiddenFlag, "G2-F2", Disclosure{Verdict: AttackerWon, Flag: true}, true},
		{"scouts", dark, "G2-F2", Disclosure{Verdict: AttackerWon, Flag: true}, false},
		{"scouts", dark, "G2-F2", Disclosure{Verdict: DefenderWon, Flag: true}, false},
		{"scouts", dark, "G2-F3", Disclosure{Verdict: AttackerWon, Flag: true}, false},
		{"flag_carry_home", dark, "G2-F2", Disclosure{Verdict: BothGone, Flag: true}, false},
		{"scouts", dark, "G2-F2", Disclosure{Verdict: AttackerWon, Flag: true, Fallen: 2, FlagAt: [4]rules.Square{1: 1}}, false},
		// Scouts.
		{"scouts", dark, "G2-F2", Disclosure{Verdict: DefenderWon, Shown: PieceOf(1, Captain)}, true},
		{"scouts", dark, "G2-F2", Disclosure{Verdict: AttackerWon, Shown: PieceOf(1, Captain)}, false},
		{"scouts", dark, "G2-F2", Disclosure{Verdict: DefenderWon, Shown: PieceOf(0, Captain)}, false},
		{"scouts", dark, "G2-F3", Disclosure{Verdict: DefenderWon, Shown: PieceOf(1, Captain)}, false},
		{"junqi-dark-contest-2012", dark, "G2-F2", Disclosure{Verdict: DefenderWon, Shown: PieceOf(1, Captain)}, false},
		{"scouts", dark, "G1-G3", Disclosure{Verdict: DefenderWon}, false},
		// A fallen marshal's flag.
		{"scouts", hiddenFlag, "G2-F2", Disclosure{Verdict: AttackerWon, Fallen: 2, FlagAt: [4]rules.Square{1: 1}}, true},
		{"scouts", dark, "G2-F2", Disclosure{Verdict: AttackerWon, Fallen: 2, FlagAt: [4]rules.Square{1: 19}}, false},
		{"scouts", dark, "G2-F2", Disclosure{Verdict: AttackerWon, Fallen: 2, FlagAt: [4]rules.Square{1: 28}}, false},
		{"scouts", dark, "G2-F2", Disclosure{Verdict: AttackerWon, Fallen: 1, FlagAt: [4]rules.Square{56}}, false},
		{"scouts", dark, "G2-F2", Disclosure{Verdict: DefenderWon, Fallen: 1, FlagAt: [4]rules.Square{56}}, true},
		{"scouts", hiddenFlag, "G2-F2", Disclosure{Verdict: BothGone, Fallen: 3, FlagAt: [4]rules.Square{56, 1}}, true},
		{"scouts", dark, "G2-F2", Disclosure{Verdict: BothGone, Fallen: 3, FlagAt: [4]rules.Square{32, 1}}, false},
		{"scouts", dark, "G2-F2", Disclosure{Verdict: DefenderWon, Fallen: 1, FlagAt: [4]rules.Square{1}}, false},
		{"scouts", dark, "G2-F2", Disclosure{Verdict: AttackerWon, FlagAt: [4]rules.Square{1: 1}}, false},
		{"scouts", dark, "G2-F2", Disclosure{Verdict: AttackerWon, Fallen: 4, FlagAt: [4]rules.Square{2: 1}}, false},
		{"scouts", dark, "G2-F2", Disclosure{Verdict: AttackerWon, Fallen: 16}, false},
		{"scouts", dark, "G2-F3", Disclosure{Verdict: AttackerWon, Fallen: 2, FlagAt: [4]rules.Square{1: 1}}, false},
		{"bounce", dark, "G2-F2", Disclosure{Verdict: AttackerWon, Fallen: 2, FlagAt: [4]rules.Square{1: 1}}, false},
		{"scouts", dark, "G2-F2", Disclosure{Verdict: AttackerWon, Fallen: 2, FlagAt: [4]rules.Square{1: 1}}, false},
		{"scouts", dark, "G2-F2", Disclosure{Verdict: AttackerWon, Fallen: 2, FlagAt: [4]rules.Square{1: 9}}, true},
		// No more of a rank than a side has.
		{"scouts", "A1=t3,A4=t3,B4=t?,F2=t?,G2=b?,L1=b? seat=0", "G2-F2", Disclosure{Verdict: DefenderWon, Shown: PieceOf(1, Captain)}, true},
		{"scouts", "A1=t3,A4=t3,B4=t3,F2=t?,G2=b?,L1=b? seat=0", "G2-F2", Disclosure{Verdict: DefenderWon, Shown: PieceOf(1, Captain)}, false},
		// Who is stuck.
		{"scouts", dark, "G2-H2", Disclosure{Stuck: 2}, true},
		{"scouts", dark, "G2-H2", Disclosure{Stuck: 3}, true},
		{"scouts", dark, "G2-H2", Disclosure{Stuck: 1}, false},
		{"scouts", dark, "G2-H2", Disclosure{Stuck: 4}, false},
		{"scouts", dark, "G2-F2", Disclosure{Verdict: AttackerWon, Flag: true, Stuck: 2}, false},
		{"siguo", "S11=S?,E11=E?,N11=N?,W11=W? seat=0", "S11-S12", Disclosure{Stuck: 6}, true},
		{"siguo", "S11=S?,N11=N?,W11=W? seat=0 out=1", "S11-S12", Disclosure{Stuck: 6}, false},
		// Where every rank is shown, only the truth fits.
		{"junqi-flip", "F2=t3,G2=b4,A0=t2,L0=b2 seat=0 colours=b,t", "G2-F2", Disclosure{Verdict: AttackerWon}, true},
		{"junqi-flip", "F2=t3,G2=b4,A0=t2,L0=b2 seat=0 colours=b,t", "G2-F2", Disclosure{Verdict: BothGone}, false},
		{"junqi-flip", "F2=t3,G2=b4,L0=b2 seat=0 colours=b,t", "G2-F2", Disclosure{Verdict: AttackerWon, Stuck: 2}, true},
		{"junqi-flip", "F2=t3,G2=b4,L0=b2 seat=0 colours=b,t", "G2-F2", Disclosure{Verdict: AttackerWon}, false},
		{"junqi-flip", "A0=??,G2=b4,F2=t9 seat=0 colours=b,t", "A0", Disclosure{Turned: PieceOf(1, Captain)}, true},
		{"junqi-flip", "A0=??,G2=b4,F2=t9 seat=0 colours=b,t", "A0", Disclosure{Turned: PieceOf(1, Marshal)}, false},
		{"junqi-flip", "A0=??,G2=b4,F2=t9 seat=0 colours=b,t", "A0", Disclosure{}, false},
		{"junqi-flip", "A0=??,G2=b4,F2=t9 seat=0 colours=b,t", "A0", Disclosure{Turned: PieceOf(1, Captain), Verdict: BothGone}, false},
	} {
		g := compiled(t, c.rules)
		s, err := g.ParseState(c.position)
		if err != nil {
			t.Fatalf("%s: %v", c.position, err)
		}
		a, _, err := g.ParseAction(c.action)
		if err != nil {
			t.Fatal(err)
		}
		before := s
		_, err = g.Apply(&s, Ply(a), c.told)
		var illegal *IllegalError
		if (err == nil) != c.fits || err != nil && (!errors.Is(err, ErrDisclosure) && !errors.As(err, &illegal) || s != before) {
			t.Errorf("%s, %s, %+v: %v, want fitting %v", c.rules, c.action, c.told, err, c.fits)
		}
	}
}

// TestPublicMoves: a log's moves are refused where everybody sees that they can't be.
func TestPublicMoves(t *testing.T) {
	g := compiled(t, "scouts")
	for action, want := range map[string]rules.Rule{
		"G2-G4": "", "G2-F4": "", "G2-A2": RuleNoPath, "K1-J1": RuleImmobile, "G2-H3": RuleOwnTarget, "H3-F1": RuleNoPath, "A1-A2": RuleNotYours,
		"L1-L2": RuleHQ, "G2-K1": RuleOwnTarget, "J0-I0": RuleNoPiece, "G1-G3": RuleBlocked,
	} {
		s, err := g.ParseState("A1=t?,A4=t?,G1=b4,G2=b?,H3=b?,K1=bM,L1=b?,L4=b? seat=0")
		if err != nil {
			t.Fatal(err)
		}
		a, _, err := g.ParseAction(action)
		if err != nil {
			t.Fatal(err)
		}
		_, err = g.Apply(&s, Ply(a), Disclosure{})
		var illegal *IllegalError
		switch refused := errors.As(err, &illegal); {
		case want == "" && err != nil:
			t.Errorf("%s: %v", action, err)
		case want != "" && (!refused || illegal.Rule != want):
			t.Errorf("%s: %v, want %s", action, err, want)
		}
	}
}
