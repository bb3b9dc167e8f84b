package referee

import (
	"fmt"

	"referee.example/internal/deal"
	"referee.example/internal/rules"
)

// Hindsight is what is known of a game when its log is judged again.
type Hindsight struct {
	// Seed is the game's own, revealed.
	Seed deal.Seed
	// Next is the commitment to the next game that the log holds.
	Next [32]byte
	// Deal lays the game out; it may remember what it laid out before.
	Deal Dealer
	// Placements are those that the game's ending revealed, by seat; none where it
	// had nothing to place.
	Placements []RevealedPlacement
	// Outages are all that are on record, in order of time; none where the
	// record is not at hand.
	Outages []Outage
}

// Rejudge decides again what a log records: e is the event that a command, or
// time alone, made first, in the state before it. The decision has the events
// that had to follow, e itself among them, or the refusal that the command
// deserved. Nothing in it was taken from the log but what came from outside: the
// command's content, its time, who sent it, the commitments.
//
// An error that is no refusal means that no command and no time makes such an
// event, or not there.
func Rejudge(s *State, e *Event, h Hindsight) (Decision, error) {
	d := newDecision(s, Env{Arrival: e.Time, Now: e.Time, Deal: h.Deal})
	d.seed, d.committed = &h.Seed, &h.Next
	d.placements = make([]string, len(s.Players))
	for seat := range d.placements[:min(len(d.placements), len(h.Placements))] {
		d.placements[seat] = h.Placements[seat].Placement
	}
	switch e.Kind {
	case EventMatchCreated:
		return d.recreate(e)
	case EventExpired, EventPlacementExpired:
		d.env.Outages = h.Outages
		return d.reexpire()
	case EventClockPaused:
		return d.repause(e)
	case EventCompensation:
		return recompensate(s, e)
	}
	c, err := s.commandOf(e)
	if err != nil {
		return Decision{}, err
	}
	if placed, ok := c.(*SubmitPlacement); ok {
		if err := placed.recall(e, h.Placements); err != nil {
			return Decision{}, err
		}
	}
	if refusal := s.forbidden(c.header()); refusal != nil {
		return Decision{Own: -1, Refusal: refusal}, nil
	}
	return d.decide(c)
}

// recall finds the placement that an event committed to: the one revealed at the
// game's end or, if a later attempt took its place, only its commitment.
func (c *SubmitPlacement) recall(e *Event, revealed []RevealedPlacement) error {
	detail, err := e.Placed()
	if err != nil {
		return err
	}
	if int(c.Seat) >= len(revealed) {
		return unexplained("seat %d has no placement that was revealed", c.Seat)
	}
	if last := &revealed[c.Seat]; detail.Attempt < last.Attempt {
		c.superseded = &detail.Commitment
	} else {
		c.Placement = last.Placement
	}
	return nil
}

// unexplained is the error for an event that nothing makes.
func unexplained(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errReplay, fmt.Sprintf(format, args...))
}

func (d *decision) recreate(e *Event) (Decision, error) {
	s := d.State
	detail, err := e.Created()
	if err != nil {
		return Decision{}, err
	}
	if s.Game.Number != 0 {
		return Decision{}, unexplained("the match is created twice")
	}
	s.ID, d.committed = e.Match, &detail.Commitment
	return d.create(&CreateMatch{
		Caller:    Caller{Platform: detail.Platform, Principal: e.Principal},
		RequestID: e.RequestID, ExternalRef: detail.ExternalRef, TableRef: detail.TableRef, Players: detail.Players,
		Rules: s.Rules, Stake: detail.Stake, Charges: detail.Charges, Balances: detail.Balances, FirstSeat: detail.FirstSeat,
	})
}

// reexpire lets the running turn expire, unless an outage paused it before.
func (d *decision) reexpire() (Decision, error) {
	deadline, running := d.State.Deadline()
	if !running {
		return Decision{}, unexplained("no turn can expire: no clock runs")
	}
	outage, paused := d.nextOutage()
	var err error
	if paused && outage.From < deadline {
		err = d.pause(outage)
	} else {
		err = d.expire(deadline)
	}
	return d.Decision, err
}

func (d *decision) repause(e *Event) (Decision, error) {
	detail, err := e.Paused()
	if err != nil {
		return Decision{}, err
	}
	d.env.Outages = []Outage{Outage(detail)}
	outage, paused := d.nextOutage()
	deadline, _ := d.State.Deadline()
	if !paused || outage.From >= deadline || outage.From >= outage.Until {
		return Decision{}, unexplained("the outage does not concern a running turn")
	}
	err = d.pause(outage)
	return d.Decision, err
}

func recompensate(s *State, e *Event) (Decision, error) {
	detail, err := e.Compensation()
	if err != nil {
		return Decision{}, err
	}
	c := &CompensateSettlement{Header: s.headerOf(e), Settlement: detail.Settlement, Note: detail.Note}
	c.Game, c.Expected, c.Caller.Name = detail.Game, s.Compensations.Seq+1, detail.Operator
	return Compensate(s, c, Env{Arrival: e.Time, Now: e.Time})
}

// headerOf is the header of the command that made an event. Its number is the
// one that was due, since the log's own is compared afterwards.
func (s *State) headerOf(e *Event) Header {
	_, _, seq := s.Present()
	return Header{Caller: Caller{Platform: s.Platform, Principal: e.Principal}, Match: e.Match, Game: e.Game,
		RequestID: e.RequestID, Expected: seq, Seat: e.Seat}
}

// commandOf returns the command that must have made an event.
func (s *State) commandOf(e *Event) (Command, error) {
	switch e.Kind {
	case EventServerPly, EventGameEnded, EventMatchEnded, EventPlayBegan, EventTurnPassed, EventSeatOut, EventSeatLeft:
		return nil, unexplained("%s follows from nothing before it", e.Kind)
	}
	if e.RequestID == (ID{}) {
		return nil, unexplained("a call makes it, and calls have a request id")
	}
	if (e.Seat == rules.NoSeat) == bySeat(e.Kind) {
		return nil, unexplained("seat %d can't do that", e.Seat)
	}
	h := s.headerOf(e)
	switch e.Kind {
	case EventGameStarted:
		detail, err := e.Started()
		return &StartGame{Header: h, Balances: detail.Balances, HoldIDs: detail.HoldIDs, PlayerSeeds: detail.PlayerSeeds}, err
	case EventPly, EventIllegalAttempt:
		_, h.Expected, _ = s.Present()
		return &PlayAction{Header: h, Action: e.Action, ClientHash: e.ClientHash}, nil
	case EventDrawOffered:
		return &OfferDraw{Header: h}, nil
	case EventDrawWithdrawn:
		return &WithdrawDraw{Header: h}, nil
	case EventDrawAccepted, EventDrawDeclined:
		return &AnswerDraw{Header: h, Accept: e.Kind == EventDrawAccepted}, nil
	case EventCountRequested:
		return &RequestCount{Header: h}, nil
	case EventResigned:
		return &Resign{Header: h}, nil
	case EventOpeningEnded:
		return &CallTime{Header: h}, nil
	case EventPlacementSubmitted:
		return &SubmitPlacement{Header: h}, nil
	}
	return s.commandOfDetail(e, h)
}

// commandOfDetail is commandOf for the kinds whose detail is the command's.
func (s *State) commandOfDetail(e *Event, h Header) (Command, error) {
	switch e.Kind {
	case EventMatchVoided, EventMatchAbandoned:
		detail, err := e.Leave()
		if e.Kind == EventMatchVoided {
			return &VoidMatch{Header: h, Note: detail.Note}, err
		}
		return &AbandonMatch{Header: h, Note: detail.Note, Balances: detail.Balances}, err
	case EventBankCalled, EventDisconnected, EventFoulRuled:
		detail, err := e.Small()
		switch e.Kind {
		case EventBankCalled:
			return &CallTime{Header: h, PortionMS: int64(detail.Number)}, err
		case EventDisconnected:
			return &ReportDisconnect{Header: h, Gone: rules.SeatSet(detail.Number)}, err
		}
		return &RuleFoul{Header: h, Confirm: detail.Number == 1, Note: detail.Note}, err
	}
	return nil, unexplained("%s follows from nothing before it", e.Kind)
}
