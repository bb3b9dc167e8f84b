package migrations_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-migrate/migrate/v4/database"
	"github.com/jackc/pgx/v5"

	"referee.example/internal/pgtest"
	"referee.example/migrations"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// ours limits a catalogue to what the migrations made.
const ours = `n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\_%'`

// catalogue names every query whose rows, taken together, describe a schema.
var catalogue = []string{
	`SELECT 'schema ' || n.nspname FROM pg_namespace n WHERE ` + ours,
	`SELECT format('relation %s.%s kind %s acl %s bound %s', n.nspname, c.relname, c.relkind, c.relacl,
	        pg_get_expr(c.relpartbound, c.oid))
	   FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE ` + ours,
	`SELECT format('column %s.%s.%s %s not null %s default %s', n.nspname, c.relname, a.attname,
	        format_type(a.atttypid, a.atttypmod), a.attnotnull, pg_get_expr(d.adbin, d.adrelid))
	   FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
	   LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
	  WHERE a.attnum > 0 AND NOT a.attisdropped AND ` + ours,
	`SELECT format('constraint %s.%s %s', c.conrelid::regclass, c.conname, pg_get_constraintdef(c.oid))
	   FROM pg_constraint c JOIN pg_namespace n ON n.oid = c.connamespace WHERE ` + ours,
	`SELECT 'index ' || pg_get_indexdef(c.oid)
	   FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('i', 'I') AND ` + ours,
	`SELECT format('view %s.%s %s', n.nspname, c.relname, pg_get_viewdef(c.oid))
	   FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('v', 'm') AND ` + ours,
	`SELECT 'function ' || pg_get_functiondef(p.oid)
	   FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE p.prokind IN ('f', 'p') AND ` + ours,
	`SELECT 'trigger ' || pg_get_triggerdef(t.oid)
	   FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
	  WHERE NOT t.tgisinternal AND ` + ours,
	`SELECT format('type %s.%s %s', n.nspname, t.typname, t.typtype)
	   FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace WHERE ` + ours,
}

// describe lists all that the schema consists of, sorted.
func describe(t *testing.T, conn *pgx.Conn) []string {
	t.Helper()
	var lines []string
	for _, query := range catalogue {
		rows, err := conn.Query(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		found, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, found...)
	}
	slices.Sort(lines)
	return lines
}

func TestUpDownUp(t *testing.T) {
	ctx := t.Context()
	db := pgtest.NewEmpty(t)
	conn := connect(t, db.URL)
	check := func(step string, want uint) []string {
		t.Helper()
		version, dirty, err := migrations.Version(ctx, db.URL)
		if err != nil || dirty || version != want {
			t.Fatalf("%s: version %d, dirty %t, %v; want %d", step, version, dirty, err, want)
		}
		return describe(t, conn)
	}
	run := func(step string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", step, err)
		}
	}
	run("up", migrations.Up(ctx, db.URL))
	first := check("up", migrations.Newest())
	run("up again", migrations.Up(ctx, db.URL))
	run("down", migrations.Down(ctx, db.URL))
	for _, line := range check("down", 0) {
		if !strings.Contains(line, "schema_migrations") && line != "schema public" {
			t.Errorf("left behind by down: %s", line)
		}
	}
	run("down again", migrations.Down(ctx, db.URL))
	run("up after down", migrations.Up(ctx, db.URL))
	second := check("up after down", migrations.Newest())
	if !slices.Equal(first, second) {
		t.Errorf("the second way up made another schema:\n%s\nnot\n%s",
			strings.Join(second, "\n"), strings.Join(first, "\n"))
	}
	if len(first) < 10 {
		t.Errorf("the schema is described by %d lines only", len(first))
	}
}

func TestEachMigrationHasBothWays(t *testing.T) {
	ups, err := fs.Glob(migrations.FS, "*.up.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, up := range ups {
		if _, err := fs.Stat(migrations.FS, strings.TrimSuffix(up, ".up.sql")+".down.sql"); err != nil {
			t.Errorf("%s has no way down: %v", up, err)
		}
	}
	// Numbered from 1 without a gap, the newest number is also how many there are.
	if got := migrations.Newest(); got != uint(len(ups)) {
		t.Errorf("the newest of %d migrations is numbered %d", len(ups), got)
	}
}

func TestUpAtTheSameTime(t *testing.T) {
	db := pgtest.NewEmpty(t)
	const processes = 4
	results := make(chan error, processes)
	for range processes {
		go func() { results <- migrations.UpWithin(t.Context(), db.URL, time.Minute) }() // the last waits for all before it
	}
	for range processes {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	version, dirty, err := migrations.Version(t.Context(), db.URL)
	if err != nil || dirty || version != migrations.Newest() {
		t.Errorf("version %d, dirty %t, %v", version, dirty, err)
	}
}

func TestHeldLocksAreGivenUpOn(t *testing.T) {
	db := pgtest.New(t)
	advisory, err := database.GenerateAdvisoryLockId(db.Name, "public", "schema_migrations")
	if err != nil {
		t.Fatal(err)
	}
	for name, statement := range map[string]string{
		"another migration": `SELECT pg_advisory_xact_lock(` + advisory + `)`,
		"a table in use":    `LOCK TABLE schema_migrations`,
	} {
		t.Run(name, func(t *testing.T) {
			tx, err := connect(t, db.URL).Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tx.Exec(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
			err = migrations.UpWithin(t.Context(), db.URL, 50*time.Millisecond)
			if !errors.Is(err, migrations.ErrLockTimeout) {
				t.Errorf("error %v is not ErrLockTimeout", err)
			}
			if err := tx.Rollback(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := migrations.Up(t.Context(), db.URL); err != nil {
				t.Errorf("after the lock is released: %v", err)
			}
		})
	}
}

func TestDirtyIsRefusedUntilForced(t *testing.T) {
	ctx := t.Context()
	db := pgtest.New(t)
	if _, err := connect(t, db.URL).Exec(ctx, `UPDATE schema_migrations SET dirty = true`); err != nil {
		t.Fatal(err)
	}
	if _, dirty, err := migrations.Version(ctx, db.URL); err != nil || !dirty {
		t.Errorf("Version says dirty %t, %v", dirty, err)
	}
	if err := migrations.Up(ctx, db.URL); err == nil || !strings.Contains(err.Error(), "irty") {
		t.Errorf("a dirty schema was migrated: %v", err)
	}
	if err := migrations.Force(ctx, db.URL, migrations.Newest()); err != nil {
		t.Fatal(err)
	}
	if err := migrations.Up(ctx, db.URL); err != nil {
		t.Errorf("after Force: %v", err)
	}
}

func TestCancelledUpBeginsNothing(t *testing.T) {
	db := pgtest.NewEmpty(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := migrations.Up(ctx, db.URL); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	if version, _, err := migrations.Version(t.Context(), db.URL); err != nil || version != 0 {
		t.Errorf("version %d, %v", version, err)
	}
}
