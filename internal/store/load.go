package store

import (
	"context"
	"time"

	"referee.example/internal/referee"
)

const (
	sqlLoad = `
SELECT s.version, s.state,
	h.beat_at IS NULL OR clock_timestamp() - h.beat_at > interval '3 seconds',
	coalesce(s.deadline, 'infinity') <= clock_timestamp() - interval '250 milliseconds'
		AND h.beat_at < clock_timestamp() - interval '250 milliseconds',
	ARRAY (SELECT o.from_at FROM outages o WHERE o.until_at > s.outages_after ORDER BY o.until_at),
	ARRAY (SELECT o.until_at FROM outages o WHERE o.until_at > s.outages_after ORDER BY o.until_at),
	(SELECT o.until_at FROM outages o ORDER BY o.until_at DESC LIMIT 1)
FROM match_states s CROSS JOIN heartbeat h
WHERE s.match_id = $1`
	sqlVersions = `SELECT match_id, version FROM match_states WHERE match_id = ANY ($1)`
)

// Load returns a match as it was committed last, with the outages that concern
// its running turn. Nobody may judge an expiry before a gap in the heartbeat is
// recorded, so it beats first if no replica has for too long; and, where a turn
// has expired, if none has since the last deadline that may be judged: an outage
// that is recorded later must not reach back before it. It returns
// referee.ErrNotFound if there is no such match.
func (s *Store) Load(ctx context.Context, id referee.ID) (referee.Loaded, error) {
	for beaten := false; ; beaten = true {
		loaded, heart, err := s.load(ctx, id)
		if err != nil || !heart.silent && (!heart.old || beaten) {
			return loaded, err
		}
		if _, err := s.Beat(ctx); err != nil {
			return referee.Loaded{}, err
		}
	}
}

// heart is what a loaded match needs to know of the heartbeat: that no replica has
// beaten for too long; that a turn has expired and none has since the last deadline
// that may be judged.
type heart struct{ silent, old bool }

// load is Load without regard to the heartbeat.
func (s *Store) load(ctx context.Context, id referee.ID) (loaded referee.Loaded, h heart, err error) {
	var version int64
	var snapshot []byte
	var from, until []time.Time
	var alive *time.Time
	err = s.pool.QueryRow(ctx, sqlLoad, uuid(id)).Scan(&version, &snapshot, &h.silent, &h.old, &from, &until, &alive)
	if err != nil {
		return loaded, h, wrap("load a match", err)
	}
	for i := range from {
		loaded.Outages = append(loaded.Outages, referee.Outage{From: instant(from[i]), Until: instant(until[i])})
	}
	if alive != nil {
		loaded.AliveSince = instant(*alive)
	}
	loaded.State, err = s.decode(ctx, id, version, snapshot)
	if err == nil {
		s.recent.put(id, version, snapshot)
	}
	return loaded, h, err
}

// Recent returns a match as this replica read or committed it last, nil if it
// does not remember it. Another replica may have changed it since.
func (s *Store) Recent(ctx context.Context, id referee.ID) *referee.State {
	version, snapshot := s.recent.get(id)
	if snapshot == nil {
		recentLookups.Add(ctx, 1, miss)
		return nil
	}
	recentLookups.Add(ctx, 1, hit)
	state, err := s.decode(ctx, id, version, snapshot)
	if err != nil {
		return nil // the caller loads it and meets the fault there
	}
	return state
}

// Versions returns the versions of the matches that there are: a watcher whose
// match has another one reads its log.
func (s *Store) Versions(ctx context.Context, ids []referee.ID) (map[referee.ID]int64, error) {
	rows, err := s.pool.Query(ctx, sqlVersions, uuids(ids))
	if err != nil {
		return nil, wrap("read versions", err)
	}
	defer rows.Close()
	versions := make(map[referee.ID]int64, len(ids))
	for rows.Next() {
		var id [16]byte
		var version int64
		if err := rows.Scan(&id, &version); err != nil {
			return nil, wrap("read versions", err)
		}
		versions[id] = version
	}
	return versions, wrap("read versions", rows.Err())
}
