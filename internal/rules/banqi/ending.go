package banqi

import (
	"referee.example/internal/rules"
)

// settle ends the game if the last ply met an ending, the first in the
// ruleset's order. captured is the piece that the ply took off the board. A
// flip and a capture leave no history and no consecutive count behind, so that
// only quiet plies repeat or idle.
func (g *Game) settle(s *State, captured rules.Piece) {
	for _, reason := range g.order {
		outcome := rules.Outcome{Reason: reason}
		met := false
		switch reason {
		case rules.EndAllCaptured:
			met = captured != rules.NoPiece && s.pieces(colourOf(captured)) == 0
			if met {
				outcome.Winners = rules.SeatsOf(1 - s.seatOf(colourOf(captured)))
			}
		case rules.EndFouls:
			loser := g.fouledOut(s)
			if met = loser != rules.NoSeat; met {
				outcome.Winners = rules.SeatsOf(1 - loser)
				s.awaiting = s.disputed[loser&1] > 0
			}
		case rules.EndNoLegalAction:
			met = !g.canAct(&s.board, s.side(s.turn))
			outcome.Winners = rules.SeatsOf(1 - s.turn)
		case rules.EndRepetition:
			outcome.FirstPly, outcome.LastPly, met = g.repeated(s)
		case rules.EndIdle:
			outcome.FirstPly, outcome.LastPly, met = g.idledOut(s)
		case rules.EndMaxPlies:
			met = g.maxPlies > 0 && int(s.ply) >= g.maxPlies
		}
		if met {
			if !s.awaiting {
				s.outcome = outcome
			}
			return
		}
	}
}

// repeated reports whether the last ply completed a repetition, and the plies
// that prove it: those of the cycles, or from the ply that made the first
// occurrence (0 for the start) to the last.
func (g *Game) repeated(s *State) (from, to int, met bool) {
	last, times := int(s.ply), g.repetition.Times
	switch g.repetition.Kind {
	case "cycle":
		if n := s.history.cycle(times); n > 0 {
			return last - times*n + 1, last, true
		}
	case "position":
		if n := s.history.occurrences(&s.board, times); n >= 0 {
			return last - s.history.len() + n, last, true
		}
	}
	return 0, 0, false
}

// countQuiet counts a quiet ply towards the idle limit.
func (g *Game) countQuiet(s *State) {
	switch {
	case g.idle.Limit == 0:
	case g.allFaceUp && s.board.faceDown() != 0:
	case g.onRequest && s.requester == rules.NoSeat:
	default:
		s.idle++
	}
}

// idledOut reports whether the last ply reached the idle limit, and the plies
// that prove it: the quiet ones, or for a cumulative count the whole game.
func (g *Game) idledOut(s *State) (from, to int, met bool) {
	if g.idle.Limit == 0 || int(s.idle) < g.idle.Limit {
		return 0, 0, false
	}
	if g.cumulative {
		return 1, int(s.ply), true
	}
	return max(1, int(s.ply-s.idle)+1), int(s.ply), true
}

// CheckCount returns why seat may not ask for the idle count now, or the zero
// Illegal.
func (g *Game) CheckCount(s *State, seat rules.Seat) rules.Illegal {
	switch {
	case s.outcome.Over():
		return s.illegal(RuleGameOver)
	case s.awaiting:
		return s.illegal(RuleAwaiting)
	case !g.onRequest:
		return s.illegal(RuleNoCount)
	case seat != s.turn:
		return s.illegal(RuleTurn)
	case s.requester != rules.NoSeat:
		return s.illegal(RuleCountRunning)
	case g.allFaceUp && s.board.faceDown() != 0:
		return s.illegal(RuleCountHidden)
	}
	return rules.Illegal{}
}

// RequestCount starts the idle count that seat asks for: from its next ply on,
// idle.limit quiet plies of both sides together draw the game, and a capture
// restarts it at 0. A refusal changes nothing.
func (g *Game) RequestCount(s *State, seat rules.Seat) rules.Illegal {
	if i := g.CheckCount(s, seat); !i.OK() {
		return i
	}
	s.requester = seat
	return rules.Illegal{}
}
