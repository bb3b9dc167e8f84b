package junqi

import "referee.example/internal/rules"

// putOut puts a seat out of the game; a team that is out has lost. With four
// players the seat's pieces leave the board, and its partner plays on.
func (g *Game) putOut(s *State, seat rules.Seat, reason rules.EndReason, e *Effect) {
	s.out |= rules.SeatsOf(seat)
	e.Out |= rules.SeatsOf(seat)
	if g.teams {
		for stop := range s.own[seat&3].all {
			s.lift(stop)
		}
	}
	if team := g.team(seat); team&^s.out == 0 {
		s.outcome = rules.Outcome{Reason: reason, Winners: (1<<g.Seats() - 1) &^ team}
	}
}

// unscored reports whether the game counts for nothing when seat leaves it.
func (g *Game) unscored(s *State, seat rules.Seat) bool {
	return g.rules.Leaver == "unscored" && g.team(seat)&s.out == 0
}

// stuck returns who has no legal move: the seats that are put out for it one
// after the other, from the seat to move to the first that has one; all that are
// in where nobody has. The error is ErrIdentityMissing where an unknown piece might.
func (g *Game) stuck(s *State, ids *Identities) (found rules.SeatSet, err error) {
	if g.canAct(s, ids, s.turn) {
		return 0, nil
	}
	in := g.in(s)
	nobody := true
	for seat := range rules.Seat(g.Seats()) {
		if !in.Has(seat) {
			continue
		}
		can := g.canAct(s, ids, seat)
		if !can && g.unknown(s, ids, Side(seat)) {
			return 0, ErrIdentityMissing
		}
		nobody = nobody && !can
	}
	if nobody {
		return in, nil
	}
	var ignored Effect
	for t := *s; !t.outcome.Over() && !g.canAct(&t, ids, t.turn); g.passTurn(&t) {
		found |= rules.SeatsOf(t.turn)
		g.putOut(&t, t.turn, rules.EndNoLegalAction, &ignored)
	}
	return found, nil
}

// unknown reports whether a side has a piece whose identity is not at hand.
func (g *Game) unknown(s *State, ids *Identities, side Side) bool {
	for stop := range s.own[side&3].all {
		if isHidden(s.identity(ids, stop)) {
			return true
		}
	}
	return false
}

// stuckFits reports whether a disclosure's stuck seats could be: the seat to move
// and some that follow it, all of them in. Where every rank is shown they must be.
func (g *Game) stuckFits(s *State, stuck rules.SeatSet) bool {
	if s.outcome.Over() {
		return stuck == 0
	}
	if g.shown {
		found, err := g.stuck(s, nil)
		return err == nil && stuck == found
	}
	seat := s.turn
	for stuck.Has(seat) {
		stuck &^= rules.SeatsOf(seat)
		seat = g.next(s, seat)
	}
	return stuck == 0
}

// conclude ends the game if the change met an ending: first a flag, which make
// has seen to, then no legal move, then idleness, then length.
func (g *Game) conclude(s *State, c Change, e *Effect) {
	if e.Stuck != 0 {
		g.concludeStuck(s, e)
	}
	if !s.outcome.Over() && c.Kind == ChangePly {
		switch {
		case g.rules.Idle.Limit > 0 && int(s.idle) >= g.rules.Idle.Limit:
			s.outcome = rules.Outcome{Reason: rules.EndIdle, FirstPly: int(s.ply-s.idle) + 1, LastPly: int(s.ply)}
			if g.rules.Idle.Result == "loss" {
				s.outcome.Winners = g.team(s.turn ^ 1)
			}
		case g.rules.MaxPlies > 0 && int(s.ply) >= g.rules.MaxPlies:
			s.outcome = rules.Outcome{Reason: rules.EndMaxPlies}
		}
	}
	e.Outcome = s.outcome
}

func (g *Game) concludeStuck(s *State, e *Effect) {
	if e.Stuck == g.in(s) {
		s.outcome = rules.Outcome{Reason: rules.EndNoLegalAction}
		return
	}
	for !s.outcome.Over() && e.Stuck.Has(s.turn) {
		g.putOut(s, s.turn, rules.EndNoLegalAction, e)
		g.passTurn(s)
	}
}
