package banqi

import (
	"fmt"
	"math/bits"

	"referee.example/internal/rules"
)

// validate refuses a state that no game under these rules can be in: a caller's
// text or a stored state is not trusted. The error is a *TextError.
func (g *Game) validate(s *State) error {
	for _, check := range []func(*State) (part, reason string){
		validatePieces, validateStart, g.validateCounts, g.validateFouls,
		g.validateChain, g.validateChases, g.validateRests, g.validateHistory, g.validateOutcome,
	} {
		if part, reason := check(s); reason != "" {
			return &TextError{part, reason}
		}
	}
	return nil
}

func validatePieces(s *State) (part, reason string) {
	total := s.FaceDownCount()
	for p := rules.Piece(1); p < codes; p++ {
		if !known(p) {
			continue
		}
		n := bits.OnesCount32(s.board.of[p]) + int(s.captured[p])
		if n > int(deckCount[p&rankMask]) {
			return "board", fmt.Sprintf("more pieces %c than the game has", letters[p])
		}
		total += n
	}
	if total > squares {
		return "board", "more pieces than the game has"
	}
	return "", ""
}

// validateStart: before the first flip nothing has happened.
func validateStart(s *State) (part, reason string) {
	if s.red != rules.NoSeat {
		return "", ""
	}
	bare := newState()
	switch {
	case s.board.own[Red]|s.board.own[Black] != 0:
		return "side", "pieces are face up, so the colours are assigned"
	case s.ply != 0 || s.turns != bare.turns || s.captured != bare.captured || s.idle != 0 || s.chain != bare.chain ||
		s.fouls != bare.fouls || s.awaiting || s.chases != bare.chases || s.rests != bare.rests || s.history.len() != 0:
		return "side", "colours are not assigned, so nothing has been played"
	}
	return "", ""
}

func (g *Game) validateCounts(s *State) (part, reason string) {
	switch {
	case int(s.idle) > g.idle.Limit:
		return "idle", "beyond the limit"
	case s.idle > s.ply:
		return "idle", "more than the plies played"
	case s.requester != rules.NoSeat && !g.onRequest:
		return "requester", "these rules have no count on request"
	case s.requester == rules.NoSeat && g.onRequest && s.idle != 0:
		return "idle", "no count was requested"
	case s.turns[0] > s.ply || s.turns[1] > s.ply:
		return "turns", "more than the plies played"
	}
	return "", ""
}

func (g *Game) validateFouls(s *State) (part, reason string) {
	for seat := range s.fouls {
		switch {
		case int(s.fouls[seat]) > g.foulsToLose:
			return "fouls", "beyond the number that loses"
		case s.disputed[seat] > s.fouls[seat]:
			return "disputed", "more than the fouls"
		case s.disputed[seat] > 0 && !g.chase.ForcedDeathExempt:
			return "disputed", "these rules have no disputable fouls"
		}
	}
	loser := g.fouledOut(s)
	rest := loser != rules.NoSeat && s.disputed[loser&1] > 0
	switch {
	case s.awaiting && (!rest || s.outcome.Over()):
		return "awaiting", "no loss rests on a disputable foul"
	case !s.awaiting && !s.outcome.Over() && loser != rules.NoSeat:
		return "fouls", "the game is lost by fouls"
	}
	return "", ""
}

// owns reports whether a face-up piece of the seat's stands on square.
func (s *State) owns(seat rules.Seat, square rules.Square) bool {
	return s.red != rules.NoSeat && has(s.board.own[s.side(seat)&1], square)
}

func (g *Game) validateChain(s *State) (part, reason string) {
	if s.chain == rules.NoSquare {
		return "", ""
	}
	if !g.chain || !s.owns(s.turn, s.chain) || s.history.len() != 0 {
		return "chain", "no piece of the side to move can be in a chain there"
	}
	if _, take := g.targets(&s.board, s.chain); take == 0 && !s.outcome.Over() {
		return "chain", "the piece has nothing to take"
	}
	return "", ""
}

func (g *Game) validateChases(s *State) (part, reason string) {
	for seat, c := range s.chases {
		if c == (chase{}) {
			continue
		}
		part = fmt.Sprintf("chase%d", seat)
		theirs := s.board.own[s.side(rules.Seat(1-seat))&1]
		switch {
		case !g.tracked:
			return part, "these rules follow no chases"
		case !s.owns(rules.Seat(seat), c.by) || c.targets == 0 || c.targets&^theirs != 0:
			return part, "no piece of the seat chases pieces of the other there"
		case c.length < 1 || c.length > s.ply:
			return part, "no such length"
		case c.on == rules.NoSquare && c.length != 1, c.on != rules.NoSquare && !has(c.targets, c.on):
			return part, "the longest chased piece is not among the chased"
		}
	}
	return "", ""
}

func (g *Game) validateRests(s *State) (part, reason string) {
	for seat, r := range s.rests {
		if r == noRest {
			continue
		}
		part = fmt.Sprintf("rest%d", seat)
		switch {
		case g.chase.Sanction != "pause":
			return part, "these rules have no pause"
		case !s.owns(rules.Seat(seat), r.piece):
			return part, "no piece of the seat stands there"
		case r.target != rules.NoSquare && !s.owns(rules.Seat(1-seat), r.target):
			return part, "no piece of the other seat stands there"
		}
	}
	return "", ""
}

func (g *Game) validateHistory(s *State) (part, reason string) {
	n := s.history.len()
	switch {
	case n > 0 && g.repetition.Kind == "":
		return "moves", "these rules have no repetition"
	case n > int(s.ply):
		return "moves", "more than the plies played"
	}
	last := s.side(1 - s.turn) // the colour that played the last ply
	at := s.board.at
	for i := n - 1; i >= 0; i-- {
		ply := s.history.at(i)
		if ply&plyExempt != 0 && !g.repetition.ChaseExempt {
			return "moves", "these rules exempt no ply"
		}
		if ply&plyStop != 0 && !g.chain {
			return "moves", "these rules have no chains"
		}
		if ply&plyStop == 0 && colourOf(at[ply>>plyTo&31]) != last {
			return "moves", "the sides do not take turns"
		}
		s.history.undo(&at, i)
		last = 1 - last
	}
	return "", ""
}

func (g *Game) validateOutcome(s *State) (part, reason string) {
	o := s.outcome
	if !o.Over() {
		return "", ""
	}
	decided := o.Reason == rules.EndAllCaptured || o.Reason == rules.EndFouls || o.Reason == rules.EndNoLegalAction
	switch {
	case decided != o.Decided():
		return "outcome", "this ending has a winner or is a draw, not the other"
	case o.FirstPly > o.LastPly || o.LastPly > int(s.ply):
		return "outcome", "no such plies"
	}
	return "", ""
}

// settleStuck ends a position set up with no legal action for the side to move.
func (g *Game) settleStuck(s *State) {
	if s.outcome.Over() || s.awaiting || g.canAct(&s.board, s.side(s.turn)) {
		return
	}
	s.outcome = rules.Outcome{Reason: rules.EndNoLegalAction, Winners: rules.SeatsOf(1 - s.turn)}
}
