package console_test

import (
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
