package pgtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"github.com/jackc/pgx/v5"

	"referee.example/migrations"
)

// templateLock is the advisory lock under which test processes of one server
// make the template. The number means nothing; it only has to be one.
const templateLock = 7_240_419

// migratedTemplate makes the template of this process's migrations, once, unless
// another process has, and returns its name.
var migratedTemplate = sync.OnceValues(func() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), setupTimeout)
	defer cancel()
	name, err := templateName(migrations.FS)
	if err != nil {
		return "", err
	}
	serverURL, err := server()
	if err != nil {
		return "", err
	}
	conn, err := pgx.Connect(ctx, serverURL)
	if err != nil {
		return "", err
	}
	// Closing the session also releases the lock.
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, templateLock)
	if err != nil {
		return "", err
	}
	return name, makeTemplate(ctx, conn, serverURL, name)
})

// makeTemplate marks the database as a template last, so that one without the
// mark is what a process that died left behind, and is made anew.
func makeTemplate(ctx context.Context, conn *pgx.Conn, serverURL, name string) error {
	var whole bool
	err := conn.QueryRow(ctx, `SELECT datistemplate FROM pg_database WHERE datname = $1`, name).Scan(&whole)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	if whole {
		return nil
	}
	for _, statement := range []string{
		"DROP DATABASE IF EXISTS " + name + " WITH (FORCE)",
		"CREATE DATABASE " + name + " TEMPLATE template0",
	} {
		_, err = conn.Exec(ctx, statement)
		if err != nil {
			return err
		}
	}
	err = migrations.Up(ctx, withDatabase(serverURL, name))
	if err != nil {
		return err
	}
	// Without connections nothing can change it, and no session hinders a clone.
	_, err = conn.Exec(ctx, "ALTER DATABASE "+name+" WITH IS_TEMPLATE true ALLOW_CONNECTIONS false")
	return err
}

// templateName names a template by the names and bytes of its migrations, so
// that a changed file never meets an old schema.
func templateName(files fs.FS) (string, error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	for _, name := range names {
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return "", err
		}
		// Lengths keep one file's end apart from the next one's beginning.
		hash.Write(fmt.Appendf(nil, "%d %s %d ", len(name), name, len(content)))
		hash.Write(content)
	}
	return "template_" + hex.EncodeToString(hash.Sum(nil)[:12]), nil
}
