package store

import (
	"context"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"referee.example/internal/clock"
	"referee.example/internal/referee"
	"referee.example/internal/rules"
)

var (
	january2016 = time.Date(2016, 1, 1, 0, 0, 0, 0, time.UTC)
	march2016   = january2016.AddDate(0, 2, 0)
)

// old makes a match of February 2016 with a ply in its first game, which goes on.
func (d *desk) old() (referee.ID, clock.Time) {
	d.t.Helper()
	d.exec(`SELECT ensure_events_partitions($1, 2)`, january2016)
	at := instant(january2016.AddDate(0, 1, 9))
	id := d.create(d.request(), at)
	d.start(id, at+second)
	return id, d.playOut(id, at+second, 1)
}

func (d *desk) void(id referee.ID, at clock.Time) {
	d.t.Helper()
	s := d.load(id)
	d.do(s, &referee.VoidMatch{Header: d.header(s, rules.NoSeat, false), Note: "the end"}, at)
}

// ensured makes the months that lack since the tests' template was made, which may
// have been in the month before.
func (d *desk) ensured() {
	d.t.Helper()
	_, err := d.EnsurePartitions(d.t.Context())
	d.must(err)
}

func (d *desk) partition(name string) (found Partition) {
	d.t.Helper()
	list, err := d.Partitions(d.t.Context())
	d.must(err)
	at := slices.IndexFunc(list, func(p Partition) bool { return p.Name == name })
	if at < 0 {
		d.t.Fatalf("no %s in %v", name, list)
	}
	return list[at]
}

func TestPartitions(t *testing.T) {
	d := newDesk(t)
	ctx := t.Context()
	d.ensured()
	id, at := d.old()
	before, err := d.Partitions(ctx)
	d.must(err)
	if len(before) != ask[int](d, `SELECT count(*) FROM pg_inherits WHERE inhparent = 'events'::regclass`) || before[0].Name != "events_2016_01" || !before[0].Month.Equal(january2016) {
		t.Errorf("%d partitions, the first %+v", len(before), before[0])
	}
	if p := d.partition("events_2016_02"); !p.Attached || p.Pending || p.Live != 1 || p.Bytes == 0 {
		t.Errorf("a month with a live match: %+v", p)
	}
	var live *LiveMatchesError
	if detached, err := d.DetachPartitions(ctx, march2016); !errors.As(err, &live) || len(detached) > 0 ||
		!slices.Equal(live.Matches, []referee.ID{id}) || live.More || !strings.Contains(live.Error(), id.String()) {
		t.Errorf("with a live match: %v, %v", detached, err)
	}
	if p := d.partition("events_2016_01"); !p.Attached {
		t.Error("one of the months was detached all the same")
	}
	d.void(id, at+second)
	this := ask[time.Time](d, `SELECT date_trunc('month', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'`)
	if _, err := d.DetachPartitions(ctx, this); !errors.Is(err, ErrRecent) {
		t.Errorf("up to this month: %v", err)
	}
	events := ask[int](d, `SELECT count(*) FROM events_2016_02`)
	detached, err := d.DetachPartitions(ctx, march2016)
	if err != nil || !slices.Equal(detached, []string{"events_2016_01", "events_2016_02"}) {
		t.Fatalf("detached %v, %v", detached, err)
	}
	if p := d.partition("events_2016_02"); p.Attached || p.Pending || p.Live != 0 {
		t.Errorf("once detached: %+v", p)
	}
	for _, statement := range []string{`UPDATE events_2016_02 SET ply = 9`, `DELETE FROM events_2016_02`, `TRUNCATE events_2016_02`} {
		d.refusedWith(d.pool, "23001", statement)
	}
	if n := ask[int](d, `SELECT count(*) FROM events_2016_02`); n != events || n == 0 {
		t.Errorf("%d events of %d are left", n, events)
	}
	again, err := d.DetachPartitions(ctx, march2016)
	if err != nil || len(again) > 0 {
		t.Errorf("again: %v, %v", again, err)
	}
	if made, err := d.EnsurePartitions(ctx); err != nil || made != 0 {
		t.Errorf("made %d, %v", made, err)
	}
	d.must(d.Ready(ctx))
	d.isDetached(id)

	// The way back that the documentation names.
	text, err := os.ReadFile("../../docs/operations.md")
	d.must(err)
	attach := regexp.MustCompile(`(?s)ALTER TABLE events ATTACH.*?;`).FindString(string(text))
	drop := regexp.MustCompile(`DROP TRIGGER detached_append_only.*?;`).FindString(string(text))
	if attach == "" || drop == "" {
		t.Fatal("the documentation does not say how a month comes back")
	}
	for _, statement := range []string{drop, attach} {
		d.exec(strings.NewReplacer("2016_07", "2016_02", "2016-07", "2016-02", "2016-08", "2016-03").Replace(statement))
	}
	if record, err := d.Record(ctx, id); err != nil || len(record.Logs[1]) == 0 {
		t.Errorf("once attached again: %v", err)
	}
	d.refusedWith(d.pool, "23001", `UPDATE events_2016_02 SET ply = 9`)
}

// isDetached fails unless every reading of the match's log says that it is gone,
// while the match itself is there, and others are not said to be.
func (d *desk) isDetached(id referee.ID) {
	d.t.Helper()
	ctx := d.t.Context()
	d.load(id)
	for name, read := range map[string]func(referee.ID) error{
		"events":  func(id referee.ID) error { _, err := d.Events(ctx, id, 1, 1, 10); return err },
		"ply":     func(id referee.ID) error { _, err := d.PlyEvent(ctx, id, 1, 1); return err },
		"request": func(id referee.ID) error { _, err := d.RequestEvent(ctx, id, 0, 1); return err },
		"record":  func(id referee.ID) error { _, err := d.Record(ctx, id); return err },
	} {
		if err := read(id); !errors.Is(err, referee.ErrDetached) {
			d.t.Errorf("%s of a detached match: %v", name, err)
		}
		if err := read(d.id(d.now())); errors.Is(err, referee.ErrDetached) {
			d.t.Errorf("%s of a match that there is not: %v", name, err)
		}
	}
}

func TestPartitionsAhead(t *testing.T) {
	d := newDesk(t)
	d.ensured()
	for _, months := range []int{-1, 0, MaxMonthsAhead + 1} {
		if _, err := d.EnsurePartitionsAhead(t.Context(), months); !errors.Is(err, ErrMonthsAhead) {
			t.Errorf("%d months: %v", months, err)
		}
	}
	if made, err := d.EnsurePartitionsAhead(t.Context(), 15); err != nil || made != 2 {
		t.Errorf("made %d, %v", made, err)
	}
	for _, months := range []int{15, 1} {
		if made, err := d.EnsurePartitionsAhead(t.Context(), months); err != nil || made != 0 {
			t.Errorf("%d months ahead made %d, %v", months, made, err)
		}
	}
}

// Detaching that is broken off while it waits for a reader is finished by the
// next call; moves go on through it all.
func TestDetachingIsFinished(t *testing.T) {
	d := newDesk(t)
	id, at := d.old()
	d.void(id, at+second)
	tx, err := d.pool.Begin(t.Context())
	d.must(err)
	_, err = tx.Exec(t.Context(), `SELECT 1 FROM events LIMIT 1`)
	d.must(err)
	ctx, cancel := context.WithCancel(t.Context())
	broken := make(chan error, 1)
	go func() {
		_, err := d.DetachPartitions(ctx, march2016)
		broken <- err
	}()
	for pending := false; !pending; {
		pending = ask[bool](d, `SELECT EXISTS (SELECT FROM pg_inherits WHERE inhparent = 'events'::regclass AND inhdetachpending)`)
		select {
		case err := <-broken:
			t.Fatalf("it did not wait: %v", err)
		default:
		}
	}
	d.started(d.now()) // commits to the log meanwhile
	cancel()
	if err := <-broken; !errors.Is(err, context.Canceled) {
		t.Fatalf("broken off: %v", err)
	}
	// The database notices a little later; let free before, it would finish by itself.
	for ask[bool](d, `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database()
		AND state = 'active' AND query LIKE 'ALTER TABLE events DETACH%')`) {
		d.must(t.Context().Err())
	}
	d.must(tx.Rollback(t.Context()))
	if p := d.partition("events_2016_01"); !p.Pending {
		t.Fatalf("%+v", p)
	}
	d.must(d.Ready(t.Context()))
	detached, err := d.DetachPartitions(t.Context(), march2016)
	if err != nil || len(detached) != 2 {
		t.Fatalf("detached %v, %v", detached, err)
	}
	d.isDetached(id)
	d.refusedWith(d.pool, "23001", `DELETE FROM events_2016_02`)
	if p := d.partition("events_2016_01"); p.Attached || p.Pending {
		t.Errorf("%+v", p)
	}
}
