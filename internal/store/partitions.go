package store

import "context"

// monthsAhead is how many months after the present one have a partition of the
// log made for them.
const monthsAhead = 13

const sqlEnsurePartitions = `SELECT ensure_events_partitions(now() - interval '1 month', $1)`

// EnsurePartitions makes what is missing of the log's partitions, from the month
// before this one to 13 months ahead, and returns how many it made. It needs the
// rights of the tables' owner, and stops no move.
func (s *Store) EnsurePartitions(ctx context.Context) (made int, err error) {
	err = s.pool.QueryRow(ctx, sqlEnsurePartitions, monthsAhead+2).Scan(&made)
	return made, wrap("make partitions", err)
}
