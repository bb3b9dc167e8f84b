package server

import (
	"bytes"
	"testing"

	"referee.example/internal/referee"
	refereev1 "referee.example/proto/referee/v1"

	"google.golang.org/protobuf/proto"
)

// TestChariotRushIsATablesChoice creates matches on a preset with and without
// the option: the id stays the preset's, the hash tells what is played.
func TestChariotRushIsATablesChoice(t *testing.T) {
	r := newRoom(t, options{})
	hashes := map[string][]byte{}
	for name, rush := range map[string]*bool{"as the preset": nil, "off": proto.Bool(false), "on": proto.Bool(true)} {
		table := r.create(func(c *refereev1.CreateMatchRequest) {
			c.Rules = &refereev1.CreateMatchRequest_RulesetId{RulesetId: "7club-standard"}
			c.FirstSeat, c.ChariotRush = nil, rush
		})
		if got := table.last.GetMatch().GetRulesetId(); got != "7club-standard" {
			t.Errorf("%s: the ruleset's id is %q", name, got)
		}
		hashes[name] = table.last.GetMatch().GetRulesetHash()
		table.start()
		record, err := r.audit.GetGameRecord(r.as("auditor"), &refereev1.GetGameRecordRequest{MatchId: table.id, Game: 1})
		must(t, err)
		want := ""
		if rush != nil && *rush {
			want = chariotRushAny
		}
		if got := record.GetRecord().GetRuleset().GetDarkChess().GetChariotRush(); got != want {
			t.Errorf("%s: chariot_rush is %q", name, got)
		}
	}
	preset := r.referee.Presets().Get("7club-standard").Hash
	if !bytes.Equal(hashes["as the preset"], preset[:]) || !bytes.Equal(hashes["off"], preset[:]) || bytes.Equal(hashes["on"], preset[:]) {
		t.Errorf("hashes: %x, the preset's is %x", hashes, preset)
	}
}

// TestAWholePresetKeepsItsID sends a preset back as it was got.
func TestAWholePresetKeepsItsID(t *testing.T) {
	r := newRoom(t, options{})
	got, err := r.rules.GetRuleset(r.as("east"), &refereev1.GetRulesetRequest{RulesetId: "7club-standard"})
	must(t, err)
	table := r.create(func(c *refereev1.CreateMatchRequest) {
		c.Rules, c.FirstSeat = &refereev1.CreateMatchRequest_Ruleset{Ruleset: got.GetRuleset()}, nil
	})
	match := table.last.GetMatch()
	if match.GetRulesetId() != "7club-standard" || !bytes.Equal(match.GetRulesetHash(), got.GetRulesetHash()) {
		t.Errorf("the match is under %q %x", match.GetRulesetId(), match.GetRulesetHash())
	}
	if started := table.start(); len(started.GetEvents()[0].GetGameStarted().GetFirstDraws())%2 != 0 ||
		len(started.GetEvents()[0].GetGameStarted().GetFirstDraws()) == 0 || got.GetRuleset().GetFirstMover() != referee.FirstMoverComparison {
		t.Errorf("draws for the first move: %v", started.GetEvents()[0])
	}
}
