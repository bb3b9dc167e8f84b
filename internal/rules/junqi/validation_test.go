package junqi

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"referee.example/internal/rules"
)

// TestValidate: each wrong field is named, and nothing else is.
func TestValidate(t *testing.T) {
	for _, c := range []struct {
		rules string
		wrong []string
	}{
		{`{"form":"dark"}`, nil},
		{`{"form":"flip","colours":"own_two"}`, nil},
		{`{"form":"four_player"}`, nil},
		{`{}`, []string{"form"}},
		{`{"form":"banqi"}`, []string{"form"}},
		{`{"form":"dark","visibility":"all"}`, []string{"visibility"}},
		{`{"form":"flip","colours":"own_two","visibility":"open"}`, []string{"visibility"}},
		{`{"form":"dark","visibility":"partner"}`, []string{"visibility"}},
		{`{"form":"dark","mine":"explodes"}`, []string{"mine"}},
		// Refusals that would tell a rank that the mover was not shown.
		{`{"form":"dark","mine":"refused"}`, []string{"mine"}},
		{`{"form":"four_player","visibility":"partner","mine":"refused"}`, []string{"mine"}},
		{`{"form":"dark","bomb_vs_flag":"refused"}`, []string{"bomb_vs_flag"}},
		{`{"form":"dark","weaker_attacks":"refused"}`, []string{"weaker_attacks"}},
		{`{"form":"four_player","weaker_attacks":"refused"}`, []string{"weaker_attacks"}},
		{`{"form":"dark","visibility":"open","mine":"refused","bomb_vs_flag":"refused","weaker_attacks":"refused"}`, nil},
		{`{"form":"dark","mine":"bounce","flag_after_mines":true,"flag_taker":"engineer","bomb_vs_flag":"bomb_lost"}`, nil},
		// Fields that contradict each other.
		{`{"form":"dark","mine":"both","lowest_clears_mines":true}`, []string{"lowest_clears_mines"}},
		{`{"form":"dark","visibility":"open","engineer_scouts":true}`, []string{"engineer_scouts"}},
		{`{"form":"flip","colours":"own_two","engineer_scouts":true}`, []string{"engineer_scouts"}},
		{`{"form":"dark","visibility":"open","flag_reveal":"marshal_lost"}`, []string{"flag_reveal"}},
		{`{"form":"flip","colours":"own_two","flag_reveal":"marshal_lost"}`, []string{"flag_reveal"}},
		{`{"form":"dark","flag_reveal":"always"}`, []string{"flag_reveal"}},
		{`{"form":"dark","flag_taker":"marshal"}`, []string{"flag_taker"}},
		{`{"form":"dark","bomb_vs_flag":"none"}`, []string{"bomb_vs_flag"}},
		{`{"form":"dark","weaker_attacks":"lost"}`, []string{"weaker_attacks"}},
		{`{"form":"dark","flag_carry_home":true}`, []string{"flag_carry_home"}},
		{`{"form":"dark","flag_carry_home":true,"bomb_vs_flag":"bomb_lost"}`, nil},
		{`{"form":"four_player","flag_carry_home":true,"bomb_vs_flag":"bomb_lost"}`, []string{"flag_carry_home"}},
		{`{"form":"flip","colours":"own_two","flag_carry_home":true,"bomb_vs_flag":"bomb_lost"}`, []string{"flag_carry_home"}},
		{`{"form":"dark","hq_protects":true}`, nil},
		{`{"form":"dark","hq_protects":true,"flag_taker":"any","bomb_vs_flag":"both","flag_after_mines":true,"flag_reveal":"marshal_lost"}`,
			[]string{"bomb_vs_flag", "flag_taker", "flag_after_mines", "flag_reveal"}},
		{`{"form":"dark","hq_protects":true,"bomb_vs_flag":"bomb_lost","flag_carry_home":true}`, []string{"bomb_vs_flag", "flag_carry_home"}},
		{`{"form":"flip","colours":"own_two","hq_protects":true,"flag_taker":"any"}`, nil},
		{`{"form":"flip"}`, []string{"colours"}},
		{`{"form":"flip","colours":"red"}`, []string{"colours"}},
		{`{"form":"dark","colours":"own_two"}`, []string{"colours"}},
		{`{"form":"dark","idle":{"result":"loss"}}`, []string{"idle.result"}},
		{`{"form":"dark","idle":{"limit":1001}}`, []string{"idle.limit"}},
		{`{"form":"dark","idle":{"limit":-1}}`, []string{"idle.limit"}},
		{`{"form":"dark","idle":{"limit":1000,"result":"win"}}`, []string{"idle.result"}},
		{`{"form":"four_player","idle":{"limit":71,"result":"loss"}}`, []string{"idle.result"}},
		{`{"form":"dark","illegal_moves":"lose"}`, nil},
		{`{"form":"dark","illegal_moves":"fine"}`, []string{"illegal_moves"}},
		{`{"form":"four_player","illegal_moves":"lose"}`, []string{"illegal_moves"}},
		{`{"form":"dark","resign_from_ply":1001}`, []string{"resign_from_ply"}},
		{`{"form":"dark","resign_from_ply":-1}`, []string{"resign_from_ply"}},
		{`{"form":"dark","leaver":"unscored"}`, []string{"leaver"}},
		{`{"form":"four_player","leaver":"unscored"}`, nil},
		{`{"form":"four_player","leaver":"wins"}`, []string{"leaver"}},
		{`{"form":"dark","max_plies":10001}`, []string{"max_plies"}},
	} {
		var r Rules
		if err := json.Unmarshal([]byte(c.rules), &r); err != nil {
			t.Fatalf("%s: %v", c.rules, err)
		}
		var got []string
		for _, f := range r.Validate() {
			got = append(got, f.Field)
			if f.Reason == "" {
				t.Errorf("%s: %s is refused without a reason", c.rules, f.Field)
			}
		}
		if !slices.Equal(got, c.wrong) {
			t.Errorf("%s: refused %v, want %v", c.rules, got, c.wrong)
		}
		_, err := Compile(r)
		var refused *rules.InvalidError
		if errors.As(err, &refused) != (len(c.wrong) > 0) || err != nil && !strings.Contains(err.Error(), c.wrong[0]) {
			t.Errorf("%s: compiled with %v", c.rules, err)
		}
	}
}

// TestStatesRefused: text that is no state, and states that no game can be in.
func TestStatesRefused(t *testing.T) {
	for _, c := range []struct{ rules, text, part string }{
		{"junqi-dark", "", "text"},
		{"junqi-dark", "A1=tF", "text"},
		{"junqi-dark", "A1=tF ply=3", "seat"},
		{"junqi-dark", "A1=t? seat=2", "seat"},
		{"junqi-dark", "A1=t? seat=0 seat=0", "seat"},
		{"junqi-dark", "A1=t? seat=0 luck=7", "luck"},
		{"junqi-dark", "M1=t? seat=0", "M1=t?"},
		{"junqi-dark", "A1=t?,A1=t? seat=0", "A1=t?"},
		{"junqi-dark", "A1=x? seat=0", "A1=x?"},
		{"junqi-dark", "A1=tX seat=0", "A1=tX"},
		{"junqi-dark", "A1=t seat=0", "A1=t"},
		{"junqi-dark", "A1=t?Z9 seat=0", "A1=t?Z9"},
		{"junqi-dark", "A1=t4C0 seat=0", "A1=t4C0"},
		{"junqi-dark", "A1=t?,A2=t?A1 seat=0", "A2"},
		{"junqi-dark", "A1=t5?,A2=t4?A1 seat=0", "A2=t4?A1"},
		{"junqi-dark", "A1=?? seat=0", "A1"},
		{"junqi-dark", "A1=t9,A2=t9 seat=0", "board"},
		{"junqi-dark", "A1=t9,A2=t9? seat=0", "board"},
		{"flag_carry_home", "G2=b?,A1=tF? seat=0 carry1=G2<A3", "board"},
		{"junqi-flip", "A1=t9?,B0=b3 seat=0 colours=b,t captured=t9", "board"},
		{"junqi-dark", "A1=t? seat=0 colours=b,t", "colours"},
		{"junqi-dark", "A1=t? seat=0 captured=b9", "captured"},
		{"junqi-dark", "A1=t? seat=0 ply=1 turns=2,0", "turns"},
		{"junqi-dark", "A1=t? seat=0 ply=1 turns=1", "turns"},
		{"junqi-dark", "A1=t? seat=0 ply=1 captures=2,0", "captures"},
		{"junqi-dark", "A1=t? seat=0 idle=1", "idle"},
		{"junqi-dark", "A1=t? seat=0 ply=100 idle=100", "idle"},
		{"junqi-dark", "A1=t? seat=0 ply=2000", "ply"},
		{"junqi-dark", "A1=t? seat=0 ply=-1", "ply"},
		{"junqi-dark", "A1=t? seat=0 ply=1048577", "ply"},
		{"junqi-dark", "A1=t? seat=0 out=0", "out"},
		{"junqi-dark", "A1=t? seat=0 out=2", "out"},
		{"junqi-dark", "A1=t? seat=0 carry0=A1<L1", "carry"},
		{"junqi-dark", "A1=t? seat=0 outcome=flag:0:0:0", "outcome"},
		{"junqi-dark", "A1=t? seat=0 out=1 outcome=flag:1:0:0", "outcome"},
		{"junqi-dark", "A1=t? seat=0 outcome=flag:-:0:0", "outcome"},
		{"junqi-dark", "A1=t? seat=0 out=1 outcome=flag:0:1:2", "outcome"},
		{"junqi-dark", "A1=t? seat=0 out=1 outcome=luck:0:0:0", "outcome"},
		{"junqi-dark", "A1=t? seat=0 out=1 outcome=flag:0", "outcome"},
		{"junqi-dark", "A1=t? seat=0 outcome=idle:-:0:0", "outcome"},
		{"junqi-dark", "A1=t? seat=0 ply=100 idle=100 outcome=idle:-:1:99", "outcome"},
		{"junqi-dark", "A1=t? seat=0 ply=100 idle=100 outcome=idle:0:1:100", "outcome"},
		{"junqi-dark", "A1=t? seat=0 ply=99 outcome=max_plies:-:0:0", "outcome"},
		{"junqi-dark", "A1=t? seat=0 out=1 outcome=illegal_action:0:0:0", "outcome"},
		{"junqi-dark", "A1=t? seat=0 outcome=disconnection:void:0:0", "outcome"},
		{"junqi-dark", "A1=t? seat=0 out=0,1 outcome=flag:0+1:0:0", "outcome"},
		{"junqi-dark-contest-2012", "A1=t? seat=0 ply=31 idle=31 outcome=idle:-:1:31", "outcome"},
		{"junqi-dark-contest-2012", "A1=t? seat=0 ply=31 idle=31 outcome=idle:0:1:31", "outcome"},
		{"junqi-flip", "A1=t? seat=0 colours=b,t", "A1=t?"},
		{"junqi-flip", "A1=t?A2 seat=0 colours=b,t", "A1=t?A2"},
		{"junqi-flip", "C1=?? seat=0", "C1"},
		{"junqi-flip", "A0=??,A1=t4 seat=0 colours=b,b", "colours"},
		{"junqi-flip", "A0=??,A1=t4 seat=0 colours=x,t", "colours"},
		{"junqi-flip", "A0=?? seat=0 latest=t,-", "latest"},
		{"junqi-flip", "A0=??,A1=t4 seat=0 ply=1 latest=-,-", "latest"},
		{"junqi-flip", "A0=??,A1=t4 seat=0 ply=1 colours=b,t latest=t,-", "latest"},
		{"junqi-flip", "A0=??,A1=t4 seat=0 ply=1", "latest"},
		{"junqi-flip", "A1=t4 seat=0 ply=1 latest=t,-", "colours"},
		{"junqi-flip", "A0=??,A1=t4 seat=0 ply=1 latest=t,- captured=b9", "captured"},
		{"junqi-flip", "A1=t4 seat=0 colours=b,t", "seat"},
		{"junqi-flip", "A1=t9 seat=1 colours=b,t captured=t9", "board"},
		{"junqi-flip", "A1=t9 seat=1 colours=b,t captured=t", "captured"},
		{"junqi-flip", "A1=t9 seat=1 colours=b,t captured=x9", "captured"},
		{"junqi-flip-simple", "A0=??,A1=t4 seat=0 ply=1 latest=t,-", "latest"},
		{"siguo", "S11=S? seat=1 out=0", "out"},
		{"siguo", "S11=S? seat=1 out=1", "seat"},
		{"siguo", "S11=S? seat=0 out=1,3", "out"},
		{"siguo", "S11=S? seat=0 out=1 outcome=flag:0+2:0:0", "outcome"},
		{"siguo", "S11=S? seat=0 out=1,3 outcome=flag:0:0:0", "outcome"},
		{"flag_carry_home", "A1=t? seat=0 carry1=A1<A3", "carry"},
		{"flag_carry_home", "G2=b?,A1=tF seat=0 carry1=G2<A3", "carry"},
		{"flag_carry_home", "L3=b? seat=0 carry1=L3<A3", "carry"},
		{"open", "A1=t? seat=0", "A1"},
		{"open", "A1=tF,L1=bF seat=0", "seat"},
	} {
		g := compiled(t, c.rules)
		_, _, err := g.ParsePosition(c.text)
		var refused *TextError
		if !errors.As(err, &refused) || refused.Part != c.part {
			t.Errorf("%s: %q: %v, want a fault in %q", c.rules, c.text, err, c.part)
		}
	}
	g := compiled(t, "junqi-dark")
	if _, err := g.ParseState("A1=tF? seat=0"); err == nil {
		t.Error("a public text tells an identity")
	}
	if _, err := g.ParseState("A1=t? seat=0 " + strings.Repeat(" ", MaxTextLength)); err == nil {
		t.Error("a text beyond the limit is read")
	}
}

// TestBinaryRefused: what is no binary state.
func TestBinaryRefused(t *testing.T) {
	g := compiled(t, "junqi-dark")
	s := g.Start(0, nil)
	good := g.AppendBinary(nil, &s)
	if _, err := g.DecodeBinary(good); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		b    []byte
		want error
	}{
		"empty": {nil, ErrBinary}, "version": {append([]byte{9}, good[1:]...), ErrVersion},
		"short": {good[:len(good)-1], ErrBinary}, "long": {append(slices.Clone(good), 0), ErrBinary},
		"side": {append([]byte{1, 0x25}, good[2:]...), ErrBinary}, "face down in the dark": {append([]byte{1, 0x1d}, good[2:]...), ErrBinary},
	} {
		if _, err := g.DecodeBinary(c.b); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// TestRecordRefused: records that are none, and one that the rules refuse.
func TestRecordRefused(t *testing.T) {
	place := "place=98776/6.5.5/44.33/3.2.2/2MM11/MF1BB\n"
	dark, flip := compiled(t, "junqi-dark"), compiled(t, "junqi-flip")
	for _, c := range []struct {
		g      *Game
		text   string
		line   int
		reason string // part of it; of a replay's where the text can be read
	}{
		{dark, "", 1, "missing"},
		{dark, "first=0\n", 2, "missing"},
		{dark, "first=2\n" + place + place, 1, "first="},
		{dark, "first=0\n" + place + "G2-F2\n", 3, "not a placement"},
		{dark, "first=0\n" + place + place + "G2-F2", 4, "last one ended"},
		{dark, "first=0\n" + place + place + "G2-Z9\n", 4, "not an action"},
		{dark, "first=0\n" + place + place + "G0-F0\nF0-E0\n", 5, "not yours"},
		{dark, "first=0\n" + strings.Replace(place, "MF1BB", "FM1BB", 1) + place, 2, "must stand in a headquarters"},
		{dark, "first=0\n" + place + place + "pass\n", 4, "no such change"},
		{flip, "first=0\nA0(t9)\nA0(t9)\n", 3, "already face up"},
		{flip, "first=0\nA0(t9)\nA1(t9)\n", 3, "no such piece"},
		{flip, "first=0\nA0\n", 2, "identity"},
	} {
		r, err := c.g.ParseRecord(c.text)
		if err == nil {
			_, _, _, err = c.g.Replay(r)
		}
		var refused *RecordError
		if !errors.As(err, &refused) || refused.Line != c.line || !strings.Contains(refused.Reason, c.reason) {
			t.Errorf("%q: %v, want line %d, %q", c.text, err, c.line, c.reason)
		}
	}
}

// TestIdentities: a change that a rank decides needs it, and a flip one that can
// still be face down; a refusal changes nothing.
func TestIdentities(t *testing.T) {
	dark, flip := compiled(t, "junqi-dark"), compiled(t, "junqi-flip")
	s, ids, err := dark.ParsePosition("A1=tF?,F2=t?,G2=b5?,L1=bF?,A4=t2? seat=0")
	if err != nil {
		t.Fatal(err)
	}
	before := s
	if _, err := dark.Play(&s, ids, Ply(rules.Move(32, 27))); !errors.Is(err, ErrIdentityMissing) || s != before {
		t.Errorf("an attack on an unknown piece: %v", err)
	}
	if _, err := dark.Play(&s, nil, Ply(rules.Move(32, 27))); !errors.Is(err, ErrIdentityMissing) || s != before {
		t.Errorf("a move of an unknown piece: %v", err)
	}
	four := compiled(t, "siguo")
	s = four.Start(0, nil)
	before = s
	for _, c := range []Change{Pass(), PutOut(1, rules.EndTime), Leave(3)} {
		if _, err := four.Play(&s, nil, c); c.Kind != ChangeLeave && (!errors.Is(err, ErrIdentityMissing) || s != before) {
			t.Errorf("%s without identities: %v", four.FormatChange(c, 0), err)
		}
	}
	s, _, err = flip.ParsePosition("A0=??,A1=??,B0=t9,B1=b3 seat=0 colours=b,t captured=b1")
	if err != nil {
		t.Fatal(err)
	}
	before = s
	for _, c := range []struct {
		piece rules.Piece
		want  error
	}{
		{rules.NoPiece, ErrIdentityMissing}, {FaceDown, ErrIdentityMissing}, {Hidden(0), ErrIdentityMissing},
		{PieceOf(2, Captain), ErrIdentityMissing}, {200, ErrIdentityMissing}, {PieceOf(1, Marshal), ErrIdentityImpossible}, {PieceOf(0, Marshal), nil},
	} {
		next := s
		_, err := flip.Play(&next, &Identities{0: c.piece}, Ply(rules.Flip(0)))
		if !errors.Is(err, c.want) || c.want != nil && next != before {
			t.Errorf("turning %d: %v, want %v", c.piece, err, c.want)
		}
	}
	if _, err := flip.Play(&s, nil, Change{}); !errors.Is(err, ErrChange) {
		t.Errorf("no change at all: %v", err)
	}
	if _, err := dark.Play(&before, nil, PutOut(0, rules.EndFlag)); !errors.Is(err, ErrChange) {
		t.Errorf("put out for losing a flag: %v", err)
	}
}
