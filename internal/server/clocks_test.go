package server

import (
	"testing"
	"time"

	"referee.example/internal/deal"
	"referee.example/internal/rules"
	"referee.example/internal/rules/banqi"
	refereev1 "referee.example/proto/referee/v1"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
)

// TestServerPlays lets both players of a game sleep: each is warned, the server
// plays for them by the sealed randomness, and the third expiry of one loses.
func TestServerPlays(t *testing.T) {
	const turn, warning = 400 * time.Millisecond, 350 * time.Millisecond
	r := newRoom(t, options{})
	var engine *banqi.Game
	tb := r.started(r.composed("baidu", func(own *refereev1.Ruleset) {
		own.GetClock().TurnMs, own.GetClock().WarningMs = uint32(turn.Milliseconds()), uint32(warning.Milliseconds())
		engine = board(t, own)
	}))
	watch, err := r.match.WatchMatch(r.as("east"), &refereev1.WatchMatchRequest{MatchId: tb.id})
	must(t, err)
	events, warnings := tb.sleep(watch)
	if len(warnings) == 0 {
		t.Error("nobody was warned")
	}
	for _, w := range warnings {
		if deadline := w.GetClockWarning().GetDeadlineTime().AsTime(); w.GetServerTime().AsTime().Before(deadline.Add(-warning)) {
			t.Errorf("warned at %v of %v", w.GetServerTime().AsTime(), deadline)
		}
	}
	judgeExpiries(t, events, turn)
	judgeServerPlies(t, tb.id, engine, events)
}

// sleep reads a match until it ends without playing in it. What the watch
// brought is returned: its events, and its warnings of the clock.
func (t *table) sleep(watch interface {
	Recv() (*refereev1.WatchMatchResponse, error)
}) (events []*refereev1.Event, warnings []*refereev1.WatchMatchResponse) {
	t.t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			got, err := watch.Recv()
			if err != nil || got.GetEnd() != nil {
				return
			}
			if got.GetClockWarning() != nil {
				warnings = append(warnings, got)
			} else if got.GetEvent() != nil {
				events = append(events, got.GetEvent())
			}
		}
	}()
	reading := time.NewTicker(20 * time.Millisecond)
	defer reading.Stop()
	for {
		select {
		case <-ended:
			return events, warnings
		case <-reading.C: // a reader adjudicates what is due, as the sweep does
			_, err := t.match.GetMatch(t.as("east"), &refereev1.GetMatchRequest{MatchId: t.id})
			must(t.t, err)
		}
	}
}

// judgeExpiries sees five expiries, each at its own instant, whoever looked when.
func judgeExpiries(t *testing.T, events []*refereev1.Event, turn time.Duration) {
	t.Helper()
	var at time.Time
	expired := 0
	for _, e := range events {
		switch e.GetKind() {
		case refereev1.EventKind_EVENT_KIND_GAME_STARTED:
			at = e.GetEventTime().AsTime()
		case refereev1.EventKind_EVENT_KIND_EXPIRED:
			at = at.Add(turn)
			if !e.GetEventTime().AsTime().Equal(at) || e.GetExpired().GetLost() != (expired == 4) {
				t.Errorf("expiry %d at %v, want %v: %v", expired+1, e.GetEventTime().AsTime(), at, e)
			}
			expired++
		case refereev1.EventKind_EVENT_KIND_GAME_ENDED:
			if result := e.GetGameEnded().GetResult(); result.GetReason() != refereev1.EndReason_END_REASON_TIME || result.GetWinnerSeats()[0] != 1 {
				t.Errorf("result %v", result)
			}
		}
	}
	if expired != 5 {
		t.Errorf("%d expiries", expired)
	}
}

// judgeServerPlies draws the server's plies again from the revealed seed.
func judgeServerPlies(t *testing.T, id string, engine *banqi.Game, events []*refereev1.Event) {
	t.Helper()
	match, _ := parseID(id)
	material := deal.Material{Context: deal.Context{MatchID: match, Game: 1}}
	for _, e := range events {
		if started := e.GetGameStarted(); started != nil {
			material.Players = started.GetPlayerSeeds()
		}
		if ended := e.GetGameEnded(); ended != nil {
			copy(material.Server[:], ended.GetServerSeed())
		}
	}
	dealt := material.Shuffle(deck())
	s, plies := engine.Start(0), 0
	for _, e := range events {
		if e.GetKind() != refereev1.EventKind_EVENT_KIND_SERVER_PLY {
			continue
		}
		plies++
		actions := engine.List(&s, nil)
		drawn := actions[material.ServerPlay(plies).Intn(len(actions))]
		turned := rules.NoPiece
		if engine.TurnsFace(&s, drawn) {
			turned = rules.Piece(dealt[drawn.From])
		}
		if want := banqi.FormatAction(drawn, turned); want != e.GetNotation() {
			t.Errorf("server's ply %d is %s, the seed says %s", plies, e.GetNotation(), want)
		}
		_, err := engine.Apply(&s, drawn, turned)
		must(t, err)
	}
	if plies != 4 {
		t.Errorf("%d plies by the server", plies)
	}
}

// TestYellowCards: an expiry books a card, and the second of a player loses.
func TestYellowCards(t *testing.T) {
	r := newRoom(t, options{})
	tb := r.started(r.composed("gametower-standard", func(own *refereev1.Ruleset) {
		own.GetClock().TurnMs, own.GetClock().BankMs, own.GetClock().BankUse = 250, 0, ""
		own.GetClock().BookedToLose = 2
	}))
	watch, err := r.match.WatchMatch(r.as("east"), &refereev1.WatchMatchRequest{MatchId: tb.id})
	must(t, err)
	events, _ := tb.sleep(watch)
	var cards [][2]uint32
	for _, e := range events {
		if e.GetKind() == refereev1.EventKind_EVENT_KIND_EXPIRED {
			cards = append(cards, [2]uint32{e.GetClocks()[0].GetCards(), e.GetClocks()[1].GetCards()})
			if e.GetClocks()[0].GetExpiries() != 0 {
				t.Errorf("an expiry is booked too: %v", e)
			}
		}
	}
	if want := [][2]uint32{{1, 0}, {1, 1}, {2, 1}}; len(cards) != 3 || [3][2]uint32(cards) != [3][2]uint32(want) {
		t.Errorf("cards %v, want %v", cards, want)
	}
}

// TestManualBank calls for portions of a time bank: they move the deadline, and
// what was not used of them goes back.
func TestManualBank(t *testing.T) {
	r := newRoom(t, options{})
	tb := r.started(r.composed("gametower-standard", func(own *refereev1.Ruleset) { own.GetClock().BankUse = "manual" }))
	length := func() time.Duration {
		clock := tb.game.GetClock()
		return clock.GetDeadlineTime().AsTime().Sub(clock.GetTurnStartTime().AsTime())
	}
	if length() != 30*time.Second {
		t.Errorf("without a call the turn lasts %v", length())
	}
	must(t, tb.callTime(proto.Uint32(0), 70_000))
	must(t, tb.callTime(proto.Uint32(0), 20_000))
	if called := tb.game.GetClock().GetSeats()[0].GetCalledUs(); length() != 120*time.Second || called != 90_000_000 {
		t.Errorf("the turn lasts %v, %d µs called for", length(), called)
	}
	for _, refused := range []struct{ seat, portion uint32 }{{0, 30_001}, {1, 1}} {
		wanted{codes.FailedPrecondition, "CALL_REFUSED", ""}.check(t, tb.callTime(&refused.seat, refused.portion))
	}
	tb.play(flip("a1"))
	if seat := tb.game.GetClock().GetSeats()[0]; seat.GetBankUs() != 120_000_000 || seat.GetCalledUs() != 0 {
		t.Errorf("a turn within its own time leaves %v", seat)
	}
	if length() != 30*time.Second {
		t.Errorf("the other seat's turn lasts %v", length())
	}
}
