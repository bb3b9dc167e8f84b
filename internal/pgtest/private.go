package pgtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/jackc/pgx/v5"

	"referee.example/internal/devpg"
)

// maxConnections suits the test processes of all packages at once.
const maxConnections = 400

// Private is a Postgres server for tests, in a folder of its own, with fsync off.
type Private struct{ postgres *devpg.Server }

// StartPrivate starts one. It dies with this process at the latest.
func StartPrivate(ctx context.Context) (*Private, error) {
	postgres, err := devpg.Start(ctx, devpg.Options{NoFsync: true, MaxConnections: maxConnections})
	if err != nil {
		return nil, err
	}
	return &Private{postgres: postgres}, nil
}

// URL returns what URLVariable wants.
func (p *Private) URL() string { return p.postgres.URL("postgres") }

// Close stops the server and removes its folder, unless the databases of failed
// tests are in it: then it writes to out where they are.
func (p *Private) Close(out io.Writer) error {
	kept, countErr := p.countKept()
	err := errors.Join(countErr, p.postgres.Stop())
	if err != nil {
		return err
	}
	if kept == 0 {
		return os.RemoveAll(p.postgres.DataDir())
	}
	_, err = fmt.Fprintf(out, "databases of failed tests are kept in %s: look with\n"+
		"  go run ./internal/pgtest/withpg -data %[1]s sh -c 'psql \"$%s\"'\n", p.postgres.DataDir(), URLVariable)
	return err
}

func (p *Private) countKept() (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), setupTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, p.URL())
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close(ctx) }()
	var kept int
	err = conn.QueryRow(ctx, `SELECT count(*) FROM pg_database WHERE starts_with(datname, $1)`, namePrefix).Scan(&kept)
	return kept, err
}
