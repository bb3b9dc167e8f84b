package junqi

import "referee.example/internal/rules"

// settleColours notes the side of the piece that the seat to move has turned, and
// reports whether that settles who plays which side. When the last piece is turned
// without any rule having settled it, its side is that of who turned it.
func (g *Game) settleColours(s *State, turned rules.Piece) bool {
	if s.bottom != rules.NoSeat {
		return false
	}
	seat, side := s.turn&1, SideOf(turned)
	settles := s.down.empty()
	switch g.rules.Colours {
	case "first_piece":
		settles = true
	case "own_two":
		settles = settles || s.latest[seat] == side
	case "previous_piece":
		settles = settles || s.latest[1-seat] == side
	case "first_engineer":
		settles = settles || RankOf(turned) == Engineer
	}
	s.latest[seat] = side
	if settles {
		s.bottom = seat ^ rules.Seat(side)
		s.latest = [2]Side{NoSide, NoSide}
	}
	return settles
}
