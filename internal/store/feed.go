package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"referee.example/internal/referee"
)

// The settlements feed. Settlements are queued by a trigger, in the transaction
// that settles.

const (
	// sqlSequenceSettlements gives the settlements of the queue, at most $1 of
	// them, the positions after their platforms' heads. Queue and heads are read at
	// one instant; a head that another sequencer has moved since then is left
	// alone, and so are the platform's settlements: they have been given out. The
	// head's row is locked from there to the commit, which follows at once, so that
	// positions become visible in their order. Matches are looked up one by one:
	// statistics of a queue say nothing, and by them all matches would be read.
	sqlSequenceSettlements = `
WITH batch AS MATERIALIZED (
	SELECT q.match_id, q.game, q.compensates, m.platform, coalesce(h.position, 0) AS head,
		row_number() OVER (PARTITION BY m.platform ORDER BY q.match_id, q.game, q.compensates) AS n
	FROM (SELECT match_id, game, compensates FROM settlement_queue
		ORDER BY match_id, game, compensates LIMIT $1) q
	CROSS JOIN LATERAL (SELECT platform FROM matches WHERE match_id = q.match_id LIMIT 1) m
	LEFT JOIN settlement_heads h ON h.platform = m.platform
), ahead AS MATERIALIZED (
	SELECT platform, head, head + count(*) AS position FROM batch GROUP BY platform, head
), advanced AS (
	INSERT INTO settlement_heads AS h (platform, position)
	SELECT platform, position FROM ahead ORDER BY platform
	ON CONFLICT (platform) DO UPDATE SET position = EXCLUDED.position
	WHERE h.position = (SELECT a.head FROM ahead a WHERE a.platform = EXCLUDED.platform)
	RETURNING h.platform
), given AS MATERIALIZED (
	SELECT b.platform, b.head + b.n AS position, b.match_id, b.game, b.compensates
	FROM batch b JOIN advanced a ON a.platform = b.platform
), entered AS (
	INSERT INTO settlement_feed (platform, position, match_id, game, compensates)
	SELECT platform, position, match_id, game, compensates FROM given
), taken AS (
	DELETE FROM settlement_queue q USING given g
	WHERE q.match_id = g.match_id AND q.game = g.game AND q.compensates = g.compensates
)
SELECT (SELECT count(*) FROM batch), coalesce((SELECT array_agg(platform) FROM advanced), '{}')`

	sqlSettlementHeads = `
SELECT h.platform, h.position FROM unnest($1::text[]) AS w (platform) JOIN settlement_heads h ON h.platform = w.platform`

	sqlSettlements = `
SELECT f.position, f.match_id, f.game, f.compensates, m.external_ref, m.table_ref,
	s.settlement_id, s.multiple, s.loser_captures, s.settled_at, l.payers, l.payees, l.amounts, l.whys
FROM (SELECT position, match_id, game, compensates FROM settlement_feed
	WHERE platform = $1 AND position >= $2 ORDER BY position LIMIT $3) f
CROSS JOIN LATERAL (SELECT external_ref, table_ref FROM matches WHERE match_id = f.match_id LIMIT 1) m
CROSS JOIN LATERAL (SELECT settlement_id, multiple, loser_captures, settled_at FROM settlements
	WHERE match_id = f.match_id AND game = f.game AND compensates = f.compensates LIMIT 1) s
CROSS JOIN LATERAL (
	SELECT array_agg(payer ORDER BY line) AS payers, array_agg(payee ORDER BY line) AS payees,
		array_agg(amount ORDER BY line) AS amounts, array_agg(why ORDER BY line) AS whys
	FROM settlement_lines WHERE match_id = f.match_id AND game = f.game AND compensates = f.compensates) l
ORDER BY f.position`
)

// SequenceSettlements gives positions to settlements that have none, the oldest
// matches first. It returns how many it looked at, limit at most, and the
// platforms whose feeds have grown: none if another sequencer was first.
func (s *Store) SequenceSettlements(ctx context.Context, limit int) (queued int, platforms []string, err error) {
	err = s.pool.QueryRow(ctx, sqlSequenceSettlements, limit).Scan(&queued, &platforms)
	return queued, platforms, wrap("give out positions of settlements", err)
}

// SettlementHeads returns the last position of the feed of each platform that has
// one.
func (s *Store) SettlementHeads(ctx context.Context, platforms []string) (map[string]int64, error) {
	rows, err := s.pool.Query(ctx, sqlSettlementHeads, platforms)
	if err != nil {
		return nil, wrap("read the heads of feeds", err)
	}
	heads := make(map[string]int64, len(platforms))
	var platform string
	var position int64
	_, err = pgx.ForEachRow(rows, []any{&platform, &position}, func() error {
		heads[platform] = position
		return nil
	})
	return heads, wrap("read the heads of feeds", err)
}

// Settlements returns a platform's feed from a position on, at most limit.
func (s *Store) Settlements(ctx context.Context, platform string, from int64, limit int) ([]referee.FeedEntry, error) {
	rows, err := s.pool.Query(ctx, sqlSettlements, platform, from, limit)
	if err != nil {
		return nil, wrap("read settlements", err)
	}
	entries, err := pgx.CollectRows(rows, scanFeedEntry)
	return entries, wrap("read settlements", err)
}

func scanFeedEntry(row pgx.CollectableRow) (e referee.FeedEntry, err error) {
	var match, id [16]byte
	var settled time.Time
	var payers, payees, whys []string
	var amounts []int64
	err = row.Scan(&e.Position, &match, &e.Game, &e.Compensates, &e.ExternalRef, &e.TableRef,
		&id, &e.Multiple, &e.LoserCaptures, &settled, &payers, &payees, &amounts, &whys)
	e.Match, e.ID, e.Settled = match, id, instant(settled)
	for i := range amounts {
		e.Lines = append(e.Lines, referee.RecordedLine{Payer: payers[i], Payee: payees[i], Amount: amounts[i], Why: whys[i]})
	}
	return e, err
}
