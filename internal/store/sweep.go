package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"referee.example/internal/referee"
)

const (
	// sqlPutOff moves the wake-up of matches whose deadline has moved on since
	// it was set. Rows that a commit or another sweep holds are left to it; with
	// none waited for there is no order to lock them in. statement_timestamp, unlike
	// clock_timestamp, can be looked up in an index.
	sqlPutOff = `
WITH early AS MATERIALIZED (
	SELECT match_id FROM match_states
	WHERE wake_at <= statement_timestamp() AND (deadline IS NULL OR deadline > statement_timestamp())
	ORDER BY wake_at LIMIT $1
	FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE match_states s SET wake_at = s.deadline FROM early WHERE s.match_id = early.match_id`
	// sqlDue ends the grace after a deadline at 250 ms: dark-chess rules, section 5.
	sqlDue = `
SELECT match_id FROM match_states
WHERE wake_at <= statement_timestamp() - interval '250 milliseconds'
	AND deadline <= statement_timestamp() - interval '250 milliseconds'
ORDER BY deadline, match_id LIMIT $1`
)

// Due returns the matches whose running turn has expired and whose grace is
// over, the longest overdue first, at most limit. It first puts off the wake-up
// of those, at most limit, that a move has given a later deadline. It judges
// nothing and hinders nobody: any number of replicas may call it at once.
func (s *Store) Due(ctx context.Context, limit int) ([]referee.ID, error) {
	if err := s.putOff(ctx, limit); err != nil {
		return nil, err
	}
	rows, err := s.pool.Query(ctx, sqlDue, limit)
	if err != nil {
		return nil, wrap("find expired turns", err)
	}
	ids, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (id referee.ID, err error) {
		var raw [16]byte
		err = row.Scan(&raw)
		return raw, err
	})
	return ids, wrap("find expired turns", err)
}

func (s *Store) putOff(ctx context.Context, limit int) error {
	if s.sharded {
		return s.putOffEach(ctx, limit)
	}
	_, err := s.pool.Exec(ctx, sqlPutOff, limit)
	return wrap("put wake-ups off", err)
}
