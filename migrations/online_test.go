package migrations_test

import (
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"testing"

	driver "github.com/golang-migrate/migrate/v4/database/pgx/v5"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"referee.example/internal/pgtest"
	"referee.example/migrations"
)

// firstOnline is the first migration that keeps the rules of docs/operations.md: the
// ones before build their indexes with writes held up.
const firstOnline = 7

// TestMigrationsLetPlayGoOn reads the migrations for what would stop moves for long, or
// the replicas of the version before altogether.
func TestMigrationsLetPlayGoOn(t *testing.T) {
	names, err := fs.Glob(migrations.FS, "*.up.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		var number int
		if _, err := fmt.Sscanf(name, "%06d_", &number); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if number < firstOnline {
			continue
		}
		content, err := fs.ReadFile(migrations.FS, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, fault := range offline(string(content)) {
			t.Errorf("%s: %s", name, fault)
		}
	}
}

var (
	// unread are comments, strings and bodies of functions, in the order in which they begin.
	unread      = regexp.MustCompile(`(?s)--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|\$\$.*?\$\$|\$body\$.*?\$body\$`)
	createTable = regexp.MustCompile(`^CREATE (?:UNLOGGED )?TABLE (?:IF NOT EXISTS )?(\S+)`)
	createIndex = regexp.MustCompile(`^CREATE (?:UNIQUE )?INDEX (CONCURRENTLY )?(?:IF NOT EXISTS )?(?:\S+ )?ON (ONLY )?([^ (]+)`)
	alterTable  = regexp.MustCompile(`^ALTER TABLE (?:IF EXISTS )?(?:ONLY )?(\S+) (.*)`)
	builds      = regexp.MustCompile(`ADD (?:CONSTRAINT \S+ )?(?:UNIQUE|PRIMARY KEY|EXCLUDE)\b`)
	rewrites    = regexp.MustCompile(`ALTER (?:COLUMN )?\S+ (?:SET DATA )?TYPE\b`)
	breaks      = regexp.MustCompile(`DROP COLUMN|RENAME (?:COLUMN|TO)|^DROP TABLE|ALTER (?:COLUMN )?\S+ SET NOT NULL`)
	demands     = regexp.MustCompile(`ADD (?:COLUMN )?(?:IF NOT EXISTS )?\S+ [^,]*NOT NULL`)
)

// offline says what of a migration doesn't let play go on. Tables that it makes itself
// hold up nobody.
func offline(migration string) (faults []string) {
	var statements []string
	for statement := range strings.SplitSeq(unread.ReplaceAllString(migration, " "), ";") {
		if statement = strings.Join(strings.Fields(statement), " "); statement != "" {
			statements = append(statements, statement)
		}
	}
	fault := func(statement, what string) { faults = append(faults, what+": "+statement) }
	made := map[string]bool{}
	for _, s := range statements {
		if found := createTable.FindStringSubmatch(s); found != nil {
			made[found[1]] = true
		}
		if found := createIndex.FindStringSubmatch(s); found != nil {
			switch {
			case found[1] != "" && len(statements) > 1:
				fault(s, "an index that is made CONCURRENTLY needs a migration of its own, outside a transaction")
			case found[1] == "" && found[2] == "" && !made[found[3]]:
				fault(s, "writes wait for the index: make it CONCURRENTLY")
			}
		}
		if found := alterTable.FindStringSubmatch(s); found != nil && !made[found[1]] {
			switch what := found[2]; {
			case builds.MatchString(what) && !strings.Contains(what, "USING INDEX"):
				fault(s, "writes wait for the constraint's index: make it CONCURRENTLY, then add the constraint USING INDEX")
			case rewrites.MatchString(what):
				fault(s, "the table may be written anew")
			case breaks.MatchString(what):
				fault(s, "the version before can't do with it")
			case demands.MatchString(what) && !strings.Contains(what, "DEFAULT"):
				fault(s, "the version before gives no value")
			}
		}
		if breaks.MatchString(s) && strings.HasPrefix(s, "DROP TABLE") {
			fault(s, "the version before can't do with it")
		}
	}
	return faults
}

// TestConcurrentIndexIsAMigration has the library run a migration as the rules want it.
func TestConcurrentIndexIsAMigration(t *testing.T) {
	config, err := pgx.ParseConfig(pgtest.New(t).URL)
	if err != nil {
		t.Fatal(err)
	}
	db := stdlib.OpenDB(*config)
	target, err := driver.WithInstance(db, &driver.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = target.Close() })
	const migration = "-- Why it is there.\nCREATE INDEX CONCURRENTLY games_later ON games (ended_at);\n"
	if faults := offline(migration); len(faults) > 0 {
		t.Errorf("faults: %v", faults)
	}
	if err := target.Run(strings.NewReader(migration)); err != nil {
		t.Fatal(err)
	}
	var valid bool
	err = db.QueryRowContext(t.Context(), `SELECT indisvalid FROM pg_index WHERE indexrelid = 'games_later'::regclass`).Scan(&valid)
	if err != nil || !valid {
		t.Errorf("the index is valid: %t, %v", valid, err)
	}
}

// TestOffline tries the reader itself.
func TestOffline(t *testing.T) {
	for _, migration := range []string{
		"", "CREATE INDEX CONCURRENTLY games_by_x ON games (x)", "CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS x ON games (x);\n-- that is all;\n",
		"CREATE TABLE later (n int); CREATE INDEX later_n ON later (n); ALTER TABLE later ADD PRIMARY KEY (n)",
		"CREATE INDEX x ON ONLY events (x)",
		"ALTER TABLE games ADD COLUMN x text, ADD COLUMN y int NOT NULL DEFAULT 0",
		"ALTER TABLE games ADD CONSTRAINT c CHECK (x > 0) NOT VALID; ALTER TABLE games VALIDATE CONSTRAINT c",
		"ALTER TABLE games ADD CONSTRAINT c UNIQUE USING INDEX games_by_x",
		"ALTER TABLE games RENAME CONSTRAINT c TO d; DROP INDEX x",
		"CREATE FUNCTION f() RETURNS void LANGUAGE sql AS $$ CREATE INDEX x ON games (x); $$; SELECT 'ALTER TABLE games DROP COLUMN x;'",
	} {
		if faults := offline(migration); len(faults) > 0 {
			t.Errorf("%q: %v", migration, faults)
		}
	}
	for _, migration := range []string{
		"CREATE INDEX games_by_x ON games (x)", "CREATE UNIQUE INDEX IF NOT EXISTS x ON games(x)", "CREATE INDEX ON games (x)",
		"CREATE INDEX CONCURRENTLY x ON games (x); CREATE INDEX CONCURRENTLY y ON games (y)",
		"CREATE INDEX\n  x\n  ON public.games USING btree (x)",
		"ALTER TABLE games ADD CONSTRAINT c UNIQUE (x)", "ALTER TABLE games ADD PRIMARY KEY (x)",
		"ALTER TABLE games ALTER COLUMN x TYPE bigint", "ALTER TABLE games DROP COLUMN x", "ALTER TABLE games RENAME COLUMN x TO y",
		"ALTER TABLE games RENAME TO plays", "DROP TABLE games", "ALTER TABLE games ADD COLUMN x text NOT NULL",
		"ALTER TABLE games ALTER COLUMN x SET NOT NULL",
	} {
		if faults := offline(migration); len(faults) == 0 {
			t.Errorf("%q is said to hold up nothing", migration)
		}
	}
	// The rule is one because they did not keep it.
	for _, name := range []string{"000003_history.up.sql", "000004_settlement_feed.up.sql", "000005_audit_views.up.sql", "000006_logged_compensations.up.sql"} {
		content, err := fs.ReadFile(migrations.FS, name)
		if err != nil {
			t.Fatal(err)
		}
		if len(offline(string(content))) == 0 {
			t.Errorf("%s is said to hold up nothing", name)
		}
	}
}
