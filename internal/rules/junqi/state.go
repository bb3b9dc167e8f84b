package junqi

import "referee.example/internal/rules"

// State is a game of army chess as far as everybody has been shown it. A piece
// whose rank was not shown is known by its side and by the stop that it began on,
// which all could follow. It is a value: assigning it makes an independent copy.
// Make one with Game.Start, Game.ParseState or Game.DecodeBinary; the zero State
// is not a game.
type State struct {
	at     [setRoom]rules.Piece  // by stop: NoPiece, FaceDown, a piece with its rank, or a hidden one
	origin [setRoom]rules.Square // where the hidden piece on a stop began, else 0
	own    [rules.MaxSeats]set   // stops of each side's pieces, face-down ones aside
	down   set                   // stops of face-down pieces

	turn     rules.Seat // the seat to move
	out      rules.SeatSet
	bottom   rules.Seat            // flip: who plays side 0, NoSeat until settled
	latest   [2]Side               // flip: the side of each seat's latest turn, until settled
	captured [2][ranks]uint8       // flip: lost pieces by side and rank
	carried  [2]carry              // by side of the flag
	ply      int32                 // plies played
	idle     int32                 // plies without contact in a row
	turns    [rules.MaxSeats]int32 // plies made by each seat
	captures [rules.MaxSeats]uint8 // enemy pieces lost in encounters with a seat's
	outcome  rules.Outcome
}

// carry is a flag on its way: the stop of the piece that carries it, and the stop
// that it was taken on.
type carry struct{ by, from rules.Square }

var notCarried = carry{rules.NoSquare, rules.NoSquare}

// Identities are the ranks that a game keeps secret: the piece that began on each
// stop. A dark game's follow from the placements, a flip game's from the deal.
type Identities [setRoom]rules.Piece

// newState returns a game at ply 0 with seat 0 to move and an empty board.
func newState() State {
	return State{bottom: rules.NoSeat, latest: [2]Side{NoSide, NoSide}, carried: [2]carry{notCarried, notCarried}}
}

// Start returns the position before the first ply: the pieces where they were
// placed, or all of them face down, the given seat to move. In open play (明棋)
// the identities become public with it; otherwise they are not read and may be
// nil. A seat that the form does not have counts as 0.
func (g *Game) Start(first rules.Seat, ids *Identities) State {
	s := newState()
	if first > 0 && int(first) < g.Seats() {
		s.turn = first
	}
	for side := range g.board.sides {
		for stop := range g.board.sides[side].homes.all {
			switch {
			case g.flip:
				s.put(stop, FaceDown, 0)
			case g.rules.Visibility == "open":
				s.put(stop, ids[stop], 0)
			default:
				s.put(stop, Hidden(Side(side)), stop)
			}
		}
	}
	return s
}

// put places a piece on an empty stop.
func (s *State) put(stop rules.Square, p rules.Piece, origin rules.Square) {
	s.at[stop], s.origin[stop] = p, origin
	if p == FaceDown {
		s.down.add(stop)
	} else {
		s.own[p>>sideShift&3].add(stop)
	}
}

// lift takes the piece off a stop.
func (s *State) lift(stop rules.Square) (p rules.Piece, origin rules.Square) {
	p, origin = s.at[stop], s.origin[stop]
	s.at[stop], s.origin[stop] = rules.NoPiece, 0
	if p == FaceDown {
		s.down.remove(stop)
	} else {
		s.own[p>>sideShift&3].remove(stop)
	}
	return p, origin
}

// occupied returns the stops with a piece.
func (s *State) occupied() set {
	return s.own[0].or(s.own[1]).or(s.own[2]).or(s.own[3]).or(s.down)
}

// identity returns the piece on a stop with its rank, where it was shown or the
// identities tell; FaceDown, NoPiece or a hidden piece otherwise.
func (s *State) identity(ids *Identities, stop rules.Square) rules.Piece {
	p := s.at[stop]
	if isHidden(p) && ids != nil {
		if told := ids[s.origin[stop]]; known(told) && told>>sideShift == p>>sideShift {
			return told
		}
	}
	return p
}

// rank is the rank part of identity.
func (s *State) rank(ids *Identities, stop rules.Square) Rank { return RankOf(s.identity(ids, stop)) }

// Turn returns the seat to move; whose turn it would be where the game is over.
func (s *State) Turn() rules.Seat { return s.turn }

// Ply returns how many plies were played.
func (s *State) Ply() int { return int(s.ply) }

// Turns returns how many plies a seat has made; turns that passed are none.
func (s *State) Turns(seat rules.Seat) int { return int(s.turns[seat&3]) }

// Idle returns how many plies in a row were without contact.
func (s *State) Idle() int { return int(s.idle) }

// Out returns the seats that are out of the game.
func (s *State) Out() rules.SeatSet { return s.out }

// Captures returns how many pieces of others were lost in encounters with a seat's.
func (s *State) Captures(seat rules.Seat) int { return int(s.captures[seat&3]) }

// FaceDownCount returns how many pieces are face down.
func (s *State) FaceDownCount() int { return s.down.len() }

// At returns what a stop shows to everybody: NoPiece, FaceDown, a piece with its
// rank or a hidden one.
func (s *State) At(stop rules.Square) rules.Piece {
	if stop >= maxStops {
		return rules.NoPiece
	}
	return s.at[stop]
}

// Outcome returns how the rules ended the game; the zero Outcome while they
// have not.
func (s *State) Outcome() rules.Outcome { return s.outcome }

// Side returns the side that a seat plays, NoSide until colours are settled.
func (g *Game) Side(s *State, seat rules.Seat) Side {
	switch {
	case seat < 0 || int(seat) >= g.Seats():
		return NoSide
	case !g.flip:
		return Side(seat)
	case s.bottom == rules.NoSeat:
		return NoSide
	}
	return Side(seat ^ s.bottom)
}

// Seat returns the seat that plays a side, NoSeat until colours are settled.
func (g *Game) Seat(s *State, side Side) rules.Seat {
	switch {
	case side < 0 || int(side) >= g.Seats():
		return rules.NoSeat
	case !g.flip:
		return rules.Seat(side)
	case s.bottom == rules.NoSeat:
		return rules.NoSeat
	}
	return rules.Seat(side) ^ s.bottom
}

// in returns the seats that are still in the game.
func (g *Game) in(s *State) rules.SeatSet { return (1<<g.Seats() - 1) &^ s.out }

// next returns the seat after one in turn order that is still in the game.
func (g *Game) next(s *State, seat rules.Seat) rules.Seat {
	n := rules.Seat(g.Seats())
	for range n {
		if seat = (seat + 1) % n; !s.out.Has(seat) {
			break
		}
	}
	return seat
}

// team returns the seats that win and lose with one.
func (g *Game) team(seat rules.Seat) rules.SeatSet { return g.Teams()[seat&1] }

// allies returns the pieces that a side may not attack: its own and its partner's.
func (g *Game) allies(s *State, side Side) set {
	if g.teams {
		return s.own[side&3].or(s.own[side&3^2])
	}
	return s.own[side&1]
}
