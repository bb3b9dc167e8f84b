package history

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"referee.example/internal/deal"
	"referee.example/internal/referee"
)

// copier copies played matches in SQL, a statement a table.
type copier struct {
	ctx     context.Context
	conn    *pgx.Conn
	begin   time.Time
	matches int
	events  int
}

// copied are the tables that have rows of a match, in the order that they are
// filled.
var copied = []string{"matches", "match_states", "games", "participants", "settlements", "settlement_lines", "events"}

// suspended are the indexes and keys that new rows come to in no order: they are
// made anew when all rows are there.
var suspended = []string{
	"matches_platform", "matches_ruleset", "matches_table", "matches_ended_as", "matches_live",
	"participants_pkey", "pairs_pkey", "ended_games_pkey", "ended_games_undecided",
}

// sqlMade rolls the copies: who plays, when, how. A hash of the number is the
// dice, so that each run makes the same.
const sqlMade = `
CREATE TEMP TABLE made AS
WITH rolled AS (
	SELECT n, $2::timestamptz + n * ($3::timestamptz - $2::timestamptz) / $1::bigint AS at,
		(hashint8extended(n, 1) & 2147483647) / 2147483648.0::float8 AS r1,
		(hashint8extended(n, 2) & 2147483647) / 2147483648.0::float8 AS r2,
		(hashint8extended(n, 3) & 2147483647) / 2147483648.0::float8 AS r3,
		(hashint8extended(n, 4) & 2147483647) / 2147483648.0::float8 AS r4,
		(hashint8extended(n, 5) & 2147483647) / 2147483648.0::float8 AS r5,
		(hashint8extended(n, 6) & 2147483647) / 2147483648.0::float8 AS r6,
		(hashint8extended(n, 7) & 2147483647) % 10000 AS slot
	FROM generate_series(1, $1::bigint) n
), seated AS (
	SELECT *, CASE WHEN r1 < 0.6 THEN 0 ELSE 2 + floor(power(r2, 3) * $1 / 10) END AS a,
		CASE WHEN r1 < 0.06 THEN 1 ELSE 2 + floor(power(r3, 2) * $1 / 10) END AS b
	FROM rolled
), named AS (
	SELECT n, at, slot, r4, r5, r6, 'p' || lpad(a::text, 7, '0') AS one,
		'p' || lpad((CASE WHEN a = b THEN b + 1 ELSE b END)::text, 7, '0') AS two
	FROM seated
)
SELECT n, at, slot, CASE WHEN n % 2 = 0 THEN ARRAY[one, two] ELSE ARRAY[two, one] END AS players,
	CASE WHEN r4 < 0.001 THEN 'cedar' WHEN r4 < 0.05 THEN 'river' WHEN r4 < 0.2 THEN 'south' ELSE 'north' END AS platform,
	'table ' || lpad(floor(r5 * 10000)::text, 4, '0') AS table_ref,
	CASE WHEN r6 < 0.0005 THEN 50000 WHEN r6 < 0.1 THEN 1000 WHEN r6 < 0.5 THEN 50 ELSE 100 END::bigint AS stake,
	overlay(overlay(overlay(first_match_id(at)::text placing '7' || substr(md5(n::text), 1, 3) from 15 for 4)
		placing '8' || substr(md5(n::text), 4, 3) from 20 for 4) placing substr(md5(n::text), 7, 12) from 25 for 12)::uuid AS match_id
FROM named`

// sqlCopies joins each copy with the match that it is one of.
const sqlCopies = `
CREATE TEMP TABLE copies AS
SELECT m.n, m.match_id, m.platform, m.players, m.table_ref, m.stake, s.model_id, m.at - s.created_at AS shift
FROM made m JOIN slots s ON m.slot >= s.from_slot AND m.slot < s.until_slot
ORDER BY m.n`

// The copies of each table's rows.
var copyStatements = map[string]string{
	"matches": `
INSERT INTO matches (match_id, created_at, ended_at, stake, fee, scene_fee, disconnection_penalty, engine_version, status,
	winners, first_seat, platform, external_ref, table_ref, ruleset_id, ruleset_hash, player_ids, end_note)
SELECT c.match_id, o.created_at + c.shift, o.ended_at + c.shift, c.stake, o.fee, o.scene_fee, o.disconnection_penalty,
	o.engine_version, o.status, o.winners, o.first_seat, c.platform, CASE WHEN c.n % 50 = 0 THEN 'order ' || c.n ELSE '' END, c.table_ref, o.ruleset_id,
	o.ruleset_hash, c.players, o.end_note
FROM copies c JOIN model_matches o ON o.match_id = c.model_id`,
	"match_states": `
INSERT INTO match_states (match_id, version, deadline, wake_at, outages_after, state)
SELECT c.match_id, o.version, o.deadline + c.shift, o.wake_at + c.shift, o.outages_after + c.shift,
	overlay(overlay(overlay(overlay(o.state placing convert_to(c.platform, 'UTF8') from p.platform)
		placing convert_to(c.table_ref, 'UTF8') from p.table_ref)
		placing convert_to(c.players[1], 'UTF8') from p.first) placing convert_to(c.players[2], 'UTF8') from p.second)
FROM copies c JOIN model_match_states o ON o.match_id = c.model_id JOIN places p ON p.match_id = c.model_id`,
	"games": `
INSERT INTO games (match_id, game, status, commitment, sealed_seed, started_at, first_seat, balances, hold_ids, player_seeds,
	root, ended_at, end_reason, winners, void, first_ply, last_ply, plies, captures, disconnected, server_seed, head_hash)
SELECT c.match_id, o.game, o.status, o.commitment, o.sealed_seed, o.started_at + c.shift, o.first_seat, o.balances, o.hold_ids,
	o.player_seeds, o.root, o.ended_at + c.shift, o.end_reason, o.winners, o.void, o.first_ply, o.last_ply, o.plies,
	o.captures, o.disconnected, o.server_seed, o.head_hash
FROM copies c JOIN model_games o ON o.match_id = c.model_id`,
	"participants": `
INSERT INTO participants (platform, player_id, match_id, seat)
SELECT c.platform, c.players[o.seat + 1], c.match_id, o.seat FROM copies c JOIN model_participants o ON o.match_id = c.model_id`,
	"settlements": `
INSERT INTO settlements (match_id, game, compensates, settlement_id, multiple, loser_captures, settled_at)
SELECT c.match_id, o.game, o.compensates, md5(c.n || '/' || o.game)::uuid, o.multiple, o.loser_captures, o.settled_at + c.shift
FROM copies c JOIN model_settlements o ON o.match_id = c.model_id`,
	"settlement_lines": `
INSERT INTO settlement_lines (match_id, game, compensates, line, payer, payee, amount, why)
SELECT c.match_id, o.game, o.compensates, o.line,
	CASE o.payer WHEN $1 THEN c.players[1] WHEN $2 THEN c.players[2] ELSE o.payer END,
	CASE o.payee WHEN $1 THEN c.players[1] WHEN $2 THEN c.players[2] ELSE o.payee END,
	CASE o.why WHEN 'stake' THEN o.amount / 100 * c.stake ELSE o.amount END, o.why
FROM copies c JOIN model_settlement_lines o ON o.match_id = c.model_id`,
	"events": `
INSERT INTO events (match_id, event_time, seq, ply, principal, game, seat, kind, action_kind, from_square, to_square, turned,
	captured, request_id, clocks, client_hash, detail, hash)
SELECT c.match_id, o.event_time + c.shift, o.seq, o.ply, o.principal, o.game, o.seat, o.kind, o.action_kind, o.from_square,
	o.to_square, o.turned, o.captured, o.request_id, o.clocks, o.client_hash, o.detail, o.hash
FROM copies c JOIN model_events o ON o.match_id = c.model_id WHERE c.n > $1::bigint`,
}

// sqlExternalRefs has the references of those matches that have one.
const sqlExternalRefs = `
INSERT INTO external_refs (platform, external_ref, match_id)
SELECT platform, 'order ' || n, match_id FROM copies WHERE n % 50 = 0`

// What the triggers would have added, which are off while rows are copied.
const (
	sqlPairs = `
INSERT INTO pairs (platform, low_player_id, high_player_id, match_id)
SELECT platform, least(players[1] COLLATE "C", players[2]), greatest(players[1] COLLATE "C", players[2]), match_id FROM copies`
	sqlEndedGames = `
INSERT INTO ended_games (match_id, game, end_reason, result, platform)
SELECT c.match_id, o.game, o.end_reason, game_result(o.winners, o.void), c.platform
FROM copies c JOIN model_games o ON o.match_id = c.model_id WHERE o.status = 4 AND o.started_at IS NOT NULL`
)

// copies copies the matches that were played.
func (c *copier) copies(matches []played) error {
	// Rows that are copied meet no trigger and no foreign key.
	if err := c.exec(`SET session_replication_role = replica; SET synchronous_commit = off;
		SET work_mem = '256MB'; SET maintenance_work_mem = '512MB'; SET max_parallel_maintenance_workers = 0`); err != nil {
		return err
	}
	if err := c.models(matches); err != nil {
		return fmt.Errorf("setting the models apart: %w", err)
	}
	if err := c.exec(sqlMade, c.matches, c.begin.Add(24*time.Hour), c.begin.Add(span)); err != nil {
		return fmt.Errorf("rolling the copies: %w", err)
	}
	if err := c.exec(sqlCopies + `; ANALYZE copies`); err != nil {
		return fmt.Errorf("matching copies and models: %w", err)
	}
	resume, err := c.suspend()
	if err != nil {
		return err
	}
	for _, table := range copied {
		if err := c.fill(table); err != nil {
			return fmt.Errorf("copying %s: %w", table, err)
		}
	}
	if err := c.exec(sqlPairs + `;` + sqlEndedGames + `;` + sqlExternalRefs); err != nil {
		return err
	}
	for _, statement := range resume {
		if err := c.exec(statement); err != nil {
			return err
		}
	}
	if err := c.seal(); err != nil {
		return fmt.Errorf("sealing the newest games: %w", err)
	}
	// What autovacuum does in production: index-only scans need it.
	return c.exec(`VACUUM (ANALYZE) matches, participants, pairs, ended_games, games, match_states, settlements,
		settlement_lines, external_refs, events`)
}

func (c *copier) exec(statement string, arguments ...any) error {
	if len(arguments) == 0 {
		// Several statements go together only by the simple protocol.
		return c.conn.PgConn().Exec(c.ctx, statement).Close()
	}
	_, err := c.conn.Exec(c.ctx, statement, arguments...)
	return err
}

// models sets the rows of the matches that were played apart, so that copying
// does not read what it writes, and notes where in their snapshots the names are.
func (c *copier) models(matches []played) error {
	if err := c.exec(`CREATE TEMP TABLE slots (model_id uuid, created_at timestamptz, from_slot integer, until_slot integer)`); err != nil {
		return err
	}
	ids := make([]pgtype.UUID, len(matches))
	for i, m := range matches {
		ids[i] = pgtype.UUID{Bytes: m.id, Valid: true}
		if err := c.exec(`INSERT INTO slots SELECT match_id, created_at, $2, $3 FROM matches WHERE match_id = $1`,
			ids[i], m.from, m.until); err != nil {
			return err
		}
	}
	for _, table := range copied {
		where := `match_id = ANY ($1)`
		if table == "participants" {
			where += ` AND platform = '` + modelPlatform + `'`
		}
		if err := c.exec(`CREATE TEMP TABLE model_` + table + ` (LIKE ` + table + `)`); err != nil {
			return err
		}
		if err := c.exec(`INSERT INTO model_`+table+` SELECT * FROM `+table+` WHERE `+where, ids); err != nil {
			return err
		}
	}
	return c.exec(`CREATE TEMP TABLE places AS SELECT match_id, position(convert_to('` + modelPlatform + `', 'UTF8') in state) AS platform,
		position(convert_to('` + modelTable + `', 'UTF8') in state) AS table_ref,
		position(convert_to('` + modelPlayers[0] + `', 'UTF8') in state) AS first,
		position(convert_to('` + modelPlayers[1] + `', 'UTF8') in state) AS second FROM model_match_states`)
}

// suspend drops what is suspended and returns how it is made again.
func (c *copier) suspend() (resume []string, err error) {
	for _, name := range suspended {
		var table, definition string
		var key bool
		err := c.conn.QueryRow(c.ctx, `
SELECT i.indrelid::regclass::text, k.oid IS NOT NULL, coalesce(pg_get_constraintdef(k.oid), pg_get_indexdef(i.indexrelid))
FROM pg_index i LEFT JOIN pg_constraint k ON k.conindid = i.indexrelid AND k.contype = 'p'
WHERE i.indexrelid = $1::text::regclass`, name).Scan(&table, &key, &definition)
		if err != nil {
			return nil, fmt.Errorf("reading index %s: %w", name, err)
		}
		drop := `DROP INDEX ` + name
		if key {
			drop, definition = `ALTER TABLE `+table+` DROP CONSTRAINT `+name, `ALTER TABLE `+table+` ADD CONSTRAINT `+name+` `+definition
		}
		if err := c.exec(drop); err != nil {
			return nil, err
		}
		resume = append(resume, definition)
	}
	return resume, nil
}

// seal seals the seeds of the newest games anew, which a replica opens when it
// starts. The copies have those of the games that were played, which open for them
// alone.
func (c *copier) seal() error {
	keys, err := deal.ParseKeyring(Key())
	if err != nil {
		return err
	}
	rows, err := c.conn.Query(c.ctx, `SELECT match_id, game FROM games ORDER BY match_id DESC, game DESC LIMIT 1000`)
	if err != nil {
		return err
	}
	batch := &pgx.Batch{}
	var match [16]byte
	var game int
	_, err = pgx.ForEachRow(rows, []any{&match, &game}, func() error {
		var seed deal.Seed
		var nonce [12]byte
		for _, random := range [][]byte{seed[:], nonce[:]} {
			if _, err := rand.Read(random); err != nil {
				return err
			}
		}
		sealed := referee.SealSeed(keys, deal.Context{MatchID: match, Game: uint16(game)}, seed, nonce)
		batch.Queue(`UPDATE games SET sealed_seed = $3 WHERE match_id = $1 AND game = $2`, pgtype.UUID{Bytes: match, Valid: true}, game, sealed)
		return nil
	})
	if err != nil {
		return err
	}
	return c.conn.SendBatch(c.ctx, batch).Close()
}

func (c *copier) fill(table string) error {
	switch statement := copyStatements[table]; table {
	case "settlement_lines":
		return c.exec(statement, modelPlayers[0], modelPlayers[1])
	case "events":
		var all int64
		err := c.conn.QueryRow(c.ctx, `SELECT sum(o.events)::bigint FROM copies c
			JOIN (SELECT match_id, count(*) AS events FROM model_events GROUP BY match_id) o ON o.match_id = c.model_id`).Scan(&all)
		if err != nil || c.events == 0 {
			return err
		}
		without := 1 - float64(c.events)/float64(all)
		return c.exec(statement, max(int64(without*float64(c.matches)), 0))
	default:
		return c.exec(statement)
	}
}

func (c *copier) count() (size Size, err error) {
	err = c.conn.QueryRow(c.ctx, `SELECT (SELECT count(*) FROM matches), (SELECT count(*) FROM games WHERE started_at IS NOT NULL),
		(SELECT count(*) FROM events)`).Scan(&size.Matches, &size.Games, &size.Events)
	return size, err
}
