package store

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"referee.example/internal/referee"
	"referee.example/internal/rules"
)

// byMatch are the tables that docs/sharding.md distributes by match_id.
var byMatch = []string{"matches", "match_states", "games", "events", "settlements", "settlement_lines",
	"finished_games", "made_compensations", "settlement_queue", "ended_games", "interventions", "pairs"}

const shards = 8

// manyShards are the statements that concern many matches, and whose they are.
var manyShards = map[string]string{
	"sqlCommitGroup": "the ordinary mode", "sqlEndGames": "the ordinary mode", "sqlEndGamesWaiting": "the ordinary mode",
	"sqlPutOff": "the ordinary mode", // sqlEarly and sqlPutOffOne take its place
	"sqlEarly":  "the sweep", "sqlDue": "the sweep", "sqlLoadMany": "the sweep",
	"sqlVersions":            "watchers",
	"sqlSequenceSettlements": "the feed", "sqlSettlements": "the feed",
	"sqlPendingGames": "the log of finished games", "sqlAppendGames": "the log of finished games",
	"sqlLags":        "measurements",
	"sqlRecentSeeds": "a replica's start",
	"sqlPairGames":   "statistics of a pair", "sqlPairPoints": "statistics of a pair",
	"sqlExposures":     "the list of exposure",
	"sqlMoveInOutage":  "the record of outages",
	"sqlMovesInOutage": "referee log audit",
	"sqlLiveMatches":   "referee partitions", "sqlPartitions": "referee partitions",
}

// ofMany is manyShards for the lists and audits too.
func ofMany(name string) bool {
	return manyShards[name] != "" || strings.HasPrefix(name, "sqlList") || strings.HasPrefix(name, "sqlAudit")
}

// planless are statements in whose plans no shard stands: those that insert rows,
// the call of the function, and those of tables that are not distributed by match.
func planless(name string) bool {
	return strings.HasPrefix(name, "sqlAdd") || slices.Contains([]string{"sqlCommitMove", "sqlFindCreated", "sqlFindExternalRef",
		"sqlLogEntries", "sqlLogPosition"}, name)
}

// newShards is a desk on a database whose tables are split by the hash of match_id.
// A statement that Postgres prunes to one part is one that a coordinator can send to
// one node.
func newShards(t *testing.T) *desk {
	t.Helper()
	d := newDesk(t)
	for _, table := range byMatch {
		triggers := ask[[]string](d, `SELECT coalesce(array_agg(pg_get_triggerdef(oid)), '{}') FROM pg_trigger
			WHERE tgrelid = $1::text::regclass AND NOT tgisinternal`, table)
		d.exec(`ALTER TABLE ` + table + ` RENAME TO ` + table + `_whole`)
		d.exec(`CREATE TABLE ` + table + ` (LIKE ` + table + `_whole INCLUDING ALL EXCLUDING STORAGE) PARTITION BY HASH (match_id)`)
		for n := range shards {
			d.exec(fmt.Sprintf(`CREATE TABLE %s_shard_%d PARTITION OF %s FOR VALUES WITH (MODULUS %d, REMAINDER %d)`, table, n, table, shards, n))
		}
		for _, trigger := range triggers {
			if !strings.Contains(trigger, "TRUNCATE") {
				d.exec(trigger)
			}
		}
	}
	s, err := Open(t.Context(), Config{URL: d.db.URL, MaxConns: 8, Sharded: true})
	d.must(err)
	t.Cleanup(s.Close)
	d.Store = s
	return d
}

var shardName = regexp.MustCompile(`"Relation Name": "\w+_shard_(\d+)"`)

// shardsOf are the shards that stand in a plan.
func shardsOf(plan string) map[string]bool {
	found := map[string]bool{}
	for _, match := range shardName.FindAllStringSubmatch(plan, -1) {
		found[match[1]] = true
	}
	return found
}

// someValue is a value of each type of parameter, as it is written in SQL. For a
// list of matches there are many.
func someValue(typeName string, id referee.ID, many string) string {
	if element, is := strings.CutSuffix(typeName, "[]"); is {
		if element == "uuid" {
			return many
		}
		return "ARRAY[" + someValue(element, id, many) + "]::" + typeName
	}
	switch typeName {
	case "uuid":
		return "'" + id.String() + "'"
	case "smallint", "integer", "bigint":
		return "1"
	case "boolean":
		return "true"
	case "timestamp with time zone":
		return "now()"
	case "bytea":
		return `'\x00'`
	default:
		return "'1'"
	}
}

// planned explains a statement for one match.
func (d *desk) planned(conn *pgx.Conn, query string, id referee.ID, many string) string {
	d.t.Helper()
	for _, statement := range []string{`DEALLOCATE ALL`, `PREPARE planned AS ` + query} {
		_, err := conn.Exec(d.t.Context(), statement, pgx.QueryExecModeSimpleProtocol)
		d.must(err)
	}
	var types []string
	d.must(conn.QueryRow(d.t.Context(), `SELECT coalesce(parameter_types::text[], '{}') FROM pg_prepared_statements WHERE name = 'planned'`,
		pgx.QueryExecModeSimpleProtocol).Scan(&types))
	execute := "planned"
	if len(types) > 0 {
		values := make([]string, len(types))
		for i, name := range types {
			values[i] = someValue(name, id, many)
		}
		execute += "(" + strings.Join(values, ", ") + ")"
	}
	var plan string
	d.must(conn.QueryRow(d.t.Context(), `EXPLAIN (FORMAT JSON) EXECUTE `+execute, pgx.QueryExecModeSimpleProtocol).Scan(&plan))
	return plan
}

// TestEveryStatementOfAMatchIsSingleShard plans each statement of this package for
// one match: those that are not known to concern many touch one shard.
func TestEveryStatementOfAMatchIsSingleShard(t *testing.T) {
	d := newShards(t)
	conn, err := pgx.Connect(t.Context(), d.db.URL)
	d.must(err)
	defer func() { d.must(conn.Close(context.Background())) }()
	for _, setting := range []string{`SET plan_cache_mode = force_custom_plan`, `SET jit = off`} {
		_, err := conn.Exec(t.Context(), setting)
		d.must(err)
	}
	ids := d.table(20)
	many := "ARRAY['" + ids[0].String()
	for _, id := range ids[1:] {
		many += "','" + id.String()
	}
	many += "']::uuid[]"
	queries := constants(t)
	for name := range manyShards {
		if queries[name] == "" {
			t.Errorf("there is no %s", name)
		}
	}
	for name, query := range queries {
		query = positional(t, query)
		if !strings.Contains(query, "match_id") && name != "sqlCommitMove" || strings.HasPrefix(query, "BEGIN") {
			continue
		}
		touched := map[string]bool{}
		for _, id := range ids {
			one := shardsOf(d.planned(conn, query, id, many))
			if len(one) > 1 && !ofMany(name) {
				t.Errorf("%s touches %d shards", name, len(one))
				break
			}
			maps.Copy(touched, one)
		}
		switch {
		case manyShards[name] != "" && len(touched) < 2:
			t.Errorf("%s keeps to one shard: it need not stand among those of many", name)
		case !ofMany(name) && !planless(name) && len(touched) < shards/2:
			t.Errorf("%d matches are planned for %d shards by %s: its plans tell nothing", len(ids), len(touched), name)
		}
	}
}

// TestAMatchKeepsToItsShard runs what commits, loads, sweeps and looks up, triggers
// and all, and asks Postgres which shards were read and written.
func TestAMatchKeepsToItsShard(t *testing.T) {
	d := newShards(t)
	config, err := pgx.ParseConfig(d.db.URL)
	d.must(err)
	var plans []string
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		if strings.Contains(n.Message, `"Plan":`) {
			plans = append(plans, n.Message)
		}
	}
	conn, err := pgx.ConnectConfig(t.Context(), config)
	d.must(err)
	defer func() { d.must(conn.Close(context.Background())) }()
	for _, setting := range []string{`LOAD 'auto_explain'`, `SET auto_explain.log_min_duration = 0`, `SET auto_explain.log_nested_statements = on`,
		`SET auto_explain.log_level = notice`, `SET auto_explain.log_format = json`, `SET plan_cache_mode = force_custom_plan`, `SET jit = off`} {
		_, err := conn.Exec(t.Context(), setting)
		d.must(err)
	}
	used := map[string]bool{}
	for range 12 {
		id := d.started(d.now())
		s := d.load(id)
		d.do(s, d.ply(s), d.now())
		ply := d.aPly(id)
		ending := d.anEnding(id)
		d.exec(`UPDATE match_states SET wake_at = now() - interval '1 second' WHERE match_id = $1`, uuid(id))
		further, err := furtherWrites(ending)
		d.must(err)
		row := newRow(ending)
		for name, statements := range map[string][]*pgx.QueuedQuery{
			"load":         {{SQL: sqlLoad, Arguments: []any{uuid(id)}}},
			"a ply":        {commitMove(new(newRow(ply)), ply.Events, true, false)},
			"an ending":    append([]*pgx.QueuedQuery{commitMove(&row, ending.Events, true, true)}, further.statements()...),
			"a retry":      {{SQL: sqlRequestEvent, Arguments: []any{uuid(id), 1, 1}}, {SQL: sqlPlyEvent, Arguments: []any{uuid(id), 1, 1}}, {SQL: sqlRequests, Arguments: []any{uuid(id), 1, 0}}, {SQL: sqlEvents, Arguments: []any{uuid(id), 1, 1, 10}}},
			"a watch":      {{SQL: sqlEventsBetween, Arguments: []any{uuid(id), 1, 1, 1, 3, 10}}},
			"a wake-up":    {{SQL: sqlPutOffOne, Arguments: []any{uuid(id)}}},
			"sealed seeds": {{SQL: sqlSealedSeeds, Arguments: []any{uuid(id)}}},
		} {
			plans = nil
			touched := d.touched(conn, statements)
			if len(touched) != 1 {
				t.Errorf("%s touches the shards %v", name, touched)
			}
			planned := shardsOf(strings.Join(plans, "\n"))
			if len(planned) != 1 {
				t.Errorf("%s is planned for the shards %v:\n%s", name, slices.Collect(maps.Keys(planned)), strings.Join(plans, "\n"))
			}
			for _, shard := range touched {
				used[shard] = true
			}
		}
	}
	if len(used) < shards/2 {
		t.Errorf("twelve matches used %d shards", len(used))
	}
	// What is known to concern many shards is found to: the check can fail.
	if touched := d.touched(conn, []*pgx.QueuedQuery{{SQL: sqlDue, Arguments: []any{10, timestamp(0)}}}); len(touched) != shards {
		t.Errorf("what is due is looked for in the shards %v", touched)
	}
}

// touched runs statements in a transaction that is taken back, and returns the
// shards in which they read or wrote a row or looked for one.
func (d *desk) touched(conn *pgx.Conn, statements []*pgx.QueuedQuery) []string {
	d.t.Helper()
	tx, err := conn.Begin(d.t.Context())
	d.must(err)
	defer func() { d.must(tx.Rollback(d.t.Context())) }()
	before := d.looked(tx)
	for _, q := range statements {
		_, err := tx.Exec(d.t.Context(), q.SQL, q.Arguments...)
		d.must(err)
	}
	found := map[string]bool{}
	for table, looked := range d.looked(tx) {
		if looked > before[table] {
			found[table[strings.LastIndexByte(table, '_')+1:]] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// looked is how often this session has looked into each shard of each table, and
// how many rows it has written there. What earlier transactions did may be in it.
func (d *desk) looked(tx pgx.Tx) map[string]int64 {
	d.t.Helper()
	rows, err := tx.Query(d.t.Context(), `SELECT relname, seq_scan + coalesce(idx_scan, 0) + n_tup_ins + n_tup_upd + n_tup_del
		FROM pg_stat_xact_user_tables WHERE relname ~ '_shard_\d+$'`)
	d.must(err)
	all := map[string]int64{}
	var name string
	var looked int64
	_, err = pgx.ForEachRow(rows, []any{&name, &looked}, func() error {
		all[name] = looked
		return nil
	})
	d.must(err)
	return all
}

// A whole match on sharded tables: the store needs nothing else to be otherwise.
func TestAWholeMatchOnShards(t *testing.T) {
	d := newShards(t)
	ids := d.table(20)
	for _, id := range ids {
		for range 5 {
			d.must(d.Commit(t.Context(), d.aPly(id)))
		}
		d.logged(id)
		d.must(d.Commit(t.Context(), d.anEnding(id)))
		s := d.load(id)
		d.must(d.Commit(t.Context(), d.change(s, &referee.VoidMatch{Header: d.header(s, rules.NoSeat, false), Note: "end"}, d.now())))
		record, err := d.Record(t.Context(), id)
		d.must(err)
		if len(record.Games) != 2 || len(record.Settlements) != 1 {
			t.Errorf("match %v has %d games and %d settlements", id, len(record.Games), len(record.Settlements))
		}
	}
	d.exec(`UPDATE match_states SET wake_at = now() - interval '1 second'`)
	d.due(d.Store, 100)
	if n := ask[int](d, `SELECT count(*) FROM match_states WHERE wake_at IS NOT NULL`); n != 0 {
		t.Errorf("%d wake-ups were not put off", n)
	}
	for n := 1; n > 0; {
		var err error
		n, _, err = d.SequenceSettlements(t.Context(), 7)
		d.must(err)
	}
	if n := ask[int](d, `SELECT count(*) FROM settlement_feed`); n != len(ids) {
		t.Errorf("%d settlements have a position", n)
	}
}
