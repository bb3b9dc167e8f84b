package series

import (
	"fmt"
	"math"
)

// Limits of the stakes part of a ruleset.
const (
	MaxMultiple = 1000 // any multiple of the stake
	MaxCaptures = 100  // captures of a game: each piece of the largest board once
)

// Stakes is the stakes part of a ruleset, in multiples of the stake (注金) that
// a match sets. The zero value is a ruleset played for nothing: its matches
// have stake 0 and no charges, and their settlements no lines.
type Stakes struct {
	// EntryMultiple is what each player must hold to enter a match,
	// NextMultiple what before each further game. Both are at least
	// LossMultiple, so that a loser holds what the game costs.
	EntryMultiple int64 `json:"entry_multiple"`
	NextMultiple  int64 `json:"next_multiple"`
	// LossMultiple is what the loser pays, ReducedMultiple what he pays
	// having captured ReducedFromCaptures pieces or more. ReducedFromCaptures
	// 0 never reduces; ReducedMultiple is then 0 too.
	LossMultiple        int64 `json:"loss_multiple"`
	ReducedMultiple     int64 `json:"reduced_multiple"`
	ReducedFromCaptures int   `json:"reduced_from_captures"`
	// FeeDoubles doubles the house fee (公點) of a game that pays LossMultiple.
	FeeDoubles bool `json:"fee_doubles"`
}

// Charges is what the house takes, in points, set at the match; 0 is none.
type Charges struct {
	Fee      int64 `json:"fee"`       // from each winning seat, a game
	SceneFee int64 `json:"scene_fee"` // from each winning seat, a game, never doubled
	// DisconnectionPenalty is due from a seat whose disconnection lost it the
	// game, to the house, besides the stake.
	DisconnectionPenalty int64 `json:"disconnection_penalty"`
}

// Validate returns every field that no match could be played by.
func (s Stakes) Validate() []FieldError {
	if s.off() {
		return nil
	}
	var errs []FieldError
	refuse := func(field, reason string) { errs = append(errs, FieldError{field, reason}) }
	if s.LossMultiple < 1 || s.LossMultiple > MaxMultiple {
		refuse("loss_multiple", fmt.Sprintf("must be from 1 to %d", MaxMultiple))
	}
	for _, minimum := range []struct {
		field    string
		multiple int64
	}{{"entry_multiple", s.EntryMultiple}, {"next_multiple", s.NextMultiple}} {
		switch {
		case minimum.multiple < 1 || minimum.multiple > MaxMultiple:
			refuse(minimum.field, fmt.Sprintf("must be from 1 to %d", MaxMultiple))
		case minimum.multiple < s.LossMultiple:
			refuse(minimum.field, "must not be below loss_multiple: a loser could not pay")
		}
	}
	switch {
	case s.ReducedFromCaptures < 0 || s.ReducedFromCaptures > MaxCaptures:
		refuse("reduced_from_captures", fmt.Sprintf("must be from 0 to %d", MaxCaptures))
	case s.ReducedFromCaptures == 0 && s.ReducedMultiple != 0:
		refuse("reduced_multiple", "must be 0 where reduced_from_captures is 0")
	case s.ReducedFromCaptures > 0 && (s.ReducedMultiple < 1 || s.ReducedMultiple >= s.LossMultiple):
		refuse("reduced_multiple", "must be at least 1 and below loss_multiple")
	}
	return errs
}

// off reports whether the ruleset is played for nothing.
func (s Stakes) off() bool { return s == Stakes{} }

// multiple returns what a loser with so many captures pays.
func (s Stakes) multiple(captures int) int64 {
	if s.ReducedFromCaptures > 0 && captures >= s.ReducedFromCaptures {
		return s.ReducedMultiple
	}
	return s.LossMultiple
}

// multiples returns all that a game can pay, the highest first.
func (s Stakes) multiples() []int64 {
	switch {
	case s.off():
		return nil
	case s.ReducedFromCaptures == 0:
		return []int64{s.LossMultiple}
	}
	return []int64{s.LossMultiple, s.ReducedMultiple}
}

// feeTimes returns how often the house fee is due in a game that pays multiple.
func (s Stakes) feeTimes(multiple int64) int64 {
	if s.FeeDoubles && multiple == s.LossMultiple {
		return 2
	}
	return 1
}

// Check refuses, with a FieldError, terms on which no match may be created:
//   - an invalid ruleset, or a table of other than 2 or 4 seats;
//   - a stake below 1, or a charge below 0;
//   - fees above what a win pays, since winning must never cost points;
//   - a minimum to hold, or the sum of all lines that the match's valid games
//     can book, above 64 bits. Every balance drawn from those lines then fits.
//
// Under stakes that are off, anything but 0 is refused.
func (s Stakes) Check(stake int64, c Charges, seats int, r Rules) error {
	if errs := r.Validate(); len(errs) > 0 {
		return errs[0]
	}
	return s.check(stake, c, seats, r.ValidGames)
}

// check is Check for a number of valid games that is known to be sound.
func (s Stakes) check(stake int64, c Charges, seats, games int) error {
	if errs := s.Validate(); len(errs) > 0 {
		return errs[0]
	}
	if seats != 2 && seats != 4 {
		return FieldError{"seats", "must be 2 or 4"}
	}
	if err := s.checkSigns(stake, c); err != nil || s.off() {
		return err
	}
	for _, first := range []bool{true, false} {
		if _, err := s.Minimum(stake, first); err != nil {
			return err
		}
	}
	if err := s.checkVolume(stake, c, games*seats/2); err != nil {
		return err
	}
	return s.checkFees(stake, c)
}

// checkSigns refuses a stake or a charge that is out of range by itself.
func (s Stakes) checkSigns(stake int64, c Charges) error {
	if err := s.checkStake(stake); err != nil {
		return err
	}
	for _, charge := range c.fields() {
		switch {
		case s.off() && charge.points != 0:
			return FieldError{charge.field, "must be 0: the ruleset is played for nothing"}
		case charge.points < 0:
			return FieldError{charge.field, "must not be negative"}
		}
	}
	return nil
}

// checkStake refuses a stake below 1, or any at all where stakes are off.
func (s Stakes) checkStake(stake int64) error {
	switch {
	case s.off() && stake != 0:
		return FieldError{"stake", "must be 0: the ruleset is played for nothing"}
	case !s.off() && stake < 1:
		return FieldError{"stake", "must be at least 1"}
	}
	return nil
}

// checkVolume refuses terms under which that many pairs of a loser and a
// winner, each paying the most it can, would together move more points than 64
// bits hold. The field named is the one that goes over, the stake first. Minimum
// has shown that LossMultiple times the stake fits.
func (s Stakes) checkVolume(stake int64, c Charges, pairs int) error {
	left := math.MaxInt64 / int64(pairs)
	if s.LossMultiple*stake > left {
		return FieldError{"stake", "would overflow 64 bits in the worst case"}
	}
	left -= s.LossMultiple * stake
	for _, charge := range c.fields() {
		times := int64(1)
		if charge.field == "fee" {
			times = s.feeTimes(s.LossMultiple)
		}
		if charge.points > left/times {
			return FieldError{charge.field, "would overflow 64 bits in the worst case"}
		}
		left -= times * charge.points
	}
	return nil
}

// checkFees refuses fees that would leave a winner with less than before.
// checkVolume has shown that they add up.
func (s Stakes) checkFees(stake int64, c Charges) error {
	for _, multiple := range s.multiples() {
		left := multiple*stake - s.feeTimes(multiple)*c.Fee
		if left < 0 {
			return FieldError{"fee", fmt.Sprintf("must not exceed what a win of %d x the stake pays", multiple)}
		}
		if c.SceneFee > left {
			return FieldError{"scene_fee", fmt.Sprintf("must not exceed, with the fee, what a win of %d x the stake pays", multiple)}
		}
	}
	return nil
}

// namedPoints is an amount and the field that holds it.
type namedPoints struct {
	field  string
	points int64
}

// fields returns the charges under the names that refusals use.
func (c Charges) fields() [3]namedPoints {
	return [3]namedPoints{
		{"fee", c.Fee},
		{"scene_fee", c.SceneFee},
		{"disconnection_penalty", c.DisconnectionPenalty},
	}
}

// Minimum returns the points each player must hold before the first game of a
// match, or before a further one. It refuses, with a FieldError, a stake below 1
// (other than 0 under stakes that are off) and one whose minimum overflows.
func (s Stakes) Minimum(stake int64, first bool) (int64, error) {
	if err := s.checkStake(stake); err != nil {
		return 0, err
	}
	multiple := s.NextMultiple
	if first {
		multiple = s.EntryMultiple
	}
	if multiple > 0 && stake > math.MaxInt64/multiple {
		return 0, FieldError{"stake", "would overflow 64 bits in the minimum to hold"}
	}
	return multiple * stake, nil
}

// CheckBalance refuses, with a ShortfallError, a player who holds less than the
// minimum before the first game of a match or before a further one, and with a
// FieldError a balance below 0 or so near 64 bits that a win would overflow it.
// It stands for the stake alone: fees come out of a win, but a disconnection
// penalty may exceed the balance, so a platform that wants it covered holds the
// worst case that Quote states.
func (s Stakes) CheckBalance(stake int64, first bool, balance int64) error {
	minimum, err := s.Minimum(stake, first)
	if err != nil {
		return err
	}
	switch {
	case balance < 0:
		return FieldError{"balance", "must not be negative"}
	case s.LossMultiple > 0 && stake > (math.MaxInt64-balance)/s.LossMultiple:
		return FieldError{"balance", "would overflow 64 bits with a win"}
	case balance < minimum:
		return ShortfallError{Minimum: minimum, Balance: balance, Missing: minimum - balance}
	}
	return nil
}
