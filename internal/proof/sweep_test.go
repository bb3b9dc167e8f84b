package proof

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/proto"

	refereev1 "referee.example/proto/referee/v1"
)

var (
	sweepGames   = flag.Int("sweep-games", 400, "games that run out at once in TestSweepAtScale")
	sweepWindow  = flag.Duration("sweep-window", 3*time.Second, "how long they take to run out")
	sweepPrepare = flag.Duration("sweep-prepare", 12*time.Second, "how long it may take to start them all")
	sweepWithin  = flag.Duration("sweep-within", 0, "the longest that may pass after a grace; 0 for any")
)

// starters is how many start games at once.
const starters = 32

// noteEndings notes when each ending is committed: a deferred trigger is the last
// that a transaction does.
const noteEndings = `
CREATE TABLE endings_noted (match_id uuid, game smallint, at timestamptz);
CREATE FUNCTION note_ending() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO endings_noted VALUES (NEW.match_id, NEW.game, clock_timestamp());
	RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER note_ending AFTER UPDATE ON games DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW WHEN (NEW.status = 4 AND OLD.status <> 4) EXECUTE FUNCTION note_ending()`

// TestSweepAtScale lets many games run out within a short time while nobody
// calls, and two replicas sweep. Each is adjudicated once, at its own instant.
func TestSweepAtScale(t *testing.T) {
	h := newHouse(t)
	h.ctx = withLimit(t, limit+2**sweepPrepare+10**sweepWindow)
	_, err := h.pool.Exec(h.ctx, noteEndings)
	must(t, err)
	slots := h.processes(2)
	rules := h.ruleset(slots[0].client(), "7club-standard", nil)
	begun := time.Now()
	window := begun.Add(*sweepPrepare)
	var tooLong error
	together(t, starters, func(i int) error {
		dice := rand.New(rand.NewPCG(3, uint64(i)))
		for n := i; n < *sweepGames; n += starters {
			expiry := window.Add(time.Duration(dice.Int64N(int64(*sweepWindow))))
			if err := startExpiring(h.as("east"), slots[n%2].client(), rules, expiry); err != nil {
				return err
			}
		}
		return nil
	})
	if took := time.Since(begun); took > *sweepPrepare {
		tooLong = fmt.Errorf("starting the games took %v: give it longer by -sweep-prepare", took)
		t.Log(tooLong)
	}
	must(t, awaitInstant(h.ctx, time.Until(window)-time.Second)) // what waiting costs is no game's
	replicas, database := h.processorTime(slots)
	must(t, h.allEnded())
	replicasAfter, databaseAfter := h.processorTime(slots)
	var noted, matches int
	var p50, p99, most float64
	must(t, h.pool.QueryRow(h.ctx, `
SELECT count(*), count(DISTINCT (n.match_id, n.game)), percentile_disc(0.5) WITHIN GROUP (ORDER BY late),
	percentile_disc(0.99) WITHIN GROUP (ORDER BY late), max(late)
FROM endings_noted n JOIN games g USING (match_id, game),
	LATERAL (SELECT extract(epoch FROM n.at - g.ended_at)::float8 - 0.25 AS late) l`).Scan(&noted, &matches, &p50, &p99, &most))
	t.Logf("%d games over %v: adjudicated %.3f s (median), %.3f s (p99), %.3f s (at most) after their grace; %v + %v of processor time each, replicas + database",
		matches, *sweepWindow, p50, p99, most, each(replicasAfter-replicas, matches), each(databaseAfter-database, matches))
	if noted != *sweepGames || matches != *sweepGames {
		t.Errorf("%d endings of %d games were committed, want %d", noted, matches, *sweepGames)
	}
	h.none("an expiry twice or not at all, or at another instant than its turn's end", `
SELECT g.match_id, count(e.seq), max(e.event_time - g.started_at) FROM games g
LEFT JOIN events e ON e.match_id = g.match_id AND e.game = g.game AND e.kind = 13
WHERE g.game = 1 GROUP BY 1 HAVING count(e.seq) <> 1 OR bool_or(e.event_time <> g.ended_at)
	OR bool_or(extract(milliseconds FROM e.event_time - g.started_at)::numeric % 1000 <> 0)`)
	h.none("an ending before its grace was over", `
SELECT n.match_id, n.at FROM endings_noted n JOIN games g USING (match_id, game) WHERE n.at < g.ended_at + interval '250 milliseconds'`)
	h.consistent()
	if *sweepWithin > 0 && (tooLong != nil || most > sweepWithin.Seconds()) {
		t.Errorf("the last was adjudicated %.3f s after its grace, the aim is %v (%v)", most, *sweepWithin, tooLong)
	}
}

// startExpiring starts a game whose first turn runs out at about an instant, to
// the second: rulesets that differ are stored one by one.
func startExpiring(ctx context.Context, r *replica, rules *refereev1.Ruleset, expiry time.Time) error {
	rules = proto.CloneOf(rules)
	turn := max(1, time.Until(expiry).Round(time.Second)/time.Second)
	rules.Clock = &refereev1.ClockRules{TurnMs: uint32(turn * 1000), OnExpiry: "lose"}
	created, err := available(ctx, r, creation(rules))
	if err != nil {
		return err
	}
	game := created.GetGame()
	_, err = available(ctx, r, starting(game.GetMatchId(), game.GetGame(), game.GetNextSeq()))
	return err
}

// allEnded returns when every game has ended that was started.
func (h *house) allEnded() error {
	for {
		var running int
		err := h.pool.QueryRow(h.ctx, `SELECT count(*) FROM match_states WHERE deadline IS NOT NULL`).Scan(&running)
		if err != nil || running == 0 {
			return err
		}
		if err := awaitInstant(h.ctx, 500*time.Millisecond); err != nil {
			return fmt.Errorf("%d games go on: %w", running, err)
		}
	}
}

func each(used time.Duration, games int) time.Duration {
	return (used / time.Duration(max(1, games))).Round(time.Microsecond)
}

// processorTime is what the replicas and their sessions of the database have used.
func (h *house) processorTime(slots []*slot) (replicas, database time.Duration) {
	h.t.Helper()
	rows, err := h.pool.Query(h.ctx, `SELECT pid FROM pg_stat_activity WHERE datname = current_database()`)
	must(h.t, err)
	sessions, err := pgx.CollectRows(rows, pgx.RowTo[int])
	must(h.t, err)
	for _, session := range sessions {
		database += h.used(session)
	}
	for _, s := range slots {
		replicas += h.used(s.process.Process.Pid)
	}
	return replicas, database
}

// used is the processor time of a process, 0 of one that has ended.
func (h *house) used(process int) (used time.Duration) {
	h.t.Helper()
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", process))
	if err != nil {
		return 0
	}
	// Fields 14 and 15 are user and system time in hundredths of a second; the
	// name before, field 2, is in parentheses.
	fields := strings.Fields(string(content[bytes.LastIndexByte(content, ')'):]))
	for _, field := range fields[12:14] {
		ticks, err := strconv.ParseInt(field, 10, 64)
		must(h.t, err)
		used += time.Duration(ticks) * 10 * time.Millisecond
	}
	return used
}
