package banqi

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
	"referee.example/internal/rules"
)

// recordCase is one entry of testdata/records.json. Its text is written back as
// it was, or as written says.
type recordCase struct {
	Name      string   `json:"name"`
	Rules     string   `json:"rules"`
	Text      []string `json:"text"`
	Written   []string `json:"written"`
	TextError string   `json:"text_error"`
	Error     string   `json:"error"`
	Ply       int      `json:"ply"`
	Proven    bool     `json:"proven"`
}

func TestRecords(t *testing.T) {
	var cases []recordCase
	readJSON(t, "records.json", &cases)
	all := games(t)
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) { c.judge(t, all[c.Rules]) })
	}
}

func (c *recordCase) judge(t *testing.T, g *Game) {
	record, err := ParseRecord(strings.Join(c.Text, "\n"))
	if c.TextError != "" {
		var wrong *RecordTextError
		if !errors.As(err, &wrong) || err.Error() != c.TextError {
			t.Fatalf("read as %v, want %s", err, c.TextError)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	v, err := g.CheckRecord(&record)
	if c.Error != "" {
		var wrong *RecordError
		if !errors.As(err, &wrong) || err.Error() != c.Error {
			t.Fatalf("refused as\n%v, want\n%s", err, c.Error)
		}
		return
	}
	if err != nil || v.State.Ply() != c.Ply || v.Proven != c.Proven {
		t.Errorf("error %v, %d plies, proven %v", err, v.State.Ply(), v.Proven)
	}
	want := c.Text
	if c.Written != nil {
		want = c.Written
	}
	want = slices.Clone(want)
	for i := range want {
		want[i] = strings.TrimSpace(want[i])
	}
	if got := record.String(); got != strings.Join(want, "\n")+"\n" {
		t.Errorf("written as\n%s", got)
	}
}

func TestRecordLimits(t *testing.T) {
	line := strings.Repeat("x", MaxRecordHeaderLine)
	lines := strings.Repeat("a line\n", MaxRecordHeader)
	full := strings.Repeat(" ", MaxRecordLength)
	for text, want := range map[string]string{
		line: "", line + "x": "record: line 1: a header line of more than 512 bytes",
		lines: "", lines + "one more": "record: line 101: more than 100 header lines",
		full: "", full + " ": "record: longer than 262144 bytes",
		"a\xffb": "record: line 1: not plain text in UTF-8", "a\x01b": "record: line 1: not plain text in UTF-8",
	} {
		if _, err := ParseRecord(text); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%.20q: %v, want %q", text, err, want)
		}
	}
}

func TestHeaderValue(t *testing.T) {
	r := Record{Header: []string{"no value", "ruleset", "RULESET : icga ", "Ruleset: daily"}}
	if got := r.HeaderValue("ruleset"); got != "icga" {
		t.Errorf("ruleset %q", got)
	}
	if got := r.HeaderValue("event"); got != "" {
		t.Errorf("event %q", got)
	}
}

// TestEndingNames: each ending has one word, and no word is another's.
func TestEndingNames(t *testing.T) {
	seen := map[string]bool{}
	for _, reason := range []rules.EndReason{1, 2, 3, 4, 5, 6, 20, 21, 22, 23, 24, 25, 26} {
		name := EndingName(reason)
		if name == "" || seen[name] || recordReasons[name] != reason {
			t.Errorf("ending %d is called %q", reason, name)
		}
		seen[name] = true
	}
	if len(recordReasons) != len(seen) || EndingName(rules.EndNone) != "" {
		t.Error("a word names no ending")
	}
}

// TestRulingsOfRecord: a foul is confirmed by one word and waived by the other.
func TestRulingsOfRecord(t *testing.T) {
	g := compiled(t, "mingjian-2026")
	for word, lost := range map[string]bool{WordConfirm: true, WordWaive: false} {
		v := RecordVerdict{State: position(t, g, "P---/----/----/----/-r--/--G-/----/---p red ply=30 fouls=2,0 disputed=1,0 awaiting=yes")}
		if err := g.replayEntry(&v, &RecordEntry{Word: word}); err != nil || v.State.awaiting || v.State.outcome.Decided() != lost {
			t.Errorf("%s: %v, %s", word, err, g.Text(&v.State))
		}
	}
}

// TestResultByColour: a winner named by colour is the seat that plays it.
func TestResultByColour(t *testing.T) {
	g := compiled(t, "standard")
	for text, winner := range map[string]string{"seat=0 outcome=no_legal_action:0:0:0": "red wins", "seat=0 outcome=no_legal_action:1:0:0": "black wins"} {
		s := position(t, g, "P---/----/----/----/-r--/--G-/----/---p red "+text)
		for _, words := range []string{"red wins", "black wins"} {
			if proven, reason := s.agrees(RecordResult{Words: words}); proven != (words == winner) || proven != (reason == "") {
				t.Errorf("%s, called %q: proven %v, %s", text, words, proven, reason)
			}
		}
	}
}

// TestResultOf: every outcome has its words.
func TestResultOf(t *testing.T) {
	for _, c := range []struct {
		outcome rules.Outcome
		first   rules.Seat
		want    string
	}{
		{rules.Outcome{}, 0, "unfinished"},
		{rules.Outcome{Reason: rules.EndIdle}, 0, "draw by idle"},
		{rules.Outcome{Reason: rules.EndAllGone, Void: true}, 0, "void by all_disconnected"},
		{rules.Outcome{Reason: rules.EndTime, Winners: rules.SeatsOf(1)}, 1, "first wins by time"},
		{rules.Outcome{Reason: rules.EndTime, Winners: rules.SeatsOf(1)}, 0, "second wins by time"},
	} {
		if got := ResultOf(c.outcome, c.first).String(); got != c.want {
			t.Errorf("%+v is %q, want %q", c.outcome, got, c.want)
		}
	}
}

// recordOf plays a random game and returns its record beside the state it left.
func (d dice) recordOf(g *Game, steps int) (Record, State) {
	deal := d.deal()
	s := g.Start(0)
	r := Record{Header: []string{"Event: a random game"}}
	for range steps {
		if s.outcome.Over() {
			break
		}
		entry := RecordEntry{}
		switch p := d.step(g, &s, &deal); p.kind {
		case "act":
			entry.Action, entry.Turned = p.action, p.turned
		case "request":
			entry.Word = WordRequest
		case "rule":
			entry.Word = WordWaive
		}
		r.Entries = append(r.Entries, entry)
	}
	r.Result = ResultOf(s.outcome, 0)
	return r, s
}

// TestRecordRoundTrip: the record of any game reads back as itself, leads to
// the same state, and proves its result; with another result it is refused.
func TestRecordRoundTrip(t *testing.T) {
	everyRuleset(t, func(t *rapid.T, g *Game) {
		d := newDice(rapid.Uint64().Draw(t, "seed"))
		r, s := d.recordOf(g, rapid.IntRange(0, 1500).Draw(t, "steps"))
		again, err := ParseRecord(r.String())
		if err != nil || !reflect.DeepEqual(again, r) {
			t.Fatalf("%v: read %+v\n%s", err, again, r.String())
		}
		v, err := g.CheckRecord(&again)
		if err != nil || !v.Proven || g.Text(&v.State) != g.Text(&s) {
			t.Fatalf("%v, proven %v:\n%s\n%s\n%s", err, v.Proven, g.Text(&v.State), g.Text(&s), r.String())
		}
		own := map[string]bool{r.Result.Words: true}
		if s.outcome.Decided() {
			own[s.Colour(s.winner()).String()+" wins"] = true
		}
		for _, words := range []string{"first wins", "second wins", "red wins", "black wins", "draw", "void", unfinished} {
			other := r
			other.Result.Words = words
			v, err := g.CheckRecord(&other)
			if same := own[words]; same != (err == nil && v.Proven) {
				t.Fatalf("as %q it is judged %v, proven %v", words, err, v.Proven)
			}
		}
	})
}

// TestRecordedGameAsRecord writes the recorded game as a text record, which
// then proves its draw.
func TestRecordedGameAsRecord(t *testing.T) {
	var game struct {
		Rules     string   `json:"rules"`
		FirstFlip string   `json:"first_flip"`
		Actions   []string `json:"actions"`
		Outcome   string   `json:"outcome"`
		Final     string   `json:"final"`
	}
	readJSON(t, "recorded_game.json", &game)
	var text strings.Builder
	for i, action := range game.Actions {
		if i%2 == 0 {
			fmt.Fprintf(&text, "\n%d.", i/2+1)
		}
		text.WriteString(" " + action)
	}
	text.WriteString("\nResult: draw by idle\n")
	record, err := ParseRecord(text.String())
	if err != nil {
		t.Fatal(err)
	}
	v, err := compiled(t, game.Rules).CheckRecord(&record)
	if err != nil || !v.Proven || v.State.board.text() != game.Final || v.State.outcome.FirstPly != 233 {
		t.Errorf("%v: %+v", err, v.State.outcome)
	}
}

// TestMeritsOfRecord: the little soldier's great merit is told by its ply.
func TestMeritsOfRecord(t *testing.T) {
	g := compiled(t, "gametower-standard")
	for seed := range uint64(400) {
		r, _ := newDice(seed).recordOf(g, 1000)
		v, err := g.CheckRecord(&r)
		if err != nil {
			t.Fatal(err)
		}
		if len(v.Merits) > 0 {
			ply := r.Entries[v.Merits[0]-1]
			if ply.Action.Kind != rules.ActionMove {
				t.Errorf("ply %d, %s, is no capture", v.Merits[0], FormatAction(ply.Action, ply.Turned))
			}
			return
		}
	}
	t.Error("no merit in 400 games")
}

// FuzzParseRecord: whatever is read is written so that it reads back the same.
func FuzzParseRecord(f *testing.F) {
	var cases []recordCase
	readJSON(f, "records.json", &cases)
	for _, c := range cases {
		f.Add(strings.Join(c.Text, "\n"))
	}
	game := compiled(f, "foul-chain")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRecord(text)
		if err != nil {
			return
		}
		again, err := ParseRecord(r.String())
		if err != nil || !reflect.DeepEqual(again, r) {
			t.Fatalf("%v: read %+v, again %+v", err, r, again)
		}
		if v, err := game.CheckRecord(&r); err == nil && v.Proven && v.State.Ply() > len(r.Entries) {
			t.Fatalf("%d plies of %d entries", v.State.Ply(), len(r.Entries))
		}
	})
}
