package banqi

import (
	"math/bits"

	"referee.example/internal/rules"
)

// chase is a seat's standing chase (dark-chess rules, section 3). After a chase
// step, targets are all enemy pieces that the moved piece now threatens; after
// the reply, the one of them that moved. The zero value is no chase.
type chase struct {
	targets uint32
	length  int32        // steps made against on
	by      rules.Square // the piece that made the last step
	on      rules.Square // the target with more than one step, NoSquare for none; the others have one
}

// steps returns the length of the chase against the target on a square.
func (c *chase) steps(target rules.Square) int32 {
	if target == c.on {
		return c.length
	}
	return 1
}

// rest is a chaser that must pause on its seat's next turn, and its prey.
type rest struct{ piece, target rules.Square }

var noRest = rest{rules.NoSquare, rules.NoSquare}

// followed keeps the prey's square when the piece on from moved to another
// square, or NoSquare if it was lost.
func (r *rest) followed(from, to rules.Square) {
	if r.piece != rules.NoSquare && r.target == from {
		r.target = to
	}
}

// threatened returns the enemies that the piece on square could take as its
// side's first action if it moved at once and that count as chased.
func (g *Game) threatened(s *State, b *board, square rules.Square) uint32 {
	p := b.at[square&31]
	_, take := g.targets(b, square)
	take &= b.own[(p>>3^1)&1]
	if take == 0 {
		return 0
	}
	if g.chase.LastPieceExempt && (s.pieces(Red) == 1 || s.pieces(Black) == 1) {
		return 0
	}
	if g.chase.LowerRankExempt {
		take &= b.prey((p^colourBit)&colourBit, ranks(2<<(p&rankMask)-1))
	}
	return take
}

// noteMove brings the chases up to date after seat's quiet move. It reports
// whether the move was a chase step or the reply of a chased piece.
func (g *Game) noteMove(s *State, seat rules.Seat, from, to rules.Square) (exempt bool) {
	if !g.tracked {
		return false
	}
	exempt = s.noteReply(1-seat, from, to)
	before := s.chases[seat&1]
	if s.rests[seat&1] != noRest {
		before = chase{} // after a pause counting starts anew
	}
	now := chase{targets: g.threatened(s, &s.board, to), by: to, on: rules.NoSquare, length: 1}
	if now.targets == 0 {
		s.chases[seat&1] = chase{}
		return exempt
	}
	if before.targets != 0 && has(now.targets, before.on) && (g.bySide || before.by == from) {
		now.on, now.length = before.on, before.length+1
	}
	s.chases[seat&1] = now
	return true
}

// noteReply brings the chase of chaser up to date after the other seat's quiet
// move and reports whether a chased piece made it.
func (s *State) noteReply(chaser rules.Seat, from, to rules.Square) bool {
	s.rests[chaser&1].followed(from, to)
	c := &s.chases[chaser&1]
	if !has(c.targets, from) {
		*c = chase{}
		return false
	}
	*c = chase{targets: bit(to), by: c.by, on: to, length: c.steps(from)}
	return true
}

// endChases ends both sides' chases, as a flip and a capture do.
func (s *State) endChases() { s.chases = [2]chase{} }

// restricted returns what chase restriction forbids the action to seat, or the
// zero Illegal. The action is otherwise legal.
func (g *Game) restricted(s *State, seat rules.Seat, a rules.Action) rules.Illegal {
	if a.Kind != rules.ActionMove || s.chain != rules.NoSquare {
		return rules.Illegal{}
	}
	if r := s.rests[seat&1]; r.piece == a.From {
		i := s.illegal(RulePause, r.piece, r.target)
		i.Count = g.chase.Length
		return i
	}
	if g.refuses(s, seat) && s.board.at[a.To&31] == rules.NoPiece && g.prolongs(s, seat, a) {
		c := &s.chases[seat&1]
		i := s.illegal(RuleChase, a.From, c.on)
		i.Count = int(c.length)
		return i
	}
	return rules.Illegal{}
}

// prolongs reports whether seat's quiet move a would be the next step of its
// standing chase.
func (g *Game) prolongs(s *State, seat rules.Seat, a rules.Action) bool {
	c := &s.chases[seat&1]
	if c.targets == 0 || !g.bySide && c.by != a.From {
		return false
	}
	after := s.board
	after.move(a.From, a.To)
	return has(g.threatened(s, &after, a.To), c.on)
}

// chaseFull reports whether seat's standing chase is as long as is allowed.
func (g *Game) chaseFull(s *State, seat rules.Seat) bool {
	c := &s.chases[seat&1]
	return g.chase.Length > 0 && int(c.length) >= g.chase.Length
}

// refuses reports whether seat's next chase step would be refused.
func (g *Game) refuses(s *State, seat rules.Seat) bool {
	return g.chaseFull(s, seat) && g.chase.Sanction == "refuse"
}

// restrains reports whether any chase restriction bears on seat's turn.
func (g *Game) restrains(s *State, seat rules.Seat) bool {
	return s.rests[seat&1].piece != rules.NoSquare || g.refuses(s, seat)
}

// restrain drops the restricted actions from a seat's complete list, unless
// none would be left: a restriction never costs the game.
func (g *Game) restrain(s *State, seat rules.Seat, actions []rules.Action) []rules.Action {
	free := 0
	for _, a := range actions {
		if g.restricted(s, seat, a).OK() {
			actions[free] = a
			free++
		}
	}
	if free == 0 {
		return actions
	}
	return actions[:free]
}

// lifted reports whether seat's restrictions are lifted for this turn because
// every action is restricted.
func (g *Game) lifted(s *State, seat rules.Seat) bool {
	var room [MaxActions]rules.Action
	for _, a := range g.list(&s.board, s.side(seat), room[:0]) {
		if g.restricted(s, seat, a).OK() {
			return false
		}
	}
	return true
}

// chased returns the squares of a standing chase's targets.
func (c *chase) chased() []rules.Square {
	out := make([]rules.Square, 0, bits.OnesCount32(c.targets))
	for set := c.targets; set != 0; set &= set - 1 {
		out = append(out, first(set))
	}
	return out
}
