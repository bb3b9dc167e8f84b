package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"referee.example/internal/clock"
	"referee.example/internal/referee"
)

// The games that were incomplete at $2 and come after ($3, $4) in the list: those
// that run, by a partial index, and those whose span from start to end covers the
// instant, by an index over the spans. What is read is bounded by how many games
// are or were under way, not by the history. Each one's match is looked up by its
// key (OFFSET 0 keeps the planner from joining otherwise): how many games an
// instant has is what it guesses worst.
const incompleteGames = `(
	SELECT match_id, game, balances, hold_ids, started_at, ended_at FROM games
	WHERE started_at IS NOT NULL AND ended_at IS NULL AND started_at <= $2 AND (match_id, game) < ($3, $4::smallint)
	UNION ALL
	SELECT match_id, game, balances, hold_ids, started_at, ended_at FROM games
	WHERE started_at IS NOT NULL AND ended_at IS NOT NULL
		AND tstzrange(started_at, greatest(started_at, ended_at)) @> $2::timestamptz AND (match_id, game) < ($3, $4::smallint)
) i CROSS JOIN LATERAL (
	SELECT platform, external_ref, table_ref, player_ids, ruleset_hash, stake, fee, scene_fee, disconnection_penalty
	FROM matches WHERE match_id = i.match_id AND ($1 = '*' OR platform = $1) OFFSET 0
) m`

const (
	sqlListExposure = `
SELECT i.match_id, i.game, m.platform, m.external_ref, m.table_ref, m.player_ids, m.ruleset_hash,
	m.stake, m.fee, m.scene_fee, m.disconnection_penalty, i.balances, i.hold_ids, i.started_at, i.ended_at
FROM ` + incompleteGames + `
ORDER BY i.match_id DESC, i.game DESC LIMIT $5`

	sqlExposures = `
SELECT m.platform, m.ruleset_hash, m.stake, m.fee, m.scene_fee, m.disconnection_penalty, count(*)
FROM ` + incompleteGames + `
GROUP BY m.platform, m.ruleset_hash, m.stake, m.fee, m.scene_fee, m.disconnection_penalty ORDER BY m.platform`
)

// ListExposure returns a page of the games that were incomplete at an instant,
// those of the newest match first, from the one after before on.
func (s *Store) ListExposure(ctx context.Context, platform string, at clock.Time, before referee.GameKey, limit int) ([]referee.ExposedGame, error) {
	if before == (referee.GameKey{}) {
		before.Match = highestID
	}
	rows, err := s.pool.Query(ctx, sqlListExposure, platform, timestamp(at), uuid(before.Match), before.Game, limit)
	if err != nil {
		return nil, wrap("list exposure", err)
	}
	// All rows first: a ruleset may have to be read on the way.
	var hashes [][32]byte
	games, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (g referee.ExposedGame, err error) {
		var id [16]byte
		var hash []byte
		var started time.Time
		var ended *time.Time
		err = row.Scan(&id, &g.Game, &g.Platform, &g.ExternalRef, &g.TableRef, &g.Players, &hash, &g.Stake,
			&g.Charges.Fee, &g.Charges.SceneFee, &g.Charges.DisconnectionPenalty, &g.Balances, &g.HoldIDs, &started, &ended)
		g.Match, g.Started, g.Ended = id, instant(started), instantOrZero(ended)
		if err == nil {
			hashes = append(hashes, [32]byte(hash))
		}
		return g, err
	})
	if err != nil {
		return nil, wrap("list exposure", err)
	}
	for i := range games {
		if games[i].Rules, err = s.ruleset(ctx, hashes[i]); err != nil {
			return nil, err
		}
	}
	return games, nil
}

// Exposures returns how many games were incomplete at an instant, by platform
// and terms.
func (s *Store) Exposures(ctx context.Context, platform string, at clock.Time) ([]referee.Exposure, error) {
	rows, err := s.pool.Query(ctx, sqlExposures, platform, timestamp(at), uuid(highestID), 0)
	if err != nil {
		return nil, wrap("sum up exposure", err)
	}
	var hashes [][32]byte
	exposures, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (e referee.Exposure, err error) {
		var hash []byte
		err = row.Scan(&e.Platform, &hash, &e.Stake, &e.Charges.Fee, &e.Charges.SceneFee, &e.Charges.DisconnectionPenalty, &e.Games)
		if err == nil {
			hashes = append(hashes, [32]byte(hash))
		}
		return e, err
	})
	if err != nil {
		return nil, wrap("sum up exposure", err)
	}
	for i := range exposures {
		if exposures[i].Rules, err = s.ruleset(ctx, hashes[i]); err != nil {
			return nil, err
		}
	}
	return exposures, nil
}
