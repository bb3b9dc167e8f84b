package referee

import (
	"bytes"
	"encoding/hex"

	"referee.example/internal/clock"
	"referee.example/internal/rules"
	"referee.example/internal/series"
)

// ID is a UUID: of a match, a request, a settlement. The zero ID is none.
type ID [16]byte

// String returns the ID in its usual form.
func (id ID) String() string {
	text := [36]byte{8: '-', 13: '-', 18: '-', 23: '-'}
	hex.Encode(text[:], id[:4])
	hex.Encode(text[9:], id[4:6])
	hex.Encode(text[14:], id[6:8])
	hex.Encode(text[19:], id[8:10])
	hex.Encode(text[24:], id[10:])
	return string(text[:])
}

// EventKind is what happened. The numbers are stored and are those of the
// contract: never renumber.
type EventKind uint8

// The kinds of event.
const (
	EventMatchCreated   EventKind = 1
	EventGameStarted    EventKind = 2
	EventPly            EventKind = 3
	EventServerPly      EventKind = 4
	EventDrawOffered    EventKind = 5
	EventDrawWithdrawn  EventKind = 6
	EventDrawAccepted   EventKind = 7
	EventDrawDeclined   EventKind = 8
	EventCountRequested EventKind = 9
	EventResigned       EventKind = 10
	EventBankCalled     EventKind = 11
	EventOpeningEnded   EventKind = 12
	EventExpired        EventKind = 13
	EventClockPaused    EventKind = 14
	EventDisconnected   EventKind = 15
	EventFoulRuled      EventKind = 16
	EventGameEnded      EventKind = 17
	EventMatchEnded     EventKind = 18
	EventCompensation   EventKind = 19
	EventMatchVoided    EventKind = 20
	EventMatchAbandoned EventKind = 21
	// EventPlacementSubmitted: a seat has placed its pieces, or placed them anew.
	EventPlacementSubmitted EventKind = 22
	// EventPlayBegan: all seats have placed, and the clocks begin.
	EventPlayBegan EventKind = 23
	// EventPlacementExpired: the time to place was over before all seats had.
	EventPlacementExpired EventKind = 24
	// EventTurnPassed: an expired turn passed without a ply.
	EventTurnPassed EventKind = 25
	// EventSeatOut: a seat is out, and its partner may play on.
	EventSeatOut EventKind = 26
	// EventSeatLeft: a seat is out because its player left.
	EventSeatLeft EventKind = 27
	// EventIllegalAttempt: a seat tried an action that is illegal, where that loses.
	EventIllegalAttempt EventKind = 28
)

// EventPlace is where an event stands in the logs of a match's games, which follow each
// other.
type EventPlace struct{ Game, Seq int }

// Before reports whether the event stands before another.
func (p EventPlace) Before(q EventPlace) bool {
	return p.Game < q.Game || p.Game == q.Game && p.Seq < q.Seq
}

// Event is one entry of a game's log. The log alone replays the match: State
// changes by Event only, through State.apply.
type Event struct {
	Match ID
	// Game is the number of the game whose log this is, from 1; 0 for the
	// match's own log of compensations, which come after games have closed.
	Game int
	Seq  int // position in that log, from 1, without a gap
	Ply  int // plies of the game after it
	Seat rules.Seat
	Kind EventKind
	// Action, Turned and Captured are those of a ply.
	Action           rules.Action
	Turned, Captured rules.Piece
	Time             clock.Time
	Clocks           []byte // stores of time after it, as package clock encodes them
	RequestID        ID     // zero for events of the referee
	Principal        int32  // who submitted it; 0 for the referee
	ClientHash       []byte
	Detail           []byte // what further belongs to the kind, as its detail type encodes it; of a ply, its feat
	Hash             [32]byte
}

// onBoard reports whether events of the kind change the board.
func onBoard(k EventKind) bool {
	switch k {
	case EventPly, EventServerPly, EventTurnPassed, EventSeatOut, EventSeatLeft:
		return true
	}
	return false
}

// change is what the event does to the board. The reason is in its detail.
func (e *Event) change() change { return change{kind: e.Kind, seat: e.Seat, action: e.Action} }

// turnedSquare is the square of the piece that the event turned, if it did.
func (e *Event) turnedSquare() rules.Square {
	if e.Action.Kind == rules.ActionFlip {
		return e.Action.From
	}
	return e.Action.To
}

// Limits of the free parts of an event.
const (
	MaxClientHashBytes = 32
	MaxSeedBytes       = 64
	MaxRefBytes        = 128
	MaxNoteBytes       = 512
)

// Created is the detail of EventMatchCreated: all that a match is made from.
type Created struct {
	Platform, ExternalRef, TableRef string
	Players                         []string
	RulesetHash                     [32]byte
	EngineVersion                   int
	Stake                           int64
	Charges                         series.Charges
	FirstSeat                       rules.Seat // NoSeat where a comparison decides
	Balances                        []int64
	Commitment                      [32]byte
}

func (c Created) encode() []byte {
	var e encoder
	e.str(c.Platform)
	e.str(c.ExternalRef)
	e.str(c.TableRef)
	e.strs(c.Players)
	e.fixed(c.RulesetHash[:])
	e.uint(uint64(c.EngineVersion))
	e.int(c.Stake)
	e.ints([]int64{c.Charges.Fee, c.Charges.SceneFee, c.Charges.DisconnectionPenalty})
	e.int(int64(c.FirstSeat))
	e.ints(c.Balances)
	e.fixed(c.Commitment[:])
	return e.buf
}

// Created decodes the event's detail.
func (e *Event) Created() (c Created, err error) {
	d := decoder{buf: e.Detail}
	c.Platform, c.ExternalRef, c.TableRef = d.str(), d.str(), d.str()
	c.Players = d.strs()
	c.RulesetHash = d.hash()
	c.EngineVersion = int(d.uint())
	c.Stake = d.int()
	if charges := d.ints(); len(charges) == 3 {
		c.Charges = series.Charges{Fee: charges[0], SceneFee: charges[1], DisconnectionPenalty: charges[2]}
	} else {
		d.fail()
	}
	c.FirstSeat = rules.Seat(d.int())
	c.Balances = d.ints()
	c.Commitment = d.hash()
	return c, d.end()
}

// Started is the detail of EventGameStarted.
type Started struct {
	Balances    []int64
	HoldIDs     []string
	PlayerSeeds [][]byte
	Root        [32]byte
	First       rules.Seat
	// Draws are the pieces drawn for the first move, a round of all seats
	// after the other; empty where nothing was drawn.
	Draws []byte
}

func (s Started) encode() []byte {
	var e encoder
	e.ints(s.Balances)
	e.strs(s.HoldIDs)
	e.byteses(s.PlayerSeeds)
	e.fixed(s.Root[:])
	e.int(int64(s.First))
	e.bytes(s.Draws)
	return e.buf
}

// Started decodes the event's detail.
func (e *Event) Started() (s Started, err error) {
	d := decoder{buf: e.Detail}
	s.Balances, s.HoldIDs, s.PlayerSeeds = d.ints(), d.strs(), d.byteses()
	s.Root = d.hash()
	s.First = rules.Seat(d.int())
	s.Draws = d.bytes()
	return s, d.end()
}

// Ended is the detail of EventGameEnded. The settlement is not in it line by
// line: it follows from the outcome, the captures, the stake and the ruleset,
// and its rows stand in the settlements' own tables.
type Ended struct {
	Outcome      rules.Outcome
	Captures     []int64 // pieces captured by each seat
	Disconnected rules.SeatSet
	ServerSeed   [32]byte // revealed
	// NextCommitment binds the seed of the next game; zero when the match is over.
	NextCommitment [32]byte
	// Placements open the commitments to the placements that stood, by seat, in
	// games that began with placing.
	Placements []RevealedPlacement
}

func (n Ended) encode() []byte {
	var e encoder
	e.outcome(n.Outcome)
	e.ints(n.Captures)
	e.u8(uint8(n.Disconnected))
	e.fixed(n.ServerSeed[:])
	e.fixed(n.NextCommitment[:])
	if len(n.Placements) > 0 {
		e.revealed(n.Placements)
	}
	return e.buf
}

// GameEnded decodes the event's detail.
func (e *Event) GameEnded() (n Ended, err error) {
	d := decoder{buf: e.Detail}
	n.Outcome = d.outcome()
	n.Captures = d.ints()
	n.Disconnected = rules.SeatSet(d.u8())
	n.ServerSeed, n.NextCommitment = d.hash(), d.hash()
	if len(d.buf) > 0 {
		if n.Placements = d.revealed(); len(n.Placements) == 0 {
			d.fail() // written in another way, it would be another event of the same content
		}
	}
	return n, d.end()
}

func (e *encoder) outcome(o rules.Outcome) {
	e.u8(uint8(o.Reason))
	e.u8(uint8(o.Winners))
	e.bool(o.Void)
	e.uint(uint64(o.FirstPly))
	e.uint(uint64(o.LastPly))
}

func (d *decoder) outcome() (o rules.Outcome) {
	o.Reason = rules.EndReason(d.u8())
	o.Winners = rules.SeatSet(d.u8())
	o.Void = d.bool()
	o.FirstPly, o.LastPly = int(d.uint()), int(d.uint())
	return o
}

// MatchEnd is the detail of EventMatchEnded.
type MatchEnd struct {
	Status  MatchStatus
	Winners rules.SeatSet
	// ServerSeed is that of a game that was never started, revealed; zero
	// where the game's own ending revealed it.
	ServerSeed [32]byte
}

func (m MatchEnd) encode() []byte {
	var e encoder
	e.u8(uint8(m.Status))
	e.u8(uint8(m.Winners))
	e.fixed(m.ServerSeed[:])
	return e.buf
}

// MatchEnd decodes the event's detail.
func (e *Event) MatchEnd() (m MatchEnd, err error) {
	d := decoder{buf: e.Detail}
	m.Status = MatchStatus(d.u8())
	m.Winners = rules.SeatSet(d.u8())
	m.ServerSeed = d.hash()
	return m, d.end()
}

// Leave is the detail of EventMatchVoided and EventMatchAbandoned: why, and
// the balances that an ending by insufficient stake rests on.
type Leave struct {
	Note     string
	Balances []int64
}

func (l Leave) encode() []byte {
	var e encoder
	e.str(l.Note)
	e.ints(l.Balances)
	return e.buf
}

// Leave decodes the event's detail.
func (e *Event) Leave() (l Leave, err error) {
	d := decoder{buf: e.Detail}
	l.Note, l.Balances = d.str(), d.ints()
	return l, d.end()
}

// Paused is the detail of EventClockPaused: an outage of all replicas.
type Paused struct{ From, Until clock.Time }

func (p Paused) encode() []byte {
	var e encoder
	e.int(int64(p.From))
	e.int(int64(p.Until))
	return e.buf
}

// Paused decodes the event's detail.
func (e *Event) Paused() (p Paused, err error) {
	d := decoder{buf: e.Detail}
	p.From, p.Until = clock.Time(d.int()), clock.Time(d.int())
	return p, d.end()
}

// Small is the detail of the kinds that need a number and some words:
// EventDisconnected (the seats), EventFoulRuled (1 = confirmed, and the note),
// EventBankCalled (milliseconds), EventExpired (1 = lost).
type Small struct {
	Number uint64
	Note   string
}

func (s Small) encode() []byte {
	var e encoder
	e.uint(s.Number)
	e.str(s.Note)
	return e.buf
}

// Small decodes the event's detail.
func (e *Event) Small() (s Small, err error) {
	d := decoder{buf: e.Detail}
	s.Number, s.Note = d.uint(), d.str()
	return s, d.end()
}

// featGreatMerit is the number of the one feat there is, in the detail of the
// ply that it is recorded with.
const featGreatMerit = 1

func greatMerit() []byte { return Small{Number: featGreatMerit}.encode() }

// GreatMerit reports whether a ply was the little soldier's great merit
// (小兵立大功): the player's last soldier took the enemy general, under a ruleset
// that records feats (dark chess rules, section 2).
func (e *Event) GreatMerit() bool {
	return (e.Kind == EventPly || e.Kind == EventServerPly) && bytes.Equal(e.Detail, greatMerit())
}

// Compensation is the detail of EventCompensation.
type Compensation struct {
	Game       int // whose settlement is reversed
	Settlement ID  // the one that is reversed
	Made       bool
	Note       string
	// Operator is the name of who proposed or confirmed: the table of principals
	// could be changed. Empty in events that were made before names were kept.
	Operator string
}

func (c Compensation) encode() []byte {
	var e encoder
	e.uint(uint64(c.Game))
	e.fixed(c.Settlement[:])
	e.bool(c.Made)
	e.str(c.Note)
	if c.Operator != "" {
		e.str(c.Operator)
	}
	return e.buf
}

// Compensation decodes the event's detail.
func (e *Event) Compensation() (c Compensation, err error) {
	d := decoder{buf: e.Detail}
	c.Game = int(d.uint())
	copy(c.Settlement[:], d.fixed(len(c.Settlement)))
	c.Made = d.bool()
	c.Note = d.str()
	if len(d.buf) > 0 {
		if c.Operator = d.str(); c.Operator == "" {
			d.fail() // written in another way, it would be another event of the same content
		}
	}
	return c, d.end()
}
