package server

import (
	"testing"
	"time"

	"referee.example/internal/clock"
	refereev1 "referee.example/proto/referee/v1"

	"google.golang.org/protobuf/proto"
)

const us = int64(time.Millisecond / time.Microsecond)

// clockSystems combine the parts of a clock. The turn times are so short that
// every turn draws on what follows them, and the rest so long that none expires.
var clockSystems = map[string]*refereev1.ClockRules{
	"extensions": {TurnMs: 1, Extensions: 1000, ExtensionMs: 100, OnExpiry: "lose"},
	"a bank drawn automatically": {TurnMs: 1, BankMs: 120_000, BankUse: "automatic", OnExpiry: "server_plays",
		ExpiryBooks: "yellow_card", BookedToLose: 10},
	"extensions, then a bank":     {TurnMs: 1, Extensions: 2, ExtensionMs: 1, BankMs: 120_000, BankUse: "automatic", OnExpiry: "lose"},
	"sudden death":                {MainMs: 900_000, WarningMs: 30_000, OnExpiry: "lose"},
	"main time with an increment": {MainMs: 180_000, IncrementMs: 5000, OnExpiry: "lose"},
	"a long turn in main time":    {TurnMs: 60_000, MainMs: 90_000, IncrementMs: 1000, WarningMs: 10_000, OnExpiry: "server_plays"},
	"every part at once": {TurnMs: 1, Extensions: 2, ExtensionMs: 1, BankMs: 60_000, BankUse: "automatic", MainMs: 300_000,
		IncrementMs: 2000, UntimedOpening: true, OnExpiry: "server_plays", ExpiryBooks: "expiry", BookedToLose: 3},
	"no clock": {},
}

// TestPartsOfAClock plays on clocks of every kind and recomputes from the
// instants alone what each turn leaves and how long the next may last.
func TestPartsOfAClock(t *testing.T) {
	r := newRoom(t, options{deal: tidy})
	for name, system := range clockSystems {
		t.Run(name, func(t *testing.T) {
			tb := r.started(r.composed("gametower-standard", func(own *refereev1.Ruleset) { own.Clock = system }))
			full := &refereev1.SeatClock{
				MainUs: us * int64(system.GetMainMs()), BankUs: us * int64(system.GetBankMs()), ExtensionsLeft: system.GetExtensions(),
			}
			stores := [2]*refereev1.SeatClock{full, proto.CloneOf(full)}
			if system.GetUntimedOpening() {
				// What is played before the arbiter's call costs nothing.
				if clock := tb.play(flip("a1")).GetGame().GetClock(); clock.GetDeadlineTime() != nil || !clock.GetOpening() {
					t.Errorf("the opening is timed: %v", clock)
				}
				must(t, tb.callTime(nil, 0))
			}
			for _, square := range []string{"b1", "c1", "d1", "a2", "b2"} {
				tb.judgeTurn(system, &stores, square)
			}
		})
	}
}

// judgeTurn looks at the running turn, plays it and sees what it cost.
func (t *table) judgeTurn(system *refereev1.ClockRules, stores *[2]*refereev1.SeatClock, square string) {
	t.t.Helper()
	before, seat := t.game.GetClock(), t.game.GetToMove()
	start := before.GetTurnStartTime().AsTime()
	if timed := system.GetTurnMs()+system.GetMainMs() > 0; timed {
		lasts := time.Duration(turnUs(system, stores[seat])) * time.Microsecond
		if got := before.GetDeadlineTime().AsTime().Sub(start); got != lasts {
			t.t.Errorf("%s: the turn lasts %v, want %v", square, got, lasts)
		}
		plain := min(lasts, time.Duration(system.GetTurnMs())*time.Millisecond)
		if got := before.GetTurnEndTime().AsTime().Sub(start); system.GetTurnMs() > 0 && got != plain {
			t.t.Errorf("%s: the turn's own time is %v, want %v", square, got, plain)
		}
		warned := lasts - time.Duration(system.GetWarningMs())*time.Millisecond
		if got := before.GetWarningTime().AsTime().Sub(start); system.GetWarningMs() > 0 && got != warned {
			t.t.Errorf("%s: the warning comes after %v, want %v", square, got, warned)
		}
	} else if before.GetDeadlineTime() != nil || before.GetWarningTime() != nil {
		t.t.Errorf("a clock runs: %v", before)
	}
	own := t.play(flip(square)).GetEvents()[0]
	spend(system, stores[seat], own.GetEventTime().AsTime().Sub(start).Microseconds())
	for i, want := range stores {
		if got := own.GetClocks()[i]; !proto.Equal(got, want) {
			t.t.Errorf("%s: seat %d has %v, want %v", square, i, got, want)
		}
	}
}

// turnUs is how long a turn may last, in microseconds.
func turnUs(system *refereev1.ClockRules, store *refereev1.SeatClock) int64 {
	if system.GetTurnMs() == 0 {
		return store.GetMainUs()
	}
	most := us*int64(system.GetTurnMs()) + int64(store.GetExtensionsLeft())*us*int64(system.GetExtensionMs()) + store.GetBankUs()
	if system.GetMainMs() > 0 {
		most = min(most, store.GetMainUs())
	}
	return most
}

// spend takes a turn from a store: whole extensions first, then the bank as it
// was used, and all of the turn from main time, which then earns its increment.
func spend(system *refereev1.ClockRules, store *refereev1.SeatClock, used int64) {
	if system.GetMainMs() > 0 {
		store.MainUs += us*int64(system.GetIncrementMs()) - used
	}
	if system.GetTurnMs() == 0 {
		return
	}
	over := used - us*int64(system.GetTurnMs())
	for over > 0 && store.GetExtensionsLeft() > 0 {
		store.ExtensionsLeft--
		over -= us * int64(system.GetExtensionMs())
	}
	if over > 0 {
		store.BankUs -= over
	}
}

// TestExpiryInMidChain lets a turn run out in the middle of a chain: the server
// ends the chain at the deadline, which the steps of the chain share, and it
// costs nothing more, whatever an expiry costs otherwise.
func TestExpiryInMidChain(t *testing.T) {
	r := newRoom(t, options{deal: arranged(t, "RnpgKGGMMRNNCCPPPPPkgmmrrnccpppp")})
	for name, change := range map[string]func(*refereev1.ClockRules){
		"lose":             func(c *refereev1.ClockRules) { c.OnExpiry, c.ExpiryBooks, c.BookedToLose = "lose", "", 0 },
		"yellow card":      func(*refereev1.ClockRules) {},
		"beside main time": func(c *refereev1.ClockRules) { c.MainMs = 60_000 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for turn := time.Second; ; turn *= 2 { // until the machine plays the plies before it within their turns
				tb := r.started(r.composed("gametower-dark-chain", func(own *refereev1.Ruleset) {
					own.Clock.TurnMs, own.Clock.BankMs, own.Clock.BankUse = uint32(turn.Milliseconds()), 0, ""
					change(own.GetClock())
				}))
				if deadline, inTime := tb.intoChain(); inTime {
					tb.judgeStop(deadline, turn)
					return
				}
			}
		})
	}
}

// intoChain plays to the middle of a chain and returns the deadline of its turn, or
// false if a turn ran out before.
func (t *table) intoChain() (deadline time.Time, inTime bool) {
	t.t.Helper()
	for _, action := range []*refereev1.Action{flip("a1"), flip("d8"), flip("b1"), flip("c1"), {Kind: refereev1.ActionKind_ACTION_KIND_MOVE, From: "a1", To: "b1"}} {
		deadline = t.game.GetClock().GetDeadlineTime().AsTime()
		got, err := t.match.PlayAction(t.as("east"), t.action(action))
		if err != nil {
			now, unknown := t.store.Now()
			must(t.t, unknown)
			if now <= clock.Time(deadline.UnixMicro()) {
				t.t.Fatalf("in time, and refused: %v", err)
			}
			return deadline, false
		}
		t.saw(got.GetChange())
	}
	if next := t.game.GetClock().GetDeadlineTime().AsTime(); t.game.GetToMove() != 0 || !next.Equal(deadline) {
		t.t.Fatalf("in the chain %d is to move, the deadline is %v, was %v", t.game.GetToMove(), next, deadline)
	}
	return deadline, true
}

// judgeStop waits until the running turn has expired and reads what became of it;
// further turns may have expired by then.
func (t *table) judgeStop(deadline time.Time, turn time.Duration) {
	t.t.Helper()
	chain := int(t.game.GetNextSeq()) - 1 // events up to the last step of the chain
	reading := time.NewTicker(20 * time.Millisecond)
	defer reading.Stop()
	for int(t.game.GetNextSeq())-1 < chain+2 {
		<-reading.C
		got, err := t.match.GetGame(t.as("east"), &refereev1.GetGameRequest{MatchId: t.id})
		must(t.t, err)
		t.game = got.GetGame()
	}
	events := t.record().GetEvents()[chain:]
	expired, stop := events[0], events[1]
	for _, e := range []*refereev1.Event{expired, stop} {
		if !e.GetEventTime().AsTime().Equal(deadline) || e.GetSeat() != 0 {
			t.t.Errorf("not at the deadline %v: %v", deadline, e)
		}
	}
	cost := expired.GetClocks()[0].GetCards() + expired.GetClocks()[0].GetExpiries()
	if expired.GetKind() != refereev1.EventKind_EVENT_KIND_EXPIRED || expired.GetExpired().GetLost() || cost != 0 {
		t.t.Errorf("the expiry cost more than the chain: %v", expired)
	}
	if stop.GetKind() != refereev1.EventKind_EVENT_KIND_SERVER_PLY || stop.GetNotation() != "stop" {
		t.t.Errorf("the server played %v", stop)
	}
	if len(events) > 2 {
		if next := events[2]; next.GetSeat() != 1 || !next.GetEventTime().AsTime().Equal(deadline.Add(turn)) {
			t.t.Errorf("after the chain, with %v a turn: %v", turn, next)
		}
	} else if clock := t.game.GetClock(); t.game.GetStatus() != refereev1.GameStatus_GAME_STATUS_PLAYING || !clock.GetTurnStartTime().AsTime().Equal(deadline) {
		t.t.Errorf("after the chain: %v", t.game)
	}
}
