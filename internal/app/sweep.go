package app

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"referee.example/internal/clock"
	"referee.example/internal/referee"
	"referee.example/internal/store"
)

const (
	sweepEvery = 100 * time.Millisecond
	// sweepLook is how many of the longest overdue matches are looked at, sweepBatch
	// how many of them are loaded in one statement, and sweepAtWork how many are
	// settled at once: two batches, so that one is decided on while the other commits.
	sweepLook, sweepBatch = 1024, 64
	sweepAtWork           = 2 * sweepBatch
	// sweepLeast is the room that a part of a batch waits for: a statement that loads
	// one match costs as much as one that loads many.
	sweepLeast = sweepBatch / 4
	// lookBack is how long ago a match may have woken that nobody has found yet, but for
	// the looks at everything; in microseconds.
	lookBack = 2_000_000
	// wholeSweep is how many looks by the clock there are to one at everything.
	wholeSweep = 5
	// settleTimeout frees the place of a match that does not get through.
	settleTimeout = 5 * time.Second
	// maxSweepPause bounds the wait after the database failed: when it is back,
	// what is due must still be adjudicated within the second.
	maxSweepPause = 500 * time.Millisecond
	// maxMatchPause bounds the wait before a match is tried again that failed.
	maxMatchPause = time.Minute
	// suspicious is how often in a row a match may be taken from the sweep and
	// still be due before that is told.
	suspicious = 10
)

// sweep adjudicates expiries that nobody asks about. Replicas' sweeps may work
// side by side: the version of a match lets one of them commit. Its fields
// belong to the goroutine of run.
type sweep struct {
	store   *store.Store
	referee *referee.Referee
	logger  *slog.Logger

	phase   uint64 // where this replica begins: see nearest
	queue   []referee.ID
	full    bool // more is due than was queued
	busy    map[referee.ID]bool
	failing map[referee.ID]*failure
	looks   int           // by the clock
	from    clock.Time    // no match that woke before is due, as far as is known: see begin
	pause   time.Duration // after a failure of the database
	resume  time.Time
	settled chan settled
}

// failure is a match that could not be settled; it must not keep others waiting.
type failure struct {
	pause time.Duration
	retry time.Time
	lost  int // races in a row
}

type settled struct {
	match   referee.ID
	changed bool
	err     error
}

func newSweep(s *store.Store, r *referee.Referee, logger *slog.Logger) *sweep {
	return &sweep{
		store: s, referee: r, logger: logger, phase: anywhere(),
		busy: map[referee.ID]bool{}, failing: map[referee.ID]*failure{},
		settled: make(chan settled, sweepAtWork),
	}
}

// run works until ctx ends and nothing is at work.
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
			s.begin(ctx)
			s.look(ctx)
		case done := <-s.settled:
			s.finish(ctx, done)
			if s.full && len(s.queue) == 0 && len(s.busy) <= sweepAtWork-sweepBatch {
				s.look(ctx)
			}
		}
		s.start(ctx)
	}
}

// begin spares looks the matches that have gone on since they were to be looked at.
// A long snapshot of somebody's, such as that of an ANALYZE, keeps those that were settled in
// the index, which a walk from its beginning would pass each time; so most begin where
// the last found something, and one in a few at the beginning, for what woke late.
func (s *sweep) begin(ctx context.Context) {
	if s.looks++; s.looks%wholeSweep == 0 {
		s.from = 0
	}
	if time.Now().Before(s.resume) {
		return
	}
	if err := s.store.PutOff(ctx, s.from); err != nil {
		s.wait(ctx, "sweep could not put off what is not due", err)
	}
}

// wait has the sweep ask nothing for a while, the longer the more often it failed.
func (s *sweep) wait(ctx context.Context, message string, err error) {
	s.pause = min(max(2*s.pause, sweepEvery), maxSweepPause)
	s.resume, s.full = time.Now().Add(s.pause), false
	if ctx.Err() == nil {
		s.logger.Warn(message, "error", err)
	}
}

// look asks what is due, once everything found before has been begun.
func (s *sweep) look(ctx context.Context) {
	now := time.Now()
	if len(s.queue) > 0 || now.Before(s.resume) {
		return
	}
	limit := sweepLook + len(s.busy) + len(s.failing)
	due, first, err := s.store.Due(ctx, s.from, limit)
	if err != nil {
		s.wait(ctx, "sweep could not ask what is due", err)
		return
	}
	if at, err := s.store.Now(); first != 0 {
		s.from = first
	} else if err == nil {
		s.from = at - lookBack
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
	s.queue = nearest(s.queue, s.phase)
}

// anywhere is a random place among the matches.
func anywhere() uint64 { return rand.Uint64() } //nolint:gosec // which match is settled first is no secret

// nearest returns the at most sweepBatch ids that come first from a phase on, in
// the order of their random bytes, where the last is followed by the first.
// Replicas that see the same matches due would else settle the same ones at the
// same time, all but one of them in vain. Each begins at a random phase, goes on
// as matches are settled, and begins elsewhere when it meets another: nobody has
// to know how many there are, and one that dies leaves nothing undone.
func nearest(ids []referee.ID, phase uint64) []referee.ID {
	distance := func(id referee.ID) uint64 { return binary.BigEndian.Uint64(id[8:])<<2 - phase }
	slices.SortFunc(ids, func(a, b referee.ID) int { return cmp.Compare(distance(a), distance(b)) })
	return ids[:min(sweepBatch, len(ids))]
}

// start takes up what is queued, as far as there is room for it.
func (s *sweep) start(ctx context.Context) {
	n := min(len(s.queue), sweepAtWork-len(s.busy))
	if n == 0 || n < len(s.queue) && n < sweepLeast {
		return
	}
	batch := s.queue[:n]
	s.queue = s.queue[n:]
	for _, id := range batch {
		s.busy[id] = true
	}
	go s.settle(ctx, batch)
}

// settle loads matches together and settles each by itself, so that their commits
// meet in one group and none waits for another's trouble.
func (s *sweep) settle(ctx context.Context, batch []referee.ID) {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	matches, err := s.store.LoadMany(ctx, batch)
	missing := make(map[referee.ID]bool, len(batch))
	for _, id := range batch {
		missing[id] = true
	}
	open := len(matches)
	ended := make(chan struct{}, len(matches))
	for i := range matches {
		m := &matches[i]
		delete(missing, m.Match)
		go func() {
			done := settled{match: m.Match, err: m.Err}
			if done.err == nil {
				done.changed, done.err = s.referee.SettleLoaded(ctx, m.Loaded)
			}
			s.settled <- done
			ended <- struct{}{}
		}()
	}
	for id := range missing {
		s.settled <- settled{match: id, err: err}
	}
	for range open {
		<-ended
	}
	cancel()
}

// finish notes how a match fared.
func (s *sweep) finish(ctx context.Context, done settled) {
	delete(s.busy, done.match)
	lost := errors.Is(done.err, referee.ErrConflict)
	if lost || done.err == nil && !done.changed {
		s.phase = anywhere()
	}
	switch {
	case done.err == nil:
		delete(s.failing, done.match)
	case ctx.Err() != nil:
	case lost, errors.Is(done.err, referee.ErrTooEarly), errors.Is(done.err, referee.ErrTooLate):
		s.lost(done)
	default:
		failed := s.failed(done.match)
		failed.pause = min(max(2*failed.pause, sweepEvery), maxMatchPause)
		failed.retry = time.Now().Add(failed.pause)
		s.logger.Error("sweep could not settle a match", "match_id", done.match.String(), "error", done.err)
	}
}

// lost notes that a commit did not get through: another's doing, mostly another
// replica's, and the match is simply due again. If that goes on it is told, because
// somebody who can stop commits may want to see what they would have revealed.
func (s *sweep) lost(done settled) {
	failed := s.failed(done.match)
	failed.lost++
	if failed.lost%suspicious == 0 {
		s.logger.Warn("sweep was kept from settling a match", "match_id", done.match.String(), "times", failed.lost, "error", done.err)
	}
}

func (s *sweep) failed(id referee.ID) *failure {
	failed := s.failing[id]
	if failed == nil {
		failed = &failure{}
		s.failing[id] = failed
	}
	return failed
}
