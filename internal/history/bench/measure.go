package main

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"referee.example/internal/clock"
	"referee.example/internal/devpg"
	"referee.example/internal/history"
	"referee.example/internal/store"
)

// results are times by query, database and temperature.
type results map[string]map[string][]time.Duration

func (r results) add(query, what string, took time.Duration) {
	if r[query] == nil {
		r[query] = map[string][]time.Duration{}
	}
	r[query][what] = append(r[query][what], took)
}

// bench measures one database.
type bench struct {
	ctx      context.Context
	server   *devpg.Server
	database string
	settings
	results results
	facts   facts
}

// offsetCalls is how often OFFSET is measured: it takes its time.
const offsetCalls = 20

// measureCold asks each query once a round, after a restart each.
func (b *bench) measureCold() error {
	for round := range b.rounds {
		fmt.Fprintf(os.Stderr, "%s: cold round %d of %d\n", b.database, round+1, b.rounds)
		for _, q := range slices.Concat(queries, offsets) {
			if err := b.cold(uint64(round), q); err != nil {
				return err
			}
		}
	}
	return nil
}

// measureWarm makes the same calls of each query twice and measures the second
// time, so that what is warm is what they read and not only the way to it.
func (b *bench) measureWarm() error {
	s, err := b.open(1)
	if err != nil {
		return err
	}
	defer s.close()
	if b.facts, err = draw(b.ctx, s.conn); err != nil {
		return err
	}
	s.facts = b.facts
	for _, q := range slices.Concat(queries, offsets) {
		calls := b.calls
		if slices.ContainsFunc(offsets, func(o query) bool { return o.name == q.name }) {
			calls = min(calls, offsetCalls)
		}
		fmt.Fprintf(os.Stderr, "%s: %s\n", b.database, q.name)
		for _, counted := range []bool{false, true} {
			s.rand = random(1)
			for range calls {
				took, err := timed(b.ctx, q, s)
				if err != nil {
					return err
				}
				if counted {
					b.results.add(q.name, b.database+" warm", took)
				}
			}
		}
	}
	return nil
}

// cold measures one call of a query after a restart.
func (b *bench) cold(seed uint64, q query) error {
	if err := b.server.Stop(); err != nil { // writes all that is dirty
		return err
	}
	if err := drop(b.server.DataDir()); err != nil {
		return err
	}
	if err := b.server.Restart(b.ctx); err != nil {
		return err
	}
	s, err := b.open(seed)
	if err != nil {
		return err
	}
	defer s.close()
	took, err := timed(b.ctx, q, s)
	b.results.add(q.name, b.database+" cold", took)
	return err
}

func timed(ctx context.Context, q query, s *sample) (time.Duration, error) {
	// A replica beats all the time; without that, loading a match would first.
	if _, err := s.Beat(ctx); err != nil {
		return 0, err
	}
	begin := time.Now()
	err := q.ask(ctx, s)
	if err != nil {
		err = fmt.Errorf("%s: %w", q.name, err)
	}
	return time.Since(begin), err
}

// dontNeed is POSIX_FADV_DONTNEED on Linux.
const dontNeed = 4

// drop has the operating system forget the files of a folder.
func drop(dir string) error {
	syscall.Sync()
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil //nolint:nilerr // a temporary file that is gone
		}
		file, err := os.Open(path) //nolint:gosec // the folder is our own server's, which is down
		if err != nil {
			return nil //nolint:nilerr // the same
		}
		defer func() { _ = file.Close() }()
		if _, _, errno := syscall.Syscall6(syscall.SYS_FADVISE64, file.Fd(), 0, 0, dontNeed, 0, 0); errno != 0 {
			return errno
		}
		return nil
	})
}

// random is what is asked about.
func random(seed uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // what is measured is no secret
}

// open connects; seed is for what is asked about.
func (b *bench) open(seed uint64) (*sample, error) {
	s := &sample{facts: b.facts, rand: random(seed)}
	var err error
	if s.Store, err = store.Open(b.ctx, store.Config{URL: b.server.URL(b.database), MaxConns: 1}); err != nil {
		return nil, err
	}
	if s.conn, err = pgx.Connect(b.ctx, b.server.URL(b.database)); err != nil {
		s.Store.Close()
		return nil, err
	}
	return s, nil
}

func (s *sample) close() {
	s.Store.Close()
	_ = s.conn.Close(context.Background())
}

const (
	sqlEnds = `
SELECT (SELECT created_at FROM matches ORDER BY match_id LIMIT 1), (SELECT created_at FROM matches ORDER BY match_id DESC LIMIT 1),
	(SELECT count(*) FROM matches WHERE platform = $1), (SELECT count(*) FROM participants WHERE platform = $1 AND player_id = $2)`
	// Matches whose events were generated, and who sat in them.
	sqlDrawn = `
SELECT m.match_id, m.player_ids FROM matches m
WHERE m.platform = $1 AND EXISTS (SELECT FROM events e WHERE e.match_id = m.match_id)
ORDER BY m.match_id DESC LIMIT 1000`
)

// draw finds out what can be asked about.
func draw(ctx context.Context, conn *pgx.Conn) (f facts, err error) {
	var from, till time.Time
	if err := conn.QueryRow(ctx, sqlEnds, history.Platform, history.HeavyPlayer).Scan(&from, &till, &f.platform, &f.heavy); err != nil {
		return f, err
	}
	f.from, f.till = clock.Time(from.UnixMicro()), clock.Time(till.UnixMicro())
	rows, err := conn.Query(ctx, sqlDrawn, history.Platform)
	if err != nil {
		return f, err
	}
	defer rows.Close()
	for rows.Next() {
		var id [16]byte
		var players []string
		if err := rows.Scan(&id, &players); err != nil {
			return f, err
		}
		f.matches = append(f.matches, id)
		f.players = append(f.players, players...)
	}
	return f, rows.Err()
}
