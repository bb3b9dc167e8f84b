package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"referee.example/internal/clock"
	"referee.example/internal/referee"
)

const (
	sqlRecordedMatch = `
SELECT created_at, ended_at, stake, fee, scene_fee, disconnection_penalty, engine_version, status, winners, first_seat,
	platform, external_ref, table_ref, ruleset_id, ruleset_hash, player_ids, end_note
FROM matches WHERE match_id = $1`
	sqlRecordedParticipants = `
SELECT platform, player_id, seat FROM participants
WHERE platform = $1 AND player_id = ANY ($2) AND match_id = $3 ORDER BY seat`
	sqlRecordedState = `
SELECT version, state, deadline, wake_at, outages_after FROM match_states WHERE match_id = $1`
	sqlRecordedGames = `
SELECT game, status, commitment, sealed_seed, started_at, coalesce(first_seat, 0), balances, hold_ids, player_seeds, root,
	ended_at, coalesce(end_reason, 0), coalesce(winners, 0), coalesce(void, false), coalesce(first_ply, 0),
	coalesce(last_ply, 0), coalesce(plies, 0), captures::bigint[], coalesce(disconnected, 0), server_seed, head_hash
FROM games WHERE match_id = $1 ORDER BY game`
	sqlRecordedEvents      = `SELECT ` + eventColumns + ` FROM events WHERE match_id = $1 ORDER BY game, seq`
	sqlRecordedSettlements = `
SELECT game, compensates, settlement_id, multiple, loser_captures, settled_at
FROM settlements WHERE match_id = $1 ORDER BY game, compensates`
	sqlRecordedLines = `
SELECT game, compensates, payer, payee, amount, why
FROM settlement_lines WHERE match_id = $1 ORDER BY game, compensates, line`
	sqlRecordedOutages = `
SELECT from_at, until_at FROM outages WHERE until_at > $1 AND ($2::timestamptz IS NULL OR from_at < $2) ORDER BY until_at`
)

// Record returns everything about a match as its rows say, all read at one
// instant; referee.ErrNotFound if there is no such match, referee.ErrDetached if
// its month was detached from the log. What it reads it does
// not judge.
func (s *Store) Record(ctx context.Context, id referee.ID) (*referee.Record, error) {
	r := &referee.Record{}
	err := pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		read := recordReader{ctx: ctx, tx: tx, id: id}
		return read.all(r)
	})
	return r, wrap("read a record", err)
}

// recordReader reads one match in one transaction.
type recordReader struct {
	ctx context.Context
	tx  pgx.Tx
	id  referee.ID
}

func (q *recordReader) all(r *referee.Record) error {
	for _, read := range []func(*referee.Record) error{
		q.match, q.state, q.participants, q.games, q.events, q.settlements, q.lines, q.outages, q.ruleset, q.principals,
	} {
		if err := read(r); err != nil {
			return err
		}
	}
	return nil
}

// each reads all rows of a query about the match.
func each[T any](q *recordReader, scan func(pgx.CollectableRow) (T, error), query string, arguments ...any) ([]T, error) {
	rows, err := q.tx.Query(q.ctx, query, arguments...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scan)
}

func instantOrZero(t *time.Time) clock.Time {
	if t == nil {
		return 0
	}
	return instant(*t)
}

func (q *recordReader) match(r *referee.Record) error {
	m := &r.Match
	m.ID = q.id
	var created time.Time
	var ended *time.Time
	err := q.tx.QueryRow(q.ctx, sqlRecordedMatch, uuid(q.id)).Scan(&created, &ended, &m.Stake, &m.Fee, &m.SceneFee, &m.Penalty,
		&m.EngineVersion, &m.Status, &m.Winners, &m.FirstSeat, &m.Platform, &m.ExternalRef, &m.TableRef,
		&m.RulesetID, &m.RulesetHash, &m.Players, &m.EndNote)
	m.Created, m.Ended = instant(created), instantOrZero(ended)
	return err
}

func (q *recordReader) state(r *referee.Record) error {
	s := &r.State
	var deadline, wake, outages *time.Time
	err := q.tx.QueryRow(q.ctx, sqlRecordedState, uuid(q.id)).Scan(&s.Version, &s.Snapshot, &deadline, &wake, &outages)
	s.Deadline, s.WakeAt, s.OutagesAfter = instantOrZero(deadline), instantOrZero(wake), instantOrZero(outages)
	return err
}

func (q *recordReader) participants(r *referee.Record) (err error) {
	r.Participants, err = each(q, func(row pgx.CollectableRow) (p referee.Participant, err error) {
		err = row.Scan(&p.Platform, &p.Player, &p.Seat)
		return p, err
	}, sqlRecordedParticipants, r.Match.Platform, r.Match.Players, uuid(q.id))
	return err
}

func (q *recordReader) games(r *referee.Record) (err error) {
	r.Games, err = each(q, func(row pgx.CollectableRow) (g referee.RecordedGame, err error) {
		var started, ended *time.Time
		err = row.Scan(&g.Game, &g.Status, &g.Commitment, &g.Sealed, &started, &g.FirstSeat, &g.Balances, &g.HoldIDs,
			&g.PlayerSeeds, &g.Root, &ended, &g.Outcome.Reason, &g.Outcome.Winners, &g.Outcome.Void, &g.Outcome.FirstPly,
			&g.Outcome.LastPly, &g.Plies, &g.Captures, &g.Disconnected, &g.ServerSeed, &g.Head)
		g.Started, g.Ended = instantOrZero(started), instantOrZero(ended)
		return g, err
	}, sqlRecordedGames, uuid(q.id))
	return err
}

func (q *recordReader) events(r *referee.Record) error {
	events, err := each(q, func(row pgx.CollectableRow) (referee.Event, error) {
		return scanEvent(row, q.id)
	}, sqlRecordedEvents, uuid(q.id))
	if err == nil && len(events) == 0 {
		err = attached(q.ctx, q.tx, q.id)
	}
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

func (q *recordReader) settlements(r *referee.Record) (err error) {
	r.Settlements, err = each(q, func(row pgx.CollectableRow) (s referee.RecordedSettlement, err error) {
		var id [16]byte
		var settled time.Time
		err = row.Scan(&s.Game, &s.Compensates, &id, &s.Multiple, &s.LoserCaptures, &settled)
		s.ID, s.Settled = id, instant(settled)
		return s, err
	}, sqlRecordedSettlements, uuid(q.id))
	return err
}

// lines come to their settlements; one without is a settlement without an id.
func (q *recordReader) lines(r *referee.Record) error {
	rows, err := q.tx.Query(q.ctx, sqlRecordedLines, uuid(q.id))
	if err != nil {
		return err
	}
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

func (q *recordReader) outages(r *referee.Record) (err error) {
	r.Outages, err = each(q, func(row pgx.CollectableRow) (referee.Outage, error) {
		var from, until time.Time
		err := row.Scan(&from, &until)
		return referee.Outage{From: instant(from), Until: instant(until)}, err
	}, sqlRecordedOutages, timestamp(r.Match.Created), timestampOrNull(r.Match.Ended))
	return err
}

// ruleset reads the content that the log names, or else the match's row.
func (q *recordReader) ruleset(r *referee.Record) error {
	hash := r.Match.RulesetHash
	if len(r.Logs) > 1 && len(r.Logs[1]) > 0 {
		if created, err := r.Logs[1][0].Created(); err == nil {
			hash = created.RulesetHash[:]
		}
	}
	contents, err := each(q, pgx.RowTo[string], sqlRuleset, hash)
	if len(contents) > 0 {
		r.Ruleset = []byte(contents[0])
	}
	return err
}

func (q *recordReader) principals(r *referee.Record) error {
	ids := map[int32]bool{}
	for _, events := range r.Logs {
		for i := range events {
			ids[events[i].Principal] = true
		}
	}
	list := make([]int32, 0, len(ids))
	for id := range ids {
		list = append(list, id)
	}
	rows, err := q.tx.Query(q.ctx, sqlPrincipalNames, list)
	if err != nil {
		return err
	}
	defer rows.Close()
	r.Principals = make(map[int32]string, len(list))
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
