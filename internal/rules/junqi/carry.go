package junqi

import "referee.example/internal/rules"

// bringHome looks after flags on their way (Rules.FlagCarryHome): one that has
// reached a headquarters of its carrier's side is taken, and one whose carrier
// was lost goes back, for all to see, to the stop that it was taken on, or where
// that is occupied to the first free one of its side's home, headquarters first
// and then from the back row. If there is none, it is taken.
func (g *Game) bringHome(s *State, e *Effect) {
	for i := range s.carried {
		owner := rules.Seat(i)
		switch c := s.carried[i]; {
		case c == notCarried:
		case c.by == rules.NoSquare:
			s.carried[i] = notCarried
			back := g.wayBack(s, owner, c.from)
			if back == rules.NoSquare {
				g.putOut(s, owner, rules.EndFlag, e)
				continue
			}
			s.put(back, PieceOf(Side(owner), Flag), 0)
		case g.board.sides[1-owner].hqs.has(c.by):
			g.putOut(s, owner, rules.EndFlag, e)
		}
	}
}

// wayBack returns the stop that a flag goes back to, NoSquare for none.
func (g *Game) wayBack(s *State, owner rules.Seat, from rules.Square) rules.Square {
	home := &g.board.sides[owner]
	occupied := s.occupied()
	if !occupied.has(from) {
		return from
	}
	for stop := range home.hqs.andNot(occupied).all {
		return stop
	}
	for i := placementStops - 1; i >= 0; i-- {
		if stop := home.home[i]; home.homes.has(stop) && !occupied.has(stop) {
			return stop
		}
	}
	return rules.NoSquare
}
