package referee

import (
	"bytes"
	"testing"

	"referee.example/internal/clock"
	"referee.example/internal/rules"
)

const sevenClub = "7club-standard"

func TestWholeMatch(t *testing.T) {
	tb := newTable(t, preset(t, sevenClub))
	for !tb.state.Status.Over() {
		tb.start()
		tb.playOut()
		if len(tb.state.Past) > 50 {
			t.Fatal("the match does not end")
		}
	}
	st := tb.state.Standing()
	if tb.state.Status != MatchComplete || st.Valid != 3 {
		t.Fatalf("status %d after %d valid games", tb.state.Status, st.Valid)
	}
	for game := 1; game <= len(tb.state.Past); game++ {
		settlement, err := tb.state.Settlement(game)
		if err != nil {
			t.Fatal(err)
		}
		net, err := settlement.Net()
		if err != nil {
			t.Fatal(err)
		}
		if sum := net.House + net.Seats[0] + net.Seats[1]; sum != 0 {
			t.Fatalf("game %d sums to %d", game, sum)
		}
		if decided := tb.state.Past[game-1].Outcome.Decided(); decided != (len(settlement.Lines) > 0) {
			t.Fatalf("game %d: decided %v with %d lines", game, decided, len(settlement.Lines))
		}
	}
	tb.checkReplay()
}

// checkReplay replays the log from nothing and compares the whole state.
func (tb *table) checkReplay() {
	tb.t.Helper()
	s := &State{Rules: tb.state.Rules}
	for i := range tb.log {
		sealed := tb.state.Game.Sealed
		if err := s.replay(&tb.log[i]); err != nil {
			tb.t.Fatal(err)
		}
		s.Game.Sealed, s.Next.Sealed = sealed, tb.state.Next.Sealed
	}
	if !bytes.Equal(s.Snapshot(), tb.state.Snapshot()) {
		tb.t.Fatal("the log replays to another state")
	}
}

func TestFlipsComeFromTheCommittedDeal(t *testing.T) {
	tb := newTable(t, preset(t, sevenClub))
	commitment := tb.state.Game.Commitment
	tb.start()
	tb.playOut()
	g := &tb.state.Game
	if tb.state.Context().Commit(g.ServerSeed) != commitment {
		t.Fatal("the revealed seed is not the committed one")
	}
	arrangement := Deal(tb.state.material(g.ServerSeed), tb.state.Rules.Deck())
	flips := 0
	for i := range tb.log {
		if e := &tb.log[i]; e.Game == 1 && e.Turned != rules.NoPiece {
			flips++
			if arrangement[e.Action.From] != byte(e.Turned) {
				t.Fatalf("square %d turned %d, dealt %d", e.Action.From, e.Turned, arrangement[e.Action.From])
			}
		}
	}
	if flips == 0 {
		t.Fatal("nothing was turned")
	}
}

func TestRefusalsChangeNothing(t *testing.T) {
	r := preset(t, sevenClub)
	running := func(tb *table) { tb.start() }
	seat := func(tb *table, s rules.Seat) Header { return tb.header(s, false) }
	cases := []struct {
		name    string
		prepare func(*table)
		command func(*table) Command
		want    Reason
	}{
		{"ply before the start", nil, func(tb *table) Command {
			return &PlayAction{Header: tb.header(0, true), Action: rules.Flip(0)}
		}, ReasonGameNotRunning},
		{"start twice", running, func(tb *table) Command {
			return &StartGame{Header: seat(tb, rules.NoSeat), Balances: []int64{900, 900}}
		}, ReasonGameRunning},
		{"start below the entry minimum", nil, func(tb *table) Command {
			return &StartGame{Header: seat(tb, rules.NoSeat), Balances: []int64{900, 899}}
		}, ReasonInsufficientBalance},
		{"start with one balance", nil, func(tb *table) Command {
			return &StartGame{Header: seat(tb, rules.NoSeat), Balances: []int64{900}}
		}, ReasonInvalidField},
		{"out of turn", running, func(tb *table) Command {
			return &PlayAction{Header: tb.header(1-tb.turn(), true), Action: rules.Flip(0)}
		}, ReasonIllegalAction},
		{"move of a face-down piece", running, func(tb *table) Command {
			return &PlayAction{Header: tb.header(tb.turn(), true), Action: rules.Move(0, 1)}
		}, ReasonIllegalAction},
		{"stale ply", func(tb *table) { tb.start(); tb.play(rules.Flip(0)) }, func(tb *table) Command {
			c := &PlayAction{Header: tb.header(tb.turn(), true), Action: rules.Flip(1)}
			c.Expected = 1
			return c
		}, ReasonStale},
		{"ply ahead", running, func(tb *table) Command {
			c := &PlayAction{Header: tb.header(tb.turn(), true), Action: rules.Flip(1)}
			c.Expected = 2
			return c
		}, ReasonStale},
		{"resign too early", running, func(tb *table) Command {
			return &Resign{Header: seat(tb, 0)}
		}, ReasonResignationTooEarly},
		{"answer without an offer", running, func(tb *table) Command {
			return &AnswerDraw{Header: seat(tb, 0), Accept: true}
		}, ReasonNoOffer},
		{"answer the own offer", func(tb *table) { tb.start(); tb.must(&OfferDraw{Header: seat(tb, 0)}) }, func(tb *table) Command {
			return &AnswerDraw{Header: seat(tb, 0), Accept: true}
		}, ReasonNoOffer},
		{"offer beside an offer", func(tb *table) { tb.start(); tb.must(&OfferDraw{Header: seat(tb, 0)}) }, func(tb *table) Command {
			return &OfferDraw{Header: seat(tb, 1)}
		}, ReasonOfferStands},
		{"fourth offer", func(tb *table) {
			tb.start()
			for range 3 {
				tb.must(&OfferDraw{Header: seat(tb, 0)})
				tb.must(&WithdrawDraw{Header: seat(tb, 0)})
			}
		}, func(tb *table) Command { return &OfferDraw{Header: seat(tb, 0)} }, ReasonNoOfferLeft},
		{"count under an automatic limit", running, func(tb *table) Command {
			return &RequestCount{Header: seat(tb, tb.turn())}
		}, ReasonCountRefused},
		{"bank without a bank", running, func(tb *table) Command {
			return &CallTime{Header: seat(tb, tb.turn()), PortionMS: 1000}
		}, ReasonCallRefused},
		{"arbiter's call without an opening", running, func(tb *table) Command {
			return &CallTime{Header: seat(tb, rules.NoSeat)}
		}, ReasonCallRefused},
		{"ruling without a foul", running, func(tb *table) Command {
			return &RuleFoul{Header: seat(tb, rules.NoSeat), Confirm: true, Note: "n"}
		}, ReasonNoRulingDue},
		{"abandon a running game", running, func(tb *table) Command {
			return &AbandonMatch{Header: seat(tb, rules.NoSeat), Note: "n"}
		}, ReasonAbandonRefused},
		{"abandon with balances that suffice", nil, func(tb *table) Command {
			return &AbandonMatch{Header: seat(tb, rules.NoSeat), Note: "n", Balances: []int64{900, 900}}
		}, ReasonAbandonRefused},
		{"abandon for no reason", nil, func(tb *table) Command {
			return &AbandonMatch{Header: seat(tb, rules.NoSeat), Note: "n"}
		}, ReasonAbandonRefused},
		{"placement", nil, func(tb *table) Command {
			return &SubmitPlacement{Header: seat(tb, 0), Placement: "x"}
		}, ReasonNoPlacementPhase},
		{"anything after the end", func(tb *table) { tb.must(&VoidMatch{Header: seat(tb, rules.NoSeat), Note: "n"}) },
			func(tb *table) Command { return &VoidMatch{Header: seat(tb, rules.NoSeat), Note: "n"} }, ReasonMatchOver},
		{"a number of the past after the end", func(tb *table) { tb.must(&VoidMatch{Header: seat(tb, rules.NoSeat), Note: "n"}) },
			func(tb *table) Command {
				c := &VoidMatch{Header: seat(tb, rules.NoSeat), Note: "n"}
				c.Expected = 1
				return c
			}, ReasonMatchOver},
	}
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			tb := newTable(t, r)
			if tt.prepare != nil {
				tt.prepare(tb)
			}
			before, events := tb.state.Snapshot(), len(tb.log)
			refusal := tb.do(tt.command(tb))
			if refusal == nil || refusal.Reason != tt.want {
				t.Fatalf("refusal %v, want %s", refusal, tt.want)
			}
			if !bytes.Equal(before, tb.state.Snapshot()) || len(tb.log) != events {
				t.Fatal("a refused command changed the match")
			}
		})
	}
}

// endings are the ways in which a caller ends a running game or a match.
func TestEndings(t *testing.T) {
	type check func(t *testing.T, tb *table)
	outcome := func(reason rules.EndReason, winners rules.SeatSet, void bool, lines int) check {
		return func(t *testing.T, tb *table) {
			past := tb.state.Past[0]
			if past.Outcome.Reason != reason || past.Outcome.Winners != winners || past.Outcome.Void != void {
				t.Fatalf("outcome %+v", past.Outcome)
			}
			settlement, err := tb.state.Settlement(1)
			if err != nil || len(settlement.Lines) != lines {
				t.Fatalf("settlement %+v, %v", settlement, err)
			}
		}
	}
	status := func(want MatchStatus, then check) check {
		return func(t *testing.T, tb *table) {
			if tb.state.Status != want {
				t.Fatalf("status %d, want %d", tb.state.Status, want)
			}
			if then != nil {
				then(t, tb)
			}
		}
	}
	afterFive := func(tb *table) {
		tb.start()
		for range 10 {
			tb.play(tb.choose())
		}
	}
	cases := []struct {
		name    string
		prepare func(*table)
		command func(*table) Command
		check   check
	}{
		{"resignation", afterFive, func(tb *table) Command { return &Resign{Header: tb.header(0, false)} },
			status(MatchAwaitingStart, outcome(rules.EndResignation, rules.SeatsOf(1), false, 2))},
		{"agreement", func(tb *table) { tb.start(); tb.must(&OfferDraw{Header: tb.header(1, false)}) },
			func(tb *table) Command { return &AnswerDraw{Header: tb.header(0, false), Accept: true} },
			status(MatchAwaitingStart, outcome(rules.EndAgreement, 0, false, 0))},
		{"disconnection", (*table).start, func(tb *table) Command {
			return &ReportDisconnect{Header: tb.header(rules.NoSeat, false), Gone: rules.SeatsOf(1)}
		}, status(MatchAwaitingStart, outcome(rules.EndDisconnection, rules.SeatsOf(0), false, 3))},
		{"both disconnected", (*table).start, func(tb *table) Command {
			return &ReportDisconnect{Header: tb.header(rules.NoSeat, false), Gone: rules.SeatsOf(0, 1)}
		}, status(MatchAwaitingStart, outcome(rules.EndAllGone, 0, true, 0))},
		{"void while playing", (*table).start, func(tb *table) Command {
			return &VoidMatch{Header: tb.header(rules.NoSeat, false), Note: "power cut"}
		}, status(MatchVoid, outcome(rules.EndMatchVoided, 0, true, 0))},
		{"void before the start", nil, func(tb *table) Command {
			return &VoidMatch{Header: tb.header(rules.NoSeat, false), Note: "wrong stake"}
		}, status(MatchVoid, nil)},
		{"insufficient stake", func(tb *table) {
			afterFive(tb)
			tb.must(&Resign{Header: tb.header(0, false)})
		}, func(tb *table) Command {
			return &AbandonMatch{Header: tb.header(rules.NoSeat, false), Note: "short", Balances: []int64{399, 900}}
		}, status(MatchInsufficientStake, outcome(rules.EndResignation, rules.SeatsOf(1), false, 2))},
	}
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			tb := newTable(t, preset(t, sevenClub))
			if tt.prepare != nil {
				tt.prepare(tb)
			}
			commitments := map[int][32]byte{tb.state.Game.Number: tb.state.Game.Commitment}
			if tb.state.Next.Commitment != ([32]byte{}) {
				commitments[tb.state.Game.Number+1] = tb.state.Next.Commitment
			}
			tb.must(tt.command(tb))
			tt.check(t, tb)
			if tb.state.Status.Over() {
				g := &tb.state.Game
				if tb.state.Context().Commit(g.ServerSeed) != commitments[g.Number] {
					t.Fatal("the seed of the last game was not revealed")
				}
			}
			tb.checkReplay()
		})
	}
}

func TestDrawOffersStandUntilTheOtherSidesNextPly(t *testing.T) {
	tb := newTable(t, preset(t, sevenClub))
	tb.start()
	mover := tb.turn()
	tb.must(&OfferDraw{Header: tb.header(mover, false)})
	tb.play(tb.choose())
	if tb.state.Game.DrawOffer != mover {
		t.Fatal("the offerer's own ply withdrew the offer")
	}
	tb.play(tb.choose())
	if tb.state.Game.DrawOffer != rules.NoSeat {
		t.Fatal("the offer outlived the other side's ply")
	}
}

func TestAnOfferDoesNotMakeAPlyStale(t *testing.T) {
	tb := newTable(t, preset(t, sevenClub))
	tb.start()
	c := &PlayAction{Header: tb.header(tb.turn(), true), Action: rules.Flip(3)}
	tb.must(&OfferDraw{Header: tb.header(1-tb.turn(), false)})
	tb.must(c)
}

func TestFirstMoversAlternate(t *testing.T) {
	tb := newTable(t, preset(t, sevenClub))
	tb.start()
	first := tb.state.Game.First
	started, err := tb.last().Started()
	if err != nil || len(started.Draws) == 0 || len(started.Draws)%2 != 0 {
		t.Fatalf("draws %v, %v", started.Draws, err)
	}
	tb.playOut()
	for game := 2; game <= 3 && !tb.state.Status.Over(); game++ {
		tb.start()
		want := first
		if game%2 == 0 {
			want = 1 - first
		}
		if tb.state.Game.First != want || tb.turn() != want {
			t.Fatalf("seat %d moves first in game %d", tb.state.Game.First, game)
		}
		tb.playOut()
	}
}

func TestCommandsOnAnEndedGameAreStale(t *testing.T) {
	tb := newTable(t, preset(t, sevenClub))
	tb.start()
	tb.playOut()
	g := &tb.state.Game
	h := Header{Caller: Caller{Platform: "p"}, Match: tb.state.ID, Game: g.Number, RequestID: request(7), Expected: g.NextSeq(), Seat: rules.NoSeat}
	if refusal := tb.do(&VoidMatch{Header: h, Note: "n"}); refusal == nil || refusal.Reason != ReasonStale {
		t.Fatalf("refusal %v", refusal)
	}
}

func TestOnTime(t *testing.T) {
	deadline := func(tb *table) clock.Time {
		d, ok := tb.state.Deadline()
		if !ok {
			t.Fatal("no deadline")
		}
		return d
	}
	cases := []struct {
		name         string
		arrival, now clock.Time // relative to the deadline, in microseconds
		want         Reason     // "" = accepted
		ends         bool       // whether the expiry is adjudicated
	}{
		{"at the deadline", 0, 0, "", false},
		{"at the deadline, decided within grace", 0, clock.Grace - 1, "", false},
		{"at the deadline, decided after grace", 0, clock.Grace, ReasonStale, true},
		{"after the deadline, within grace", 1, 1, ReasonExpiryPending, false},
		{"after the deadline, end of grace", 1, clock.Grace - 1, ReasonExpiryPending, false},
		{"after grace", clock.Grace, clock.Grace, ReasonStale, true},
	}
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			tb := newTable(t, preset(t, sevenClub))
			tb.start()
			d := deadline(tb)
			env := tb.env()
			env.Arrival, env.Now = d+tt.arrival, d+tt.now
			c := &PlayAction{Header: tb.header(tb.turn(), true), Action: rules.Flip(3)}
			decision, err := Decide(tb.state, c, env)
			if err != nil {
				t.Fatal(err)
			}
			got := Reason("")
			if decision.Refusal != nil {
				got = decision.Refusal.Reason
			}
			if tt.ends && got == ReasonGameNotRunning {
				got = ReasonStale // either says that the game went on without it
			}
			if got != tt.want {
				t.Fatalf("reason %q, want %q", got, tt.want)
			}
			if ended := len(decision.State.Past) == 1; ended != tt.ends {
				t.Fatalf("ended %v, want %v", ended, tt.ends)
			}
			switch {
			case tt.ends && decision.After != d+clock.Grace:
				t.Fatal("an expiry without a guard against acting early")
			case tt.want == "" && decision.Before != d+clock.Grace:
				t.Fatal("a timely action without a guard against committing late")
			}
			if tt.ends && decision.Events[0].Time != d {
				t.Fatal("the expiry is not at its own instant")
			}
		})
	}
}
