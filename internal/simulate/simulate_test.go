package simulate_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"referee.example/internal/simulate"
)

// presets is how many houses' rulesets there are.
const presets = 17

// TestSimulation plays matches of every preset under faults, by a program whose
// wall clock may be shifted, and reads its report. The seed is fixed; so are plan
// and players.
func TestSimulation(t *testing.T) {
	dir := t.TempDir()
	state, program := filepath.Join(dir, "run"), filepath.Join(dir, "referee")
	if output, err := exec.CommandContext(t.Context(), "go", "run", "./shifted", "-o", program).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	cmd := exec.CommandContext(t.Context(), program, "simulate", "--seed", "6", "--matches", "200", "--tables", "48", "--dir", state,
		"--faults", "kill=2000,crash=8000,pause=4000,cut=4000,lose=4000,lag=5000,freeze=4000,drain=5000")
	output, err := cmd.CombinedOutput()
	t.Logf("%s", output)
	if err != nil {
		t.Fatal(err)
	}
	var report simulate.Report
	content, err := os.ReadFile(filepath.Join(state, "state.json"))
	must(t, err)
	must(t, json.Unmarshal(content, &report))
	total := report.Total
	for _, kind := range []simulate.Kind{simulate.Kill, simulate.Crash, simulate.Pause, simulate.Drain,
		simulate.Cut, simulate.Lose, simulate.Lag, simulate.Freeze} {
		if total.Faults[kind] == 0 {
			t.Errorf("there was no %s, with which the plan begins", kind)
		}
	}
	for what, count := range map[string]int{
		"expiries": total.Expiries, "deadlines that were told": total.DeadlinesTold, "requests answered again": total.Replayed,
		"calls without an answer": total.Unanswered, "stale calls": total.Refused["STALE"], "settlements": total.Settlements,
		"replicas with another wall clock": total.ShiftedStarts, "linearized operations": total.Linearized, "watched events": total.WatchedEvents,
		"entries of the feed": total.FeedEntries, "kills of its reader": total.FeedKills, "answers on streams of actions": total.Streamed,
		"placements": total.Placements, "encounters": total.Encounters, "boards": total.Boards,
		"turns that passed": total.PassedTurns, "partners who played on": total.PlayedOn,
		"placements out of time": total.Refused["NO_PLACEMENT_PHASE"], "refused actions and placements": total.Refused["ILLEGAL_ACTION"],
		"ids used again": total.Reused, "plies validated": total.Validated, "games exported": total.Exported, "seeds": total.Seeds,
	} {
		if count == 0 {
			t.Errorf("there were no %s: nothing was proved of them", what)
		}
	}
	houses := map[string]int{}
	for name, matches := range total.Presets {
		houses[strings.TrimSuffix(name, "+short")] += matches
	}
	for _, house := range []string{"junqi-dark", "junqi-dark-contest-2012", "junqi-flip", "junqi-flip-simple", "siguo"} {
		if houses[house] < 5 {
			t.Errorf("%d matches of %s are too few", houses[house], house)
		}
	}
	if len(houses) != presets || total.Verified != total.Matches || total.Undecided != 0 || len(report.Violations) != 0 {
		t.Errorf("%d presets, %d of %d matches verified, %d undecided, %d violations",
			len(houses), total.Verified, total.Matches, total.Undecided, len(report.Violations))
	}
}

// planOf is the beginning of a plan.
func planOf(seed uint64, rates simulate.Rates) (faults []simulate.Fault) {
	plan := simulate.NewPlan(seed, rates, 3)
	for range 500 {
		f, _ := plan.Next()
		faults = append(faults, f)
	}
	return faults
}

func TestTheSameSeedGivesTheSamePlan(t *testing.T) {
	rates := simulate.DefaultRates()
	if !slices.Equal(planOf(7, rates), planOf(7, rates)) {
		t.Error("the same seed gives two plans")
	}
	if slices.Equal(planOf(7, rates), planOf(8, rates)) {
		t.Error("two seeds give the same plan")
	}
	// Recorded, so that a report's seed means the same plan tomorrow.
	const want = "after    725 calls and 2449 us: crash  for 1045 ms"
	if got := planOf(7, rates)[0].String(); got != want {
		t.Errorf("seed 7 begins with\n%s, not\n%s", got, want)
	}
}

func TestAPlanKeepsItsRates(t *testing.T) {
	rates := simulate.Rates{simulate.Kill: 100, simulate.Crash: 1000}
	plan := simulate.NewPlan(1, rates, 2)
	calls, counts := 0, map[simulate.Kind]int{}
	for calls < 1_000_000 {
		f, ok := plan.Next()
		if !ok {
			t.Fatal("the plan has an end")
		}
		calls += f.AfterCalls
		counts[f.Kind]++
	}
	if kills, crashes := counts[simulate.Kill], counts[simulate.Crash]; kills < 9_000 || kills > 11_000 || crashes < 850 || crashes > 1_150 || len(counts) != 2 {
		t.Errorf("in a million calls: %v", counts)
	}
	if _, ok := simulate.NewPlan(1, simulate.Rates{}, 2).Next(); ok {
		t.Error("a plan without rates has a fault")
	}
}

// TestAPlanBeginsWithEveryKind: however rare a kind is, on each of its links it is
// among the first.
func TestAPlanBeginsWithEveryKind(t *testing.T) {
	rates := simulate.Rates{simulate.Kill: 1, simulate.Crash: 1_000_000, simulate.Pause: 1_000_000, simulate.Drain: 1_000_000,
		simulate.Cut: 1_000_000, simulate.Lose: 1_000_000, simulate.Lag: 1_000_000, simulate.Freeze: 1_000_000}
	seen := map[string]bool{}
	for _, f := range planOf(7, rates)[:12] {
		seen[string(f.Kind)+f.Link] = true
	}
	if len(seen) != 12 {
		t.Errorf("it begins with %v", seen)
	}
}

func TestRates(t *testing.T) {
	for _, text := range []string{"none", "kill=4000", simulate.DefaultRates().String()} {
		rates, err := simulate.ParseRates(text)
		if err != nil || rates.String() != text {
			t.Errorf("%q is read as %q, %v", text, rates, err)
		}
	}
	for _, text := range []string{"", "kill", "kill=", "kill=0", "kill=-1", "kill=x", "explode=3", "kill=1,,"} {
		if rates, err := simulate.ParseRates(text); err == nil {
			t.Errorf("%q is read as %q", text, rates)
		}
	}
}

func TestOptionsAreLimited(t *testing.T) {
	sound := simulate.Options{Matches: 1, Batch: 1, Replicas: 1, Tables: 1}
	if err := sound.Validate(); err != nil {
		t.Fatal(err)
	}
	for i, change := range []func(*simulate.Options){
		func(o *simulate.Options) { o.Matches = 0 },
		func(o *simulate.Options) { o.Matches = simulate.MaxMatches + 1 },
		func(o *simulate.Options) { o.Batch = 0 },
		func(o *simulate.Options) { o.Batch = simulate.MaxBatch + 1 },
		func(o *simulate.Options) { o.Replicas = 0 },
		func(o *simulate.Options) { o.Replicas = simulate.MaxReplicas + 1 },
		func(o *simulate.Options) { o.Tables = 0 },
		func(o *simulate.Options) { o.Tables = simulate.MaxTables + 1 },
	} {
		o := sound
		change(&o)
		if o.Validate() == nil {
			t.Errorf("change %d is not refused", i)
		}
	}
}

// older makes a run's state one of a build that knew nothing of army chess.
func older(t *testing.T, dir string) {
	t.Helper()
	path := filepath.Join(dir, "state.json")
	content, err := os.ReadFile(path)
	must(t, err)
	var state map[string]any
	must(t, json.Unmarshal(content, &state))
	summaries := []any{state["total"]}
	for _, summary := range append(summaries, state["batches"].([]any)...) {
		for _, count := range []string{"army_chess_matches", "placements", "placement_expiries", "encounters", "boards", "passed_turns", "partners_played_on"} {
			if _, ok := summary.(map[string]any)[count]; !ok {
				t.Fatalf("the state has no %s", count)
			}
			delete(summary.(map[string]any), count)
		}
	}
	content, err = json.Marshal(state)
	must(t, errors.Join(err, os.WriteFile(path, content, 0o600)))
}

// TestARunIsResumed plays a run in two goes, the first of them as a build did that
// knew dark chess alone: the second plays what is missing, and a run with other
// settings is refused.
func TestARunIsResumed(t *testing.T) {
	o := simulate.Options{
		Seed: 3, Matches: 2, Batch: 2, Replicas: 1, Tables: 2, Binary: build(t), Dir: t.TempDir(),
		Habits: simulate.Habits{MostPlies: 12}, Presets: []string{"7club-standard"},
	}
	first, err := simulate.Run(t.Context(), o)
	must(t, err)
	older(t, o.Dir)
	o.Matches, o.Presets = 3, []string{"junqi-dark"}
	if _, err := simulate.Run(t.Context(), o); err == nil {
		t.Error("a run that is there was begun anew")
	}
	o.Resume = true
	second, err := simulate.Run(t.Context(), o)
	must(t, err)
	if second.Total.Matches != 3 || len(second.Batches) != 2 || second.Batches[0].Seed != 3 || second.Batches[1].Seed != 4 ||
		second.Total.Plies != first.Total.Plies+second.Batches[1].Plies {
		t.Errorf("resumed: %+v", second)
	}
	o.Replicas = 2
	if _, err := simulate.Run(t.Context(), o); err == nil {
		t.Error("it went on with other settings")
	}
	var words strings.Builder
	must(t, errors.Join(second.Write(&words)))
	for _, want := range []string{
		fmt.Sprintf("| plies | %d |\n", second.Total.Plies), "| matches | 3 |\n", "| of these of army chess, the others of dark chess | 1 |\n",
		fmt.Sprintf("| placements bound by their commitments | %d |\n", second.Total.Placements), "| 7club-standard | 2 |\n", "| junqi-dark | 1 |\n",
	} {
		if !strings.Contains(words.String(), want) {
			t.Errorf("the report does not say %q:\n%s", want, words.String())
		}
	}
	if second.Total.Placements < 2 {
		t.Errorf("%d placements", second.Total.Placements)
	}
	kept, err := os.ReadFile(filepath.Join(o.Dir, "report.md"))
	must(t, err)
	if string(kept) != words.String() {
		t.Errorf("the folder has another report:\n%s", kept)
	}
}
