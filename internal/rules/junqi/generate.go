package junqi

import "referee.example/internal/rules"

// The generator: where pieces may go, as sets of stops.

// MaxActions is room enough for the legal actions of any position: 50 turns, and
// for each of at most 23 mobile pieces no more goals than its rails and roads have.
const MaxActions = 1024

// goals returns where a side's piece of a rank may go from a stop. Attacks that
// the target's rank forbids are among them.
func (g *Game) goals(s *State, occupied, barred set, stop rules.Square, rank Rank) set {
	if !rank.mobile() || g.locked(s, stop) {
		return set{}
	}
	goals := g.board.road[stop]
	switch rail := &g.board.rail[stop]; {
	case rail.empty():
	case rank == Engineer:
		goals = goals.or(g.board.flood(stop, occupied))
	default:
		for _, ray := range g.board.rays[stop] {
			for _, next := range ray {
				goals.add(next)
				if occupied.has(next) {
					break
				}
			}
		}
	}
	return goals.andNot(barred)
}

// locked reports whether a headquarters keeps the piece on a stop from moving.
func (g *Game) locked(s *State, stop rules.Square) bool {
	return g.hqLocks && g.board.hqs.has(stop) && s.carried[0].by != stop && s.carried[1].by != stop
}

// barred returns the stops that a side's pieces can't go to: those of its own
// and its partner's pieces, of face-down ones, and of those that a camp protects.
func (g *Game) barred(s *State, side Side, occupied set) set {
	return g.allies(s, side).or(s.down).or(occupied.and(g.protecting))
}

// List appends the legal actions of the seat to move to dst, none where the game
// is over. The order is fixed: turns, then moves, stops ascending. It allocates
// only where dst has no room for MaxActions more.
func (g *Game) List(s *State, ids *Identities, dst []rules.Action) []rules.Action {
	if s.outcome.Over() {
		return dst
	}
	return g.list(s, ids, g.Side(s, s.turn), dst)
}

func (g *Game) list(s *State, ids *Identities, side Side, dst []rules.Action) []rules.Action {
	for stop := range s.down.all {
		dst = append(dst, rules.Flip(stop))
	}
	if side == NoSide {
		return dst
	}
	occupied := s.occupied()
	barred := g.barred(s, side, occupied)
	for from := range s.own[side&3].all {
		goals := g.goals(s, occupied, barred, from, s.rank(ids, from))
		for to := range goals.all {
			if g.shown && occupied.has(to) && g.encounter(s, ids, from, to).refused != "" {
				continue
			}
			dst = append(dst, rules.Move(from, to))
		}
	}
	return dst
}

// canAct reports whether a seat would have a legal action if it were its turn.
func (g *Game) canAct(s *State, ids *Identities, seat rules.Seat) bool {
	if !s.down.empty() {
		return true
	}
	side := g.Side(s, seat)
	if side == NoSide {
		return false
	}
	occupied := s.occupied()
	barred := g.barred(s, side, occupied)
	for from := range s.own[side&3].all {
		for to := range g.goals(s, occupied, barred, from, s.rank(ids, from)).all {
			if !g.shown || !occupied.has(to) || g.encounter(s, ids, from, to).refused == "" {
				return true
			}
		}
	}
	return false
}
