package pgtest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5"

	"referee.example/migrations"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func exists(t *testing.T, name string) bool {
	t.Helper()
	serverURL, err := server()
	if err != nil {
		t.Fatal(err)
	}
	var found bool
	err = connect(t, serverURL).QueryRow(t.Context(),
		`SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`, name).Scan(&found)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestDatabasesAreMigratedAndApart(t *testing.T) {
	var first, second *DB
	t.Run("Of one test", func(t *testing.T) {
		first, second = New(t), New(t)
		for _, db := range []*DB{first, second} {
			version, dirty, err := migrations.Version(t.Context(), db.URL)
			if err != nil || dirty || version != migrations.Newest() {
				t.Errorf("%s is at version %d, dirty %t, %v", db.Name, version, dirty, err)
			}
			// The same name in both: it fails if they were one database.
			if _, err := connect(t, db.URL).Exec(t.Context(), `CREATE TABLE apart (n int)`); err != nil {
				t.Error(err)
			}
		}
		if !exists(t, first.Name) {
			t.Errorf("%s is not there while its test runs", first.Name)
		}
	})
	for _, db := range []*DB{first, second} {
		if exists(t, db.Name) {
			t.Errorf("%s is still there after its test", db.Name)
		}
	}
}

func TestEmptyDatabase(t *testing.T) {
	version, dirty, err := migrations.Version(t.Context(), NewEmpty(t).URL)
	if err != nil || dirty || version != 0 {
		t.Errorf("an empty database is at version %d, dirty %t, %v", version, dirty, err)
	}
}

func TestDatabasesAtTheSameTime(t *testing.T) {
	t.Parallel()
	for i := range 8 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			connect(t, New(t).URL)
		})
	}
}

// failing is a test that has failed.
type failing struct {
	testing.TB
	cleanups []func()
	log      string
}

func (f *failing) Failed() bool           { return true }
func (f *failing) Cleanup(cleanup func()) { f.cleanups = append(f.cleanups, cleanup) }
func (f *failing) Logf(format string, arguments ...any) {
	f.log += fmt.Sprintf(format, arguments...)
}

func TestDatabaseOfAFailedTestIsKept(t *testing.T) {
	failed := &failing{TB: t}
	db := New(failed)
	for _, cleanup := range failed.cleanups {
		cleanup()
	}
	if !exists(t, db.Name) {
		t.Error("the database was dropped")
	}
	if !strings.Contains(failed.log, db.URL) {
		t.Errorf("the log does not give the URL: %q", failed.log)
	}
	db.drop(t)
}

func TestTemplateLeftHalfMadeIsMadeAnew(t *testing.T) {
	const name = "template_half_made"
	if err := execute(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, statement := range []string{"ALTER DATABASE " + name + " WITH IS_TEMPLATE false", "DROP DATABASE " + name} {
			if err := execute(context.Background(), statement); err != nil {
				t.Error(err)
			}
		}
	})
	serverURL, err := server()
	if err != nil {
		t.Fatal(err)
	}
	if err := makeTemplate(t.Context(), connect(t, serverURL), serverURL, name); err != nil {
		t.Fatal(err)
	}
	version, _, err := migrations.Version(t.Context(), create(t.Context(), t, name).URL)
	if err != nil || version != migrations.Newest() {
		t.Errorf("the template is at version %d, %v", version, err)
	}
}

func TestTemplateNameFollowsEveryByte(t *testing.T) {
	file := func(content string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(content)} }
	seen := map[string]int{}
	for i, files := range []fstest.MapFS{
		{"1.up.sql": file("ab"), "2.up.sql": file("c")},
		{"1.up.sql": file("a"), "2.up.sql": file("bc")},
		{"1.up.sql": file("ab"), "3.up.sql": file("c")},
		{"1.up.sql": file("ab")},
	} {
		name, err := templateName(files)
		if err != nil {
			t.Fatal(err)
		}
		if other, taken := seen[name]; taken {
			t.Errorf("sets %d and %d share the name %s", other, i, name)
		}
		seen[name] = i
	}
}

func TestPrivateServerFolderGoesUnlessItHoldsAFailure(t *testing.T) {
	ctx := t.Context()
	for _, kept := range []bool{false, true} {
		server, err := StartPrivate(ctx)
		if err != nil {
			t.Fatal(err)
		}
		dir := server.postgres.DataDir()
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		if kept {
			if _, err := connect(t, server.URL()).Exec(ctx, "CREATE DATABASE test_kept"); err != nil {
				t.Fatal(err)
			}
		}
		var told strings.Builder
		if err := server.Close(&told); err != nil {
			t.Fatal(err)
		}
		_, err = os.Stat(dir)
		if gone := errors.Is(err, fs.ErrNotExist); gone == kept {
			t.Errorf("with a kept database %t: folder gone %t (%v)", kept, gone, err)
		}
		if strings.Contains(told.String(), dir) != kept {
			t.Errorf("with a kept database %t it says %q", kept, told.String())
		}
	}
}

func TestDatabaseName(t *testing.T) {
	name := databaseName("TestX/Ünder the " + strings.Repeat("sun", 40))
	if len(name) > 63 || !strings.HasPrefix(name, "test_testx__nder_the_sun") {
		t.Errorf("the name is %s", name)
	}
	if other := databaseName("TestX/Ünder the " + strings.Repeat("sun", 40)); other == name {
		t.Error("two databases of one test have the same name")
	}
}
