package clock

import "referee.example/internal/rules"

// Deadline returns the last instant at which an action of the running turn
// counts, all stores that follow by themselves included. It returns false where
// none will come: no turn runs, the opening is untimed or there is no clock.
func (c Clock) Deadline(s System) (Time, bool) {
	if c.Running == rules.NoSeat || c.Opening || s.None() {
		return 0, false
	}
	return c.TurnStart + Time(c.PausedUS+s.budgetUS(c.Stores[c.Running])), true
}

// TurnTimeEnd returns when the plain turn time of the running turn ends and its
// stores begin to be drawn on, or the deadline if main time ends it sooner. It
// returns false where there is no turn time or no deadline. A pause during the
// stores moves it too: now minus this instant is always what the turn has drawn.
func (c Clock) TurnTimeEnd(s System) (Time, bool) {
	deadline, ok := c.Deadline(s)
	if !ok || s.TurnMS == 0 {
		return 0, false
	}
	return min(c.TurnStart+Time(c.PausedUS+s.TurnMS*1000), deadline), true
}

// Warning returns the instant, WarningMS before the deadline, at which the
// player of the running turn is warned; the turn's start if less than that is
// left to it. It returns false where the ruleset warns of nothing.
func (c Clock) Warning(s System) (Time, bool) {
	deadline, ok := c.Deadline(s)
	if !ok || s.WarningMS == 0 {
		return 0, false
	}
	return max(c.TurnStart, deadline-Time(s.WarningMS*1000)), true
}

// Expiry is what the expiry of a turn does. The zero value is no expiry.
type Expiry struct {
	At          Time   // its own instant: the deadline
	Lost        bool   // the seat loses the game, and nothing is played
	ServerPlays bool   // the server plays for the seat
	Booked      string // BookExpiry, BookYellowCard, or "" for nothing
}

// Expire lets the running turn expire at its deadline: it charges all that
// followed by itself, books what the ruleset books and lets the clocks stand.
// The next turn starts at the expiry's instant. The caller has made sure that
// the deadline has passed; where there is none, nothing happens.
func (c *Clock) Expire(s System) Expiry {
	seat := c.Running
	expiry, ok := c.expire(s)
	if !ok || expiry.Lost {
		return expiry
	}
	if s.OnExpiry != ExpiryServerPlays {
		expiry.Lost = true
		return expiry
	}
	expiry.Booked = s.ExpiryBooks
	expiry.Lost = c.Stores[seat].book(s)
	expiry.ServerPlays = !expiry.Lost
	return expiry
}

// ExpireChain is Expire for a turn that has captured already and may go on
// capturing: the expiry ends the chain and costs nothing more, whatever the
// ruleset does to other turns (dark chess rules, section 5). Nothing is lost,
// played or booked, for the player did act in time; but main time exhausted is
// lost here as anywhere.
func (c *Clock) ExpireChain(s System) Expiry {
	expiry, _ := c.expire(s)
	return expiry
}

// expire charges the running turn up to its deadline and lets the clocks stand.
// It knows one consequence only: main time exhausted is lost. It returns false
// where no deadline comes.
func (c *Clock) expire(s System) (Expiry, bool) {
	deadline, ok := c.Deadline(s)
	if !ok {
		return Expiry{}, false
	}
	seat := c.Running
	c.Stop(s, deadline)
	return Expiry{At: deadline, Lost: s.MainMS > 0 && c.Stores[seat].MainUS == 0}, true
}

// book counts one expired turn and reports whether it is one too many.
func (st *Store) book(s System) bool {
	var count int
	switch s.ExpiryBooks {
	case BookExpiry:
		st.Expiries++
		count = st.Expiries
	case BookYellowCard:
		st.Cards++
		count = st.Cards
	}
	return s.BookedToLose > 0 && count >= s.BookedToLose
}

// elapsed returns the microseconds of the running turn that count up to at.
func (c Clock) elapsed(at Time) int64 {
	return max(0, int64(at-c.TurnStart)-c.PausedUS)
}

// budgetUS returns how long a turn may take with the given store.
func (s System) budgetUS(st Store) int64 {
	if s.TurnMS == 0 {
		return st.MainUS
	}
	turnUS := s.TurnMS*1000 + int64(st.ExtensionsLeft)*s.ExtensionMS*1000 + s.openBankUS(st)
	if s.MainMS == 0 {
		return turnUS
	}
	return min(turnUS, st.MainUS)
}

// openBankUS returns how much of the bank the running turn may draw.
func (s System) openBankUS(st Store) int64 {
	if s.BankUse == BankManual {
		return st.CalledUS
	}
	return st.BankUS
}

// charge returns what is left after a turn of usedUS microseconds. It never
// takes more than there is.
func (s System) charge(st Store, usedUS int64) Store {
	if s.MainMS > 0 {
		st.MainUS -= min(usedUS, st.MainUS)
	}
	overUS := usedUS - s.TurnMS*1000
	if overUS <= 0 {
		return st
	}
	if extensionUS := s.ExtensionMS * 1000; extensionUS > 0 {
		begun := min((overUS-1)/extensionUS+1, int64(st.ExtensionsLeft))
		st.ExtensionsLeft -= int(begun)
		overUS = max(0, overUS-begun*extensionUS)
	}
	st.BankUS -= min(overUS, s.openBankUS(st))
	return st
}
