package store

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"referee.example/internal/referee"
)

var (
	meter  = otel.Meter("referee.example/internal/store")
	tracer = otel.Tracer("referee.example/internal/store")
)

// What is measured of each commit. The instruments are made once and do nothing
// until the process has a place for what they measure.
var (
	commitSeconds = must(meter.Float64Histogram("referee.commit.duration", metric.WithUnit("s"),
		metric.WithDescription("Time from a change's coming to its outcome, by outcome"),
		metric.WithExplicitBucketBoundaries(0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5)))
	groupSize = must(meter.Int64Histogram("referee.commit.group_size", metric.WithUnit("{change}"),
		metric.WithDescription("Changes that one statement committed"),
		metric.WithExplicitBucketBoundaries(1, 2, 4, 8, 16, 32, 64, 128, 256)))
	recentLookups = must(meter.Int64Counter("referee.recent.lookups", metric.WithUnit("{lookup}"),
		metric.WithDescription("Matches looked for among those last seen, by whether they were there")))
)

// must returns an instrument. Its error is about the instrument's name alone.
func must[T any](instrument T, err error) T {
	if err != nil {
		panic(err)
	}
	return instrument
}

var (
	hit  = metric.WithAttributeSet(attribute.NewSet(attribute.Bool("found", true)))
	miss = metric.WithAttributeSet(attribute.NewSet(attribute.Bool("found", false)))
)

// outcomes of a commit by its error.
var outcomes = []struct {
	err error
	as  metric.MeasurementOption
}{
	{nil, outcome("committed")},
	{referee.ErrConflict, outcome("conflict")},
	{referee.ErrTooLate, outcome("too_late")},
	{referee.ErrTooEarly, outcome("too_early")},
	{referee.ErrOverloaded, outcome("overloaded")},
}

var failed = outcome("failed")

func outcome(name string) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(attribute.String("outcome", name)))
}

func measureCommit(ctx context.Context, since time.Time, err error) {
	as := failed
	for _, o := range outcomes {
		if errors.Is(err, o.err) {
			as = o.as
			break
		}
	}
	commitSeconds.Record(ctx, time.Since(since).Seconds(), as)
}

// Pool is how the connections are used.
type Pool struct{ Acquired, Idle, Most int32 }

// Pool returns how the connections are used now.
func (s *Store) Pool() Pool {
	stat := s.pool.Stat()
	return Pool{Acquired: stat.AcquiredConns(), Idle: stat.IdleConns(), Most: stat.MaxConns()}
}

// Lags are how far the referee is behind what it promises.
type Lags struct {
	// Expiry is how long the longest overdue turn has been so after its grace; 0
	// while none is.
	Expiry time.Duration
	// Heartbeat is how long ago any replica last showed that it is alive.
	Heartbeat time.Duration
	// Unlogged is how long ago the longest waiting ended game ended that is not in
	// the log of finished games; 0 while none waits.
	Unlogged time.Duration
	// Unsigned is how many games are in that log that its last checkpoint does not
	// cover.
	Unsigned int64
}

// sqlLags looks at the queue's beginning only: it is in the order of the matches'
// creation, and short unless the log is held up.
const sqlLags = `
SELECT coalesce(extract(epoch FROM (SELECT statement_timestamp() - min(deadline) FROM match_states
		WHERE wake_at <= statement_timestamp() - interval '250 milliseconds'
			AND deadline <= statement_timestamp() - interval '250 milliseconds')), 0.25) - 0.25,
	coalesce(extract(epoch FROM (SELECT clock_timestamp() - beat_at FROM heartbeat)), 0),
	coalesce(extract(epoch FROM (SELECT clock_timestamp() - min(g.ended_at)
		FROM (SELECT match_id, game FROM finished_games ORDER BY match_id, game LIMIT 1000) f
		CROSS JOIN LATERAL (SELECT ended_at FROM games WHERE match_id = f.match_id AND game = f.game LIMIT 1) g)), 0),
	coalesce((SELECT size - coalesce(signed_size, 0) FROM log_head), 0)`

// Lags asks the database.
func (s *Store) Lags(ctx context.Context) (Lags, error) {
	var expiry, heartbeat, unlogged float64
	var lags Lags
	if err := s.pool.QueryRow(ctx, sqlLags).Scan(&expiry, &heartbeat, &unlogged, &lags.Unsigned); err != nil {
		return Lags{}, wrap("ask for lags", err)
	}
	lags.Expiry, lags.Heartbeat, lags.Unlogged = seconds(expiry), seconds(heartbeat), seconds(unlogged)
	return lags, nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// ClockError bounds how far this replica's idea of the database's time may be off
// either way; it is -1 before the first sample.
func (s *Store) ClockError() time.Duration {
	s.clock.mu.Lock()
	defer s.clock.mu.Unlock()
	if !s.clock.sampled {
		return -1
	}
	return s.clock.best.errorAt(s.clock.elapsed())
}
