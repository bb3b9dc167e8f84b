package referee

import (
	"testing"

	"referee.example/internal/rules"
	"referee.example/internal/rules/junqi"
)

// armyRules compiles a preset with changes.
func armyRules(t testing.TB, id string, change func(*Ruleset, *junqi.Rules)) *Rules {
	t.Helper()
	ruleset := preset(t, id).Ruleset
	board := *ruleset.ArmyChess
	ruleset.ID, ruleset.ArmyChess = "", &board
	change(&ruleset, &board)
	r, err := CompileRules(ruleset)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (a *army) moves(n int) {
	a.t.Helper()
	for range n {
		a.now += second
		actions := a.actions()
		for {
			action := actions[a.dice.IntN(len(actions))]
			if action.Kind == rules.ActionFlip || a.state.Game.Position.army.At(action.To) == rules.NoPiece {
				a.play(action)
				break
			}
		}
	}
}

func (a *army) ended(want rules.Outcome) {
	a.t.Helper()
	got := a.state.Game.Outcome
	got.FirstPly, got.LastPly = 0, 0
	if got != want || a.state.Game.Status != GameEnded {
		a.t.Fatalf("status %d, %+v, want %+v", a.state.Game.Status, got, want)
	}
	a.settled()
	a.replayed()
}

func TestArmyResignation(t *testing.T) {
	a := newArmy(t, armyRules(t, "junqi-dark", func(_ *Ruleset, b *junqi.Rules) { b.ResignFromPly = 5 }), 2)
	a.begin()
	a.moves(3)
	if refusal := a.do(&Resign{Header: a.header(0, false)}); refusal == nil || refusal.Reason != ReasonResignationTooEarly {
		t.Fatalf("%v", refusal)
	}
	a.moves(1)
	a.must(&Resign{Header: a.header(1, false)})
	a.ended(rules.Outcome{Reason: rules.EndResignation, Winners: rules.SeatsOf(0)})
}

// TestPartnerPlaysOn: with four players a seat that resigns is out, its partner
// plays on, and what it asks for is refused.
func TestPartnerPlaysOn(t *testing.T) {
	a := newArmy(t, armyRules(t, "siguo", func(_ *Ruleset, b *junqi.Rules) { b.ResignFromPly = 0 }), 2)
	a.begin()
	a.moves(5)
	turn := a.turn()
	running := a.state.Game.Clock
	gone := (turn + 1) % 4
	a.must(&Resign{Header: a.header(gone, false)})
	g := &a.state.Game
	if g.Status != GamePlaying || g.Position.Out() != rules.SeatsOf(gone) || a.turn() != turn || g.Clock != running {
		t.Fatalf("status %d, out %b, turn %d, clock %+v", g.Status, g.Position.Out(), a.turn(), g.Clock)
	}
	if a.last().Kind != EventSeatOut || a.last().Seat != gone {
		t.Fatalf("%s of seat %d", a.last().Kind, a.last().Seat)
	}
	if refusal := a.do(&Resign{Header: a.header(gone, false)}); refusal == nil || refusal.Meta["rule"] != "seat_out" {
		t.Fatalf("%v", refusal)
	}
	a.now += second
	a.must(&Resign{Header: a.header(turn, false)}) // on its own turn
	if g := &a.state.Game; g.Status != GamePlaying || a.turn() != (turn+2)%4 || g.Clock.Running != a.turn() || g.Clock.TurnStart != a.now {
		t.Fatalf("status %d, turn %d, clock %+v", g.Status, a.turn(), g.Clock)
	}
	a.moves(2)
	a.must(&Resign{Header: a.header((turn+2)%4, false)})
	a.ended(rules.Outcome{Reason: rules.EndResignation, Winners: rules.SeatsOf((turn+1)%4, (turn+3)%4)})
	settlement, err := a.state.Settlement(1)
	if err != nil || len(settlement.Lines) < 4 {
		t.Fatalf("%+v, %v", settlement, err)
	}
}

func TestLeavers(t *testing.T) {
	leave := func(a *army, gone ...rules.Seat) {
		a.must(&ReportDisconnect{Header: a.header(rules.NoSeat, false), Gone: rules.SeatsOf(gone...)})
	}
	begun := func(id, leaver string) *army {
		a := newArmy(t, armyRules(t, id, func(_ *Ruleset, b *junqi.Rules) { b.Leaver = leaver }), 4)
		a.begin()
		a.moves(4)
		return a
	}
	a := begun("junqi-dark", "")
	leave(a, 0)
	a.ended(rules.Outcome{Reason: rules.EndDisconnection, Winners: rules.SeatsOf(1)})
	if a.state.Past[0].Disconnected != rules.SeatsOf(0) {
		t.Fatalf("disconnected %b", a.state.Past[0].Disconnected)
	}
	a = begun("junqi-flip", "")
	leave(a, 0, 1)
	a.ended(rules.Outcome{Reason: rules.EndAllGone, Void: true})

	a = begun("siguo", "unscored")
	leave(a, 1)
	a.ended(rules.Outcome{Reason: rules.EndDisconnection, Void: true})
	if a.state.Past[0].Disconnected != 0 {
		t.Fatal("a leaver of a game that counts for nothing is to pay")
	}

	a = begun("siguo", "unscored")
	a.must(&Resign{Header: a.header(3, false)})
	leave(a, 1)
	a.ended(rules.Outcome{Reason: rules.EndDisconnection, Winners: rules.SeatsOf(0, 2)})
	if a.state.Past[0].Disconnected != rules.SeatsOf(1) {
		t.Fatalf("disconnected %b", a.state.Past[0].Disconnected)
	}

	a = begun("siguo", "")
	leave(a, 1)
	if a.state.Game.Status != GamePlaying || a.state.Game.Left != rules.SeatsOf(1) || a.last().Kind != EventSeatLeft {
		t.Fatalf("status %d, left %b", a.state.Game.Status, a.state.Game.Left)
	}
	if refusal := a.do(&ReportDisconnect{Header: a.header(rules.NoSeat, false), Gone: rules.SeatsOf(1)}); refusal == nil || refusal.Meta["rule"] != "seat_out" {
		t.Fatalf("%v", refusal)
	}
	leave(a, 3)
	a.ended(rules.Outcome{Reason: rules.EndDisconnection, Winners: rules.SeatsOf(0, 2)})
	if a.state.Past[0].Disconnected != rules.SeatsOf(1, 3) {
		t.Fatalf("disconnected %b", a.state.Past[0].Disconnected)
	}

	a = begun("siguo", "")
	leave(a, 0, 1, 2, 3)
	a.ended(rules.Outcome{Reason: rules.EndAllGone, Void: true})
}

// TestIllegalAttempts: in the contest one loses, elsewhere it is refused.
func TestIllegalAttempts(t *testing.T) {
	for _, id := range []string{"junqi-dark-contest-2012", "junqi-dark"} {
		a := newArmy(t, preset(t, id), 5)
		a.begin()
		game := a.state.Rules.ArmyChessGame()
		seat := a.turn()
		view, ok, err := a.referee().ArmyChess(a.state, seat)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		var flag rules.Square
		for _, p := range view.Pieces {
			if junqi.RankOf(p.Piece) == junqi.Flag {
				flag = p.Stop
			}
		}
		ply, noPly := a.action(rules.Move(flag, 30)), a.action(rules.Stop())
		if refusal := a.do(noPly); refusal == nil || refusal.Meta["rule"] != string(junqi.RuleAction) {
			t.Fatalf("%s: what is no action: %v", id, refusal)
		}
		wrong := *ply.(*PlayAction)
		wrong.Seat = 1 - seat
		if refusal := a.do(&wrong); refusal == nil || refusal.Meta["rule"] != string(junqi.RuleTurn) {
			t.Fatalf("%s: out of turn: %v", id, refusal)
		}
		refusal := a.do(ply)
		if id == "junqi-dark" {
			if refusal == nil || refusal.Reason != ReasonIllegalAction || refusal.Meta["squares"] != game.SquareName(flag) {
				t.Fatalf("%v", refusal)
			}
			continue
		}
		if refusal != nil || a.log[len(a.log)-4].Kind != EventIllegalAttempt || !ply.same(&a.log[len(a.log)-4]) {
			t.Fatalf("%v after %s", refusal, a.log[len(a.log)-4].Kind)
		}
		a.ended(rules.Outcome{Reason: rules.EndIllegalAction, Winners: rules.SeatsOf(1 - seat)})
	}
}

// TestArmyExpiries: an expired turn is played by the server, or passes with four
// players; the one too many puts its seat out.
func TestArmyExpiries(t *testing.T) {
	a := newArmy(t, preset(t, "siguo"), 6)
	a.begin()
	first := a.turn()
	for round := range 5 {
		for range 4 {
			if a.turn() == first {
				deadline, _ := a.state.Deadline()
				a.now = deadline + second
				a.settle()
				if round < 4 && (a.last().Kind != EventTurnPassed || a.turn() != (first+1)%4 || a.state.Game.Clock.TurnStart != deadline) {
					t.Fatalf("%s, turn %d", a.last().Kind, a.turn())
				}
				continue
			}
			if a.turn() != (first+3)%4 || round < 4 {
				a.moves(1)
			}
		}
	}
	if a.state.Game.Position.Out() != rules.SeatsOf(first) || a.state.Game.Status != GamePlaying {
		t.Fatalf("out %b", a.state.Game.Position.Out())
	}
	a.finish(0)
	a.settled()
	a.replayed()

	for id, want := range map[string]int{"junqi-dark": 5, "junqi-flip": 3} {
		a := newArmy(t, preset(t, id), 6)
		a.begin()
		seat := a.turn()
		for n := 1; a.state.Game.Status == GamePlaying; {
			if a.turn() != seat {
				a.moves(1)
				continue
			}
			deadline, _ := a.state.Deadline()
			a.now = deadline + second
			a.settle()
			if served := a.last().Kind == EventServerPly; served != (n < want) && a.state.Game.Position.Outcome().Reason != rules.EndNoLegalAction {
				t.Fatalf("%s: expiry %d: %s", id, n, a.last().Kind)
			}
			n++
		}
		a.ended(rules.Outcome{Reason: rules.EndTime, Winners: rules.SeatsOf(1 - seat)})
	}
}

func TestArmyAgreementAndLimits(t *testing.T) {
	a := newArmy(t, armyRules(t, "junqi-dark", func(r *Ruleset, _ *junqi.Rules) { r.DrawOffers.Limit = 1 }), 7)
	a.begin()
	a.moves(2)
	a.must(&OfferDraw{Header: a.header(1, false)})
	a.must(&AnswerDraw{Header: a.header(0, false), Accept: true})
	a.ended(rules.Outcome{Reason: rules.EndAgreement})
	view, ok, err := a.referee().ArmyChess(a.state, rules.NoSeat)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	for _, p := range view.Pieces {
		if junqi.RankOf(p.Piece) == junqi.NoRank {
			t.Fatalf("after the end the piece on %d is not shown", p.Stop)
		}
	}
	a = newArmy(t, armyRules(t, "junqi-dark", func(_ *Ruleset, b *junqi.Rules) { b.MaxPlies = 6 }), 7)
	a.begin()
	a.moves(6)
	a.ended(rules.Outcome{Reason: rules.EndMaxPlies})

	a = newArmy(t, preset(t, "junqi-dark-contest-2012"), 7)
	a.begin()
	loser := (a.state.Game.First + 31) % 2
	a.moves(31)
	a.ended(rules.Outcome{Reason: rules.EndIdle, Winners: rules.SeatsOf(1 - loser)})

	a = newArmy(t, preset(t, "siguo"), 7)
	a.begin()
	a.moves(71)
	a.ended(rules.Outcome{Reason: rules.EndIdle})
	if refusal := a.do(&RequestCount{Header: a.header(0, false)}); refusal == nil {
		t.Fatal("a count after the end")
	}
}

func TestCountIsRefused(t *testing.T) {
	a := newArmy(t, preset(t, "junqi-dark"), 7)
	a.begin()
	if refusal := a.do(&RequestCount{Header: a.header(0, false)}); refusal == nil || refusal.Reason != ReasonCountRefused {
		t.Fatalf("%v", refusal)
	}
	if refusal := a.do(&RuleFoul{Header: a.header(rules.NoSeat, false)}); refusal == nil || refusal.Reason != ReasonNoRulingDue {
		t.Fatalf("%v", refusal)
	}
}
