package banqi

import (
	"math/bits"

	"referee.example/internal/rules"
)

// State is a game of dark chess as far as anybody has been shown it: a
// face-down piece has no identity here. It is a value: assigning it makes an
// independent copy. Make one with Game.Start, Game.ParseState or
// Game.DecodeBinary; the zero State is not a game.
type State struct {
	board     board
	turn      rules.Seat   // the seat to move
	red       rules.Seat   // the seat that plays red; NoSeat before the first flip
	requester rules.Seat   // who has a count running; NoSeat for none
	chain     rules.Square // the piece in mid-chain; NoSquare for none
	awaiting  bool         // a loss by fouls waits for a ruling
	ply       int32
	turns     [2]int32     // turns made by each seat
	idle      int32        // quiet plies counted towards the idle limit
	captured  [codes]uint8 // captured pieces by code
	chases    [2]chase     // by chasing seat
	rests     [2]rest      // by chasing seat
	fouls     [2]uint8     // technical fouls by seat, disputable ones included
	disputed  [2]uint8     // those of them that await or may need a ruling
	outcome   rules.Outcome
	history   history
}

// newState returns a game at ply 0 with seat 0 to move and an empty board.
func newState() State {
	s := State{red: rules.NoSeat, requester: rules.NoSeat, chain: rules.NoSquare, rests: [2]rest{noRest, noRest}}
	s.board.clear()
	return s
}

// Start returns the position before the first ply: all 32 pieces face down,
// the given seat to move, colours not assigned. A seat other than 1 counts as 0.
func (g *Game) Start(first rules.Seat) State {
	s := newState()
	if first == 1 {
		s.turn = 1
	}
	for square := range rules.Square(squares) {
		s.board.set(square, FaceDown)
	}
	return s
}

// Turn returns the seat to move; whose turn it would be where the game is over.
func (s *State) Turn() rules.Seat { return s.turn }

// Ply returns how many plies were played.
func (s *State) Ply() int { return int(s.ply) }

// Turns returns how many turns a seat has made.
func (s *State) Turns(seat rules.Seat) int { return int(s.turns[seat&1]) }

// Colour returns the colour that a seat plays, NoColour before the first flip.
func (s *State) Colour(seat rules.Seat) Colour {
	if s.red == rules.NoSeat || seat < 0 || seat > 1 {
		return NoColour
	}
	return s.side(seat)
}

// side returns a seat's colour as an index; before the first flip, when no
// piece has a colour, it does not matter which.
func (s *State) side(seat rules.Seat) Colour {
	if seat == s.red {
		return Red
	}
	return Black
}

// seatOf returns the seat that plays a colour, once colours are assigned.
func (s *State) seatOf(c Colour) rules.Seat {
	if c == Red {
		return s.red
	}
	return 1 - s.red
}

// At returns what a square shows: a piece, FaceDown or NoPiece.
func (s *State) At(square rules.Square) rules.Piece { return s.board.at[square&31] }

// FaceDownCount returns how many pieces are face down.
func (s *State) FaceDownCount() int { return bits.OnesCount32(s.board.faceDown()) }

// Captures returns how many pieces a seat has captured.
func (s *State) Captures(seat rules.Seat) int {
	if s.Colour(seat) == NoColour {
		return 0
	}
	return s.lost(s.side(1 - seat))
}

// CapturedPieces returns the pieces that a seat has captured, generals first.
func (s *State) CapturedPieces(seat rules.Seat) []rules.Piece {
	var pieces []rules.Piece
	if s.Colour(seat) == NoColour {
		return nil
	}
	enemy := rules.Piece(s.side(1-seat)) << 3
	for rank := rules.Piece(general); rank >= soldier; rank-- {
		for range s.captured[enemy|rank] {
			pieces = append(pieces, enemy|rank)
		}
	}
	return pieces
}

// lost returns how many pieces of a colour were captured.
func (s *State) lost(c Colour) int {
	n := 0
	for rank := rules.Piece(soldier); rank <= general; rank++ {
		n += int(s.captured[rules.Piece(c)<<3|rank])
	}
	return n
}

// pieces returns how many pieces a colour has left, face-down ones included.
// In a game played from the start this is exact; in a position set up by its
// board alone, face-down pieces count for any colour that may have them.
func (s *State) pieces(c Colour) int {
	up := bits.OnesCount32(s.board.own[c&1])
	return up + min(s.FaceDownCount(), perSide-up-s.lost(c))
}

// piecesOf returns how many pieces like p its side has left, as pieces does.
func (s *State) piecesOf(p rules.Piece) int {
	up := bits.OnesCount32(s.board.of[p&15])
	return up + min(s.FaceDownCount(), int(deckCount[p&rankMask])-up-int(s.captured[p&15]))
}

// unseen returns how many pieces like p may still be face down.
func (s *State) unseen(p rules.Piece) int {
	return s.piecesOf(p) - bits.OnesCount32(s.board.of[p&15])
}

// Idle returns how many quiet plies count towards the idle limit.
func (s *State) Idle() int { return int(s.idle) }

// Requester returns the seat whose count is running, or NoSeat.
func (s *State) Requester() rules.Seat { return s.requester }

// Chain returns the square of the piece in mid-chain, or NoSquare.
func (s *State) Chain() rules.Square { return s.chain }

// Fouls returns a seat's technical fouls, disputable ones included.
func (s *State) Fouls(seat rules.Seat) int { return int(s.fouls[seat&1]) }

// Disputed returns how many of a seat's fouls are disputable and not ruled on.
func (s *State) Disputed(seat rules.Seat) int { return int(s.disputed[seat&1]) }

// AwaitingRuling reports whether a loss by fouls waits for Game.RuleFoul.
func (s *State) AwaitingRuling() bool { return s.awaiting }

// Outcome returns how the rules ended the game; the zero Outcome while they
// have not.
func (s *State) Outcome() rules.Outcome { return s.outcome }
