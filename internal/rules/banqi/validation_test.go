package banqi

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"referee.example/internal/rules"
)

// TestValidate changes one thing in a valid ruleset at a time: exactly the
// named fields are refused, each with a reason.
func TestValidate(t *testing.T) {
	all := allRules(t)
	for _, c := range []struct {
		name   string
		base   string
		change func(*Rules)
		fields string
	}{
		{"nothing", "mingjian-2026", func(*Rules) {}, ""},
		{"row missing", "standard", func(r *Rules) { r.CaptureMatrix = map[string]string{"K": "P"} }, ""},
		{"no matrix", "standard", func(r *Rules) { r.CaptureMatrix = nil }, "capture_matrix"},
		{"unknown attacker", "standard", func(r *Rules) { r.CaptureMatrix = map[string]string{"k": "P"} }, "capture_matrix.k"},
		{"two ranks as one", "standard", func(r *Rules) { r.CaptureMatrix = map[string]string{"KG": "P"} }, "capture_matrix.KG"},
		{"no rank", "standard", func(r *Rules) { r.CaptureMatrix = map[string]string{"": "P"} }, "capture_matrix."},
		{"words for what is so anyway", "standard", func(r *Rules) {
			r.Horse, r.Idle = "orthogonal", Idle{1, "consecutive", "always", "automatic"}
		}, ""},
		{"unknown victim", "standard", func(r *Rules) { r.CaptureMatrix = map[string]string{"K": "Px"} }, "capture_matrix.K"},
		{"victim twice", "standard", func(r *Rules) { r.CaptureMatrix = map[string]string{"K": "PP"} }, "capture_matrix.K"},
		{"cannon target", "standard", func(r *Rules) { r.CannonTargets = "KQ" }, "cannon_targets"},
		{"rush", "standard", func(r *Rules) { r.ChariotRush = "yes" }, "chariot_rush"},
		{"dark rush without rush", "standard", func(r *Rules) { r.RushDark = true }, "rush_dark"},
		{"horse", "standard", func(r *Rules) { r.Horse = "knight" }, "horse"},
		{"attacker without dark", "standard", func(r *Rules) { r.FailedAttacker = "lost" }, "failed_attacker"},
		{"attacker's fate", "dark-capture", func(r *Rules) { r.FailedAttacker = "dies" }, "failed_attacker"},
		{"attacker's fate in a dark rush", "dark-rush", func(r *Rules) { r.FailedAttacker = "lost" }, ""},
		{"idle negative", "standard", func(r *Rules) { r.Idle.Limit = -1 }, "idle.limit"},
		{"idle largest", "standard", func(r *Rules) { r.Idle.Limit = MaxIdleLimit }, ""},
		{"idle too large", "standard", func(r *Rules) { r.Idle.Limit = MaxIdleLimit + 1 }, "idle.limit"},
		{"idle words", "standard-idle-50", func(r *Rules) { r.Idle.Count, r.Idle.When, r.Idle.Trigger = "a", "b", "c" }, "idle.count idle.trigger idle.when"},
		{"idle without limit", "standard", func(r *Rules) { r.Idle = Idle{0, "consecutive", "always", "automatic"} }, "idle.count idle.trigger idle.when"},
		{"cumulative on request", "mingjian-2026", func(r *Rules) { r.Idle.Count = "cumulative" }, "idle.count"},
		{"repetition kind", "standard", func(r *Rules) { r.Repetition = Repetition{Kind: "loop", Times: 3} }, "repetition.kind"},
		{"repetition once", "standard", func(r *Rules) { r.Repetition = Repetition{Kind: "cycle", Times: 1} }, "repetition.times"},
		{"repetition most", "standard", func(r *Rules) { r.Repetition = Repetition{Kind: "cycle", Times: MaxTimes} }, ""},
		{"repetition too often", "standard", func(r *Rules) { r.Repetition = Repetition{Kind: "cycle", Times: MaxTimes + 1} }, "repetition.times"},
		{"times without kind", "standard", func(r *Rules) { r.Repetition.Times = 3 }, "repetition.times"},
		{"exempt cycle", "daily", func(r *Rules) { r.Repetition.ChaseExempt = true }, "repetition.chase_exempt"},
		{"exempt without chase", "icga", func(r *Rules) { r.Repetition.ChaseExempt = true }, ""},
		{"chaser", "baidu", func(r *Rules) { r.Chase.Chaser = "both" }, "chase.chaser"},
		{"chase length", "baidu", func(r *Rules) { r.Chase.Length = 0 }, "chase.length"},
		{"chase longest", "baidu", func(r *Rules) { r.Chase.Length = MaxChaseLength + 1 }, "chase.length"},
		{"sanction", "baidu", func(r *Rules) { r.Chase.Sanction = "shame" }, "chase.sanction"},
		{"chase without chaser", "standard", func(r *Rules) { r.Chase = Chase{"", 6, "refuse", true, true, false} },
			"chase.last_piece_exempt chase.length chase.lower_rank_exempt chase.sanction"},
		{"forced death without fouls", "baidu", func(r *Rules) { r.Chase.ForcedDeathExempt = true }, "chase.forced_death_exempt"},
		{"fouls that nobody books", "baidu", func(r *Rules) { r.FoulsToLose = 2 }, "fouls_to_lose"},
		{"one foul that nobody books", "baidu", func(r *Rules) { r.FoulsToLose = 1 }, "fouls_to_lose"},
		{"fouls that never lose", "mingjian-2026", func(r *Rules) { r.FoulsToLose = 0 }, "fouls_to_lose"},
		{"too many fouls", "mingjian-2026", func(r *Rules) { r.FoulsToLose = MaxFouls + 1 }, "fouls_to_lose"},
		{"negative plies", "standard", func(r *Rules) { r.MaxPlies = -1 }, "max_plies"},
		{"most plies", "standard", func(r *Rules) { r.MaxPlies = MaxPliesLimit }, ""},
		{"too many plies", "standard", func(r *Rules) { r.MaxPlies = MaxPliesLimit + 1 }, "max_plies"},
		{"order missing one", "standard", func(r *Rules) { r.EndingOrder = DefaultEndingOrder()[1:] }, "ending_order"},
		{"order with one twice", "standard", func(r *Rules) { r.EndingOrder = append(DefaultEndingOrder()[1:], "idle") }, "ending_order"},
		{"order reversed", "standard", func(r *Rules) { r.EndingOrder = DefaultEndingOrder(); slices.Reverse(r.EndingOrder) }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := all[c.base]
			c.change(&r)
			var fields []string
			for _, f := range r.Validate() {
				if f.Reason == "" {
					t.Errorf("%s has no reason", f.Field)
				}
				fields = append(fields, f.Field)
			}
			slices.Sort(fields)
			if got := strings.Join(fields, " "); got != c.fields {
				t.Errorf("refused %q, want %q", got, c.fields)
			}
			_, err := Compile(r)
			var refused *rules.InvalidError
			if errors.As(err, &refused) != (c.fields != "") {
				t.Errorf("Compile: %v", err)
			}
			if refused != nil && !strings.Contains(refused.Error(), refused.Fields[0].Reason) {
				t.Errorf("the error hides its reason: %v", refused)
			}
		})
	}
}

// TestValidateInOrder: the same rules are refused by the same fields in the same
// order each time.
func TestValidateInOrder(t *testing.T) {
	r := Rules{CaptureMatrix: map[string]string{"q": "", "h": "", "x": "", "b": "", "z": ""}}
	const want = `invalid rules: capture_matrix.b: "b" is not one of the ranks KGMRNCP; capture_matrix.h: "h" is not one of the ranks KGMRNCP; ` +
		`capture_matrix.q: "q" is not one of the ranks KGMRNCP; capture_matrix.x: "x" is not one of the ranks KGMRNCP; capture_matrix.z: "z" is not one of the ranks KGMRNCP`
	for range 20 {
		if _, err := Compile(r); err == nil || err.Error() != want {
			t.Fatalf("refused as %v", err)
		}
	}
}

// TestRulesJSON: rules written as JSON and read again are the same rules.
func TestRulesJSON(t *testing.T) {
	for name, r := range allRules(t) {
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var again Rules
		if err := json.Unmarshal(text, &again); err != nil {
			t.Fatal(err)
		}
		second, err := json.Marshal(again)
		if err != nil {
			t.Fatal(err)
		}
		if string(second) != string(text) {
			t.Errorf("%s: %s became %s", name, text, second)
		}
	}
}

// TestStateRefusals: texts that are no state of their rules, and the part that
// is wrong.
func TestStateRefusals(t *testing.T) {
	all := games(t)
	const open = "P---/----/----/----/-r--/--G-/----/---p red "
	const black = "P---/----/----/----/-r--/--G-/----/---p black "
	const unplayed = "XXXX/XXXX/XXXX/XXXX/XXXX/XXXX/XXXX/---- unassigned "
	for _, c := range []struct{ rules, text, part string }{
		{"standard", "", "board"},
		{"standard", "P---/----/----/----/-r--/--G-/---p red", "board"},
		{"standard", "P---/----/----/----/-r--/--G-/----/--p red", "board"},
		{"standard", "P---/----/----/----/-r--/--G-/----/---q red", "board"},
		{"standard", "K--K/----/----/----/-r--/--G-/----/---p red", "board"},
		{"standard", "P---/----/----/----/-r--/--G-/----/---p", "board"},
		{"standard", open + "captured=GG", "board"},
		{"standard", "XXXX/XXXX/XXXX/XXXX/XXXX/XXXX/XXXX/XXXX unassigned captured=P", "board"},
		{"standard", "P---/----/----/----/-r--/--G-/----/---p green", "side"},
		{"standard", "P---/----/----/----/-r--/--G-/----/---p unassigned", "side"},
		{"standard", "XXXX/XXXX/XXXX/XXXX/XXXX/XXXX/XXXX/XXXX unassigned ply=1", "side"},
		{"standard", "XXXX/XXXX/XXXX/XXXX/XXXX/XXXX/XXXX/---- unassigned turns=1,0", "side"},
		{"standard", open + "ply", "ply"},
		{"standard", open + "ply=", "ply="},
		{"standard", open + "ply=-1", "ply"},
		{"standard", open + "ply=1073741825", "ply"},
		{"standard", open + "ply=1 ply=1", "ply"},
		{"standard", open + "colour=red", "colour"},
		{"standard", open + "seat=2", "seat"},
		{"standard", open + "turns=1", "turns"},
		{"standard", open + "ply=3 turns=4,0", "turns"},
		{"standard", open + "captured=X", "captured"},
		{"standard", open + "captured=" + strings.Repeat("P", 300), "captured"},
		{"standard", open + "ply=5 idle=1", "idle"},
		{"standard-idle-50", open + "ply=5 idle=6", "idle"},
		{"standard-idle-50", open + "ply=90 idle=51", "idle"},
		{"mingjian-2026", open + "ply=90 idle=1", "idle"},
		{"standard-idle-50", open + "requester=0", "requester"},
		{"standard", open + "chain=c3", "chain"},
		{"open-chain", open + "chain=b4", "chain"},
		{"open-chain", open + "chain=c3", "chain"},
		{"open-chain", open + "chain=c9", "chain"},
		{"standard", open + "fouls=1,0", "fouls"},
		{"mingjian-2026", open + "fouls=300,0", "fouls"},
		{"mingjian-2026", open + "fouls=256,0", "fouls"},
		{"mingjian-2026", open + "fouls=0,256", "fouls"},
		{"mingjian-2026", open + "disputed=256,0", "disputed"},
		{"mingjian-2026", open + "fouls=2,0", "fouls"},
		{"mingjian-2026", open + "fouls=0,1 disputed=1,0", "disputed"},
		{"mingjian-2026", open + "fouls=1,0 disputed=1,0 awaiting=yes", "awaiting"},
		{"mingjian-2026", open + "fouls=2,0 disputed=1,0 awaiting=no", "awaiting"},
		{"standard", open + "ply=9 chase0=c3>b4:b4x2", "chase0"},
		{"baidu", open + "ply=9 chase0=c3", "chase0"},
		{"baidu", open + "ply=9 chase1=c3>b4:b4x2", "chase1"},
		{"baidu", open + "ply=9 chase0=c3>a8:a8x2", "chase0"},
		{"baidu", open + "ply=9 chase0=c3>b4:b4x0", "chase0"},
		{"baidu", open + "ply=9 chase0=c3>b4:b4x10", "chase0"},
		{"baidu", open + "ply=9 chase0=c3>b4:-x2", "chase0"},
		{"baidu", open + "ply=9 chase0=c3>b4:d1x2", "chase0"},
		{"baidu", open + "ply=9 rest0=c3>b4", "rest0"},
		{"7club-standard", open + "ply=9 rest0=c3", "rest0"},
		{"7club-standard", open + "ply=9 rest0=b4>c3", "rest0"},
		{"7club-standard", open + "ply=9 rest0=c3>a8", "rest0"},
		{"7club-standard", open + "ply=9 moves=b5-b4", "moves"},
		{"icga", open + "moves=b5-b4", "moves"},
		{"icga", open + "ply=9 moves=b4-b5", "moves"},
		{"icga", open + "ply=9 moves=c4-c3", "moves"},
		{"icga", open + "ply=9 moves=b5-b4~", "moves"},
		{"icga", open + "ply=9 moves=b5", "moves"},
		{"icga", open + "ply=9 moves=stop", "moves"},
		{"icga", open + "ply=9 moves=b5-b4(r)", "moves"},
		{"open-chain-positions", open + "ply=9 moves=b5-b4,stop", "moves"},
		{"open-chain-positions", open + "ply=9 moves=c2-c3,stop", "moves"},
		{"open-chain-positions", open + "ply=9 moves=stop~", "moves"},
		{"open-chain-positions", open + "ply=9 moves=b5", "moves"},
		{"open-chain-positions", open + "ply=9 moves=b5-b9", "moves"},
		{"icga", black + "ply=9 moves=c3-c4", "moves"},
		{"icga", black + "ply=9 moves=c5-c4", "moves"},
		{"icga", black + "ply=9 moves=d1-c3", "moves"},
		{"standard", open + "outcome=idle:-:1", "outcome"},
		{"standard", open + "outcome=boredom:-:0:0", "outcome"},
		{"standard", open + "outcome=idle:0:0:0", "outcome"},
		{"standard", open + "outcome=fouls:-:0:0", "outcome"},
		{"standard", open + "outcome=fouls:2:0:0", "outcome"},
		{"standard", open + "outcome=idle:-:x:0", "outcome"},
		{"standard", open + "outcome=idle:-:0:x", "outcome"},
		{"standard", open + "ply=9 outcome=idle:-:0:10", "outcome"},
		{"standard", open + strings.Repeat(" ", MaxTextLength), "board"},
		{"standard", "P---/----/----/----/----/----/----/XXXX unassigned", "side"},
		{"standard", "p---/----/----/----/----/----/----/XXXX unassigned", "side"},
		{"standard", unplayed + "captured=P", "side"},
		{"standard-idle-50", unplayed + "idle=1", "side"},
		{"open-chain", unplayed + "chain=a1", "side"},
		{"mingjian-2026", unplayed + "fouls=1,0", "side"},
		{"mingjian-2026", unplayed + "awaiting=yes", "side"},
		{"baidu", unplayed + "chase0=a1>b1:b1x1", "side"},
		{"7club-standard", unplayed + "rest0=a1>b1", "side"},
		{"open-chain-positions", unplayed + "moves=stop", "side"},
		{"standard", open + "ply=3 turns=0,4", "turns"},
		{"foul-strict", open + "fouls=1,0 disputed=1,0", "disputed"},
		{"mingjian-2026", open + "fouls=2,0 awaiting=yes", "awaiting"},
		{"mingjian-2026", open + "fouls=0,1 disputed=0,1 awaiting=yes", "awaiting"},
		{"mingjian-2026", open + "fouls=2,0 disputed=1,0 awaiting=yes outcome=fouls:1:0:0", "awaiting"},
		{"mingjian-2026", open + "fouls=2,0 disputed=1,0", "fouls"},
		{"standard", "---p/----/----/----/----/n---/R---/--P- red ply=1 chain=a2", "chain"},
		{"open-chain", "---p/----/----/----/----/R---/r---/--P- red ply=1 chain=a2", "chain"},
		{"open-chain-positions", "---p/----/----/----/----/n---/R---/--P- red ply=3 chain=a2 moves=d7-d8", "chain"},
		{"baidu", open + "ply=9 chase0=a1>b4:b4x2", "chase0"},
		{"standard", open + "outcome=no_legal_action:-:0:0", "outcome"},
		{"standard", open + "ply=9 outcome=idle:-:5:4", "outcome"},
	} {
		_, err := all[c.rules].ParseState(c.text)
		var wrong *TextError
		if !errors.As(err, &wrong) || wrong.Part != c.part {
			t.Errorf("%s: %.90s: %v, want a refusal of %s", c.rules, c.text, err, c.part)
		}
	}
}

// TestSoundStates: texts of states that seldom come about are read as they are.
func TestSoundStates(t *testing.T) {
	const open = "P---/----/----/----/-r--/--G-/----/---p "
	for _, c := range []struct{ rules, text string }{
		{"mingjian-2026", open + "red seat=0 ply=30 fouls=2,0 disputed=1,0 awaiting=yes"},
		{"mingjian-2026", open + "red seat=0 ply=30 fouls=0,2 disputed=0,1 awaiting=yes"},
		{"mingjian-2026", open + "red seat=0 ply=30 fouls=2,0 outcome=fouls:1:0:0"},
		{"baidu", open + "red seat=0 ply=9 chase1=b4>c3:c3x2"},
		{"7club-standard", open + "red seat=0 ply=9 rest0=c3>-"},
		{"7club-standard", open + "red seat=0 ply=9 rest1=b4>c3"},
		{"icga", open + "black seat=1 ply=9 moves=c2-c3"},
		{"icga", open + "black seat=0 ply=9 moves=c2-c3"},
		{"icga", open + "red seat=0 ply=9 moves=b6-b5,c2-c3,b5-b4"},
		{"open-chain-positions", open + "red seat=0 ply=2 moves=stop"},
		{"baidu", "----/----/----/----/----/----/G---/r--P red seat=0 ply=9 chase0=a2>a1:a1x2"},
		{"mingjian-2026", "----/----/----/----/----/----/p---/Kp-- red seat=0 ply=30 fouls=0,2 disputed=0,1 awaiting=yes"},
	} {
		g := compiled(t, c.rules)
		s := position(t, g, c.text)
		if got := g.Text(&s); got != c.text {
			t.Errorf("%s is read as\n%s", c.text, got)
		}
		if stored, err := g.DecodeBinary(g.AppendBinary(nil, &s)); err != nil || g.Text(&stored) != c.text {
			t.Errorf("%s is stored as\n%s, %v", c.text, g.Text(&stored), err)
		}
	}
}

// TestStateLimits: the longest text and the largest numbers are read.
func TestStateLimits(t *testing.T) {
	const open = "P---/----/----/----/-r--/--G-/----/---p red"
	r := allRules(t)["foul-strict"]
	r.FoulsToLose = MaxFouls
	g, err := Compile(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		open + strings.Repeat(" ", MaxTextLength-len(open)),
		open + " fouls=100,0 outcome=fouls:1:0:0",
		open + " fouls=0,100 outcome=fouls:0:0:0",
	} {
		if _, err := g.ParseState(text); err != nil {
			t.Errorf("%.90s: %v", text, err)
		}
	}
	_, err = g.ParseState(open + " ply=x")
	if want := `state text: ply: "x" is not a number from 0 to 1073741824`; err == nil || err.Error() != want {
		t.Errorf("refused as %v, want %s", err, want)
	}
}

// TestSeats: what is told of a seat is that seat's, and there are two.
func TestSeats(t *testing.T) {
	g := compiled(t, "mingjian-2026")
	s := position(t, g, "P---/----/----/----/-r--/--G-/----/---p red seat=0 ply=30 turns=20,10 fouls=0,1 disputed=0,1")
	v := g.View(&s, 0)
	if s.Fouls(0) != 0 || s.Fouls(1) != 1 || s.Disputed(0) != 0 || s.Disputed(1) != 1 || v.Fouls != [2]int{0, 1} || v.Disputed != [2]int{0, 1} {
		t.Errorf("fouls %v, disputed %v", v.Fouls, v.Disputed)
	}
	for seat, want := range map[rules.Seat]Colour{rules.NoSeat: NoColour, 0: Red, 1: Black, 2: NoColour, 3: NoColour} {
		if got := s.Colour(seat); got != want {
			t.Errorf("seat %d is %v, want %v", seat, got, want)
		}
	}
}

// TestViewWithoutChases: a ruleset that only exempts chases from repetition
// follows them and shows none.
func TestViewWithoutChases(t *testing.T) {
	g := compiled(t, "exempt-without-chase")
	s := position(t, g, "P---/----/----/----/-r--/--G-/----/---p red")
	(&ruleCase{}).play(t, g, &s, "c3-b3")
	if v := g.View(&s, 0); s.chases[0].targets == 0 || v.Chases != nil {
		t.Errorf("chases %+v are shown as %v", s.chases, v.Chases)
	}
}

// TestShortForm: groups may be parted by blanks, and everything else starts at
// zero.
func TestShortForm(t *testing.T) {
	const nobody, everybody = "----/----/----/----/----/----/----/----", "KGGMMRRNNCCPPPPPkggmmrrnnccppppp"
	g := compiled(t, "standard")
	for text, want := range map[string]string{
		"XXXX XXXX XXXX XXXX XXXX XXXX XXXX XXXX unassigned":           "XXXX/XXXX/XXXX/XXXX/XXXX/XXXX/XXXX/XXXX unassigned seat=0",
		"P---/----/----/----/-r--/--G-/----/---p black":                "P---/----/----/----/-r--/--G-/----/---p black seat=1",
		"P---/----/----/----/-r--/--G-/----/---p red seat=1":           "P---/----/----/----/-r--/--G-/----/---p red seat=1",
		"P---/----/----/----/-r--/--G-/----/---p red turns=1,1 ply=2":  "P---/----/----/----/-r--/--G-/----/---p red seat=0 ply=2 turns=1,1",
		"----/----/----/----/----/----/P---/kP-- black":                "----/----/----/----/----/----/P---/kP-- black seat=1 outcome=no_legal_action:0:0:0",
		"P---/----/----/----/-r--/--G-/----/---p red captured=nPPK":    "P---/----/----/----/-r--/--G-/----/---p red seat=0 captured=KPPn",
		nobody + " red captured=" + everybody:                          nobody + " red seat=0 captured=" + everybody + " outcome=no_legal_action:1:0:0",
		"XXXX/XXXX/XXXX/XXXX/XXXX/XXXX/XXXX/XXXX unassigned seat=1":    "XXXX/XXXX/XXXX/XXXX/XXXX/XXXX/XXXX/XXXX unassigned seat=1",
		" P---  ---- ----\n---- -r-- --G- ---- ---p\tred ply=1":        "P---/----/----/----/-r--/--G-/----/---p red seat=0 ply=1",
		"P---/----/----/----/-r--/--G-/----/---p black seat=0 ply=010": "P---/----/----/----/-r--/--G-/----/---p black seat=0 ply=10",
	} {
		s := position(t, g, text)
		if got := g.Text(&s); got != want {
			t.Errorf("%q\n is %s\nwant %s", text, got, want)
		}
	}
}
