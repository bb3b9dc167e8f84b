package store

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"referee.example/internal/referee"
)

// pend is a change as it waits in a group. It leaves the change as it is, so that it
// can be compared, or sent again.
func pend(ctx context.Context, c referee.Change) *pending { return newPending(ctx, another(c), nil) }

// another returns the same change of a state of its own, which the store may number.
func another(c referee.Change) referee.Change {
	state := *c.State
	c.State = &state
	return c
}

// together commits changes of different matches in one statement and returns
// their answers.
func (d *desk) together(s *Store, changes ...referee.Change) []error {
	d.t.Helper()
	batch := make([]*pending, len(changes))
	for i, c := range changes {
		batch[i] = pend(d.t.Context(), c)
	}
	s.group.unanswered += len(batch) // no writer is at work
	s.group.send(slices.Clone(batch))
	answers := make([]error, len(batch))
	for i, p := range batch {
		answers[i] = <-p.answer
	}
	return answers
}

// aPly decides on the next ply of a running match, without guards of time.
func (d *desk) aPly(id referee.ID) referee.Change {
	d.t.Helper()
	return d.plyOn(d.load(id), 0)
}

// plyOn decides on a match's legal action of that index.
func (d *desk) plyOn(s *referee.State, index int) referee.Change {
	d.t.Helper()
	ply := d.ply(s)
	ply.Action = s.LegalActions()[index]
	c := d.change(s, ply, d.now())
	c.After, c.Before = 0, 0
	return c
}

func (d *desk) table(n int) (ids []referee.ID) {
	d.t.Helper()
	for range n {
		ids = append(ids, d.started(d.now()))
	}
	return ids
}

// logged asserts that a match's log leads to its state.
func (d *desk) logged(id referee.ID) {
	d.t.Helper()
	s := d.load(id)
	events, err := d.Events(d.t.Context(), id, s.Game.Number, 1, 10_000)
	d.must(err)
	if len(events) != s.Game.Seq || events[len(events)-1].Hash != s.Game.Head {
		d.t.Errorf("match %v at version %d: its log of %d events does not lead to its state, event %d",
			id, s.Version, len(events), s.Game.Seq)
	}
}

func TestAGroupTellsEachItsOwnOutcome(t *testing.T) {
	d := newDesk(t)
	ids := d.table(7)
	changes := make([]referee.Change, len(ids), len(ids)+1)
	for i, id := range ids {
		changes[i] = d.aPly(id)
	}
	changes[1].State.Version--
	changes[2].Before = d.now() - second
	changes[3].After = d.now() + 10*second
	changes[4].Known = 1 // an outage ended after it
	d.exec(`INSERT INTO outages (from_at, until_at) VALUES ($1, $2)`, timestamp(2), timestamp(3))
	changes[5].Before, changes[5].After, changes[5].Known = d.now()+10*second, d.now()-second, 4
	absent, absentState := changes[0], *changes[0].State
	absentState.ID = d.id(d.now())
	absent.State = &absentState
	changes = append(changes, absent)
	want := []error{nil, referee.ErrConflict, referee.ErrTooLate, referee.ErrTooEarly, referee.ErrConflict,
		nil, nil, referee.ErrNotFound}
	for i, got := range d.together(d.Store, changes...) {
		if !errors.Is(got, want[i]) || (got == nil) != (want[i] == nil) {
			t.Errorf("change %d: %v, want %v", i, got, want[i])
		}
	}
	for i, id := range ids {
		version := int64(2)
		if want[i] == nil {
			version++
		}
		if got := d.load(id).Version; got != version {
			t.Errorf("match %d is at version %d, want %d", i, got, version)
		}
		d.logged(id)
	}
}

// What a group writes is what one statement a change would have written.
func TestAGroupWritesWhatSingleStatementsDo(t *testing.T) {
	d := newDesk(t)
	const rowQuery = `SELECT version::text || state::text || coalesce(deadline::text, '-') || coalesce(wake_at::text, '-') ||
		coalesce(outages_after::text, '-') || (SELECT string_agg(e::text, ' ' ORDER BY seq) FROM events e WHERE e.match_id = $1)
		FROM match_states WHERE match_id = $1`
	ids := d.table(6)
	for round := range 10 {
		var changes []referee.Change
		for _, id := range ids {
			c := d.aPly(id)
			c.Sweep = round%3 == 2
			changes = append(changes, c)
		}
		for i, err := range d.together(d.Store, changes...) {
			d.must(err)
			grouped := ask[string](d, rowQuery, uuid(ids[i]))
			row := newRow(changes[i])
			for query, arguments := range map[string][]any{
				sqlCommit: row.arguments(changes[i].Events), sqlCommitAtOnce: row.arguments(changes[i].Events),
				sqlCommitEvent: row.argumentsOfOne(&changes[i].Events[0]),
			} {
				verdict, single := d.alone(query, arguments, changes[i], rowQuery)
				if verdict != 0 || single != grouped {
					t.Errorf("round %d, match %d: alone (verdict %d)\n%s\nin a group\n%s\nby%s", round, i, verdict, single, grouped, query)
				}
			}
			d.logged(ids[i])
		}
	}
}

// alone commits a change that was committed once more, on its match as it was before,
// and returns what it wrote. None of that stays.
func (d *desk) alone(query string, arguments []any, c referee.Change, rowQuery string) (verdict int, written string) {
	d.t.Helper()
	ctx, id := d.t.Context(), uuid(c.State.ID)
	tx, err := d.pool.Begin(ctx)
	d.must(err)
	_, err = tx.Exec(ctx, `ALTER TABLE events DISABLE TRIGGER events_append_only`)
	d.must(err)
	_, err = tx.Exec(ctx, `DELETE FROM events WHERE match_id = $1 AND seq >= $2`, id, c.Events[0].Seq)
	d.must(err)
	_, err = tx.Exec(ctx, `UPDATE match_states SET version = $2 WHERE match_id = $1`, id, c.State.Version)
	d.must(err)
	d.must(tx.QueryRow(ctx, query, arguments...).Scan(&verdict))
	d.must(tx.QueryRow(ctx, rowQuery, id).Scan(&written))
	d.must(tx.Rollback(ctx))
	return verdict, written
}

// One bad row fails alone.
func TestAPoisonedRowFailsAlone(t *testing.T) {
	d := newDesk(t)
	ids := d.table(5)
	var changes []referee.Change
	for _, id := range ids {
		changes = append(changes, d.aPly(id))
	}
	changes[2].Events = slices.Clone(changes[2].Events)
	changes[2].Events[0].Kind = 99
	for i, err := range d.together(d.Store, changes...) {
		if i == 2 {
			var failed *postgresError
			if !errors.As(err, &failed) || !strings.HasSuffix(failed.Constraint, "events_kind") {
				t.Errorf("the poisoned change: %v", err)
			}
		} else if err != nil {
			t.Errorf("change %d: %v", i, err)
		}
		d.logged(ids[i])
	}
}

// A row that somebody holds keeps none of the others waiting.
func TestAHeldRowHoldsUpNobodyElse(t *testing.T) {
	d := newDesk(t)
	ids := d.table(3)
	for _, batch := range [][]referee.ID{ids, ids[:1]} {
		var pendings []*pending
		for _, id := range batch {
			pendings = append(pendings, pend(t.Context(), d.aPly(id)))
		}
		free := d.aPly(d.started(d.now()))
		tx, err := d.pool.Begin(t.Context())
		d.must(err)
		_, err = tx.Exec(t.Context(), `SELECT FROM match_states WHERE match_id = $1 FOR UPDATE`, uuid(batch[0]))
		d.must(err)
		for _, p := range pendings {
			d.must(d.group.enter(p))
		}
		for _, p := range pendings[1:] {
			d.must(<-p.answer)
		}
		d.must(d.Commit(t.Context(), free))
		d.waiting(t.Context())
		select {
		case err := <-pendings[0].answer:
			t.Errorf("the held match was answered: %v", err)
		default:
		}
		d.must(tx.Commit(t.Context()))
		d.must(<-pendings[0].answer)
	}
}

// Of one match a statement takes one change; the rest keep their order.
func TestOneChangeAMatchInABatch(t *testing.T) {
	d := newDesk(t)
	ids := d.table(2)
	first := d.aPly(ids[0])
	d.group.mu.Lock() // the writer finds all of them at once
	var pendings []*pending
	for _, c := range []referee.Change{first, d.aPly(ids[0]), d.aPly(ids[1]), d.aPly(ids[0])} {
		p := pend(t.Context(), c)
		pendings = append(pendings, p)
		d.group.waiting = append(d.group.waiting, p)
		d.group.unanswered++
	}
	d.group.come.Signal()
	d.group.mu.Unlock()
	var errs []error
	for _, p := range pendings {
		errs = append(errs, <-p.answer)
	}
	if errs[0] != nil || errs[2] != nil || !errors.Is(errs[1], referee.ErrConflict) || !errors.Is(errs[3], referee.ErrConflict) {
		t.Errorf("outcomes %v", errs)
	}
	for _, id := range ids {
		if v := d.load(id).Version; v != 3 {
			t.Errorf("version %d", v)
		}
		d.logged(id)
	}
}

func TestNextTakesOneChangeAMatchAndNoMoreThanFit(t *testing.T) {
	g := &group{closed: true, writers: groupRows} // nothing that is taken comes to an end
	g.come = sync.NewCond(&g.mu)
	var want []int
	for i := range 2*groupRows + 10 {
		id := referee.ID{byte(i % (groupRows + 5)), byte(i % (groupRows + 5) >> 8)}
		g.waiting = append(g.waiting, &pending{id: id})
		want = append(want, i)
	}
	all := slices.Clone(g.waiting)
	var sizes []int
	seen := map[*pending]bool{}
	for batch := g.next(); batch != nil; batch = g.next() {
		matches := map[referee.ID]bool{}
		for _, p := range batch {
			if matches[p.id] {
				t.Error("a match is in a batch twice")
			}
			matches[p.id], seen[p] = true, true
		}
		sizes = append(sizes, len(batch))
	}
	if len(seen) != len(all) || slices.Max(sizes) != groupRows || len(want) != len(all) {
		t.Errorf("%d of %d taken, in batches of %v", len(seen), len(all), sizes)
	}
}

// Two replicas whose groups name the same matches in opposite orders: nobody
// deadlocks, and of each pair of changes one is committed.
func TestGroupsInOppositeOrders(t *testing.T) {
	d := newDesk(t)
	stores := []*Store{d.Store, d.open(4)}
	const rounds, matches = 50, 100
	deadlocks := ask[int](d, `SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`)
	states := make([]*referee.State, matches)
	for i, id := range d.table(matches) {
		states[i] = d.load(id)
	}
	for round := range rounds {
		var changes [2][]referee.Change
		for i, s := range states {
			if s.Game.Status != referee.GamePlaying {
				s = d.load(d.started(d.now()))
				states[i] = s
			}
			changes[0] = append(changes[0], d.plyOn(s, 0))
			changes[1] = append(changes[1], d.plyOn(s, len(s.LegalActions())-1))
		}
		slices.Reverse(changes[1])
		var answers [2][]error
		var both sync.WaitGroup
		for i := range stores {
			both.Go(func() { answers[i] = d.together(stores[i], changes[i]...) })
		}
		both.Wait()
		slices.Reverse(changes[1])
		slices.Reverse(answers[1])
		for i := range states {
			a, b := answers[0][i], answers[1][i]
			if (a == nil) == (b == nil) || !errors.Is(errors.Join(a, b), referee.ErrConflict) {
				t.Fatalf("round %d, match %d: %v and %v", round, i, a, b)
			}
			states[i] = changes[0][i].State
			if b == nil {
				states[i] = changes[1][i].State
			}
			states[i].Version++
		}
	}
	for _, s := range states {
		d.logged(s.ID)
	}
	if n := ask[int](d, `SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`); n != deadlocks {
		t.Errorf("%d deadlocks", n-deadlocks)
	}
}

// A caller that goes away loses its answer only; who went before the sending is
// not begun.
func TestACallerThatGoesAwayCostsNobodyAnything(t *testing.T) {
	d := newDesk(t)
	ids := d.table(3)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	left := pend(gone, d.aPly(ids[0]))
	stayed := pend(t.Context(), d.aPly(ids[1]))
	d.group.unanswered += 2
	d.group.send([]*pending{left, stayed})
	if err := <-left.answer; !errors.Is(err, context.Canceled) {
		t.Errorf("who left was answered %v", err)
	}
	d.must(<-stayed.answer)
	if v := d.load(ids[0]).Version; v != 2 {
		t.Errorf("the change of who left was committed: version %d", v)
	}

	// Away while its row is waited for: the change is committed all the same.
	tx, err := d.pool.Begin(t.Context())
	d.must(err)
	_, err = tx.Exec(t.Context(), `SELECT FROM match_states WHERE match_id = $1 FOR UPDATE`, uuid(ids[2]))
	d.must(err)
	leaving, leave := context.WithCancel(t.Context())
	change, done := d.aPly(ids[2]), make(chan error, 1)
	go func() { done <- d.Commit(leaving, change) }()
	d.waiting(t.Context())
	leave()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("who left was answered %v", err)
	}
	d.must(tx.Commit(t.Context()))
	d.Close() // waits for it
	if v := d.reopened().load(ids[2]).Version; v != 3 {
		t.Errorf("version %d", v)
	}
}

// reopened is the desk with a new store on the same database.
func (d *desk) reopened() *desk {
	d.t.Helper()
	other := *d
	other.Store = d.open(4)
	return &other
}

func TestAFullGroupRefuses(t *testing.T) {
	d := newDesk(t)
	change := d.aPly(d.started(d.now()))
	d.group.mu.Lock()
	d.group.unanswered = groupWaiting
	d.group.mu.Unlock()
	if err := d.Commit(t.Context(), change); !errors.Is(err, referee.ErrOverloaded) {
		t.Errorf("error is %v", err)
	}
	d.group.mu.Lock()
	d.group.unanswered = groupWaiting - 1
	d.group.mu.Unlock()
	d.must(d.Commit(t.Context(), change))
}

// A change that finds nothing under way is sent by its caller, one that finds a
// statement under way by the next writer, and a statement's end lets that go on.
func TestACallerSendsWhatNothingIsUnderWayFor(t *testing.T) {
	d := newDesk(t)
	ids := d.table(2)
	g := newGroup(d.pool, new(known), 0, false) // who waits for a writer waits for ever
	d.must(g.commit(t.Context(), newPending(t.Context(), d.aPly(ids[0]), nil)))
	if g.sending != 0 || g.unanswered != 0 {
		t.Errorf("%d statements are under way, %d changes have no answer", g.sending, g.unanswered)
	}
	if !g.claim() {
		t.Fatal("nothing is under way, and it can't be claimed")
	}
	if g.claim() {
		t.Error("two statements are under way")
	}
	p := newPending(t.Context(), d.aPly(ids[1]), nil)
	d.must(g.enter(p))
	g.writers = 1
	g.working.Go(g.write)
	g.sendClaimed(newPending(t.Context(), d.aPly(ids[0]), nil))
	d.must(<-p.answer)
	g.close()
	if g.claim() {
		t.Error("claimed after the end")
	}
}

// A statement that hangs, sent by a caller or by a writer, holds up the others no longer
// than for groupSilence.
func TestAStatementThatHangsIsPassedOver(t *testing.T) {
	d := newDesk(t)
	ids := d.table(4)
	d.hang(ids[:2]...)
	hanging := make(chan error, 2)
	for i := range 2 { // the first is sent by its caller, the second by the writer
		change := d.aPly(ids[i])
		go func() { hanging <- d.Commit(context.Background(), change) }()
		limit := time.Now().Add(time.Minute)
		for ask[int](d, `SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()`) <= i {
			if time.Now().After(limit) {
				t.Fatalf("%d statements hang, and the next is not under way", i)
			}
		}
	}
	for _, id := range ids[2:] {
		d.must(d.Commit(t.Context(), d.aPly(id)))
	}
	select {
	case err := <-hanging:
		t.Errorf("what hangs was answered %v before the others", err)
	default:
	}
	d.exec(`INSERT INTO let_go DEFAULT VALUES`)
	for range 2 {
		d.must(<-hanging)
	}
	d.Close() // waits for the writers
	if d.group.sending != 0 || d.group.silent != 0 || d.group.unanswered != 0 {
		t.Errorf("%d statements under way, %d silent, %d changes without an answer", d.group.sending, d.group.silent, d.group.unanswered)
	}
}

// hang lets plies of matches wait until there is a row in let_go.
func (d *desk) hang(ids ...referee.ID) {
	d.t.Helper()
	d.exec(`CREATE TABLE let_go ()`)
	d.exec(`CREATE FUNCTION hang() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN WHILE NOT EXISTS (SELECT FROM let_go) LOOP PERFORM pg_sleep(0.02); END LOOP; RETURN NEW; END $$`)
	for _, id := range ids {
		d.exec(`CREATE TRIGGER hang_` + strings.ReplaceAll(id.String(), "-", "") + ` BEFORE INSERT ON events FOR EACH ROW
			WHEN (NEW.match_id = '` + id.String() + `') EXECUTE FUNCTION hang()`)
	}
}

// A caller that sends its own change is answered at its deadline although the statement
// hangs, and the change is committed once, later, or not at all.
func TestACallerIsAnsweredAtItsDeadline(t *testing.T) {
	d := newDesk(t)
	id := d.started(d.now())
	change := d.aPly(id)
	d.hang(id)
	ctx, cancel := context.WithTimeout(t.Context(), groupSilence+groupSilence/4)
	defer cancel()
	begun := time.Now()
	if err := d.Commit(ctx, change); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error is %v", err)
	}
	if took := time.Since(begun); took > groupTimeout/2 {
		t.Errorf("answered after %v", took)
	}
	d.exec(`INSERT INTO let_go DEFAULT VALUES`)
	d.group.close() // waits until the change has been judged
	if d.group.sending != 0 || d.group.silent != 0 || d.group.unanswered != 0 {
		t.Errorf("%d statements under way, %d silent, %d changes without an answer", d.group.sending, d.group.silent, d.group.unanswered)
	}
	if n := ask[int](d, `SELECT count(*) FROM events WHERE match_id = $1 AND kind = 3`, uuid(id)); n > 1 {
		t.Errorf("the ply was logged %d times", n)
	}
}

// Close commits what waits and refuses what comes after.
func TestCloseDrains(t *testing.T) {
	d := newDesk(t)
	ids := d.table(20)
	var pendings []*pending
	for _, id := range ids {
		p := pend(t.Context(), d.aPly(id))
		d.must(d.group.enter(p))
		pendings = append(pendings, p)
	}
	late := d.aPly(ids[0])
	d.Close()
	for _, p := range pendings {
		select {
		case err := <-p.answer:
			d.must(err)
		default:
			t.Error("closed with a change unanswered")
		}
	}
	if err := d.Commit(t.Context(), late); !errors.Is(err, referee.ErrUnavailable) {
		t.Errorf("after the end: %v", err)
	}
}

// The connection dies in the middle of a group's statement: each of its changes
// is judged again, alone.
func TestAConnectionThatIsKilledInTheMiddle(t *testing.T) {
	d := newDesk(t)
	d.exec(`CREATE SEQUENCE deaths`)
	d.exec(`CREATE FUNCTION die_once() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
		IF NEW.seq > 2 AND nextval('deaths') = 3 THEN
			PERFORM pg_terminate_backend(pg_backend_pid());
		END IF;
		RETURN NEW;
	END $$`)
	ids := d.table(5)
	d.exec(`CREATE TRIGGER die_once BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION die_once()`)
	var changes []referee.Change
	for _, id := range ids {
		changes = append(changes, d.aPly(id))
	}
	for i, err := range d.together(d.Store, changes...) {
		if err != nil {
			t.Errorf("change %d: %v", i, err)
		}
		d.logged(ids[i])
	}
	// Three rows until the death, then five, or the three that were not committed yet.
	want := 8
	if sharded(t) {
		want = 6
	}
	if n := ask[int](d, `SELECT last_value FROM deaths`); n != want {
		t.Errorf("%d rows were tried, want %d: the connection did not die in the middle", n, want)
	}
	// Judged again after all, a change that was committed is a conflict.
	for i, err := range d.together(d.Store, changes...) {
		if !errors.Is(err, referee.ErrConflict) {
			t.Errorf("change %d, again: %v", i, err)
		}
	}
}
