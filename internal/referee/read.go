package referee

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"referee.example/internal/clock"
	"referee.example/internal/rules"
)

// CreateMatch creates a match, once for each request.
func (r *Referee) CreateMatch(ctx context.Context, c *CreateMatch) (Answer, error) {
	arrival, err := r.Now()
	if err != nil {
		return Answer{}, err
	}
	for range attempts {
		answer, found, err := r.createdBefore(ctx, c)
		if err != nil || found {
			return answer, err
		}
		env, err := r.env(arrival, nil)
		if err != nil {
			return Answer{}, err
		}
		id, err := newID(env.Now)
		if err != nil {
			return Answer{}, err
		}
		decision, err := Create(c, id, env)
		if err != nil {
			return Answer{}, err
		}
		if decision.Refusal != nil {
			return Answer{}, decision.Refusal
		}
		switch err := r.commit(ctx, &decision, c, false); {
		case err == nil:
			return r.answer(&decision)
		case errors.Is(err, ErrRefTaken):
			return Answer{}, r.refTaken(ctx, c)
		case !retriable(err):
			return Answer{}, err
		}
	}
	return Answer{}, refuse(ReasonContention, "the same match is being created by too many calls at once")
}

// createdBefore answers a request that has created its match already.
func (r *Referee) createdBefore(ctx context.Context, c *CreateMatch) (Answer, bool, error) {
	id, fingerprint, err := r.store.FindCreated(ctx, c.Caller.Platform, c.RequestID)
	if errors.Is(err, ErrNotFound) {
		return Answer{}, false, nil
	}
	if err != nil {
		return Answer{}, false, err
	}
	if string(fingerprint) != string(c.Fingerprint()) {
		return Answer{}, false, reused()
	}
	loaded, err := r.store.Load(ctx, id)
	if err != nil {
		return Answer{}, false, err
	}
	events, err := r.store.Events(ctx, id, 1, 1, 1)
	if err != nil || len(events) == 0 {
		return Answer{}, false, fmt.Errorf("first event of match %s: %w", id, errors.Join(err, ErrNotFound))
	}
	answer, err := r.again(ctx, loaded.State, events[0])
	return answer, true, err
}

// UnlessReused returns err, the fault of a CreateMatch request, unless its
// request id has created a match already, which is what is refused first.
func (r *Referee) UnlessReused(ctx context.Context, c *CreateMatch, err error) error {
	_, _, found := r.store.FindCreated(ctx, c.Caller.Platform, c.RequestID)
	switch {
	case found == nil:
		return reused()
	case errors.Is(found, ErrNotFound):
		return err
	}
	return found
}

func (r *Referee) refTaken(ctx context.Context, c *CreateMatch) error {
	id, err := r.store.FindExternalRef(ctx, c.Caller.Platform, c.ExternalRef)
	if err != nil {
		return err
	}
	return refuse(ReasonExternalRefTaken, "the platform has a match with this external_ref").with("match_id", id.String())
}

// newID mints a UUIDv7 from database time: the ids of matches sort by their
// creation, which is what the log's monthly partitions rest on.
func newID(now clock.Time) (ID, error) {
	dice, err := roll()
	if err != nil {
		return ID{}, err
	}
	return mintID(now, dice.Seed[:10]), nil
}

func mintID(now clock.Time, random []byte) (id ID) {
	binary.BigEndian.PutUint64(id[:8], uint64(now/1000)<<16)
	copy(id[6:], random)
	id[6] = id[6]&0x0f | 0x70
	id[8] = id[8]&0x3f | 0x80
	return id
}

// Compensate proposes or makes a compensating settlement.
func (r *Referee) Compensate(ctx context.Context, c *CompensateSettlement) (Answer, error) {
	arrival, err := r.Now()
	if err != nil {
		return Answer{}, err
	}
	for range attempts {
		loaded, err := r.load(ctx, c.Caller, c.Match)
		if err != nil {
			return Answer{}, err
		}
		answer, found, err := r.compensatedBefore(ctx, loaded.State, c)
		if retriable(err) {
			continue
		} else if err != nil || found {
			return answer, err
		}
		env, err := r.env(arrival, nil)
		if err != nil {
			return Answer{}, err
		}
		decision, err := Compensate(loaded.State, c, env)
		if err != nil {
			return Answer{}, err
		}
		if decision.Refusal != nil {
			return Answer{}, decision.Refusal
		}
		if err := r.commit(ctx, &decision, nil, false); retriable(err) {
			continue
		} else if err != nil {
			return Answer{}, err
		}
		return r.answer(&decision)
	}
	return Answer{}, refuse(ReasonContention, "too many changes of this match at once")
}

// compensatedBefore answers a call that an operator has made before. The log of
// compensations is short, and so is looked through whole. It returns ErrConflict if
// this very call, sent twice at once, was committed after s was loaded.
func (r *Referee) compensatedBefore(ctx context.Context, s *State, c *CompensateSettlement) (Answer, bool, error) {
	e, err := r.compensation(ctx, c)
	if errors.Is(err, ErrNotFound) {
		used, err := r.store.HasRequest(ctx, c.Match, 0, wholeLog, c.RequestID)
		if err != nil || !used {
			return Answer{}, false, err
		}
		// It may have come between the two questions.
		if _, err := r.compensation(ctx, c); errors.Is(err, ErrNotFound) {
			return Answer{}, false, reused()
		} else if err != nil {
			return Answer{}, false, err
		}
		return Answer{}, false, ErrConflict
	}
	if err != nil {
		return Answer{}, false, err
	}
	if e.Seq > s.Compensations.Seq {
		return Answer{}, false, ErrConflict
	}
	if !c.same(&e) {
		return Answer{}, false, reused()
	}
	if err := r.store.Durable(ctx); err != nil {
		return Answer{}, false, err
	}
	now, err := r.Now()
	return Answer{State: s, Events: []Event{e}, Replayed: true, Now: now}, true, err
}

// compensation returns the event that stands where the call expects its own, if it
// has the call's request id; ErrNotFound if not.
func (r *Referee) compensation(ctx context.Context, c *CompensateSettlement) (Event, error) {
	e, err := r.store.RequestEvent(ctx, c.Match, 0, c.Expected)
	if err == nil && e.RequestID != c.RequestID {
		return Event{}, ErrNotFound
	}
	return e, err
}

// SettleLoaded adjudicates what time alone has done to a match that the sweep has
// loaded, and reports whether it committed anything. It tries once: ErrConflict,
// ErrTooLate and ErrTooEarly mean that the match should be looked at again.
func (r *Referee) SettleLoaded(ctx context.Context, loaded Loaded) (bool, error) {
	var window window
	_, changed, err := r.settleOnce(ctx, loaded, true, &window)
	return changed, err
}

// Match returns a match as it stands, expiries that are due adjudicated.
func (r *Referee) Match(ctx context.Context, caller Caller, id ID) (*State, error) {
	var window window
	for range attempts {
		loaded, err := r.load(ctx, caller, id)
		if err != nil {
			return nil, err
		}
		state, _, err := r.settleOnce(ctx, loaded, false, &window)
		if !retriable(err) {
			return state, err
		}
	}
	return nil, refuse(ReasonContention, "too many changes of this match at once")
}

// settleOnce adjudicates what is due in a match and commits that, if it is anything.
func (r *Referee) settleOnce(ctx context.Context, loaded Loaded, sweep bool, w *window) (s *State, changed bool, err error) {
	now, err := r.Now()
	if err != nil {
		return nil, false, err
	}
	env, err := r.env(now, loaded.Outages)
	if err != nil {
		return nil, false, err
	}
	env.Now = w.fit(env.Now)
	decision, err := Settle(loaded.State, env)
	if err != nil {
		return nil, false, err
	}
	if err := r.commit(ctx, &decision, nil, sweep); err != nil {
		w.learn(err, &decision)
		return nil, false, err
	}
	return decision.State, len(decision.Events) > 0, nil
}

// Game returns a match with one of its games as the present one: game 0 is the
// game that is being played, or waits to be started.
func (r *Referee) Game(ctx context.Context, caller Caller, id ID, game int) (*State, error) {
	s, err := r.Match(ctx, caller, id)
	if err != nil {
		return nil, err
	}
	present, _, _ := s.Present()
	switch {
	case game == 0 || game == present:
		then := *s
		then.advance(present)
		return &then, nil
	case game == s.Game.Number:
		return s, nil
	case game < 0 || game > s.Game.Number:
		return nil, notFound()
	}
	return r.stateAt(ctx, s, game, 0)
}

// GameAtPly returns a match as it stood after a ply of a game; for ply 0 before the
// first, if play has begun, or else at the game's start.
func (r *Referee) GameAtPly(ctx context.Context, s *State, game, ply int) (*State, int, error) {
	if ply == 0 {
		seq := 1
		if game == 1 {
			seq = 2 // the match's creation comes before the start
		}
		if s.Rules.family.places() {
			var err error
			if seq, err = r.playBegan(ctx, s.ID, game, seq); err != nil {
				return nil, 0, err
			}
		}
		then, err := r.stateAt(ctx, s, game, seq)
		return then, seq, err
	}
	e, err := r.store.PlyEvent(ctx, s.ID, game, ply)
	if errors.Is(err, ErrNotFound) {
		return nil, 0, notFound()
	}
	if err != nil {
		return nil, 0, err
	}
	then, err := r.stateAt(ctx, s, game, e.Seq)
	return then, e.Seq, err
}

// playBegan returns the event with which play began in a game that was started at
// seq; seq itself if it has not.
func (r *Referee) playBegan(ctx context.Context, id ID, game, seq int) (int, error) {
	for from := seq; ; from += foldPage {
		events, err := r.store.Events(ctx, id, game, from, foldPage)
		if err != nil {
			return 0, err
		}
		for i := range events {
			if events[i].Kind == EventPlayBegan {
				return events[i].Seq, nil
			}
		}
		if len(events) < foldPage {
			return seq, nil
		}
	}
}

// Events returns a game's events from seq on, at most limit.
func (r *Referee) Events(ctx context.Context, id ID, game, seq, limit int) ([]Event, error) {
	return r.store.Events(ctx, id, game, seq, limit)
}

// EventsBetween returns a match's events from one place in its games' logs to another,
// both included, at most limit, in order.
func (r *Referee) EventsBetween(ctx context.Context, id ID, from, to EventPlace, limit int) ([]Event, error) {
	return r.store.EventsBetween(ctx, id, from, to, limit)
}

// FindMatch finds a match of the caller's platform by the request that created
// it or, if that is zero, by the platform's own reference.
func (r *Referee) FindMatch(ctx context.Context, caller Caller, platform string, request ID, ref string) (*State, error) {
	if !caller.sees(platform) {
		return nil, notFound()
	}
	var id ID
	var err error
	if request != (ID{}) {
		id, _, err = r.store.FindCreated(ctx, platform, request)
	} else {
		id, err = r.store.FindExternalRef(ctx, platform, ref)
	}
	if errors.Is(err, ErrNotFound) {
		return nil, notFound()
	}
	if err != nil {
		return nil, err
	}
	return r.Match(ctx, caller, id)
}

// ViewerSeat checks whose view a caller may have of a game of the match, which is
// as it stands, or of the one that it holds.
func (s *State) ViewerSeat(caller Caller, seat rules.Seat, game int) error {
	if seat == rules.NoSeat {
		return nil
	}
	h := Header{Caller: caller, Seat: seat}
	if refusal := s.forbidden(&h); refusal != nil {
		return refusal
	}
	if runs := game >= s.Game.Number && s.Game.Status != GameEnded; runs && s.Rules.Places() && !caller.Plays {
		return refuse(ReasonSeatForbidden, "while the game runs a seat's view is for those who play it")
	}
	return nil
}
