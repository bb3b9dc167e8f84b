package clock

import "referee.example/internal/rules"

// Reading is one seat's clock as a view shows it. It tells what the seat had at
// the start of its running turn, or has after its last one, never what is left
// "now": whoever shows it knows the time, the turn's start and its deadline, so
// equal states read equally. Milliseconds are rounded down.
type Reading struct {
	Seat           rules.Seat `json:"seat"`
	Running        bool       `json:"running"`
	MainMS         int64      `json:"main_ms"`
	BankMS         int64      `json:"bank_ms"`   // includes what is called
	CalledMS       int64      `json:"called_ms"` // for the running turn
	ExtensionsLeft int        `json:"extensions_left"`
	Expiries       int        `json:"expiries"`
	Cards          int        `json:"cards"`
}

// Readings returns the reading of each seat, in order of seats. A seat in an
// untimed opening is not running yet.
func (c Clock) Readings(s System) []Reading {
	_, timed := c.Deadline(s)
	readings := make([]Reading, c.Seats)
	for i := range readings {
		store, seat := c.Stores[i], rules.Seat(i)
		readings[i] = Reading{
			Seat:           seat,
			Running:        timed && seat == c.Running,
			MainMS:         store.MainUS / 1000,
			BankMS:         store.BankUS / 1000,
			CalledMS:       store.CalledUS / 1000,
			ExtensionsLeft: store.ExtensionsLeft,
			Expiries:       store.Expiries,
			Cards:          store.Cards,
		}
	}
	return readings
}
