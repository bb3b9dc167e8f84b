package junqi

import (
	"math/bits"

	"referee.example/internal/rules"
)

// The generator: where pieces may go, as sets of stops.

// MaxActions is room enough for the legal actions of any position: 50 turns, and
// for each of at most 23 mobile pieces no more goals than its rails and roads have.
const MaxActions = 1024

// walk is one side's moves in the making.
type walk struct {
	occupied set
	// barred are the stops that the side's pieces can't go to: those of its own and
	// its partner's pieces, of face-down ones, and of those that a camp protects.
	barred set
	// free and reached are what board.flood found last: engineers on one network
	// share it.
	free, reached set
}

// startWalk prepares the moves of a side.
func (g *Game) startWalk(s *State, side Side, w *walk) {
	w.occupied = s.occupied()
	friends := g.allies(s, side)
	for i := range w.occupied {
		w.barred[i] = friends[i] | s.down[i] | w.occupied[i]&g.protecting[i]
	}
}

// goals returns where a piece of a rank may go from a stop. Attacks that the
// target's rank forbids are among them.
func (g *Game) goals(s *State, w *walk, stop rules.Square, rank Rank) set {
	if !rank.mobile() || g.locked(s, stop) {
		return set{}
	}
	goals := g.board.road[stop]
	if rank == Engineer {
		g.rides(w, stop, &goals)
	} else {
		for _, ray := range g.board.rays[stop] {
			for _, next := range ray {
				goals.add(next)
				if s.at[next] != rules.NoPiece {
					break
				}
			}
		}
	}
	for i := range goals {
		goals[i] &^= w.barred[i]
	}
	return goals
}

// rides adds where rails lead an engineer.
func (g *Game) rides(w *walk, stop rules.Square, goals *set) {
	next := g.board.rail[stop]
	for i := range next {
		goals[i] |= next[i]
		next[i] &^= w.occupied[i]
	}
	for !next.empty() {
		if next.and(w.free).empty() {
			w.free, w.reached = g.board.flood(next.first(), &w.occupied)
		}
		for i := range next {
			goals[i] |= w.reached[i]
			next[i] &^= w.free[i]
		}
	}
	goals.remove(stop)
}

// locked reports whether a headquarters keeps the piece on a stop from moving.
func (g *Game) locked(s *State, stop rules.Square) bool {
	return g.hqLocks && g.board.hqs.has(stop) && s.carried[0].by != stop && s.carried[1].by != stop
}

// List appends the legal actions of the seat to move to dst, none where the game
// is over. The order is fixed: turns, then moves, stops ascending. It allocates
// only where dst has no room for MaxActions more.
func (g *Game) List(s *State, ids *Identities, dst []rules.Action) []rules.Action {
	if s.outcome.Over() {
		return dst
	}
	for stop := range s.down.all {
		dst = append(dst, rules.Flip(stop))
	}
	side := g.Side(s, s.turn)
	if side == NoSide {
		return dst
	}
	if cap(dst)-len(dst) < MaxActions {
		dst = append(make([]rules.Action, 0, len(dst)+MaxActions), dst...)
	}
	var w walk
	g.startWalk(s, side, &w)
	for i, word := range s.own[side&3] {
		for ; word != 0; word &= word - 1 {
			from := rules.Square(i<<6 + bits.TrailingZeros64(word))
			dst = g.listFrom(s, ids, &w, from, dst)
		}
	}
	return dst
}

// listFrom appends the moves of the piece on a stop, for which dst has room.
func (g *Game) listFrom(s *State, ids *Identities, w *walk, from rules.Square, dst []rules.Action) []rules.Action {
	goals := g.goals(s, w, from, s.rank(ids, from))
	for i, word := range goals {
		for ; word != 0; word &= word - 1 {
			to := rules.Square(i<<6 + bits.TrailingZeros64(word))
			if g.shown && s.at[to] != rules.NoPiece && g.encounter(s, ids, from, to).refused != "" {
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
	var w walk
	g.startWalk(s, side, &w)
	for from := range s.own[side&3].all {
		goals := g.goals(s, &w, from, s.rank(ids, from))
		for to := range goals.all {
			if !g.shown || s.at[to] == rules.NoPiece || g.encounter(s, ids, from, to).refused == "" {
				return true
			}
		}
	}
	return false
}
