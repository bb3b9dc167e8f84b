package verify

import (
	"testing"

	"referee.example/internal/clock"
	"referee.example/internal/referee"
	"referee.example/internal/rules"
)

func TestAWholeMatchIsSound(t *testing.T) {
	t.Parallel()
	tb := whole(t, 1)
	r := tb.sound()
	if r.Games != len(tb.logs)-1 || len(r.Notes) != 0 {
		t.Errorf("%d games, notes %q", r.Games, r.Notes)
	}
}

// TestWhatTheRefereeMakesIsSound plays matches of every preset by every command
// and lets clocks run out: none of it may be found at fault.
func TestWhatTheRefereeMakesIsSound(t *testing.T) {
	t.Parallel()
	presets, err := referee.LoadPresets()
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[referee.EventKind]int{}
	for seed := range 160 {
		r := presets.Get(presets.IDs()[seed%len(presets.IDs())])
		if seed%3 == 0 {
			r = varied(t, r)
		}
		tb := newTable(t, r, uint64(seed))
		for range 50 + 4*seed {
			tb.step()
		}
		for _, f := range Check(tb.match(), nil).Findings {
			t.Errorf("seed %d, %s: %s", seed, r.ID, f)
		}
		for _, log := range tb.logs {
			for _, e := range log {
				kinds[e.Kind]++
			}
		}
	}
	for k := referee.EventMatchCreated; k <= referee.EventIllegalAttempt; k++ {
		// A disputable foul takes a forced chase, which chance does not play.
		if kinds[k] == 0 && k != referee.EventFoulRuled {
			t.Errorf("no match had an event %s", k)
		}
	}
}

// varied is the ruleset with a time bank that players call on, and with counts
// that they may ask for at any time.
func varied(t *testing.T, r *referee.Rules) *referee.Rules {
	changed := r.Ruleset
	if changed.Clock.TurnMS > 0 {
		changed.Clock.BankMS, changed.Clock.BankUse = 60_000, clock.BankManual
	}
	if r.DarkChess != nil {
		board := *r.DarkChess
		if board.Idle.Trigger == "on_request" {
			board.Idle.When = ""
		}
		changed.DarkChess = &board
	}
	compiled, err := referee.CompileRules(changed)
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

// step does one thing to the match, whatever comes of it.
func (tb *table) step() {
	tb.now += clock.Time(tb.dice.IntN(int(3 * second)))
	seats := len(tb.state.Players)
	seat := rules.Seat(tb.dice.IntN(seats))
	present := tb.state.Game.Status
	if tb.state.Next.Commitment != ([32]byte{}) {
		present = referee.GameAwaitingStart
	}
	roll := tb.dice.IntN(200)
	switch {
	case tb.state.Status.Over() || roll == 0:
		tb.compensate()
	case roll == 1 && tb.dice.IntN(4) == 0:
		tb.try(&referee.VoidMatch{Header: tb.header(rules.NoSeat, false), Note: "power cut"})
	case present == referee.GameAwaitingStart && roll < 12:
		tb.try(&referee.AbandonMatch{Header: tb.header(rules.NoSeat, false), Note: "gone", Balances: append([]int64{1}, balances(seats)[1:]...)})
	case present == referee.GameAwaitingStart:
		tb.begin()
	case present == referee.GamePlacing && roll >= 18:
		if tb.due(); tb.state.Game.Status == referee.GamePlacing {
			tb.place(int(seat))
		}
	case present == referee.GameAwaitingRuling:
		tb.try(&referee.RuleFoul{Header: tb.header(rules.NoSeat, false), Confirm: roll%2 == 0, Note: "seen"})
	case roll < 12:
		tb.wait()
	case roll < 16:
		tb.outage()
	case roll < 18:
		tb.try(&referee.ReportDisconnect{Header: tb.header(rules.NoSeat, false), Gone: rules.SeatSet(1 + tb.dice.IntN(1<<seats-1))})
	default:
		tb.call(seat, roll)
	}
}

// try carries a command out, whatever comes of it.
func (tb *table) try(c referee.Command) { _ = tb.do(c) }

// call makes a player's call, mostly a ply.
func (tb *table) call(seat rules.Seat, roll int) {
	h := tb.header(seat, false)
	switch {
	case roll < 25:
		tb.try(&referee.OfferDraw{Header: h})
	case tb.state.Game.DrawOffer == seat && roll < 80:
		tb.try(&referee.WithdrawDraw{Header: h})
	case tb.state.Game.DrawOffer == seat^1 && roll < 120:
		tb.try(&referee.AnswerDraw{Header: h, Accept: roll%4 == 0})
	case roll < 50:
		tb.try(&referee.RequestCount{Header: h})
	case roll < 51:
		tb.try(&referee.Resign{Header: h})
	case roll < 56:
		tb.try(&referee.CallTime{Header: h, PortionMS: int64(tb.dice.IntN(20_000))})
	case roll < 60:
		tb.try(&referee.CallTime{Header: tb.header(rules.NoSeat, false)})
	default:
		if tb.due(); tb.playing() && roll >= 190 {
			// Nothing ever moves so; where illegal attempts lose it costs the game.
			tb.try(&referee.PlayAction{Header: tb.header(tb.turn(), true), Action: rules.Move(0, 59)})
		} else if tb.playing() {
			tb.try(&referee.PlayAction{Header: tb.header(tb.turn(), true), Action: tb.choose(), ClientHash: []byte{1, 2}})
		}
	}
}

// due lets time act on what is due already.
func (tb *table) due() { _ = tb.keep(referee.Settle(tb.state, tb.env())) }

// outage records a time without replicas that ended now.
func (tb *table) outage() {
	if deadline, running := tb.state.Deadline(); running && tb.now < deadline {
		from := tb.now
		tb.now += clock.Time(tb.dice.IntN(int(60*second))) + 1
		tb.outages = append(tb.outages, referee.Outage{From: from, Until: tb.now})
	}
	tb.due()
}

func (tb *table) compensate() {
	if len(tb.state.Past) == 0 {
		return
	}
	game := 1 + tb.dice.IntN(len(tb.state.Past))
	c := &referee.CompensateSettlement{Header: tb.header(rules.NoSeat, false),
		Settlement: referee.SettlementID(tb.state.ID, game, false), Note: "wrong table"}
	c.Game, c.Expected, c.Caller.Principal = game, tb.state.Compensations.Seq+1, int32(1+tb.dice.IntN(2))
	_ = tb.keep(referee.Compensate(tb.state, c, tb.env()))
}
