package store

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"referee.example/internal/clock"
)

// MaxClockError is how far, either way, a replica's idea of database time may
// be off for it to judge by.
const MaxClockError = 50 * time.Millisecond

// goodFirstError is the error of a sample that Open takes no other for, and
// mostFirstSamples how many it takes at most.
const (
	goodFirstError   = 5 * time.Millisecond
	mostFirstSamples = 10
)

// driftPPM is how fast the error of a sample is taken to grow: twice what a
// machine's oscillator may be off, for this replica's and the database's.
const driftPPM = 200

// ErrClockUnsure means that database time is not known within MaxClockError.
var ErrClockUnsure = errors.New("the time of the database is not known well enough")

// Clock is a replica's knowledge of database time. It rests on samples of the
// database's clock and on the time elapsed since, by the monotonic clock: the
// machine's wall clock may be set at will. It is safe for concurrent use.
type Clock struct {
	start time.Time // monotonic zero

	mu      sync.Mutex
	sampled bool
	best    sample
	last    clock.Time // what Now returned last
}

// sample is one reading of the database's clock.
type sample struct {
	// offset is database time less elapsed time, if the reading was taken
	// midway between question and answer.
	offset clock.Time
	error  time.Duration // bound at the time of taking
	taken  time.Duration // elapsed
}

// errorAt bounds the sample's error at a later time.
func (s sample) errorAt(elapsed time.Duration) time.Duration {
	return s.error + (elapsed-s.taken)*driftPPM/1_000_000
}

// agrees reports whether two samples can both be right.
func (s sample) agrees(other sample, elapsed time.Duration) bool {
	apart := time.Duration(s.offset-other.offset) * time.Microsecond
	return apart.Abs() <= s.errorAt(elapsed)+other.errorAt(elapsed)
}

// NewClock returns a clock without a sample, which knows nothing yet.
func NewClock() *Clock { return &Clock{start: time.Now()} }

// Now returns the database's time as this replica knows it. It never goes
// back. It returns ErrClockUnsure when it may be off by more than MaxClockError.
func (c *Clock) Now() (clock.Time, error) { return c.at(c.elapsed()) }

func (c *Clock) elapsed() time.Duration { return time.Since(c.start) }

// observe takes a sample: the database's clock read at while the question was
// sent and its answer received at the given elapsed times. The sample with the
// smallest error counts, unless the new one contradicts it: then the database's
// clock was set, or another database answers.
func (c *Clock) observe(sent, received time.Duration, at clock.Time) {
	middle := sent + (received-sent)/2
	next := sample{
		offset: at - clock.Time(middle.Microseconds()),
		error:  (received-sent)/2 + 2*time.Microsecond, // for the cut to microseconds
		taken:  received,
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.sampled || next.error <= c.best.errorAt(received) || !next.agrees(c.best, received) {
		c.best, c.sampled = next, true
	}
}

func (c *Clock) at(elapsed time.Duration) (clock.Time, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.sampled || c.best.errorAt(elapsed) > MaxClockError {
		return 0, ErrClockUnsure
	}
	now := c.best.offset + clock.Time(elapsed.Microseconds())
	if now >= c.last {
		c.last = now
		return now, nil
	}
	// A better sample may move the estimate back a little: time stands until it
	// has caught up. More than that is a database whose clock went back.
	if c.last-now > clock.Time(MaxClockError.Microseconds()) {
		return 0, ErrClockUnsure
	}
	return c.last, nil
}

// Now returns the database's time as this replica knows it: see Clock.
func (s *Store) Now() (clock.Time, error) { return s.clock.Now() }

const sqlNow = `SELECT clock_timestamp()`

// firstSamples reads the database's clock until it is known well, a few times at
// most: the first reading is of a connection that has yet to prepare its statement,
// and a busy machine may hold up any. After that the heartbeat reads it.
func (s *Store) firstSamples(ctx context.Context) error {
	for range mostFirstSamples {
		if err := s.sample(ctx); err != nil {
			return err
		}
		if s.ClockError() <= goodFirstError {
			break
		}
	}
	return nil
}

// sample reads the database's clock.
func (s *Store) sample(ctx context.Context) error {
	const operation = "read the database's time"
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return wrap(operation, err)
	}
	defer conn.Release()
	_, err = s.timed(ctx, conn.Conn(), operation, sqlNow)
	return err
}

// timed sends a query that answers with a reading of the database's clock and
// takes that as a sample.
func (s *Store) timed(ctx context.Context, conn *pgx.Conn, operation, query string) (clock.Time, error) {
	var at time.Time
	sent := s.clock.elapsed() // not before: waiting for a connection is no travel
	if err := conn.QueryRow(ctx, query).Scan(&at); err != nil {
		return 0, wrap(operation, err)
	}
	s.clock.observe(sent, s.clock.elapsed(), instant(at))
	return instant(at), nil
}
