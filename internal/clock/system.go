package clock

import "referee.example/internal/rules"

// The values of System.BankUse, System.OnExpiry and System.ExpiryBooks.
const (
	BankAutomatic = "automatic" // drawn on when turn time and extensions are spent
	BankManual    = "manual"    // only what the player called for

	ExpiryLoses       = "lose"
	ExpiryServerPlays = "server_plays"

	BookExpiry     = "expiry"
	BookYellowCard = "yellow_card"
)

// The largest values of a System.
const (
	MaxPartMS     = 30 * 24 * 3600 * 1000  // any one part: 30 days
	MaxMainMS     = 365 * 24 * 3600 * 1000 // what increments may raise main time to: 365 days
	MaxExtensions = 1000
	MaxBooked     = 1000
)

// System is the clock part of a ruleset (dark chess rules, section 5). Times
// are milliseconds; a part that is zero is off. The package comment says how
// parts combine.
type System struct {
	TurnMS      int64 `json:"turn_ms,omitempty"`
	Extensions  int   `json:"extensions,omitempty"` // a seat and game
	ExtensionMS int64 `json:"extension_ms,omitempty"`
	BankMS      int64 `json:"bank_ms,omitempty"` // a seat and game
	// BankUse is BankAutomatic or BankManual, "" without a bank.
	BankUse string `json:"bank_use,omitempty"`
	// MainMS is for all turns of a seat in a game: sudden death without
	// IncrementMS, Fischer with it.
	MainMS      int64 `json:"main_ms,omitempty"`
	IncrementMS int64 `json:"increment_ms,omitempty"`
	// UntimedOpening lets no clock run until the arbiter's call.
	UntimedOpening bool  `json:"untimed_opening,omitempty"`
	WarningMS      int64 `json:"warning_ms,omitempty"` // before the deadline
	// OnExpiry is what the expiry of a turn time does, ExpiryLoses or
	// ExpiryServerPlays. Main time exhausted always loses.
	OnExpiry string `json:"on_expiry,omitempty"`
	// ExpiryBooks is what is booked when the server plays: BookExpiry,
	// BookYellowCard or "" for nothing.
	ExpiryBooks string `json:"expiry_books,omitempty"`
	// BookedToLose is the booking that loses the game, and for which nothing is
	// played any more; 0 if none does.
	BookedToLose int `json:"booked_to_lose,omitempty"`
	// PlacementMS is for all seats together to place their pieces, from the game's
	// start on, in games that begin so; 0 if they take as long as they like. A side
	// that has not placed by then has lost by time; where neither has, the game is
	// void. It comes before the clocks of the seats, and of their stores it takes
	// nothing.
	PlacementMS int64 `json:"placement_ms,omitempty"`
}

// None reports whether the ruleset has no clock at all.
func (s System) None() bool { return s.TurnMS == 0 && s.MainMS == 0 }

// Validate returns what is impossible or contradictory in the system, field by
// field in the order of the fields; nothing if it can be played.
func (s System) Validate() []rules.FieldError {
	var v validation
	v.ms("turn_ms", s.TurnMS)
	s.validateExtensions(&v)
	s.validateBank(&v)
	s.validateMain(&v)
	v.Refuse(s.UntimedOpening && s.None(), "untimed_opening", "needs a clock that the arbiter's call can start")
	s.validateWarning(&v)
	s.validateExpiry(&v)
	v.ms("placement_ms", s.PlacementMS)
	return v.Validation
}

func (s System) validateExtensions(v *validation) {
	v.count("extensions", s.Extensions, MaxExtensions)
	v.Refuse(s.Extensions > 0 && s.TurnMS == 0, "extensions", "needs turn_ms, which extensions prolong")
	v.Refuse(s.Extensions > 0 && s.ExtensionMS == 0, "extensions", "needs extension_ms")
	v.ms("extension_ms", s.ExtensionMS)
	v.Refuse(s.ExtensionMS > 0 && s.Extensions == 0, "extension_ms", "needs extensions")
}

func (s System) validateBank(v *validation) {
	v.ms("bank_ms", s.BankMS)
	v.Refuse(s.BankMS > 0 && s.TurnMS == 0, "bank_ms", "needs turn_ms, which the bank prolongs")
	v.Refuse(s.BankMS > 0 && s.BankUse == "", "bank_ms", "needs bank_use")
	switch s.BankUse {
	case "":
	case BankAutomatic, BankManual:
		v.Refuse(s.BankMS == 0, "bank_use", "needs bank_ms")
	default:
		v.Refuse(true, "bank_use", "is automatic or manual")
	}
}

func (s System) validateMain(v *validation) {
	v.ms("main_ms", s.MainMS)
	v.ms("increment_ms", s.IncrementMS)
	v.Refuse(s.IncrementMS > 0 && s.MainMS == 0, "increment_ms", "needs main_ms, to which it is added")
}

func (s System) validateWarning(v *validation) {
	v.ms("warning_ms", s.WarningMS)
	if s.WarningMS <= 0 {
		return
	}
	v.Refuse(s.None(), "warning_ms", "needs a clock")
	v.Refuse(s.TurnMS > 0 && s.WarningMS >= s.TurnMS, "warning_ms", "is shorter than turn_ms")
	v.Refuse(s.MainMS > 0 && s.WarningMS >= s.MainMS, "warning_ms", "is shorter than main_ms")
}

func (s System) validateExpiry(v *validation) {
	switch s.OnExpiry {
	case "":
		v.Refuse(s.TurnMS > 0, "on_expiry", "is lose or server_plays where there is turn_ms")
	case ExpiryLoses:
		v.Refuse(s.None(), "on_expiry", "needs a clock")
	case ExpiryServerPlays:
		v.Refuse(s.TurnMS == 0, "on_expiry", "needs turn_ms for server_plays: main time exhausted always loses")
	default:
		v.Refuse(true, "on_expiry", "is lose or server_plays")
	}
	switch s.ExpiryBooks {
	case "":
	case BookExpiry, BookYellowCard:
		v.Refuse(s.OnExpiry != ExpiryServerPlays, "expiry_books", "needs on_expiry server_plays")
	default:
		v.Refuse(true, "expiry_books", "is expiry or yellow_card")
	}
	v.count("booked_to_lose", s.BookedToLose, MaxBooked)
	v.Refuse(s.BookedToLose == 1, "booked_to_lose", "is at least 2: for the first expiry to lose, on_expiry is lose")
	v.Refuse(s.BookedToLose > 0 && s.ExpiryBooks == "", "booked_to_lose", "needs expiry_books")
}

// validation knows the two kinds of numbers that a clock has.
type validation struct{ rules.Validation }

func (v *validation) ms(field string, value int64) {
	v.Refuse(value < 0 || value > MaxPartMS, field, "is 0 to %d milliseconds", MaxPartMS)
}

func (v *validation) count(field string, value, limit int) {
	v.Refuse(value < 0 || value > limit, field, "is 0 to %d", limit)
}
