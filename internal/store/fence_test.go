package store

import (
	"context"
	"errors"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"referee.example/internal/devpg"
	"referee.example/internal/pgtest"
	"referee.example/internal/referee"
	"referee.example/migrations"
)

// within sets how old a proof may be.
func (f *fence) within(limit time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.limit = limit
}

// TestAPrimaryThatNobodyFollowsShowsNothing lets a primary's commits wait for a standby
// that never comes, as they do once another has been promoted. Whatever is read there
// may be the past: it is refused, and the replica is not ready.
func TestAPrimaryThatNobodyFollowsShowsNothing(t *testing.T) {
	t.Parallel()
	l := newLonely(t)
	id := l.started(l.now())
	reads := map[string]func(context.Context) error{
		"match": func(ctx context.Context) error { _, err := l.Load(ctx, id); return err },
		"log":   func(ctx context.Context) error { _, err := l.Events(ctx, id, 1, 1, 10); return err },
		"versions, which watches follow": func(ctx context.Context) error {
			_, err := l.Versions(ctx, []referee.ID{id})
			return err
		},
		"heads of feeds": func(ctx context.Context) error { _, err := l.SettlementHeads(ctx, []string{"north"}); return err },
		"feed":           func(ctx context.Context) error { _, err := l.Settlements(ctx, "north", 1, 10); return err },
		"readiness":      l.Ready,
	}
	l.warm(l.Store, 10)
	l.waitFor("nobody")
	for name, read := range reads {
		if err := read(t.Context()); err != nil {
			t.Errorf("%s, just after a commit: %v", name, err)
		}
	}
	l.fence.within(0)
	for name, read := range reads {
		if err := read(t.Context()); !errors.Is(err, referee.ErrUnavailable) {
			t.Errorf("%s, long after the last commit: %v", name, err)
		}
	}
	l.waitFor("")
	l.fence.within(provenFor)
	for name, read := range reads {
		if err := read(t.Context()); err != nil {
			t.Errorf("%s, with commits again: %v", name, err)
		}
	}
}

// TestOneWhoAsksProvesForAll lets many read at once long after the last commit: they
// commit before they ask, and are answered.
func TestOneWhoAsksProvesForAll(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := d.started(d.now())
	d.fence.within(0)
	var asking sync.WaitGroup
	for range 50 {
		asking.Go(func() {
			if _, err := d.Versions(t.Context(), []referee.ID{id}); err != nil {
				t.Error(err)
			}
		})
	}
	asking.Wait()
}

// pair is a primary and a standby that follows it without being waited for, and a
// store that would take either, the standby first.
type pair struct {
	*desk
	old, new *devpg.Server
	both     *Store
}

func newPair(t *testing.T, conns int) *pair {
	t.Helper()
	end := func(s *devpg.Server) {
		t.Cleanup(func() {
			if err := errors.Join(s.Stop(), os.RemoveAll(s.DataDir())); err != nil {
				t.Error(err)
			}
		})
	}
	p := &pair{}
	var err error
	if p.old, err = devpg.Start(t.Context(), devpg.Options{NoFsync: true}); err != nil {
		t.Fatal(err)
	}
	end(p.old)
	if err := migrations.Up(t.Context(), p.old.URL("postgres")); err != nil {
		t.Fatal(err)
	}
	p.desk = newDeskOn(t, &pgtest.DB{URL: p.old.URL("postgres"), Name: "postgres"})
	_, err = p.EnsurePartitions(t.Context())
	p.must(err)
	p.new, err = p.old.Standby(t.Context(), "other", "", devpg.Options{NoFsync: true})
	p.must(err)
	end(p.new)
	first, err := url.Parse(p.new.URL("postgres"))
	p.must(err)
	second, err := url.Parse(p.old.URL("postgres"))
	p.must(err)
	first.Host += "," + second.Host
	first.RawQuery += "&target_session_attrs=read-write"
	p.both, err = Open(t.Context(), Config{URL: first.String(), MaxConns: conns})
	p.must(err)
	t.Cleanup(p.both.Close)
	return p
}

// on makes a change to one of the two.
func (p *pair) on(s *devpg.Server, query string, arguments ...any) {
	p.t.Helper()
	conn, err := pgx.Connect(p.t.Context(), s.URL("postgres"))
	p.must(err)
	_, err = conn.Exec(p.t.Context(), query, arguments...)
	p.must(errors.Join(err, conn.Close(p.t.Context())))
}

// TestNoWayBackToAnOldPrimary promotes a standby while the primary goes on, takes
// commits too, and has connections of a replica's pool. As soon as the replica has one
// to the new primary it shows nothing of the old one any more, even if the new one
// is gone.
func TestNoWayBackToAnOldPrimary(t *testing.T) {
	t.Parallel()
	const conns = 8
	p := newPair(t, conns)
	id := p.started(p.now())
	lonely := &lonely{desk: p.desk}
	lonely.warm(p.both, conns-1)
	version := func() (int64, error) {
		versions, err := p.both.Versions(t.Context(), []referee.ID{id})
		return versions[id], err
	}
	before, err := version()
	p.must(err)
	p.on(p.new, `SELECT pg_promote()`)
	p.on(p.new, `UPDATE match_states SET version = version + 100 WHERE match_id = $1`, id[:])
	if got, err := version(); err != nil || got != before {
		t.Fatalf("a connection to the old primary shows version %d, %v: nothing is proved of the others", got, err)
	}
	lonely.warm(p.both, conns) // the last one is new, and to the new primary
	var reading sync.WaitGroup
	for range 50 {
		reading.Go(func() {
			if got, err := version(); err != nil || got != before+100 {
				t.Errorf("the replica shows version %d, %v, not that of the new primary", got, err)
			}
		})
	}
	reading.Wait()
	p.new.Kill()
	for deadline := time.Now().Add(time.Minute); ; { // until the pool has found its connections gone
		got, err := version()
		if !errors.Is(err, referee.ErrUnavailable) {
			t.Fatalf("the new primary gone, the replica shows version %d, %v", got, err)
		}
		if strings.Contains(err.Error(), errOldTimeline.Error()) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the old primary is told from others as %v", err)
		}
	}
}
