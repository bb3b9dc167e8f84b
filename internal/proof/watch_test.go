package proof

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"

	refereev1 "referee.example/proto/referee/v1"
)

// watcher reads a match's events, over as many streams as it takes.
type watcher struct {
	match  string
	token  string // of the last message, from which the next stream goes on
	events []*refereev1.Event
	saw    func() // called after each event; may be nil
}

// read watches until the reason of an end comes, count further events have come
// (0 for no such limit), or the stream breaks.
func (w *watcher) read(ctx context.Context, r *replica, count int) (refereev1.WatchEndReason, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := r.match.WatchMatch(ctx, &refereev1.WatchMatchRequest{MatchId: w.match, ResumeToken: w.token})
	if err != nil {
		return 0, err
	}
	for have := len(w.events); count == 0 || len(w.events) < have+count; {
		message, err := stream.Recv()
		if err != nil {
			return 0, err
		}
		w.token = message.GetResumeToken()
		if event := message.GetEvent(); event != nil {
			w.events = append(w.events, event)
			if w.saw != nil {
				w.saw()
			}
		}
		if end := message.GetEnd(); end != nil {
			if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
				return 0, fmt.Errorf("after its end the stream went on: %w", err)
			}
			return end.GetReason(), nil
		}
	}
	return 0, nil
}

// compare checks that the watcher saw what the record has: each event once, in
// order, without a gap, but for what only auditors are shown.
func (h *house) compare(r *replica, w *watcher, who string) {
	h.t.Helper()
	match, err := r.match.GetMatch(h.as("east"), &refereev1.GetMatchRequest{MatchId: w.match})
	must(h.t, err)
	var want []*refereev1.Event
	for game := uint32(1); game <= match.GetMatch().GetGame(); game++ {
		want = append(want, h.record(r, w.match, game).GetEvents()...)
	}
	if len(w.events) != len(want) {
		h.t.Errorf("%s saw %d events of %d", who, len(w.events), len(want))
	}
	for i := range min(len(w.events), len(want)) {
		if bytesOf(h.t, w.events[i]) != bytesOf(h.t, publicly(want[i])) {
			h.t.Fatalf("%s: event %d is\n%v\nrecorded:\n%v", who, i+1, w.events[i], want[i])
		}
	}
}

// playMatch plays a match to its end: some plies a game and a resignation.
// gate is asked before each call.
func playMatch(ctx context.Context, r *replica, game *refereev1.Game, plies int, gate func()) error {
	dice := rand.New(rand.NewPCG(4, 0))
	for {
		requests, err := next(ctx, r, game, dice)
		if err != nil {
			return err
		}
		request := requests[0]
		if int(game.GetNextPly()) > plies {
			request = resigning(game, game.GetToMove())
		}
		gate()
		change, err := call(ctx, r, request)
		if err != nil {
			return err
		}
		game = change.GetGame()
		if change.GetMatch().GetEndTime() != nil {
			return nil
		}
	}
}

// TestWatchThroughAnotherReplica watches at one replica what is played at
// another: one watcher all the time, one that leaves and comes back with its
// token after each few events, one whose connection is cut.
func TestWatchThroughAnotherReplica(t *testing.T) {
	h := newHouse(t)
	a, b := h.start(), h.start()
	game := h.newMatch(a, h.ruleset(a, "7club-standard", untimed))
	ctx := h.as("east")
	watchers := map[string]func(*watcher) error{
		"the steady watcher": func(w *watcher) error { return w.untilEnd(ctx, b) },
		"the one who comes and goes": func(w *watcher) error {
			for range 20 {
				if _, err := w.read(ctx, b, 3); err != nil {
					return err
				}
			}
			return w.untilEnd(ctx, b)
		},
		"the one who is cut off": func(w *watcher) error {
			for range 5 {
				if err := h.cutOff(ctx, b, w, 7); err != nil {
					return err
				}
			}
			return w.untilEnd(ctx, b)
		},
	}
	var names []string
	for name := range watchers {
		names = append(names, name)
	}
	seen := make([]*watcher, len(names))
	together(t, len(names)+1, func(i int) error {
		if i == len(names) {
			return playMatch(ctx, a, game, 25, func() {})
		}
		seen[i] = &watcher{match: game.GetMatchId()}
		return watchers[names[i]](seen[i])
	})
	for i, name := range names {
		h.compare(a, seen[i], name)
	}
}

// untilEnd watches until the match has ended.
func (w *watcher) untilEnd(ctx context.Context, r *replica) error {
	reason, err := w.read(ctx, r, 0)
	if err == nil && reason != refereev1.WatchEndReason_WATCH_END_REASON_MATCH_ENDED {
		err = fmt.Errorf("the stream ended with %v", reason)
	}
	return err
}

// cutOff watches over a connection of its own that is closed as soon as some
// events have come, while the stream goes on.
func (h *house) cutOff(ctx context.Context, r *replica, w *watcher, count int) error {
	own := h.dial(r.conn.Target())
	stream, err := own.match.WatchMatch(ctx, &refereev1.WatchMatchRequest{MatchId: w.match, ResumeToken: w.token})
	if err != nil {
		return err
	}
	for {
		message, err := stream.Recv()
		if err != nil {
			return nil // cut
		}
		w.token = message.GetResumeToken()
		if event := message.GetEvent(); event != nil {
			if w.events = append(w.events, event); count == 0 {
				if err := own.conn.Close(); err != nil {
					return err
				}
			}
			count--
		}
	}
}

// TestWatchThroughADrainingReplica watches at a replica that goes down in the
// middle of a game: the stream says so and goes on at another.
func TestWatchThroughADrainingReplica(t *testing.T) {
	h := newHouse(t)
	a, b := h.start(), h.start()
	game := h.newMatch(a, h.ruleset(a, "7club-standard", untimed))
	ctx := h.as("east")
	w := &watcher{match: game.GetMatchId()}
	seenSome, moves := make(chan struct{}), 0
	some := sync.OnceFunc(func() { close(seenSome) })
	w.saw = func() {
		if len(w.events) == 10 {
			some()
		}
	}
	together(t, 2, func(i int) error {
		if i == 0 {
			return playMatch(ctx, a, game, 25, func() {
				if moves++; moves == 20 {
					<-seenSome
					b.stop()
				}
			})
		}
		defer some() // nobody waits for a stream that broke
		reason, err := w.read(ctx, b, 0)
		if err != nil {
			return err
		}
		if reason != refereev1.WatchEndReason_WATCH_END_REASON_DRAINING {
			return fmt.Errorf("the stream ended with %v", reason)
		}
		return w.untilEnd(ctx, a)
	})
	h.compare(a, w, "the watcher")
}
