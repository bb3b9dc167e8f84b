package main

import (
	"context"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"referee.example/internal/devpg"
	refereev1 "referee.example/proto/referee/v1"
)

// postgres runs a program of Postgres's.
func (r *replica) postgres(program string, arguments ...string) {
	r.t.Helper()
	path, err := devpg.Program(program)
	if err != nil {
		r.t.Fatal(err)
	}
	if out, err := exec.CommandContext(r.t.Context(), path, arguments...).CombinedOutput(); err != nil {
		r.t.Fatalf("%s: %v: %s", program, err, out)
	}
}

// ask reads one value from the replica's database, or returns the error.
func (r *replica) ask(query string) (value string, err error) {
	conn, err := pgx.Connect(r.t.Context(), r.url)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, conn.Close(context.Background())) }()
	err = conn.QueryRow(r.t.Context(), query).Scan(&value)
	return value, err
}

func (r *replica) checkpoint() *refereev1.GetCheckpointResponse {
	r.t.Helper()
	got, err := refereev1.NewAuditServiceClient(r.conn).GetCheckpoint(r.t.Context(), &refereev1.GetCheckpointRequest{})
	if err != nil {
		r.t.Fatal(err)
	}
	return got
}

// TestBackupAndRestore goes the way of docs/operations.md: dump, restore into an
// empty database, migrate, roles, serve, compare the log, judge everything anew.
func TestBackupAndRestore(t *testing.T) {
	r := newReplica(t)
	r.play(1, true)
	held := r.checkpoint()
	witnessed := file(t, []byte(held.GetCheckpoint()))
	dump := filepath.Join(t.TempDir(), "referee.dump")
	r.postgres("pg_dump", "--format=custom", "--file="+dump, r.url) // while it serves
	before := r.must(r.export()...).out
	r.stop()

	address, err := url.Parse(r.url)
	if err != nil {
		t.Fatal(err)
	}
	restored := strings.TrimPrefix(address.Path, "/") + "_restored"
	address.Path = "/postgres"
	server := address.String()
	r.postgres("createdb", "--template=template0", "--maintenance-db="+server, restored)
	t.Cleanup(func() {
		r.stop()
		if !t.Failed() {
			r.postgresAfter("dropdb", "--force", "--maintenance-db="+server, restored)
		}
	})
	address.Path = "/" + restored
	r.url, r.config.DatabaseURL, r.environment[databaseVariable] = address.String(), address.String(), address.String()
	r.postgres("pg_restore", "--exit-on-error", "--no-owner", "--no-privileges", "--dbname="+r.url, dump)

	if got := r.must("migrate", "--version").out; strings.Contains(got, "half-way") || got != r.must("migrate").out {
		t.Errorf("the schema: %s", got)
	}
	r.must("roles")
	for query, want := range map[string]string{
		`SELECT has_table_privilege('referee_server', 'events', 'INSERT')::text`:                            "true",
		`SELECT has_table_privilege('referee_server', 'events', 'UPDATE, DELETE, TRUNCATE')::text`:          "false",
		`SELECT has_column_privilege('referee_auditor', 'games', 'sealed_seed', 'SELECT')::text`:            "false",
		`SELECT has_table_privilege('referee_reader', 'audit.moves', 'SELECT')::text`:                       "true",
		`SELECT has_table_privilege('referee_reader', 'matches', 'SELECT')::text`:                           "false",
		`SELECT has_schema_privilege('referee_reader', 'audit', 'USAGE')::text`:                             "true",
		`SELECT (count(*) > 0)::text FROM audit.moves`:                                                      "true",
		`SELECT (count(*) = 0)::text FROM pg_trigger WHERE tgname LIKE '%append_only' AND tgenabled <> 'O'`: "true",
	} {
		if got, err := r.ask(query); got != want || err != nil {
			t.Errorf("%s: %s, %v", query, got, err)
		}
	}
	for _, table := range []string{"events", "settlements", "settlement_lines", "log_entries", "log_hashes"} {
		if _, err := r.ask(`WITH gone AS (DELETE FROM ` + table + ` RETURNING 1) SELECT count(*)::text FROM gone`); err == nil || !strings.Contains(err.Error(), "append-only") {
			t.Errorf("%s is not append-only: %v", table, err)
		}
	}

	r.start()
	match := r.play(2, false)
	if shown := r.checkpoint(); shown.GetCheckpoint() != held.GetCheckpoint() {
		t.Errorf("unconfirmed, it shows %s", shown.GetCheckpoint())
	}
	r.must("log", "confirm", "--log-key", r.logKey, witnessed)
	awaitLogged(t, refereev1.NewAuditServiceClient(r.conn), match.GetMatchId(), match.GetGames()[len(match.GetGames())-1].GetGame())
	if shown := r.checkpoint(); shown.GetSize() <= held.GetSize() {
		t.Errorf("confirmed, it still shows %d games", shown.GetSize())
	}
	path := filepath.Join(t.TempDir(), "all.jsonl")
	r.must(r.export("--out", path)...)
	got := call(t.Context(), nil, "verify", "--quiet", "--log-key", r.logKey, path)
	content, err := os.ReadFile(path)
	if err != nil || got.code != exitDone || !strings.HasPrefix(got.out, "2 matches, ") || strings.Count(string(content), "\n") <= strings.Count(before, "\n") {
		t.Errorf("verify: %+v, %v", got, err)
	}
}

// postgresAfter is postgres when the test is over.
func (r *replica) postgresAfter(program string, arguments ...string) {
	path, err := devpg.Program(program)
	if err == nil {
		err = exec.Command(path, arguments...).Run()
	}
	if err != nil {
		r.t.Errorf("%s: %v", program, err)
	}
}
