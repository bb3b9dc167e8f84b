package check

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Record is what the database holds.
type Record struct {
	Matches map[string]*Match
	// Creators are the matches that requests created, by request.
	Creators map[string]string
	// Entries are the log of finished games, in order of position; Root is the
	// stored root of its tree and Queued how many games still wait for it.
	Entries []Entry
	Root    []byte
	Queued  int
	// LogsCompensations is whether compensations enter that log too.
	LogsCompensations bool
	// Outages are the times on record in which no replica was alive.
	Outages []Span
}

// Entry is an entry of the log of finished games.
type Entry struct {
	Position int64
	Match    string
	Game     int
	Head     []byte
}

// Match is what the database holds of a match.
type Match struct {
	ID                            string
	Status, Winners               int
	Stake, Fee, SceneFee, Penalty int64
	Players                       []string
	Rules                         ruleset
	Logs                          map[int][]Row // by game; 0 is that of compensations
	Games                         []Game
	Settlements                   []StoredSettlement
}

// ruleset is the part of a stored ruleset that settlements and series rest on.
type ruleset struct {
	ID     string `json:"id"`
	Series struct {
		ValidGames      int  `json:"valid_games"`
		MaxGames        int  `json:"max_games"`
		StopWhenDecided bool `json:"stop_when_decided"`
	} `json:"series"`
	Stakes struct {
		LossMultiple        int64 `json:"loss_multiple"`
		ReducedMultiple     int64 `json:"reduced_multiple"`
		ReducedFromCaptures int   `json:"reduced_from_captures"`
		FeeDoubles          bool  `json:"fee_doubles"`
	} `json:"stakes"`
	ArmyChess *armyRules `json:"army_chess"`
}

// Row is an event as it is stored.
type Row struct {
	MatchID                                            [16]byte
	Game, Seq, Ply                                     int
	Time                                               time.Time
	Principal                                          int32
	Seat, Kind                                         int
	ActionKind, FromSquare, ToSquare, Turned, Captured int
	Request                                            *[16]byte
	Clocks, ClientHash, Detail, Hash                   []byte
	// Transaction wrote the row, and committed at Committed.
	Transaction string
	Committed   time.Time
}

// Game is a game's row.
type Game struct {
	Number, Status int
	EndReason      int
	Winners        int
	Void           bool
	Captures       []int16
	Disconnected   int
	Head, Seed     []byte // Seed once it is revealed
	Plies          int
	Started        bool
}

// StoredSettlement is a settlement with its lines.
type StoredSettlement struct {
	Settlement
	Compensates bool
	Captures    int // the loser's
	Transaction string
}

const (
	sqlMatches = `
SELECT m.match_id::text, m.status, m.winners, m.stake, m.fee, m.scene_fee, m.disconnection_penalty, m.player_ids, r.content
FROM matches m JOIN rulesets r USING (ruleset_hash)`
	// The commit's instant needs track_commit_timestamp.
	sqlEvents = `
SELECT match_id, game, seq, ply, event_time, principal, seat, kind, action_kind, from_square, to_square, turned, captured,
	request_id, clocks, client_hash, detail, hash, xmin::text, pg_xact_commit_timestamp(xmin)
FROM events ORDER BY match_id, game, seq`
	sqlGames = `
SELECT match_id::text, game, status, coalesce(end_reason, 0), coalesce(winners, 0), coalesce(void, false),
	captures, coalesce(disconnected, 0), head_hash, coalesce(plies, 0), started_at IS NOT NULL, server_seed
FROM games ORDER BY match_id, game`
	sqlSettlements = `
SELECT match_id::text, game, compensates, settlement_id::text, multiple, loser_captures, xmin::text
FROM settlements ORDER BY match_id, game, compensates`
	sqlLines = `
SELECT match_id::text, game, compensates, payer, payee, amount, why
FROM settlement_lines ORDER BY match_id, game, compensates, line`
	sqlCreators = `SELECT request_id::text, match_id::text FROM create_requests`
	sqlEntries  = `SELECT position, match_id::text, game, head_hash FROM log_entries ORDER BY position`
	sqlOutages  = `SELECT from_at, until_at FROM outages ORDER BY until_at`
	sqlHead     = `SELECT root, (SELECT count(*) FROM finished_games)::integer, to_regclass('made_compensations') IS NOT NULL FROM log_head`
)

// Load reads everything that the database holds of its matches.
func Load(ctx context.Context, conn *pgx.Conn) (*Record, error) {
	r := &Record{Matches: map[string]*Match{}, Creators: map[string]string{}}
	for _, load := range []func(context.Context, *pgx.Conn) error{
		r.loadMatches, r.loadEvents, r.loadGames, r.loadSettlements, r.loadLines, r.loadCreators, r.loadLog,
	} {
		if err := load(ctx, conn); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// each scans every row of a query into the same places and calls add after each.
func each(ctx context.Context, conn *pgx.Conn, query string, places []any, add func() error) error {
	rows, err := conn.Query(ctx, query)
	if err != nil {
		return err
	}
	_, err = pgx.ForEachRow(rows, places, add)
	return err
}

func (r *Record) loadMatches(ctx context.Context, conn *pgx.Conn) error {
	var m Match
	var content string
	return each(ctx, conn, sqlMatches, []any{&m.ID, &m.Status, &m.Winners, &m.Stake, &m.Fee, &m.SceneFee, &m.Penalty, &m.Players, &content}, func() error {
		match := m
		match.Players = append([]string(nil), m.Players...)
		match.Logs = map[int][]Row{}
		if err := json.Unmarshal([]byte(content), &match.Rules); err != nil {
			return fmt.Errorf("the ruleset of match %s: %w", m.ID, err)
		}
		r.Matches[m.ID] = &match
		return nil
	})
}

// match returns a match that a row of another table names.
func (r *Record) match(id string) (*Match, error) {
	m := r.Matches[id]
	if m == nil {
		return nil, fmt.Errorf("rows name match %s, which has none of its own", id)
	}
	return m, nil
}

func (r *Record) loadEvents(ctx context.Context, conn *pgx.Conn) error {
	rows, err := conn.Query(ctx, sqlEvents)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var e Row
		if err := rows.Scan(&e.MatchID, &e.Game, &e.Seq, &e.Ply, &e.Time, &e.Principal, &e.Seat, &e.Kind, &e.ActionKind,
			&e.FromSquare, &e.ToSquare, &e.Turned, &e.Captured, &e.Request, &e.Clocks, &e.ClientHash, &e.Detail, &e.Hash,
			&e.Transaction, &e.Committed); err != nil {
			return err
		}
		m, err := r.match(uuidText(e.MatchID))
		if err != nil {
			return err
		}
		m.Logs[e.Game] = append(m.Logs[e.Game], e)
	}
	return rows.Err()
}

func (r *Record) loadGames(ctx context.Context, conn *pgx.Conn) error {
	var id string
	var g Game
	return each(ctx, conn, sqlGames, []any{&id, &g.Number, &g.Status, &g.EndReason, &g.Winners, &g.Void, &g.Captures,
		&g.Disconnected, &g.Head, &g.Plies, &g.Started, &g.Seed}, func() error {
		m, err := r.match(id)
		if err == nil {
			game := g
			game.Captures, game.Head, game.Seed = append([]int16(nil), g.Captures...), append([]byte(nil), g.Head...), append([]byte(nil), g.Seed...)
			m.Games = append(m.Games, game)
		}
		return err
	})
}

func (r *Record) loadSettlements(ctx context.Context, conn *pgx.Conn) error {
	var id string
	var s StoredSettlement
	return each(ctx, conn, sqlSettlements, []any{&id, &s.Game, &s.Compensates, &s.ID, &s.Multiple, &s.Captures, &s.Transaction}, func() error {
		m, err := r.match(id)
		if err == nil {
			m.Settlements = append(m.Settlements, s)
		}
		return err
	})
}

func (r *Record) loadLines(ctx context.Context, conn *pgx.Conn) error {
	var id string
	var game int
	var compensates bool
	var l Line
	return each(ctx, conn, sqlLines, []any{&id, &game, &compensates, &l.Payer, &l.Payee, &l.Amount, &l.Why}, func() error {
		m, err := r.match(id)
		if err != nil {
			return err
		}
		for i := range m.Settlements {
			if s := &m.Settlements[i]; s.Game == game && s.Compensates == compensates {
				s.Lines = append(s.Lines, l)
			}
		}
		return nil
	})
}

func (r *Record) loadCreators(ctx context.Context, conn *pgx.Conn) error {
	var request, match string
	return each(ctx, conn, sqlCreators, []any{&request, &match}, func() error {
		r.Creators[request] = match
		return nil
	})
}

func (r *Record) loadLog(ctx context.Context, conn *pgx.Conn) error {
	var e Entry
	err := each(ctx, conn, sqlEntries, []any{&e.Position, &e.Match, &e.Game, &e.Head}, func() error {
		entry := e
		entry.Head = append([]byte(nil), e.Head...)
		r.Entries = append(r.Entries, entry)
		return nil
	})
	if err != nil {
		return err
	}
	var outage Span
	err = each(ctx, conn, sqlOutages, []any{&outage.From, &outage.Until}, func() error {
		r.Outages = append(r.Outages, outage)
		return nil
	})
	if err != nil {
		return err
	}
	return conn.QueryRow(ctx, sqlHead).Scan(&r.Root, &r.Queued, &r.LogsCompensations)
}

func uuidText(id [16]byte) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

// request returns the row's request in its usual form; empty for none.
func (e *Row) request() string {
	if e.Request == nil {
		return ""
	}
	return uuidText(*e.Request)
}

// PlayedOn counts the seats that went out of a game which went on without them.
func (m *Match) PlayedOn(game int) (seats int) {
	log := m.Logs[game]
	for i := range log {
		if out := log[i].Kind == kindSeatOut || log[i].Kind == kindSeatLeft; out && i+1 < len(log) && log[i+1].Kind != kindGameEnded {
			seats++
		}
	}
	return seats
}

func (e *Row) hash() string { return string(e.Hash) }
