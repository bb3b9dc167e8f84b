package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"referee.example/internal/referee"
)

const (
	// monthsAhead is how many months after the present one have a partition of the
	// log made for them unless somebody says otherwise.
	monthsAhead = 13
	// MaxMonthsAhead is the most that anybody may say.
	MaxMonthsAhead = 120
	// namedMatches is how many live matches a LiveMatchesError names.
	namedMatches = 20
	// detachWait is how long detaching and packing wait for the transactions that use the
	// log. What it has begun by then the next call finishes.
	detachWait = 30 * time.Second
)

var (
	// ErrMonthsAhead means that a number of months is out of range.
	ErrMonthsAhead = fmt.Errorf("the months ahead must be 1 to %d", MaxMonthsAhead)
	// ErrRecent means that a month is too new to be detached.
	ErrRecent = errors.New("this month and the one before it stay in the log: only older ones can be detached")
)

const (
	sqlEnsurePartitions = `SELECT ensure_events_partitions(now() - interval '1 month', $1)`
	// A month's table is found by its name, so that detached ones are too.
	sqlPartitions = `
SELECT t.name, t.month, t.attached, t.pending, t.events, pg_total_relation_size(t.oid),
	CASE WHEN t.attached THEN (SELECT count(*) FROM matches m WHERE m.status < 4
		AND m.match_id >= first_match_id(t.month)
		AND m.match_id < first_match_id((t.month AT TIME ZONE 'UTC' + interval '1 month') AT TIME ZONE 'UTC')) ELSE 0 END
FROM (
	SELECT c.oid, c.relname::text AS name, i.inhrelid IS NOT NULL AS attached, coalesce(i.inhdetachpending, false) AS pending,
		c.reltuples::bigint AS events,
		make_timestamptz(substr(c.relname, 8, 4)::integer, substr(c.relname, 13, 2)::integer, 1, 0, 0, 0, 'UTC') AS month
	FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid AND i.inhparent = 'events'::regclass
	WHERE c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'events'::regclass)
		AND c.relkind = 'r' AND c.relname ~ '^events_[0-9]{4}_(0[1-9]|1[0-2])$'
) AS t ORDER BY t.name`
	sqlLiveMatches = `
SELECT match_id FROM matches WHERE status < 4 AND match_id < first_match_id($1) ORDER BY match_id LIMIT $2`
	sqlDetachable = `SELECT $1 <= (date_trunc('month', now() AT TIME ZONE 'UTC') - interval '1 month') AT TIME ZONE 'UTC'`
	// Detaching drops what the log's own trigger made for the partition.
	guardDetached = `CREATE OR REPLACE TRIGGER detached_append_only BEFORE UPDATE OR DELETE ON %s
	FOR EACH ROW EXECUTE FUNCTION refuse_change()`
)

// Partition is a month of the log: the events of the matches created in it.
type Partition struct {
	Name  string
	Month time.Time // its first instant, UTC
	// Attached is false for a table that was taken out of the log and is kept.
	// Pending is set while a detaching that was broken off waits to be finished.
	Attached, Pending bool
	Events            int64 // the database's estimate; negative for none yet
	Bytes             int64 // with indexes
	Live              int   // matches of the month that go on
}

// LiveMatchesError refuses to detach months in which matches still go on.
type LiveMatchesError struct {
	Before  time.Time
	Matches []referee.ID // the oldest, at most 20
	More    bool         // there are others
}

func (e *LiveMatchesError) Error() string {
	text := fmt.Sprintf("matches from before %s still go on:", e.Before.Format("2006-01"))
	for _, id := range e.Matches {
		text += " " + id.String()
	}
	if e.More {
		text += " and more"
	}
	return text
}

// EnsurePartitions makes what is missing of the log's partitions, from the month
// before this one to 13 months ahead, and returns how many it made. It needs the
// rights of the tables' owner, and stops no move.
func (s *Store) EnsurePartitions(ctx context.Context) (made int, err error) {
	return s.EnsurePartitionsAhead(ctx, monthsAhead)
}

// EnsurePartitionsAhead is EnsurePartitions for 1 to MaxMonthsAhead months ahead,
// or returns ErrMonthsAhead.
func (s *Store) EnsurePartitionsAhead(ctx context.Context, months int) (made int, err error) {
	if months < 1 || months > MaxMonthsAhead {
		return 0, ErrMonthsAhead
	}
	err = s.pool.QueryRow(ctx, sqlEnsurePartitions, months+2).Scan(&made)
	return made, wrap("make partitions", err)
}

// Partitions returns the months of the log, oldest first, detached ones too.
func (s *Store) Partitions(ctx context.Context) ([]Partition, error) {
	rows, err := s.pool.Query(ctx, sqlPartitions)
	if err != nil {
		return nil, wrap("list partitions", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p Partition, err error) {
		err = row.Scan(&p.Name, &p.Month, &p.Attached, &p.Pending, &p.Events, &p.Bytes, &p.Live)
		p.Month = p.Month.UTC()
		return p, err
	})
	return list, wrap("list partitions", err)
}

// DetachPartitions takes the months before an instant out of the log, oldest
// first, and returns the names of their tables, which stay where they are, append
// only. Moves go on meanwhile. Errors, with nothing detached: ErrRecent,
// *LiveMatchesError. Of any other, the months whose names come with it are
// detached; a call to come finishes what was begun.
func (s *Store) DetachPartitions(ctx context.Context, before time.Time) (detached []string, err error) {
	var old bool
	if err := s.pool.QueryRow(ctx, sqlDetachable, before).Scan(&old); err != nil {
		return nil, wrap("detach partitions", err)
	}
	if !old {
		return nil, ErrRecent
	}
	if err := s.noneLive(ctx, before); err != nil {
		return nil, err
	}
	months, err := s.Partitions(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range months {
		// One that is not attached may lack its guard, if it was broken off there.
		if !p.Month.Before(before) {
			break
		}
		if err := s.detach(ctx, p); err != nil {
			return detached, wrap("detach "+p.Name, err)
		}
		if p.Attached {
			detached = append(detached, p.Name)
		}
	}
	return detached, nil
}

// noneLive returns a *LiveMatchesError if a match from before an instant goes on.
// None can begin to: matches are minted now, and one that ended stays so.
func (s *Store) noneLive(ctx context.Context, before time.Time) error {
	rows, err := s.pool.Query(ctx, sqlLiveMatches, before, namedMatches+1)
	if err != nil {
		return wrap("look for live matches", err)
	}
	live, err := pgx.CollectRows(rows, pgx.RowTo[[16]byte])
	if err != nil || len(live) == 0 {
		return wrap("look for live matches", err)
	}
	e := &LiveMatchesError{Before: before, More: len(live) > namedMatches}
	for _, id := range live[:min(len(live), namedMatches)] {
		e.Matches = append(e.Matches, id)
	}
	return e
}

// detach takes one month out. Postgres allows no transaction around it: the log
// stays usable because it is two, with a wait for older ones between.
func (s *Store) detach(ctx context.Context, p Partition) error {
	conn, err := s.patient(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	defer func() { _ = conn.Conn().Close(ctx) }() // with its limits, the pool makes another
	var statements []string
	table := pgx.Identifier{p.Name}.Sanitize()
	switch {
	case p.Pending:
		statements = append(statements, `ALTER TABLE events DETACH PARTITION `+table+` FINALIZE`)
	case p.Attached:
		statements = append(statements, `ALTER TABLE events DETACH PARTITION `+table+` CONCURRENTLY`)
	}
	for _, statement := range append(statements, fmt.Sprintf(guardDetached, table)) {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// patient returns a connection whose statements may take any time, but wait for
// others no longer than detachWait.
func (s *Store) patient(ctx context.Context) (*pgxpool.Conn, error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	_, err = conn.Exec(ctx, fmt.Sprintf(`SET statement_timeout = 0; SET lock_timeout = %d`, detachWait.Milliseconds()))
	if err != nil {
		conn.Release()
		return nil, err
	}
	mayBeCancelled(conn.Conn().PgConn(), true) // or it would go on, without a limit
	return conn, nil
}
