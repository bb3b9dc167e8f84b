package store

import (
	"github.com/jackc/pgx/v5"

	"referee.example/internal/referee"
)

// sqlRecordedIndex has the rows by which a match is found, or told of, other than
// by its id, as texts. Of the tables that have no index by match it looks at the
// keys that the match must have: its two players, its request, its reference.
const sqlRecordedIndex = `
SELECT 'interventions', format('event %s of game %s, kind %s at %s on %s', seq, game, kind,
	(extract(epoch FROM event_time) * 1000000)::bigint, platform) FROM interventions WHERE match_id = $1
UNION ALL SELECT 'pairs', format('%s and %s on %s', p.low_player_id, p.high_player_id, p.platform)
FROM matches m JOIN pairs p ON p.platform = m.platform AND p.low_player_id = ANY (m.player_ids)
	AND p.high_player_id = ANY (m.player_ids) AND p.match_id = m.match_id WHERE m.match_id = $1
UNION ALL SELECT 'ended_games', format('game %s, reason %s, result %s on %s', g.game, g.end_reason, g.result, g.platform)
FROM matches m CROSS JOIN generate_series(0, 31) reason (number)
JOIN ended_games g ON g.platform = m.platform AND g.end_reason = reason.number::smallint AND g.match_id = m.match_id
WHERE m.match_id = $1
UNION ALL SELECT 'create_requests', format('request %s on %s made match %s by %s', c.request_id, c.platform, c.match_id, encode(c.fingerprint, 'hex'))
FROM matches m JOIN events e ON e.match_id = m.match_id AND e.game = 1 AND e.seq = 1
JOIN create_requests c ON c.platform = m.platform AND c.request_id = e.request_id WHERE m.match_id = $1
UNION ALL SELECT 'external_refs', format('%s on %s is match %s', x.external_ref, x.platform, x.match_id)
FROM matches m JOIN external_refs x ON x.platform = m.platform AND x.external_ref = m.external_ref WHERE m.match_id = $1
UNION ALL SELECT 'settlement_feed', format('game %s, compensates %s on %s', game, compensates, platform) FROM settlement_feed WHERE match_id = $1
UNION ALL SELECT 'settlement_queue', format('game %s, compensates %s', game, compensates) FROM settlement_queue WHERE match_id = $1`

func (r recordReader) index(rows pgx.Rows) (err error) {
	r.Index, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (i referee.IndexRow, err error) {
		err = row.Scan(&i.Table, &i.Row)
		return i, err
	})
	return err
}
