package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"referee.example/internal/referee"
)

// commitMatch locks the match's row, judges the guards on it, saves the
// snapshot and logs the events: one statement, so that no lock is held while Go
// runs. It locks first because only then are the row's version and the time
// what they will be at the writing, however long the lock was waited for.
//
// Parameters: $1 the match, $2 to $18 the events, $19 the version decided on,
// $20 and $21 the instants of After and Before or null, $22 to $25 the snapshot,
// the deadline, outages_after, and whether wake_at may be put off.
//
// A commit with After judges an expiry. It also needs a heartbeat without a gap,
// and no outage that began before that deadline and ended after the decision:
// the decision did not know it. Those seen by the decision have moved the
// deadline beyond their ends.
const commitMatch = `
WITH held AS MATERIALIZED (
	SELECT version FROM match_states WHERE match_id = $1 FOR NO KEY UPDATE
), judged AS MATERIALIZED (
	SELECT CASE
		WHEN h.version <> $19 THEN 1
		WHEN h.now < $20::timestamptz THEN 3
		WHEN h.now >= $21::timestamptz THEN 2
		WHEN $20::timestamptz IS NOT NULL AND (
			NOT EXISTS (SELECT FROM heartbeat b WHERE h.now - b.beat_at <= interval '3 seconds')
			OR EXISTS (SELECT FROM outages o WHERE o.until_at > $20::timestamptz
				AND o.from_at < $20::timestamptz - interval '250 milliseconds')) THEN 1
		ELSE 0
	END AS verdict
	FROM (SELECT version, clock_timestamp() AS now FROM held) h
), saved AS (
	UPDATE match_states SET version = version + 1, state = $22, deadline = $23::timestamptz, outages_after = $24,
		wake_at = CASE WHEN $25 THEN $23::timestamptz ELSE least(wake_at, $23::timestamptz) END
	WHERE match_id = $1 AND version = $19 AND (SELECT verdict FROM judged) = 0
	RETURNING 1
), logged AS (
	INSERT INTO events (match_id, ` + eventColumns + `)
	SELECT $1, ` + eventColumns + ` FROM ` + newEvents + `
	WHERE EXISTS (SELECT FROM saved)
), answer AS (
	SELECT CASE WHEN EXISTS (SELECT FROM saved) THEN 0
		ELSE coalesce((SELECT greatest(verdict, 1) FROM judged), 4) END AS verdict
)`

const (
	sqlCommit = commitMatch + `
SELECT verdict FROM answer`
	// sqlCommitFirst begins a transaction of several statements.
	sqlCommitFirst = commitMatch + `
SELECT require_saved(verdict) FROM answer`
)

// Commit makes the change durable and returns nil, or returns
// referee.ErrConflict, ErrTooLate, ErrTooEarly, ErrRefTaken or ErrNotFound (for
// a match that is not there) with nothing changed. After any other error the
// outcome is unknown. The state's version is that which was decided on; a new
// match has none.
func (s *Store) Commit(ctx context.Context, c referee.Change) error {
	if c.Create != nil {
		return s.create(ctx, c)
	}
	further, err := furtherWrites(c)
	if err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	if further != nil {
		return s.commitAll(ctx, c, further)
	}
	var verdict int
	if err := s.pool.QueryRow(ctx, sqlCommit, commitArguments(c)...).Scan(&verdict); err != nil {
		return wrap("commit", err)
	}
	return verdictError(verdict)
}

func commitArguments(c referee.Change) []any {
	deadline, outagesAfter := running(c.State)
	return append(append([]any{uuid(c.State.ID)}, eventArrays(c.Events)...),
		c.State.Version, timestampOrNull(c.After), timestampOrNull(c.Before),
		c.State.Snapshot(), deadline, outagesAfter, c.Sweep)
}

// running returns the deadline of the running turn, and after which instant an
// outage must have ended to concern it; nulls while no clock runs.
func running(s *referee.State) (deadline, outagesAfter *time.Time) {
	at, runs := s.Deadline()
	if !runs {
		return nil, nil
	}
	seen := timestamp(max(s.Game.Clock.TurnStart, s.Game.OutageSeen))
	end := timestamp(at)
	return &end, &seen
}

// commitAll commits a change that writes to further tables. All statements are
// sent at once and are one transaction, as they stand before one Sync message;
// the first of them fails it unless the match was saved.
func (s *Store) commitAll(ctx context.Context, c referee.Change, further *pgx.Batch) error {
	batch := &pgx.Batch{}
	batch.Queue(sqlCommitFirst, commitArguments(c)...)
	batch.QueuedQueries = append(batch.QueuedQueries, further.QueuedQueries...)
	return s.send(ctx, "commit", batch)
}

// send sends a batch as one transaction.
func (s *Store) send(ctx context.Context, operation string, batch *pgx.Batch) error {
	// Close executes what is left and returns the first error of all.
	return wrap(operation, s.pool.SendBatch(ctx, batch).Close())
}
