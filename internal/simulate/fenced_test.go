package simulate

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/proto"

	"referee.example/internal/simulate/check"
	refereev1 "referee.example/proto/referee/v1"
)

// asks is a question to a node, of one truth.
func (c *cluster) asks(n *node, query string, arguments ...any) (yes bool) {
	c.t.Helper()
	ok(c.t, connected(c.t.Context(), n.server.URL(c.database), func(conn *pgx.Conn) error {
		return conn.QueryRow(c.t.Context(), query, arguments...).Scan(&yes)
	}))
	return yes
}

// within is whether the answer to a question comes to be yes in time.
func (c *cluster) within(d time.Duration, n *node, query string, arguments ...any) bool {
	c.t.Helper()
	for deadline := time.Now().Add(d); !c.asks(n, query, arguments...); {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

func (c *cluster) until(n *node, query string, arguments ...any) {
	c.t.Helper()
	if !c.within(time.Minute, n, query, arguments...) {
		c.t.Fatalf("it never became so: %s", query)
	}
}

// TestTheOldPrimaryAcknowledgesNothing cuts a primary off from its synchronous standby,
// which is promoted, while a replica is connected to the old one alone. That replica
// acknowledges and shows nothing any more: neither what waits there, nor what an administrator
// makes of it by cancelling the wait, nor what a restart does.
func TestTheOldPrimaryAcknowledgesNothing(t *testing.T) {
	c := newCluster(t, true, Options{Seed: 2, Matches: 1, Replicas: 2, Tables: 1})
	ctx := t.Context()
	const left, right = 0, 1 // replicas; the old primary is to the left
	daily := slices.IndexFunc(c.presets, func(r *refereev1.Ruleset) bool { return r.GetId() == "daily" })
	table := c.table(daily) // no clock runs
	change, err := c.access.persist(ctx, 0, table.dice, table.creation())
	ok(t, err)
	table.take(change)
	step := func(at int) {
		t.Helper()
		requests, err := table.requests(ctx)
		ok(t, err)
		change, err := c.insistAt(ctx, at, requests[0])
		ok(t, err)
		table.take(change)
	}
	for range 5 {
		step(left)
	}
	requests, err := table.requests(ctx)
	ok(t, err)
	ply := requests[0].(*refereev1.PlayActionRequest)

	c.replicas[left].databases[1].set(func() { c.replicas[left].databases[1].cut = true })
	c.replicas[right].databases[0].set(func() { c.replicas[right].databases[0].cut = true })
	refused := func(when string) {
		t.Helper()
		if change, err := c.access.once(ctx, callOf(0, left, ply), ply); err == nil {
			t.Errorf("%s the replica at the old primary acknowledged ply %d, replayed: %t", when, ply.GetExpectedPly(), change.GetReplayed())
		}
	}
	// If all connections of the pool wait by then, for a heartbeat's commit or so, the ply is not
	// sent; the standby follows again before the next attempt.
	const waits = `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query LIKE '%match_states%')`
	for attempt := 1; ; attempt++ {
		c.follows.set(func() { c.follows.frozen = true })
		refused("cut off,")
		if c.within(5*time.Second, c.old, waits) {
			break
		}
		if attempt == 5 {
			var waiting string
			ok(t, connected(ctx, c.old.server.URL(c.database), func(conn *pgx.Conn) error {
				return conn.QueryRow(ctx, `SELECT string_agg(concat_ws(' ', state, wait_event, query), E'\n') FROM pg_stat_activity`).Scan(&waiting)
			}))
			t.Fatalf("the ply never waited for the standby, but these do:\n%s", waiting)
		}
		c.follows.set(func() { c.follows.frozen = false })
		c.until(c.old, `SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep')`)
	}

	c.promote()
	change, err = c.insistAt(ctx, right, ply)
	ok(t, err)
	// Nor does it show how matches stood: it has not committed for three seconds.
	list := func() error {
		_, err := read(ctx, c.access, auditorToken, func(ctx context.Context) (*refereev1.ListMatchesResponse, error) {
			return c.access.audit[left].ListMatches(ctx, &refereev1.ListMatchesRequest{})
		})
		return err
	}
	for deadline := time.Now().Add(time.Minute); list() == nil; {
		if time.Now().After(deadline) {
			t.Fatal("the replica at the old primary still shows how matches stood")
		}
	}
	if change.GetReplayed() {
		t.Error("the new primary had what nobody acknowledged")
	}
	table.take(change)
	c.asks(c.old, `SELECT count(pg_cancel_backend(pid)) >= 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep'`)
	c.until(c.old, `SELECT EXISTS (SELECT FROM events WHERE match_id = $1 AND request_id = $2)`, ply.GetMatchId(), ply.GetRequestId())
	refused("the wait cancelled,")
	c.old.server.Crash()
	ok(t, c.old.server.Restart(ctx))
	if !c.asks(c.old, `SELECT EXISTS (SELECT FROM events WHERE match_id = $1 AND request_id = $2)`, ply.GetMatchId(), ply.GetRequestId()) {
		t.Fatal("the old primary has not what it did: nothing is proved")
	}
	refused("started again,")
	if game, err := c.access.getGame(ctx, 0, left, ply.GetMatchId(), nil); err == nil {
		t.Errorf("started again, the old primary shows ply %d", game.GetNextPly()-1)
	}

	c.replicas[left].stop()
	c.access.match[left], c.access.audit[left] = c.access.match[right], c.access.audit[right]
	for range 3 {
		step(right)
	}
	for _, v := range check.Check(&check.History{Calls: c.recorder.calls, Replicas: 2}, c.holds(c.new)).Violations {
		t.Error(v)
	}
}

// insistAt sends a request to one replica until it is answered.
func (c *cluster) insistAt(ctx context.Context, at int, request proto.Message) (*refereev1.Change, error) {
	deadline := time.Now().Add(c.access.patience)
	for {
		change, err := c.access.once(ctx, callOf(0, at, request), request)
		if err == nil || !again(err) || time.Now().After(deadline) {
			return change, err
		}
	}
}
