package banqi

import (
	"math/bits"

	"referee.example/internal/rules"
)

// The generator: what the pieces of an arrangement can do, as sets of squares.
// It knows neither turns nor chains nor restrictions; check.go adds those.

// MaxActions is room enough for the legal actions of any position: a side has
// at most 16 pieces, no piece goes to more than 10 squares, and the other 16
// squares have a flip each at most.
const MaxActions = 192

// targets returns where the piece on square may go: the empty squares it may
// move to and the squares it may take on.
func (g *Game) targets(b *board, square rules.Square) (quiet, take uint32) {
	p := b.at[square&31]
	r := &g.reach[p&rankMask]
	enemy := (p ^ colourBit) & colourBit
	quiet = r.step[square&31] & b.of[rules.NoPiece]
	take = r.touch[square&31] & (b.prey(enemy, r.touchTakes) | b.of[FaceDown]&r.touchDark)
	if r.far {
		moreQuiet, moreTake := r.distant(b, square, enemy)
		quiet, take = quiet|moreQuiet, take|moreTake
	}
	return quiet, take
}

// count returns how many actions a side has, flips included.
func (g *Game) count(b *board, side Colour) int {
	n := bits.OnesCount32(b.of[FaceDown])
	mine := rules.Piece(side) << 3 & colourBit
	enemy, empty := mine^colourBit, b.of[rules.NoPiece]
	for rank := rules.Piece(general); rank >= soldier; rank-- {
		set := b.of[mine|rank]
		if set == 0 {
			continue
		}
		r := &g.reach[rank]
		prey := b.prey(enemy, r.touchTakes) | b.of[FaceDown]&r.touchDark
		for ; set != 0; set &= set - 1 {
			square := first(set)
			n += bits.OnesCount32(r.step[square&31]&empty | r.touch[square&31]&prey)
			if r.far {
				quiet, take := r.distant(b, square, enemy)
				n += bits.OnesCount32(quiet | take)
			}
		}
	}
	return n
}

// list appends the actions of a side to dst: first the flips, then each
// piece's moves and captures, generals first and soldiers last, squares always
// ascending from a1 to d8. It allocates only where dst has no room for
// MaxActions more.
func (g *Game) list(b *board, side Colour, dst []rules.Action) []rules.Action {
	if cap(dst)-len(dst) < MaxActions {
		dst = append(make([]rules.Action, 0, len(dst)+MaxActions), dst...)
	}
	room := dst[len(dst) : len(dst)+MaxActions]
	n := 0
	for set := b.of[FaceDown]; set != 0; set &= set - 1 {
		room[n] = rules.Flip(first(set))
		n++
	}
	mine := rules.Piece(side) << 3 & colourBit
	enemy, empty := mine^colourBit, b.of[rules.NoPiece]
	for rank := rules.Piece(general); rank >= soldier; rank-- {
		set := b.of[mine|rank]
		if set == 0 {
			continue
		}
		r := &g.reach[rank]
		prey := b.prey(enemy, r.touchTakes) | b.of[FaceDown]&r.touchDark
		for ; set != 0; set &= set - 1 {
			square := first(set)
			goals := r.step[square&31]&empty | r.touch[square&31]&prey
			if r.far {
				quiet, take := r.distant(b, square, enemy)
				goals |= quiet | take
			}
			for ; goals != 0; goals &= goals - 1 {
				room[n] = rules.Move(square, first(goals))
				n++
			}
		}
	}
	return dst[:len(dst)+n]
}

// canAct reports whether a side has any action at all.
func (g *Game) canAct(b *board, side Colour) bool {
	if b.of[FaceDown] != 0 {
		return true
	}
	for set := b.own[side&1]; set != 0; set &= set - 1 {
		if quiet, take := g.targets(b, first(set)); quiet|take != 0 {
			return true
		}
	}
	return false
}

// prey returns the face-up pieces of a colour (its code's bit) whose rank is
// in the set.
func (b *board) prey(colour rules.Piece, takes ranks) uint32 {
	of := (*[8]uint32)(b.of[colour&colourBit:])
	m := &rankMasks[takes]
	return of[1]&m[1] | of[2]&m[2] | of[3]&m[3] | of[4]&m[4] | of[5]&m[5] | of[6]&m[6] | of[7]&m[7]
}

// rankMasks spreads each set of ranks to a mask a rank, so that prey needs no branch.
var rankMasks = makeRankMasks()

func makeRankMasks() (masks [256][8]uint32) {
	for takes := range masks {
		for rank := range 8 {
			if takes>>rank&1 != 0 {
				masks[takes][rank] = ^uint32(0)
			}
		}
	}
	return masks
}

// distant returns what a rank reaches beyond step and touch.
func (r *reach) distant(b *board, square rules.Square, enemy rules.Piece) (quiet, take uint32) {
	square &= 31
	if r.leapTakes != 0 {
		take = r.leap[square] & (b.prey(enemy, r.leapTakes) | b.of[FaceDown]&r.leapDark)
	}
	occupied := ^b.of[rules.NoPiece]
	if r.jump {
		take |= behindScreen(square, occupied) & (b.prey(enemy, r.lineTakes) | b.of[FaceDown]&r.lineDark)
	}
	if r.rush {
		take |= firstInLine(square, occupied) &^ orthogonal[square] & (b.prey(enemy, r.lineTakes) | b.of[FaceDown]&r.lineDark)
	}
	if r.slide {
		quiet = clearLine(square, occupied) &^ orthogonal[square]
	}
	return quiet, take
}

// lowest and highest return the set of one square at that end of a set, or the
// empty set.
func lowest(set uint32) uint32  { return set & -set }
func highest(set uint32) uint32 { return uint32(uint64(1) << (bits.Len32(set) & 63) >> 1) }

// firstInLine returns the nearest occupied square in each direction.
func firstInLine(square rules.Square, occupied uint32) uint32 {
	l := &lines[square&31]
	return lowest(l.up&occupied) | lowest(l.right&occupied) | highest(l.down&occupied) | highest(l.left&occupied)
}

// behindScreen returns the second nearest occupied square in each direction:
// what a cannon on square aims at over exactly one piece.
func behindScreen(square rules.Square, occupied uint32) uint32 {
	l := &lines[square&31]
	up, right, down, left := l.up&occupied, l.right&occupied, l.down&occupied, l.left&occupied
	return lowest(up&(up-1)) | lowest(right&(right-1)) | highest(down&^highest(down)) | highest(left&^highest(left))
}

// clearLine returns the empty squares before the first piece in each direction.
func clearLine(square rules.Square, occupied uint32) uint32 {
	l := &lines[square&31]
	return l.up&(lowest(l.up&occupied)-1) | l.right&(lowest(l.right&occupied)-1) |
		l.down&(^uint32(0)<<bits.Len32(l.down&occupied)) | l.left&(^uint32(0)<<bits.Len32(l.left&occupied))
}
