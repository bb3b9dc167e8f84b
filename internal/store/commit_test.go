package store

import (
	"errors"
	"reflect"
	"sync"
	"testing"
	"time"

	"referee.example/internal/clock"
	"referee.example/internal/referee"
)

func TestAMatchLoadsAsItWasCommitted(t *testing.T) {
	d := newDesk(t)
	change := d.creation(d.request(), d.now())
	d.must(d.Commit(t.Context(), change))
	s := d.load(change.State.ID)
	for range 20 {
		if !reflect.DeepEqual(s.Snapshot(), change.State.Snapshot()) || s.Version != change.State.Version {
			t.Fatalf("loaded version %d is another than committed %d", s.Version, change.State.Version)
		}
		var c referee.Command = &referee.StartGame{Header: d.header(s, -1, false), Balances: []int64{900, 900}}
		if s.Game.Status == referee.GamePlaying {
			c = d.ply(s)
		}
		change = d.change(s, c, d.now())
		d.must(d.Commit(t.Context(), change))
		s = d.load(s.ID)
	}
}

func TestEventsReadBackExactly(t *testing.T) {
	d := newDesk(t)
	ctx := t.Context()
	id := d.create(d.request(), d.now())
	logged := d.start(id, d.now())
	for n := range 12 {
		s := d.load(id)
		if n == 6 {
			logged = append(logged, d.do(s, &referee.OfferDraw{Header: d.header(s, 0, false)}, d.now())...)
			s = d.load(id)
		}
		logged = append(logged, d.do(s, d.ply(s), d.now())...)
	}
	logged = append(logged, d.disconnect(id, d.now())...)
	all, err := d.Events(ctx, id, 1, 2, 1000)
	d.must(err)
	if !reflect.DeepEqual(all, logged) {
		t.Fatalf("read back\n%+v\ncommitted\n%+v", all, logged)
	}
	page, err := d.Events(ctx, id, 1, 4, 3)
	if err != nil || !reflect.DeepEqual(page, logged[2:5]) {
		t.Errorf("a page from seq 4: %+v, %v", page, err)
	}
	if none, err := d.Events(ctx, id, 2, 1, 10); err != nil || len(none) != 0 {
		t.Errorf("game 2 has %d events, %v", len(none), err)
	}
	for _, e := range logged {
		if e.Kind != referee.EventPly {
			continue
		}
		if got, err := d.PlyEvent(ctx, id, 1, e.Ply); err != nil || !reflect.DeepEqual(got, e) {
			t.Errorf("ply %d: %+v, %v", e.Ply, got, err)
		}
	}
	last := logged[len(logged)-1]
	for _, ply := range []int{0, last.Ply + 1} {
		if _, err := d.PlyEvent(ctx, id, 1, ply); !errors.Is(err, referee.ErrNotFound) {
			t.Errorf("ply %d: %v", ply, err)
		}
	}
	// The ending has no request id: from there on there is none.
	got, err := d.RequestEvent(ctx, id, 1, 3)
	if err != nil || got.Seq != 3 {
		t.Errorf("first request from seq 3: seq %d, %v", got.Seq, err)
	}
	if _, err := d.RequestEvent(ctx, id, 1, last.Seq); !errors.Is(err, referee.ErrNotFound) {
		t.Errorf("a request at the ending: %v", err)
	}
	for request, want := range map[referee.ID]bool{logged[3].RequestID: true, d.id(0): false} {
		if has, err := d.HasRequest(ctx, id, 1, last.Seq, request); err != nil || has != want {
			t.Errorf("has request: %t, %v; want %t", has, err, want)
		}
	}
}

func TestCreateRequestsAndExternalRefs(t *testing.T) {
	d := newDesk(t)
	ctx := t.Context()
	c := d.request()
	c.ExternalRef = "order 66"
	id := d.create(c, d.now())
	found, fingerprint, err := d.FindCreated(ctx, "north", c.RequestID)
	if err != nil || found != id || string(fingerprint) != string(c.Fingerprint()) {
		t.Errorf("found %s by its request, %v", found, err)
	}
	if found, err := d.FindExternalRef(ctx, "north", "order 66"); err != nil || found != id {
		t.Errorf("found %s by its reference, %v", found, err)
	}
	if _, _, err := d.FindCreated(ctx, "south", c.RequestID); !errors.Is(err, referee.ErrNotFound) {
		t.Errorf("another platform's request: %v", err)
	}
	if _, err := d.FindExternalRef(ctx, "south", "order 66"); !errors.Is(err, referee.ErrNotFound) {
		t.Errorf("another platform's reference: %v", err)
	}
	if err := d.Commit(ctx, d.creation(c, d.now())); !errors.Is(err, referee.ErrConflict) {
		t.Errorf("the same request: %v", err)
	}
	c.RequestID = d.id(0)
	if err := d.Commit(ctx, d.creation(c, d.now())); !errors.Is(err, referee.ErrRefTaken) {
		t.Errorf("a taken reference: %v", err)
	}
	if n := ask[int](d, `SELECT count(*) FROM matches`); n != 1 {
		t.Errorf("%d matches after refused creations", n)
	}
	c.RequestID, c.Caller.Platform = d.id(0), "south"
	d.create(c, d.now())
	c.RequestID, c.ExternalRef = d.id(0), ""
	d.create(c, d.now())
	c.RequestID = d.id(0)
	d.create(c, d.now()) // no reference is no reference that could be taken
}

func TestGuardsOfACommit(t *testing.T) {
	d := newDesk(t)
	ctx := t.Context()
	s := d.load(d.started(d.now()))
	good := d.change(s, d.ply(s), d.now())
	stale, absent := *good.State, *good.State
	stale.Version--
	absent.ID = d.id(d.now())
	for name, test := range map[string]struct {
		change referee.Change
		want   error
	}{
		"another version":  {referee.Change{State: &stale, Events: good.Events}, referee.ErrConflict},
		"no such match":    {referee.Change{State: &absent, Events: good.Events}, referee.ErrNotFound},
		"before its time":  {referee.Change{State: good.State, Events: good.Events, After: d.now() + 10*second}, referee.ErrTooEarly},
		"after its time":   {referee.Change{State: good.State, Events: good.Events, Before: d.now() - second}, referee.ErrTooLate},
		"at its last time": {referee.Change{State: good.State, Events: good.Events, Before: d.now() - 10_000}, referee.ErrTooLate},
	} {
		t.Run(name, func(t *testing.T) {
			if err := d.Commit(ctx, test.change); !errors.Is(err, test.want) {
				t.Errorf("error is %v, want %v", err, test.want)
			}
			if got := d.load(s.ID); got.Version != s.Version {
				t.Errorf("it changed the match to version %d", got.Version)
			}
		})
	}
	if n := ask[int](d, `SELECT count(*) FROM events WHERE match_id = $1`, uuid(s.ID)); n != 2 {
		t.Errorf("%d events after refused commits", n)
	}
	good.After, good.Before = d.now()-second, d.now()+10*second
	d.must(d.Commit(ctx, good))
}

// Guards hold for the changes of several statements too: nothing of them stays.
func TestGuardsOfALifecycleCommit(t *testing.T) {
	d := newDesk(t)
	id := d.started(d.now())
	s := d.load(id)
	end := d.change(s, &referee.ReportDisconnect{Header: d.header(s, -1, false), Gone: 2}, d.now())
	d.do(s, d.ply(s), d.now())
	if err := d.Commit(t.Context(), end); !errors.Is(err, referee.ErrConflict) {
		t.Errorf("error is %v", err)
	}
	end.State.Version++
	end.Before = d.now() - second
	if err := d.Commit(t.Context(), end); !errors.Is(err, referee.ErrTooLate) {
		t.Errorf("error is %v", err)
	}
	if n := ask[int](d, `SELECT count(*) FROM games WHERE match_id = $1`, uuid(id)); n != 1 {
		t.Errorf("%d games", n)
	}
	if n := ask[int](d, `SELECT count(*) FROM settlements`); n != 0 {
		t.Errorf("%d settlements", n)
	}
}

func TestOfTwoCommitsOneWins(t *testing.T) {
	d := newDesk(t)
	stores := []*Store{d.Store, d.open(2)}
	id := d.started(d.now())
	for round := range 200 {
		s := d.load(id)
		if s.Game.Status != referee.GamePlaying {
			id = d.started(d.now())
			s = d.load(id)
		}
		var change [2]referee.Change
		for i := range change {
			change[i] = d.change(s, d.ply(s), d.now())
			if round%10 == 9 { // an ending against a ply, and against another ending
				change[0] = d.change(s, &referee.ReportDisconnect{Header: d.header(s, -1, false), Gone: 2}, d.now())
			}
		}
		var errs [2]error
		var both sync.WaitGroup
		for i := range change {
			both.Go(func() { errs[i] = stores[i].Commit(t.Context(), change[i]) })
		}
		both.Wait()
		if (errs[0] == nil) == (errs[1] == nil) {
			t.Fatalf("round %d: %v and %v", round, errs[0], errs[1])
		}
		lost := errors.Join(errs[0], errs[1])
		if !errors.Is(lost, referee.ErrConflict) {
			t.Fatalf("round %d: the loser got %v", round, lost)
		}
		after := d.load(id)
		if after.Version != s.Version+1 {
			t.Fatalf("round %d: version %d after %d", round, after.Version, s.Version)
		}
		events, err := d.Events(t.Context(), id, after.Game.Number, s.Game.Seq+1, 10)
		if err != nil || len(events) == 0 || events[len(events)-1].Hash != after.Game.Head {
			t.Fatalf("round %d: %d events, %v; the log's head is not the state's", round, len(events), err)
		}
	}
}

// A commit that waits for a lock is judged when it has it: the sweep's wake-up
// does not defeat it, but the time that passed does.
func TestACommitJudgesWhenItHasTheLock(t *testing.T) {
	d := newDesk(t)
	for name, test := range map[string]struct {
		before clock.Time
		want   error
	}{
		"in time":  {10 * second, nil},
		"too late": {second / 5, referee.ErrTooLate},
	} {
		t.Run(name, func(t *testing.T) {
			s := d.load(d.started(d.now()))
			tx, err := d.pool.Begin(t.Context())
			d.must(err)
			_, err = tx.Exec(t.Context(), `UPDATE match_states SET wake_at = deadline WHERE match_id = $1`, uuid(s.ID))
			d.must(err)
			change := d.change(s, d.ply(s), d.now())
			change.Before = d.now() + test.before
			done := make(chan error, 1)
			go func() { done <- d.Commit(t.Context(), change) }()
			d.waiting(t.Context())
			if test.want != nil {
				_, err = tx.Exec(t.Context(), `SELECT pg_sleep_until($1)`, timestamp(change.Before))
				d.must(err)
			}
			d.must(tx.Commit(t.Context()))
			if err := <-done; !errors.Is(err, test.want) {
				t.Errorf("error is %v, want %v", err, test.want)
			}
		})
	}
}

func TestALockHeldTooLongIsAConflict(t *testing.T) {
	d := newDesk(t)
	replica, err := Open(t.Context(), Config{URL: d.db.URL, MaxConns: 2})
	d.must(err)
	t.Cleanup(replica.Close)
	s := d.load(d.started(d.now()))
	change := d.change(s, d.ply(s), d.now())
	tx, err := d.pool.Begin(t.Context())
	d.must(err)
	_, err = tx.Exec(t.Context(), `SELECT FROM match_states WHERE match_id = $1 FOR UPDATE`, uuid(s.ID))
	d.must(err)
	began := time.Now()
	// What a statement's own timeout ends, the next longer one, is no conflict.
	if err := replica.Commit(t.Context(), change); !errors.Is(err, referee.ErrConflict) {
		t.Errorf("error is %v", err)
	}
	if waited := time.Since(began); waited < lockTimeout {
		t.Errorf("it waited for %v", waited)
	}
	d.must(tx.Rollback(t.Context()))
	d.must(d.Commit(t.Context(), change))
}

// An ordinary move changes no indexed column and finds room on its page.
func TestOrdinaryCommitsAreHeapOnlyUpdates(t *testing.T) {
	d := newDesk(t)
	var ids []referee.ID
	for range 20 {
		ids = append(ids, d.started(d.now()))
	}
	count := func() (updates, hot int64) {
		// The counters arrive when the sessions that counted them are gone.
		d.pool.Reset()
		limit := time.Now().Add(time.Minute)
		for ask[int](d, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid()`) != 0 {
			if time.Now().After(limit) {
				t.Fatal("other sessions of the database go on")
			}
		}
		d.must(d.pool.QueryRow(t.Context(), `SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables
			WHERE relname = 'match_states'`).Scan(&updates, &hot))
		return updates, hot
	}
	// A snapshot that autovacuum takes keeps old versions on their pages for a
	// while, so the best of some rounds counts. A move that changed an indexed
	// column would be heap-only in none.
	best := int64(0)
	for range 4 {
		updates, hot := count()
		var moves int64
		for range 5 {
			for _, id := range ids {
				if s := d.load(id); s.Game.Status == referee.GamePlaying {
					d.do(s, d.ply(s), d.now())
					moves++
				}
			}
		}
		after, hotAfter := count()
		updates, hot = after-updates, hotAfter-hot
		t.Logf("%d moves, %d updates, %d heap-only", moves, updates, hot)
		if updates != moves || moves < 75 {
			t.Errorf("%d updates counted for %d moves", updates, moves)
		}
		best = max(best, hot*100/updates)
	}
	if best < 95 {
		t.Errorf("at best %d %% of the updates were heap-only", best)
	}
}
