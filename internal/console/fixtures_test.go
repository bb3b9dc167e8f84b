package console_test

import (
	"referee.example/internal/referee"
	refereev1 "referee.example/proto/referee/v1"
)

// void ends a match as an operator does.
func (h *house) void(t *table) {
	h.t.Helper()
	_, err := h.match.VoidMatch(h.as("operator"), &refereev1.VoidMatchRequest{
		MatchId: t.id, Game: t.game.GetGame(), RequestId: requestID(), ExpectedSeq: t.game.GetNextSeq(), Note: "the platform's hall lost power",
	})
	must(h.t, err)
}

// awaitLogged waits until a match's games are in the log of finished games.
func (h *house) awaitLogged(match *refereev1.Match) {
	h.t.Helper()
	for _, game := range match.GetGames() {
		for {
			_, err := h.audit.ProveGame(h.as("auditor"), &refereev1.ProveGameRequest{MatchId: match.GetMatchId(), Game: game.GetGame()})
			if err == nil {
				break
			}
			if h.t.Context().Err() != nil {
				h.t.Fatal(err)
			}
		}
	}
}

// named creates a match whose seat 0 moves first, in which a player may resign at
// once, and starts it. change may alter its rules.
func (h *house) named(change ...func(*refereev1.Ruleset)) *table {
	h.t.Helper()
	t := &table{house: h, as: h.as("arcade")}
	got, err := h.rules.GetRuleset(t.as, &refereev1.GetRulesetRequest{RulesetId: "7club-standard"})
	must(h.t, err)
	ruleset := got.GetRuleset()
	ruleset.Id, ruleset.FirstMover, ruleset.ResignAfterTurns = "", referee.FirstMoverNamed, 0
	for _, f := range change {
		f(ruleset)
	}
	first := uint32(0)
	created, err := h.match.CreateMatch(t.as, &refereev1.CreateMatchRequest{
		RequestId: requestID(), PlayerIds: []string{"player-1", "player-2"}, Stake: 500, Balances: []int64{50_000, 50_000},
		Rules: &refereev1.CreateMatchRequest_Ruleset{Ruleset: ruleset}, FirstSeat: &first, Charges: &refereev1.Charges{Fee: 25},
	})
	must(h.t, err)
	t.game = created.GetChange().GetGame()
	t.id = t.game.GetMatchId()
	t.start()
	return t
}

// waiting creates a match of two whose first game has not been started.
func (h *house) waiting(ruleset string, players ...string) string {
	h.t.Helper()
	request := &refereev1.CreateMatchRequest{
		RequestId: requestID(), PlayerIds: players, Stake: 500, Balances: []int64{50_000, 50_000},
		Rules: &refereev1.CreateMatchRequest_RulesetId{RulesetId: ruleset},
	}
	preset, err := h.rules.GetRuleset(h.as("arcade"), &refereev1.GetRulesetRequest{RulesetId: ruleset})
	must(h.t, err)
	if preset.GetRuleset().GetFirstMover() == referee.FirstMoverNamed {
		request.FirstSeat = new(uint32)
	}
	created, err := h.match.CreateMatch(h.as("arcade"), request)
	must(h.t, err)
	return created.GetChange().GetMatch().GetMatchId()
}

func (t *table) resign(seat uint32) {
	t.t.Helper()
	resigned, err := t.match.Resign(t.as, &refereev1.ResignRequest{
		MatchId: t.id, Game: t.game.GetGame(), RequestId: requestID(), ExpectedSeq: t.game.GetNextSeq(), Seat: &seat,
	})
	must(t.t, err)
	t.game = resigned.GetChange().GetGame()
}

// shortMatch is a match of three short games that was played to its end.
func (h *house) shortMatch() *refereev1.Match {
	h.t.Helper()
	t := h.named()
	for {
		t.play(24, nil)
		if match := t.finish(); match.GetEndTime() != nil {
			return match
		}
	}
}

// finish ends the game, unless it has ended, by a resignation of the seat to
// move, and starts the next if there is one.
func (t *table) finish() *refereev1.Match {
	t.t.Helper()
	if t.game.GetStatus() == refereev1.GameStatus_GAME_STATUS_PLAYING {
		t.resign(t.game.GetToMove())
	}
	got, err := t.house.match.GetMatch(t.as, matchRequest(t.id))
	must(t.t, err)
	if got.GetMatch().GetEndTime() == nil {
		waiting, err := t.house.match.GetGame(t.as, &refereev1.GetGameRequest{MatchId: t.id})
		must(t.t, err)
		t.game = waiting.GetGame()
		t.start()
	}
	return got.GetMatch()
}
