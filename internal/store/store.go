// Package store keeps matches in Postgres: one file a table group, each query a
// constant beside the method that sends it. It implements referee.Store and
// referee.History. What it holds of a match besides immutable rulesets is a
// snapshot that may be stale and that only a guarded commit may rest on, so that
// every replica's store is the same.
package store

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"referee.example/internal/referee"
)

// Limits of the pool. Statements of the referee take milliseconds: what takes
// longer than this is better given up, and its match taken up anew.
const (
	connectTimeout     = 5 * time.Second
	pingTimeout        = time.Second
	statementTimeout   = 5 * time.Second
	lockTimeout        = 2 * time.Second
	idleInTransaction  = 5 * time.Second
	connLifetime       = 30 * time.Minute
	connLifetimeJitter = 5 * time.Minute
	connIdleTime       = 5 * time.Minute
)

// patience is how long the database bears with a session of the pool.
type patience struct{ statement, lock, idleInTransaction time.Duration }

// MaxConns is the largest pool that Open accepts.
const MaxConns = 500

// Config says which database to use and how much of it.
type Config struct {
	URL string // postgres://...
	// MaxConns is the size of the pool, 1 to MaxConns. Replicas times this must
	// stay below the server's max_connections.
	MaxConns int
	// ReadOnly also takes a standby, or a primary whose commits wait for one. Then
	// only what reads is called.
	ReadOnly bool
	// Sharded says that the database's tables are distributed over several nodes by
	// match_id, so that each change goes as a call for one match: docs/sharding.md.
	Sharded bool
}

// Store is the referee's Postgres.
type Store struct {
	pool       *pgxpool.Pool
	fence      *fence // nil of a store that only reads
	clock      *Clock
	rulesets   *cache[[32]byte, *referee.Rules]
	principals *cache[string, int32]
	known      known
	group      *group // of ordinary changes
	endings    *group
	sharded    bool
}

// Open connects to the database and takes first samples of its time. The caller
// closes the store. The URL stands in no error.
func Open(ctx context.Context, c Config) (*Store, error) {
	return open(ctx, c, patience{statementTimeout, lockTimeout, idleInTransaction})
}

func open(ctx context.Context, c Config, p patience) (*Store, error) {
	if c.MaxConns < 1 || c.MaxConns > MaxConns {
		return nil, fmt.Errorf("the pool must have 1 to %d connections", MaxConns)
	}
	config, err := pgxpool.ParseConfig(c.URL)
	if err != nil {
		// pgx shows the URL in this error, less the password it recognised.
		return nil, errBadURL
	}
	config.MaxConns = int32(c.MaxConns)
	config.MaxConnLifetime, config.MaxConnLifetimeJitter = connLifetime, connLifetimeJitter
	config.MaxConnIdleTime, config.PingTimeout = connIdleTime, pingTimeout
	config.ConnConfig.ConnectTimeout = connectTimeout
	config.ConnConfig.Tracer = outlast{}
	for name, value := range map[string]string{
		"application_name":                    "referee",
		"statement_timeout":                   milliseconds(p.statement),
		"lock_timeout":                        milliseconds(p.lock),
		"idle_in_transaction_session_timeout": milliseconds(p.idleInTransaction),
		// Each statement is written to go by keys whatever its parameters are. Planning
		// the first five of each on each connection costs as much as hundreds of moves.
		"plan_cache_mode": planCacheMode(c),
		// Where the planner knows nothing of a table yet it takes a statement of a few
		// rows for a long one, and compiling it takes a thousand times as long.
		"jit": "off",
	} {
		config.ConnConfig.RuntimeParams[name] = value
	}
	var f *fence
	if !c.ReadOnly {
		f = &fence{limit: provenFor}
		config.PrepareConn = f.admit
	}
	replicated(&config.ConnConfig.Config, f)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, wrap("open the pool", err)
	}
	s := &Store{pool: pool, fence: f, clock: NewClock(),
		rulesets: newCache[[32]byte, *referee.Rules](), principals: newCache[string, int32]()}
	if err := s.firstSamples(ctx); err != nil {
		pool.Close()
		return nil, err
	}
	s.sharded = c.Sharded
	moves, endings := groupWriters, groupWriters
	if c.Sharded {
		moves, endings = shardedWriters(c.MaxConns)
	}
	s.group = newGroup(pool, &s.known, moves, c.Sharded)
	s.endings = newGroup(pool, &s.known, endings, c.Sharded)
	return s, nil
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// Close commits what still waits to be, refuses further changes, and closes the
// pool, waiting for the connections that are in use.
func (s *Store) Close() {
	s.group.close()
	s.endings.close()
	s.pool.Close()
}

// The referee declares what it needs; this package is what it gets.
var (
	_ referee.Store   = (*Store)(nil)
	_ referee.History = (*Store)(nil)
	_ referee.Records = (*Store)(nil)
)
