package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"referee.example/internal/clock"
	"referee.example/internal/referee"
)

const (
	// sqlPutOff moves the wake-up of matches whose deadline has moved on since
	// it was set, of the $1 that woke last: what a sweep has fallen behind with woke
	// before, and to look through all of that each time would have it fall behind
	// further. $2 bounds the walk where nothing is left to find: what has been settled
	// stays in the index until no snapshot of anybody's needs it. Rows that a commit
	// or another sweep holds are left to it; with none waited for there is no order to lock them in. They are named in arrays, whose
	// elements Postgres looks up however many it expects. statement_timestamp, unlike
	// clock_timestamp, can be looked up in an index.
	sqlPutOff = `
WITH woken AS MATERIALIZED (
	SELECT match_id, deadline FROM match_states WHERE wake_at BETWEEN $2 AND statement_timestamp() ORDER BY wake_at DESC LIMIT $1
), early AS MATERIALIZED (
	SELECT match_id FROM match_states
	WHERE match_id = ANY (ARRAY(SELECT match_id FROM woken WHERE deadline IS NULL OR deadline > statement_timestamp()))
		AND wake_at <= statement_timestamp() AND (deadline IS NULL OR deadline > statement_timestamp())
	FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE match_states SET wake_at = deadline WHERE match_id = ANY (ARRAY(SELECT match_id FROM early))`
	// sqlDue ends the grace after a deadline at 250 ms: dark-chess rules, section 5. It
	// walks the index from $2 on, no further than it has to.
	sqlDue = `
WITH due AS MATERIALIZED (
	SELECT match_id, deadline, wake_at FROM match_states
	WHERE wake_at BETWEEN $2 AND statement_timestamp() - interval '250 milliseconds'
		AND deadline <= statement_timestamp() - interval '250 milliseconds'
	ORDER BY wake_at LIMIT $1
)
SELECT match_id, wake_at FROM due ORDER BY deadline, match_id`
)

// putOffAtOnce is how many wake-ups are looked at each time. A sweep that looks ten
// times a second keeps up with 40,000 that come a second.
const putOffAtOnce = 4096

// Due returns the matches whose running turn has expired and whose grace is
// over, at most limit, those that woke first at an instant or later, the longest overdue
// first; and the first of their wake-ups, 0 where there is none. It judges
// nothing and hinders nobody: any number of replicas may call it at once.
func (s *Store) Due(ctx context.Context, from clock.Time, limit int) (ids []referee.ID, first clock.Time, err error) {
	rows, err := s.pool.Query(ctx, sqlDue, limit, timestamp(from))
	if err != nil {
		return nil, 0, wrap("find expired turns", err)
	}
	ids, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (referee.ID, error) {
		var id [16]byte
		var wake time.Time
		err := row.Scan(&id, &wake)
		if at := instant(wake); first == 0 || at < first {
			first = at
		}
		return id, err
	})
	return ids, first, wrap("find expired turns", err)
}

// PutOff puts off the wake-ups, at an instant or later, of matches that a move has given
// a later deadline, so that Due need not pass over them.
func (s *Store) PutOff(ctx context.Context, from clock.Time) error {
	if s.sharded {
		return s.putOffEach(ctx, from)
	}
	_, err := s.pool.Exec(ctx, sqlPutOff, putOffAtOnce, timestamp(from))
	return wrap("put wake-ups off", err)
}
