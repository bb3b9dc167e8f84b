package main

import (
	"context"
	"fmt"
	"os"
	"runtime/pprof"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"referee.example/internal/app"
	"referee.example/internal/tlog"
)

// kind is a way to play moves.
type kind struct {
	name string
	run  func(b *bench, ctx context.Context, matches int) (played, error)
	// states is the table whose row each move rewrites.
	states string
}

// played is the latency of each move, and what playing them took: not the
// creation of matches and what else came before.
type played struct {
	latencies []time.Duration
	elapsed   time.Duration
	used      cpu
	allocated uint64 // bytes, by this process
	// What was played before it was measured is in Postgres's counters too.
	warmedUp int           // moves
	whole    time.Duration // with them
}

var kinds = append([]kind{
	{"pgbench, one statement", (*bench).pgbench, "bare.match_states"},
	{"gRPC, textbook transaction", (*bench).textbook, "bare.match_states"},
	{"gRPC, one statement", (*bench).statement, "bare.match_states"},
	{"referee, unary", (*bench).refereeUnary, "public.match_states"},
	{"referee, stream", (*bench).refereeStream, "public.match_states"},
}, armyKinds...)

// bench is one Postgres and what plays on it.
type bench struct {
	url        string
	urlOf      func(database string) string
	postmaster string // process id
	length     time.Duration
	// The referee's keys, of every replica on this Postgres.
	keys, logKey string
	maxConns     int           // of a replica
	sharded      bool          // its mode
	pool         *pgxpool.Pool // of the bare server and of the readings
}

func (b *bench) open(ctx context.Context) (err error) {
	b.keys = app.NewKey("bench")
	if b.logKey, err = tlog.NewKey("bench.example/log"); err != nil {
		return err
	}
	if err := b.connect(ctx); err != nil {
		return err
	}
	_, err = b.pool.Exec(ctx, bareSchema)
	return err
}

func (b *bench) connect(ctx context.Context) error {
	config, err := pgxpool.ParseConfig(b.url)
	if err != nil {
		return err
	}
	config.MaxConns = 32
	b.pool, err = pgxpool.NewWithConfig(ctx, config)
	return err
}

func (b *bench) close() { b.pool.Close() }

// result is one measurement.
type result struct {
	perSecond        float64
	p50, p99         time.Duration
	walBytes         float64 // a move, full-page images included
	rowBytes         float64 // a move, that the tables and indexes grew by
	commitsPerSecond float64
	hot              float64 // share of the updates
	stateBytes       float64 // of the table of states with its indexes, at the end
	cpu              cpu     // a move, the players' included
	allocated        float64 // bytes a move, the players' included
}

func (b *bench) measure(ctx context.Context, k kind, matches int) (result, error) {
	before, err := b.read(ctx, k.states)
	if err != nil {
		return result{}, err
	}
	p, err := k.run(b, ctx, matches)
	if err != nil {
		return result{}, err
	}
	latencies := p.latencies
	if len(latencies) == 0 {
		return result{}, fmt.Errorf("no move was made")
	}
	after, err := b.read(ctx, k.states)
	if err != nil {
		return result{}, err
	}
	slices.Sort(latencies)
	moves := float64(len(latencies))
	counted := float64(len(latencies) + p.warmedUp)
	updates := after.updates - before.updates
	r := result{
		perSecond: moves / p.elapsed.Seconds(), p50: latencies[len(latencies)/2], p99: latencies[len(latencies)*99/100],
		walBytes: float64(after.wal-before.wal) / counted, rowBytes: float64(after.size-before.size) / counted,
		commitsPerSecond: float64(after.commits-before.commits) / p.whole.Seconds(),
	}
	r.stateBytes, r.allocated = float64(after.states), float64(p.allocated)/moves
	r.cpu.ours = p.used.ours / time.Duration(len(latencies))
	r.cpu.postgres = p.used.postgres / time.Duration(len(latencies))
	if updates > 0 {
		r.hot = float64(after.hot-before.hot) / float64(updates)
	}
	return r, nil
}

// reading is what Postgres counts. Its counters arrive when sessions have been
// idle for a second or are gone, so a reading waits for them to stand still.
type reading struct{ wal, size, states, commits, updates, hot int64 }

const readCounters = `
SELECT (pg_current_wal_lsn() - '0/0')::bigint,
	(SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname IN ('public', 'bare') AND c.relkind = 'r'),
	pg_total_relation_size($1::text::regclass),
	(SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()),
	(SELECT n_tup_upd FROM pg_stat_user_tables WHERE relid = $1::text::regclass),
	(SELECT n_tup_hot_upd FROM pg_stat_user_tables WHERE relid = $1::text::regclass)`

func (b *bench) read(ctx context.Context, states string) (now reading, err error) {
	b.pool.Reset() // its sessions report as they end
	for last := (reading{updates: -1}); last.updates != now.updates || last.commits+1 < now.commits; {
		last = now
		time.Sleep(300 * time.Millisecond) //nolint:forbidigo // the counters tell nobody when they are complete
		err = b.pool.QueryRow(ctx, readCounters, states).Scan(&now.wal, &now.size, &now.states, &now.commits, &now.updates, &now.hot)
		if err != nil {
			return now, err
		}
	}
	return now, nil
}

// startProfile profiles this process, which is both the server and its clients.
func startProfile(path string) (stop func(), err error) {
	if path == "" {
		return func() {}, nil
	}
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, err
	}
	return func() {
		pprof.StopCPUProfile()
		_ = file.Close()
	}, nil
}
