package check

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// reader reads an event's detail in the form that internal/README.md documents. After
// the first fault it reads nothing more.
type reader struct {
	left  []byte
	wrong bool
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.left) {
		r.wrong, r.left = true, nil
		return make([]byte, max(min(n, 64), 0))
	}
	taken := r.left[:n]
	r.left = r.left[n:]
	return taken
}

func (r *reader) octet() int { return int(r.take(1)[0]) }

func (r *reader) number() int {
	value, n := binary.Uvarint(r.left)
	r.take(max(n, 1))
	return int(value & 0xffffffff)
}

func (r *reader) text() []byte { return r.take(r.number()) }

// many reads a list.
func (r *reader) many(read func()) {
	for range min(r.number(), len(r.left)) {
		read()
	}
}

// opening opens the commitment to a seat's placement; attempt 0 is of a seat that
// had placed nothing.
type opening struct {
	attempt int
	salt    []byte
	text    string
}

// ending is the part of an ending's detail that concerns army chess.
type ending struct {
	reason, winners int
	void            bool
	openings        []opening // by seat
}

func (e *Row) ending() (end ending, sound bool) {
	r := &reader{left: e.Detail}
	end.reason, end.winners, end.void = r.octet(), r.octet(), r.octet() == 1
	r.number() // plies that prove it
	r.number()
	r.many(func() { r.number() }) // captures
	r.take(1 + 32 + 32)           // who left, seed, next commitment
	if len(r.left) > 0 {
		r.many(func() { end.openings = append(end.openings, opening{r.number(), r.take(32), string(r.text())}) })
	}
	return end, !r.wrong && len(r.left) == 0
}

// submitted is the detail of a placement: its attempt and its commitment.
func (e *Row) submitted() (attempt int, commitment []byte, sound bool) {
	r := &reader{left: e.Detail}
	attempt, commitment = r.number(), r.take(32)
	return attempt, commitment, !r.wrong && len(r.left) == 0
}

// playerSeeds are those in the detail of a game's start.
func (e *Row) playerSeeds() (seeds [][]byte) {
	r := &reader{left: e.Detail}
	r.many(func() { r.number() }) // balances
	r.many(func() { r.text() })   // holds
	r.many(func() { seeds = append(seeds, r.text()) })
	return seeds
}

// first is the seat that moves first, from the detail of a game's start.
func (e *Row) first() int {
	r := &reader{left: e.Detail}
	r.many(func() { r.number() }) // balances
	r.many(func() { r.text() })   // holds
	r.many(func() { r.text() })   // seeds
	r.take(32)                    // root
	return r.number() / 2         // zigzag
}

// disclosure is what became public by a change of a board.
type disclosure struct {
	reason         int // of a seat that is out
	verdict, shown int
	flag           bool
	flags          [4]int // the stop of each side's flag that is told, or noStop
	stuck          int
}

const noStop = -1

var nothingDisclosed = disclosure{flags: [4]int{noStop, noStop, noStop, noStop}}

func (e *Row) disclosure() (d disclosure, sound bool) {
	d = nothingDisclosed
	if len(e.Detail) == 0 {
		return d, true
	}
	r := &reader{left: e.Detail}
	version := r.octet()
	d.reason, d.verdict, d.shown, d.flag = r.octet(), r.octet(), r.octet(), r.octet() == 1
	fallen := r.octet()
	for side := range d.flags {
		if fallen>>side&1 == 1 {
			d.flags[side] = r.octet()
		}
	}
	d.stuck = r.octet()
	return d, version == 1 && !r.wrong && len(r.left) == 0
}

// armyStored writes what an event tells of army chess, as armyTold of the players
// does from what they received.
func armyStored(b *armyBoard, e *Row) string {
	var words []string
	add := func(format string, arguments ...any) { words = append(words, fmt.Sprintf(format, arguments...)) }
	switch e.Kind {
	case kindPlacementSubmitted:
		attempt, commitment, _ := e.submitted()
		add("attempt %d committed to by %x", attempt, commitment)
	case kindGameEnded:
		end, _ := e.ending()
		for seat, o := range end.openings {
			if o.attempt > 0 {
				add("attempt %d of seat %d is %s with %x", o.attempt, seat, o.text, o.salt)
			}
		}
	case kindPly, kindServerPly, kindTurnPassed, kindSeatOut, kindSeatLeft:
		d, _ := e.disclosure()
		if e.Kind == kindSeatOut {
			add("out for %d", d.reason)
		}
		d.reason = 0
		if d == nothingDisclosed {
			break
		}
		add("verdict %d, shown %q, flag %t", d.verdict, b.piece(d.shown), d.flag)
		for seat, stop := range d.flags {
			if stop != noStop {
				add("flag of seat %d on %s", seat, b.name(stop))
			}
		}
		if d.stuck != 0 {
			add("stuck %v", seatsIn(d.stuck))
		}
	}
	return strings.Join(words, "; ")
}

func seatsIn(set int) (seats []int) {
	for seat := range 4 {
		if set>>seat&1 == 1 {
			seats = append(seats, seat)
		}
	}
	return seats
}

// toldOfArmy checks that what was told of an event is what is stored.
func (c *checker) toldOfArmy(m *Match, promise string, e Event, stored *Row) {
	if want := armyStored(m.board(), stored); e.Army != want {
		c.broken(promise, m.ID, "event %d of game %d was told with %q, and is stored with %q", e.Seq, e.Game, e.Army, want)
	}
}
