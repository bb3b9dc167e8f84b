package simulate_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"referee.example/internal/simulate"
	"referee.example/internal/simulate/check"
)

// patch replaces a text of a file of this module, every time that it stands there.
type patch struct {
	file, old, new string
	times          int
}

// building is held by the one build under way, which keeps all processors busy.
var building sync.Mutex

// build builds the referee's program, with some texts of its source replaced.
func build(t *testing.T, patches ...patch) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	must(t, err)
	dir := t.TempDir()
	contents := map[string]string{}
	for _, p := range patches {
		path := filepath.Join(root, p.file)
		if _, ok := contents[path]; !ok {
			content, err := os.ReadFile(path)
			must(t, err)
			contents[path] = string(content)
		}
		if found := strings.Count(contents[path], p.old); found != p.times {
			t.Fatalf("%s has this text %d times, not %d: the fault can't be built in any more\n%s", p.file, found, p.times, p.old)
		}
		contents[path] = strings.ReplaceAll(contents[path], p.old, p.new)
	}
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for path, content := range contents {
		file, err := os.CreateTemp(dir, "*"+filepath.Ext(path))
		must(t, err)
		_, err = file.WriteString(content)
		must(t, errors.Join(err, file.Close()))
		overlay.Replace[path] = file.Name()
	}
	content, err := json.Marshal(overlay)
	must(t, err)
	overlayFile, program := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "referee")
	must(t, os.WriteFile(overlayFile, content, 0o600))
	building.Lock()
	defer building.Unlock()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-ldflags", "-s -w", "-overlay", overlayFile, "-o", program, "./cmd/referee")
	cmd.Dir = root
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, output)
	}
	return program
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const commitOfReferee = `	return r.store.Commit(ctx, Change{State: d.State, Events: d.Events, After: d.After, Before: d.Before,
		Known: d.Known, Create: create, Sweep: sweep})
`

// broken are builds that break a promise each, and what provokes it.
var broken = []struct {
	name    string
	patches []patch
	habits  simulate.Habits
	rates   simulate.Rates
	presets []string // all if none are told
	matches int      // 6 if none are told
	// promises are those of which at least one must be found broken.
	promises []string
}{
	{
		name: "guard removed from the commit",
		patches: []patch{
			{"internal/store/commit.go", "\t\tWHEN h.version <> g.decided_on THEN 1\n", "", 1},
			{"internal/store/commit.go", "match_id = $1 AND version = $19 AND", "match_id = $1 AND", 1},
			{"internal/store/group.go", "AND s.version = j.decided_on ", "", 1},
			// The log's key would stop the second of two.
			{"migrations/000001_init.up.sql", "    CONSTRAINT events_pkey PRIMARY KEY (match_id, game, seq),\n", "", 1},
		},
		habits:   simulate.Habits{Rival: 2, MostPlies: 30},
		promises: []string{check.OneLog, check.Durable, check.Linear},
	},
	{
		name: "answer before commit",
		patches: []patch{
			{"internal/referee/referee.go", commitOfReferee, `	change := Change{State: d.State, Events: d.Events, After: d.After, Before: d.Before,
		Known: d.Known, Create: create, Sweep: sweep}
	if create != nil || sweep {
		return r.store.Commit(ctx, change)
	}
	go func() {
		time.Sleep(20 * time.Millisecond)
		_ = r.store.Commit(context.WithoutCancel(ctx), change)
	}()
	return nil
`, 1},
			{"internal/referee/referee.go", "import (\n", "import (\n\t\"time\"\n", 1},
		},
		habits:   simulate.Habits{Read: 4, Double: 4, MostPlies: 12},
		rates:    simulate.Rates{simulate.Kill: 300},
		promises: []string{check.Durable, check.Linear},
	},
	{
		name: "announcement before commit",
		patches: []patch{
			{"internal/referee/referee.go", commitOfReferee, `	announced.Store(d.State.ID, d)
	time.Sleep(20 * time.Millisecond)
` + commitOfReferee, 1},
			{"internal/referee/referee.go", "// attempts bounds", "var announced sync.Map\n\n// attempts bounds", 1},
			{"internal/referee/referee.go", "import (\n", "import (\n\t\"sync\"\n\t\"time\"\n", 1},
			{"internal/referee/peek.go", "	return loaded.State, err\n", `	if d, ok := announced.Load(id); ok && err == nil && d.(*Decision).State.Version >= loaded.State.Version {
		s := *d.(*Decision).State
		return &s, nil
	}
	return loaded.State, err
`, 1},
			{"internal/referee/peek.go", "		return recent\n", `		if d, ok := announced.Load(id); ok && d.(*Decision).State.Version >= recent.Version {
			s := *d.(*Decision).State
			return &s
		}
		return recent
`, 1},
			{"internal/referee/read.go", "	return r.store.EventsBetween(ctx, id, from, to, limit)\n", `	events, err := r.store.EventsBetween(ctx, id, from, to, limit)
	if d, ok := announced.Load(id); ok && err == nil {
		for _, e := range d.(*Decision).Events {
			last, at := EventPlace{}, EventPlace{Game: e.Game, Seq: e.Seq}
			if len(events) > 0 {
				last = EventPlace{Game: events[len(events)-1].Game, Seq: events[len(events)-1].Seq}
			}
			if last.Before(at) && !at.Before(from) && !to.Before(at) && len(events) < limit {
				events = append(events, e)
			}
		}
	}
	return events, err
`, 1},
			{"internal/server/change.go", "	answer, err := s.referee.Do(ctx, command)\n", `	go func() {
		time.Sleep(10 * time.Millisecond)
		s.hub.changed(h.Match)
	}()
	answer, err := s.referee.Do(ctx, command)
`, 1},
			{"internal/server/change.go", "import (\n", "import (\n\t\"time\"\n", 1},
		},
		habits:   simulate.Habits{Rival: 2, MostPlies: 30},
		promises: []string{check.Streams},
	},
	{
		name: "expiry at the caller's time",
		patches: []patch{
			{"internal/referee/decide.go", "d.expire(deadline)", "d.expire(d.env.Now)", 1},
			{"internal/referee/evolve.go", "if !running || deadline != e.Time {", "if !running || deadline > e.Time {", 1},
		},
		habits:   simulate.Habits{Short: 1, Idle: 4, MostPlies: 8},
		promises: []string{check.Timely},
	},
	{
		name: "no grace",
		patches: []patch{
			{"internal/referee/decide.go", "d.env.Now >= deadline+clock.Grace", "d.env.Now >= deadline", 1},
			{"internal/referee/decide.go", "d.After = deadline + clock.Grace", "d.After = deadline", 1},
			{"internal/store/sweep.go", "interval '250 milliseconds'", "interval '0 milliseconds'", 2},
		},
		habits:   simulate.Habits{Short: 1, Idle: 4, MostPlies: 8},
		promises: []string{check.Timely},
	},
	{
		name: "settlement outside the commit",
		patches: []patch{{"internal/store/commit.go", "ending != nil {", "ending != nil && ending.next.game < 0 {", 1}, {"internal/store/commit.go", `	batch.QueuedQueries = append(batch.QueuedQueries, further.statements()...)
	err := s.send(ctx, "commit", batch)
`, `	later := &pgx.Batch{}
	for _, query := range further.statements() {
		into := batch
		if query.SQL == sqlAddSettlement || query.SQL == sqlAddSettlementLine {
			into = later
		}
		into.QueuedQueries = append(into.QueuedQueries, query)
	}
	err := s.send(ctx, "commit", batch)
	if err == nil && later.Len() > 0 {
		err = s.send(ctx, "settle", later)
	}
`, 1}},
		habits:   simulate.Habits{MostPlies: 20},
		promises: []string{check.Settled},
	},
	{
		name: "feed by sequence number",
		patches: []patch{
			{"migrations/000004_settlement_feed.up.sql", "CREATE FUNCTION queue_settlement()", "CREATE SEQUENCE feed_positions;\nCREATE FUNCTION queue_settlement()", 1},
			{"migrations/000004_settlement_feed.up.sql", "    INSERT INTO settlement_queue (match_id, game, compensates) VALUES (NEW.match_id, NEW.game, NEW.compensates);\n", `
	INSERT INTO settlement_feed (platform, position, match_id, game, compensates)
	SELECT platform, nextval('feed_positions'), NEW.match_id, NEW.game, NEW.compensates FROM matches WHERE match_id = NEW.match_id;
	PERFORM pg_sleep(random());
`, 1},
			{"internal/store/feed.go", "SELECT h.platform, h.position FROM unnest($1::text[]) AS w (platform) JOIN settlement_heads h ON h.platform = w.platform",
				"SELECT platform, max(position) FROM settlement_feed WHERE platform = ANY ($1::text[]) GROUP BY platform", 1},
		},
		habits:   simulate.Habits{MostPlies: 8},
		matches:  30, // of some settlements two have to overtake each other
		promises: []string{check.Streams},
	},
	{
		name: "another request with the same id answered as a retry",
		patches: []patch{{"internal/referee/replay.go",
			"first.RequestID != h.RequestID || !c.same(&first)", "first.RequestID != h.RequestID", 1}},
		habits:   simulate.Habits{Reuse: 3, MostPlies: 12},
		promises: []string{check.Once},
	},
	{
		name:     "settlement by the winner's captures",
		patches:  []patch{{"internal/series/settle.go", "captures[loser]\n", "captures[winners[0]+0*loser]\n", 1}},
		habits:   simulate.Habits{MostPlies: 60},
		promises: []string{check.Settled},
	},
	{
		name: "seed revealed before the end",
		patches: []patch{{"internal/referee/decide.go", "\tif e.Turned, e.Detail, err = family.judge(p, known, c); err != nil {\n",
			"\tif seed, err := d.openSeed(); err == nil {\n\t\te.ClientHash = seed[:]\n\t}\n" +
				"\tif e.Turned, e.Detail, err = family.judge(p, known, c); err != nil {\n", 1}},
		habits:   simulate.Habits{Record: 3, MostPlies: 20}, // auditors see client hashes
		promises: []string{check.Hidden},
	},
	{
		name: "event left out at a drain",
		patches: []patch{{"internal/server/watch_match.go", "\t\t\t\treturn w.end(refereev1.WatchEndReason_WATCH_END_REASON_DRAINING)\n",
			"\t\t\t\tw.at.seq++\n\t\t\t\treturn w.end(refereev1.WatchEndReason_WATCH_END_REASON_DRAINING)\n", 1}},
		habits:   simulate.Habits{MostPlies: 20},
		rates:    simulate.Rates{simulate.Drain: 60},
		promises: []string{check.Streams},
	},
	{
		name: "expiry twice",
		patches: []patch{
			{"internal/referee/decide.go", "	if _, err := d.add(Event{Kind: EventExpired,", `	if _, err := d.add(Event{Kind: EventExpired, Seat: seat, Time: deadline, Detail: detail.encode()}); err != nil {
		return err
	}
	if _, err := d.add(Event{Kind: EventExpired,`, 1},
			{"internal/referee/evolve.go", "if !running || deadline != e.Time {", "if !running && deadline == e.Time {", 1},
		},
		habits:   simulate.Habits{Short: 1, Idle: 4, MostPlies: 8},
		promises: []string{check.Once},
	},
	{
		name:     "answers on a stream of actions as they come",
		patches:  []patch{{"internal/server/play_actions.go", "\t\t\t<-before\n", "", 1}},
		habits:   simulate.Habits{Stream: 2, MostPlies: 20},
		promises: []string{check.Streams},
	},
	{
		name: "placement taken after play began",
		patches: []patch{
			{"internal/referee/placement.go", "\tcase g.Status == GamePlaying:\n\t\treturn refuse(ReasonNoPlacementPhase, \"all seats have placed, and play has begun\")\n" +
				"\tcase g.Status != GamePlacing:\n", "\tcase g.Status != GamePlacing && g.Status != GamePlaying:\n", 1},
			{"internal/referee/placement.go", "g.Placing.ready().Len() < len(s.Players) {", "g.Placing.ready().Len() < len(s.Players) || g.Status == GamePlaying {", 1},
			{"internal/referee/placement.go", "g.Status != GamePlacing || d.Attempt", "d.Attempt", 1},
		},
		habits:   simulate.Habits{Misplace: 3, MostPlies: 12},
		presets:  []string{"junqi-dark"},
		promises: []string{check.Placed},
	},
	{
		name: "placement opened with another's salt",
		patches: []patch{{"internal/referee/placement.go", "Salt: s.material(seed).PlacementSalt(uint8(seat), uint32(attempt))}",
			"Salt: s.material(seed).PlacementSalt(uint8(seat^1), uint32(attempt))}", 1}},
		habits:   simulate.Habits{MostPlies: 4},
		presets:  []string{"siguo"},
		promises: []string{check.Placed},
	},
	{
		name: "placement shown to the other seat",
		patches: []patch{{"internal/server/convert_army.go", "case s.Game.Status == referee.GameEnded, viewer == seat:",
			"case s.Game.Status == referee.GameEnded, viewer != rules.NoSeat:", 1}},
		habits:   simulate.Habits{MostPlies: 4},
		presets:  []string{"junqi-dark-contest-2012"},
		promises: []string{check.Hidden},
	},
	{
		name: "verdict against the ranks", // which no verifier can tell that judges by the same rules
		patches: []patch{{"internal/rules/junqi/compile.go", "defender == Bomb || attacker == defender:",
			"defender == Bomb || attacker == defender && attacker < Colonel:", 1}},
		habits:   simulate.Habits{MostPlies: 120},
		presets:  []string{"junqi-dark", "junqi-flip-simple"},
		promises: []string{check.Judged},
	},
	{
		name:     "others turn on the rails as engineers do",
		patches:  []patch{{"internal/rules/junqi/generate.go", "\tif rank == Engineer {\n", "\tif rank.mobile() {\n", 1}},
		habits:   simulate.Habits{MostPlies: 60},
		presets:  []string{"junqi-dark", "siguo"},
		promises: []string{check.Judged},
	},
	{
		name: "nobody is ever stuck",
		patches: []patch{{"internal/rules/junqi/generate.go", "seat rules.Seat) bool {\n\tif !s.down.empty() {\n",
			"seat rules.Seat) bool {\n\tif seat != rules.NoSeat {\n", 1}},
		habits:   simulate.Habits{Void: 200, MostPlies: 400}, // whoever is stuck waits in vain
		presets:  []string{"junqi-dark"},
		promises: []string{check.Judged},
	},
	{
		name: "verdict told otherwise than recorded",
		patches: []patch{{"internal/server/convert_army.go", "Verdict: refereev1.EncounterVerdict(d.Verdict),",
			"Verdict: refereev1.EncounterVerdict(max(d.Verdict, junqi.DefenderWon)),", 1}},
		habits:   simulate.Habits{MostPlies: 60},
		presets:  []string{"junqi-dark", "siguo"},
		promises: []string{check.Durable, check.Streams},
	},
}

// TestBrokenBuildsAreCaught plays a few matches against builds of the referee
// that each break a promise. Several are played at once, more than there are
// processors: much of the time nothing but time passes.
func TestBrokenBuildsAreCaught(t *testing.T) {
	places := make(chan struct{}, 4)
	var running sync.WaitGroup
	for _, b := range broken {
		running.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			t.Run(b.name, func(t *testing.T) {
				matches := max(b.matches, 6)
				catch(t, b.promises, simulate.Options{
					Seed: 1, Matches: matches, Batch: matches, Replicas: 2, Tables: 6, Rates: b.rates, Binary: build(t, b.patches...),
					Dir: t.TempDir(), Patience: 10 * time.Second, Habits: b.habits, Presets: b.presets,
				})
			})
		})
	}
	running.Wait()
}

// catch runs a simulation that has to find one of some promises broken.
func catch(t *testing.T, promises []string, o simulate.Options) {
	t.Helper()
	report, err := simulate.Run(t.Context(), o)
	if !errors.Is(err, simulate.ErrBroken) {
		t.Fatalf("nothing was found: %v", err)
	}
	for _, v := range report.Violations {
		if slices.Contains(promises, v.Promise) {
			t.Logf("found, with %d more: %.300s", len(report.Violations)-1, v)
			return
		}
	}
	t.Errorf("found something else: %v", report.Violations)
}
