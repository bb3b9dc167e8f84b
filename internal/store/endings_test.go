package store

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"referee.example/internal/referee"
	"referee.example/internal/rules"
)

// anEnding decides that seat 1 of a running match is gone, without guards of time.
func (d *desk) anEnding(id referee.ID) referee.Change {
	d.t.Helper()
	s := d.load(id)
	c := d.change(s, &referee.ReportDisconnect{Header: d.header(s, rules.NoSeat, false), Gone: rules.SeatsOf(1)}, d.now())
	c.After, c.Before = 0, 0
	return c
}

// pendEnding is a change that ends a game as it waits in a group.
func (d *desk) pendEnding(c referee.Change) *pending {
	d.t.Helper()
	further, err := furtherWrites(c)
	d.must(err)
	return newPending(d.t.Context(), another(c), further.ending())
}

// endTogether commits endings in one statement of a store and returns their answers.
func (d *desk) endTogether(s *Store, changes ...referee.Change) []error {
	d.t.Helper()
	var batch []*pending
	for _, c := range changes {
		batch = append(batch, d.pendEnding(c))
	}
	s.endings.unanswered += len(batch) // no writer is at work
	s.endings.send(slices.Clone(batch))
	var answers []error
	for _, p := range batch {
		answers = append(answers, <-p.answer)
	}
	return answers
}

// further are the rows of a match that only beginnings and ends write.
func (d *desk) further(id referee.ID) (all []string) {
	d.t.Helper()
	for _, query := range []string{
		`SELECT to_jsonb(g) - 'commitment' - 'sealed_seed' FROM games g WHERE match_id = $1 ORDER BY game`,
		`SELECT to_jsonb(m) FROM matches m WHERE match_id = $1`,
		`SELECT to_jsonb(s) FROM settlements s WHERE match_id = $1 ORDER BY game, compensates`,
		`SELECT to_jsonb(l) FROM settlement_lines l WHERE match_id = $1 ORDER BY game, compensates, line`,
		`SELECT to_jsonb(f) FROM finished_games f WHERE match_id = $1 ORDER BY game`,
		`SELECT to_jsonb(q) FROM settlement_queue q WHERE match_id = $1 ORDER BY game`,
		`SELECT to_jsonb(e) FROM ended_games e WHERE match_id = $1 ORDER BY game`,
		`SELECT to_jsonb(s) - 'state' FROM match_states s WHERE match_id = $1`,
	} {
		all = append(all, ask[[]string](d, `SELECT coalesce(array_agg(r::text), '{}') FROM (`+query+`) AS t (r)`, uuid(id))...)
	}
	return all
}

// What a group of endings writes is what a transaction each would have written:
// ends with and without a next game, with and without a settlement, of games that
// were started or not.
func TestAGroupOfEndingsWritesWhatSingleTransactionsDo(t *testing.T) {
	d := newDesk(t)
	ids := d.table(5)
	for range 2 { // game 3 of the first match is its last
		d.disconnect(ids[0], d.now())
		d.start(ids[0], d.now())
	}
	d.disconnect(ids[1], d.now())
	void := d.load(ids[2])
	between := d.load(ids[1])
	changes := []referee.Change{
		d.anEnding(ids[0]),
		d.change(between, &referee.AbandonMatch{Header: d.header(between, -1, false), Note: "broke", Balances: []int64{1000, 3}}, d.now()),
		d.change(void, &referee.VoidMatch{Header: d.header(void, -1, false), Note: `it "rained", {twice}`}, d.now()),
		d.anEnding(ids[3]), d.anEnding(ids[4]),
	}
	for i, err := range d.endTogether(d.Store, changes...) {
		if err != nil {
			t.Fatalf("change %d: %v", i, err)
		}
	}
	for i, c := range changes {
		id := c.State.ID
		grouped := d.further(id)
		d.logged(id)
		// The same in a transaction of its own, on the match as it was before.
		before := c.State.Game.Number
		for _, table := range []string{"settlement_queue", "settlement_lines", "settlements", "ended_games", "finished_games", "interventions"} {
			d.exec(`ALTER TABLE ` + table + ` DISABLE TRIGGER USER`)
			d.exec(`DELETE FROM `+table+` WHERE match_id = $1 AND game = $2`, uuid(id), before)
			d.exec(`ALTER TABLE ` + table + ` ENABLE TRIGGER USER`)
		}
		d.exec(`ALTER TABLE events DISABLE TRIGGER events_append_only`)
		d.exec(`DELETE FROM events WHERE match_id = $1 AND game = $2 AND seq >= $3`, uuid(id), before, c.Events[0].Seq)
		d.exec(`ALTER TABLE events ENABLE TRIGGER events_append_only`)
		d.exec(`DELETE FROM games WHERE match_id = $1 AND game > $2`, uuid(id), before)
		d.exec(`UPDATE games SET status = CASE WHEN started_at IS NULL THEN 1 ELSE 2 END, ended_at = NULL, end_reason = NULL,
			winners = NULL, void = NULL, first_ply = NULL, last_ply = NULL, plies = NULL, captures = NULL, disconnected = NULL,
			server_seed = NULL, head_hash = NULL WHERE match_id = $1 AND game = $2`, uuid(id), before)
		d.exec(`UPDATE match_states SET version = $2 WHERE match_id = $1`, uuid(id), c.State.Version)
		c.After, c.Before = 0, 0
		further, err := furtherWrites(c)
		d.must(err)
		d.must(d.commitAll(t.Context(), c, further))
		if alone := d.further(id); !slices.Equal(alone, grouped) {
			t.Errorf("change %d: alone\n%s\nin a group\n%s", i, strings.Join(alone, "\n"), strings.Join(grouped, "\n"))
		}
	}
}

// Of a group of endings one has lost its race, one breaks a constraint and one is
// held by somebody: the others end all the same, each settled once, and the sweep
// does not wait for the one that is held.
func TestAGroupOfEndingsTellsEachItsOwnOutcome(t *testing.T) {
	d := newDesk(t)
	ids := d.table(6)
	var changes []referee.Change
	for _, id := range ids {
		changes = append(changes, d.anEnding(id))
	}
	d.do(d.load(ids[1]), d.ply(d.load(ids[1])), d.now())
	changes[4].Events = slices.Clone(changes[4].Events)
	changes[4].Events[0].Kind = 99
	tx, err := d.pool.Begin(t.Context())
	d.must(err)
	_, err = tx.Exec(t.Context(), `SELECT FROM match_states WHERE match_id = $1 FOR UPDATE`, uuid(ids[2]))
	d.must(err)
	changes[2].Sweep = true
	for i, err := range d.endTogether(d.Store, changes[:4]...) {
		if want := []error{nil, referee.ErrConflict, referee.ErrConflict, nil}[i]; !errors.Is(err, want) || (err == nil) != (want == nil) {
			t.Errorf("change %d: %v, want %v", i, err, want)
		}
	}
	d.must(tx.Rollback(t.Context()))
	poisoned := d.endTogether(d.Store, changes[4], changes[5])
	var failed *postgresError
	if !errors.As(poisoned[0], &failed) || !strings.HasSuffix(failed.Constraint, "events_kind") || poisoned[1] != nil {
		t.Errorf("a poisoned change and its neighbour: %v", poisoned)
	}
	for i, id := range ids {
		want := 1
		if i == 1 || i == 2 || i == 4 {
			want = 0
		}
		settled := ask[int](d, `SELECT count(*) FROM settlements WHERE match_id = $1`, uuid(id))
		queued := ask[int](d, `SELECT count(*) FROM finished_games WHERE match_id = $1`, uuid(id))
		if settled != want || queued != want {
			t.Errorf("match %d: %d settlements, %d times queued, want %d", i, settled, queued, want)
		}
		d.logged(id)
	}
	d.must(d.Commit(t.Context(), changes[2])) // nobody holds it any more
}

// A live change that ends a game waits for a row that somebody holds, and keeps
// nobody else waiting.
func TestAnEndingWaitsForItsRow(t *testing.T) {
	d := newDesk(t)
	ids := d.table(2)
	held, free := d.anEnding(ids[0]), d.anEnding(ids[1])
	tx, err := d.pool.Begin(t.Context())
	d.must(err)
	_, err = tx.Exec(t.Context(), `SELECT FROM match_states WHERE match_id = $1 FOR UPDATE`, uuid(ids[0]))
	d.must(err)
	done := make(chan error, 1)
	go func() { done <- d.Commit(t.Context(), held) }()
	d.waiting(t.Context())
	d.must(d.Commit(t.Context(), free))
	select {
	case err := <-done:
		t.Errorf("the held match was answered: %v", err)
	default:
	}
	d.must(tx.Rollback(t.Context()))
	d.must(<-done)
}

// Two replicas end the same games in opposite orders: nobody deadlocks, and each
// game ends once.
func TestGroupsOfEndingsInOppositeOrders(t *testing.T) {
	d := newDesk(t)
	stores := []*Store{d.Store, d.open(4)}
	const matches = 40
	deadlocks := ask[int](d, `SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`)
	ids := d.table(matches)
	for round := range 3 {
		var changes [2][]referee.Change
		for _, id := range ids {
			changes[0] = append(changes[0], d.anEnding(id))
			changes[1] = append(changes[1], d.anEnding(id))
		}
		slices.Reverse(changes[1])
		var answers [2][]error
		var both sync.WaitGroup
		for i := range stores {
			both.Go(func() { answers[i] = d.endTogether(stores[i], changes[i]...) })
		}
		both.Wait()
		slices.Reverse(answers[1])
		for i, id := range ids {
			a, b := answers[0][i], answers[1][i]
			if (a == nil) == (b == nil) || !errors.Is(errors.Join(a, b), referee.ErrConflict) {
				t.Fatalf("round %d, match %d: %v and %v", round, i, a, b)
			}
			if n := ask[int](d, `SELECT count(*) FROM settlements WHERE match_id = $1`, uuid(id)); n != round+1 {
				t.Fatalf("round %d, match %d: %d settlements", round, i, n)
			}
			if round < 2 {
				d.start(id, d.now())
			}
		}
	}
	if n := ask[int](d, `SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`); n != deadlocks {
		t.Errorf("%d deadlocks", n-deadlocks)
	}
}

func TestLoadManyReadsWhatLoadReads(t *testing.T) {
	d := newDesk(t)
	ids := d.table(3)
	d.exec(`UPDATE match_states SET state = '\x00' WHERE match_id = $1`, uuid(ids[1]))
	d.exec(`INSERT INTO outages (from_at, until_at) VALUES ($1, $2)`, timestamp(d.now()+second), timestamp(d.now()+2*second))
	absent := d.id(d.now())
	many, err := d.LoadMany(t.Context(), append([]referee.ID{absent}, ids...))
	d.must(err)
	if len(many) != 3 {
		t.Fatalf("%d matches", len(many))
	}
	for _, m := range many {
		one, err := d.Load(t.Context(), m.Match)
		if (err == nil) != (m.Err == nil) || (err == nil) != (m.Match != ids[1]) {
			t.Fatalf("match %v: %v alone, %v among many", m.Match, err, m.Err)
		}
		if err == nil && (!slices.Equal(one.State.Snapshot(), m.State.Snapshot()) || one.State.Version != m.State.Version ||
			!slices.Equal(one.Outages, m.Outages) || len(m.Outages) != 1) {
			t.Errorf("match %v: %d outages among many, %d alone", m.Match, len(m.Outages), len(one.Outages))
		}
	}
	if _, err := d.Load(t.Context(), absent); !errors.Is(err, referee.ErrNotFound) {
		t.Errorf("no such match: %v", err)
	}
}
