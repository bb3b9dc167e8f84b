// Package migrations holds the schema, as numbered SQL files built into the
// binary, and what applies them. Each file runs in one transaction unless it
// says otherwise, and each must suit the binary before it and the one after.
package migrations

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"time"

	"github.com/golang-migrate/migrate/v4"
	"github.com/golang-migrate/migrate/v4/database"
	driver "github.com/golang-migrate/migrate/v4/database/pgx/v5"
	"github.com/golang-migrate/migrate/v4/source/iofs"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// LockTimeout is how long a migration waits for any lock: for that of another
// migration at work, and for a table in use. A waiting ALTER TABLE stops every
// query behind it, so it gives up.
const LockTimeout = 10 * time.Second

// ErrLockTimeout means that a lock was not had within LockTimeout: another
// migration is at work or a long transaction holds a table. When a statement of
// a migration ran into it the schema is left marked dirty at that version, and
// Force clears the mark.
var ErrLockTimeout = errors.New("a lock of the database was not released in time")

// SQLSTATE codes, from Postgres's appendix A.
const (
	lockNotAvailable = "55P03"
	undefinedTable   = "42P01"
)

// FS holds NNNNNN_name.up.sql and NNNNNN_name.down.sql.
//
//go:embed *.sql
var FS embed.FS

// Newest returns the version that Up leads to: the highest number of a file.
func Newest() uint {
	source, err := iofs.New(FS, ".")
	if err != nil {
		panic("migrations: the embedded files cannot be read: " + err.Error())
	}
	version, err := source.First()
	for err == nil {
		var next uint
		next, err = source.Next(version)
		if err == nil {
			version = next
		}
	}
	if !errors.Is(err, fs.ErrNotExist) {
		panic("migrations: the embedded files cannot be listed: " + err.Error())
	}
	return version
}

// Suits reports whether this binary can work with a database at a version that Version
// read. A later schema suits it too, as each migration must, and so it does while a
// migration to a later one is under way or has failed, by which the schema is marked
// dirty: replicas would be unready for as long as an index takes.
func Suits(version uint, dirty bool) bool {
	newest := Newest()
	return version > newest || version == newest && !dirty
}

// Up applies every migration the database does not have yet, each once however
// many processes call at the same time. When ctx ends, the migration at work is
// finished and no other is begun. Errors: ErrLockTimeout, ctx's, migrate.ErrDirty.
func Up(ctx context.Context, url string) error {
	return run(ctx, url, LockTimeout, (*migrate.Migrate).Up)
}

// Down takes every migration back, newest first, with all data. ctx and errors
// as for Up.
func Down(ctx context.Context, url string) error {
	return run(ctx, url, LockTimeout, (*migrate.Migrate).Down)
}

// Force records that the database is at version, clearing the dirty mark, and
// applies nothing. It is for an operator who has seen to what a failed migration
// left behind; a file that is one transaction leaves nothing, so the version
// before it is the true one.
func Force(ctx context.Context, url string, version uint) error {
	return run(ctx, url, LockTimeout, func(m *migrate.Migrate) error { return m.Force(int(version)) })
}

// Version reads which migration the database is at, 0 when at none, and whether
// that one failed half-way (dirty). It changes nothing.
func Version(ctx context.Context, url string) (version uint, dirty bool, err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return 0, false, err
	}
	// The answer has been read by then; a failure to say goodbye changes nothing.
	defer func() { _ = conn.Close(ctx) }()
	var number int64
	err = conn.QueryRow(ctx, `SELECT version, dirty FROM schema_migrations`).Scan(&number, &dirty)
	if errors.Is(err, pgx.ErrNoRows) || hasCode(err, undefinedTable) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("reading the schema version: %w", err)
	}
	// A first migration that failed on its way down leaves -1, dirty.
	return uint(max(number, 0)), dirty, nil
}

func run(ctx context.Context, url string, lockTimeout time.Duration, direction func(*migrate.Migrate) error) error {
	migration, err := open(ctx, url, lockTimeout)
	if err != nil {
		return wrap(err)
	}
	stop := context.AfterFunc(ctx, func() { migration.GracefulStop <- true })
	err = direction(migration)
	stop()
	if errors.Is(err, migrate.ErrNoChange) {
		err = nil
	}
	sourceErr, databaseErr := migration.Close()
	return wrap(errors.Join(err, ctx.Err(), sourceErr, databaseErr))
}

func open(ctx context.Context, url string, lockTimeout time.Duration) (*migrate.Migrate, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	// Set on the session, because the library's own limit leaves its statement
	// waiting in the database, and does not cover the lock it takes on opening.
	config.RuntimeParams["lock_timeout"] = strconv.FormatInt(lockTimeout.Milliseconds(), 10)
	db := stdlib.OpenDB(*config)
	migration, err := migrationOn(ctx, db)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	migration.LockTimeout = 2 * lockTimeout
	return migration, nil
}

func migrationOn(ctx context.Context, db *sql.DB) (*migrate.Migrate, error) {
	err := db.PingContext(ctx)
	if err != nil {
		return nil, err
	}
	target, err := driver.WithInstance(db, &driver.Config{})
	if err != nil {
		return nil, err
	}
	source, err := iofs.New(FS, ".")
	if err != nil {
		return nil, err
	}
	return migrate.NewWithInstance("embedded", source, "pgx5", target)
}

func wrap(err error) error {
	switch {
	case err == nil:
		return nil
	case hasCode(err, lockNotAvailable):
		return fmt.Errorf("migrating: %w: %w", ErrLockTimeout, err)
	default:
		return fmt.Errorf("migrating: %w", err)
	}
}

// hasCode looks for a SQLSTATE also inside the library's two errors, a value and
// a pointer, neither of which unwraps.
func hasCode(err error, code string) bool {
	var (
		failed  *pgconn.PgError
		value   database.Error
		pointer *database.Error
	)
	switch {
	case errors.As(err, &failed):
		return failed.Code == code
	case errors.As(err, &value):
		return hasCode(value.OrigErr, code)
	case errors.As(err, &pointer):
		return hasCode(pointer.OrigErr, code)
	default:
		return false
	}
}
