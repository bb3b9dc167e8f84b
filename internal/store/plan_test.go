package store

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"
)

// planNode is a node of a plan that was carried out.
type planNode struct {
	Type     string     `json:"Node Type"`
	Relation string     `json:"Relation Name"`
	Rows     float64    `json:"Actual Rows"` // a loop
	Loops    float64    `json:"Actual Loops"`
	Removed  float64    `json:"Rows Removed by Filter"` // a loop
	Rechecks float64    `json:"Rows Removed by Index Recheck"`
	Plans    []planNode `json:"Plans"`
}

// most returns the most rows that a node of the plan went through.
func (n *planNode) most() (rows float64, where string) {
	rows, where = (n.Rows+n.Removed+n.Rechecks)*n.Loops, n.Type+" "+n.Relation
	for i := range n.Plans {
		if below, at := n.Plans[i].most(); below > rows {
			rows, where = below, at
		}
	}
	return rows, where
}

// costs carries a statement out, takes it back, and fails if a node of its plan
// went through more rows than it should need: by a scan, a sort or a filter.
func (d *desk) costs(name, query string, bound int, arguments ...any) {
	d.t.Helper()
	tx, err := d.pool.Begin(d.t.Context())
	d.must(err)
	defer func() { d.must(tx.Rollback(d.t.Context())) }()
	var text []byte
	d.must(tx.QueryRow(d.t.Context(), `EXPLAIN (ANALYZE, FORMAT JSON) `+query, arguments...).Scan(&text))
	var plans []struct{ Plan planNode }
	d.must(json.Unmarshal(text, &plans))
	if rows, where := plans[0].Plan.most(); rows > float64(bound) {
		d.t.Errorf("%s went through %.0f rows in %s, want %d at most", name, rows, where, bound)
		d.t.Logf("%s", text)
	}
}

// prepare makes rows without the timeout of the replicas' statements: there are
// many, and the machine may be busy.
func (d *desk) prepare(query string, arguments ...any) {
	d.t.Helper()
	conn, err := d.pool.Acquire(d.t.Context())
	d.must(err)
	defer conn.Release()
	_, err = conn.Exec(d.t.Context(), `SET statement_timeout = 0`)
	d.must(err)
	_, err = conn.Exec(d.t.Context(), query, arguments...)
	d.must(err)
	_, err = conn.Exec(d.t.Context(), `RESET statement_timeout`)
	d.must(err)
}

// What feeds, exposure and interventions cost follows from what they answer, not
// from the history they stand on.
func TestReadsOfTheFeedAndItsKinCostWhatTheyAnswer(t *testing.T) {
	d := newDesk(t)
	const history, running, queued = 10_000, 300, 3000
	d.addSettlements("north", history)
	d.addSettlements("south", history)
	d.sequence(d.Store)
	d.addSettlements("north", queued)
	d.prepare(`INSERT INTO games (match_id, game, status, commitment, sealed_seed, started_at, first_seat, balances, hold_ids, player_seeds, root)
		SELECT match_id, 2, 2, ruleset_hash, '', now() - interval '3 minutes', 0, ARRAY[900, 900], '{}', '{}', ruleset_hash
		FROM matches ORDER BY match_id LIMIT $1`, running)
	d.prepare(`INSERT INTO events (match_id, event_time, seq, ply, principal, game, seat, kind, action_kind, from_square, to_square,
			turned, captured, clocks, client_hash, detail, hash)
		SELECT match_id, created_at, n, n, 1, 1, 0, CASE WHEN n < 4 THEN 3 WHEN platform = 'south' THEN 20 ELSE 21 END,
			1, 1, 1, 1, 0, '', '', '\x0000', ruleset_hash
		FROM (SELECT match_id, created_at, platform, ruleset_hash FROM matches ORDER BY match_id LIMIT 5000) m, generate_series(1, 4) n`)
	d.prepare(`INSERT INTO principals (name) VALUES ('operator')`)
	d.prepare(`VACUUM ANALYZE`)
	if n := ask[int](d, `SELECT count(*) FROM interventions`); n != 5000 {
		t.Fatalf("%d interventions", n)
	}

	middle, end := uuid(highestID), timestamp(endOfTime)
	for _, from := range []int{1, history / 2, history + 1} {
		d.costs(fmt.Sprint("settlements from ", from), sqlSettlements, 100, "north", from, 50)
	}
	d.costs("heads", sqlSettlementHeads, 2, []string{"north"})
	d.costs("sequencing", sqlSequenceSettlements, queued, 100) // what waits is no history
	for _, ago := range []time.Duration{0, time.Minute, 5 * time.Minute, 1000 * time.Hour} {
		at := timestamp(d.ago(ago))
		d.costs(fmt.Sprint("exposure ", ago, " ago"), sqlListExposure, 2*running, "north", at, middle, 0, 50)
		d.costs(fmt.Sprint("exposures ", ago, " ago"), sqlExposures, 2*running, "*", at, middle, 0)
	}
	before := ask[time.Time](d, `SELECT event_time FROM interventions ORDER BY event_time OFFSET 2500 LIMIT 1`)
	match := ask[[16]byte](d, `SELECT match_id FROM interventions ORDER BY match_id OFFSET 2500 LIMIT 1`)
	for _, kinds := range [][]int16{{16, 19, 20, 21}, {20}, {19}} {
		d.costs(fmt.Sprint("interventions of a match ", kinds), sqlListInterventionsOfMatch, 4,
			"*", kinds, time.Unix(0, 0), end, end, middle, 32767, 1<<30, 50, match)
		for _, at := range []time.Time{end, before} {
			d.costs(fmt.Sprint("interventions ", kinds), sqlListInterventions, 200,
				"*", kinds, time.Unix(0, 0), end, at, middle, 32767, 1<<30, 50)
			d.costs(fmt.Sprint("interventions of a platform ", kinds), sqlListInterventionsOfPlatform, 200,
				"north", kinds, time.Unix(0, 0), end, at, middle, 32767, 1<<30, 50)
		}
	}
}

// What is taken from a queue is looked up by itself, even where statistics were made
// when the queue held other rows, by which to read all matches or games in order would
// seem as cheap.
func TestQueuesCostWhatTheyHold(t *testing.T) {
	d := newDesk(t)
	const history, queued = 20_000, 50
	d.addSettlements("north", queued)
	d.prepare(`INSERT INTO finished_games SELECT match_id, 1 FROM matches`)
	d.prepare(`VACUUM ANALYZE`)
	d.sequence(d.Store)
	d.prepare(`DELETE FROM finished_games`)
	d.addSettlements("north", history)
	d.sequence(d.Store)
	d.prepare(`VACUUM ANALYZE matches, games, settlements, settlement_lines, settlement_feed, log_entries`)
	d.addSettlements("north", queued)
	d.prepare(`INSERT INTO finished_games SELECT match_id, 1 FROM matches ORDER BY match_id DESC LIMIT $1`, queued)
	for _, limit := range []int{queued, 1000} {
		d.costs(fmt.Sprint("sequencing ", limit), sqlSequenceSettlements, 2*queued, limit)
		d.costs(fmt.Sprint("pending games ", limit), sqlPendingGames, 2*queued, limit)
	}
	d.costs("lags", sqlLags, 2*queued)
	d.costs("settlements", sqlSettlements, 2000, "north", history/2, 1000) // two lines each
}
