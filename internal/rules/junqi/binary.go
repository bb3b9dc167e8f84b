package junqi

import (
	"bytes"
	"crypto/sha256"
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

// moved takes the place of a rank in binary form: a hidden piece that is not where
// it began, so that its origin follows.
const moved = 13

// AppendBinary appends all that is public of a game in versioned binary form to
// dst: version, a byte a stop with the origins of moved pieces, then seats and
// counters. Equal states give equal bytes; there is no identity in them.
func (g *Game) AppendBinary(dst []byte, s *State) []byte {
	dst = append(dst, binaryVersion)
	for stop := range rules.Square(g.board.stops) {
		switch p := s.at[stop]; {
		case isHidden(p) && s.origin[stop] != stop:
			dst = append(dst, byte(p&^rankMask|moved), byte(s.origin[stop]))
		default:
			dst = append(dst, byte(p))
		}
	}
	dst = append(dst, byte(s.turn), byte(s.out))
	for _, n := range []int32{s.ply, s.idle} {
		dst = binary.AppendUvarint(dst, uint64(n))
	}
	for seat := range g.Seats() {
		dst = binary.AppendUvarint(dst, uint64(s.turns[seat]))
		dst = append(dst, s.captures[seat])
	}
	if g.flip {
		dst = append(dst, byte(s.bottom+1), byte(s.latest[0]+1), byte(s.latest[1]+1))
		for side := range s.captured {
			for rank := Engineer; rank <= Flag; rank += 2 {
				dst = append(dst, s.captured[side][rank]|s.captured[side][rank+1]<<4)
			}
		}
	}
	if g.carries {
		for _, c := range s.carried {
			dst = append(dst, byte(c.by), byte(c.from))
		}
	}
	o := s.outcome
	dst = append(dst, byte(o.Reason))
	if o.Over() {
		dst = append(dst, byte(o.Winners))
		if o.Void {
			dst[len(dst)-1] = voidWinners
		}
		dst = binary.AppendUvarint(dst, uint64(o.FirstPly))
		dst = binary.AppendUvarint(dst, uint64(o.LastPly))
	}
	return dst
}

// voidWinners stands for the winners of a game that counts for nothing.
const voidWinners = 255

// Fingerprint returns the SHA-256 of the binary form: equal for equal states of
// one ruleset, and different for different ones.
func (g *Game) Fingerprint(s *State) [32]byte { return sha256.Sum256(g.AppendBinary(nil, s)) }

// DecodeBinary reads what AppendBinary wrote under the same rules. The error is
// ErrVersion, ErrBinary or a *TextError; bytes with a second spelling are refused.
func (g *Game) DecodeBinary(b []byte) (State, error) {
	if len(b) > 0 && b[0] != binaryVersion {
		return State{}, ErrVersion
	}
	r := reader{b: b}
	s := newState()
	r.byte()
	for stop := range rules.Square(g.board.stops) {
		r.piece(g, &s, stop)
	}
	s.turn, s.out = rules.Seat(r.byte()&3), rules.SeatSet(r.byte())
	s.ply, s.idle = r.number(), r.number()
	for seat := range g.Seats() {
		s.turns[seat], s.captures[seat] = r.number(), r.byte()
	}
	if g.flip {
		r.colours(&s)
	}
	if g.carries {
		for i := range s.carried {
			s.carried[i] = carry{rules.Square(r.byte()), rules.Square(r.byte())}
		}
	}
	if reason := rules.EndReason(r.byte()); reason != rules.EndNone {
		s.outcome = r.outcome(reason)
	}
	if r.failed || len(r.b) != 0 {
		return State{}, ErrBinary
	}
	if err := g.validate(&s); err != nil {
		return State{}, err
	}
	if !bytes.Equal(g.AppendBinary(nil, &s), b) {
		return State{}, ErrBinary
	}
	return s, nil
}

// reader takes a binary state apart; after a failure it reads zeros.
type reader struct {
	b      []byte
	failed bool
}

func (r *reader) byte() byte {
	if len(r.b) == 0 {
		r.failed = true
	}
	if r.failed {
		return 0
	}
	first := r.b[0]
	r.b = r.b[1:]
	return first
}

func (r *reader) number() int32 {
	n, size := binary.Uvarint(r.b)
	if size <= 0 || n > maxNumber {
		r.failed = true
	}
	if r.failed {
		return 0
	}
	r.b = r.b[size:]
	return int32(n)
}

func (r *reader) piece(g *Game, s *State, stop rules.Square) {
	p, origin := rules.Piece(r.byte()), stop
	if p == rules.NoPiece || r.failed {
		return
	}
	if p != FaceDown && p&rankMask == moved {
		p, origin = p|hidden, rules.Square(r.byte())
		r.failed = r.failed || origin == stop
	}
	if p != FaceDown && !(isHidden(p) || known(p)) || int(p>>sideShift) >= g.Seats() {
		r.failed = true
		return
	}
	if !isHidden(p) {
		origin = 0
	}
	s.put(stop, p, origin)
}

func (r *reader) colours(s *State) {
	bottom, first, second := r.byte(), r.byte(), r.byte()
	r.failed = r.failed || bottom > 2 || first > 2 || second > 2
	s.bottom, s.latest = rules.Seat(bottom)-1, [2]Side{Side(first) - 1, Side(second) - 1}
	for side := range s.captured {
		for rank := Engineer; rank <= Flag; rank += 2 {
			two := r.byte()
			s.captured[side][rank], s.captured[side][rank+1] = two&15, two>>4
		}
	}
}

func (r *reader) outcome(reason rules.EndReason) rules.Outcome {
	o := rules.Outcome{Reason: reason, Winners: rules.SeatSet(r.byte())}
	if o.Winners == voidWinners {
		o.Winners, o.Void = 0, true
	}
	o.FirstPly, o.LastPly = int(r.number()), int(r.number())
	return o
}
