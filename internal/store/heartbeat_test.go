package store

import (
	"errors"
	"reflect"
	"sync"
	"testing"
	"time"

	"referee.example/internal/clock"
	"referee.example/internal/referee"
	"referee.example/internal/series"
)

func (d *desk) beatAt(at clock.Time) { d.exec(`UPDATE heartbeat SET beat_at = $1`, timestamp(at)) }

func (d *desk) outages() int { return ask[int](d, `SELECT count(*) FROM outages`) }

func TestBeatRecordsGapsOnly(t *testing.T) {
	d := newDesk(t)
	beat := func() clock.Time {
		now, err := d.Beat(t.Context())
		d.must(err)
		return now
	}
	d.exec(`UPDATE heartbeat SET beat_at = NULL`)
	first := beat()
	if d.outages() != 0 {
		t.Error("the first beat ever recorded an outage")
	}
	d.alive()
	if next := beat(); next <= first || d.outages() != 0 {
		t.Error("a beat in time recorded an outage, or time stood still")
	}
	for short := false; !short; { // again on a machine that took half a second for it
		d.exec(`DELETE FROM outages`)
		from := d.now() - 3*second + second/2
		d.beatAt(from)
		if short = beat() <= from+3*second; short && d.outages() != 0 {
			t.Error("a gap of less than 3 s was recorded")
		}
	}
	from := d.now() - 3*second - 1000
	d.beatAt(from)
	until := beat()
	if got := ask[time.Time](d, `SELECT from_at FROM outages`); instant(got) != from {
		t.Errorf("the outage began at %v, not at the last beat", got)
	}
	if got := ask[time.Time](d, `SELECT until_at FROM outages`); instant(got) != until {
		t.Errorf("the outage ended at %v, not at the beat", got)
	}
	if got := ask[time.Time](d, `SELECT beat_at FROM heartbeat`); instant(got) != until {
		t.Errorf("the heartbeat stands at %v", got)
	}
}

func TestOfReplicasThatComeBackOneRecordsTheOutage(t *testing.T) {
	d := newDesk(t)
	stores := []*Store{d.Store, d.open(4), d.open(4)}
	for round := 1; round <= 20; round++ {
		d.beatAt(d.now() - 60*second)
		var all sync.WaitGroup
		for i := range 12 {
			all.Go(func() {
				if _, err := stores[i%len(stores)].Beat(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n := d.outages(); n != round {
			t.Fatalf("%d outages after %d gaps", n, round)
		}
	}
}

func TestLoadRecordsAGapFirst(t *testing.T) {
	d := newDesk(t)
	id := d.started(d.ago(time.Minute))
	from := d.ago(30 * time.Second)
	d.beatAt(from)
	loaded, err := d.Load(t.Context(), id)
	d.must(err)
	if len(loaded.Outages) != 1 || loaded.Outages[0].From != from || loaded.Outages[0].Until < from+30*second {
		t.Fatalf("outages %+v", loaded.Outages)
	}
	env := d.env(d.now())
	env.Outages = loaded.Outages
	decision, err := referee.Settle(loaded.State, env)
	d.must(err)
	if len(decision.Events) != 1 || decision.Events[0].Kind != referee.EventClockPaused {
		t.Fatalf("events %+v", decision.Events)
	}
	d.must(d.Commit(t.Context(), referee.Change{State: decision.State, Events: decision.Events}))
	d.alive()
	if again, err := d.Load(t.Context(), id); err != nil || len(again.Outages) != 0 {
		t.Errorf("accounted for, and loaded again: %+v, %v", again.Outages, err)
	}
}

// Those that ended after the running turn began concern it, and no others.
func TestLoadGivesTheOutagesOfTheRunningTurn(t *testing.T) {
	d := newDesk(t)
	at := d.ago(time.Minute)
	id := d.started(at)
	outage := func(from, until clock.Time) referee.Outage {
		d.exec(`INSERT INTO outages (from_at, until_at) VALUES ($1, $2)`, timestamp(from), timestamp(until))
		return referee.Outage{From: from, Until: until}
	}
	outage(at-90*second, at-10*second)
	outage(at-9*second, at) // ended as the turn began
	want := []referee.Outage{outage(at-second, at+1), outage(at+5*second, at+9*second)}
	loaded, err := d.Load(t.Context(), id)
	d.must(err)
	if !reflect.DeepEqual(loaded.Outages, want) {
		t.Errorf("outages %+v, want %+v", loaded.Outages, want)
	}
	// No clock runs between games.
	d.disconnect(id, at+2*second)
	if loaded, err = d.Load(t.Context(), id); err != nil || len(loaded.Outages) != 0 {
		t.Errorf("between games: %+v, %v", loaded.Outages, err)
	}
}

// An expiry that was judged before a gap became known is not committed.
func TestAnExpiryNeedsEveryOutageRecorded(t *testing.T) {
	d := newDesk(t)
	settle := func(id referee.ID) referee.Change {
		loaded, err := d.Load(t.Context(), id)
		d.must(err)
		env := d.env(d.now())
		env.Outages = loaded.Outages
		decision, err := referee.Settle(loaded.State, env)
		d.must(err)
		return referee.Change{State: decision.State, Events: decision.Events,
			After: decision.After, Before: decision.Before, Known: decision.Known}
	}
	id := d.started(d.ago(10 * time.Minute))
	change := settle(id)
	if change.After == 0 || change.Events[0].Kind != referee.EventExpired {
		t.Fatalf("nothing has expired: %+v", change.Events)
	}
	d.beatAt(d.now() - 4*second)
	if err := d.Commit(t.Context(), change); !errors.Is(err, referee.ErrConflict) {
		t.Errorf("with an old heartbeat: %v", err)
	}
	// Recorded, the gap is seen to have come after the deadline.
	d.load(id)
	d.alive()
	if err := d.Commit(t.Context(), change); !errors.Is(err, referee.ErrConflict) {
		t.Errorf("with an outage that was not known: %v", err)
	}
	if again := settle(id); again.Events[0].Kind != referee.EventExpired {
		t.Errorf("with the outage known: %+v", again.Events)
	} else {
		d.must(d.Commit(t.Context(), again))
	}

	d.exec(`DELETE FROM outages`)
	id = d.started(d.ago(10 * time.Minute))
	change = settle(id)
	deadline := change.After - clock.Grace
	d.exec(`INSERT INTO outages (from_at, until_at) VALUES ($1, $2)`, timestamp(deadline-second), timestamp(d.now()))
	if err := d.Commit(t.Context(), change); !errors.Is(err, referee.ErrConflict) {
		t.Errorf("with an outage before the deadline: %v", err)
	}
	if again := settle(id); len(again.Events) != 1 || again.Events[0].Kind != referee.EventClockPaused {
		t.Errorf("with the outage known: %+v", again.Events)
	}
}

// An expiry is not adjudicated before a replica has shown a sign of life since its
// deadline. Else the gap that the heartbeat has then, once it is recorded as an
// outage, would have paused the turn that is on record as expired.
func TestAnExpiryNeedsASignOfLifeSinceItsDeadline(t *testing.T) {
	d := newDesk(t)
	id := d.started(d.ago(time.Hour))
	s := d.load(id)
	deadline, _ := s.Deadline()
	settle := func(s *referee.State) referee.Change {
		decision, err := referee.Settle(s, d.env(d.now()))
		d.must(err)
		return referee.Change{State: decision.State, Events: decision.Events,
			After: decision.After, Before: decision.Before, Known: decision.Known}
	}
	// The turn expired a second ago and the last beat will be a second before: no
	// outage yet.
	d.exec(`UPDATE match_states SET deadline = $2, wake_at = $2 WHERE match_id = $1`, uuid(id), timestamp(d.ago(time.Second)))
	change := settle(s)
	if change.After != deadline+clock.Grace || change.Events[0].Kind != referee.EventExpired {
		t.Fatalf("nothing has expired: %+v", change.Events)
	}
	d.beatAt(deadline - 1)
	change.Known = 0 // a gap of an hour is another guard's
	if err := d.Commit(t.Context(), change); !errors.Is(err, referee.ErrConflict) {
		t.Errorf("without a beat since the deadline: %v", err)
	}
	for {
		last := d.ago(2 * time.Second)
		d.beatAt(last)
		loaded, err := d.Load(t.Context(), id)
		d.must(err)
		beat := instant(ask[time.Time](d, `SELECT beat_at FROM heartbeat`))
		if beat <= last {
			t.Fatal("the match was loaded to judge its expiry and nobody beat")
		}
		if beat > last+3*second { // so slow a machine has an outage: once more
			d.exec(`DELETE FROM outages`)
			continue
		}
		d.alive()
		d.must(d.Commit(t.Context(), settle(loaded.State)))
		break
	}
	if n := d.outages(); n != 0 {
		t.Errorf("%d outages", n)
	}
}

// A ply in time commits only if every outage of its turn was known: clocks that
// ran through one would be wrong.
func TestAPlyNeedsEveryOutageKnown(t *testing.T) {
	d := newDesk(t)
	at := d.ago(time.Minute)
	id := d.started(at)
	decide := func(s *referee.State, outages []referee.Outage) referee.Change {
		env := d.env(d.now())
		env.Outages = outages
		decision, err := referee.Decide(s, d.ply(s), env)
		d.must(err)
		if decision.Refusal != nil {
			t.Fatal(decision.Refusal)
		}
		return referee.Change{State: decision.State, Events: decision.Events,
			After: decision.After, Before: decision.Before, Known: decision.Known}
	}
	s := d.load(id)
	change := decide(s, nil)
	d.beatAt(d.now() - 4*second)
	if err := d.Commit(t.Context(), change); !errors.Is(err, referee.ErrConflict) {
		t.Errorf("with an old heartbeat: %v", err)
	}
	_, err := d.Beat(t.Context())
	d.must(err)
	if err := d.Commit(t.Context(), change); !errors.Is(err, referee.ErrConflict) {
		t.Errorf("with an outage that was not known: %v", err)
	}
	loaded, err := d.Load(t.Context(), id)
	d.must(err)
	d.alive()
	change = decide(loaded.State, loaded.Outages)
	if change.Events[0].Kind != referee.EventClockPaused {
		t.Errorf("with the outage known: %+v", change.Events)
	}
	d.must(d.Commit(t.Context(), change))
	// The next turn began after the outage.
	s = d.load(id)
	d.must(d.Commit(t.Context(), decide(s, nil)))
}

// TestNoPlyArrivesInAnOutage: a ply that came while no replica was alive, and waited, is
// of the outage's end, also where no clock runs; by it the verifier tells an outage that
// never was. A replica that remembers the match learns of the outage by the guard.
func TestNoPlyArrivesInAnOutage(t *testing.T) {
	d := newDesk(t)
	presets, err := referee.LoadPresets()
	d.must(err)
	d.rule = presets.Get("daily")
	for name, remembers := range map[string]bool{"remembered": true, "loaded": false} {
		t.Run(name, func(t *testing.T) {
			c := d.request()
			c.Stake, c.Charges, c.FirstSeat = 0, series.Charges{}, 0
			id := d.create(c, d.ago(time.Minute))
			d.start(id, d.ago(50*time.Second))
			s := d.load(id)
			if _, running := s.Deadline(); running {
				t.Fatal("a clock runs: the outage would pause it")
			}
			store := d.Store
			if !remembers {
				store = d.open(2)
			}
			arrival, until := d.ago(5*time.Second), d.ago(2*time.Second)
			d.exec(`INSERT INTO outages VALUES ($1, $2)`, timestamp(arrival-5*second), timestamp(until))
			asked := false
			r := referee.New(store, presets, d.keys, func() (clock.Time, error) {
				if !asked {
					asked = true
					return arrival, nil
				}
				return d.Now()
			})
			answer, err := r.Do(t.Context(), d.ply(s))
			d.must(err)
			if got := answer.Events[0].Time; got != until {
				t.Errorf("the ply is of %v, %v after its arrival; the outage ended %v after it",
					got, time.Duration(got-arrival)*time.Microsecond, time.Duration(until-arrival)*time.Microsecond)
			}
		})
	}
}
