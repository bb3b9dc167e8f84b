package simulate

import (
	"math/rand/v2"

	"google.golang.org/protobuf/proto"

	refereev1 "referee.example/proto/referee/v1"
)

// Habits are how often players do what is not simply the next ply: once in so
// many turns (or matches, where it says so); 0 is never.
type Habits struct {
	Double     int // the same request to two replicas at once
	Rival      int // two requests for the same number at two replicas at once
	Late       int // an old request once more
	Stale      int // a new request with an old number
	Reuse      int // an acknowledged request's id with other content
	Read       int // the game, from any replica
	Record     int // its whole record
	Validate   int // a ply by the rules alone, before it is sent
	Stream     int // plies on a stream of actions, several for one number
	Offer      int
	Resign     int // from a game that has gone on for LongGame plies
	Count      int // requests a count, where it is on request
	Call       int // calls for time
	Disconnect int
	Void       int
	Illegal    int // an action that the rules refuse, by which some lose
	Misplace   int // a placement while nobody may place
	// Of requests before all have placed, Again places a seat's pieces anew and two at
	// once, Spoil as the rules refuse it, and Early does what has to wait until then.
	Again, Spoil, Early int
	// Idle lets a turn expire and Brink acts within a moment of the deadline; only
	// where turns are short.
	Idle, Brink int
	// Short is how many matches there are to one with short turns; Dally how many of
	// these to one whose players do both with the time to place, if there is any.
	// Abandon is how many there are to one that is abandoned where it may be, Compensate
	// to one that is compensated.
	Short, Dally, Abandon, Compensate int
	// MostPlies is after how many of a game its players resign at the next turn, or
	// as soon as they may.
	MostPlies int
}

const longGame = 120

// DefaultHabits are those of whole matches.
func DefaultHabits() Habits {
	return Habits{
		Double: 25, Rival: 25, Late: 30, Stale: 40, Reuse: 60, Read: 20, Record: 80, Validate: 40, Stream: 30, Offer: 60, Resign: 25, Count: 8, Call: 60,
		Disconnect: 2_000, Void: 5_000, Illegal: 150, Misplace: 60, Again: 4, Spoil: 6, Early: 8, Idle: 25, Brink: 25, Short: 3, Dally: 2, Abandon: 12, Compensate: 6, MostPlies: 400,
	}
}

// now reports whether something that happens once in so many times happens now.
func now(dice *rand.Rand, odds int) bool { return odds > 0 && dice.IntN(odds) == 0 }

// shorten gives a ruleset's turns some hundreds of milliseconds, for expiries
// without number. Every part that the house's clock has stays a part of it. Two who
// play army chess may offer draws.
func shorten(r *refereev1.Ruleset, dice *rand.Rand) *refereev1.Ruleset {
	r = proto.CloneOf(r)
	r.Id, r.Description, r.Decisions = "", "", nil
	c := r.GetClock()
	short := func(field *uint32, least, most int) {
		if *field > 0 {
			*field = uint32(least + dice.IntN(most-least))
		}
	}
	short(&c.TurnMs, 400, 900)
	short(&c.ExtensionMs, 100, 300)
	short(&c.BankMs, 300, 900)
	short(&c.WarningMs, 50, 200)
	short(&c.MainMs, 8_000, 20_000)
	short(&c.IncrementMs, 100, 400)
	short(&c.PlacementMs, 3_000, 6_000)
	if r.GetArmyChess() != nil && seatsOf(r) == 2 {
		r.DrawOffers = &refereev1.DrawOfferRules{Limit: 3} // the houses know none
	}
	if c.GetExtensions() > 2 {
		c.Extensions = 2
	}
	return r
}

// prefer chooses an action: captures before all, flips before quiet moves, so
// that a match comes to an end.
func prefer(actions []*refereev1.LegalAction, dice *rand.Rand) *refereev1.Action {
	var captures, flips []*refereev1.LegalAction
	for _, a := range actions {
		switch {
		case a.GetCaptures() != "":
			captures = append(captures, a)
		case a.GetWhat() == "flip":
			flips = append(flips, a)
		}
	}
	from := actions
	switch {
	case len(captures) > 0 && dice.IntN(20) > 0:
		from = captures
	case len(flips) > 0 && dice.IntN(3) > 0:
		from = flips
	}
	return from[dice.IntN(len(from))].GetAction()
}
