package referee

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"

	"referee.example/internal/rules"
)

// replayed looks at the request id before anything else: a retry gets its
// first answer again, the same id with other content is refused. found is
// false for a command that is new.
func (r *Referee) replayed(ctx context.Context, s *State, c Command) (answer Answer, found bool, err error) {
	h := c.header()
	first, err := r.firstEvent(ctx, s, h, c.byPly())
	switch {
	case errors.Is(err, ErrNotFound):
		return Answer{}, false, nil
	case err != nil:
		return Answer{}, false, err
	case first.RequestID != h.RequestID || !c.same(&first):
		return Answer{}, false, reused()
	}
	answer, err = r.again(ctx, s, first)
	if placed, ok := c.(*SubmitPlacement); ok && err == nil {
		err = r.samePlacement(answer.State, placed, &first)
	}
	return answer, true, err
}

// wholeLog is beyond any seq.
const wholeLog = math.MaxInt32

// firstEvent returns the event that h's request made, or one that shows the id
// to be used otherwise; ErrNotFound for a new request.
func (r *Referee) firstEvent(ctx context.Context, s *State, h *Header, byPly bool) (Event, error) {
	g := &s.Game
	if h.Game < 1 || h.Game > g.Number {
		return Event{}, ErrNotFound
	}
	next := g.NextSeq()
	if byPly {
		next = g.NextPly()
	}
	if h.Game < g.Number || h.Expected < next {
		if e, err := r.numbered(ctx, h, byPly); err == nil && e.RequestID == h.RequestID {
			return e, nil
		} else if err != nil && !errors.Is(err, ErrNotFound) {
			return Event{}, err
		}
	}
	through := wholeLog
	if h.Game == g.Number {
		if !g.seen.maybe(h.RequestID) {
			return Event{}, ErrNotFound
		}
		through = g.NextSeq() - 1
	}
	used, err := r.store.HasRequest(ctx, h.Match, h.Game, through, h.RequestID)
	if err != nil {
		return Event{}, err
	}
	if !used {
		return Event{}, ErrNotFound
	}
	// The log may have gone on since s was loaded: by this very request, sent
	// twice at once.
	e, err := r.numbered(ctx, h, byPly)
	if errors.Is(err, ErrNotFound) {
		if byPly {
			return r.attemptEvent(ctx, h)
		}
		return Event{}, nil
	}
	return e, err
}

// attemptEvent returns the event of an illegal attempt at the ply that a command
// expects, which became none; the zero event if there was none. Only the last
// request of a game can have been one.
func (r *Referee) attemptEvent(ctx context.Context, h *Header) (Event, error) {
	for seq := max(h.Expected, 1); ; {
		e, err := r.store.RequestEvent(ctx, h.Match, h.Game, seq)
		if errors.Is(err, ErrNotFound) {
			return Event{}, nil
		}
		if err != nil || e.Kind == EventIllegalAttempt && e.RequestID == h.RequestID && e.Ply == h.Expected-1 {
			return e, err
		}
		seq = e.Seq + 1
	}
}

// numbered returns the event of the number that a command expects.
func (r *Referee) numbered(ctx context.Context, h *Header, byPly bool) (Event, error) {
	if byPly {
		return r.store.PlyEvent(ctx, h.Match, h.Game, h.Expected)
	}
	return r.store.RequestEvent(ctx, h.Match, h.Game, h.Expected)
}

// again makes the answer that was given when first was committed: the state
// after it and after the endings that it caused. It may be the first time that it
// is given, and what was found done may be on its way still to where it is safe.
func (r *Referee) again(ctx context.Context, s *State, first Event) (Answer, error) {
	own := []Event{first}
	after, err := r.store.Events(ctx, s.ID, first.Game, first.Seq+1, rules.MaxSeats+2)
	if err != nil {
		return Answer{}, err
	}
	for _, e := range after {
		if !follows(e.Kind) || e.RequestID != (ID{}) {
			break
		}
		own = append(own, e)
	}
	then, err := r.stateAt(ctx, s, first.Game, own[len(own)-1].Seq)
	if err != nil {
		return Answer{}, err
	}
	if err := r.store.Durable(ctx); err != nil {
		return Answer{}, err
	}
	now, err := r.Now()
	if err != nil {
		return Answer{}, err
	}
	return Answer{State: then, Events: own, Replayed: true, Now: now}, nil
}

// follows reports whether events of the kind come of a command's, in its commit.
func follows(k EventKind) bool {
	switch k {
	case EventPlayBegan, EventSeatOut, EventSeatLeft, EventGameEnded, EventMatchEnded:
		return true
	}
	return false
}

// foldPage is how many events a replay reads at a time.
const foldPage = 500

// stateAt replays a match's log up to and including an event of a game; the
// whole of that game for seq 0. s is the match as it stands.
func (r *Referee) stateAt(ctx context.Context, s *State, game, seq int) (*State, error) {
	sealed, err := r.store.SealedSeeds(ctx, s.ID)
	if err != nil {
		return nil, err
	}
	then := &State{Rules: s.Rules, Version: s.Version}
	for number := 1; number <= game; number++ {
		until := 0
		if number == game {
			until = seq
		}
		if err := r.foldGame(ctx, then, s.ID, number, until); err != nil {
			return nil, err
		}
		if then.Game.Number != number || number > len(sealed) {
			return nil, fmt.Errorf("game %d of match %s: %w", number, s.ID, ErrNotFound)
		}
		then.Game.Sealed = sealed[number-1]
	}
	return then, r.recallPlacements(ctx, s, then)
}

// foldGame replays one game's log into s, up to seq or, for 0, to its end.
func (r *Referee) foldGame(ctx context.Context, s *State, id ID, game, seq int) error {
	for from := 1; seq == 0 || from <= seq; {
		limit := foldPage
		if seq != 0 {
			limit = min(limit, seq-from+1)
		}
		events, err := r.store.Events(ctx, id, game, from, limit)
		if err != nil {
			return err
		}
		for i := range events {
			if err := s.replay(&events[i]); err != nil {
				return err
			}
		}
		if len(events) < limit {
			return nil
		}
		from += len(events)
	}
	return nil
}

// NewReplay returns the state before a match's first event, for Replay and
// Rejudge to take its log in.
func NewReplay(r *Rules) *State { return &State{Rules: r} }

// Replay applies an event of the log as it stands there. It checks that the log
// is one of numbers, times, plies, captures, clocks and hashes that follow from
// each other; Rejudge checks that each event had to be as it is.
func (s *State) Replay(e *Event) error { return s.replay(e) }

// replay applies a stored event and compares what it records with what the
// rules say happened.
func (s *State) replay(e *Event) error {
	head := s.Game.Head
	if e.Seq == 1 {
		head = [32]byte{}
	}
	effect, err := s.apply(e)
	if err != nil {
		return err
	}
	otherDetail := onBoard(e.Kind) && !bytes.Equal(effect.Detail, e.Detail)
	if effect.Captured != e.Captured || otherDetail || e.Ply != s.Game.Position.Ply() {
		return fmt.Errorf("%w: event %d of game %d records another ply", errReplay, e.Seq, e.Game)
	}
	if len(e.Clocks) > 0 && !bytes.Equal(e.Clocks, s.Game.Clock.AppendStores(nil)) {
		return fmt.Errorf("%w: event %d of game %d records other clocks", errReplay, e.Seq, e.Game)
	}
	if e.chain(head) != e.Hash {
		return fmt.Errorf("%w: event %d of game %d breaks the chain", errReplay, e.Seq, e.Game)
	}
	s.Game.Head = e.Hash
	return nil
}
