package banqi

import (
	"errors"

	"referee.example/internal/rules"
)

// ErrNoRuling is what RuleFoul answers where no loss awaits a ruling.
var ErrNoRuling = errors.New("no foul awaits a ruling")

// bookFoul books a technical foul.
func (s *State) bookFoul(seat rules.Seat, disputable bool) Foul {
	s.fouls[seat&1]++
	if disputable {
		s.disputed[seat&1]++
	}
	return Foul{int(s.fouls[seat&1]), disputable}
}

// fouledOut returns the seat that has fouls enough to lose, or NoSeat.
func (g *Game) fouledOut(s *State) rules.Seat {
	for seat := range rules.Seat(2) {
		if g.foulsToLose > 0 && int(s.fouls[seat]) >= g.foulsToLose {
			return seat
		}
	}
	return rules.NoSeat
}

// RuleFoul rules on one disputable foul of a loss that awaits it, the earliest
// not ruled on: a confirmed foul stands, and the game is lost once none is in
// dispute; a waived foul is struck out, and the game goes on unless another
// ending stands behind. It returns the outcome. The error is ErrNoRuling and
// changes nothing.
func (g *Game) RuleFoul(s *State, confirm bool) (rules.Outcome, error) {
	if !s.awaiting {
		return s.outcome, ErrNoRuling
	}
	seat := g.fouledOut(s)
	s.disputed[seat&1]--
	if !confirm {
		s.fouls[seat&1]--
	}
	s.awaiting = false
	g.settle(s, rules.NoPiece)
	return s.outcome, nil
}

// forced reports whether the chase step a was forced in s (必死除外; dark-chess
// rules, section 3): every other legal action would let the opponent win on the
// next turn. Flips and dark captures are safe, since what they would show is
// hidden.
func (g *Game) forced(s *State, a rules.Action) bool {
	var room [MaxActions]rules.Action
	for _, other := range g.List(s, room[:0]) {
		if other != a && g.safe(s, other, s.turn) {
			return false
		}
	}
	return true
}

// safe reports whether seat has a way to go on from its action a so that the
// opponent cannot win on the next turn.
func (g *Game) safe(s *State, a rules.Action, seat rules.Seat) bool {
	if g.TurnsFace(s, a) {
		return true
	}
	next := *s
	g.apply(&next, a, rules.NoPiece, true)
	switch {
	case next.outcome.Over():
		return !next.outcome.Winners.Has(1 - seat)
	case next.awaiting: // fouls enough to lose: they count unless waived
		return false
	case next.turn != seat:
		return !g.canWin(&next)
	}
	var room [MaxActions]rules.Action
	for _, step := range g.List(&next, room[:0]) {
		if g.safe(&next, step, seat) {
			return true
		}
	}
	return false
}

// canWin reports whether the seat to move has a way to win this turn without
// turning a piece.
func (g *Game) canWin(s *State) bool {
	var room [MaxActions]rules.Action
	for _, a := range g.List(s, room[:0]) {
		if g.TurnsFace(s, a) {
			continue
		}
		next := *s
		g.apply(&next, a, rules.NoPiece, true)
		if next.outcome.Winners.Has(s.turn) || next.turn == s.turn && !next.outcome.Over() && g.canWin(&next) {
			return true
		}
	}
	return false
}
