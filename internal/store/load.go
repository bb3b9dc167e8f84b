package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"referee.example/internal/referee"
)

const (
	sqlLoad     = loadColumns + `= $1`
	sqlLoadMany = loadColumns + `= ANY ($1)`
	loadColumns = `
SELECT s.match_id, s.version, s.state,
	h.beat_at IS NULL OR clock_timestamp() - h.beat_at > interval '3 seconds',
	coalesce(s.deadline, 'infinity') <= clock_timestamp() - interval '250 milliseconds'
		AND h.beat_at < clock_timestamp() - interval '250 milliseconds',
	ARRAY (SELECT o.from_at FROM outages o WHERE o.until_at > s.outages_after ORDER BY o.until_at),
	ARRAY (SELECT o.until_at FROM outages o WHERE o.until_at > s.outages_after ORDER BY o.until_at),
	(SELECT o.until_at FROM outages o ORDER BY o.until_at DESC LIMIT 1)
FROM match_states s CROSS JOIN heartbeat h
WHERE s.match_id `
	sqlVersions = `SELECT match_id, version FROM match_states WHERE match_id = ANY ($1)`
)

// Load returns a match as it was committed last, with the outages that concern
// its running turn. Nobody may judge an expiry before a gap in the heartbeat is
// recorded, so it beats first if no replica has for too long; and, where a turn
// has expired, if none has since the last deadline that may be judged: an outage
// that is recorded later must not reach back before it. It returns
// referee.ErrNotFound if there is no such match.
func (s *Store) Load(ctx context.Context, id referee.ID) (referee.Loaded, error) {
	matches, err := s.load(ctx, sqlLoad, uuid(id))
	switch {
	case err != nil:
		return referee.Loaded{}, err
	case len(matches) == 0:
		return referee.Loaded{}, fmt.Errorf("load a match: %w", referee.ErrNotFound)
	}
	return s.loaded(ctx, &matches[0])
}

// LoadedOrError is one of the matches that LoadMany was asked for.
type LoadedOrError struct {
	Match referee.ID
	referee.Loaded
	Err error // its row can't be read; the others are not concerned
}

// LoadMany is Load for many matches at once, in any order. Those that there are
// not are left out.
func (s *Store) LoadMany(ctx context.Context, ids []referee.ID) ([]LoadedOrError, error) {
	matches, err := s.load(ctx, sqlLoadMany, uuids(ids))
	if err != nil {
		return nil, err
	}
	all := make([]LoadedOrError, len(matches))
	for i := range matches {
		all[i].Match = matches[i].id
		all[i].Loaded, all[i].Err = s.loaded(ctx, &matches[i])
	}
	return all, nil
}

// loadedRow is a match's row, with what judging it needs besides.
type loadedRow struct {
	id          referee.ID
	version     int64
	snapshot    []byte
	silent      bool // no replica has beaten for too long
	old         bool // a turn has expired and none has since the last deadline that may be judged
	from, until []time.Time
	alive       *time.Time // the end of the latest outage
}

// load reads rows and beats, where that is needed, before it reads them again.
func (s *Store) load(ctx context.Context, query string, which any) ([]loadedRow, error) {
	for beaten := false; ; beaten = true {
		rows, err := s.pool.Query(ctx, query, which)
		if err != nil {
			return nil, wrap("load a match", err)
		}
		matches, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r loadedRow, err error) {
			err = row.Scan((*[16]byte)(&r.id), &r.version, &r.snapshot, &r.silent, &r.old, &r.from, &r.until, &r.alive)
			return r, err
		})
		if err != nil {
			return nil, wrap("load a match", err)
		}
		if !slices.ContainsFunc(matches, func(r loadedRow) bool { return r.silent || r.old && !beaten }) {
			return matches, nil
		}
		if _, err := s.Beat(ctx); err != nil {
			return nil, err
		}
	}
}

func (s *Store) loaded(ctx context.Context, r *loadedRow) (loaded referee.Loaded, err error) {
	for i := range r.from {
		loaded.Outages = append(loaded.Outages, referee.Outage{From: instant(r.from[i]), Until: instant(r.until[i])})
	}
	if r.alive != nil {
		loaded.AliveSince = instant(*r.alive)
	}
	loaded.State, err = s.decode(ctx, r.id, r.version, r.snapshot)
	if err == nil {
		own := *loaded.State
		s.known.recent.put(&own)
	}
	return loaded, err
}

// Recent returns a match as this replica read or committed it last, nil if it
// does not remember it. Another replica may have changed it since. The caller does
// not change it: others get the same one.
func (s *Store) Recent(ctx context.Context, id referee.ID) *referee.State {
	state := s.known.recent.get(id)
	if state == nil {
		recentLookups.Add(ctx, 1, miss)
		return nil
	}
	recentLookups.Add(ctx, 1, hit)
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
