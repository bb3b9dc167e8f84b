package banqi

import (
	"math/bits"

	"referee.example/internal/rules"
)

// squares is how many squares the board has: 4 files by 8 ranks. A square's
// index is 4*(rank-1) + file, so that a1 is 0, b1 is 1 and d8 is 31; bit n of a
// set of squares is square n.
const squares = 32

// board is an arrangement as players see it. Every square holds one of the
// sixteen codes, kept both by square and as a set of squares a code.
type board struct {
	at  [squares]rules.Piece
	of  [codes]uint32 // of[NoPiece] are the empty squares, of[FaceDown] the face-down pieces
	own [2]uint32     // face-up pieces by colour
}

// bit returns the set of one square.
func bit(square rules.Square) uint32 { return 1 << (square & 31) }

// first returns the lowest square of a set that is not empty.
func first(set uint32) rules.Square { return rules.Square(bits.TrailingZeros32(set)) }

// has reports whether square, which may be NoSquare, is in the set.
func has(set uint32, square rules.Square) bool { return square < squares && set&bit(square) != 0 }

// clear empties the board.
func (b *board) clear() {
	*b = board{}
	b.of[rules.NoPiece] = ^uint32(0)
}

// set puts p, which may be NoPiece or FaceDown, on a square.
func (b *board) set(square rules.Square, p rules.Piece) {
	square &= 31
	one := uint32(1) << square
	b.of[b.at[square]&15] &^= one
	b.of[p&15] |= one
	b.at[square] = p
	b.own[0] &^= one
	b.own[1] &^= one
	if p&rankMask != 0 {
		b.own[p>>3&1] |= one
	}
}

// move takes the piece on from to the square to, over whatever stands there.
func (b *board) move(from, to rules.Square) {
	b.set(to, b.at[from&31])
	b.set(from, rules.NoPiece)
}

// faceDown returns the squares of the face-down pieces.
func (b *board) faceDown() uint32 { return b.of[FaceDown] }

// SquareName returns the name of a square, such as "b3"; "??" off the board.
func SquareName(square rules.Square) string {
	if square >= squares {
		return "??"
	}
	return string([]byte{'a' + byte(square&3), '1' + byte(square>>2)})
}

// ParseSquare returns the square of a name. The error is ErrSquare.
func ParseSquare(name string) (rules.Square, error) {
	if len(name) != 2 || name[0] < 'a' || name[0] > 'd' || name[1] < '1' || name[1] > '8' {
		return rules.NoSquare, ErrSquare
	}
	return rules.Square(name[1]-'1')<<2 | rules.Square(name[0]-'a'), nil
}
