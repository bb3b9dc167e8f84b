package app

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"referee.example/internal/demo"
	refereev1 "referee.example/proto/referee/v1"
)

// TestDemonstrationMatch plays a whole match through the port, as `referee demo`
// does on a terminal, and checks what it came to. The replica has no more rights
// in the database than `referee roles` gives it.
func TestDemonstrationMatch(t *testing.T) {
	tt := newTable(t)
	err := ApplyRoles(t.Context(), tt.config.DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	tt.config.DatabaseURL = asUser(t, tt.config.DatabaseURL, "referee_server")
	a := tt.start(t, slog.New(slog.DiscardHandler))
	defer a.Stop()
	conn := dial(t, a)
	var out bytes.Buffer
	match, err := demo.Play(tt.context(t), conn, demo.Options{Out: &out, Seed: 7, Live: true, Style: demo.Style{Colour: true}})
	if err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	checkMatch(t, match)
	for _, want := range []string{"Game 1: ", "The match is complete", "sum 0", match.GetMatchId()} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, &out)
		}
	}
	checkRecord(t, tt, refereev1.NewAuditServiceClient(conn), match)
}

// TestDemonstrationOfArmyChess plays a match of each form, as `referee demo --rules`
// does.
func TestDemonstrationOfArmyChess(t *testing.T) {
	tt := newTable(t)
	a := tt.start(t, slog.New(slog.DiscardHandler))
	defer a.Stop()
	conn := dial(t, a)
	for seed, id := range []string{"junqi-flip", "junqi-dark", "siguo"} {
		var out bytes.Buffer
		match, err := demo.Play(tt.context(t), conn, demo.Options{Out: &out, Seed: uint64(seed), Ruleset: id, Style: demo.Style{ASCII: true}})
		if err != nil {
			t.Fatalf("%s: %v\n%s", id, err, &out)
		}
		seats := map[string]int{"siguo": 4}[id]
		if len(match.GetSeats()) != max(2, seats) || len(match.GetGames()) == 0 || !strings.Contains(out.String(), "Game 1: ") || !strings.Contains(out.String(), "sum 0") {
			t.Errorf("%s came to %v:\n%s", id, match, &out)
		}
		if placed := strings.Count(out.String(), "has placed, sealed as"); placed != map[string]int{"junqi-dark": 2, "siguo": 4}[id] {
			t.Errorf("%s: %d seats placed", id, placed)
		}
	}
}

func checkMatch(t *testing.T, match *refereev1.Match) {
	t.Helper()
	if match.GetStatus() != refereev1.MatchStatus_MATCH_STATUS_COMPLETE || match.GetValidGames() != 3 {
		t.Errorf("the match is %s after %d valid games", match.GetStatus(), match.GetValidGames())
	}
	valid := 0
	for _, game := range match.GetGames() {
		settlement := game.GetSettlement()
		if len(game.GetResult().GetWinnerSeats()) == 0 {
			if settlement != nil {
				t.Errorf("game %d was drawn and moved points", game.GetGame())
			}
			continue
		}
		valid++
		checkSettlement(t, match, game)
	}
	if valid != 3 {
		t.Errorf("%d games have a winner", valid)
	}
}

// checkSettlement works the payout out again from the rule: twice the stake for
// a loser with at most eight captures, once for one with more, and the house's
// fee likewise from the winner.
func checkSettlement(t *testing.T, match *refereev1.Match, game *refereev1.GameSummary) {
	t.Helper()
	settlement := game.GetSettlement()
	winner := match.GetSeats()[game.GetResult().GetWinnerSeats()[0]].GetPlayerId()
	loser := match.GetSeats()[1-game.GetResult().GetWinnerSeats()[0]].GetPlayerId()
	multiple := int64(2)
	if settlement.GetLoserCaptures() >= 9 {
		multiple = 1
	}
	if settlement.GetMultiple() != multiple {
		t.Errorf("game %d: multiple %d with %d captures of the loser", game.GetGame(), settlement.GetMultiple(), settlement.GetLoserCaptures())
	}
	stake, fee := multiple*match.GetStake(), multiple*match.GetCharges().GetFee()
	net := demo.Net(settlement)
	if net[winner] != stake-fee || net[loser] != -stake || net[""] != fee {
		t.Errorf("game %d: moved %v at multiple %d", game.GetGame(), net, multiple)
	}
	if net[winner]+net[loser]+net[""] != 0 {
		t.Errorf("game %d: %v does not sum to zero", game.GetGame(), net)
	}
}

// checkRecord asks an auditor's questions about the match that was just played.
func checkRecord(t *testing.T, tt *table, audit refereev1.AuditServiceClient, match *refereev1.Match) {
	t.Helper()
	ctx := tt.context(t)
	last := match.GetGames()[len(match.GetGames())-1].GetGame()
	answer, err := audit.GetGameRecord(ctx, &refereev1.GetGameRecordRequest{MatchId: match.GetMatchId(), Game: last})
	if err != nil {
		t.Fatal(err)
	}
	events := answer.GetRecord().GetEvents()
	kinds := []refereev1.EventKind{}
	for _, event := range events[len(events)-2:] {
		kinds = append(kinds, event.GetKind())
	}
	if want := []refereev1.EventKind{refereev1.EventKind_EVENT_KIND_GAME_ENDED, refereev1.EventKind_EVENT_KIND_MATCH_ENDED}; !slices.Equal(kinds, want) {
		t.Errorf("the record ends with %v, want %v", kinds, want)
	}
	recalled, err := audit.RecallPlayer(ctx, &refereev1.RecallPlayerRequest{PlayerId: "player-1"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(recalled.GetGames()), len(match.GetGames()); got != want {
		t.Errorf("the player is recalled with %d games, want %d", got, want)
	}
	for i, event := range events {
		if int(event.GetSeq()) != i+1 {
			t.Fatalf("event %d has seq %d", i+1, event.GetSeq())
		}
		if event.GetKind() == refereev1.EventKind_EVENT_KIND_PLY && event.GetSubmittedBy() != "developer" {
			t.Fatalf("event %d was submitted by %q", i+1, event.GetSubmittedBy())
		}
	}
}
