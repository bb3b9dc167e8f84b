package store_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"referee.example/internal/clock"
	"referee.example/internal/history"
	"referee.example/internal/pgtest"
	"referee.example/internal/referee"
	"referee.example/internal/rules"
	"referee.example/internal/store"
)

var games = flag.Int("games", 1_000_000, "games of the history that plans are made for, from 100,000 on")

// gamesPerMatch is what no generated match exceeds, one that was not started
// included.
const gamesPerMatch = 9

// archive is a generated history.
type archive struct {
	t    *testing.T
	conn *pgx.Conn
	*store.Store
	middle time.Time
}

func newArchive(t *testing.T) *archive {
	t.Helper()
	db := pgtest.New(t)
	size, err := history.Generate(t.Context(), db.URL, history.Options{Games: *games, Events: 100_000, Each: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("generated %d matches, %d games, %d events", size.Matches, size.Games, size.Events)
	if size.Games < int64(*games)*9/10 || size.Events < 50_000 {
		t.Error("that is not what was asked for")
	}
	a := &archive{t: t}
	if a.conn, err = pgx.Connect(t.Context(), db.URL); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.conn.Close(context.Background()) })
	if a.Store, err = store.Open(t.Context(), store.Config{URL: db.URL, MaxConns: 2}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	a.middle = ask[time.Time](a, `SELECT to_timestamp((extract(epoch FROM min(created_at)) + extract(epoch FROM max(created_at))) / 2)
		FROM matches`)
	return a
}

func ask[T any](a *archive, query string, arguments ...any) (value T) {
	a.t.Helper()
	if err := a.conn.QueryRow(a.t.Context(), query, arguments...).Scan(&value); err != nil {
		a.t.Fatalf("%s: %v", query, err)
	}
	return value
}

// node is a part of a plan with what was counted when it ran.
type node struct {
	Type       string   `json:"Node Type"`
	Relation   string   `json:"Relation Name"`
	Alias      string   `json:"Alias"`
	IndexCond  string   `json:"Index Cond"`
	Presorted  []string `json:"Presorted Key"`
	Rows       float64  `json:"Actual Rows"`
	Loops      float64  `json:"Actual Loops"`
	Filtered   float64  `json:"Rows Removed by Filter"`
	Rechecked  float64  `json:"Rows Removed by Index Recheck"`
	HeapChecks float64  `json:"Heap Fetches"`
	Hit        int64    `json:"Shared Hit Blocks"`
	Read       int64    `json:"Shared Read Blocks"`
	Plans      []node   `json:"Plans"`
}

// looked is how many rows the node has seen.
func (n *node) looked() float64 { return (n.Rows + n.Filtered + n.Rechecked) * n.Loops }

func (n *node) walk(visit func(*node)) {
	visit(n)
	for i := range n.Plans {
		n.Plans[i].walk(visit)
	}
}

// explain runs a query by the plan that a connection settles on for all
// parameters alike, or by one made for these.
func (a *archive) explain(query string, arguments pgx.NamedArgs, generic bool) *node {
	a.t.Helper()
	tx, err := a.conn.Begin(a.t.Context())
	if err != nil {
		a.t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	positional, values, err := arguments.RewriteQuery(a.t.Context(), nil, query, nil)
	if err != nil {
		a.t.Fatal(err)
	}
	mode := "force_custom_plan"
	if generic {
		mode = "force_generic_plan"
	}
	literals := make([]string, len(values))
	for i, value := range values {
		literals[i] = "'" + strings.ReplaceAll(fmt.Sprint(value), "'", "''") + "'"
	}
	execute := "explained"
	if len(literals) > 0 {
		execute += "(" + strings.Join(literals, ", ") + ")"
	}
	for _, statement := range []string{store.PlanByKey, `SET LOCAL plan_cache_mode = ` + mode, `PREPARE explained AS ` + positional} {
		if _, err := tx.Exec(a.t.Context(), statement, pgx.QueryExecModeSimpleProtocol); err != nil {
			a.t.Fatalf("%s: %v", statement, err)
		}
	}
	var text string
	err = tx.QueryRow(a.t.Context(), `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE `+execute,
		pgx.QueryExecModeSimpleProtocol).Scan(&text)
	if err != nil {
		a.t.Fatalf("EXPLAIN of %s with %v: %v", query, arguments, err)
	}
	if _, err := tx.Exec(a.t.Context(), `DEALLOCATE explained`); err != nil {
		a.t.Fatal(err)
	}
	var plans []struct{ Plan node }
	if err := json.Unmarshal([]byte(text), &plans); err != nil {
		a.t.Fatal(err)
	}
	return &plans[0].Plan
}

// faults says what is wrong with a plan: what would cost more the more there is.
func faults(plan *node, most float64) (wrong []string) {
	plan.walk(func(n *node) {
		at := fmt.Sprintf("%s on %s", n.Type, n.Alias)
		switch n.Type {
		case "Seq Scan", "Sort", "Hash Join", "Merge Join", "Bitmap Heap Scan", "Gather", "Gather Merge", "Materialize", "Memoize":
			wrong = append(wrong, at)
		case "Incremental Sort":
			if !slices.Equal(n.Presorted, []string{"c.match_id"}) && !slices.Equal(n.Presorted, []string{"d.match_id"}) {
				wrong = append(wrong, fmt.Sprintf("%s of rows in order of %v", at, n.Presorted))
			}
		case "Index Scan", "Index Only Scan":
			if n.IndexCond == "" {
				wrong = append(wrong, at+" without a condition")
			}
			if n.Alias == "d" && n.looked() > store.MaxExamined+1 { // numbering looks one ahead
				wrong = append(wrong, fmt.Sprintf("%s sees %.0f candidates", at, n.looked()))
			}
		}
		if n.looked() > most {
			wrong = append(wrong, fmt.Sprintf("%s sees %.0f rows", at, n.looked()))
		}
	})
	return wrong
}

func (n *node) blocks() int64 { return n.Hit + n.Read }

// TestPlans explains every query of the history by both kinds of plan: what it
// reads is bounded, and nothing is sorted or read that is not returned.
func TestPlans(t *testing.T) {
	a := newArchive(t)
	t.Run("lists", a.lists)
	t.Run("pair and record", a.others)
	t.Run("every page costs the same", a.pages)
	t.Run("short pages", a.shortPages)
	t.Run("statistics of a heavy pair", a.heavyPair)
}

// asked are the parameters of a list with no filter but the platform.
func (a *archive) asked(change pgx.NamedArgs) pgx.NamedArgs {
	all := pgx.NamedArgs{
		"platform": history.Platform, "player_id": history.HeavyPlayer,
		"low_player_id": history.HeavyPlayer, "high_player_id": history.SecondPlayer,
		"external_ref": "", "table_ref": "", "ruleset_id": "", "min_stake": 0, "max_stake": 0,
		"from_time": "1970-01-01", "until_time": "9999-12-31", "lowest": "00000000-0000-0000-0000-000000000000",
		"highest": highest, "before_match": highest, "before_game": 0, "status": 0, "end_reason": 0, "result": 0, "rows": 51,
	}
	for name, value := range change {
		all[name] = value
	}
	return all
}

const highest = "ffffffff-ffff-ffff-ffff-ffffffffffff"

// listCases are what each list is asked for besides its own field.
var listCases = map[string]pgx.NamedArgs{
	"sqlListMatches": {"platform": "*"}, "sqlListMatchesOfPlatform": {}, "sqlListMatchesOfPlayer": {}, "sqlListMatchesOfPair": {},
	"sqlListMatchesOfTable": {"table_ref": history.Table}, "sqlListMatchesOfRuleset": {"ruleset_id": history.RareRuleset},
	"sqlListMatchesLive": {"status": 2}, "sqlListMatchesEndedAs": {"status": 7},
	"sqlListGames": {"platform": "*"}, "sqlListGamesOfPlatform": {}, "sqlListGamesOfPlayer": {}, "sqlListGamesOfPair": {},
	"sqlListGamesOfTable": {"table_ref": history.Table}, "sqlListGamesOfRuleset": {"ruleset_id": history.RareRuleset},
	"sqlListGamesLive": {"result": 4}, "sqlListGamesEndedBy": {"end_reason": 24}, "sqlListGamesUndecided": {"result": 3},
}

func (a *archive) lists(t *testing.T) {
	queries := store.Constants(t)
	for name, query := range queries {
		if !strings.HasPrefix(name, "sqlListMatches") && !strings.HasPrefix(name, "sqlListGames") {
			continue // the others have a test of their own, beside the feed's
		}
		own, known := listCases[name]
		if !known {
			t.Errorf("%s is not explained", name)
			continue
		}
		for what, more := range map[string]pgx.NamedArgs{
			"first page": {}, "stake that few have": {"min_stake": history.RareStake}, "stake that nobody has": {"min_stake": 1 << 40},
			"half the time":         {"until_time": a.middle.Format(time.RFC3339), "highest": idAt(a.middle)},
			"ruleset that few have": {"ruleset_id": history.RareRuleset}, "no such ruleset": {"ruleset_id": "none"},
			"page of 200": {"rows": 201}, "small platform": {"platform": history.SmallPlatform},
		} {
			for _, generic := range []bool{false, true} {
				arguments := a.asked(own)
				for name, value := range more {
					arguments[name] = value
				}
				if own["platform"] == "*" {
					arguments["platform"] = "*"
				}
				plan := a.explain(query, arguments, generic)
				for _, fault := range faults(plan, (store.MaxExamined+1)*gamesPerMatch) {
					t.Errorf("%s, %s, generic %t: %s", name, what, generic, fault)
				}
				// A match, its games and its state are three descents of an index of
				// four levels and the rows themselves.
				if most := int64(store.MaxExamined*3*6 + 1000); plan.blocks() > most {
					t.Errorf("%s, %s, generic %t: reads %d blocks", name, what, generic, plan.blocks())
				}
			}
		}
	}
	for name := range listCases {
		if queries[name] == "" {
			t.Errorf("there is no %s", name)
		}
	}
}

func idAt(at time.Time) string {
	text := fmt.Sprintf("%012x", at.UnixMilli())
	return text[:8] + "-" + text[8:] + "-0000-0000-000000000000"
}

// others explains what is not a list: by the match, or by the pair.
func (a *archive) others(t *testing.T) {
	queries := store.Constants(t)
	match := ask[string](a, `SELECT match_id::text FROM events WHERE game = 2 AND seq = 5 LIMIT 1`)
	ids := ask[string](a, `SELECT array_agg(match_id)::text FROM (SELECT match_id FROM pairs WHERE platform = $1
		AND low_player_id = $2 AND high_player_id = $3 ORDER BY match_id DESC LIMIT 1000) m`,
		history.Platform, history.HeavyPlayer, history.SecondPlayer)
	for name, most := range map[string]float64{
		"sqlPairGames": (store.MaxPairMatches + 1) * gamesPerMatch, "sqlPairPoints": store.MaxPairMatches * gamesPerMatch * 5,
		"sqlThinkEvents": 2000, "sqlRecordedMatch": 1, "sqlRecordedState": 1, "sqlRecordedGames": gamesPerMatch,
		"sqlRecordedEvents": 20_000, "sqlRecordedSettlements": gamesPerMatch, "sqlRecordedLines": gamesPerMatch * 5,
		"sqlEvents": 500, "sqlEventsBetween": 500, "sqlFindExternalRef": 1,
	} {
		query := queries[name]
		if query == "" {
			t.Errorf("there is no %s", name)
			continue
		}
		arguments := a.asked(pgx.NamedArgs{"matches": ids})
		// Those with numbered parameters begin with the match.
		for i, value := range map[string][]any{
			"sqlThinkEvents": {match, 2}, "sqlEvents": {match, 2, 1, 500}, "sqlEventsBetween": {match, 1, 2, 2, 5, 500}, "sqlFindExternalRef": {history.Platform, "order 100"},
		}[name] {
			query = strings.ReplaceAll(query, fmt.Sprintf("$%d", i+1), fmt.Sprintf("@p%d", i+1))
			arguments[fmt.Sprintf("p%d", i+1)] = value
		}
		query = strings.ReplaceAll(query, "$1", "@p1")
		if arguments["p1"] == nil {
			arguments["p1"] = match
		}
		for _, generic := range []bool{false, true} {
			plan := a.explain(query, arguments, generic)
			for _, fault := range faults(plan, most) {
				t.Errorf("%s, generic %t: %s", name, generic, fault)
			}
		}
	}
}

// pages compares the first page of a long list with one from its middle and one
// from its end.
func (a *archive) pages(t *testing.T) {
	queries := store.Constants(t)
	for _, name := range []string{"sqlListMatches", "sqlListMatchesOfPlatform", "sqlListMatchesOfPlayer", "sqlListGames",
		"sqlListGamesOfPlatform", "sqlListGamesOfPlayer", "sqlListGamesEndedBy"} {
		end := ask[time.Time](a, `SELECT min(created_at) + interval '20 days' FROM matches`)
		blocks := map[string]int64{}
		for where, at := range map[string]time.Time{"first": time.Now(), "middle": a.middle, "last": end} {
			own := pgx.NamedArgs{"highest": idAt(at), "before_match": idAt(at), "end_reason": 1}
			if strings.HasPrefix(name, "sqlListMatches") {
				own["end_reason"] = 0
			}
			plan := a.explain(queries[name], a.asked(own), true)
			if plan.Rows < 51 {
				t.Errorf("%s: the %s page has %.0f rows", name, where, plan.Rows)
			}
			blocks[where] = plan.blocks()
		}
		if first := blocks["first"]; blocks["middle"] > 2*first || blocks["last"] > 2*first {
			t.Errorf("%s reads %v blocks", name, blocks)
		}
	}
}

// shortPages walks a list of which a call finds little in what it may look at:
// the list is whole, and no call has looked at more.
func (a *archive) shortPages(t *testing.T) {
	since := ask[time.Time](a, `SELECT max(created_at) - interval '100 days' FROM matches`)
	filter := referee.HistoryFilter{Platform: history.Platform, MinStake: history.RareStake, From: clock.Time(since.UnixMicro())}
	want := ask[int](a, `SELECT count(*) FROM matches WHERE platform = $1 AND stake >= $2 AND created_at >= $3`,
		history.Platform, history.RareStake, since)
	short, found := 0, map[referee.ID]bool{}
	for before := (referee.ID{}); ; {
		page, next, err := a.ListMatches(t.Context(), filter, 0, before, 50)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range page {
			if found[match.ID] {
				t.Errorf("match %s is listed twice", match.ID)
			}
			found[match.ID] = true
		}
		if next == (referee.ID{}) {
			break
		}
		if len(page) < 50 {
			short++
		}
		before = next
	}
	if len(found) != want || want == 0 || short == 0 {
		t.Errorf("%d matches of high stakes on pages of which %d were short, want %d", len(found), short, want)
	}
	wantGames := ask[int](a, `SELECT count(*) FROM games g JOIN matches m ON m.match_id = g.match_id
		WHERE m.platform = $1 AND g.end_reason = $2 AND m.stake = 50 AND m.created_at >= $3`,
		history.Platform, int16(rules.EndAllCaptured), since)
	filter.MinStake, filter.MaxStake = 50, 50
	seen := map[referee.GameKey]bool{}
	for before := (referee.GameKey{}); ; {
		page, next, err := a.ListGames(t.Context(), filter, rules.EndAllCaptured, referee.ResultAny, before, 200)
		if err != nil {
			t.Fatal(err)
		}
		for _, game := range page {
			seen[game.GameKey] = true
		}
		if next == (referee.GameKey{}) {
			break
		}
		before = next
	}
	if len(seen) != wantGames || wantGames == 0 {
		t.Errorf("%d games were listed, want %d", len(seen), wantGames)
	}
}

// heavyPair asks for the statistics of a pair that has more matches than are
// counted.
func (a *archive) heavyPair(t *testing.T) {
	filter := referee.HistoryFilter{Platform: history.Platform, Player: history.SecondPlayer, Opponent: history.HeavyPlayer}
	all := ask[int](a, `SELECT count(*) FROM pairs WHERE platform = $1 AND low_player_id = $2 AND high_player_id = $3`,
		history.Platform, history.HeavyPlayer, history.SecondPlayer)
	counted := 0
	for {
		s, err := a.PairStatistics(t.Context(), filter)
		if err != nil {
			t.Fatal(err)
		}
		counted += s.Matches
		if s.Matches > store.MaxPairMatches || s.Games < s.Matches/2 {
			t.Errorf("%d matches with %d games", s.Matches, s.Games)
		}
		if !s.More {
			break
		}
		filter.Until = s.Oldest
	}
	if counted != all || all < store.MaxPairMatches && *games >= 1_000_000 {
		t.Errorf("%d matches were counted, want %d", counted, all)
	}
}
