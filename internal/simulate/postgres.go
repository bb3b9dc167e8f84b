package simulate

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"referee.example/internal/devpg"
)

// postgres is the one private server of a run, with a database a batch.
type postgres struct {
	mu     sync.Mutex // one fault at a time
	server *devpg.Server
}

func startPostgres(ctx context.Context) (*postgres, error) {
	server, err := devpg.Start(ctx, devpg.Options{MaxConnections: 200})
	if err != nil {
		return nil, err
	}
	p := &postgres{server: server}
	// The checker asks when each row was committed.
	err = p.execute(ctx, "postgres", `ALTER SYSTEM SET track_commit_timestamp = on`)
	if err == nil {
		err = server.Restart(ctx)
	}
	if err != nil {
		_ = p.close()
		return nil, err
	}
	return p, nil
}

// crash stops the server at once and starts it again.
func (p *postgres) crash(ctx context.Context, lasting time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.server.Crash()
	_ = sleep(ctx, lasting)
	return p.server.Restart(ctx)
}

// address is the host and port that it listens on, also after a crash.
func (p *postgres) address() (string, error) {
	parsed, err := url.Parse(p.server.URL("postgres"))
	if err != nil {
		return "", err
	}
	return parsed.Host, nil
}

// through is the URL of a database by a link.
func (p *postgres) through(database string, l *link) (string, error) {
	parsed, err := url.Parse(p.server.URL(database))
	if err != nil {
		return "", err
	}
	parsed.Host = l.addr()
	return parsed.String(), nil
}

// execute runs one statement, whatever crashes meanwhile.
func (p *postgres) execute(ctx context.Context, database, statement string) error {
	return p.with(ctx, database, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, statement)
		return err
	})
}

func (p *postgres) with(ctx context.Context, database string, work func(*pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, p.server.URL(database))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	return work(conn)
}

// close stops the server and removes its folder, which this run has made.
func (p *postgres) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := p.server.Stop()
	if err != nil {
		return err
	}
	if err := os.RemoveAll(p.server.DataDir()); err != nil {
		return fmt.Errorf("removing the data folder: %w", err)
	}
	return nil
}
