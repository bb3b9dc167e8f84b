package referee

import (
	"bytes"

	"referee.example/internal/clock"
	"referee.example/internal/rules"
)

// Caller is who makes a call, as authentication found.
type Caller struct {
	Platform string // whose matches it may see; "*" for every platform's
	Player   string // the one player it is limited to; empty for no limit
	// Plays tells who may act from who may only look: a seat's secrets are shown, while
	// its game runs, to the former alone.
	Plays     bool
	Principal int32  // small id of the token's name, kept with events
	Name      string // the token's name, which compensations keep; empty where none of them is made
}

// sees reports whether the caller may know of a match of the platform.
func (c Caller) sees(platform string) bool { return c.Platform == "*" || c.Platform == platform }

// Header is what every command on a match carries.
type Header struct {
	Caller    Caller
	Match     ID
	Game      int
	RequestID ID
	// Expected is the number that the command's ply, or its event, must get.
	Expected int
	Seat     rules.Seat // who acts; NoSeat where the platform itself does
	// Board is the one whose squares the command names, NoBoard where it names none
	// or whoever made it knows the match's.
	Board Board
}

func (h *Header) header() *Header { return h }

// event starts the command's own event.
func (h *Header) event(kind EventKind, arrival clock.Time) Event {
	return Event{Kind: kind, Seat: h.Seat, Time: arrival, RequestID: h.RequestID, Principal: h.Caller.Principal}
}

// Command is something that a caller asks of a match.
type Command interface {
	header() *Header
	// byPly tells which number the command expects: a ply's or an event's.
	byPly() bool
	// same reports whether e, an event with this command's request id, records
	// the same content.
	same(e *Event) bool
	// decide judges the command in a match that is not over and whose numbers
	// are the expected ones, and adds its events.
	decide(d *decision) (*Refusal, error)
}

// bySeq is embedded by the commands that expect an event's number.
type bySeq struct{}

func (bySeq) byPly() bool { return false }

// PlayAction plays one board action. Where an attempt at an illegal one loses, it
// is accepted as that.
type PlayAction struct {
	Header
	Action     rules.Action
	ClientHash []byte
}

func (*PlayAction) byPly() bool { return true }

func (c *PlayAction) same(e *Event) bool {
	return (e.Kind == EventPly || e.Kind == EventIllegalAttempt) && e.Seat == c.Seat && e.Action == c.Action && bytes.Equal(e.ClientHash, c.ClientHash)
}

func (c *PlayAction) decide(d *decision) (*Refusal, error) {
	s := d.State
	if refusal := s.running(); refusal != nil {
		return refusal, nil
	}
	known, err := d.concealed()
	if err != nil {
		return nil, err
	}
	illegal := s.Rules.family.check(&s.Game.Position, known, c.Seat, c.Action)
	if !illegal.OK() && !s.Rules.family.illegalLoses(illegal) {
		return s.illegal(illegal), nil
	}
	e := c.event(EventPly, d.env.Arrival)
	e.Action, e.ClientHash = c.Action, c.ClientHash
	if illegal.OK() {
		return nil, d.board(e, rules.EndNone)
	}
	e.Kind, e.Detail = EventIllegalAttempt, Small{Note: string(illegal.Rule)}.encode()
	if _, err := d.add(e); err != nil {
		return nil, err
	}
	return nil, d.lose(c.Seat, rules.EndIllegalAction, s.Game.Last)
}

// running refuses what needs a game in play.
func (s *State) running() *Refusal {
	if s.Game.Status == GamePlaying {
		return nil
	}
	return refuse(ReasonGameNotRunning, "game %d is not being played", s.Game.Number).with("game", s.Game.Number)
}

// inGame refuses a seat that is out while the game goes on without it.
func (s *State) inGame(seat rules.Seat) *Refusal {
	if !s.Game.Position.Out().Has(seat) {
		return nil
	}
	return seatOut()
}

func seatOut() *Refusal {
	return refuse(ReasonIllegalAction, "the seat is out of the game").with("rule", "seat_out")
}

// OfferDraw offers a draw.
type OfferDraw struct {
	Header
	bySeq
}

func (c *OfferDraw) same(e *Event) bool { return e.Kind == EventDrawOffered && e.Seat == c.Seat }

func (c *OfferDraw) decide(d *decision) (*Refusal, error) {
	s, g := d.State, &d.State.Game
	if refusal := s.running(); refusal != nil {
		return refusal, nil
	}
	offers := s.Rules.DrawOffers
	switch {
	case g.DrawOffer != rules.NoSeat:
		return refuse(ReasonOfferStands, "an offer of seat %d stands already", g.DrawOffer), nil
	case offers.OwnTurnOnly && g.Position.Turn() != c.Seat:
		return refuse(ReasonNotYourTurn, "a draw may be offered on the own turn only"), nil
	case !offers.Unlimited && g.OffersMade[c.Seat] >= offers.Limit:
		return refuse(ReasonNoOfferLeft, "a player may offer %d draws a game", offers.Limit).with("limit", offers.Limit), nil
	}
	_, err := d.add(c.event(EventDrawOffered, d.env.Arrival))
	return nil, err
}

// WithdrawDraw takes the own offer back.
type WithdrawDraw struct {
	Header
	bySeq
}

func (c *WithdrawDraw) same(e *Event) bool { return e.Kind == EventDrawWithdrawn && e.Seat == c.Seat }

func (c *WithdrawDraw) decide(d *decision) (*Refusal, error) {
	if refusal := d.State.running(); refusal != nil {
		return refusal, nil
	}
	if d.State.Game.DrawOffer != c.Seat {
		return refuse(ReasonNoOffer, "no offer of this seat stands"), nil
	}
	_, err := d.add(c.event(EventDrawWithdrawn, d.env.Arrival))
	return nil, err
}

// AnswerDraw accepts or declines the opponent's offer.
type AnswerDraw struct {
	Header
	bySeq
	Accept bool
}

func (c *AnswerDraw) kind() EventKind {
	if c.Accept {
		return EventDrawAccepted
	}
	return EventDrawDeclined
}

func (c *AnswerDraw) same(e *Event) bool { return e.Kind == c.kind() && e.Seat == c.Seat }

func (c *AnswerDraw) decide(d *decision) (*Refusal, error) {
	s, g := d.State, &d.State.Game
	if refusal := s.running(); refusal != nil {
		return refusal, nil
	}
	if g.DrawOffer == rules.NoSeat || !s.opponents(c.Seat).Has(g.DrawOffer) {
		return refuse(ReasonNoOffer, "no offer stands that this seat could answer"), nil
	}
	if _, err := d.add(c.event(c.kind(), d.env.Arrival)); err != nil {
		return nil, err
	}
	if !c.Accept {
		return nil, nil
	}
	return nil, d.endGame(rules.Outcome{Reason: rules.EndAgreement}, 0, g.Last)
}

// RequestCount starts the count towards the idle limit.
type RequestCount struct {
	Header
	bySeq
}

func (c *RequestCount) same(e *Event) bool { return e.Kind == EventCountRequested && e.Seat == c.Seat }

func (c *RequestCount) decide(d *decision) (*Refusal, error) {
	s := d.State
	if refusal := s.running(); refusal != nil {
		return refusal, nil
	}
	probe := s.Game.Position
	if illegal := s.Rules.family.requestCount(&probe, c.Seat); !illegal.OK() {
		return refuse(ReasonCountRefused, "%s", s.Rules.family.describe(illegal)).with("rule", string(illegal.Rule)), nil
	}
	_, err := d.add(c.event(EventCountRequested, d.env.Arrival))
	return nil, err
}

// Resign gives the running game up.
type Resign struct {
	Header
	bySeq
}

func (c *Resign) same(e *Event) bool { return e.Kind == EventResigned && e.Seat == c.Seat }

func (c *Resign) decide(d *decision) (*Refusal, error) {
	s, g := d.State, &d.State.Game
	if refusal := s.running(); refusal != nil {
		return refusal, nil
	}
	if refusal := s.inGame(c.Seat); refusal != nil {
		return refusal, nil
	}
	if illegal := s.Rules.family.checkResign(&g.Position, c.Seat); !illegal.OK() {
		return refuse(ReasonResignationTooEarly, "%s", s.Rules.family.describe(illegal)).with("ply", illegal.Count), nil
	}
	for seat := range s.Players {
		if g.Position.Turns(rules.Seat(seat)) < s.Rules.ResignAfterTurns {
			return refuse(ReasonResignationTooEarly, "each side must have made %d turns before a resignation",
				s.Rules.ResignAfterTurns).with("turns", s.Rules.ResignAfterTurns), nil
		}
	}
	if _, err := d.add(c.event(EventResigned, d.env.Arrival)); err != nil {
		return nil, err
	}
	return nil, d.lose(c.Seat, rules.EndResignation, g.Last)
}

// CallTime takes a portion of the time bank; with NoSeat it is the arbiter's
// call that ends the untimed opening.
type CallTime struct {
	Header
	bySeq
	PortionMS int64
}

func (c *CallTime) same(e *Event) bool {
	if c.Seat == rules.NoSeat {
		return e.Kind == EventOpeningEnded
	}
	detail, err := e.Small()
	return err == nil && e.Kind == EventBankCalled && e.Seat == c.Seat && detail.Number == uint64(c.PortionMS)
}

func (c *CallTime) decide(d *decision) (*Refusal, error) {
	s := d.State
	if refusal := s.running(); refusal != nil {
		return refusal, nil
	}
	e := c.event(EventOpeningEnded, d.env.Arrival)
	probe := s.Game.Clock
	at := max(d.env.Arrival, s.Game.Last)
	var refusal clock.Refusal
	if c.Seat == rules.NoSeat {
		refusal = probe.EndOpening(s.Rules.Clock, at)
	} else {
		e.Kind, e.Detail = EventBankCalled, Small{Number: uint64(c.PortionMS)}.encode()
		refusal = probe.CallBank(s.Rules.Clock, c.Seat, c.PortionMS, at)
	}
	if !refusal.OK() {
		return refuse(ReasonCallRefused, "%s", refusal.Words).with("rule", refusal.Reason), nil
	}
	_, err := d.add(e)
	return nil, err
}

// ReportDisconnect says who has left the running game.
type ReportDisconnect struct {
	Header
	bySeq
	Gone rules.SeatSet
}

func (c *ReportDisconnect) same(e *Event) bool {
	detail, err := e.Small()
	return err == nil && e.Kind == EventDisconnected && detail.Number == uint64(c.Gone)
}

func (c *ReportDisconnect) decide(d *decision) (*Refusal, error) {
	s, g := d.State, &d.State.Game
	if refusal := s.running(); refusal != nil {
		return refusal, nil
	}
	if c.Gone>>len(s.Players) != 0 {
		return InvalidField("seats", "must be from 0 to %d", len(s.Players)-1), nil
	}
	if s.Rules.family.putsOut() && c.Gone&^g.Position.Out() == 0 {
		return seatOut(), nil
	}
	e := c.event(EventDisconnected, d.env.Arrival)
	e.Detail = Small{Number: uint64(c.Gone)}.encode()
	if _, err := d.add(e); err != nil {
		return nil, err
	}
	allGone := rules.Outcome{Reason: rules.EndAllGone, Void: true}
	if s.Rules.family.putsOut() {
		if in := s.Sides().All() &^ g.Position.Out(); in&^c.Gone == 0 {
			return nil, d.endGame(allGone, 0, g.Last)
		}
		return nil, d.leave(c.Gone)
	}
	outcome := allGone
	for _, side := range s.Sides() {
		if side&c.Gone == 0 {
			outcome = rules.Outcome{Reason: rules.EndDisconnection, Winners: side}
		}
	}
	gone := c.Gone
	if outcome.Void {
		gone = 0 // nobody lost by it, so nobody pays for it
	}
	return nil, d.endGame(outcome, gone, g.Last)
}

// leave takes seats out of the game one after the other, until that has ended it.
func (d *decision) leave(gone rules.SeatSet) error {
	g := &d.State.Game
	for seat := range rules.Seat(rules.MaxSeats) {
		if !gone.Has(seat) || g.Position.Out().Has(seat) || g.Status != GamePlaying {
			continue
		}
		if err := d.board(Event{Kind: EventSeatLeft, Seat: seat, Time: g.Last}, rules.EndNone); err != nil {
			return err
		}
	}
	return nil
}
