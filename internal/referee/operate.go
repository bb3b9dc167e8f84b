package referee

import (
	"errors"
	"slices"

	"referee.example/internal/deal"
	"referee.example/internal/rules"
	"referee.example/internal/series"
)

// CreateMatch seats the players of a new match.
type CreateMatch struct {
	Caller                Caller
	RequestID             ID
	ExternalRef, TableRef string
	Players               []string
	Rules                 *Rules
	Stake                 int64
	Charges               series.Charges
	Balances              []int64
	FirstSeat             rules.Seat // NoSeat unless named
}

// Fingerprint tells requests of other content apart.
func (c *CreateMatch) Fingerprint() []byte {
	return c.detail([32]byte{}).Fingerprint()
}

// Fingerprint is that of the request which the match was made from.
func (c Created) Fingerprint() []byte {
	var e encoder
	e.str(c.Platform)
	c.Commitment = [32]byte{}
	e.fixed(c.encode())
	return e.buf
}

func (c *CreateMatch) detail(commitment [32]byte) Created {
	return Created{
		Platform: c.Caller.Platform, ExternalRef: c.ExternalRef, TableRef: c.TableRef, Players: c.Players,
		RulesetHash: c.Rules.Hash, EngineVersion: EngineVersion, Stake: c.Stake, Charges: c.Charges,
		FirstSeat: c.FirstSeat, Balances: c.Balances, Commitment: commitment,
	}
}

// Seats returns how many players a match under the ruleset has.
func (r *Rules) Seats() int { return r.family.sides().Seats() }

// check refuses a match that could not be played or paid.
func (c *CreateMatch) check() *Refusal {
	seats := c.Rules.Seats()
	switch {
	case len(c.Players) != seats:
		return InvalidField("player_ids", "must be %d", seats)
	case len(c.Balances) != seats:
		return InvalidField("balances", "must be %d, in order of seats", seats)
	}
	for i, player := range c.Players {
		if slices.Contains(c.Players[:i], player) {
			return InvalidField("player_ids", "must be different players")
		}
	}
	named := c.Rules.FirstMover == FirstMoverNamed
	switch {
	case named && (c.FirstSeat < 0 || int(c.FirstSeat) >= seats):
		return InvalidField("first_seat", "must name the seat that moves first, from 0 to %d", seats-1)
	case !named && c.FirstSeat != rules.NoSeat:
		return InvalidField("first_seat", "must be absent: the ruleset lets a comparison decide")
	}
	if err := c.Rules.Stakes.Check(c.Stake, c.Charges, seats, c.Rules.Series); err != nil {
		return stakeRefusal(err)
	}
	return checkBalances(c.Rules, c.Stake, true, c.Balances)
}

// stakeRefusal names the field that package series refuses.
func stakeRefusal(err error) *Refusal {
	r := refuse(ReasonStakeOutOfRange, "%s", err)
	var fault series.FieldError
	if errors.As(err, &fault) {
		field := requestField(fault.Field)
		r = r.with("field", field)
		r.Fields = []FieldError{{field, fault.Reason}}
	}
	return r
}

// requestField is what a request calls the field that package series names.
func requestField(field string) string {
	switch field {
	case "fee", "scene_fee", "disconnection_penalty":
		return "charges." + field
	case "balance":
		return "balances"
	}
	return field
}

// checkBalances refuses balances below the minimum for the first or a further game.
func checkBalances(r *Rules, stake int64, first bool, balances []int64) *Refusal {
	for seat, balance := range balances {
		if balance < 0 {
			refusal := refuse(ReasonStakeOutOfRange, "balances: must not be negative").with("field", "balances")
			refusal.Fields = []FieldError{{"balances", "must not be negative"}}
			return refusal
		}
		err := r.Stakes.CheckBalance(stake, first, balance)
		var short series.ShortfallError
		switch {
		case errors.As(err, &short):
			return refuse(ReasonInsufficientBalance, "the balance of seat %d is %d short of the minimum of %d",
				seat, short.Missing, short.Minimum).
				with("seat", seat).with("minimum", short.Minimum).with("missing", short.Missing)
		case err != nil:
			return stakeRefusal(err)
		}
	}
	return nil
}

// Create decides on a new match with the given id.
func Create(c *CreateMatch, id ID, env Env) (Decision, error) {
	return newDecision(&State{ID: id, Rules: c.Rules}, env).create(c)
}

func (d *decision) create(c *CreateMatch) (Decision, error) {
	if refusal := c.check(); refusal != nil {
		return Decision{Own: -1, Refusal: refusal}, nil
	}
	commitment, sealed := d.commit(d.State.contextOf(1))
	h := Header{Caller: c.Caller, RequestID: c.RequestID, Seat: rules.NoSeat}
	e := h.event(EventMatchCreated, d.env.Arrival)
	e.Detail = c.detail(commitment).encode()
	d.Own = 0
	if _, err := d.add(e); err != nil {
		return Decision{}, err
	}
	d.State.Game.Sealed = sealed
	return d.Decision, nil
}

// StartGame starts the next game of a match.
type StartGame struct {
	Header
	bySeq
	Balances    []int64
	HoldIDs     []string
	PlayerSeeds [][]byte
}

func (c *StartGame) same(e *Event) bool {
	detail, err := e.Started()
	return err == nil && e.Kind == EventGameStarted && slices.Equal(detail.Balances, c.Balances) &&
		slices.Equal(detail.HoldIDs, c.HoldIDs) &&
		slices.EqualFunc(detail.PlayerSeeds, c.PlayerSeeds, slices.Equal)
}

func (c *StartGame) decide(d *decision) (*Refusal, error) {
	s, g := d.State, &d.State.Game
	seats := len(s.Players)
	switch {
	case g.Status != GameAwaitingStart:
		return refuse(ReasonGameRunning, "game %d has been started", g.Number), nil
	case len(c.Balances) != seats:
		return InvalidField("balances", "must be %d, in order of seats", seats), nil
	case len(c.HoldIDs) != 0 && len(c.HoldIDs) != seats:
		return InvalidField("hold_ids", "must be none or %d, in order of seats", seats), nil
	case len(c.PlayerSeeds) != 0 && len(c.PlayerSeeds) != seats:
		return InvalidField("player_seeds", "must be none or %d, in order of seats", seats), nil
	}
	if refusal := checkBalances(s.Rules, s.Stake, g.Number == 1, c.Balances); refusal != nil {
		return refusal, nil
	}
	seed, err := d.openSeed()
	if err != nil {
		return nil, err
	}
	g.PlayerSeeds = c.PlayerSeeds
	material := s.material(seed)
	if err := material.Check(); err != nil {
		return InvalidField("player_seeds", "%s", err), nil
	}
	started := Started{Balances: c.Balances, HoldIDs: c.HoldIDs, PlayerSeeds: c.PlayerSeeds}
	if deck := s.Rules.family.deck(); deck != nil {
		started.Root = material.Tree(d.env.Deal(material, deck)).Root()
	}
	started.First, started.Draws = s.firstMover(material)
	e := c.event(EventGameStarted, d.env.Arrival)
	e.Detail = started.encode()
	_, err = d.add(e)
	return nil, err
}

// firstMover finds who moves first in the present game: the seats alternate
// from game to game; in game 1 the caller's named seat, or the one that drew
// the higher piece. The pairs drawn come from a stream of their own and tell
// nothing of the deal.
func (s *State) firstMover(m deal.Material) (rules.Seat, []byte) {
	seats := len(s.Players)
	if s.Game.Number > 1 {
		return series.FirstMover(s.FirstSeat, s.Game.Number, seats), nil
	}
	if s.FirstSeat != rules.NoSeat {
		return s.FirstSeat, nil
	}
	stream := m.Stream("first_mover")
	var draws []byte
	for {
		a, b := drawPair(stream, s.Rules.family.deck())
		draws = append(draws, a, b)
		switch order := s.Rules.family.drawn(rules.Piece(a), rules.Piece(b)); {
		case order > 0:
			return 0, draws
		case order < 0:
			return 1, draws
		}
	}
}

// drawPair draws two different pieces of the deck, one for each seat.
func drawPair(stream *deal.Stream, deck []byte) (a, b byte) {
	i := stream.Intn(len(deck))
	j := stream.Intn(len(deck) - 1)
	if j >= i {
		j++ // the other pieces close up
	}
	return deck[i], deck[j]
}

// AbandonMatch ends a match between games.
type AbandonMatch struct {
	Header
	bySeq
	Note     string
	Balances []int64
}

func (c *AbandonMatch) same(e *Event) bool {
	return e.Kind == EventMatchAbandoned && e.leaves(c.Note, c.Balances)
}

// leaves reports whether the event's detail is that of leaving with this note.
func (e *Event) leaves(note string, balances []int64) bool {
	detail, err := e.Leave()
	return err == nil && detail.Note == note && slices.Equal(detail.Balances, balances)
}

func (c *AbandonMatch) decide(d *decision) (*Refusal, error) {
	s := d.State
	if s.Game.Status != GameAwaitingStart {
		return refuse(ReasonAbandonRefused, "a match can be abandoned between games only"), nil
	}
	status, refusal := c.ending(s)
	if refusal != nil {
		return refusal, nil
	}
	e := c.event(EventMatchAbandoned, d.env.Arrival)
	e.Detail = Leave{Note: c.Note, Balances: c.Balances}.encode()
	if _, err := d.add(e); err != nil {
		return nil, err
	}
	return nil, d.endMatch(MatchEnd{Status: status, Winners: s.Standing().Winner})
}

// ending is the status that the match would end with.
func (c *AbandonMatch) ending(s *State) (MatchStatus, *Refusal) {
	if len(c.Balances) == 0 {
		if s.Rules.AbandonAllowed {
			return MatchAbandoned, nil
		}
		return 0, refuse(ReasonAbandonRefused,
			"this ruleset lets nobody leave before the match is complete, except for a balance that can't cover the next game")
	}
	if len(c.Balances) != len(s.Players) {
		return 0, InvalidField("balances", "must be none or %d, in order of seats", len(s.Players))
	}
	refusal := checkBalances(s.Rules, s.Stake, s.Game.Number == 1, c.Balances)
	switch {
	case refusal == nil:
		return 0, refuse(ReasonAbandonRefused, "every stated balance covers the next game")
	case refusal.Reason == ReasonInsufficientBalance:
		return MatchInsufficientStake, nil
	}
	return 0, refusal
}

// endMatch ends a match whose present game was never started, and reveals that
// game's seed.
func (d *decision) endMatch(end MatchEnd) error {
	seed, err := d.openSeed()
	if err != nil {
		return err
	}
	end.ServerSeed = seed
	_, err = d.add(Event{Kind: EventMatchEnded, Seat: rules.NoSeat, Time: d.State.Game.Last, Detail: end.encode()})
	return err
}

// VoidMatch ends a match by an operator.
type VoidMatch struct {
	Header
	bySeq
	Note string
}

func (c *VoidMatch) same(e *Event) bool {
	return e.Kind == EventMatchVoided && e.leaves(c.Note, nil)
}

func (c *VoidMatch) decide(d *decision) (*Refusal, error) {
	e := c.event(EventMatchVoided, d.env.Arrival)
	e.Detail = Leave{Note: c.Note}.encode()
	if _, err := d.add(e); err != nil {
		return nil, err
	}
	end := MatchEnd{Status: MatchVoid}
	if d.State.Game.Status == GameAwaitingStart {
		return nil, d.endMatch(end)
	}
	void := rules.Outcome{Reason: rules.EndMatchVoided, Void: true}
	return nil, d.endGameIn(void, 0, d.State.Game.Last, &end)
}

// RuleFoul rules on the disputable foul that a result rests on.
type RuleFoul struct {
	Header
	bySeq
	Confirm bool
	Note    string
}

func (c *RuleFoul) detail() Small {
	d := Small{Note: c.Note}
	if c.Confirm {
		d.Number = 1
	}
	return d
}

func (c *RuleFoul) same(e *Event) bool {
	detail, err := e.Small()
	return err == nil && e.Kind == EventFoulRuled && detail == c.detail()
}

func (c *RuleFoul) decide(d *decision) (*Refusal, error) {
	s := d.State
	if s.Game.Status != GameAwaitingRuling {
		return refuse(ReasonNoRulingDue, "no foul awaits a ruling"), nil
	}
	e := c.event(EventFoulRuled, d.env.Arrival)
	e.Detail = c.detail().encode()
	if _, err := d.add(e); err != nil {
		return nil, err
	}
	if outcome := s.Game.Position.Outcome(); outcome.Over() {
		return nil, d.endGame(outcome, 0, s.Game.Last)
	}
	return nil, nil
}

// CompensateSettlement proposes the reversal of a settlement or, by a second
// operator, makes it.
type CompensateSettlement struct {
	Header
	Settlement ID
	Note       string
}

// Compensate decides on a compensation. It goes to the match's own log, since
// the game's log is closed, and is allowed when the match is over.
func Compensate(s *State, c *CompensateSettlement, env Env) (Decision, error) {
	d := newDecision(s, env)
	refusal, made := s.checkCompensation(c)
	if refusal != nil {
		d.Refusal = refusal
		return d.Decision, nil
	}
	log := &d.State.Compensations
	e := c.event(EventCompensation, max(env.Arrival, log.Last))
	e.Match, e.Game, e.Seq = s.ID, 0, log.Seq+1
	e.Detail = Compensation{Game: c.Game, Settlement: c.Settlement, Made: made, Note: c.Note, Operator: c.Caller.Name}.encode()
	if _, err := d.State.apply(&e); err != nil {
		return Decision{}, err
	}
	e.Hash = e.chain(log.Head)
	log.Head = e.Hash
	d.Own, d.Events = 0, []Event{e}
	return d.Decision, nil
}

func (s *State) checkCompensation(c *CompensateSettlement) (refusal *Refusal, made bool) {
	if c.Game < 1 || c.Game > len(s.Past) || c.Settlement != SettlementID(s.ID, c.Game, false) {
		return notFound(), false
	}
	if settlement, err := s.Settlement(c.Game); err != nil || len(settlement.Lines) == 0 {
		return notFound(), false
	}
	if next := s.Compensations.Seq + 1; c.Expected != next {
		return refuse(ReasonStale, "the log of compensations has gone on: expect seq %d", next).
			with("game", 0).with("next_seq", next), false
	}
	for _, entry := range s.Compensations.Entries {
		switch {
		case entry.Game != c.Game:
		case entry.Made:
			return refuse(ReasonCompensationRefused, "the settlement has been compensated"), false
		case entry.Note != c.Note:
			return refuse(ReasonCompensationRefused, "a compensation is proposed with other words"), false
		case entry.Proposer == c.Caller.Principal, entry.Operator != "" && entry.Operator == c.Caller.Name:
			// Either alone could be had anew by changing the table of principals.
			return refuse(ReasonSameOperator, "a second, different operator must make the same call"), false
		default:
			return nil, true
		}
	}
	return nil, false
}

func (c *CompensateSettlement) same(e *Event) bool {
	detail, err := e.Compensation()
	return err == nil && e.Kind == EventCompensation && e.Principal == c.Caller.Principal &&
		(detail.Operator == "" || detail.Operator == c.Caller.Name) &&
		detail.Game == c.Game && detail.Settlement == c.Settlement && detail.Note == c.Note
}
