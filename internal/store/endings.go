package store

import (
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// Changes that end a game are committed together as moves are, with all that an
// ending writes in the same statement: when many games run out at once, what each
// would pay for a transaction and its statements of one row is most of its cost.

// endColumns are what an ending writes to the tables beside state and log, one row
// a match: the game's end, the game after it (no commitment for none), the
// settlement (no id for none), the match.
const endColumns = `match_id, game, ended_at, end_reason, winners, void, first_ply, last_ply, plies, captures,
	disconnected, server_seed, head_hash, next_commitment, next_sealed, settlement_id, multiple, loser_captures,
	match_status, match_winners, end_note, match_ended_at`

// Statements that end games. Parameters $1 to $27 are those of sqlCommitGroup, $28
// to $49 endColumns, $50 to $56 the lines of the settlements. Captures come as the
// text of an array, since arrays of arrays have no rows of their own.
const (
	sqlEndGames = groupGiven + groupHeld + ` SKIP LOCKED` + groupSaved + groupEnded + groupVerdicts
	// sqlEndGamesWaiting waits for the rows.
	sqlEndGamesWaiting = groupGiven + groupHeld + groupSaved + groupEnded + groupVerdicts

	groupEnded = `, ends AS MATERIALIZED (
	SELECT ` + endColumns + `
	FROM unnest($28::uuid[], $29::smallint[], $30::timestamptz[], $31::smallint[], $32::smallint[], $33::boolean[],
		$34::integer[], $35::integer[], $36::integer[], $37::text[], $38::smallint[], $39::bytea[], $40::bytea[],
		$41::bytea[], $42::bytea[], $43::uuid[], $44::bigint[], $45::smallint[], $46::smallint[], $47::smallint[],
		$48::text[], $49::timestamptz[]) AS e (` + endColumns + `) JOIN saved USING (match_id)
), ended AS (
	UPDATE games g SET status = 4, ended_at = e.ended_at, end_reason = e.end_reason, winners = e.winners, void = e.void,
		first_ply = e.first_ply, last_ply = e.last_ply, plies = e.plies, captures = e.captures::smallint[],
		disconnected = e.disconnected, server_seed = e.server_seed, head_hash = e.head_hash
	FROM ends e WHERE g.match_id = e.match_id AND g.game = e.game
), added AS (
	INSERT INTO games (match_id, game, status, commitment, sealed_seed)
	SELECT match_id, game + 1, 1, next_commitment, next_sealed FROM ends WHERE next_commitment IS NOT NULL
), settled AS (
	INSERT INTO settlements (match_id, game, compensates, settlement_id, multiple, loser_captures, settled_at)
	SELECT match_id, game, false, settlement_id, multiple, loser_captures, ended_at FROM ends WHERE settlement_id IS NOT NULL
), lined AS (
	INSERT INTO settlement_lines (match_id, game, compensates, line, payer, payee, amount, why)
	SELECT match_id, game, false, line, payer, payee, amount, why
	FROM unnest($50::uuid[], $51::smallint[], $52::smallint[], $53::text[], $54::text[], $55::bigint[], $56::text[])
		AS l (match_id, game, line, payer, payee, amount, why) JOIN saved USING (match_id)
), set_match AS (
	UPDATE matches m SET status = e.match_status, winners = e.match_winners, end_note = e.end_note, ended_at = e.match_ended_at
	FROM ends e WHERE m.match_id = e.match_id
)`
)

// ending is a change that ends one game and does nothing else that other tables
// hear of: most endings do, and all of the sweep's.
type ending struct {
	*further
	end        gameEnd
	next       gameAdded      // zero for none
	settlement settlementRows // zero for none
}

// ending returns nil for a change that does more, or ends no game.
func (f *further) ending() *ending {
	e, ends := ending{further: f}, 0
	for _, row := range f.rows {
		switch row := row.(type) {
		case gameEnd:
			e.end = row
			ends++
		case gameAdded:
			e.next = row
		case settlementRows:
			e.settlement = row
		default:
			return nil
		}
	}
	if ends != 1 {
		return nil
	}
	return &e
}

// endGroupArguments are the parameters of sqlEndGames: a column an array.
func endGroupArguments(batch []*pending) []any {
	return append(append(groupArguments(batch), endArrays(batch)...), lineArrays(batch)...)
}

func endArrays(batch []*pending) []any {
	return []any{
		rowColumn(batch, func(r *row) pgtype.UUID { return r.match }),
		endingColumn(batch, func(e *ending) int16 { return int16(e.end.game) }),
		endingColumn(batch, func(e *ending) time.Time { return e.end.at }),
		endingColumn(batch, func(e *ending) int16 { return int16(e.end.outcome.Reason) }),
		endingColumn(batch, func(e *ending) int16 { return seatSet(e.end.outcome.Winners) }),
		endingColumn(batch, func(e *ending) bool { return e.end.outcome.Void }),
		endingColumn(batch, func(e *ending) int32 { return int32(e.end.outcome.FirstPly) }),
		endingColumn(batch, func(e *ending) int32 { return int32(e.end.outcome.LastPly) }),
		endingColumn(batch, func(e *ending) int32 { return int32(e.end.plies) }),
		endingColumn(batch, func(e *ending) *string { return arrayText(e.end.captures) }),
		endingColumn(batch, func(e *ending) int16 { return seatSet(e.end.disconnected) }),
		endingColumn(batch, func(e *ending) []byte { return e.end.seed[:] }),
		endingColumn(batch, func(e *ending) []byte { return e.end.head }),
		endingColumn(batch, func(e *ending) []byte { return e.next.commitment }),
		endingColumn(batch, func(e *ending) []byte { return e.next.sealed }),
		endingColumn(batch, func(e *ending) pgtype.UUID { return uuidOrNull(e.settlement.id) }),
		endingColumn(batch, func(e *ending) int64 { return e.settlement.multiple }),
		endingColumn(batch, func(e *ending) int16 { return int16(e.settlement.loserCaptures) }),
		endingColumn(batch, func(e *ending) int16 { return int16(e.state.Status) }),
		endingColumn(batch, func(e *ending) int16 { return seatSet(e.state.Winners) }),
		endingColumn(batch, func(e *ending) string { return e.state.EndNote }),
		endingColumn(batch, func(e *ending) *time.Time { return timestampOrNull(e.state.Ended) }),
	}
}

func lineArrays(batch []*pending) []any {
	var matches []pgtype.UUID
	var games, numbers []int16
	var payers, payees, reasons []string
	var amounts []int64
	for _, p := range batch {
		s := p.ending.settlement
		for i, line := range s.lines {
			matches = append(matches, p.row.match)
			games, numbers = append(games, int16(s.game)), append(numbers, int16(i+1))
			payers, payees = append(payers, p.ending.account(line.Payer)), append(payees, p.ending.account(line.Payee))
			amounts, reasons = append(amounts, line.Amount), append(reasons, string(line.Why))
		}
	}
	return []any{matches, games, numbers, payers, payees, amounts, reasons}
}

// arrayText is the text of an array, null for nil.
func arrayText(numbers []int16) *string {
	if numbers == nil {
		return nil
	}
	text := []byte{'{'}
	for i, n := range numbers {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, int64(n), 10)
	}
	out := string(append(text, '}'))
	return &out
}

func endingColumn[T any](batch []*pending, value func(*ending) T) pgtype.FlatArray[T] {
	values := make(pgtype.FlatArray[T], len(batch))
	for i, p := range batch {
		values[i] = value(p.ending)
	}
	return values
}
