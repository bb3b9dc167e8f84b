package app

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"referee.example/internal/referee"
	"referee.example/internal/store"
)

const (
	sweepEvery   = 100 * time.Millisecond
	sweepWorkers = 8
	// sweepLook is how many of the longest overdue matches are looked at, and
	// sweepBatch how many of them are settled before the next look.
	sweepLook, sweepBatch = 1024, 64
	// settleTimeout frees the worker of a match whose row somebody holds.
	settleTimeout = 5 * time.Second
	// maxSweepPause bounds the wait after the database failed: when it is back,
	// what is due must still be adjudicated within the second.
	maxSweepPause = 500 * time.Millisecond
	// maxMatchPause bounds the wait before a match is tried again that failed.
	maxMatchPause = time.Minute
)

// sweep adjudicates expiries that nobody asks about. Replicas' sweeps may work
// side by side: the version of a match lets one of them commit. Its fields
// belong to the goroutine of run.
type sweep struct {
	store   *store.Store
	referee *referee.Referee
	logger  *slog.Logger

	queue   []referee.ID
	full    bool // more is due than was queued
	busy    map[referee.ID]bool
	failing map[referee.ID]*failure
	pause   time.Duration // after a failure of the database
	resume  time.Time
	settled chan settled
}

// failure is a match that could not be settled; it must not keep others waiting.
type failure struct {
	pause time.Duration
	retry time.Time
}

type settled struct {
	match referee.ID
	err   error
}

func newSweep(s *store.Store, r *referee.Referee, logger *slog.Logger) *sweep {
	return &sweep{
		store: s, referee: r, logger: logger,
		busy: map[referee.ID]bool{}, failing: map[referee.ID]*failure{},
		settled: make(chan settled, sweepWorkers),
	}
}

// run works until ctx ends and no worker is left.
func (s *sweep) run(ctx context.Context) {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			for range s.busy {
				<-s.settled
			}
			return
		case <-ticker.C:
			s.look(ctx)
		case done := <-s.settled:
			s.finish(ctx, done)
			if s.full && len(s.queue) == 0 {
				s.look(ctx)
			}
		}
		s.start(ctx)
	}
}

// look asks what is due, once everything found before has been begun.
func (s *sweep) look(ctx context.Context) {
	now := time.Now()
	if len(s.queue) > 0 || now.Before(s.resume) {
		return
	}
	limit := sweepLook + len(s.busy) + len(s.failing)
	due, err := s.store.Due(ctx, limit)
	if err != nil {
		s.pause = min(max(2*s.pause, sweepEvery), maxSweepPause)
		s.resume, s.full = now.Add(s.pause), false
		if ctx.Err() == nil {
			s.logger.Warn("sweep could not ask what is due", "error", err)
		}
		return
	}
	s.pause = 0
	still := make(map[referee.ID]*failure, len(s.failing))
	for _, id := range due {
		failed := s.failing[id]
		if failed != nil {
			still[id] = failed
		}
		if !s.busy[id] && (failed == nil || !now.Before(failed.retry)) {
			s.queue = append(s.queue, id)
		}
	}
	s.failing = still
	s.full = len(s.queue) > sweepBatch
	s.queue = someOf(s.queue)
}

// someOf returns at most sweepBatch of the ids, whichever. Replicas that see the same
// matches due would else settle the same ones at the same time, all but one of
// them in vain.
func someOf(ids []referee.ID) []referee.ID {
	rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] }) //nolint:gosec // which match is settled first is no secret
	return ids[:min(sweepBatch, len(ids))]
}

// start gives what is queued to free workers.
func (s *sweep) start(ctx context.Context) {
	for len(s.queue) > 0 && len(s.busy) < sweepWorkers {
		id := s.queue[0]
		s.queue = s.queue[1:]
		s.busy[id] = true
		go func() {
			limited, cancel := context.WithTimeout(ctx, settleTimeout)
			defer cancel()
			s.settled <- settled{id, s.referee.Settle(limited, id)}
		}()
	}
}

// finish notes how a match fared. A refusal is another's doing, such as a race
// lost ten times: the match is simply due again. It is told all the same, because
// somebody who can stop commits may want to see what they would have revealed.
func (s *sweep) finish(ctx context.Context, done settled) {
	delete(s.busy, done.match)
	var refusal *referee.Refusal
	switch {
	case done.err == nil:
		delete(s.failing, done.match)
	case ctx.Err() != nil:
	case errors.As(done.err, &refusal):
		s.logger.Warn("sweep was kept from settling a match", "match_id", done.match.String(), "reason", string(refusal.Reason))
	default:
		failed := s.failing[done.match]
		if failed == nil {
			failed = &failure{}
			s.failing[done.match] = failed
		}
		failed.pause = min(max(2*failed.pause, sweepEvery), maxMatchPause)
		failed.retry = time.Now().Add(failed.pause)
		s.logger.Error("sweep could not settle a match", "match_id", done.match.String(), "error", done.err)
	}
}
