package simulate

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"referee.example/internal/devpg"
)

// postgres is the private cluster of a run, with a database a batch: one server, or a
// primary and standbys, any one of which has a commit before it is acknowledged.
type postgres struct {
	fault sync.Mutex // one at a time

	mu      sync.Mutex
	nodes   []*node
	primary *node
}

// node is a place for a server: what is made anew has the same name and port.
type node struct {
	name    string
	server  *devpg.Server
	address string
}

const maxConnections = 200

// startPostgres starts a primary and so many standbys.
func startPostgres(ctx context.Context, standbys int) (*postgres, error) {
	server, err := devpg.Start(ctx, devpg.Options{MaxConnections: maxConnections})
	if err != nil {
		return nil, err
	}
	p := &postgres{}
	p.primary, err = newNode(0, server)
	p.nodes = append(p.nodes, p.primary)
	settings := []string{"track_commit_timestamp = on"} // the checker asks when each row was committed
	if standbys > 0 {
		// A standby that lost its primary looks for the next one at once, and finds
		// there what it lacks.
		settings = append(settings, "wal_retrieve_retry_interval = '100ms'", "wal_keep_size = '1GB'")
	}
	for _, setting := range settings {
		err = errors.Join(err, p.execute(ctx, "postgres", "ALTER SYSTEM SET "+setting))
	}
	if err == nil {
		err = server.Restart(ctx)
	}
	for number := 1; err == nil && number <= standbys; number++ {
		err = p.addStandby(ctx, number)
	}
	if err == nil && standbys > 0 {
		err = p.synchronous(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

func newNode(number int, server *devpg.Server) (*node, error) {
	parsed, err := url.Parse(server.URL("postgres"))
	if err != nil {
		return nil, err
	}
	return &node{name: fmt.Sprintf("node%d", number), server: server, address: parsed.Host}, nil
}

func (p *postgres) addStandby(ctx context.Context, number int) error {
	server, err := p.primary.server.Standby(ctx, fmt.Sprintf("node%d", number), "", devpg.Options{})
	if err != nil {
		return err
	}
	n, err := newNode(number, server)
	p.nodes = append(p.nodes, n)
	return err
}

// synchronous makes commits wait for any one standby. All nodes have the setting, and
// all names are in it, so that it holds whichever is the primary.
func (p *postgres) synchronous(ctx context.Context) error {
	names := p.nodes[0].name
	for _, n := range p.nodes[1:] {
		names += ", " + n.name
	}
	for _, n := range p.nodes {
		for _, statement := range []string{"ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (" + names + ")'", "SELECT pg_reload_conf()"} {
			if err := n.execute(ctx, statement); err != nil {
				return err
			}
		}
	}
	return nil
}

// current is the server that takes writes.
func (p *postgres) current() *node {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.primary
}

func (p *postgres) url(database string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.primary.server.URL(database)
}

// crash stops the primary at once and starts it again.
func (p *postgres) crash(ctx context.Context, lasting time.Duration) error {
	p.fault.Lock()
	defer p.fault.Unlock()
	server := p.current().server
	server.Crash()
	_ = sleep(ctx, lasting)
	return server.Restart(ctx)
}

// through is the URL of a database by links, one to each node.
func (p *postgres) through(database string, links []*link) (string, error) {
	parsed, err := url.Parse(p.url(database))
	if err != nil {
		return "", err
	}
	parsed.Host = links[0].addr()
	for _, l := range links[1:] {
		parsed.Host += "," + l.addr()
	}
	if len(links) > 1 {
		parsed.RawQuery += "&target_session_attrs=read-write"
	}
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
	return connected(ctx, p.url(database), work)
}

func connected(ctx context.Context, url string, work func(*pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	return work(conn)
}

// close stops the servers and removes their folders, which this run has made.
func (p *postgres) close() error {
	p.fault.Lock()
	defer p.fault.Unlock()
	var failed error
	for _, n := range p.nodes {
		err := n.server.Stop()
		if err == nil {
			err = os.RemoveAll(n.server.DataDir())
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("ending %s: %w", n.name, err))
		}
	}
	return failed
}
