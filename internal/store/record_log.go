package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"referee.example/internal/referee"
)

// What is recorded of a match in tables that other matches share: the log of
// finished games, and outages.

const (
	// sqlRecordedEntries has what is logged and what waits for it, in one statement:
	// a game goes from one to the other in one transaction.
	sqlRecordedEntries = `
SELECT position, game, head_hash, false FROM log_entries WHERE match_id = $1
UNION ALL SELECT NULL, game, NULL, false FROM finished_games WHERE match_id = $1
UNION ALL SELECT NULL, game, head_hash, true FROM made_compensations WHERE match_id = $1
ORDER BY 1, 2`

	// sqlMoveInOutage looks for a move in the middle of an outage, in the $3 matches
	// that were created last before its end. While a clock runs a move commits only
	// within three seconds of a heartbeat, and in an outage there is none.
	sqlMoveInOutage = `
SELECT e.match_id, e.game, e.seq, e.event_time FROM (
	SELECT match_id, ruleset_hash FROM matches WHERE match_id < first_match_id($2) ORDER BY match_id DESC LIMIT $3
) m CROSS JOIN LATERAL (
	SELECT v.match_id, v.game, v.seq, v.event_time FROM events v
	WHERE v.match_id = m.match_id AND v.kind = 3 AND v.principal <> 0
		AND v.event_time > $1::timestamptz + interval '3 seconds' AND v.event_time < $2` + clockRuns + `
	ORDER BY v.game, v.seq LIMIT 1
) e LIMIT 1`
)

// clockRuns holds of a match m in which no move is made without a running clock. Where
// none runs nothing is paused and no commit asks for a heartbeat: a call that came
// just before the beat that ended an outage has the time of its arrival, within it.
const clockRuns = `
		AND EXISTS (SELECT FROM rulesets r WHERE r.ruleset_hash = m.ruleset_hash
			AND r.content LIKE '%"on_expiry":"%' AND r.content NOT LIKE '%"untimed_opening":true%')`

// matchesInOutage is how many matches are looked through for moves in an outage
// while a single match is verified.
const matchesInOutage = 200

func (r recordReader) entries(rows pgx.Rows) (err error) {
	r.Entries, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (e referee.RecordedEntry, err error) {
		var position *int64
		err = row.Scan(&position, &e.Game, &e.Head, &e.Compensation)
		if e.Queued = position == nil; !e.Queued {
			e.Position = *position
		}
		return e, err
	})
	return err
}

// contradictions looks, for each outage that paused the match, for a move that
// was made in it.
func (s *Store) contradictions(ctx context.Context, r *referee.Record) error {
	seen := map[referee.Outage]bool{}
	for _, events := range r.Logs {
		for i := range events {
			if events[i].Kind != referee.EventClockPaused {
				continue
			}
			d, err := events[i].Paused()
			if err != nil || seen[referee.Outage(d)] {
				continue // what can't be read is found by the replay
			}
			seen[referee.Outage(d)] = true
			if err := s.contradict(ctx, r, referee.Outage(d)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Store) contradict(ctx context.Context, r *referee.Record, o referee.Outage) error {
	rows, err := s.pool.Query(ctx, sqlMoveInOutage, timestamp(o.From), timestamp(o.Until), matchesInOutage)
	if err != nil {
		return err
	}
	moves, err := pgx.CollectRows(rows, scanMove)
	if err == nil && len(moves) > 0 {
		r.Contradicted = append(r.Contradicted, referee.ContradictedOutage{Outage: o, Move: moves[0].Time})
	}
	return unreadable("events", err)
}

func scanMove(row pgx.CollectableRow) (e referee.Event, err error) {
	var id [16]byte
	var at time.Time
	err = row.Scan(&id, &e.Game, &e.Seq, &at)
	e.Match, e.Time = id, instant(at)
	return e, err
}

const sqlRecordTime = `SELECT clock_timestamp()`

func (r recordReader) time(rows pgx.Rows) error {
	var now time.Time
	err := one(rows, &now)
	r.Now = instant(now)
	return err
}

// unreadable turns the error of a value that no referee writes into a
// *referee.UnreadableError.
func unreadable(table string, err error) error {
	var scan pgx.ScanArgError
	if errors.As(err, &scan) {
		return &referee.UnreadableError{Table: table, Column: scan.FieldName, Problem: err.Error()}
	}
	return err
}

// within refuses a number that no referee writes and that would index beyond
// reason.
func within(table, column string, number, low, high int) error {
	if number < low || number > high {
		return &referee.UnreadableError{Table: table, Column: column, Problem: fmt.Sprintf("%d is not from %d to %d", number, low, high)}
	}
	return nil
}
