package store

import (
	"slices"
	"sync"
	"testing"
	"time"

	"referee.example/internal/clock"
	"referee.example/internal/referee"
)

// wake returns a match's wake-up and deadline, 0 for none.
func (d *desk) wake(id referee.ID) (wake, deadline clock.Time) {
	d.t.Helper()
	var at, end *time.Time
	d.must(d.pool.QueryRow(d.t.Context(), `SELECT wake_at, deadline FROM match_states WHERE match_id = $1`,
		uuid(id)).Scan(&at, &end))
	if at != nil {
		wake = instant(*at)
	}
	if end != nil {
		deadline = instant(*end)
	}
	return wake, deadline
}

func (d *desk) due(s *Store, limit int) []referee.ID {
	d.t.Helper()
	d.must(s.PutOff(d.t.Context(), 0))
	ids, _, err := s.Due(d.t.Context(), 0, limit)
	d.must(err)
	return ids
}

func TestAMoveBringsTheWakeUpForwardOnly(t *testing.T) {
	d := newDesk(t)
	id := d.create(d.request(), d.now())
	if wake, deadline := d.wake(id); wake != 0 || deadline != 0 {
		t.Errorf("before the start: wake-up %d, deadline %d", wake, deadline)
	}
	at := d.now()
	d.start(id, at)
	first, deadline := d.wake(id)
	if first != deadline || deadline != at+130*second {
		t.Errorf("started: wake-up %d, deadline %d", first-at, deadline-at)
	}
	s := d.load(id)
	d.do(s, d.ply(s), at+second)
	if wake, deadline := d.wake(id); wake != first || deadline != at+131*second {
		t.Errorf("a later deadline: wake-up %d, deadline %d", wake-at, deadline-at)
	}
	// Nine extensions used up leave the seat a nearer deadline than the wake-up
	// that the sweep has put off.
	s = d.load(id)
	change := d.change(s, d.ply(s), at+115*second)
	change.Before, change.Sweep = 0, true
	d.must(d.Commit(t.Context(), change))
	if wake, deadline := d.wake(id); wake != deadline || wake != at+245*second {
		t.Errorf("swept: wake-up %d, deadline %d", wake-at, deadline-at)
	}
	s = d.load(id)
	d.do(s, d.ply(s), at+116*second)
	if wake, deadline := d.wake(id); wake != deadline || wake >= at+245*second {
		t.Errorf("an earlier deadline: wake-up %d, deadline %d", wake-at, deadline-at)
	}
	// Clocks that stand leave the wake-up; the sweep removes it.
	wake, _ := d.wake(id)
	d.disconnect(id, at+118*second)
	if after, deadline := d.wake(id); after != wake || deadline != 0 {
		t.Errorf("ended: wake-up %d, deadline %d", after-at, deadline)
	}
}

func TestTheSweepsOwnCommitPutsTheWakeUpOff(t *testing.T) {
	d := newDesk(t)
	id := d.started(d.now())
	s := d.load(id)
	change := d.change(s, d.ply(s), d.now()+5*second)
	change.Before, change.Sweep = 0, true
	d.must(d.Commit(t.Context(), change))
	if wake, deadline := d.wake(id); wake != deadline {
		t.Errorf("wake-up %d, deadline %d", wake, deadline)
	}
	s = d.load(id)
	change = d.change(s, &referee.ReportDisconnect{Header: d.header(s, -1, false), Gone: 1}, d.now())
	change.Before, change.Sweep = 0, true
	d.must(d.Commit(t.Context(), change))
	if wake, deadline := d.wake(id); wake != 0 || deadline != 0 {
		t.Errorf("ended: wake-up %d, deadline %d", wake, deadline)
	}
}

func TestDueFindsWhatHasExpired(t *testing.T) {
	d := newDesk(t)
	const turn = 130 * time.Second // with its extensions
	older := d.started(d.ago(turn + 2*time.Minute))
	newer := d.started(d.ago(turn + time.Minute))
	d.started(d.ago(turn - time.Minute)) // runs on
	d.create(d.request(), d.now())
	if got := d.due(d.Store, 10); !slices.Equal(got, []referee.ID{older, newer}) {
		t.Errorf("due are %v, want %v and %v", got, older, newer)
	}
	if got := d.due(d.Store, 1); !slices.Equal(got, []referee.ID{older}) {
		t.Errorf("the longest overdue is %v, want %v", got, older)
	}
	wakeOlder, _ := d.wake(older)
	wakeNewer, _ := d.wake(newer)
	for from, want := range map[clock.Time][]referee.ID{0: {older, newer}, wakeOlder: {older, newer}, wakeOlder + 1: {newer}, wakeNewer + 1: {}} {
		got, first, err := d.Due(t.Context(), from, 10)
		d.must(err)
		wake := clock.Time(0)
		if len(want) > 0 {
			wake, _ = d.wake(want[0])
		}
		if !slices.Equal(got, want) || first != wake {
			t.Errorf("from %d on: %v, the first at %d; want %v at %d", from, got, first, want, wake)
		}
	}
	d.exec(`UPDATE match_states SET wake_at = wake_at - interval '1 hour'`)
	d.due(d.Store, 10)
	if n := ask[int](d, `SELECT count(*) FROM match_states WHERE wake_at <> deadline AND deadline > clock_timestamp()`); n != 0 {
		t.Errorf("the wake-up of %d matches was not put off", n)
	}
}

// The grace ends 250 ms after the deadline, neither sooner nor later.
func TestDueKeepsTheGrace(t *testing.T) {
	d := newDesk(t)
	id := d.started(d.ago(time.Minute))
	at := d.now() + second/10
	d.exec(`UPDATE match_states SET deadline = $1, wake_at = $1`, timestamp(at))
	for {
		before := ask[time.Time](d, `SELECT clock_timestamp()`)
		found := len(d.due(d.Store, 1)) == 1
		after := ask[time.Time](d, `SELECT clock_timestamp()`)
		switch {
		case found && instant(after) < at+clock.Grace:
			t.Fatalf("match %v was due before its grace was over", id)
		case !found && instant(before) >= at+clock.Grace:
			t.Fatalf("match %v was not due after its grace", id)
		case found:
			return
		}
	}
}

// Replicas sweep side by side while moves go on: none waits for another, and no
// wake-up is lost.
func TestConcurrentSweeps(t *testing.T) {
	d := newDesk(t)
	var running, expired []referee.ID
	for range 40 {
		running = append(running, d.started(d.now()))
		expired = append(expired, d.started(d.ago(time.Hour)))
	}
	stores := []*Store{d.Store, d.open(2), d.open(2)}
	for range 5 {
		d.exec(`UPDATE match_states SET wake_at = deadline - interval '2 hours'`)
		var all sync.WaitGroup
		for i, s := range stores {
			all.Go(func() {
				for {
					if err := s.PutOff(t.Context(), 0); err != nil {
						t.Error(err)
						return
					}
					ids, _, err := s.Due(t.Context(), 0, 25)
					if err != nil {
						t.Error(err)
						return
					}
					if len(ids) != 25 {
						t.Errorf("sweep %d found %d", i, len(ids))
					}
					var early int
					if err := s.pool.QueryRow(t.Context(), `SELECT count(*) FROM match_states
						WHERE wake_at <= clock_timestamp() AND deadline > clock_timestamp()`).Scan(&early); err != nil {
						t.Error(err)
						return
					}
					if early == 0 {
						return
					}
				}
			})
		}
		for _, id := range running[:10] {
			s := d.load(id)
			change := d.change(s, d.ply(s), d.now())
			change.Before = 0
			if err := d.Commit(t.Context(), change); err != nil {
				t.Errorf("a move beside sweeps: %v", err)
			}
		}
		all.Wait()
	}
	got := d.due(d.Store, 1000)
	slices.SortFunc(got, compareIDs)
	slices.SortFunc(expired, compareIDs)
	if !slices.Equal(got, expired) {
		t.Errorf("%d matches are due, want %d", len(got), len(expired))
	}
}

func compareIDs(a, b referee.ID) int { return slices.Compare(a[:], b[:]) }

func TestVersions(t *testing.T) {
	d := newDesk(t)
	a, b := d.started(d.now()), d.create(d.request(), d.now())
	got, err := d.Versions(t.Context(), []referee.ID{a, b, d.id(d.now())})
	if err != nil || len(got) != 2 || got[a] != 2 || got[b] != 1 {
		t.Errorf("versions %v, %v", got, err)
	}
}
