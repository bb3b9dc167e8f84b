// Package pgtest gives each test a fresh, migrated Postgres database of its own.
//
// The server is the one that REFEREE_TEST_PG_URL names (a superuser's URL; the
// command withpg sets it for a whole `go test ./...`), or else a private one a
// test process. A package whose tests use this one has
//
//	func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
//
// so that the private server's folder is removed at the end; the server itself
// never outlives the process.
package pgtest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// URLVariable names the environment variable with the URL of a running server.
const URLVariable = "REFEREE_TEST_PG_URL"

// namePrefix begins the name of every database of a test.
const namePrefix = "test_"

// setupTimeout bounds what a test waits for outside itself: the server's start,
// the template, one CREATE or DROP DATABASE on a busy machine.
const setupTimeout = 2 * time.Minute

// DB is one test's database.
type DB struct {
	// URL is its connection string, as a superuser.
	URL string
	// Name is the name of the database.
	Name string
}

// New returns a database with every migration applied, cloned from a template
// that is migrated once a server. It is dropped when the test ends, sessions and
// all; when the test has failed it is kept and its URL is logged.
func New(t testing.TB) *DB {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), setupTimeout)
	defer cancel()
	template, err := migratedTemplate()
	if err != nil {
		t.Fatalf("preparing the template database: %v", err)
	}
	return create(ctx, t, template)
}

// NewEmpty returns a database without any migration; otherwise as New.
func NewEmpty(t testing.TB) *DB {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), setupTimeout)
	defer cancel()
	return create(ctx, t, "template0")
}

func create(ctx context.Context, t testing.TB, template string) *DB {
	t.Helper()
	name := databaseName(t.Name())
	statement := "CREATE DATABASE " + name + " TEMPLATE " + template
	err := execute(ctx, statement)
	if err != nil {
		t.Fatalf("creating a test database: %v", err)
	}
	serverURL, err := server()
	if err != nil {
		t.Fatalf("finding the test server: %v", err)
	}
	db := &DB{Name: name, URL: withDatabase(serverURL, name)}
	t.Cleanup(func() { db.drop(t) })
	return db
}

func (db *DB) drop(t testing.TB) {
	if t.Failed() {
		t.Logf("the database of this failed test is kept: %s", db.URL)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), setupTimeout)
	defer cancel()
	err := execute(ctx, "DROP DATABASE "+db.Name+" WITH (FORCE)")
	if err != nil {
		t.Errorf("dropping the test database: %v", err)
	}
}

// databaseName tells a reader of a list which test a database is of. Postgres
// cuts names at 63 bytes.
func databaseName(test string) string {
	letters := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToLower(test))
	suffix := make([]byte, 8)
	_, _ = rand.Read(suffix) // documented never to fail
	return namePrefix + letters[:min(len(letters), 40)] + "_" + hex.EncodeToString(suffix)
}

// execute runs one statement on the server's own database, on a connection of
// its own: a pool would leave goroutines for the leak checks of others to find.
func execute(ctx context.Context, statement string) error {
	serverURL, err := server()
	if err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, serverURL)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statement)
	closeErr := conn.Close(ctx)
	if err != nil {
		return err
	}
	return closeErr
}

func withDatabase(serverURL, name string) string {
	parsed, err := url.Parse(serverURL)
	if err != nil {
		panic(fmt.Sprintf("pgtest: %s has been parsed before: %v", URLVariable, err))
	}
	parsed.Path = "/" + name
	return parsed.String()
}

var private struct {
	sync.Mutex
	server *Private
}

// server returns the URL of the named server, or of this process's private one,
// which the first call starts.
func server() (string, error) {
	if named := os.Getenv(URLVariable); named != "" {
		parsed, err := url.Parse(named)
		if err != nil || parsed.Host == "" {
			return "", fmt.Errorf("%s is not a postgres:// URL", URLVariable)
		}
		return named, nil
	}
	private.Lock()
	defer private.Unlock()
	if private.server == nil {
		ctx, cancel := context.WithTimeout(context.Background(), setupTimeout)
		defer cancel()
		started, err := StartPrivate(ctx)
		if err != nil {
			return "", err
		}
		private.server = started
	}
	return private.server.URL(), nil
}

// Main runs the tests of a package, then stops the private server if there is
// one, and returns the exit code.
func Main(m *testing.M) int {
	code := m.Run()
	private.Lock()
	defer private.Unlock()
	if private.server == nil {
		return code
	}
	err := private.server.Close(os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "stopping the test server:", err)
		return max(code, 1)
	}
	return code
}
