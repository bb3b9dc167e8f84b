package proof

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	refereev1 "referee.example/proto/referee/v1"
)

var (
	settlements = flag.Int("settlements", 2000, "settlements that TestFeed settles at least")
	feedKills   = flag.Int("feed-kills", 5, "replicas that TestFeed kills")
)

// settlers is how many transactions settle at once; a settler holds some open
// for a while, up to heldMost of them.
const settlers, heldMost = 4, 3

// TestFeed settles on two platforms, in transactions that are quick, held open or
// rolled back, while processes of the real binary sequence and are killed, SIGKILL,
// one after the other, and readers are cut off and lose what they noted last.
// Every settlement must have one position, no position may be missing, and every
// reader must have been given each settlement at its position.
func TestFeed(t *testing.T) {
	h := newHouse(t)
	h.ctx = withLimit(t, limit+time.Duration(*settlements)*20*time.Millisecond)
	binary := build(t)
	f := &feeding{house: h, fleet: &fleet{slots: []*slot{{h: h, binary: binary}, {h: h, binary: binary}}}, read: make(chan struct{}, 1)}
	for _, s := range f.fleet.slots {
		must(t, s.launch())
		t.Cleanup(s.end)
	}
	slot := f.fleet.slots[0].client()
	_, err := slot.match.CreateMatch(h.as("east"), creation(h.ruleset(slot, "7club-standard", untimed)))
	must(t, err)
	readers := []*feedReader{}
	for _, platform := range []string{"east", "west"} {
		for _, streams := range []bool{true, false} {
			readers = append(readers, &feedReader{feeding: f, platform: platform, streams: streams, applied: map[string]int64{}})
		}
	}
	going, stop := context.WithCancel(h.ctx)
	defer stop()
	f.settling.Store(settlers)
	together(t, settlers+len(readers)+1, func(i int) (err error) {
		dice := rand.New(rand.NewPCG(*killSeed, uint64(i)))
		switch {
		case i < settlers:
			err = f.settle(going, *settlements/settlers, dice)
			f.settling.Add(-1)
		case i < settlers+len(readers):
			err = readers[i-settlers].follow(going, dice)
		default:
			err = f.killAll(going, *feedKills, dice)
		}
		if err != nil {
			stop() // there is nothing left to prove
		}
		return err
	})
	if t.Failed() {
		return
	}
	f.check(readers)
}

// feeding is what settlers, readers and the killer share.
type feeding struct {
	*house
	fleet *fleet
	// settling counts the settlers that have not finished; committed is what
	// they have committed, applied what readers have been given.
	settling, committed, applied atomic.Int64
	read                         chan struct{} // holds a hint that applied has grown
}

// addSettlements adds matches of one settled game each, by their rows alone, in
// the order of chance, but older than the one match that was created: a replica
// that starts looks whether it can open the newest seed. It takes platform, how
// many, and a note that stays with them.
const addSettlements = `
WITH made AS (
	SELECT overlay(gen_random_uuid()::text PLACING '00' FROM 1)::uuid AS id,
		(SELECT sealed_seed FROM games ORDER BY match_id DESC LIMIT 1) AS seed FROM generate_series(1, $2::integer)
), matched AS (
	INSERT INTO matches (match_id, created_at, ended_at, stake, fee, scene_fee, disconnection_penalty, engine_version, status,
		first_seat, platform, external_ref, table_ref, ruleset_id, ruleset_hash, player_ids)
	SELECT id, now(), now(), 100, 0, 0, 0, 1, 4, 0, $1, '', $3, '', sha256(''), ARRAY['ann', 'bo'] FROM made
), played AS (
	INSERT INTO games (match_id, game, status, commitment, sealed_seed, started_at, first_seat, balances, hold_ids, player_seeds,
		root, ended_at, end_reason, winners, void, first_ply, last_ply, plies, captures, disconnected, server_seed, head_hash)
	SELECT id, 1, 4, sha256(''), seed, now(), 0, ARRAY[900, 900], '{}', '{}', sha256(''),
		now(), 1, 1, false, 0, 0, 0, ARRAY[0, 0], 0, sha256(''), sha256('') FROM made
), settled AS (
	INSERT INTO settlements (match_id, game, compensates, settlement_id, multiple, loser_captures, settled_at)
	SELECT id, 1, false, id, 1, 0, clock_timestamp() FROM made
)
INSERT INTO settlement_lines (match_id, game, compensates, line, payer, payee, amount, why)
SELECT id, 1, false, 1, 'bo', 'ann', 100, 'stake' FROM made`

// held is a transaction that has settled and is not committed yet.
type held struct {
	conn    *pgx.Conn
	tx      pgx.Tx
	count   int
	release int // after which transaction of its settler
}

// settler settles games, a transaction after the other on its connection and
// beside them some that it holds open.
type settler struct {
	*feeding
	conn *pgx.Conn
	dice *rand.Rand
	open []held
	done int
}

// settle settles so many games at least.
func (f *feeding) settle(ctx context.Context, least int, dice *rand.Rand) error {
	conn, err := pgx.Connect(ctx, f.config.DatabaseURL)
	if err != nil {
		return err
	}
	s := &settler{feeding: f, conn: conn, dice: dice}
	defer func() {
		_ = conn.Close(context.Background())
		for _, h := range s.open {
			_ = h.conn.Close(context.Background())
		}
	}()
	for round := 0; s.done < least; round++ {
		if err := s.transact(ctx, round); err != nil {
			return err
		}
		if err := s.releaseUntil(ctx, round); err != nil {
			return err
		}
	}
	return s.releaseUntil(ctx, math.MaxInt)
}

// transact settles some games and commits, or rolls back, or holds the transaction.
func (s *settler) transact(ctx context.Context, round int) error {
	kind := []string{"quick", "quick", "quick", "quick", "rolled back", "held"}[s.dice.IntN(6)]
	if kind == "held" && len(s.open) == heldMost {
		kind = "quick"
	}
	h := held{conn: s.conn, count: 1 + s.dice.IntN(20), release: round + 5 + s.dice.IntN(50)}
	var err error
	if kind == "held" {
		if h.conn, err = pgx.Connect(ctx, s.config.DatabaseURL); err != nil {
			return err
		}
		s.open = append(s.open, h)
	}
	if h.tx, err = h.conn.Begin(ctx); err != nil {
		return err
	}
	if _, err = h.tx.Exec(ctx, addSettlements, []string{"east", "west"}[s.dice.IntN(2)], h.count, kind); err != nil {
		return err
	}
	switch kind {
	case "rolled back":
		return h.tx.Rollback(ctx)
	case "held":
		s.open[len(s.open)-1].tx = h.tx
		return nil
	}
	return s.commit(ctx, h)
}

func (s *settler) commit(ctx context.Context, h held) error {
	err := h.tx.Commit(ctx)
	if err == nil {
		s.committed.Add(int64(h.count))
		s.done += h.count
	}
	return err
}

// releaseUntil commits what was to be held until a round.
func (s *settler) releaseUntil(ctx context.Context, round int) error {
	var still []held
	for _, h := range s.open {
		if h.release > round {
			still = append(still, h)
			continue
		}
		if err := errors.Join(s.commit(ctx, h), h.conn.Close(ctx)); err != nil {
			return err
		}
	}
	s.open = still
	return nil
}

// killAll kills one replica or the other, evenly over what readers are given,
// and starts it again.
func (f *feeding) killAll(ctx context.Context, times int, dice *rand.Rand) error {
	const readers = 2 // of each settlement
	for kill := range times {
		for f.applied.Load() < int64(*settlements*readers*(kill+1)/(times+1)) {
			select {
			case <-f.read:
			case <-ctx.Done():
				return fmt.Errorf("the readers got stuck: %w", ctx.Err())
			}
		}
		victim := f.fleet.slots[dice.IntN(len(f.fleet.slots))]
		if err := victim.kill(); err != nil {
			return err
		}
		if err := victim.launch(); err != nil {
			return err
		}
	}
	return nil
}

// feedReader applies a platform's settlements, as a wallet does, and notes the
// position only now and then.
type feedReader struct {
	*feeding
	platform string
	streams  bool // else it lists
	noted    int64
	applied  map[string]int64 // settlement id -> position
	again    int              // settlements that it was given more than once
	deaths   int
}

// follow reads on until everything that was settled has been applied.
func (r *feedReader) follow(ctx context.Context, dice *rand.Rand) error {
	ctx = as(ctx, r.platform)
	for at := dice.IntN(2); ; at++ {
		reading, cut := context.WithCancel(ctx)
		finished, err := r.life(reading, r.fleet.slots[at%2].client(), 1+dice.IntN(1000))
		cut()
		switch status.Code(err) {
		case codes.OK, codes.Unavailable, codes.Canceled, codes.DeadlineExceeded:
		default:
			return fmt.Errorf("reader of %s: %w", r.platform, err)
		}
		if finished || ctx.Err() != nil {
			return ctx.Err()
		}
		r.deaths++
		r.noted -= min(r.noted, int64(dice.IntN(3)*dice.IntN(50))) // what it had not noted when it died
	}
}

// life reads from the position noted last until so many were read, the replica
// fails or all is read.
func (r *feedReader) life(ctx context.Context, from *replica, most int) (finished bool, err error) {
	if r.streams {
		return r.stream(ctx, from, most)
	}
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for range most {
		// Whether that is all is asked before the page: an empty page after that
		// is the end.
		over := r.over(ctx)
		page, err := from.audit.ListSettlements(ctx, &refereev1.ListSettlementsRequest{FromPosition: r.noted + 1, PageSize: 200})
		if err != nil {
			return false, err
		}
		if over && len(page.GetEntries()) == 0 {
			return true, nil
		}
		for _, e := range page.GetEntries() {
			if err := r.apply(e); err != nil {
				return false, err
			}
		}
		if r.noted+1 != page.GetNextPosition() {
			return false, fmt.Errorf("the page ends at %d, the next begins at %d", r.noted, page.GetNextPosition())
		}
		if len(page.GetEntries()) == 0 {
			<-poll.C
		}
	}
	return false, nil
}

func (r *feedReader) stream(ctx context.Context, from *replica, most int) (finished bool, err error) {
	stream, err := from.audit.StreamSettlements(ctx, &refereev1.StreamSettlementsRequest{FromPosition: r.noted + 1})
	if err != nil {
		return false, err
	}
	for range most {
		if r.over(ctx) && r.noted == r.last(ctx) {
			return true, nil
		}
		message, err := stream.Recv()
		if err != nil {
			return false, err
		}
		if message.GetEntry() != nil {
			if err := r.apply(message.GetEntry()); err != nil {
				return false, err
			}
		}
	}
	return false, nil
}

// over reports whether everything is settled and has its position.
func (r *feedReader) over(ctx context.Context) bool {
	if r.settling.Load() > 0 {
		return false
	}
	queued := -1
	err := r.pool.QueryRow(ctx, `SELECT count(*) FROM settlement_queue JOIN matches USING (match_id) WHERE platform = $1`, r.platform).Scan(&queued)
	return err == nil && queued == 0
}

// last returns the last position given out on the reader's platform.
func (r *feedReader) last(ctx context.Context) (n int64) {
	if err := r.pool.QueryRow(ctx, `SELECT position FROM settlement_heads WHERE platform = $1`, r.platform).Scan(&n); err != nil {
		return -1
	}
	return n
}

func (r *feedReader) apply(e *refereev1.SettlementEntry) error {
	id := e.GetSettlement().GetSettlementId()
	if e.GetPosition() != r.noted+1 || len(e.GetSettlement().GetLines()) != 1 {
		return fmt.Errorf("after position %d came %v", r.noted, e)
	}
	r.noted = e.GetPosition()
	if before, known := r.applied[id]; known {
		r.again++
		if before != e.GetPosition() {
			return fmt.Errorf("settlement %s is at %d and at %d", id, before, e.GetPosition())
		}
		return nil
	}
	r.applied[id] = e.GetPosition()
	r.feeding.applied.Add(1)
	select {
	case r.read <- struct{}{}:
	default:
	}
	return nil
}

// check compares what readers were given with the tables, and these with each
// other.
func (f *feeding) check(readers []*feedReader) {
	t := f.t
	t.Helper()
	f.none("a settlement without a position", `
SELECT s.settlement_id FROM settlements s LEFT JOIN settlement_feed p USING (match_id, game, compensates) WHERE p.position IS NULL`)
	f.none("a position on another platform", `
SELECT p.position FROM settlement_feed p JOIN matches m USING (match_id) WHERE p.platform <> m.platform`)
	f.none("a feed with a gap", `
SELECT platform, count(*), max(position) FROM settlement_feed GROUP BY 1 HAVING count(*) <> max(position) OR min(position) <> 1`)
	f.none("a queued settlement", `SELECT match_id FROM settlement_queue`)
	f.none("a settlement that was rolled back", `SELECT match_id FROM matches WHERE table_ref = 'rolled back'`)
	rows, err := f.pool.Query(f.ctx, `SELECT p.platform, s.settlement_id::text, p.position
		FROM settlement_feed p JOIN settlements s USING (match_id, game, compensates)`)
	must(t, err)
	given := map[string]map[string]int64{"east": {}, "west": {}}
	var platform, id string
	var position int64
	_, err = pgx.ForEachRow(rows, []any{&platform, &id, &position}, func() error {
		given[platform][id] = position
		return nil
	})
	must(t, err)
	total := len(given["east"]) + len(given["west"])
	if int64(total) != f.committed.Load() || total < *settlements {
		t.Errorf("%d settlements have positions, %d were committed", total, f.committed.Load())
	}
	again, deaths := 0, 0
	for _, r := range readers {
		again, deaths = again+r.again, deaths+r.deaths
		if len(r.applied) != len(given[r.platform]) {
			t.Errorf("a reader of %s applied %d of %d settlements", r.platform, len(r.applied), len(given[r.platform]))
		}
		for id, position := range r.applied {
			if given[r.platform][id] != position {
				t.Errorf("a reader of %s was given %s at %d, it is at %d", r.platform, id, position, given[r.platform][id])
			}
		}
	}
	var late int
	must(t, f.pool.QueryRow(f.ctx, `
SELECT count(*) FROM (SELECT m.table_ref, s.settled_at, max(s.settled_at) OVER (PARTITION BY p.platform ORDER BY p.position) AS before
	FROM settlement_feed p JOIN settlements s USING (match_id, game, compensates) JOIN matches m USING (match_id)) f
WHERE table_ref = 'held' AND settled_at < before`).Scan(&late))
	if late == 0 || again == 0 {
		t.Errorf("%d settlements came behind later ones, %d were given again: nothing is shown", late, again)
	}
	t.Logf("%d settlements, %d behind later ones; %d replicas killed; %d readers cut off %d times, who were given %d again",
		total, late, *feedKills, len(readers), deaths, again)
}
