package proof

import (
	"fmt"
	"testing"
	"time"

	refereev1 "referee.example/proto/referee/v1"

	"referee.example/internal/referee"
)

// TestAnExpiryIsAtItsOwnInstant lets turns run out in silence. It makes no
// difference whether the sweeps of two replicas adjudicate them as they come or
// one late reader, at a replica that the game was not played at, finds them all.
func TestAnExpiryIsAtItsOwnInstant(t *testing.T) {
	h := newHouse(t)
	readers := []*replica{h.startDealt(referee.Deal, t.Output()), h.startDealt(referee.Deal, t.Output())}
	quick := h.ruleset(readers[0], "gametower-standard", func(r *refereev1.Ruleset) {
		r.Clock = &refereev1.ClockRules{TurnMs: turnMS, OnExpiry: "server_plays", ExpiryBooks: "yellow_card", BookedToLose: 3}
	})
	late := h.newGame(readers[0], quick)
	// The last expiry, each seat's third card, is the fifth.
	end := late.GetClock().GetTurnStartTime().AsTime().Add(5*turnMS*time.Millisecond + 2*grace)
	must(t, awaitInstant(h.ctx, time.Until(end)))
	got, err := readers[1].match.GetGame(h.as("east"), &refereev1.GetGameRequest{MatchId: late.GetMatchId()})
	must(t, err)
	if got.GetGame().GetStatus() != refereev1.GameStatus_GAME_STATUS_ENDED {
		t.Fatalf("a late reader is shown %v", got.GetGame())
	}
	h.checkSilence(readers[0], late, "found by a late reader")

	sweeping := []*replica{h.start(), h.start()}
	swept := h.newGame(sweeping[0], quick)
	w := &watcher{match: swept.GetMatchId()}
	must(t, w.untilEnd(h.as("east"), sweeping[1]))
	h.checkSilence(sweeping[1], swept, "swept")
	h.consistent()
}

const turnMS = 200

// checkSilence checks a game in which nobody ever acted: each turn's expiry
// stands at its own deadline, and with it what the server played.
func (h *house) checkSilence(r *replica, game *refereev1.Game, how string) {
	h.t.Helper()
	start := game.GetClock().GetTurnStartTime().AsTime()
	expiries := 0
	for _, event := range h.record(r, game.GetMatchId(), 1).GetEvents() {
		switch event.GetKind() {
		case refereev1.EventKind_EVENT_KIND_MATCH_CREATED, refereev1.EventKind_EVENT_KIND_GAME_STARTED:
			continue
		case refereev1.EventKind_EVENT_KIND_EXPIRED:
			expiries++
		}
		want := start.Add(time.Duration(expiries) * turnMS * time.Millisecond)
		if at := event.GetEventTime().AsTime(); !at.Equal(want) {
			h.t.Errorf("%s: %v is recorded %s after its instant", how, event.GetKind(), at.Sub(want))
		}
	}
	if expiries != 5 {
		h.t.Errorf("%s: %d expiries, want the fifth to be seat 0's third", how, expiries)
	}
	match, err := r.match.GetMatch(h.as("east"), &refereev1.GetMatchRequest{MatchId: game.GetMatchId()})
	must(h.t, err)
	result := match.GetMatch().GetGames()[0].GetResult()
	if result.GetReason() != refereev1.EndReason_END_REASON_TIME || fmt.Sprint(result.GetWinnerSeats()) != "[1]" {
		h.t.Errorf("%s: the game ended with %v", how, result)
	}
}
