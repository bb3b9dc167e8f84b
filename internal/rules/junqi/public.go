package junqi

import "referee.example/internal/rules"

// checkPublic judges a change and what was disclosed of it by what everybody
// knows. In the forms that show all ranks that is everything; in the others a
// hidden piece may be any that could do what it did.
func (g *Game) checkPublic(s *State, c Change, d Disclosure) error {
	if c.Kind != ChangePly {
		if err := g.checkChange(s, nil, c); err != nil {
			return err
		}
		return fits(d == Disclosure{Stuck: d.Stuck})
	}
	if i := g.checkPly(s, c.Action); !i.OK() {
		return &IllegalError{i}
	}
	switch {
	case c.Action.Kind == rules.ActionFlip:
		return fits(d == Disclosure{Turned: d.Turned, Stuck: d.Stuck} && g.isPiece(d.Turned) && g.canBeTurned(s, d.Turned))
	case s.at[c.Action.To] == rules.NoPiece:
		return fits(d == Disclosure{Stuck: d.Stuck})
	case g.shown:
		found, err := g.find(s, nil, c)
		found.Stuck = d.Stuck
		return fits(err == nil && d == found)
	}
	return fits(g.encounterFits(s, c.Action, &d))
}

func fits(ok bool) error {
	if !ok {
		return ErrDisclosure
	}
	return nil
}

// checkPly judges an action of the seat to move; a hidden piece may be an engineer,
// which goes wherever any other piece does.
func (g *Game) checkPly(s *State, a rules.Action) rules.Illegal {
	if a.Kind != rules.ActionMove || s.outcome.Over() {
		return g.Check(s, nil, s.turn, a)
	}
	if i := g.checkMover(s, s.turn, a); !i.OK() {
		return i
	}
	rank := RankOf(s.at[a.From])
	if isHidden(s.at[a.From]) {
		rank = Engineer
	}
	return g.checkMoveAs(s, nil, s.turn, a, rank)
}

// encounterFits judges what was disclosed of an encounter between pieces that may
// be hidden.
func (g *Game) encounterFits(s *State, a rules.Action, d *Disclosure) bool {
	mover, target := s.at[a.From], s.at[a.To]
	attackerGone := d.Verdict == DefenderWon || d.Verdict == BothGone
	defenderGone := d.Verdict == AttackerWon || d.Verdict == BothGone
	switch {
	case d.Verdict == NoContact || d.Verdict > NeitherGone || d.Turned != rules.NoPiece || d.Fallen>>rules.MaxSeats != 0:
		return false
	case d.Verdict == NeitherGone && g.rules.Mine != "bounce":
		return false
	case d.Flag && (!defenderGone || !may(target, Flag) || d.Verdict == BothGone && g.carries):
		return false
	case d.Flag && g.flagElsewhere(s, SideOf(target), a.To):
		return false
	case d.Shown != rules.NoPiece && (!g.rules.EngineerScouts || d.Verdict != DefenderWon || !may(mover, Engineer) ||
		!g.isPiece(d.Shown) || SideOf(d.Shown) != SideOf(target) || !may(target, RankOf(d.Shown))):
		return false
	}
	for side := range Side(rules.MaxSeats) {
		lost := attackerGone && SideOf(mover) == side && may(mover, Marshal) ||
			defenderGone && SideOf(target) == side && may(target, Marshal) && !d.Flag
		if !g.flagFits(s, a, d, side, lost) {
			return false
		}
	}
	return true
}

// flagElsewhere reports whether everybody knows that a side's flag is not on the
// stop: it lies open on another one, or is being carried.
func (g *Game) flagElsewhere(s *State, side Side, stop rules.Square) bool {
	if g.carries && s.carried[side&1] != notCarried {
		return true
	}
	at := g.flagStop(s, nil, side)
	return at != rules.NoSquare && at != stop
}

// flagFits judges what was disclosed of one side's flag, where its marshal may have
// been lost.
func (g *Game) flagFits(s *State, a rules.Action, d *Disclosure, side Side, lost bool) bool {
	at := d.FlagAt[side]
	if !d.Fallen.Has(rules.Seat(side)) {
		return at == 0
	}
	return g.reveals && lost && at != a.From && at != a.To && int(at) < g.board.stops &&
		SideOf(s.at[at]) == side && may(s.at[at], Flag)
}

// may reports whether a piece, as everybody sees it, may have a rank.
func may(p rules.Piece, rank Rank) bool { return isHidden(p) || RankOf(p) == rank }
