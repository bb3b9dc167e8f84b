package proof

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"referee.example/internal/rules"
	refereev1 "referee.example/proto/referee/v1"
)

// TestArmyChessStreams plays a game of every preset over PlayActions at two replicas,
// each ply with rival actions and repeated requests at once: one is taken, each of its
// answers is the first, and whoever watches, a few events at a time at either
// replica, sees what the record has.
func TestArmyChessStreams(t *testing.T) {
	h := newHouse(t)
	at := []*replica{h.start(), h.start()}
	for i, preset := range armyPresets {
		t.Run(preset, func(t *testing.T) {
			a := armyPlaying(t, h, at[0], preset, uint64(i))
			w := &watcher{match: a.game.GetMatchId()}
			watched := make(chan error, 1)
			go func() { watched <- w.inTurns(h.as("east"), at) }()
			s := newArmyStreams(t, a, at)
			for a.game.GetStatus() == refereev1.GameStatus_GAME_STATUS_PLAYING {
				s.play()
			}
			a.judgeSettlement()
			a.judgeOpening()
			for _, stream := range s.streams {
				must(t, stream.CloseSend())
			}
			must(t, <-watched)
			h.compare(at[0], w, preset)
		})
	}
}

// inTurns watches until the match has ended, a few events at one replica, then at the
// next.
func (w *watcher) inTurns(ctx context.Context, at []*replica) error {
	for i := 0; ; i++ {
		reason, err := w.read(ctx, at[i%len(at)], 7)
		if err != nil || reason == refereev1.WatchEndReason_WATCH_END_REASON_MATCH_ENDED {
			return err
		}
		if reason != 0 {
			return fmt.Errorf("the stream ended with %v", reason)
		}
	}
}

// armyStreams is a table that plays over a stream to each replica.
type armyStreams struct {
	*armyTable
	tb      testing.TB
	streams []refereev1.MatchService_PlayActionsClient
}

func newArmyStreams(t testing.TB, a *armyTable, at []*replica) *armyStreams {
	t.Helper()
	s := &armyStreams{armyTable: a, tb: t}
	for _, r := range at {
		stream, err := r.match.PlayActions(a.h.as("east"))
		must(a.t, err)
		s.streams = append(s.streams, stream)
	}
	return s
}

// play sends one to three rival actions for the next ply, each once or twice to
// each replica.
func (s *armyStreams) play() {
	s.t.Helper()
	actions := map[string]rules.Action{} // by request
	sent := make([][]string, len(s.streams))
	for range 1 + s.dice.IntN(3) {
		action := s.choose()
		request := playing(s.game, s.wireAction(action))
		actions[request.GetRequestId()] = action
		for i, stream := range s.streams {
			for range 1 + s.dice.IntN(2) {
				must(s.t, stream.Send(&refereev1.PlayActionsRequest{Play: request}))
				sent[i] = append(sent[i], request.GetRequestId())
			}
		}
	}
	winner, firsts := "", 0
	var change *refereev1.Change
	for i, stream := range s.streams {
		for _, id := range sent[i] {
			answer, err := stream.Recv()
			must(s.t, err)
			if answer.GetRequestId() != id {
				s.t.Fatal("replica", i, "answers", answer.GetRequestId(), "before", id)
			}
			if refusal := answer.GetRefusal(); refusal != nil {
				if refusal.GetReason() != "STALE" && refusal.GetReason() != "CONTENTION" && refusal.GetReason() != "MATCH_OVER" {
					s.t.Fatal("refused with", refusal)
				}
				continue
			}
			if winner == "" {
				winner, change = id, answer.GetChange()
			}
			if id != winner || firstAnswer(s.tb, answer.GetChange()) != firstAnswer(s.tb, change) {
				s.t.Fatal("ply", s.game.GetNextPly(), "was taken from", winner, "and from", id, "\n", change, "\n", answer.GetChange())
			}
			if !answer.GetChange().GetReplayed() {
				firsts++
			}
		}
	}
	if winner == "" || firsts != 1 {
		s.t.Fatal("ply", s.game.GetNextPly(), "was taken", firsts, "times, from", winner)
	}
	s.took(actions[winner], change)
}

// TestArmyChessRulesets plays rulesets that are no preset's to their ends: open play,
// limits of plies, flags carried home.
func TestArmyChessRulesets(t *testing.T) {
	h := newHouse(t)
	r := h.start()
	const limit = 6
	quiet := func(result string) func(*refereev1.ArmyChessRules) {
		return func(b *refereev1.ArmyChessRules) {
			b.Idle = &refereev1.ArmyChessIdleRules{Limit: limit, Result: result}
		}
	}
	open := func(b *refereev1.ArmyChessRules) { b.Visibility, b.EngineerScouts, b.FlagReveal = "open", false, "" }
	loser := func(*armyTable) rules.SeatSet { return rules.SeatsOf(1 - rules.Seat(limit%2)) } // seat 0 began, and is to move
	draw := func(*armyTable) rules.SeatSet { return 0 }
	for i, c := range []struct {
		name, preset string
		change       func(*refereev1.ArmyChessRules)
		quietly      bool
		reason       refereev1.EndReason            // 0 for any
		winners      func(*armyTable) rules.SeatSet // nil for any
	}{
		{"open", "junqi-dark", open, false, 0, nil},
		{"open, four players", "siguo", open, false, 0, nil},
		{"open, refusals", "junqi-dark", func(b *refereev1.ArmyChessRules) {
			open(b)
			b.Mine, b.BombVsFlag, b.WeakerAttacks, b.LowestClearsMines = "refused", "refused", "refused", false
		}, false, 0, nil},
		{"idle draw", "junqi-dark", quiet("draw"), true, refereev1.EndReason_END_REASON_IDLE, draw},
		{"idle loss", "junqi-dark", quiet("loss"), true, refereev1.EndReason_END_REASON_IDLE, loser},
		{"idle draw, four players", "siguo", quiet("draw"), true, refereev1.EndReason_END_REASON_IDLE, draw},
		{"limit of plies", "junqi-flip", func(b *refereev1.ArmyChessRules) { b.MaxPlies = limit }, false, refereev1.EndReason_END_REASON_MAX_PLIES, draw},
		{"carried home", "junqi-dark", func(b *refereev1.ArmyChessRules) {
			b.FlagCarryHome, b.BombVsFlag, b.FlagAfterMines = true, "bomb_lost", false
		}, false, 0, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			ruleset := h.ruleset(r, c.preset, func(out *refereev1.Ruleset) { untimed(out); c.change(out.GetArmyChess()) })
			a := newArmyTable(t, h, r, ruleset, rand.New(rand.NewPCG(7, uint64(i))))
			a.place()
			if ruleset.GetArmyChess().GetVisibility() == "open" {
				a.judgeOpen()
			}
			for a.game.GetStatus() == refereev1.GameStatus_GAME_STATUS_PLAYING {
				if action := a.choose(); !c.quietly {
					a.play(action)
				} else {
					a.play(a.quiet())
				}
			}
			result := a.game.GetResult()
			if o := a.state.Outcome(); int(result.GetReason()) != int(o.Reason) || seatsOf(result.GetWinnerSeats()) != o.Winners {
				t.Fatalf("ended as %v, and the engine says %+v", result, o)
			}
			if c.reason != 0 && result.GetReason() != c.reason || c.winners != nil && seatsOf(result.GetWinnerSeats()) != c.winners(a) {
				t.Errorf("ended as %v", result)
			}
			a.judgeSettlement()
			a.judgeOpening()
			a.judgeSound()
		})
	}
}

// quiet picks an action that attacks nothing.
func (a *armyTable) quiet() rules.Action {
	a.t.Helper()
	for _, action := range a.engine.List(&a.state, a.ids, nil) {
		if action.Kind == rules.ActionMove && a.state.At(action.To) == rules.NoPiece {
			return action
		}
	}
	a.t.Fatal("every action is an attack")
	return rules.Action{}
}

// judgeOpen: in open play everybody, a spectator too, sees every rank from the first
// ply on, and the placements were told by the event that began it.
func (a *armyTable) judgeOpen() {
	a.t.Helper()
	var seen []string
	for viewer := -1; viewer < a.engine.Seats(); viewer++ {
		name := ""
		if viewer >= 0 {
			name = fmt.Sprint(viewer)
		}
		seen = append(seen, a.seenBy(name).GetArmyChess().GetState())
	}
	for _, state := range seen {
		if want := a.engine.FullText(&a.state, a.ids); state != want {
			a.t.Fatal("seen is", state, "of", want)
		}
	}
	for _, e := range a.h.record(a.r, a.game.GetMatchId(), 1).GetEvents() {
		if e.GetKind() != refereev1.EventKind_EVENT_KIND_PLAY_BEGAN {
			continue
		}
		for seat, placement := range a.placements {
			if got := e.GetPlayBegan().GetPlacements(); len(got) != len(a.placements) || got[seat] != placement.String() {
				a.t.Fatal("play began with", got)
			}
		}
	}
}

// judgeSound: the service's own verifier finds nothing.
func (a *armyTable) judgeSound() {
	a.t.Helper()
	verified, err := a.r.audit.VerifyGame(a.h.as("auditor"), &refereev1.VerifyGameRequest{MatchId: a.game.GetMatchId(), Game: 1})
	must(a.t, err)
	if !verified.GetSound() {
		a.t.Fatal("the verifier finds", verified)
	}
}

// TestArmyChessDraws: two players may agree on a draw where the ruleset lets them,
// which moves nothing; four never do.
func TestArmyChessDraws(t *testing.T) {
	h := newHouse(t)
	r := h.start()
	ruleset := h.ruleset(r, "junqi-dark", func(out *refereev1.Ruleset) {
		untimed(out)
		out.DrawOffers = &refereev1.DrawOfferRules{Limit: 1}
	})
	a := newArmyTable(t, h, r, ruleset, rand.New(rand.NewPCG(8, 0)))
	a.place()
	a.play(a.choose())
	offered, err := r.match.OfferDraw(h.as("east"), offering(a.game, 0))
	must(t, err)
	if _, err := r.match.AnswerDraw(h.as("east"), answering(offered.GetChange().GetGame(), 0, true)); reasonOf(err) != "NO_OFFER" {
		t.Errorf("the own offer: %v", err)
	}
	agreed, err := r.match.AnswerDraw(h.as("east"), answering(offered.GetChange().GetGame(), 1, true))
	must(t, err)
	a.game = agreed.GetChange().GetGame()
	if result := a.game.GetResult(); result.GetReason() != refereev1.EndReason_END_REASON_AGREEMENT || len(result.GetWinnerSeats()) > 0 || result.GetVoid() {
		t.Errorf("agreed: %v", result)
	}
	a.judgeSettlement()
	a.judgeSound()
	four := armyPlaying(t, h, r, "siguo", 8)
	if _, err := r.match.OfferDraw(h.as("east"), offering(four.game, four.game.GetToMove())); reasonOf(err) != "NO_OFFER_LEFT" {
		t.Errorf("four players: %v", err)
	}
}
