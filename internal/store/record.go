package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"referee.example/internal/clock"
	"referee.example/internal/referee"
)

const (
	sqlBeginRecord   = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`
	sqlRecordedMatch = `
SELECT created_at, ended_at, stake, fee, scene_fee, disconnection_penalty, engine_version, status, winners, first_seat,
	platform, external_ref, table_ref, ruleset_id, ruleset_hash, player_ids, end_note
FROM matches WHERE match_id = $1`
	sqlRecordedParticipants = `
SELECT p.platform, p.player_id, p.seat FROM matches m
JOIN participants p ON p.platform = m.platform AND p.player_id = ANY (m.player_ids) AND p.match_id = m.match_id
WHERE m.match_id = $1 ORDER BY p.seat`
	sqlRecordedState = `
SELECT version, state, deadline, wake_at, outages_after FROM match_states WHERE match_id = $1`
	sqlRecordedGames = `
SELECT game, status, commitment, sealed_seed, started_at, coalesce(first_seat, 0) AS first_seat, balances, hold_ids, player_seeds, root,
	ended_at, coalesce(end_reason, 0) AS end_reason, coalesce(winners, 0) AS winners, coalesce(void, false) AS void, coalesce(first_ply, 0) AS first_ply,
	coalesce(last_ply, 0) AS last_ply, coalesce(plies, 0) AS plies, captures::bigint[], coalesce(disconnected, 0) AS disconnected, server_seed, head_hash
FROM games WHERE match_id = $1 ORDER BY game`
	sqlRecordedEvents      = `SELECT ` + eventColumns + ` FROM events WHERE match_id = $1 ORDER BY game, seq`
	sqlRecordedSettlements = `
SELECT game, compensates, settlement_id, multiple, loser_captures, settled_at
FROM settlements WHERE match_id = $1 ORDER BY game, compensates`
	sqlRecordedLines = `
SELECT game, compensates, payer, payee, amount, why
FROM settlement_lines WHERE match_id = $1 ORDER BY game, compensates, line`
	sqlRecordedOutages = `
SELECT o.from_at, o.until_at FROM matches m JOIN outages o
	ON o.until_at > m.created_at AND (m.ended_at IS NULL OR o.from_at < m.ended_at)
WHERE m.match_id = $1 ORDER BY o.until_at`
	sqlRecordedRuleset = `
SELECT r.content FROM matches m JOIN rulesets r ON r.ruleset_hash = m.ruleset_hash WHERE m.match_id = $1`
	sqlRecordedPrincipals = `
SELECT p.principal_id, p.name FROM principals p WHERE p.principal_id IN (SELECT principal FROM events WHERE match_id = $1)`
	sqlEndRecord = `COMMIT`
)

// Record returns everything about a match as its rows say, all read at one
// instant; referee.ErrNotFound if there is no such match, referee.ErrDetached if
// its month was detached from the log, a *referee.UnreadableError for a value that
// no referee writes. What it reads it does not judge.
func (s *Store) Record(ctx context.Context, id referee.ID) (*referee.Record, error) {
	r, err := s.record(ctx, id, true)
	if err != nil {
		return nil, wrap("read a record", err)
	}
	return r, wrap("read a record", s.contradictions(ctx, r))
}

// ExportedRecord is Record without what no export holds: the match's state, its
// participants, the rows by which it is found, and moves that contradict outages.
func (s *Store) ExportedRecord(ctx context.Context, id referee.ID) (*referee.Record, error) {
	r, err := s.record(ctx, id, false)
	return r, wrap("read a record", err)
}

// recordPart is a query of a record and who reads its rows.
type recordPart struct {
	table, query string
	read         func(pgx.Rows) error
}

func (s *Store) record(ctx context.Context, id referee.ID, whole bool) (*referee.Record, error) {
	r := &referee.Record{}
	r.Match.ID = id
	read := recordReader{Record: r}
	parts := []recordPart{
		{"matches", sqlRecordedMatch, read.match}, {"games", sqlRecordedGames, read.games},
		{"events", sqlRecordedEvents, read.events}, {"settlements", sqlRecordedSettlements, read.settlements},
		{"settlement_lines", sqlRecordedLines, read.lines}, {"outages", sqlRecordedOutages, read.outages},
		{"rulesets", sqlRecordedRuleset, read.ruleset}, {"principals", sqlRecordedPrincipals, read.principals},
		{"log_entries", sqlRecordedEntries, read.entries},
	}
	if whole {
		parts = append(parts, recordPart{"match_states", sqlRecordedState, read.state},
			recordPart{"participants", sqlRecordedParticipants, read.participants}, recordPart{"interventions", sqlRecordedIndex, read.index})
	}
	batch := &pgx.Batch{}
	batch.Queue(sqlBeginRecord)
	for _, part := range parts {
		batch.Queue(part.query, uuid(id)).Query(func(rows pgx.Rows) error { return unreadable(part.table, part.read(rows)) })
	}
	batch.Queue(sqlRecordTime).Query(read.time)
	batch.Queue(sqlEndRecord)
	// One round trip. Where a query fails, the pool does not take the session back.
	if err := s.pool.SendBatch(ctx, batch).Close(); err != nil {
		return nil, err
	}
	if len(r.Logs) == 1 && len(r.Logs[0]) == 0 {
		if err := s.attached(ctx, id); err != nil {
			return nil, err
		}
	}
	return r, s.namedRuleset(ctx, r)
}

// namedRuleset reads the content that the log names, if that is another than the
// match's row does.
func (s *Store) namedRuleset(ctx context.Context, r *referee.Record) error {
	if len(r.Logs) < 2 || len(r.Logs[1]) == 0 {
		return nil
	}
	created, err := r.Logs[1][0].Created()
	if err != nil || bytes.Equal(created.RulesetHash[:], r.Match.RulesetHash) {
		return nil // what can't be read the verifier finds
	}
	var content string
	err = s.pool.QueryRow(ctx, sqlRuleset, created.RulesetHash[:]).Scan(&content)
	if r.Ruleset = []byte(content); errors.Is(err, pgx.ErrNoRows) {
		r.Ruleset, err = nil, nil
	}
	return err
}

// recordReader reads the parts of one match.
type recordReader struct{ *referee.Record }

func instantOrZero(t *time.Time) clock.Time {
	if t == nil {
		return 0
	}
	return instant(*t)
}

// one scans the row of a query that has one; pgx.ErrNoRows.
func one(rows pgx.Rows, values ...any) error {
	defer rows.Close()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return err
		}
		return pgx.ErrNoRows
	}
	return rows.Scan(values...)
}

func (r recordReader) match(rows pgx.Rows) error {
	m := &r.Match
	var created time.Time
	var ended *time.Time
	err := one(rows, &created, &ended, &m.Stake, &m.Fee, &m.SceneFee, &m.Penalty,
		&m.EngineVersion, &m.Status, &m.Winners, &m.FirstSeat, &m.Platform, &m.ExternalRef, &m.TableRef,
		&m.RulesetID, &m.RulesetHash, &m.Players, &m.EndNote)
	m.Created, m.Ended = instant(created), instantOrZero(ended)
	return err
}

func (r recordReader) state(rows pgx.Rows) error {
	s := &r.State
	var deadline, wake, outages *time.Time
	err := one(rows, &s.Version, &s.Snapshot, &deadline, &wake, &outages)
	s.Deadline, s.WakeAt, s.OutagesAfter = instantOrZero(deadline), instantOrZero(wake), instantOrZero(outages)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil // what is missing is for the judge to say
	}
	return err
}

func (r recordReader) participants(rows pgx.Rows) (err error) {
	r.Participants, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (p referee.Participant, err error) {
		err = row.Scan(&p.Platform, &p.Player, &p.Seat)
		return p, err
	})
	return err
}

func (r recordReader) games(rows pgx.Rows) (err error) {
	r.Games, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (g referee.RecordedGame, err error) {
		var started, ended *time.Time
		err = row.Scan(&g.Game, &g.Status, &g.Commitment, &g.Sealed, &started, &g.FirstSeat, &g.Balances, &g.HoldIDs,
			&g.PlayerSeeds, &g.Root, &ended, &g.Outcome.Reason, &g.Outcome.Winners, &g.Outcome.Void, &g.Outcome.FirstPly,
			&g.Outcome.LastPly, &g.Plies, &g.Captures, &g.Disconnected, &g.ServerSeed, &g.Head)
		g.Started, g.Ended = instantOrZero(started), instantOrZero(ended)
		return g, err
	})
	return err
}

func (r recordReader) events(rows pgx.Rows) error {
	events, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (referee.Event, error) {
		e, err := scanEvent(row, r.Match.ID)
		if err != nil {
			err = fmt.Errorf("event %d of game %d: %w", e.Seq, e.Game, err)
		}
		return e, errors.Join(err, within("events", "game", e.Game, 0, math.MaxInt16))
	})
	if err != nil {
		return err
	}
	r.Logs = make([][]referee.Event, 1)
	for i := range events {
		for events[i].Game >= len(r.Logs) {
			r.Logs = append(r.Logs, nil)
		}
		r.Logs[events[i].Game] = append(r.Logs[events[i].Game], events[i])
	}
	return nil
}

func (r recordReader) settlements(rows pgx.Rows) (err error) {
	r.Settlements, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (s referee.RecordedSettlement, err error) {
		var id [16]byte
		var settled time.Time
		err = row.Scan(&s.Game, &s.Compensates, &id, &s.Multiple, &s.LoserCaptures, &settled)
		s.ID, s.Settled = id, instant(settled)
		return s, err
	})
	return err
}

// lines come to their settlements; one without is a settlement without an id.
func (r recordReader) lines(rows pgx.Rows) error {
	defer rows.Close()
	for rows.Next() {
		var game int
		var compensates bool
		var line referee.RecordedLine
		if err := rows.Scan(&game, &compensates, &line.Payer, &line.Payee, &line.Amount, &line.Why); err != nil {
			return err
		}
		s := r.Settlement(game, compensates)
		if s == nil {
			r.Settlements = append(r.Settlements, referee.RecordedSettlement{Game: game, Compensates: compensates})
			s = &r.Settlements[len(r.Settlements)-1]
		}
		s.Lines = append(s.Lines, line)
	}
	return rows.Err()
}

func (r recordReader) outages(rows pgx.Rows) (err error) {
	r.Outages, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (referee.Outage, error) {
		var from, until time.Time
		err := row.Scan(&from, &until)
		return referee.Outage{From: instant(from), Until: instant(until)}, err
	})
	return err
}

func (r recordReader) ruleset(rows pgx.Rows) error {
	contents, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if len(contents) > 0 {
		r.Ruleset = []byte(contents[0])
	}
	return err
}

func (r recordReader) principals(rows pgx.Rows) error {
	defer rows.Close()
	r.Principals = map[int32]string{}
	for rows.Next() {
		var id int32
		var name string
		if err := rows.Scan(&id, &name); err != nil {
			return err
		}
		r.Principals[id] = name
	}
	return rows.Err()
}
