package store

import (
	"context"
	"time"

	"referee.example/internal/clock"
)

// The heartbeat is the replicas' common sign of life. A gap of more than three
// seconds in it is an outage, which pauses the clocks that it overlaps
// (dark-chess rules, section 5).

// sqlBeat locks the heartbeat before it reads the clock, so that of several
// replicas that come back at once one records the outage and the others see it
// recorded.
const sqlBeat = `
WITH held AS MATERIALIZED (
	SELECT beat_at FROM heartbeat FOR NO KEY UPDATE
), beat AS MATERIALIZED (
	SELECT beat_at AS before, clock_timestamp() AS now FROM held
), outage AS (
	INSERT INTO outages (from_at, until_at)
	SELECT before, now FROM beat WHERE now - before > interval '3 seconds'
)
UPDATE heartbeat SET beat_at = greatest(heartbeat.beat_at, beat.now) FROM beat
RETURNING beat.now`

// Beat shows that a replica is alive; each replica beats every second. If none
// has for more than three seconds it records the outage. It returns the
// database's time, which also keeps Now exact, and shows that the database is the
// one that counts: see fence.go.
func (s *Store) Beat(ctx context.Context) (clock.Time, error) {
	const operation = "beat"
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return 0, wrap(operation, err)
	}
	defer conn.Release()
	sent := time.Now()
	now, err := s.timed(ctx, conn.Conn(), operation, sqlBeat)
	if err == nil {
		s.fence.proved(conn.Conn(), sent)
	}
	return now, err
}
