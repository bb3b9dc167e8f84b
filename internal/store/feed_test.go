package store

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"referee.example/internal/referee"
	"referee.example/internal/rules"
	"referee.example/migrations"
)

// sequence gives positions to all that is queued.
func (d *desk) sequence(s *Store) {
	d.t.Helper()
	for {
		queued, _, err := s.SequenceSettlements(d.t.Context(), 1000)
		d.must(err)
		if queued == 0 {
			return
		}
	}
}

// verifyFeed checks the feeds of all platforms against the settlements: each is
// in its platform's feed once, positions are dense up to the head, and of one
// match they follow games and compensations.
func (d *desk) verifyFeed(settlements int) {
	d.t.Helper()
	if n := ask[int](d, `SELECT count(*) FROM settlement_queue`); n != 0 {
		d.t.Errorf("%d settlements are still queued", n)
	}
	if n := ask[int](d, `SELECT count(*) FROM settlement_feed`); n != settlements {
		d.t.Errorf("%d settlements have positions, want %d", n, settlements)
	}
	for fault, query := range map[string]string{
		"settlements without a position, or on another platform": `
SELECT count(*) FROM settlements s JOIN matches m USING (match_id)
LEFT JOIN settlement_feed f USING (match_id, game, compensates) WHERE f.platform IS DISTINCT FROM m.platform`,
		"feeds with a gap": `
SELECT count(*) FROM (SELECT platform FROM settlement_feed FULL JOIN settlement_heads h USING (platform)
GROUP BY platform HAVING count(*) <> max(h.position) OR min(settlement_feed.position) <> 1
	OR max(settlement_feed.position) <> max(h.position)) gap`,
		"settlements of a match that are out of order": `
SELECT count(*) FROM settlement_feed a JOIN settlement_feed b USING (match_id)
WHERE (a.game, a.compensates) < (b.game, b.compensates) AND NOT a.compensates AND a.position > b.position`,
	} {
		if n := ask[int](d, query); n != 0 {
			d.t.Errorf("%d %s", n, fault)
		}
	}
}

// settled makes a match on a platform whose first game is settled.
func (d *desk) settled(platform string) referee.ID {
	d.t.Helper()
	c := d.request()
	c.Caller.Platform = platform
	id := d.create(c, d.now())
	d.start(id, d.now())
	d.disconnect(id, d.now())
	return id
}

// compensate lets two operators reverse a game's settlement.
func (d *desk) compensate(id referee.ID, game int) {
	d.t.Helper()
	for operator := int32(1); operator <= 2; operator++ {
		s := d.load(id)
		decision, err := referee.Compensate(s, &referee.CompensateSettlement{
			Header: referee.Header{Caller: referee.Caller{Platform: s.Platform, Principal: operator}, Match: id, Game: game,
				RequestID: d.id(0), Expected: s.Compensations.Seq + 1, Seat: rules.NoSeat},
			Settlement: referee.SettlementID(id, game, false), Note: "wrong table"}, d.env(d.now()))
		d.must(err)
		if decision.Refusal != nil {
			d.t.Fatal(decision.Refusal)
		}
		d.must(d.Commit(d.t.Context(), referee.Change{State: decision.State, Events: decision.Events}))
	}
}

// A proposal that is sent twice at once is made once, whenever between the other's
// questions and its commit the one is committed.
func TestAProposalSentTwiceAtOnce(t *testing.T) {
	d := newDesk(t)
	for before := range 4 {
		id := d.settled("north")
		s := d.load(id)
		proposal := &referee.CompensateSettlement{
			Header: referee.Header{Caller: referee.Caller{Platform: s.Platform, Principal: 1}, Match: id, Game: 1,
				RequestID: d.id(0), Expected: s.Compensations.Seq + 1, Seat: rules.NoSeat},
			Settlement: referee.SettlementID(id, 1, false), Note: "wrong table"}
		first := d.sit(d.Store, d.Store)
		overtaken := &overtaken{Store: d.Store, left: before, overtake: func() {
			if _, err := first.Compensate(t.Context(), proposal); err != nil {
				t.Error(err)
			}
		}}
		answer, err := d.sit(d.Store, overtaken).Compensate(t.Context(), proposal)
		if overtaken.left >= 0 {
			t.Fatalf("nothing was asked %d times", before+1)
		}
		if err != nil || !answer.Replayed || answer.State.Compensations.Seq != 1 {
			t.Errorf("overtaken before question %d: answered %+v, %v", before+1, answer, err)
		}
		if now := d.load(id); now.Compensations.Seq != 1 {
			t.Errorf("%d proposals are logged", now.Compensations.Seq)
		}
		proposal.Note = "another note"
		var refusal *referee.Refusal
		if _, err := first.Compensate(t.Context(), proposal); !errors.As(err, &refusal) || refusal.Reason != referee.ReasonRequestIDReused {
			t.Errorf("the same id with another note: %v", err)
		}
	}
}

// overtaken is a store before one of whose answers something else happens: when so
// many other questions and commits were begun.
type overtaken struct {
	*Store
	left     int
	overtake func()
}

func (o *overtaken) begin() {
	if o.left--; o.left == -1 {
		o.overtake()
	}
}

func (o *overtaken) Load(ctx context.Context, id referee.ID) (referee.Loaded, error) {
	defer o.begin()
	return o.Store.Load(ctx, id)
}

func (o *overtaken) RequestEvent(ctx context.Context, id referee.ID, game, seq int) (referee.Event, error) {
	defer o.begin()
	return o.Store.RequestEvent(ctx, id, game, seq)
}

func (o *overtaken) HasRequest(ctx context.Context, id referee.ID, game, through int, request referee.ID) (bool, error) {
	o.begin()
	return o.Store.HasRequest(ctx, id, game, through, request)
}

func (o *overtaken) Commit(ctx context.Context, c referee.Change) error {
	o.begin()
	return o.Store.Commit(ctx, c)
}

func TestTheFeedHasWhatWasSettled(t *testing.T) {
	d := newDesk(t)
	first, elsewhere := d.settled("north"), d.settled("south")
	voided := d.started(d.now()) // moves nothing
	s := d.load(voided)
	d.do(s, &referee.VoidMatch{Header: d.header(s, rules.NoSeat, false), Note: "power cut"}, d.now())
	d.start(first, d.now())
	d.disconnect(first, d.now())
	d.sequence(d.Store)
	d.compensate(first, 1)
	d.sequence(d.Store)
	d.verifyFeed(4)

	feed, err := d.Settlements(t.Context(), "north", 1, 10)
	d.must(err)
	record, err := d.Record(t.Context(), first)
	d.must(err)
	var want []referee.FeedEntry
	for i, key := range []struct {
		game        int
		compensates bool
	}{{1, false}, {2, false}, {1, true}} {
		want = append(want, referee.FeedEntry{Position: int64(i) + 1, Match: first, TableRef: "table 1",
			RecordedSettlement: *record.Settlement(key.game, key.compensates)})
	}
	if !reflect.DeepEqual(feed, want) {
		t.Errorf("the feed is\n%+v\nwant\n%+v", feed, want)
	}
	for _, page := range []struct {
		from  int64
		limit int
		want  []referee.FeedEntry
	}{{1, 2, want[:2]}, {2, 1, want[1:2]}, {3, 9, want[2:]}, {4, 9, nil}} {
		got, err := d.Settlements(t.Context(), "north", page.from, page.limit)
		d.must(err)
		if len(got) != len(page.want) || len(got) > 0 && !reflect.DeepEqual(got, page.want) {
			t.Errorf("%d from %d: %+v", page.limit, page.from, got)
		}
	}
	other, err := d.Settlements(t.Context(), "south", 1, 10)
	d.must(err)
	if len(other) != 1 || other[0].Match != elsewhere {
		t.Errorf("the south's feed is %+v", other)
	}
	heads, err := d.SettlementHeads(t.Context(), []string{"north", "south", "west"})
	if d.must(err); !reflect.DeepEqual(heads, map[string]int64{"north": 3, "south": 1}) {
		t.Errorf("the heads are %v", heads)
	}
}

// A settlement whose transaction takes long comes into the queue behind those
// that were settled, and got their positions, after it.
func TestASlowSettlementIsNotPassedOver(t *testing.T) {
	d := newDesk(t)
	const held = 3
	var open []pgx.Tx
	for range held {
		slow := d.load(d.started(d.now()))
		change := d.change(slow, &referee.ReportDisconnect{Header: d.header(slow, rules.NoSeat, false), Gone: rules.SeatsOf(1)}, d.now())
		change.After, change.Before = 0, 0
		further, err := furtherWrites(change)
		d.must(err)
		tx, err := d.pool.Begin(t.Context())
		d.must(err)
		row := newRow(change)
		batch := &pgx.Batch{}
		batch.Queue(sqlCommitFirst, row.arguments(change.Events)...)
		batch.QueuedQueries = append(batch.QueuedQueries, further.statements()...)
		d.must(tx.SendBatch(t.Context(), batch).Close())
		open = append(open, tx)
	}
	for i, tx := range open { // each commits behind one more that is quick
		d.settled("north")
		d.sequence(d.Store)
		before := ask[int](d, `SELECT position FROM settlement_heads`)
		if before != 2*i+1 {
			t.Fatalf("%d positions were given out beside %d that are held", before, held-i)
		}
		d.must(tx.Commit(t.Context()))
		d.sequence(d.Store)
	}
	d.verifyFeed(2 * held)
}

// addSettlements adds matches of one settled game each, by their rows alone: one
// a second back from now, ten seconds long. It takes platform, ruleset and how many.
const addSettlements = `
WITH made AS (
	SELECT overlay(gen_random_uuid()::text PLACING left(first_match_id(now() - n * interval '1 second')::text, 14) FROM 1)::uuid AS id, n
	FROM generate_series(1, $3::integer) n
), matched AS (
	INSERT INTO matches (match_id, created_at, ended_at, stake, fee, scene_fee, disconnection_penalty, engine_version, status,
		first_seat, platform, external_ref, table_ref, ruleset_id, ruleset_hash, player_ids)
	SELECT id, now(), now(), 100, 5, 0, 0, 1, 4, 0, $1, '', 'table ' || n % 9, '', $2, ARRAY['ann', 'bo'] FROM made
), played AS (
	INSERT INTO games (match_id, game, status, commitment, sealed_seed, started_at, first_seat, balances, hold_ids, player_seeds,
		root, ended_at, end_reason, winners, void, first_ply, last_ply, plies, captures, disconnected, server_seed, head_hash)
	SELECT id, 1, 4, $2, '', now() - n * interval '1 second', 0, ARRAY[900, 900], '{}', '{}', $2,
		now() - n * interval '1 second' + interval '10 seconds', 1, 1, false, 0, 0, 0, ARRAY[0, 0], 0, $2, $2 FROM made
), settled AS (
	INSERT INTO settlements (match_id, game, compensates, settlement_id, multiple, loser_captures, settled_at)
	SELECT id, 1, false, id, 1, 0, now() FROM made
)
INSERT INTO settlement_lines (match_id, game, compensates, line, payer, payee, amount, why)
SELECT id, 1, false, line, 'bo', CASE line WHEN 1 THEN 'ann' ELSE '' END, 100 / line, CASE line WHEN 1 THEN 'stake' ELSE 'fee' END
FROM made, generate_series(1, 2) line`

func (d *desk) addSettlements(platform string, n int) {
	d.t.Helper()
	d.prepare(addSettlements, platform, make([]byte, 32), n)
}

// Four replicas' sequencers work at once, on batches that overlap, while
// settlements come in on three platforms, the first of which begin their feeds.
func TestSequencersOfSettlementsRace(t *testing.T) {
	d := newDesk(t)
	platforms := []string{"north", "south", "west"}
	const rounds, each = 20, 10
	done := make(chan struct{})
	var settling, sequencing sync.WaitGroup
	for range 4 {
		replica := d.open(2)
		sequencing.Go(func() {
			for last := false; !last; {
				select {
				case <-done:
					last = true
				default:
				}
				if _, _, err := replica.SequenceSettlements(context.Background(), 7); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for _, platform := range platforms {
		settling.Go(func() {
			for range rounds {
				if _, err := d.pool.Exec(context.Background(), addSettlements, platform, make([]byte, 32), each); err != nil {
					t.Error(err)
				}
			}
		})
	}
	settling.Wait()
	close(done)
	sequencing.Wait()
	d.sequence(d.Store)
	d.verifyFeed(len(platforms) * rounds * each)
}

// A sequencer that read the queue before another gave it out does nothing: its
// head has moved. It is held between its reading and its writing by a lock.
func TestASequencerThatComesSecondDoesNothing(t *testing.T) {
	d := newDesk(t)
	for range 2 { // with a head there already, and with none
		d.addSettlements("north", 5)
		tx, err := d.pool.Begin(t.Context())
		d.must(err)
		_, err = tx.Exec(t.Context(), sqlSequenceSettlements, 3)
		d.must(err)
		type result struct {
			queued    int
			platforms []string
			err       error
		}
		second := make(chan result)
		go func() {
			queued, platforms, err := d.SequenceSettlements(context.Background(), 5)
			second <- result{queued, platforms, err}
		}()
		d.waiting(t.Context())
		d.must(tx.Commit(t.Context()))
		if got := <-second; got.err != nil || got.queued != 5 || len(got.platforms) != 0 {
			t.Errorf("the second came to %+v", got)
		}
		if n := ask[int](d, `SELECT count(*) FROM settlement_queue`); n != 2 {
			t.Errorf("%d settlements are left in the queue", n)
		}
		d.sequence(d.Store)
	}
	d.verifyFeed(10)
}

// A sequencer that is cut off before its commit leaves nothing behind.
func TestASequencerCutOffGivesNothingOut(t *testing.T) {
	d := newDesk(t)
	d.addSettlements("north", 5)
	tx, err := d.pool.Begin(t.Context())
	d.must(err)
	_, err = tx.Exec(t.Context(), sqlSequenceSettlements, 5)
	d.must(err)
	d.exec(`SELECT pg_terminate_backend($1)`, tx.Conn().PgConn().PID())
	if err := tx.Commit(t.Context()); err == nil {
		t.Fatal("the connection was not cut off")
	}
	if n := ask[int](d, `SELECT count(*) FROM settlement_heads`) + ask[int](d, `SELECT count(*) FROM settlement_feed`); n != 0 {
		t.Errorf("%d rows were left behind", n)
	}
	d.sequence(d.Store)
	d.verifyFeed(5)
}

func TestTheServersRoleSequencesAndCannotAlterPositions(t *testing.T) {
	l := newLedger(t)
	l.settled("north")
	replica := l.replica()
	l.sequence(replica)
	l.verifyFeed(1)
	for _, statement := range []string{
		`UPDATE settlement_feed SET position = 7`, `DELETE FROM settlement_feed`, `DELETE FROM settlement_heads`,
		`UPDATE settlement_heads SET platform = 'mine'`, `INSERT INTO settlement_queue SELECT match_id, 9, false FROM games`,
		`INSERT INTO interventions SELECT match_id, now(), 1, 1, 20, 'north' FROM games`, `DELETE FROM interventions`,
	} {
		if _, err := replica.pool.Exec(t.Context(), statement); err == nil || !strings.Contains(err.Error(), "permission denied") {
			t.Errorf("%s: %v", statement, err)
		}
	}
	id := l.started(l.now())
	s := l.load(id)
	change := l.change(s, &referee.VoidMatch{Header: l.header(s, rules.NoSeat, false), Note: "power cut"}, l.now())
	change.After, change.Before = 0, 0
	l.must(replica.Commit(t.Context(), change))
	if n := ask[int](l.desk, `SELECT count(*) FROM interventions`); n != 1 {
		t.Errorf("the server's role noted %d interventions", n)
	}
	for _, statement := range []string{
		`UPDATE settlement_feed SET position = 7`, `DELETE FROM settlement_feed`, `TRUNCATE settlement_feed`,
		`UPDATE interventions SET kind = 16`, `DELETE FROM interventions`, `TRUNCATE interventions`,
	} {
		if _, err := l.pool.Exec(t.Context(), statement); err == nil || !strings.Contains(err.Error(), "append-only") {
			t.Errorf("the owner's %s: %v", statement, err)
		}
	}
}

// What was settled and interfered with before the feed was introduced is there
// too; what a replica of the version before does afterwards needs nothing of it.
func TestTheMigrationTakesInWhatWasBefore(t *testing.T) {
	d := newDesk(t)
	id := d.settled("north")
	d.settled("south")
	d.compensate(id, 1)
	voided := d.load(d.started(d.now()))
	d.do(voided, &referee.VoidMatch{Header: d.header(voided, rules.NoSeat, false), Note: "power cut"}, d.now())
	for _, name := range []string{"000004_settlement_feed.down.sql", "000004_settlement_feed.up.sql"} {
		content, err := migrations.FS.ReadFile(name)
		d.must(err)
		d.exec(string(content))
	}
	d.Close()
	d.Store = d.open(4) // statements were prepared for the tables that are gone
	if n := ask[int](d, `SELECT count(*) FROM settlement_queue`); n != 3 {
		t.Errorf("%d settlements are queued", n)
	}
	d.sequence(d.Store)
	d.verifyFeed(3)
	kinds, err := pgx.CollectRows(d.query(`SELECT kind FROM interventions ORDER BY kind`), pgx.RowTo[int])
	if d.must(err); !slices.Equal(kinds, []int{19, 19, 20}) {
		t.Errorf("interventions of the kinds %v", kinds)
	}
}

func (d *desk) query(query string, arguments ...any) pgx.Rows {
	d.t.Helper()
	rows, err := d.pool.Query(d.t.Context(), query, arguments...)
	d.must(err)
	return rows
}

// BenchmarkEventTrigger logs plies, a statement each as a move does, with and
// without the trigger that looks for interventions among them, by turns, and
// reports how many times as long the quickest thousand took with it.
func BenchmarkEventTrigger(b *testing.B) {
	d := newDesk(b)
	conn, err := d.pool.Acquire(b.Context())
	d.must(err)
	defer conn.Release()
	seq := 0
	log := func() time.Duration {
		began := time.Now()
		tx, err := conn.Begin(b.Context()) // one commit, so that the disk is not measured
		d.must(err)
		for range 1000 {
			seq++
			e := []referee.Event{{Game: 1, Seq: seq, Ply: seq, Kind: referee.EventPly, RequestID: d.id(0), Time: 1,
				Clocks: make([]byte, 20), Hash: [32]byte{1}}}
			if _, err := tx.Exec(b.Context(), sqlAddEvents, append([]any{uuid(d.id(d.now()))}, eventArrays(e)...)...); err != nil {
				b.Fatal(err)
			}
		}
		d.must(tx.Commit(b.Context()))
		return time.Since(began)
	}
	with, without := time.Hour, time.Hour
	for b.Loop() {
		d.exec(`ALTER TABLE events ENABLE TRIGGER events_intervention`)
		with = min(with, log())
		d.exec(`ALTER TABLE events DISABLE TRIGGER events_intervention`)
		without = min(without, log())
	}
	b.ReportMetric(float64(with)/float64(without), "times")
	b.ReportMetric(0, "ns/op")
}
