package junqi

import (
	"math/rand/v2"

	"referee.example/internal/rules"
)

// dice plays random games, the same ones for the same seed.
type dice struct{ *rand.Rand }

func newDice(seed uint64) dice { return dice{rand.New(rand.NewPCG(seed, 0))} }

// placement returns a random placement that the rules allow.
func (d dice) placement(g *Game, side Side) Placement {
	b := g.board
	home := &b.sides[side].home
	var p Placement
	place := func(rank Rank, allowed func(i int) bool) {
		var free []int
		for i, stop := range home {
			if p[i] == NoRank && !b.camps.has(stop) && allowed(i) {
				free = append(free, i)
			}
		}
		p[free[d.IntN(len(free))]] = rank
	}
	for rank := Flag; rank >= Engineer; rank-- {
		for range deckCount[rank] {
			place(rank, func(i int) bool {
				switch rank {
				case Flag:
					return b.hqs.has(home[i])
				case Mine:
					return i >= 20
				case Bomb:
					return i >= 5
				}
				return true
			})
		}
	}
	return p
}

// identities returns random placements, or a random deal in the flip form.
func (d dice) identities(g *Game) *Identities {
	if g.flip {
		deal := g.Deck()
		d.Shuffle(len(deal), func(i, j int) { deal[i], deal[j] = deal[j], deal[i] })
		return g.Dealt(deal)
	}
	var placements []Placement
	for side := range g.board.sides {
		placements = append(placements, d.placement(g, Side(side)))
	}
	return g.Identities(placements)
}

// change chooses what happens next: mostly a ply, at times a seat that passes, is
// put out or leaves.
func (d dice) change(g *Game, s *State, ids *Identities) Change {
	seat := rules.Seat(d.IntN(g.Seats()))
	switch n := d.IntN(600); {
	case n < 12 && g.ExpiredTurnPasses():
		return Pass()
	case n >= 12 || !g.in(s).Has(seat):
		return Ply(d.ply(g, s, ids))
	case n < 2:
		return Leave(seat)
	case n < 4:
		return PutOut(seat, rules.EndTime)
	}
	return Ply(d.ply(g, s, ids))
}

// ply chooses an action as a player does who sees everything and wants an end:
// often an attack that is not lost, the flag's first; else often a step towards a
// flag; else anything.
func (d dice) ply(g *Game, s *State, ids *Identities) rules.Action {
	var room [MaxActions]rules.Action
	actions := g.List(s, ids, room[:0])
	d.Shuffle(len(actions), func(i, j int) { actions[i], actions[j] = actions[j], actions[i] })
	if d.IntN(10) < 7 {
		best, score := actions[0], -1
		for _, a := range actions {
			if n := attackScore(g, s, ids, a); n > score {
				best, score = a, n
			}
		}
		if score > 0 {
			return best
		}
	}
	if d.IntN(10) < 6 {
		for _, a := range actions {
			if a.Kind == rules.ActionMove && nearer(g, s, ids, a) {
				return a
			}
		}
	}
	return actions[d.IntN(len(actions))]
}

// quiet chooses an action as a player does who only waits: a move to an empty stop
// where there is one.
func (d dice) quiet(g *Game, s *State, ids *Identities) rules.Action {
	actions := g.List(s, ids, nil)
	d.Shuffle(len(actions), func(i, j int) { actions[i], actions[j] = actions[j], actions[i] })
	for _, a := range actions {
		if a.Kind == rules.ActionMove && s.at[a.To] == rules.NoPiece {
			return a
		}
	}
	return actions[0]
}

func attackScore(g *Game, s *State, ids *Identities, a rules.Action) int {
	if a.Kind != rules.ActionMove || s.at[a.To] == rules.NoPiece {
		return 0
	}
	e := g.encounter(s, ids, a.From, a.To)
	switch {
	case e.flag:
		return 3
	case e.verdict == AttackerWon || s.rank(ids, a.To) == Mine && e.verdict == BothGone:
		return 2
	case e.verdict == BothGone:
		return 1
	}
	return 0
}

// nearer reports whether a move brings a piece nearer to an enemy's flag.
func nearer(g *Game, s *State, ids *Identities, a rules.Action) bool {
	friends := g.allies(s, SideOf(s.at[a.From]))
	for side := range Side(g.Seats()) {
		if flag := g.flagStop(s, ids, side); flag != rules.NoSquare && !friends.has(flag) {
			return distances(g.board)[flag][a.To] < distances(g.board)[flag][a.From]
		}
	}
	return false
}

var distancesTwo, distancesFour = measure(boardTwo), measure(boardFour)

func distances(b *board) *[maxStops][maxStops]uint8 {
	if b == boardTwo {
		return distancesTwo
	}
	return distancesFour
}

// measure counts the steps between all stops of an empty board.
func measure(b *board) *[maxStops][maxStops]uint8 {
	steps := new([maxStops][maxStops]uint8)
	for from := range rules.Square(b.stops) {
		var seen set
		seen.add(from)
		ring := []rules.Square{from}
		for n := uint8(1); len(ring) > 0; n++ {
			var next []rules.Square
			for _, stop := range ring {
				for to := range b.road[stop].or(b.rail[stop]).all {
					if !seen.has(to) {
						seen.add(to)
						steps[from][to] = n
						next = append(next, to)
					}
				}
			}
			ring = next
		}
	}
	return steps
}
