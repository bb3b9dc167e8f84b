package junqi

import (
	"errors"
	"strings"
	"testing"

	"referee.example/internal/rules"
)

const recordHead = "Ruleset: junqi-dark\nDate: 2026-07-01\n"

const recordStart = "first=0\nplace=98776/6.5.5/44.33/3.2.2/2MM11/MF1BB\nplace=98776/6.5.5/44.33/3.2.2/2MM11/MF1BB\n"

// TestTextRecordReads: each way for a game to end is written and read back, and
// what the moves show is told from what only the record says.
func TestTextRecordReads(t *testing.T) {
	g, err := Compile(Rules{Form: FormDark})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		body, result string
		proven       bool
	}{
		{recordStart + "G0-F0\nout=1:resignation\n", "seat 0 wins by resignation", true},
		{recordStart + "leave=0\n", "seat 1 wins by disconnection", true},
		{recordStart + "G0-F0\n", "draw by agreement", false},
		{recordStart, "void by match_voided", false},
		{recordStart, "void by all_disconnected", false},
		{recordStart, "unfinished", false},
		{"", "seat 1 wins by time", false},
		{"", "void by time", false},
	} {
		text := recordHead + "\n" + c.body + "\nResult: " + c.result + "\n"
		if c.body == "" {
			text = recordHead + "\nResult: " + c.result + "\n"
		}
		r, err := ParseTextRecord(text)
		if err != nil {
			t.Errorf("%q: %v", c.result, err)
			continue
		}
		if r.String() != text || len(r.Header) != 2 {
			t.Errorf("%q is written back as %q", text, r)
		}
		if v, err := g.CheckTextRecord(r); err != nil || v.Proven != c.proven {
			t.Errorf("%q: %+v, %v", c.result, v.Proven, err)
		}
	}
}

// TestTextRecordRefusals: what is no record, and what its own moves contradict.
func TestTextRecordRefusals(t *testing.T) {
	g, err := Compile(Rules{Form: FormDark})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ text, says string }{
		{strings.Repeat("x", MaxRecordBytes+1), "longer than"},
		{"", "the result is missing"},
		{recordHead + recordStart, "the result is missing"},
		{recordHead + "Result: white wins", "no result"},
		{recordHead + "Result: seat 2 wins by flag", "no result"},
		{recordHead + "Result: seats 0 and 1 win by flag", "no result"},
		{recordHead + "Result: draw by ", "no result"},
		{recordHead + "Result: draw", "no result"},
		{recordHead + "Result: unfinished\nG0-F0", "follows the result"},
		{recordHead + "Result: unfinished\nResult: unfinished", "follows the result"},
		{strings.Repeat("a: b\n", MaxRecordHeader+1) + "Result: unfinished", "header lines"},
		{strings.Repeat("a", MaxRecordHeaderLine+1) + "\nResult: unfinished", "header line of more"},
		{"a\x1b[2J\nResult: unfinished", "plain text"},
		{recordHead + recordStart + "G0-A0\nResult: unfinished", "record line 6, \"G0-A0\": the piece on G0 may not go"},
		{recordHead + recordStart + "north\nResult: unfinished", "not an action"},
		{recordHead + "first=2\nResult: unfinished", "first="},
		{recordHead + recordStart + "out=1:resignation\nResult: seat 1 wins by resignation", "ended otherwise: seat 0 wins"},
		{recordHead + recordStart + "out=1:resignation\nResult: unfinished", "ended otherwise"},
		{recordHead + recordStart + "Result: seat 1 wins by flag", "does not end so"},
		{recordHead + "Result: seat 1 wins by flag", "not played"},
	} {
		r, err := ParseTextRecord(c.text)
		if err == nil {
			_, err = g.CheckTextRecord(r)
		}
		var refused *RecordError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%.60q: %v, want %q", c.text, err, c.says)
		}
	}
}

// TestResultsOfTeams: partners are named together.
func TestResultsOfTeams(t *testing.T) {
	for _, r := range []RecordResult{
		{rules.EndFlag, rules.SeatsOf(0, 2), false}, {rules.EndNoLegalAction, rules.SeatsOf(1, 3), false}, {rules.EndIdle, 0, false},
	} {
		if got, err := parseResult(r.String()); err != nil || got != r {
			t.Errorf("%q is read as %+v, %v", r, got, err)
		}
	}
}

// FuzzTextRecord: whatever is read is written back so that it reads the same.
func FuzzTextRecord(f *testing.F) {
	f.Add(recordHead + "\n" + recordStart + "G0-F0\n\nResult: draw by agreement\n")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseTextRecord(text)
		if err != nil {
			return
		}
		again, err := ParseTextRecord(r.String())
		if err != nil || again.String() != r.String() {
			t.Errorf("%q is read back as %v, %v", r, again, err)
		}
	})
}
