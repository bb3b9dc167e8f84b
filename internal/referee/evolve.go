package referee

import (
	"errors"
	"fmt"

	"referee.example/internal/clock"
	"referee.example/internal/rules"
)

// errReplay is wrapped by every fault that a log shows when it is replayed.
var errReplay = errors.New("referee: the log does not replay")

// apply is the one way in which a match changes: a decision makes an event and
// applies it, a replay applies what was stored. It returns what a ply did. The
// event's Hash and Clocks are the caller's to fill or to compare.
func (s *State) apply(e *Event) (Effect, error) {
	if e.Game == 0 {
		return Effect{}, s.applyCompensation(e)
	}
	g := &s.Game
	if e.Kind == EventMatchCreated {
		return Effect{}, s.applyCreated(e)
	}
	s.advance(e.Game)
	if e.Game != g.Number || e.Seq != g.Seq+1 || e.Time < g.Last {
		return Effect{}, fmt.Errorf("%w: event %d of game %d follows event %d of game %d", errReplay, e.Seq, e.Game, g.Seq, g.Number)
	}
	g.Seq, g.Last = e.Seq, e.Time
	if e.RequestID != (ID{}) {
		g.seen.add(e.RequestID)
	}
	effect, err := s.applyKind(e)
	if err != nil {
		return effect, fmt.Errorf("event %d of game %d: %w", e.Seq, e.Game, err)
	}
	return effect, nil
}

func (s *State) applyKind(e *Event) (effect Effect, err error) {
	g := &s.Game
	if e.Seat < rules.NoSeat || int(e.Seat) >= len(s.Players) || e.Seat == rules.NoSeat && bySeat(e.Kind) {
		return effect, fmt.Errorf("%w: seat %d can't do that", errReplay, e.Seat)
	}
	switch e.Kind {
	case EventGameStarted:
		err = s.applyStarted(e)
	case EventPly, EventServerPly, EventTurnPassed, EventSeatOut, EventSeatLeft:
		return s.applyBoard(e)
	case EventPlacementSubmitted:
		err = s.applyPlacement(e)
	case EventPlayBegan:
		err = s.applyPlayBegan(e)
	case EventPlacementExpired:
		err = s.applyPlacementExpired(e)
	case EventDrawOffered:
		g.DrawOffer = e.Seat
		g.OffersMade[e.Seat]++
	case EventDrawWithdrawn, EventDrawAccepted, EventDrawDeclined:
		g.DrawOffer = rules.NoSeat
	case EventCountRequested:
		if illegal := s.Rules.family.requestCount(&g.Position, e.Seat); !illegal.OK() {
			err = fmt.Errorf("%w: %s", errReplay, illegal.Rule)
		}
	case EventResigned, EventDisconnected, EventIllegalAttempt:
		// The ending that follows says what it meant.
	case EventBankCalled:
		err = s.applyBankCalled(e)
	case EventOpeningEnded:
		if refusal := g.Clock.EndOpening(s.Rules.Clock, e.Time); !refusal.OK() {
			err = fmt.Errorf("%w: %s", errReplay, refusal.Reason)
		}
	case EventExpired:
		err = s.applyExpired(e)
	case EventClockPaused:
		err = s.applyPaused(e)
	case EventFoulRuled:
		err = s.applyRuled(e)
	case EventMatchVoided, EventMatchAbandoned:
		err = s.applyLeft(e)
	case EventGameEnded:
		err = s.applyGameEnded(e)
	case EventMatchEnded:
		err = s.applyMatchEnded(e)
	default:
		err = fmt.Errorf("%w: unknown kind %d", errReplay, e.Kind)
	}
	return effect, err
}

func (s *State) applyCreated(e *Event) error {
	c, err := e.Created()
	if err != nil {
		return err
	}
	if e.Game != 1 || e.Seq != 1 || s.Game.Number != 0 || c.RulesetHash != s.Rules.Hash {
		return fmt.Errorf("%w: the match is created twice or under another ruleset", errReplay)
	}
	s.ID, s.Created = e.Match, e.Time
	s.Platform, s.ExternalRef, s.TableRef = c.Platform, c.ExternalRef, c.TableRef
	s.Players, s.EngineVersion = c.Players, c.EngineVersion
	s.Stake, s.Charges, s.FirstSeat = c.Stake, c.Charges, c.FirstSeat
	s.Status = MatchAwaitingStart
	s.Game = Game{Number: 1, Status: GameAwaitingStart, Seq: 1, Last: e.Time, Commitment: c.Commitment,
		First: rules.NoSeat, DrawOffer: rules.NoSeat}
	s.Game.seen.add(e.RequestID)
	return nil
}

// advance makes the next game the present one when the log, or a command,
// speaks of it. Until then the ended game stays in sight.
func (s *State) advance(game int) {
	if s.Next.Commitment == ([32]byte{}) || game != s.Game.Number+1 {
		return
	}
	s.Game = Game{Number: game, Status: GameAwaitingStart, Last: s.Game.Last, Commitment: s.Next.Commitment,
		Sealed: s.Next.Sealed, First: rules.NoSeat, DrawOffer: rules.NoSeat}
	s.Next = NextGame{}
}

func (s *State) applyStarted(e *Event) error {
	d, err := e.Started()
	if err != nil {
		return err
	}
	g := &s.Game
	s.Status = MatchPlaying
	if g.Number == 1 {
		s.FirstSeat = d.First // from which the later games alternate
	}
	g.PlayerSeeds, g.Root, g.First, g.Started = d.PlayerSeeds, d.Root, d.First, e.Time
	g.Clock = s.Rules.Clock.Start(len(s.Players))
	if !s.Rules.family.places() {
		s.play(hidden{}, e.Time)
		return nil
	}
	g.Status, g.Placing = GamePlacing, &Placing{}
	if ms := s.Rules.Clock.PlacementMS; ms > 0 {
		g.Placing.Deadline = e.Time + clock.Time(ms*1000)
	}
	return nil
}

// play lets the present game's first turn begin. What becomes public with it is in
// shown.
func (s *State) play(shown hidden, at clock.Time) {
	g := &s.Game
	g.Status = GamePlaying
	g.Position = s.Rules.family.start(g.First, shown)
	g.Clock.StartTurn(g.First, at)
}

func (s *State) applyBoard(e *Event) (Effect, error) {
	g := &s.Game
	mover := g.Position.Turn()
	effect, err := s.Rules.family.apply(&g.Position, e.change(), e.Turned, e.Detail)
	if err != nil {
		return effect, err
	}
	if g.DrawOffer != rules.NoSeat && s.opponents(mover).Has(g.DrawOffer) {
		g.DrawOffer = rules.NoSeat // an offer stands until the other side's next ply
	}
	if e.Kind == EventSeatLeft {
		g.Left |= rules.SeatsOf(e.Seat)
	}
	s.moveClocks(effect, e)
	return effect, nil
}

// moveClocks moves the clocks on after a change of the board: the turn may go on
// (a chain, or another seat's leaving), pass, or be the last of the game. A turn
// that the server plays, or that passes, ended when it expired.
func (s *State) moveClocks(effect Effect, e *Event) {
	g := &s.Game
	switch {
	case g.Position.AwaitingRuling():
		g.Clock.Stop(s.Rules.Clock, e.Time)
		g.Status, s.Status = GameAwaitingRuling, MatchAwaitingRuling
	case effect.Outcome.Over():
		g.Clock.Stop(s.Rules.Clock, e.Time)
	case effect.TurnEnded:
		if e.Kind == EventPly {
			g.Clock.EndTurn(s.Rules.Clock, e.Time)
		} else {
			g.Clock.Stop(s.Rules.Clock, e.Time)
		}
		g.Clock.StartTurn(g.Position.Turn(), e.Time)
	}
}

func (s *State) applyBankCalled(e *Event) error {
	d, err := e.Small()
	if err != nil {
		return err
	}
	if refusal := s.Game.Clock.CallBank(s.Rules.Clock, e.Seat, int64(d.Number), e.Time); !refusal.OK() {
		return fmt.Errorf("%w: %s", errReplay, refusal.Reason)
	}
	return nil
}

// applyExpired lets the running turn expire. What the server then plays is an
// event of its own.
func (s *State) applyExpired(e *Event) error {
	g := &s.Game
	deadline, running := s.Deadline()
	if !running || deadline != e.Time {
		return fmt.Errorf("%w: no turn expires then", errReplay)
	}
	g.expire(s.Rules.Clock)
	return nil
}

// expire charges and books the expiry of the running turn; clocks stand until
// the server's ply or the ending that follows at the same instant.
func (g *Game) expire(system clock.System) clock.Expiry {
	if g.Position.inChain() {
		return g.Clock.ExpireChain(system)
	}
	return g.Clock.Expire(system)
}

func (s *State) applyPaused(e *Event) error {
	d, err := e.Paused()
	if err != nil {
		return err
	}
	since, _ := s.OutagesAfter()
	if s.Game.Status == GamePlacing {
		s.Game.Placing = s.Game.Placing.paused(since, Outage(d))
	} else {
		s.Game.Clock.Pause(s.Rules.Clock, d.From, d.Until)
	}
	s.Game.OutageSeen = d.Until
	return nil
}

func (s *State) applyRuled(e *Event) error {
	d, err := e.Small()
	if err != nil {
		return err
	}
	g := &s.Game
	if err := s.Rules.family.ruleFoul(&g.Position, d.Number == 1); err != nil {
		return fmt.Errorf("%w: %w", errReplay, err)
	}
	if g.Position.AwaitingRuling() {
		return nil // a loss may rest on several disputable fouls: each is ruled on
	}
	g.Status, s.Status = GamePlaying, MatchPlaying
	if !g.Position.Outcome().Over() {
		g.Clock.StartTurn(g.Position.Turn(), e.Time)
	}
	return nil
}

func (s *State) applyGameEnded(e *Event) error {
	d, err := e.GameEnded()
	if err != nil {
		return err
	}
	g := &s.Game
	past := PastGame{Outcome: d.Outcome, Disconnected: d.Disconnected, Ended: e.Time}
	for seat := range s.Players {
		past.Captures[seat] = g.Position.Captures(rules.Seat(seat))
		if seat >= len(d.Captures) || d.Captures[seat] != int64(past.Captures[seat]) {
			return fmt.Errorf("%w: captures differ", errReplay)
		}
	}
	if err := s.checkRevealed(d.Placements); err != nil {
		return err
	}
	if len(s.Past) != g.Number-1 {
		return fmt.Errorf("%w: game %d ended twice", errReplay, g.Number)
	}
	s.Past = append(s.Past[:len(s.Past):len(s.Past)], past)
	g.Clock.Stop(s.Rules.Clock, e.Time)
	g.Status, g.Outcome, g.ServerSeed, g.DrawOffer = GameEnded, d.Outcome, d.ServerSeed, rules.NoSeat
	if g.Placing != nil {
		g.Placing = &Placing{Deadline: g.Placing.Deadline, Attempts: g.Placing.Attempts, Revealed: d.Placements}
	}
	if d.NextCommitment == ([32]byte{}) {
		return nil // the event that ends the match follows
	}
	s.Status = MatchAwaitingStart
	s.Next = NextGame{Commitment: d.NextCommitment}
	return nil
}

func (s *State) applyLeft(e *Event) error {
	d, err := e.Leave()
	if err != nil {
		return err
	}
	s.EndNote = d.Note
	return nil
}

func (s *State) applyMatchEnded(e *Event) error {
	d, err := e.MatchEnd()
	if err != nil {
		return err
	}
	s.Status, s.Winners, s.Ended = d.Status, d.Winners, e.Time
	if g := &s.Game; g.Status == GameAwaitingStart {
		g.Status, g.ServerSeed = GameEnded, d.ServerSeed
		g.Outcome = rules.Outcome{Reason: rules.EndMatchAbandoned, Void: true}
		if d.Status == MatchVoid {
			g.Outcome.Reason = rules.EndMatchVoided
		}
	}
	return nil
}

func (s *State) applyCompensation(e *Event) error {
	c, err := e.Compensation()
	if err != nil {
		return err
	}
	log := &s.Compensations
	if e.Kind != EventCompensation || e.Seq != log.Seq+1 || e.Time < log.Last {
		return fmt.Errorf("%w: compensation %d follows %d", errReplay, e.Seq, log.Seq)
	}
	log.Seq, log.Last = e.Seq, e.Time
	entry := CompensationEntry{Game: c.Game, Proposer: e.Principal, Operator: c.Operator, Made: c.Made, Note: c.Note}
	entries := append([]CompensationEntry(nil), log.Entries...)
	if c.Made {
		for i := range entries {
			if entries[i].Game == c.Game {
				entries[i].Made = true
			}
		}
	} else {
		entries = append(entries, entry)
	}
	log.Entries = entries
	return nil
}
