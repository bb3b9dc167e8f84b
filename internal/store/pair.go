package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"referee.example/internal/referee"
	"referee.example/internal/rules"
)

// Bounds of the statistics of a pair.
const (
	// maxPairMatches is how many of the newest matches are counted; pairMatches
	// says in SQL that one more is looked at, to know whether there are more.
	maxPairMatches = 1000
	pairMatches    = `1001`
	// thinkGames is in how many of the newest ended games think times are taken,
	// thinkEvents in how many of the first events of each.
	thinkGames  = 100
	thinkEvents = `2000`
)

// Two equal keys, which the compiler refuses, unless both say the same.
var _ = map[bool]struct{}{false: {}, pairMatches == "1001" && maxPairMatches == 1000: {}}

// pairOf are the newest matches of a pair.
const pairOf = `(
	SELECT d.match_id FROM pairs d
	WHERE d.platform = @platform AND d.low_player_id = @low_player_id AND d.high_player_id = @high_player_id
		AND d.match_id >= @lowest AND d.match_id <= @highest
	ORDER BY d.match_id DESC LIMIT ` + pairMatches + `
) c`

const (
	// A match without a started game has one row too, and one out of time has a row
	// without any column: the ids are those of a slightly longer time.
	sqlPairGames = `
SELECT c.match_id, m.created_at, m.player_ids, g.game, g.status, g.end_reason, g.winners, g.void, g.captures, g.started_at
FROM ` + pairOf + `
LEFT JOIN LATERAL (
	SELECT m.created_at, m.player_ids FROM matches m
	WHERE m.match_id = c.match_id AND m.created_at >= @from_time AND m.created_at < @until_time OFFSET 0
) m ON true
LEFT JOIN LATERAL (
	SELECT g.game, g.status, coalesce(g.end_reason, 0) AS end_reason, coalesce(g.winners, 0) AS winners,
		coalesce(g.void, false) AS void, coalesce(g.captures, '{}')::bigint[] AS captures, g.started_at
	FROM games g WHERE g.match_id = c.match_id AND m.created_at IS NOT NULL AND g.started_at IS NOT NULL OFFSET 0
) g ON true
ORDER BY c.match_id DESC`
	// Sums are of any size, which a bigint is not.
	sqlPairPoints = `
SELECT l.payer, l.payee, sum(l.amount)::text
FROM (SELECT unnest(@matches::uuid[]) AS match_id) c
CROSS JOIN LATERAL (
	SELECT l.payer, l.payee, l.amount FROM settlement_lines l WHERE l.match_id = c.match_id OFFSET 0
) l
WHERE l.payer IN (@low_player_id, @high_player_id) OR l.payee IN (@low_player_id, @high_player_id)
GROUP BY l.payer, l.payee`
	// The kinds are those that referee.Thinking knows.
	sqlThinkEvents = `
SELECT kind, seat, event_time, CASE kind WHEN 14 THEN detail ELSE '' END
FROM events WHERE match_id = $1 AND game = $2 AND seq <= ` + thinkEvents + ` AND kind IN (2, 3, 4, 14, 16) ORDER BY seq`
)

// errManyPoints refuses sums that the contract's numbers can't hold.
var errManyPoints = referee.InvalidField("from_time", "must leave fewer matches: the points they moved do not fit in 64 bits")

// PairStatistics counts what the filter's player and opponent did to each other,
// all read at one instant.
func (s *Store) PairStatistics(ctx context.Context, f referee.HistoryFilter) (referee.PairStatistics, error) {
	p := &pairReader{ctx: ctx}
	p.Players[0].Player, p.Players[1].Player = f.Player, f.Opponent
	p.Endings = map[rules.EndReason]int{}
	arguments, err := s.filter(ctx, f, highestID)
	if err != nil {
		return p.PairStatistics, err
	}
	err = pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		p.tx = tx
		if _, err := tx.Exec(ctx, sqlPlanByKey); err != nil {
			return err
		}
		if err := p.games(arguments); err != nil {
			return err
		}
		if err := p.points(arguments); err != nil {
			return err
		}
		return p.think()
	})
	var refused *referee.Refusal
	if errors.As(err, &refused) {
		return p.PairStatistics, refused
	}
	return p.PairStatistics, wrap("read the statistics of a pair", err)
}

// pairReader reads one pair's statistics in one transaction.
type pairReader struct {
	referee.PairStatistics
	ctx     context.Context
	tx      pgx.Tx
	matches []referee.ID // newest first
	ended   []endedGame
}

// endedGame is a game that think times may be taken from.
type endedGame struct {
	referee.GameKey
	players []string
}

// pairGame is a game of the pair, or a match that has none.
type pairGame struct {
	ID           [16]byte
	Created      *time.Time
	Players      []string
	Game, Status *int
	Reason       *rules.EndReason
	Winners      *rules.SeatSet
	Void         *bool
	Captures     []int64
	Started      *time.Time
}

func (p *pairReader) games(arguments pgx.NamedArgs) error {
	rows, err := p.tx.Query(p.ctx, sqlPairGames, arguments)
	if err != nil {
		return err
	}
	games, err := pgx.CollectRows(rows, pgx.RowToStructByPos[pairGame])
	if err != nil {
		return err
	}
	looked := 0
	for i := range games {
		if i == 0 || games[i].ID != games[i-1].ID {
			if looked++; looked > maxPairMatches {
				p.More = true
				break
			}
			if games[i].Created == nil {
				continue
			}
			p.matches = append(p.matches, games[i].ID)
			p.Oldest = instant(*games[i].Created)
		}
		if games[i].Game != nil {
			p.count(&games[i])
		}
	}
	p.PairStatistics.Matches = len(p.matches)
	return nil
}

func (p *pairReader) count(g *pairGame) {
	p.Games++
	started := instant(*g.Started)
	if p.First == 0 || started < p.First {
		p.First = started
	}
	p.Last = max(p.Last, started)
	if referee.GameStatus(*g.Status) != referee.GameEnded {
		p.Running++
		return
	}
	p.Endings[*g.Reason]++
	p.ended = append(p.ended, endedGame{referee.GameKey{Match: g.ID, Game: *g.Game}, g.Players})
	outcome := rules.Outcome{Reason: *g.Reason, Winners: *g.Winners, Void: *g.Void}
	switch {
	case outcome.Void:
		p.Void++
	case outcome.Drawn():
		p.Drawn++
	}
	for i := range p.Players {
		player := &p.Players[i]
		seat := slices.Index(g.Players, player.Player)
		if seat < 0 {
			continue
		}
		if outcome.Winners.Has(rules.Seat(seat)) {
			player.Wins++
		}
		if seat < len(g.Captures) {
			player.Captures += int(g.Captures[seat])
		}
	}
}

func (p *pairReader) points(arguments pgx.NamedArgs) error {
	arguments["matches"] = uuids(p.matches)
	rows, err := p.tx.Query(p.ctx, sqlPairPoints, arguments)
	if err != nil {
		return err
	}
	defer rows.Close()
	var net, fromOther [2]big.Int
	for rows.Next() {
		var payer, payee, text string
		if err := rows.Scan(&payer, &payee, &text); err != nil {
			return err
		}
		amount, ok := new(big.Int).SetString(text, 10)
		if !ok {
			return fmt.Errorf("%q is no amount", text)
		}
		for i := range p.Players {
			own, other := p.Players[i].Player, p.Players[1-i].Player
			sum := new(big.Int).Set(amount)
			switch own {
			case payer:
				sum.Neg(sum)
			case payee:
			default:
				continue
			}
			net[i].Add(&net[i], sum)
			if payer == other || payee == other {
				fromOther[i].Add(&fromOther[i], sum)
			}
		}
	}
	for i := range p.Players {
		if !net[i].IsInt64() || !fromOther[i].IsInt64() {
			return errManyPoints
		}
		p.Players[i].Net, p.Players[i].FromOther = net[i].Int64(), fromOther[i].Int64()
	}
	return rows.Err()
}

// think takes the think times of the newest games, all asked for at once.
func (p *pairReader) think() error {
	slices.SortFunc(p.ended, func(a, b endedGame) int {
		return cmp.Or(slices.Compare(b.Match[:], a.Match[:]), cmp.Compare(b.Game, a.Game))
	})
	p.ended = p.ended[:min(len(p.ended), thinkGames)]
	var times [2][]int64
	batch := &pgx.Batch{}
	for _, game := range p.ended {
		batch.Queue(sqlThinkEvents, uuid(game.Match), game.Game).Query(func(rows pgx.Rows) error {
			thinking, err := thinkingOf(rows)
			for i := range p.Players {
				if seat := slices.Index(game.players, p.Players[i].Player); seat >= 0 {
					times[i] = append(times[i], thinking.Times[seat]...)
				}
			}
			return err
		})
	}
	err := p.tx.SendBatch(p.ctx, batch).Close()
	for i := range p.Players {
		p.Players[i].Think = referee.SumUp(times[i])
	}
	return err
}

func thinkingOf(rows pgx.Rows) (t referee.Thinking, err error) {
	defer rows.Close()
	for rows.Next() {
		var kind referee.EventKind
		var seat rules.Seat
		var at time.Time
		var detail []byte
		if err := rows.Scan(&kind, &seat, &at, &detail); err != nil {
			return t, err
		}
		if err := t.Add(kind, seat, instant(at), detail); err != nil {
			return t, err
		}
	}
	return t, rows.Err()
}
