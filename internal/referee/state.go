package referee

import (
	"crypto/sha256"
	"encoding/binary"

	"referee.example/internal/clock"
	"referee.example/internal/deal"
	"referee.example/internal/rules"
	"referee.example/internal/series"
)

// MatchStatus is where a match stands. The numbers are stored and are those of
// the contract: never renumber.
type MatchStatus uint8

// The statuses of a match; those from MatchComplete on are its endings.
const (
	MatchAwaitingStart     MatchStatus = 1
	MatchPlaying           MatchStatus = 2
	MatchAwaitingRuling    MatchStatus = 3
	MatchComplete          MatchStatus = 4
	MatchDecided           MatchStatus = 5
	MatchInsufficientStake MatchStatus = 6
	MatchAbandoned         MatchStatus = 7
	MatchVoid              MatchStatus = 8
)

// Over reports whether the match has ended.
func (s MatchStatus) Over() bool { return s >= MatchComplete }

// State is a whole match: everything that a decision rests on. It follows from
// the match's events and nothing else, but for the sealed seed.
type State struct {
	ID      ID
	Version int64  // commits so far; guards the next one
	Rules   *Rules // that the match keeps for ever

	Platform, ExternalRef, TableRef string
	Players                         []string // by seat
	EngineVersion                   int
	Stake                           int64
	Charges                         series.Charges
	// FirstSeat moves first in game 1: named by the caller, or NoSeat until the
	// start of game 1 has compared.
	FirstSeat rules.Seat
	Created   clock.Time

	Status  MatchStatus
	EndNote string
	Winners rules.SeatSet // of the match, once it is over
	Ended   clock.Time

	Past          []PastGame // games that have ended, oldest first
	Game          Game       // the present one; after its end the one that ended last
	Next          NextGame   // the one committed to while Game has ended
	Compensations CompensationLog
}

// PastGame is what later decisions need of an ended game.
type PastGame struct {
	Outcome      rules.Outcome
	Captures     [rules.MaxSeats]int
	Disconnected rules.SeatSet
	Ended        clock.Time
}

// GameStatus is where a game stands, numbered as in the contract.
type GameStatus uint8

// The statuses of a game.
const (
	GameAwaitingStart  GameStatus = 1
	GamePlaying        GameStatus = 2
	GameAwaitingRuling GameStatus = 3
	GameEnded          GameStatus = 4
	GamePlacing        GameStatus = 5
)

// Game is the present game of a match.
type Game struct {
	Number int
	Status GameStatus
	Seq    int      // of its last event
	Head   [32]byte // hash of its last event
	Last   clock.Time
	// Commitment binds the server's seed; Sealed is that seed, encrypted under
	// a key that is not in the database.
	Commitment [32]byte
	Sealed     []byte

	PlayerSeeds [][]byte
	Root        [32]byte
	First       rules.Seat
	Started     clock.Time
	Placing     *Placing // of games that begin so, from their start on; never changed, only replaced
	Position    Position
	Left        rules.SeatSet // seats that are out because their players left
	Clock       clock.Clock
	DrawOffer   rules.Seat // whose offer stands, NoSeat for none
	OffersMade  [rules.MaxSeats]int
	OutageSeen  clock.Time // end of the last outage that was accounted for
	Outcome     rules.Outcome
	ServerSeed  [32]byte // once revealed
	seen        seenIDs
}

// NextGame is a game that is committed to and not yet spoken of in the log.
type NextGame struct {
	Commitment [32]byte // zero when no game follows
	Sealed     []byte
}

// CompensationLog is the head of the match's log of compensations, which goes
// on when the games are closed and is numbered as game 0.
type CompensationLog struct {
	Seq     int
	Head    [32]byte
	Last    clock.Time
	Entries []CompensationEntry
}

// CompensationEntry is a settlement whose reversal was proposed or made.
type CompensationEntry struct {
	Game     int
	Proposer int32
	Operator string // the proposer's name; empty where the log has none
	Made     bool
	Note     string
}

// Sides returns the parties of the match: a seat each, or partners.
func (s *State) Sides() series.Sides { return s.Rules.family.sides() }

// NextPly and NextSeq are the numbers that the next ply and the next other
// change must name.
func (g *Game) NextPly() int { return g.Position.Ply() + 1 }

// NextSeq is the number of the game's next event.
func (g *Game) NextSeq() int { return g.Seq + 1 }

// Context binds the present game's seed and proofs to it.
func (s *State) Context() deal.Context { return s.contextOf(s.Game.Number) }

func (s *State) contextOf(game int) deal.Context {
	return deal.Context{MatchID: s.ID, Game: uint16(game)}
}

// material returns what the present game's deal follows from.
func (s *State) material(seed deal.Seed) deal.Material {
	return deal.Material{Context: s.Context(), Server: seed, Players: s.Game.PlayerSeeds}
}

// Deadline returns when the running turn, or the time to place, expires; false
// while no clock runs.
func (s *State) Deadline() (clock.Time, bool) {
	switch g := &s.Game; g.Status {
	case GamePlaying:
		return g.Clock.Deadline(s.Rules.Clock)
	case GamePlacing:
		return g.Placing.Deadline, g.Placing.Deadline != 0
	}
	return 0, false
}

// OutagesAfter returns after which instant an outage must have ended to concern
// what Deadline speaks of; false while no clock runs.
func (s *State) OutagesAfter() (clock.Time, bool) {
	g := &s.Game
	_, running := s.Deadline()
	if g.Status == GamePlacing {
		return max(g.Started, g.OutageSeen), running
	}
	return max(g.Clock.TurnStart, g.OutageSeen), running
}

// outcomes returns the results of all games, for the standing of the series.
func (s *State) outcomes() []rules.Outcome {
	all := make([]rules.Outcome, 0, len(s.Past)+1)
	for _, past := range s.Past {
		all = append(all, past.Outcome)
	}
	return all
}

// Standing is where the series stands.
func (s *State) Standing() series.Standing {
	return s.Rules.Series.Standing(s.outcomes(), s.Sides())
}

// Settlement returns what the given ended game moves; no lines for a draw or a
// void game. It is computed, never remembered: it follows from the result.
func (s *State) Settlement(game int) (series.Settlement, error) {
	past := s.Past[game-1]
	return series.Settle(s.Rules.Stakes, s.Stake, s.Charges, s.Sides(), past.Outcome, past.Captures, past.Disconnected)
}

// SettlementID returns the id of a game's settlement, or of the one that
// compensates it: a UUID (version 8) from a hash over match and game, so that
// the same settlement can't ever get two.
func SettlementID(match ID, game int, compensates bool) ID {
	b := append([]byte("referee.v1 settlement\x00"), match[:]...)
	b = binary.BigEndian.AppendUint16(b, uint16(game))
	if compensates {
		b = append(b, 1)
	}
	sum := sha256.Sum256(b)
	var id ID
	copy(id[:], sum[:])
	id[6] = id[6]&0x0f | 0x80
	id[8] = id[8]&0x3f | 0x80
	return id
}

// seenIDs remembers which request ids a game has seen, as a Bloom filter: a
// request id that it does not know is new; one that it seems to know is looked
// up in the log. It spares the log an index that every move would pay for.
type seenIDs [128]byte

const seenHashes = 3

func (s *seenIDs) bits(id ID, visit func(octet int, mask byte) bool) bool {
	for i := range seenHashes {
		n := binary.BigEndian.Uint16(id[8+2*i:]) % (8 * uint16(len(s)))
		if !visit(int(n/8), 1<<(n%8)) {
			return false
		}
	}
	return true
}

func (s *seenIDs) add(id ID) {
	s.bits(id, func(octet int, mask byte) bool { s[octet] |= mask; return true })
}

func (s *seenIDs) maybe(id ID) bool {
	return s.bits(id, func(octet int, mask byte) bool { return s[octet]&mask != 0 })
}
