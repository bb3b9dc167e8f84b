package clock

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"referee.example/internal/rules"
)

// ErrMalformed is wrapped by every error of the decoders. Each state has exactly
// one encoding; bytes that are none of these are malformed.
var ErrMalformed = errors.New("malformed clock")

func malformed(what string) error { return fmt.Errorf("%w: %s", ErrMalformed, what) }

// encodingVersion begins each encoded Clock. A change of the encoding takes the
// next number and keeps decoding this one: records live for years.
const encodingVersion = 1

const openingFlag = 1 << 7 // in the byte whose low bits are the running seat + 1

// AppendBinary appends the clock's encoding: version, a byte for opening and
// running seat, if a turn runs its start, paused time and end of pause, then
// the stores as AppendStores writes them. Numbers are unsigned varints.
func (c Clock) AppendBinary(dst []byte) []byte {
	state := byte(c.Running + 1)
	if c.Opening {
		state |= openingFlag
	}
	dst = append(dst, encodingVersion, state)
	if c.Running != rules.NoSeat {
		dst = binary.AppendUvarint(dst, uint64(c.TurnStart))
		dst = binary.AppendUvarint(dst, uint64(c.PausedUS))
		dst = binary.AppendUvarint(dst, uint64(c.PausedUntil))
	}
	return c.AppendStores(dst)
}

// DecodeBinary decodes what AppendBinary wrote at the start of b and returns
// the bytes after it. Its errors wrap ErrMalformed.
func DecodeBinary(b []byte) (Clock, []byte, error) {
	if len(b) < 2 {
		return Clock{}, nil, malformed("too short")
	}
	if b[0] != encodingVersion {
		return Clock{}, nil, malformed(fmt.Sprintf("unknown version %d", b[0]))
	}
	running := int(b[1]&^openingFlag) - 1
	c := Clock{Running: rules.NoSeat, Opening: b[1]&openingFlag != 0}
	d := decoder{rest: b[2:]}
	if running >= 0 {
		c.Running = rules.Seat(running) // below Seats, or refused in the end
		c.TurnStart = Time(d.number(int64(maxTime)))
		c.PausedUS = d.number(int64(maxTime))
		c.PausedUntil = Time(d.number(int64(maxTime)))
	}
	c.Stores, c.Seats = d.stores()
	if d.err == nil && running >= c.Seats {
		d.fail("the running seat is not at the table")
	}
	if d.err == nil && !c.pausedSoundly() {
		d.fail("the paused time is not within the turn")
	}
	if d.err != nil {
		return Clock{}, nil, d.err
	}
	return c, d.rest, nil
}

// pausedSoundly reports whether the paused time lies between the turn's start
// and the end of the latest pause.
func (c Clock) pausedSoundly() bool {
	if c.PausedUntil == 0 {
		return c.PausedUS == 0
	}
	return c.PausedUS > 0 && c.PausedUS <= int64(c.PausedUntil-c.TurnStart)
}

// AppendStores appends what is left to all seats, the clocks after an event:
// the number of seats, then for each a byte telling which fields are not zero,
// in the order of Store, and these as unsigned varints.
func (c Clock) AppendStores(dst []byte) []byte {
	dst = append(dst, byte(c.Seats))
	for _, store := range c.Stores[:c.Seats] {
		mask := len(dst)
		dst = append(dst, 0)
		for i, value := range store.numbers() {
			if value != 0 {
				dst[mask] |= 1 << i
				dst = binary.AppendUvarint(dst, uint64(value))
			}
		}
	}
	return dst
}

// DecodeStores decodes what AppendStores wrote at the start of b. It returns
// the stores, how many seats they are for and the bytes after them. Its errors
// wrap ErrMalformed.
func DecodeStores(b []byte) (stores [rules.MaxSeats]Store, seats int, rest []byte, err error) {
	d := decoder{rest: b}
	stores, seats = d.stores()
	if d.err != nil {
		return [rules.MaxSeats]Store{}, 0, nil, d.err
	}
	return stores, seats, d.rest, nil
}

// numbers returns the fields in the order of their encoding.
func (st Store) numbers() [6]int64 {
	return [6]int64{st.MainUS, st.BankUS, st.CalledUS, int64(st.ExtensionsLeft), int64(st.Expiries), int64(st.Cards)}
}

// storeLimits are the largest values of the fields, in the order of numbers.
var storeLimits = [6]int64{
	MaxMainMS * 1000, MaxPartMS * 1000, MaxPartMS * 1000, MaxExtensions, math.MaxInt32, math.MaxInt32,
}

// decoder reads from the front of rest until its first error.
type decoder struct {
	rest []byte
	err  error
}

func (d *decoder) fail(what string) {
	if d.err == nil {
		d.err = malformed(what)
	}
}

func (d *decoder) byte() byte {
	if d.err != nil || len(d.rest) == 0 {
		d.fail("too short")
		return 0
	}
	b := d.rest[0]
	d.rest = d.rest[1:]
	return b
}

// number reads a varint of 0 to limit, in its shortest form.
func (d *decoder) number(limit int64) int64 {
	value, n := binary.Uvarint(d.rest)
	switch {
	case d.err != nil:
		return 0
	case n <= 0:
		d.fail("not a number")
		return 0
	case n > 1 && d.rest[n-1] == 0:
		d.fail("a number is not in its shortest form")
		return 0
	case value > uint64(limit):
		d.fail("a number is out of its range")
		return 0
	}
	d.rest = d.rest[n:]
	return int64(value)
}

func (d *decoder) stores() (stores [rules.MaxSeats]Store, seats int) {
	seats = int(d.byte())
	if d.err == nil && (seats < 1 || seats > rules.MaxSeats) {
		d.fail("the number of seats is 1 to 4")
	}
	for i := 0; i < seats && d.err == nil; i++ {
		stores[i] = d.store()
	}
	return stores, seats
}

func (d *decoder) store() Store {
	mask := d.byte()
	var n [6]int64
	if mask>>len(n) != 0 {
		d.fail("a store has fields that are not known")
	}
	for i := range n {
		if mask&(1<<i) == 0 {
			continue
		}
		if n[i] = d.number(storeLimits[i]); n[i] == 0 {
			d.fail("a field that is zero is left out")
		}
	}
	if n[2] > n[1] {
		d.fail("more was called than the bank holds")
	}
	return Store{MainUS: n[0], BankUS: n[1], CalledUS: n[2], ExtensionsLeft: int(n[3]), Expiries: int(n[4]), Cards: int(n[5])}
}
