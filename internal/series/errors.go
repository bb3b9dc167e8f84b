package series

import (
	"errors"
	"fmt"
)

// Refusals of results that no game of this match can have. They are answers to
// a caller's mistake, never to a player's: nothing is settled.
var (
	// ErrSides refuses sides that are not two, disjoint and of one size.
	ErrSides = errors.New("sides are not two equal parts of the table")
	// ErrOutcome refuses an outcome that cannot be settled: a game that goes
	// on, winners that are no side, a void game somebody won.
	ErrOutcome = errors.New("outcome cannot be settled")
	// ErrCaptures refuses capture counts below 0 or together above MaxCaptures.
	ErrCaptures = errors.New("capture count out of range")
	// ErrLine refuses a settlement line that moves nothing, moves points within
	// one account, names an unknown account or purpose, or overflows a balance.
	ErrLine = errors.New("settlement line cannot be booked")
)

// FieldError says which field of a ruleset or of a match's terms is refused.
type FieldError struct {
	Field  string // snake_case, as in the ruleset or the request
	Reason string // a phrase that completes "field ..."
}

// Error returns the field and the reason.
func (e FieldError) Error() string { return e.Field + " " + e.Reason }

// ShortfallError refuses a game to a player who holds less than the minimum.
type ShortfallError struct {
	Minimum, Balance, Missing int64 // points; Missing = Minimum - Balance > 0
}

// Error states all three numbers, so that a platform can tell its player.
func (e ShortfallError) Error() string {
	return fmt.Sprintf("balance %d is %d short of the minimum %d", e.Balance, e.Missing, e.Minimum)
}
