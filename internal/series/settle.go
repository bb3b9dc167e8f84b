package series

import (
	"fmt"
	"math"

	"referee.example/internal/rules"
)

// Account is one that points move between: a seat's number, or the house.
type Account int8

// House is the account of whoever runs the table.
const House Account = -1

// Why is what a line is paid for. The words are stored: never rename.
type Why string

// The purposes of a line.
const (
	WhyStake                Why = "stake"
	WhyFee                  Why = "fee"
	WhySceneFee             Why = "scene_fee"
	WhyDisconnectionPenalty Why = "disconnection_penalty"
)

// Line moves points from one account to another.
type Line struct {
	Payer, Payee Account
	Amount       int64 // points, above 0
	Why          Why
}

// Settlement is what one game pays, and what that rests on. A drawn or void game
// has the zero value: it moves nothing.
type Settlement struct {
	Multiple      int64 // of the stake, paid by each losing seat
	LoserCaptures int   // pieces captured by the losing side
	// Lines come in a fixed order: stakes, fees, scene fees, penalties, each
	// by seat. None where stakes are off.
	Lines []Line
}

// Settle computes the settlement of a game that has ended (dark-chess rules,
// section 6). captures are those made by each seat, disconnected the seats that
// the platform reported gone.
//
// A drawn or void game moves nothing. In a decided one each losing seat pays the
// winning seat of the same place in seat order: between two teams the lower
// losing seat pays the lower winning one. The multiple follows from the captures
// of the whole losing side, however the game ended; a team wins and loses as one,
// players that are out included. Each winning seat pays fee and scene fee. The
// disconnection penalty is due from the losing seats that disconnected, and only
// where that is what lost the game.
//
// It refuses terms that Check would refuse of a match of one game (FieldError),
// and inconsistent results: ErrSides, ErrOutcome, ErrCaptures.
func Settle(s Stakes, stake int64, c Charges, sides Sides, outcome rules.Outcome,
	captures [rules.MaxSeats]int, disconnected rules.SeatSet) (Settlement, error) {
	if err := sides.Validate(); err != nil {
		return Settlement{}, err
	}
	if err := s.check(stake, c, sides.Seats(), 1); err != nil {
		return Settlement{}, err
	}
	if err := checkResult(sides, outcome, captures, disconnected); err != nil {
		return Settlement{}, err
	}
	side, won := sides.winner(outcome)
	if !won {
		return Settlement{}, nil
	}
	winners, losers := seats(sides[side]), seats(sides[1-side])

	var result Settlement
	for _, loser := range losers {
		result.LoserCaptures += captures[loser]
	}
	result.Multiple = s.multiple(result.LoserCaptures)
	// No product below overflows: check bounds the sum of all lines.
	for i, loser := range losers {
		result.pay(Account(loser), Account(winners[i]), result.Multiple*stake, WhyStake)
	}
	for _, winner := range winners {
		result.pay(Account(winner), House, s.feeTimes(result.Multiple)*c.Fee, WhyFee)
	}
	for _, winner := range winners {
		result.pay(Account(winner), House, c.SceneFee, WhySceneFee)
	}
	if outcome.Reason != rules.EndDisconnection {
		return result, nil
	}
	for _, loser := range losers {
		if disconnected.Has(loser) {
			result.pay(Account(loser), House, c.DisconnectionPenalty, WhyDisconnectionPenalty)
		}
	}
	return result, nil
}

// checkResult refuses a result that no game between these sides can have.
func checkResult(sides Sides, outcome rules.Outcome, captures [rules.MaxSeats]int, disconnected rules.SeatSet) error {
	total := 0
	for seat, count := range captures {
		if count < 0 || count > MaxCaptures-total {
			return fmt.Errorf("%w: seat %d has %d", ErrCaptures, seat, count)
		}
		total += count
	}
	if disconnected&^(sides[0]|sides[1]) != 0 {
		return fmt.Errorf("%w: a disconnected seat is not at the table", ErrOutcome)
	}
	side, won := sides.winner(outcome)
	switch {
	case !outcome.Over():
		return fmt.Errorf("%w: the game has not ended", ErrOutcome)
	case outcome.Winners != 0 && !won:
		return fmt.Errorf("%w: the game is void, or its winners are not one of the sides", ErrOutcome)
	case won && outcome.Reason == rules.EndDisconnection && disconnected&sides[1-side] == 0:
		return fmt.Errorf("%w: lost by disconnection, but no losing seat disconnected", ErrOutcome)
	}
	return nil
}

// seats returns the members of a set in seat order.
func seats(set rules.SeatSet) []rules.Seat {
	var members []rules.Seat
	for seat := rules.Seat(0); seat < rules.MaxSeats; seat++ {
		if set.Has(seat) {
			members = append(members, seat)
		}
	}
	return members
}

// pay adds a line, unless there is nothing to pay.
func (s *Settlement) pay(payer, payee Account, amount int64, why Why) {
	if amount > 0 {
		s.Lines = append(s.Lines, Line{Payer: payer, Payee: payee, Amount: amount, Why: why})
	}
}

// Net is what each account gains (above 0) or loses by some lines, in points.
// Its sum is always zero.
type Net struct {
	Seats [rules.MaxSeats]int64
	House int64
}

// Net adds up the lines. It trusts none of them, so that lines read back from a
// record can be proved: ErrLine refuses one that Settle would not make.
func (s Settlement) Net() (Net, error) {
	var net Net
	for i, line := range s.Lines {
		payer, payee := net.account(line.Payer), net.account(line.Payee)
		switch {
		case payer == nil || payee == nil || payer == payee:
			return Net{}, fmt.Errorf("%w: line %d names accounts %d and %d", ErrLine, i, line.Payer, line.Payee)
		case line.Amount < 1:
			return Net{}, fmt.Errorf("%w: line %d has amount %d", ErrLine, i, line.Amount)
		case !line.Why.known():
			return Net{}, fmt.Errorf("%w: line %d has no known purpose", ErrLine, i)
		case *payer < math.MinInt64+line.Amount || *payee > math.MaxInt64-line.Amount:
			return Net{}, fmt.Errorf("%w: line %d overflows 64 bits", ErrLine, i)
		}
		*payer -= line.Amount
		*payee += line.Amount
	}
	return net, nil
}

// account returns where an account's balance is kept, nil if there is none.
func (n *Net) account(a Account) *int64 {
	switch {
	case a == House:
		return &n.House
	case a >= 0 && a < rules.MaxSeats:
		return &n.Seats[a]
	}
	return nil
}

// known reports whether the purpose is one that lines are paid for.
func (w Why) known() bool {
	switch w {
	case WhyStake, WhyFee, WhySceneFee, WhyDisconnectionPenalty:
		return true
	}
	return false
}

// Reverse returns the exact opposite of each line, in the same order and for
// the same purpose: what a compensating settlement books, since a settlement
// itself is never edited.
func (s Settlement) Reverse() []Line {
	var lines []Line
	for _, line := range s.Lines {
		lines = append(lines, Line{Payer: line.Payee, Payee: line.Payer, Amount: line.Amount, Why: line.Why})
	}
	return lines
}
