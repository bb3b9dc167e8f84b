package simulate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"referee.example/internal/devpg"
	"referee.example/internal/simulate/check"
	refereev1 "referee.example/proto/referee/v1"
)

// buildReferee builds the referee's program.
func buildReferee(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "referee")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./cmd/referee")
	cmd.Dir = "../.."
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, output)
	}
	return program
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// brisk are the habits of players whose games end soon, with expiries.
func brisk() Habits {
	h := DefaultHabits()
	h.MostPlies, h.Short, h.Idle, h.Resign, h.Compensate = 16, 2, 3, 8, 4
	return h
}

// TestFailover promotes a standby in the middle of play, more than once: the
// database's standbys are synchronous, so that nothing that was acknowledged is lost.
func TestFailover(t *testing.T) {
	report, err := Run(t.Context(), Options{
		Seed: 4, Matches: 12, Batch: 12, Replicas: 2, Standbys: 2, Tables: 12, Binary: buildReferee(t), Dir: t.TempDir(),
		Rates: Rates{Promote: 350}, Habits: brisk(), Progress: os.Stderr,
	})
	if report != nil {
		ok(t, report.Write(os.Stderr))
	}
	ok(t, err)
	total := report.Total
	for what, count := range map[string]int{
		"promotions": total.Faults[Promote], "changes after them": len(total.PromotionMS), "acknowledgements": total.Acknowledged,
		"expiries": total.Expiries, "settlements": total.Settlements, "entries of the feed": total.FeedEntries,
		"calls without an answer": total.Unanswered, "watched events": total.WatchedEvents,
	} {
		if count == 0 {
			t.Errorf("there were no %s: nothing was proved of them", what)
		}
	}
}

// cluster is a batch on a primary and one standby that follows it by a link.
type cluster struct {
	*batch
	t        *testing.T
	follows  *link
	old, new *node
}

func newCluster(t *testing.T, synchronous bool, o Options) *cluster {
	t.Helper()
	o.Binary, o.Dir, o.Patience = buildReferee(t), t.TempDir(), defaultPatience
	p, err := startPostgres(t.Context(), 0)
	ok(t, err)
	t.Cleanup(func() { ok(t, p.close()) })
	c := &cluster{t: t, old: p.primary}
	c.follows, err = newLink(context.WithoutCancel(t.Context()), c.old.address)
	ok(t, err)
	t.Cleanup(c.follows.close)
	server, err := c.old.server.Standby(t.Context(), "node1", c.follows.addr(), devpg.Options{})
	ok(t, err)
	c.new, err = newNode(1, server)
	p.nodes = append(p.nodes, c.new)
	ok(t, err)
	if synchronous {
		ok(t, p.synchronous(t.Context()))
	}
	c.batch = &batch{options: o, seed: o.Seed, size: o.Matches, postgres: p, recorder: &recorder{}, summary: newSummary()}
	ok(t, c.prepare(t.Context()))
	t.Cleanup(func() { ok(t, c.end()) })
	return c
}

// promote makes the standby the primary. There is no other standby to be waited for.
func (c *cluster) promote() {
	c.t.Helper()
	ctx := c.t.Context()
	for _, statement := range []string{"SELECT pg_promote()", "ALTER SYSTEM SET synchronous_standby_names = ''", "SELECT pg_reload_conf()"} {
		ok(c.t, c.new.execute(ctx, statement))
	}
	c.postgres.mu.Lock()
	c.postgres.primary = c.new
	c.postgres.mu.Unlock()
}

// holds is what a node's database holds.
func (c *cluster) holds(n *node) (record *check.Record) {
	c.t.Helper()
	ok(c.t, connected(c.t.Context(), n.server.URL(c.database), func(conn *pgx.Conn) (err error) {
		record, err = check.Load(c.t.Context(), conn)
		return err
	}))
	return record
}

// place is where an event stands.
func place(match string, game, seq int) string { return fmt.Sprintf("%s %d %d", match, game, seq) }

// events are the hashes of a record's events by their places.
func events(r *check.Record) map[string]string {
	all := map[string]string{}
	for id, m := range r.Matches {
		for _, log := range m.Logs {
			for i := range log {
				all[place(id, log[i].Game, log[i].Seq)] = string(log[i].Hash)
			}
		}
	}
	return all
}

// TestAsynchronousLoss promotes a standby that was held behind: what was acknowledged
// since is lost. The checker names all of it and nothing else, by what clients hold;
// the log of finished games isn't signed, and a wallet is told that it is ahead.
func TestAsynchronousLoss(t *testing.T) {
	c := newCluster(t, false, Options{Seed: 9, Matches: 60, Replicas: 2, Tables: 8, Habits: brisk()})
	playing, stop := context.WithCancel(t.Context())
	defer stop()
	var background, watching sync.WaitGroup
	var feed []check.FeedEntry
	background.Go(func() { feed, _ = c.access.feed(playing, c.seed, new(atomic.Int64)) })
	background.Go(func() { _ = c.playAll(playing, stop, &watching) }) // it is stopped
	ok(t, c.access.calls.wait(playing, 600))
	c.follows.set(func() { c.follows.frozen = true })
	before := c.signedSize(c.old)
	ok(t, c.access.calls.wait(playing, 1400))
	stop()
	background.Wait()
	watching.Wait()
	ok(t, c.signed(t.Context())) // and the witness holds what is about to be lost
	if c.signedSize(c.old) == before {
		t.Fatal("no game was logged meanwhile: nothing is proved of the log")
	}
	c.old.server.Kill()
	c.follows.set(func() { c.follows.cut = true })
	c.promote()

	// The old primary is there yet, and nobody calls it.
	ok(t, c.old.server.Restart(t.Context()))
	record := c.holds(c.new)
	had, has := events(c.holds(c.old)), events(record)
	ok(t, c.old.server.Stop())
	lost := map[string]bool{}
	for _, call := range c.recorder.calls {
		if call.Outcome != check.Acknowledged {
			continue
		}
		for _, e := range call.Events {
			if at := place(call.Match, e.Game, e.Seq); has[at] != e.Hash {
				lost[at] = true
				if had[at] != e.Hash {
					t.Errorf("event %s was acknowledged and never stored", at)
				}
			}
		}
	}
	if len(lost) < 100 {
		t.Fatalf("%d acknowledged events are lost: nothing is proved of them", len(lost))
	}
	told, others := namedLost(check.Check(&check.History{Calls: c.recorder.calls, Feed: feed, Replicas: 2}, record).Violations, record, lost)
	if len(told) != len(lost) {
		t.Errorf("%d acknowledged events are lost, %d are named", len(lost), len(told))
	}
	t.Logf("%d of %d acknowledged events are lost, in the checker's words: %v", len(lost), len(had), others)
	for _, want := range []string{check.Durable + " head", check.Streams + " feed"} {
		if others[want] == 0 {
			t.Errorf("no violation of %s", want)
		}
	}
	c.signsNothing(feed)
}

var (
	eventLost    = regexp.MustCompile(`^event (\d+) of game (\d+) was told (?:and is not stored$|as .* and is stored as )`)
	creationLost = regexp.MustCompile(`^its creation was acknowledged and is not stored$`)
	headLost     = regexp.MustCompile(`with the head of event \d+ of game \d+, which is not stored$`)
	feedLost     = regexp.MustCompile(`^the feed brought settlement [0-9a-f-]+, which is not stored$`)
)

// namedLost are the events that violations say to be lost, which must be among those that
// are; those of a match that is lost altogether are named with it. others counts the
// violations by what they say.
func namedLost(violations []check.Violation, r *check.Record, lost map[string]bool) (events map[string]bool, others map[string]int) {
	events, others = map[string]bool{}, map[string]int{}
	for _, v := range violations {
		found := eventLost.FindStringSubmatch(v.What)
		switch {
		case found != nil:
			events[v.Match+" "+found[2]+" "+found[1]] = true
			others[v.Promise+" event"]++
		case creationLost.MatchString(v.What):
			for at := range lost {
				if strings.HasPrefix(at, v.Match+" ") && r.Matches[v.Match] == nil {
					events[at] = true
				}
			}
			others[v.Promise+" creation"]++
		case headLost.MatchString(v.What):
			others[v.Promise+" head"]++
		case feedLost.MatchString(v.What):
			others[v.Promise+" feed"]++
		default:
			others[v.Promise]++
		}
	}
	return events, others
}

func (c *cluster) signedSize(n *node) (size int64) {
	c.t.Helper()
	ok(c.t, connected(c.t.Context(), n.server.URL(c.database), func(conn *pgx.Conn) error {
		return conn.QueryRow(c.t.Context(), `SELECT coalesce(signed_size, 0) FROM log_head`).Scan(&size)
	}))
	return size
}

// signsNothing plays one more match after the promotion. It is logged and not signed,
// since the witness holds more than is there; and a wallet that holds more is told so.
func (c *cluster) signsNothing(feed []check.FeedEntry) {
	c.t.Helper()
	ctx := c.t.Context()
	before := c.signedSize(c.new)
	size := func() (n int64) {
		ok(c.t, c.postgres.with(ctx, c.database, func(conn *pgx.Conn) error {
			return conn.QueryRow(ctx, `SELECT size FROM log_head`).Scan(&n)
		}))
		return n
	}
	logged := size()
	next := c.table(c.size) // of a number that nobody has had
	ok(c.t, next.play(ctx, func(string) {}))
	for deadline := time.Now().Add(quietLimit); size() == logged; {
		if time.Now().After(deadline) {
			c.t.Fatal("the game was not logged")
		}
	}
	err := c.confirm(ctx)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		c.t.Errorf("the log was confirmed: %v", err)
	}
	if after := c.signedSize(c.new); after != before {
		c.t.Errorf("the log was signed: %d entries instead of %d", after, before)
	}
	last := slices.MaxFunc(feed, func(a, b check.FeedEntry) int { return int(a.Position - b.Position) }).Position
	_, err = read(ctx, c.access, platformToken, func(ctx context.Context) (*refereev1.ListSettlementsResponse, error) {
		return c.access.audit[0].ListSettlements(ctx, &refereev1.ListSettlementsRequest{FromPosition: last + 1})
	})
	if infoOf(err).GetReason() != "POSITION_OUT_OF_RANGE" {
		c.t.Errorf("a wallet that is at position %d is answered %v", last, err)
	}
}
