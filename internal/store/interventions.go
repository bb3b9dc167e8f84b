package store

import (
	"context"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"referee.example/internal/clock"
	"referee.example/internal/referee"
)

// Interventions are noted by a trigger, in the transaction that logs them; what
// was done, by whom and why is read from the log. Each kind is read from its own
// end of an index, so that the rare ones are not looked for among the frequent.
const (
	notedOfKinds = `
SELECT i.id, m.platform, m.external_ref, m.table_ref, e.game, e.seq, e.kind, e.event_time, e.principal, e.detail,
	coalesce(p.name, '')
FROM (SELECT n.match_id AS id, n.event_time AS at, n.game AS log, n.seq AS number
	FROM unnest($2::smallint[]) AS k (kind) CROSS JOIN LATERAL (
		SELECT match_id, event_time, game, seq FROM interventions
		WHERE `
	notedAndRead = `kind = k.kind AND event_time >= $3 AND event_time < $4
			AND (event_time, match_id, game, seq) < ($5, $6, $7::smallint, $8::integer)
		ORDER BY event_time DESC, match_id DESC, game DESC, seq DESC LIMIT $9) n
	ORDER BY at DESC, id DESC, log DESC, number DESC LIMIT $9) i
JOIN matches m ON m.match_id = i.id
JOIN events e ON e.match_id = i.id AND e.game = i.log AND e.seq = i.number
LEFT JOIN principals p ON p.principal_id = e.principal
ORDER BY i.at DESC, i.id DESC, i.log DESC, i.number DESC`

	// Of one match there are few, so all of them are looked at.
	sqlListInterventionsOfMatch = `
WITH of_match AS MATERIALIZED (SELECT match_id, platform, event_time, game, seq, kind FROM interventions WHERE match_id = $10)
SELECT i.match_id, m.platform, m.external_ref, m.table_ref, e.game, e.seq, e.kind, e.event_time, e.principal, e.detail,
	coalesce(p.name, '')
FROM (SELECT match_id, event_time, game, seq FROM of_match
	WHERE ($1 = '*' OR platform = $1) AND kind = ANY ($2::smallint[]) AND event_time >= $3 AND event_time < $4
		AND (event_time, match_id, game, seq) < ($5, $6, $7::smallint, $8::integer)
	ORDER BY event_time DESC, game DESC, seq DESC LIMIT $9) i
JOIN matches m ON m.match_id = i.match_id
JOIN events e ON e.match_id = i.match_id AND e.game = i.game AND e.seq = i.seq
LEFT JOIN principals p ON p.principal_id = e.principal
ORDER BY i.event_time DESC, i.game DESC, i.seq DESC`
	sqlListInterventions           = notedOfKinds + `$1 = '*' AND ` + notedAndRead
	sqlListInterventionsOfPlatform = notedOfKinds + `platform = $1 AND ` + notedAndRead
)

// ListInterventions returns a page of interventions of some kinds at [from,
// until), of one match unless that is zero, newest first, from the one after before
// on.
func (s *Store) ListInterventions(ctx context.Context, platform string, match referee.ID, kinds []referee.EventKind, from, until clock.Time,
	before referee.EventKey, limit int) ([]referee.Intervention, error) {
	query := sqlListInterventionsOfPlatform
	switch {
	case match != referee.ID{}:
		query = sqlListInterventionsOfMatch
	case platform == "*":
		query = sqlListInterventions
	}
	if until == 0 {
		until = endOfTime
	}
	if before == (referee.EventKey{}) {
		before = referee.EventKey{Time: endOfTime, GameKey: referee.GameKey{Match: highestID, Game: math.MaxInt16}, Seq: math.MaxInt32}
	}
	numbers := make([]int16, len(kinds))
	for i, kind := range kinds {
		numbers[i] = int16(kind)
	}
	args := []any{platform, numbers, timestamp(from), timestamp(until),
		timestamp(before.Time), uuid(before.Match), before.Game, before.Seq, limit}
	if match != (referee.ID{}) {
		args = append(args, uuid(match))
	}
	rows, err := s.pool.Query(ctx, query, args...)
	if err != nil {
		return nil, wrap("list interventions", err)
	}
	interventions, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (i referee.Intervention, err error) {
		e := &i.Event
		var id [16]byte
		var at time.Time
		err = row.Scan(&id, &i.Platform, &i.ExternalRef, &i.TableRef, &e.Game, &e.Seq, &e.Kind, &at, &e.Principal, &e.Detail,
			&i.SubmittedBy)
		e.Match, e.Time = id, instant(at)
		return i, err
	})
	return interventions, wrap("list interventions", err)
}
