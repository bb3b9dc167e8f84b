package referee

import (
	"context"
	"fmt"

	"referee.example/internal/clock"
	"referee.example/internal/rules"
)

// Record is everything that a store holds of a match, as its rows say and
// without any judgement: what an auditor checks against each other.
type Record struct {
	Match        RecordedMatch
	Participants []Participant
	State        RecordedState
	// Ruleset is the stored content under the hash that the log names; nil if
	// there is none.
	Ruleset     []byte
	Games       []RecordedGame // in order, from game 1
	Logs        [][]Event      // by game; those of game 0 are the compensations
	Settlements []RecordedSettlement
	Outages     []Outage // that overlap the match, in order of time
	// Principals are the names of those who made the events.
	Principals map[int32]string
	// Entries are what the log of finished games holds of the match, and what
	// waits for it.
	Entries []RecordedEntry
	// Index are the rows by which the match is found otherwise than by its id.
	Index []IndexRow
	// Contradicted are the outages that paused the match and in which moves were made.
	Contradicted []ContradictedOutage
	Now          clock.Time // of the database, when it was read
}

// RecordedEntry is an entry of the log of finished games, or a place in the queue
// for it.
type RecordedEntry struct {
	Queued   bool
	Position int64  // from 0, of an entry
	Game     int    // 0 for an entry of the log of compensations
	Head     []byte // hash of an event; nil in the queue of games
	// Compensation tells of a place in the queue that it is for the compensation
	// of Game.
	Compensation bool
}

// IndexRow is a row of a table by which a match is found, in words.
type IndexRow struct{ Table, Row string }

// ContradictedOutage is an outage on record in which a replica took a move.
type ContradictedOutage struct {
	Outage
	Move clock.Time // of any match
}

// UnreadableError means that a row holds what no referee writes.
type UnreadableError struct{ Table, Column, Problem string }

func (e *UnreadableError) Error() string {
	return fmt.Sprintf("%s.%s can't be read: %s", e.Table, e.Column, e.Problem)
}

// Settlement returns a game's settlement, or the one that compensates it; nil if
// there is none.
func (r *Record) Settlement(game int, compensates bool) *RecordedSettlement {
	for i := range r.Settlements {
		if s := &r.Settlements[i]; s.Game == game && s.Compensates == compensates {
			return s
		}
	}
	return nil
}

// RecordedMatch is the row of a match.
type RecordedMatch struct {
	ID                              ID
	Created, Ended                  clock.Time // Ended is 0 while it goes on
	Stake                           int64
	Fee, SceneFee, Penalty          int64
	EngineVersion                   int
	Status                          MatchStatus
	Winners                         rules.SeatSet
	FirstSeat                       rules.Seat
	Platform, ExternalRef, TableRef string
	RulesetID                       string
	RulesetHash                     []byte
	Players                         []string
	EndNote                         string
}

// Participant is a row by which a player's matches are found.
type Participant struct {
	Platform, Player string
	Seat             rules.Seat
}

// RecordedState is the row that every change of a match rewrites.
type RecordedState struct {
	Version                        int64
	Snapshot                       []byte
	Deadline, WakeAt, OutagesAfter clock.Time // 0 for none
}

// RecordedGame is the row of a game.
type RecordedGame struct {
	Game               int
	Status             GameStatus
	Commitment, Sealed []byte
	// From the start on:
	Started     clock.Time // 0 before
	FirstSeat   rules.Seat
	Balances    []int64
	HoldIDs     []string
	PlayerSeeds [][]byte
	Root        []byte
	// From the end on:
	Ended            clock.Time // 0 before
	Outcome          rules.Outcome
	Plies            int
	Captures         []int64 // nil if it was never started
	Disconnected     rules.SeatSet
	ServerSeed, Head []byte
}

// RecordedSettlement is a settlement with its lines.
type RecordedSettlement struct {
	Game          int
	Compensates   bool
	ID            ID
	Multiple      int64
	LoserCaptures int
	Settled       clock.Time
	Lines         []RecordedLine
}

// RecordedLine is a line of a settlement; an empty account is the house.
type RecordedLine struct {
	Payer, Payee string
	Amount       int64
	Why          string
}

// Records is what a store answers to those who verify it.
type Records interface {
	// Record returns everything about a match, all read at one instant;
	// ErrNotFound if there is no such match.
	Record(ctx context.Context, id ID) (*Record, error)
	// ExportedRecord is Record without the match's State, its Participants, Index
	// and Contradicted, which no export holds.
	ExportedRecord(ctx context.Context, id ID) (*Record, error)
}
