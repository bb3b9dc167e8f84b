// Package check proves the service's promises of a recorded history: what
// clients were told, and what the database holds afterwards. It shares no code
// with the referee: arithmetic, chain and tree are its own, written from the
// documents, so that it can't share a mistake either.
package check

import "time"

// History is what the clients of one run hold, in plain data. Instants are those
// of the clients' machine, which is the database's too.
type History struct {
	Calls   []Call
	Watches []Watch
	// Feed is the settlements feed of the platform as its reader got it; nil where
	// the service has none.
	Feed []FeedEntry
	// Down are the times in which something was broken on purpose.
	Down []Outage
	// Replicas is how many there are, numbered from 0.
	Replicas int
	// Stalls are times in which the machine held up what depends on nothing but
	// itself; so long it is not held against the service that it was not prompt.
	Stalls []Stall
	// Streamed are the bursts of requests that were sent on streams of actions.
	Streamed []Streamed
	// Exports are the games of each export, in the order in which they came; the
	// last was made when everything had come to rest.
	Exports [][]Exported
	// Secrets is when each value of 32 bytes was first received, by match.
	Secrets map[string]map[[32]byte]time.Time
	// Placements is when each text of a placement was first received, by whom, in
	// whatever field of whatever message.
	Placements map[Placement]time.Time
	// Boards are those of army chess that viewers were shown while games ran.
	Boards []Board
	// Objections are what clients found wrong by themselves.
	Objections []Violation
}

// Placement is the text of a placement, as a viewer received it.
type Placement struct {
	Match  string
	Viewer int // its seat, or Spectator
	Text   string
}

// Spectator is the viewer who has no seat.
const Spectator = -1

// Board is what a viewer was shown of a game of army chess.
type Board struct {
	Match  string
	Viewer int
	Game   int
	// Seq is the event after which it stood so. It is 0 where Text is only what
	// could be attacked after ply Ply, stop by stop, as everybody sees it.
	Seq, Ply int
	Text     string
}

// Stall is a time in which the machine held something up, for Held of it.
type Stall struct {
	Span
	Held time.Duration
}

// Streamed is a burst of requests for one match on a stream of actions.
type Streamed struct {
	Match string
	// Sent are the requests' ids in the order of their sending, Answered those of
	// the answers in the order of their coming; the stream may have broken off.
	Sent, Answered []string
}

// Exported is an ended game as it was exported.
type Exported struct {
	Match string
	Game  int
	Head  string // hash of its last event, 32 bytes
	// Events is how many it had.
	Events int
}

// Span is a time, both ends included.
type Span struct{ From, Until time.Time }

// Outage is a time in which a replica, or all of them, could not work.
type Outage struct {
	Span
	Replica int // AllReplicas for what they share
}

// AllReplicas is the replica of an outage of what all of them need.
const AllReplicas = -1

// Outcomes of a call.
const (
	Acknowledged Outcome = "acknowledged"
	Refused      Outcome = "refused" // by the service, with a reason
	Unknown      Outcome = "unknown" // no answer: it may have been carried out
)

// Outcome is what a client knows of a call.
type Outcome string

// Call is one request sent once. A request that is sent again is a call of its own.
type Call struct {
	Client, Replica int
	Method          string
	RequestID       string // empty for a read
	Match           string // empty for a creation that was not acknowledged
	Seat            int    // that the request names, or whose view it asks for; else Spectator
	Placement       string // that the request submits
	// Game and Expected are the numbers that the request names; ByPly tells which.
	Game, Expected int
	ByPly          bool
	Sent, Answered time.Time // Answered is when it was given up for an unknown outcome
	// Reused is set for a request with the id of another, which was acknowledged,
	// and other content.
	Reused bool

	Outcome Outcome
	Code    string // of a refusal or of an unknown outcome
	Reason  string // of a refusal

	// Of an answer:
	Replayed bool
	Digest   string // of the answer, but for Replayed and the server's time
	Events   []Event
	View     View
	Settled  *Settlement // that the answer tells of
}

// Event is an event as a client was told of it.
type Event struct {
	Game, Seq, Ply, Kind int
	Time                 time.Time
	Hash                 string // of 32 bytes
	// Army is what it told of army chess: placements and what became public by a
	// change; in the words of armyStored.
	Army string
	// Met are the pieces that it said had met, attacker first.
	Met string
}

// View is where a client was told that a game stands. In a refusal it holds the
// present numbers, where they were told.
type View struct {
	Game, NextPly, NextSeq int
	Head                   string // hash of the last event, 32 bytes; empty for none
	Deadline               time.Time
}

// Settlement is a settlement as a client was told of it.
type Settlement struct {
	ID       string
	Game     int
	Multiple int64
	Lines    []Line
}

// Line moves points. An empty account is the house.
type Line struct {
	Payer, Payee string
	Amount       int64
	Why          string
}

// Watch is what one watcher of a match received, over as many streams as it took.
type Watch struct {
	Match  string
	Events []Event
	// Ended is set once a stream said that the match had ended and all was sent.
	Ended bool
	// Streams is how many it took.
	Streams int
}

// FeedEntry is an entry of the settlements feed as its reader received it.
type FeedEntry struct {
	Position     int64
	SettlementID string
}

// Violation is a broken promise.
type Violation struct {
	Promise string
	Match   string // empty where it concerns none
	What    string
}

func (v Violation) String() string { return v.Promise + ": match " + v.Match + ": " + v.What }

// The promises that violations name.
const (
	Durable   = "nothing acknowledged is lost"
	Once      = "nothing is done twice"
	OneLog    = "a match has one log, without fork or gap"
	Timely    = "expiries at their instants"
	Settled   = "each ending and settlement once, in one commit"
	Streams   = "streams bring every event once and in order"
	Chain     = "the chain of events verifies"
	Logged    = "every ended game is in the log of finished games"
	Hidden    = "what is hidden stays hidden"
	Judged    = "a match is judged by its own rules"
	Placed    = "placements are bound by their commitments and opened at the end"
	Linear    = "operations of a match are linearizable"
	Explained = "refusals explain themselves"
)
