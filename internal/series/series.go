// Package series holds what binds the games of a match together: which games
// count, when the match is over, what a player must hold and who pays whom
// (dark-chess rules, section 6). Everything is computed from values handed in;
// points are whole and int64, and an amount that could overflow is refused
// before a match begins.
package series

import (
	"fmt"

	"referee.example/internal/rules"
)

// Limits of the series part of a ruleset. They keep a match's results, which
// are counted anew each time, few.
const (
	MaxValidGames = 99  // valid games of a match
	MaxGames      = 999 // games of a match with draws, where a cap is set
)

// Rules is the series part of a ruleset.
type Rules struct {
	// ValidGames is how many decided games make a match complete, from 1 to
	// MaxValidGames. Draws and void games are not valid and extend the match.
	ValidGames int `json:"valid_games"`
	// StopWhenDecided ends the match once the games left cannot change who
	// wins it, as at 2-0 of three.
	StopWhenDecided bool `json:"stop_when_decided"`
	// MaxGames ends the match after so many games of all kinds, void ones
	// included; 0 is no cap.
	MaxGames int `json:"max_games"`
}

// Validate returns every field that no match could be played by.
func (r Rules) Validate() []FieldError {
	var errs []FieldError
	if r.ValidGames < 1 || r.ValidGames > MaxValidGames {
		errs = append(errs, FieldError{"valid_games", fmt.Sprintf("must be from 1 to %d", MaxValidGames)})
	}
	switch {
	case r.MaxGames < 0 || r.MaxGames > MaxGames:
		errs = append(errs, FieldError{"max_games", fmt.Sprintf("must be from 0 to %d", MaxGames)})
	case r.MaxGames != 0 && r.MaxGames < r.ValidGames:
		errs = append(errs, FieldError{"max_games", "must not be below valid_games"})
	}
	return errs
}

// Sides are the two parties of a match: a seat each, or a team each.
type Sides [2]rules.SeatSet

// Validate returns ErrSides unless the sides share out seats 0 to 1 or 0 to 3
// in equal numbers.
func (s Sides) Validate() error {
	table := s[0] | s[1]
	seats := table.Len()
	switch {
	case s[0]&s[1] != 0, s[0].Len() != s[1].Len():
		return ErrSides
	case seats != 2 && seats != 4, table != 1<<seats-1:
		return ErrSides
	}
	return nil
}

// All returns the seats of both sides.
func (s Sides) All() rules.SeatSet { return s[0] | s[1] }

// Seats returns how many seats the sides hold together.
func (s Sides) Seats() int { return s.All().Len() }

// winner returns the index of the side that won a decided game. A void game
// has no winner whatever it says, and part of a team is no side.
func (s Sides) winner(outcome rules.Outcome) (int, bool) {
	if !outcome.Decided() || outcome.Void {
		return 0, false
	}
	for i, side := range s {
		if side == outcome.Winners {
			return i, true
		}
	}
	return 0, false
}

// Standing is where a match stands after some games.
type Standing struct {
	// Games that were decided, drawn and void.
	Valid, Draws, Void int

	Wins [2]int // valid games won, by side
	// Over reports that no further game follows; then exactly one of Complete,
	// Decided and Capped says why.
	Over     bool
	Complete bool // all valid games are played
	Decided  bool // the games left cannot change who wins
	Capped   bool // the ruleset's cap on games is reached
	// Winner is the side that won most of the valid games, once the match is
	// over; empty if it is level.
	Winner rules.SeatSet
}

// Standing counts the results of a match's games. It always counts all of
// them: a score that is added to can be added to twice. Games that go on and
// winners that are no side (Settle refuses those) count for nothing, void games
// towards the cap only.
func (r Rules) Standing(results []rules.Outcome, sides Sides) Standing {
	var st Standing
	for _, outcome := range results {
		if side, won := sides.winner(outcome); won {
			st.Valid++
			st.Wins[side]++
		} else if outcome.Drawn() {
			st.Draws++
		} else if outcome.Void {
			st.Void++
		}
	}
	left := r.ValidGames - st.Valid
	lead, leader := st.Wins[0]-st.Wins[1], 0
	if lead < 0 {
		lead, leader = -lead, 1
	}
	st.Complete = left <= 0
	if r.MaxGames != 0 && !st.Complete {
		left = min(left, r.MaxGames-st.Valid-st.Draws-st.Void)
		st.Capped = left <= 0
	}
	// A lead that the games left can only draw level with is not yet safe.
	st.Decided = r.StopWhenDecided && !st.Complete && !st.Capped && lead > left
	st.Over = st.Complete || st.Capped || st.Decided
	if st.Over && lead > 0 {
		st.Winner = sides[leader]
	}
	return st
}

// FirstMover returns the seat that moves first in a game of a match, the games
// numbered from 1: first in game 1, then the next seat in turn, whatever became
// of the games between (dark-chess rules, section 2, first_mover). It returns
// rules.NoSeat for a first seat, a game or a table that cannot be.
func FirstMover(first rules.Seat, game, seats int) rules.Seat {
	if game < 1 || seats < 1 || seats > rules.MaxSeats || first < 0 || int(first) >= seats {
		return rules.NoSeat
	}
	return rules.Seat((int(first) + (game-1)%seats) % seats)
}
