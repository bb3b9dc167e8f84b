// Package clock is the arithmetic of thinking time: which parts a house
// combines, when a turn expires, what an ended turn cost and what an expiry
// does. It reads no clock; every instant comes in as an argument, so the same
// instants always give the same record, whoever asks and however late.
//
// # A turn
//
// The deadline belongs to the turn, and the steps of a chain share it (dark
// chess rules, section 5). When the turn time runs out the stores follow in
// this order, which no house fixes and which is therefore ours:
//
//  1. the turn time, fresh each turn;
//  2. the extensions still left, one after the other, each spent whole as soon
//     as a microsecond of it is needed;
//  3. the time bank, charged exactly: all of it where its use is automatic,
//     only what the player called for in this turn where it is manual. What
//     was called and not needed goes back.
//
// Extensions come before the bank so that a call in the middle of one can
// never undo an extension already taken.
//
// Main time runs beside all of these from the turn's first microsecond and
// caps them: neither turn time nor a store prolongs an exhausted main time,
// which always loses. The turn expires at the earlier of the two instants; if
// they fall together, the main time is what ran out.
//
// An increment is earned by ending a turn in time, once a turn: a chain is one
// turn and earns one increment, else its own steps would move the deadline
// that they share. A turn that expires, or that a game's end cuts short, earns
// none.
//
// An action counts if it arrives at the deadline or before it.
package clock

import "referee.example/internal/rules"

// Time is an instant of the database's clock in microseconds since
// 1970-01-01 UTC. Instants given to this package lie from then to the year 9999.
type Time int64

// Grace is how long after a deadline, in microseconds, a timely action may
// still commit and nobody may act on the expiry (dark chess rules, section 5).
const Grace = 250_000

const maxTime Time = 253_402_300_799_999_999 // 9999-12-31 23:59:59.999999 UTC

// Store is what is left to one seat at the start of its running turn, or else
// at the end of its last one. Fields ending in US are whole microseconds.
type Store struct {
	MainUS         int64
	BankUS         int64 // includes what is called
	CalledUS       int64 // the part of the bank that a manual call opened to the running turn
	ExtensionsLeft int
	Expiries       int // booked in this game
	Cards          int // yellow cards booked in this game
}

// Clock is the state of one game's clocks. It is a plain comparable value; the
// ruleset's System stays outside and must be the same in every call.
type Clock struct {
	Stores [rules.MaxSeats]Store // those from Seats on are zero
	Seats  int
	// Running is the seat whose turn is timed, rules.NoSeat while all stand.
	Running rules.Seat
	// TurnStart is when the running turn began, or the arbiter's call if the
	// untimed opening ended during it. 0 while all stand.
	TurnStart Time
	// PausedUS is how many microseconds of the running turn do not count,
	// because no replica was alive; PausedUntil is the end of the latest such
	// outage, so that one that is reported twice counts once.
	PausedUS    int64
	PausedUntil Time
	// Opening is set until the arbiter's call ends an untimed opening.
	Opening bool
}

// Start returns the clocks of a new game for seats 0 to seats-1, full and
// standing. The number of seats is 1 to rules.MaxSeats.
func (s System) Start(seats int) Clock {
	c := Clock{Seats: seats, Running: rules.NoSeat, Opening: s.UntimedOpening}
	for seat := range seats {
		c.Stores[seat] = Store{
			MainUS:         s.MainMS * 1000,
			BankUS:         s.BankMS * 1000,
			ExtensionsLeft: s.Extensions,
		}
	}
	return c
}

// StartTurn starts the turn of seat at the instant of the event that gave it
// the turn. The turn before must have been ended.
func (c *Clock) StartTurn(seat rules.Seat, at Time) {
	c.Running, c.TurnStart, c.PausedUS, c.PausedUntil = seat, at, 0, 0
}

// EndTurn charges the running turn, which an action at the given instant ended
// in time, adds the increment and lets the clocks stand. In an untimed opening
// nothing is charged and nothing earned.
func (c *Clock) EndTurn(s System, at Time) {
	seat, timed := c.Running, !c.Opening
	c.Stop(s, at)
	if seat != rules.NoSeat && timed {
		store := &c.Stores[seat]
		store.MainUS = min(store.MainUS+s.IncrementMS*1000, MaxMainMS*1000)
	}
}

// Stop charges the running turn up to the given instant and lets the clocks
// stand without an increment: for whatever ends a game in the middle of a
// turn, such as a resignation, an agreement or a void.
func (c *Clock) Stop(s System, at Time) {
	if c.Running == rules.NoSeat {
		return
	}
	if !c.Opening {
		c.Stores[c.Running] = s.charge(c.Stores[c.Running], c.elapsed(at))
	}
	c.Stores[c.Running].CalledUS = 0
	c.StartTurn(rules.NoSeat, 0)
}

// EndOpening is the arbiter's call that ends an untimed opening: every clock is
// live from now on, and that of the running turn starts at the call. It is
// refused where the ruleset has no such opening or it has ended before.
func (c *Clock) EndOpening(s System, at Time) Refusal {
	switch {
	case !s.UntimedOpening:
		return Refusal{Reason: "no_untimed_opening", Words: "this ruleset has no untimed opening to end"}
	case !c.Opening:
		return Refusal{Reason: "opening_ended", Words: "the untimed opening has ended already"}
	}
	c.Opening = false
	if c.Running != rules.NoSeat {
		c.StartTurn(c.Running, max(at, c.TurnStart))
	}
	return Refusal{}
}

// Pause gives back to the running turn the time for which it overlaps an
// outage of all replicas, from (inclusive) until (exclusive), and returns it in
// microseconds. A turn that expired before the outage, or at its first instant,
// gets nothing; nor does one whose clock does not run. Outages come in order;
// one that is reported again, or that overlaps one reported before, counts once.
func (c *Clock) Pause(s System, from, until Time) int64 {
	deadline, ok := c.Deadline(s)
	if !ok || deadline <= from {
		return 0
	}
	overlap := int64(until - max(from, c.TurnStart, c.PausedUntil))
	if overlap <= 0 {
		return 0
	}
	c.PausedUS += overlap
	c.PausedUntil = until
	return overlap
}

// Refusal is why a request to the clocks was refused, which then changed
// nothing. The zero value means accepted.
type Refusal struct {
	Reason string // stable, for machines
	Words  string // a sentence for people
	LeftMS int64  // for bank_too_small: the most that may be called
}

// OK reports whether the request was accepted.
func (r Refusal) OK() bool { return r.Reason == "" }

// CallBank opens a portion of the seat's manual time bank to its running turn,
// which prolongs the turn by that much. Further portions add up; what the turn
// does not use goes back to the bank. The call is refused for a ruleset whose
// bank is not manual, in an untimed opening, out of turn, after the deadline,
// and for a portion that is not positive or more than is left.
func (c *Clock) CallBank(s System, seat rules.Seat, portionMS int64, at Time) Refusal {
	if s.BankUse != BankManual {
		return Refusal{Reason: "no_manual_bank", Words: "this ruleset has no time bank to call on"}
	}
	if c.Opening {
		return Refusal{Reason: "untimed_opening", Words: "the opening is untimed: no time can be called yet"}
	}
	if seat == rules.NoSeat || seat != c.Running {
		return Refusal{Reason: "not_your_turn", Words: "time can be called in one's own turn only"}
	}
	if deadline, _ := c.Deadline(s); at > deadline {
		return Refusal{Reason: "turn_expired", Words: "the turn has expired already"}
	}
	store := &c.Stores[seat]
	leftMS := (store.BankUS - store.CalledUS) / 1000
	switch {
	case portionMS <= 0:
		return Refusal{Reason: "portion_not_positive", Words: "a portion of the time bank is at least one millisecond"}
	case portionMS > leftMS:
		return Refusal{Reason: "bank_too_small", Words: "the time bank does not hold that much any more", LeftMS: leftMS}
	}
	store.CalledUS += portionMS * 1000
	return Refusal{}
}
