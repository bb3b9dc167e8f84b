package verify

import (
	"slices"
	"strings"
	"testing"

	"referee.example/internal/referee"
	"referee.example/internal/rules"
	"referee.example/internal/rules/banqi"
)

// playedText is a stored match, and the lines that its text record must have.
func TestTextRecord(t *testing.T) {
	tb := newTable(t, preset(t, "7club-standard"), 5)
	tb.start()
	for range 3 {
		tb.now += second
		tb.play()
	}
	running := tb.record()
	running.Match.Players, running.Match.RulesetID = []string{"ann\nResult: draw", "ben 陳"}, ""
	record, err := darkTextRecord(running, 1)
	if err != nil || record.Result.Words != "unfinished" {
		t.Fatalf("a running game: %+v, %v", record, err)
	}
	tb.must(&referee.ReportDisconnect{Header: tb.header(rules.NoSeat, false), Gone: rules.SeatsOf(1)})
	r := tb.record()
	r.Match.Players, r.Match.RulesetID = running.Match.Players, ""
	record, err = darkTextRecord(r, 1)
	if err != nil {
		t.Fatal(err)
	}
	started, _ := r.Logs[1][1].Started()
	names := []string{`"ann\nResult: draw"`, "ben 陳"}
	result := "second wins by disconnection"
	if started.First == 0 {
		result = "first wins by disconnection"
	}
	ply := func(n int) string { return banqi.FormatAction(r.Logs[1][n].Action, r.Logs[1][n].Turned) }
	want := []string{
		"Match: " + r.Match.ID.String(), "Game: 1", "Ruleset: composed", "Date: 2027-01-15",
		"First: " + names[started.First], "Second: " + names[1-started.First], "",
		"1. " + ply(2) + " " + ply(3), "2. " + ply(4), "", "Result: " + result, "",
	}
	if got := strings.Split(record.String(), "\n"); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	for _, game := range []int{0, 2, 9} { // never started, or not there
		if record, err := TextRecord(r, game); record != "" || err != nil {
			t.Errorf("game %d: %v, %v", game, record, err)
		}
	}
	r.Logs[1][1].Detail = r.Logs[1][1].Detail[1:]
	if _, err := TextRecord(r, 1); err == nil {
		t.Error("a start that can't be read is passed over in silence")
	}
}

// Words that are no plies, as the rules' own records have them.
func TestTextRecordWords(t *testing.T) {
	tb := newTable(t, preset(t, "7club-standard"), 5)
	tb.start()
	r := tb.record()
	log := r.Logs[1]
	log = append(log, referee.Event{Kind: referee.EventPly, Action: rules.Flip(5), Turned: 11},
		referee.Event{Kind: referee.EventDrawOffered}, referee.Event{Kind: referee.EventCountRequested},
		referee.Event{Kind: referee.EventServerPly, Action: rules.Move(12, 16), Turned: 15},
		referee.Event{Kind: referee.EventPly, Action: rules.Stop()},
		referee.Event{Kind: referee.EventFoulRuled, Detail: []byte{0, 0}}, referee.Event{Kind: referee.EventFoulRuled, Detail: []byte{1, 0}})
	r.Logs[1] = log
	record, err := darkTextRecord(r, 1)
	if err != nil {
		t.Fatal(err)
	}
	if text := record.String(); !strings.Contains(text, "\n1. b2(n) request a4-a5(k)\n2. stop waive confirm\n") {
		t.Errorf("got %s", text)
	}
	if _, err := banqi.ParseRecord(record.String()); err != nil {
		t.Errorf("it can't be read: %v", err)
	}
}
