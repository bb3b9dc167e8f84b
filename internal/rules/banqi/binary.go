package banqi

import (
	"bytes"
	"encoding/binary"
	"errors"

	"referee.example/internal/rules"
)

// binaryVersion is the first byte of a binary state. A change of the layout
// takes the next number, and DecodeBinary goes on reading the old ones.
const binaryVersion = 1

// Errors of DecodeBinary besides *TextError, which says that the bytes are well
// formed but no state of these rules.
var (
	ErrBinary  = errors.New("not a binary state")
	ErrVersion = errors.New("binary state of an unknown version")
)

// Bits of the two flag bytes. A seat is written as seat+1 in two bits.
const (
	flagTurn      = 1 << 0
	flagRed       = 1 // shift
	flagRequester = 3 // shift
	flagAwaiting  = 1 << 5
	flagChain     = 1 << 6
	flagOutcome   = 1 << 7

	flagChase   = 0 // shift, one bit a seat
	flagRest    = 2 // shift, one bit a seat
	flagFouls   = 1 << 4
	flagHistory = 1 << 5
	flagsUnused = 3 << 6
)

// AppendBinary appends the whole state in versioned binary form to dst: version,
// two flag bytes, the board in 16 bytes, the captured pieces in 8, the counters
// as varints, then what the flags announce. Equal states give equal bytes.
func (g *Game) AppendBinary(dst []byte, s *State) []byte {
	one := byte(s.turn)&flagTurn | byte(s.red+1)<<flagRed | byte(s.requester+1)<<flagRequester
	one |= flagIf(s.awaiting, flagAwaiting) | flagIf(s.chain != rules.NoSquare, flagChain) | flagIf(s.outcome.Over(), flagOutcome)
	plies := s.history.len() - s.history.start(g.keep())
	two := flagIf(s.fouls != [2]uint8{}, flagFouls) | flagIf(plies > 0, flagHistory)
	for seat := range 2 {
		two |= flagIf(s.chases[seat] != chase{}, 1<<flagChase<<seat) | flagIf(s.rests[seat] != noRest, 1<<flagRest<<seat)
	}
	dst = append(dst, binaryVersion, one, two)
	for i := 0; i < squares; i += 2 {
		dst = append(dst, byte(s.board.at[i]|s.board.at[i+1]<<4))
	}
	for i := 0; i < codes; i += 2 {
		dst = append(dst, s.captured[i]|s.captured[i+1]<<4)
	}
	for _, n := range []int32{s.ply, s.turns[0], s.turns[1], s.idle} {
		dst = binary.AppendUvarint(dst, uint64(n))
	}
	if one&flagChain != 0 {
		dst = append(dst, byte(s.chain))
	}
	if two&flagFouls != 0 {
		dst = append(dst, s.fouls[0], s.fouls[1], s.disputed[0], s.disputed[1])
	}
	for seat := range 2 {
		if c := &s.chases[seat]; two&(1<<flagChase<<seat) != 0 {
			dst = append(dst, byte(c.by), byte(c.on))
			dst = binary.LittleEndian.AppendUint32(dst, c.targets)
			dst = binary.AppendUvarint(dst, uint64(c.length))
		}
		if two&(1<<flagRest<<seat) != 0 {
			dst = append(dst, byte(s.rests[seat].piece), byte(s.rests[seat].target))
		}
	}
	if one&flagOutcome != 0 {
		dst = append(dst, byte(s.outcome.Reason), byte(s.outcome.Winners))
		dst = binary.AppendUvarint(dst, uint64(s.outcome.FirstPly))
		dst = binary.AppendUvarint(dst, uint64(s.outcome.LastPly))
	}
	if two&flagHistory != 0 {
		dst = binary.AppendUvarint(dst, uint64(plies))
		for i := s.history.start(g.keep()); i < s.history.len(); i++ {
			dst = binary.LittleEndian.AppendUint16(dst, uint16(s.history.at(i)&(plyAction|plyExempt)))
		}
	}
	return dst
}

func flagIf(set bool, flag byte) byte {
	if set {
		return flag
	}
	return 0
}

// DecodeBinary reads what AppendBinary wrote and takes nothing else: no bytes
// beyond the state, no other spelling of it. The errors are ErrVersion,
// ErrBinary and *TextError.
func (g *Game) DecodeBinary(b []byte) (State, error) {
	if len(b) > 0 && b[0] != binaryVersion {
		return State{}, ErrVersion
	}
	r := reader{b: b}
	s := newState()
	r.byte()
	one, two := r.byte(), r.byte()
	s.turn, s.red, s.requester = rules.Seat(one&flagTurn), rules.Seat(one>>flagRed&3)-1, rules.Seat(one>>flagRequester&3)-1
	s.awaiting = one&flagAwaiting != 0
	r.refuse(s.red > 1 || s.requester > 1 || two&flagsUnused != 0)
	r.pieces(&s)
	s.ply, s.turns[0], s.turns[1], s.idle = r.number(), r.number(), r.number(), r.number()
	if one&flagChain != 0 {
		s.chain = r.square()
	}
	if two&flagFouls != 0 {
		s.fouls, s.disputed = [2]uint8{r.byte(), r.byte()}, [2]uint8{r.byte(), r.byte()}
	}
	for seat := range 2 {
		if two&(1<<flagChase<<seat) != 0 {
			s.chases[seat] = r.chase()
		}
		if two&(1<<flagRest<<seat) != 0 {
			s.rests[seat] = rest{r.square(), r.orNoSquare()}
		}
	}
	if one&flagOutcome != 0 {
		s.outcome = r.outcome()
	}
	if two&flagHistory != 0 {
		r.history(&s)
	}
	if r.failed || len(r.b) != 0 {
		return State{}, ErrBinary
	}
	if err := g.validate(&s); err != nil {
		return State{}, err
	}
	if g.settleStuck(&s); !bytes.Equal(g.AppendBinary(nil, &s), b) {
		return State{}, ErrBinary
	}
	return s, nil
}

// reader takes a binary state apart; after a failure it reads zeros.
type reader struct {
	b      []byte
	failed bool
}

func (r *reader) refuse(when bool) { r.failed = r.failed || when }

func (r *reader) take(n int) []byte {
	if r.refuse(len(r.b) < n); r.failed {
		return make([]byte, n)
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *reader) byte() byte { return r.take(1)[0] }

func (r *reader) number() int32 {
	n, size := binary.Uvarint(r.b)
	if r.refuse(size <= 0 || n > maxNumber); r.failed {
		return 0
	}
	r.b = r.b[size:]
	return int32(n)
}

func (r *reader) square() rules.Square {
	square := rules.Square(r.byte())
	r.refuse(square >= squares)
	return square
}

func (r *reader) orNoSquare() rules.Square {
	square := rules.Square(r.byte())
	r.refuse(square >= squares && square != rules.NoSquare)
	return square
}

func (r *reader) pieces(s *State) {
	for i, two := range r.take(squares / 2) {
		s.board.set(rules.Square(2*i), rules.Piece(two&15))
		s.board.set(rules.Square(2*i+1), rules.Piece(two>>4))
	}
	for i, two := range r.take(codes / 2) {
		s.captured[2*i], s.captured[2*i+1] = two&15, two>>4
	}
	r.refuse(s.captured[rules.NoPiece] != 0 || s.captured[FaceDown] != 0)
}

func (r *reader) chase() chase {
	c := chase{by: r.square(), on: r.orNoSquare()}
	c.targets = binary.LittleEndian.Uint32(r.take(4))
	c.length = r.number()
	return c
}

func (r *reader) outcome() rules.Outcome {
	o := rules.Outcome{Reason: rules.EndReason(r.byte()), Winners: rules.SeatSet(r.byte())}
	o.FirstPly, o.LastPly = int(r.number()), int(r.number())
	r.refuse(outcomeNames[o.Reason] == "" || o.Winners > 2)
	return o
}

func (r *reader) history(s *State) {
	n := int(r.number())
	if r.refuse(n > len(r.b)/2); r.failed {
		return
	}
	plies := make([]uint32, n)
	for i := range plies {
		plies[i] = uint32(binary.LittleEndian.Uint16(r.take(2)))
		r.refuse(plies[i]&^(plyAction|plyExempt) != 0)
	}
	if !r.failed {
		r.refuse(s.history.restore(plies, &s.board) != "")
	}
}
