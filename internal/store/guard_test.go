package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"referee.example/internal/referee"
	"referee.example/migrations"
)

// refusedWith asserts that a statement fails with a SQLSTATE.
func (d *desk) refusedWith(db interface {
	Exec(context.Context, string, ...any) (pgconn.CommandTag, error)
}, code, statement string) {
	d.t.Helper()
	_, err := db.Exec(d.t.Context(), statement)
	var failed *pgconn.PgError
	if !errors.As(err, &failed) || failed.Code != code {
		d.t.Errorf("%s: %v, want SQLSTATE %s", statement, err, code)
	}
}

// settled leaves rows in every table.
func settled(t *testing.T) *desk {
	d := newDesk(t)
	c := d.request()
	c.ExternalRef = "a"
	id := d.create(c, d.now())
	d.start(id, d.now())
	d.disconnect(id, d.now())
	_, err := d.Principal(t.Context(), "somebody")
	d.must(err)
	return d
}

func TestTheRecordIsAppendOnlyEvenForItsOwner(t *testing.T) {
	d := settled(t)
	partition := ask[string](d, `SELECT tableoid::regclass::text FROM events LIMIT 1`)
	for _, table := range []string{"events", partition, "settlements", "settlement_lines"} {
		if n := ask[int](d, `SELECT count(*) FROM `+table); n == 0 {
			t.Fatalf("%s is empty", table)
		}
		for _, statement := range []string{`UPDATE %s SET game = game + 1`, `DELETE FROM %s`, `TRUNCATE %s CASCADE`} {
			d.refusedWith(d.pool, "23001", fmt.Sprintf(statement, table))
		}
	}
}

const denied = "42501" // insufficient_privilege

func TestRoles(t *testing.T) {
	d := settled(t)
	d.must(d.ApplyRoles(t.Context()))
	d.exec(`GRANT UPDATE, DELETE ON events TO referee_server`)
	d.exec(`GRANT SELECT ON match_states TO referee_auditor`)
	d.must(d.ApplyRoles(t.Context())) // again, and rid of what was added
	conn, err := pgx.Connect(t.Context(), d.db.URL)
	d.must(err)
	defer func() { d.must(conn.Close(t.Context())) }()
	role := func(name string) {
		_, err := conn.Exec(t.Context(), `RESET ROLE; SET ROLE `+name)
		d.must(err)
	}
	tables := []string{"rulesets", "matches", "match_states", "games", "events", "settlements", "settlement_lines",
		"participants", "create_requests", "external_refs", "principals", "heartbeat", "outages"}
	partition := ask[string](d, `SELECT tableoid::regclass::text FROM events LIMIT 1`)

	role("referee_server")
	for _, table := range append(tables, partition) {
		d.refusedWith(conn, denied, `DELETE FROM `+table)
		d.refusedWith(conn, denied, `TRUNCATE `+table)
	}
	for _, statement := range []string{
		`UPDATE events SET ply = 0`, `UPDATE ` + partition + ` SET ply = 0`, `UPDATE settlements SET multiple = 9`,
		`UPDATE settlement_lines SET amount = 1`, `UPDATE games SET sealed_seed = ''`, `UPDATE games SET commitment = ''`,
		`UPDATE matches SET stake = 1`, `UPDATE rulesets SET content = ''`, `UPDATE outages SET from_at = now()`,
		`CREATE TABLE mine ()`,
	} {
		d.refusedWith(conn, denied, statement)
	}

	role("referee_auditor")
	for _, table := range tables {
		d.refusedWith(conn, denied, `DELETE FROM `+table)
		d.refusedWith(conn, denied, `INSERT INTO `+table+` DEFAULT VALUES`)
	}
	for _, statement := range []string{`SELECT sealed_seed FROM games`, `SELECT * FROM games`, `SELECT state FROM match_states`,
		`SELECT version FROM match_states`, `SELECT fingerprint FROM create_requests`} {
		d.refusedWith(conn, denied, statement)
	}
	for _, statement := range []string{`SELECT commitment, server_seed, captures FROM games`, `SELECT * FROM events`,
		`SELECT * FROM settlement_lines JOIN settlements USING (match_id, game, compensates)`, `SELECT * FROM matches`,
		`SELECT * FROM rulesets`, `SELECT * FROM participants`} {
		if tag, err := conn.Exec(t.Context(), statement); err != nil || tag.RowsAffected() == 0 {
			t.Errorf("%s: %v, %v", statement, tag, err)
		}
	}
}

// The server's role suffices for all that a replica does.
func TestTheServersRolePlaysMatches(t *testing.T) {
	d := newDesk(t)
	d.must(d.ApplyRoles(t.Context()))
	own := d.Store
	separator := "?"
	if strings.Contains(d.db.URL, "?") {
		separator = "&"
	}
	limited, err := Open(t.Context(), Config{URL: d.db.URL + separator + "role=referee_server", MaxConns: 4})
	d.must(err)
	t.Cleanup(limited.Close)
	d.Store = limited
	if role := ask[string](d, `SELECT current_user`); role != "referee_server" {
		t.Fatalf("the session's role is %s", role)
	}
	d.must(d.Ready(t.Context()))
	c := d.request()
	c.ExternalRef = "a"
	id := d.create(c, d.now())
	d.start(id, d.now())
	s := d.load(id)
	d.do(s, d.ply(s), d.now())
	d.disconnect(id, d.now())
	d.due(d.Store, 10)
	_, err = d.Beat(t.Context())
	d.must(err)
	_, err = d.Principal(t.Context(), "somebody")
	d.must(err)
	s = d.load(id)
	d.do(s, &referee.VoidMatch{Header: d.header(s, -1, false), Note: "end"}, d.now())
	matches, _, err := d.ListMatches(t.Context(), referee.HistoryFilter{Platform: "north", Player: "ann"}, 0, referee.ID{}, 10)
	if err != nil || len(matches) != 1 {
		t.Errorf("%d matches, %v", len(matches), err)
	}
	own.exec(t, `UPDATE heartbeat SET beat_at = now() - interval '1 minute'`)
	_, err = d.Beat(t.Context())
	d.must(err)
}

func (s *Store) exec(t *testing.T, statement string) {
	t.Helper()
	if _, err := s.pool.Exec(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

func TestReady(t *testing.T) {
	d := newDesk(t)
	ctx := t.Context()
	d.ensured()
	d.must(d.Ready(ctx))
	next := ask[string](d, `SELECT events_partition(now() + interval '1 month')`)
	d.exec(`DROP TABLE ` + next)
	if err := d.Ready(ctx); !errors.Is(err, ErrPartitions) {
		t.Errorf("without next month's partition: %v", err)
	}
	if made, err := d.EnsurePartitions(ctx); err != nil || made != 1 {
		t.Errorf("made %d partitions, %v", made, err)
	}
	d.must(d.Ready(ctx))
	newest := migrations.Newest()
	d.exec(`UPDATE schema_migrations SET version = $1`, newest+1)
	d.must(d.Ready(ctx)) // the new schema suits the binary before it
	d.exec(`UPDATE schema_migrations SET dirty = true`)
	d.must(d.Ready(ctx)) // and so does the way there
	d.exec(`UPDATE schema_migrations SET dirty = false`)
	d.exec(`UPDATE schema_migrations SET version = $1`, newest-1)
	if err := d.Ready(ctx); !errors.Is(err, ErrSchema) {
		t.Errorf("with an old schema: %v", err)
	}
	d.exec(`UPDATE schema_migrations SET version = $1, dirty = true`, newest)
	if err := d.Ready(ctx); !errors.Is(err, ErrSchema) {
		t.Errorf("half migrated: %v", err)
	}
	d.exec(`DROP TABLE schema_migrations`)
	if err := d.Ready(ctx); err == nil {
		t.Error("ready without a schema")
	}
}

func TestPartitionsFollowTheMonthsOfCreation(t *testing.T) {
	d := newDesk(t)
	// The month before this one, this one and 13 more.
	const due = `SELECT count(*) FROM generate_series(-1, 13) n
		JOIN pg_inherits ON inhparent = 'events'::regclass AND inhrelid = to_regclass(events_partition(now() + n * interval '1 month'))`
	d.ensured()
	if n := ask[int](d, due); n != 15 {
		t.Errorf("%d partitions", n)
	}
	if made, err := d.EnsurePartitions(t.Context()); err != nil || made != 0 {
		t.Errorf("made %d partitions again, %v", made, err)
	}
	// Twelve years, leap days included, and not this year's months.
	d.exec(`SELECT ensure_events_partitions('2031-12-15', 144)`)
	for _, test := range []struct{ at, partition string }{
		{"2031-12-01T00:00:00Z", "events_2031_12"}, {"2031-12-31T23:59:59.999Z", "events_2031_12"},
		{"2032-01-01T00:00:00Z", "events_2032_01"}, {"2032-02-29T23:59:59.999Z", "events_2032_02"},
		{"2032-03-01T00:00:00Z", "events_2032_03"}, {"2043-11-30T23:59:59.999Z", "events_2043_11"},
	} {
		d.exec(`INSERT INTO events SELECT first_match_id($1::text::timestamptz), now(), 1, 0, 0, 1, -1, 1, 0, 0, 0, 0, 0, NULL,
			'', '', '', sha256('')`, test.at)
		got := ask[string](d, `SELECT tableoid::regclass::text FROM events WHERE match_id = first_match_id($1::text::timestamptz)`, test.at)
		if got != test.partition {
			t.Errorf("%s went to %s, want %s", test.at, got, test.partition)
		}
	}
}

// What leaves the package quotes neither rows nor arguments.
func TestErrorsQuoteNothing(t *testing.T) {
	d := newDesk(t)
	change := d.creation(d.request(), d.now())
	change.State.Players = []string{"secret", "secret"}
	change.State.Stake = -1
	err := d.Commit(t.Context(), change)
	if err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "matches_amounts") {
		t.Errorf("error is %v", err)
	}
	var failed *pgconn.PgError
	if errors.As(err, &failed) {
		t.Error("an error of Postgres left the package whole")
	}
	if _, err := Open(t.Context(), Config{URL: "postgres://u:secret@host:not-a-port/", MaxConns: 1}); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("error is %v", err)
	}
	for _, conns := range []int{0, MaxConns + 1} {
		if _, err := Open(t.Context(), Config{URL: d.db.URL, MaxConns: conns}); err == nil {
			t.Errorf("a pool of %d was opened", conns)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Load(ctx, change.State.ID); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	if _, err := d.Load(t.Context(), change.State.ID); !errors.Is(err, referee.ErrNotFound) {
		t.Errorf("error is %v", err)
	}
}

func TestAnotherRulesetIsNotJudgedBy(t *testing.T) {
	d := newDesk(t)
	id := d.create(d.request(), d.now())
	d.exec(`ALTER TABLE rulesets DROP CONSTRAINT rulesets_hash`)
	d.exec(`UPDATE rulesets SET content = replace(content, '"limit":50', '"limit":40')`)
	if _, err := d.Load(t.Context(), id); !errors.Is(err, errRuleset) {
		t.Errorf("error is %v", err)
	}
}

func TestSessionsHaveTheirLimits(t *testing.T) {
	d := newDesk(t)
	replica, err := Open(t.Context(), Config{URL: d.db.URL, MaxConns: 1})
	d.must(err)
	t.Cleanup(replica.Close)
	d.Store = replica
	for name, want := range map[string]string{"jit": "off", "statement_timeout": "5s", "lock_timeout": "2s",
		"idle_in_transaction_session_timeout": "5s", "application_name": "referee", "synchronous_commit": "on"} {
		if got := ask[string](d, `SELECT current_setting($1)`, name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}
