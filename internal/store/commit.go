package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"go.opentelemetry.io/otel/attribute"

	"referee.example/internal/referee"
)

// commitOne takes the parameters $1 to $26: the match; its events, or the one that
// there is, $2 to $18;
// $19 the version decided on; $20, $21 and $22 the instants of After, Before and
// Known, or null; $23 to $26 the snapshot, the deadline, outages_after, and
// whether wake_at may be put off.
//
// It locks the match's row, judges the guards on it, saves the snapshot and logs
// the events: one statement, so that no lock is held while Go runs. It locks
// first because only then are the row's version and the time what they will be
// at the writing, however long the lock was waited for.
const (
	commitOne = `
WITH held AS MATERIALIZED (
	SELECT version FROM match_states WHERE match_id = $1 FOR NO KEY UPDATE`
	commitOneSaved = `
), judged AS MATERIALIZED (
	SELECT ` + verdictOf + ` AS verdict
	FROM (SELECT version, clock_timestamp() AS now FROM held) h, (VALUES ($19::bigint, $20::timestamptz,
		$21::timestamptz, $22::timestamptz)) AS g (decided_on, after_at, before_at, known_at)
), saved AS (
	UPDATE match_states SET version = version + 1, state = $23, deadline = $24::timestamptz, outages_after = $25,
		wake_at = CASE WHEN $26 THEN $24::timestamptz ELSE least(wake_at, $24::timestamptz) END
	WHERE match_id = $1 AND version = $19 AND (SELECT verdict FROM judged) = 0
	RETURNING 1
), logged AS (
	INSERT INTO events (match_id, ` + eventColumns + `)
	SELECT $1, `
	commitOneAnswer = `
	WHERE EXISTS (SELECT FROM saved)
), answer AS (
	SELECT CASE WHEN EXISTS (SELECT FROM saved) THEN 0
		ELSE coalesce((SELECT greatest(verdict, 1) FROM judged), 4) END AS verdict
)`

	// verdictOf judges the guards g of a change on the row h that is held. While
	// a clock runs a commit needs a heartbeat without a gap, and no outage that
	// ended after Known: the decision did not know it. An expiry needs a sign of life
	// since its deadline, which is 250 ms before After: the heartbeat's next gap may
	// become an outage, and that would have paused the turn before it expired.
	verdictOf = `CASE
		WHEN h.version <> g.decided_on THEN 1
		WHEN h.now < g.after_at THEN 3
		WHEN h.now >= g.before_at THEN 2
		WHEN g.known_at IS NOT NULL AND (
			NOT EXISTS (SELECT FROM heartbeat b WHERE h.now - b.beat_at <= interval '3 seconds')
			OR EXISTS (SELECT FROM outages o WHERE o.until_at > g.known_at)) THEN 1
		WHEN g.after_at IS NOT NULL AND NOT EXISTS (
			SELECT FROM heartbeat b WHERE b.beat_at >= g.after_at - interval '250 milliseconds') THEN 1
		ELSE 0
	END`
)

const (
	commitOneJudged = commitOneSaved + newEvent + ` FROM ` + newEvents + commitOneAnswer

	sqlCommit = commitOne + commitOneJudged + `
SELECT verdict FROM answer`
	// sqlCommitAtOnce waits for no lock: a match whose row is held is missing to it.
	sqlCommitAtOnce = commitOne + ` SKIP LOCKED` + commitOneJudged + `
SELECT verdict FROM answer`
	// sqlCommitEvent does the same for the change that most are: one event, whose columns
	// are no arrays.
	sqlCommitEvent = commitOne + ` SKIP LOCKED` + commitOneSaved + theEvent + commitOneAnswer + `
SELECT verdict FROM answer`
	// sqlCommitFirst begins a transaction of several statements.
	sqlCommitFirst = commitOne + commitOneJudged + `
SELECT require_saved(verdict) FROM answer`
)

// Commit makes the change durable and returns nil, or returns
// referee.ErrConflict, ErrTooLate, ErrTooEarly, ErrOverloaded, ErrRefTaken or
// ErrNotFound (for a match that is not there) with nothing changed. After any
// other error, that of ctx included, the outcome is unknown. The state's version
// is that which was decided on; a new match has none.
func (s *Store) Commit(ctx context.Context, c referee.Change) (err error) {
	ctx, span := tracer.Start(ctx, "commit")
	if span.IsRecording() {
		span.SetAttributes(attribute.String("match_id", c.State.ID.String()), attribute.Int("events", len(c.Events)))
	}
	since := time.Now()
	defer func() {
		measureCommit(ctx, since, err)
		span.End()
	}()
	if c.Create != nil {
		return s.create(ctx, c)
	}
	further, err := furtherWrites(c)
	if err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	if further == nil {
		return s.group.commit(ctx, newPending(ctx, c, nil))
	}
	if ending := further.ending(); ending != nil {
		return s.endings.commit(ctx, newPending(ctx, c, ending))
	}
	return s.commitAll(ctx, c, further)
}

// row is what a change writes to its match's row, and its guards.
type row struct {
	match                pgtype.UUID
	version              int64
	after, before, known *time.Time
	state                []byte
	deadline             *time.Time
	outagesAfter         *time.Time
	putOff               bool
}

func newRow(c referee.Change) row {
	r := row{
		match: uuid(c.State.ID), version: c.State.Version,
		after: timestampOrNull(c.After), before: timestampOrNull(c.Before), known: timestampOrNull(c.Known),
		state: c.State.Snapshot(), putOff: c.Sweep,
	}
	if at, runs := c.State.Deadline(); runs {
		seen, _ := c.State.OutagesAfter()
		r.deadline, r.outagesAfter = timestampOrNull(at), timestampOrNull(seen)
	}
	return r
}

// arguments are the parameters of commitOne.
func (r *row) arguments(events []referee.Event) []any {
	return append(append([]any{r.match}, eventArrays(events)...), r.version,
		r.after, r.before, r.known, r.state, r.deadline, r.outagesAfter, r.putOff)
}

// argumentsOfOne are those of sqlCommitEvent.
func (r *row) argumentsOfOne(e *referee.Event) []any {
	return append(append([]any{r.match}, eventValues(e)...), r.version,
		r.after, r.before, r.known, r.state, r.deadline, r.outagesAfter, r.putOff)
}

// commitAll commits a change that writes to further tables. All statements are
// sent at once and are one transaction, as they stand before one Sync message;
// the first of them fails it unless the match was saved.
func (s *Store) commitAll(ctx context.Context, c referee.Change, further *further) error {
	row := newRow(c)
	batch := &pgx.Batch{}
	if s.sharded {
		batch.QueuedQueries = append(batch.QueuedQueries, commitMove(&row, c.Events, false, true))
	} else {
		batch.Queue(sqlCommitFirst, row.arguments(c.Events)...)
	}
	batch.QueuedQueries = append(batch.QueuedQueries, further.statements()...)
	err := s.send(ctx, "commit", batch)
	if err == nil {
		s.known.committed(c.State, row.version+1, c.Events)
	}
	return err
}

// send sends a batch as one transaction.
func (s *Store) send(ctx context.Context, operation string, batch *pgx.Batch) error {
	// Close executes what is left and returns the first error of all.
	return wrap(operation, s.pool.SendBatch(ctx, batch).Close())
}
