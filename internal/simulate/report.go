package simulate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"referee.example/internal/simulate/check"
)

// Report is what a run came to so far, and the state that it is resumed from.
type Report struct {
	Settings   Settings          `json:"settings"`
	Batches    []Summary         `json:"batches"`
	Total      Summary           `json:"total"`
	Violations []check.Violation `json:"violations"`
	// Builds are the commits of the programs that played.
	Builds []string `json:"builds"`
}

// Settings are those that a resumed run must share with the one before.
type Settings struct {
	Seed     uint64 `json:"seed"`
	Batch    int    `json:"batch"`
	Replicas int    `json:"replicas"`
	Tables   int    `json:"tables"`
	Standbys int    `json:"standbys,omitempty"`
	Rates    string `json:"faults"`
}

// Summary is what one batch, or all, came to. All are counts but for Seconds.
type Summary struct {
	Seed            uint64         `json:"seed,omitempty"`
	Matches         int            `json:"matches"`
	ArmyChess       int            `json:"army_chess_matches"` // the others are of dark chess
	Seconds         float64        `json:"seconds"`
	Faults          map[Kind]int   `json:"faults"`
	ShiftedStarts   int            `json:"shifted_starts"` // replicas started with a wall clock that was off
	Calls           int            `json:"calls"`
	Acknowledged    int            `json:"acknowledged"`
	Replayed        int            `json:"replayed"` // of those, given again
	Refused         map[string]int `json:"refused"`  // by reason
	Unanswered      int            `json:"unanswered"`
	Plies           int            `json:"plies"`
	ServerPlies     int            `json:"server_plies"`
	Events          int            `json:"events"`
	Presets         map[string]int `json:"presets"` // matches; with "+short" where turns were short
	Endings         map[string]int `json:"endings"` // games, by reason
	Settlements     int            `json:"settlements"`
	Compensations   int            `json:"compensations"`
	Expiries        int            `json:"expiries"`
	DeadlinesTold   int            `json:"deadlines_told"`   // expiries whose deadline a client had been told
	Excused         check.Lateness `json:"excused"`          // expiries that came late when no replica was whole
	StalledExpiries check.Lateness `json:"stalled_expiries"` // late for as long as the machine was held up
	PausedClocks    int            `json:"paused_clocks"`
	WatchedEvents   int            `json:"watched_events"`
	WatchStreams    int            `json:"watch_streams"`
	FeedEntries     int            `json:"feed_entries"`
	FeedKills       int            `json:"feed_kills"` // of its reader
	Streamed        int            `json:"streamed"`   // answers on streams of actions, in order
	Reused          int            `json:"reused"`     // ids of other requests, refused
	Validated       int            `json:"validated"`  // plies that the rules alone found legal too
	Exports         int            `json:"exports"`
	Exported        int            `json:"exported"` // games in them
	Seeds           int            `json:"seeds"`    // that nobody received before their games' end
	// Placements are commitments that bind what was sent, PlacementExpiries phases that
	// ran out; Encounters verdicts that follow from the ranks, Boards those that showed
	// their viewers what they may know.
	Placements        int `json:"placements"`
	PlacementExpiries int `json:"placement_expiries"`
	Encounters        int `json:"encounters"`
	// PassedTurns expired with four seats, PlayedOn are seats that went out while their
	// partners played on.
	PassedTurns int `json:"passed_turns"`
	PlayedOn    int `json:"partners_played_on"`
	Boards      int `json:"boards"`

	Linearized   int           `json:"linearized_operations"`
	Undecided    int           `json:"undecided_matches"` // whose linearizability took too long to decide
	Verified     int           `json:"verified_matches"`  // by VerifyGame
	Stalls       int           `json:"stalls"`            // times that the machine held the meter up
	LongestStall time.Duration `json:"longest_stall_ns"`
	// PromotionMS is for each promotion how long after it was decided on a change was
	// first acknowledged.
	PromotionMS []int `json:"promotion_ms,omitempty"`
}

func openReport(o Options) (*Report, error) {
	r := &Report{Settings: Settings{o.Seed, o.Batch, o.Replicas, o.Tables, o.Standbys, o.Rates.String()}, Total: newSummary()}
	content, err := os.ReadFile(statePath(o.Dir))
	switch {
	case errors.Is(err, os.ErrNotExist):
		r.playedBy(o.Build)
		return r, nil
	case err != nil:
		return nil, err
	case !o.Resume:
		return nil, fmt.Errorf("%s is there already: resume that run, or choose another folder", statePath(o.Dir))
	}
	var before Report
	if err := json.Unmarshal(content, &before); err != nil {
		return nil, fmt.Errorf("%s: %w", statePath(o.Dir), err)
	}
	if before.Settings != r.Settings {
		return nil, fmt.Errorf("%s is of a run with other settings: %+v", statePath(o.Dir), before.Settings)
	}
	if len(before.Violations) > 0 {
		return nil, fmt.Errorf("%s is of a run that ended with %d violations", statePath(o.Dir), len(before.Violations))
	}
	before.playedBy(o.Build)
	return &before, nil
}

func (r *Report) playedBy(build string) {
	if !slices.Contains(r.Builds, build) {
		r.Builds = append(r.Builds, build)
	}
}

func newSummary() Summary {
	return Summary{Faults: map[Kind]int{}, Refused: map[string]int{}, Presets: map[string]int{}, Endings: map[string]int{}}
}

// reportFile is the report in words, in Options.Dir, as of the last batch.
const reportFile = "report.md"

func (r *Report) save(dir string) error {
	var words strings.Builder
	return errors.Join(writeFile(statePath(dir), r), r.Write(&words),
		os.WriteFile(filepath.Join(dir, reportFile), []byte(words.String()), 0o600))
}

func (r *Report) add(s Summary) {
	r.Batches = append(r.Batches, s)
	t := &r.Total
	t.Seconds += s.Seconds
	addTo(t.Faults, s.Faults)
	addTo(t.Refused, s.Refused)
	addTo(t.Presets, s.Presets)
	addTo(t.Endings, s.Endings)
	t.PromotionMS = append(t.PromotionMS, s.PromotionMS...)
	t.Excused.Add(s.Excused)
	t.StalledExpiries.Add(s.StalledExpiries)
	t.LongestStall = max(t.LongestStall, s.LongestStall)
	into, from := t.counts(), s.counts()
	for i := range into {
		*into[i].count += *from[i].count
	}
}

func addTo[K comparable](into, from map[K]int) {
	for key, count := range from {
		into[key] += count
	}
}

type named struct {
	name  string
	count *int
}

// counts are the plain counts, in the order in which they are told.
func (s *Summary) counts() []named {
	return []named{
		{"matches", &s.Matches}, {"of these of army chess, the others of dark chess", &s.ArmyChess}, {"starts with a wall clock that was off", &s.ShiftedStarts},
		{"calls", &s.Calls}, {"acknowledged", &s.Acknowledged}, {"of these answered again", &s.Replayed},
		{"without an answer", &s.Unanswered}, {"plies", &s.Plies}, {"of these by the server", &s.ServerPlies}, {"events", &s.Events},
		{"settlements", &s.Settlements}, {"of these compensations", &s.Compensations},
		{"expiries", &s.Expiries}, {"of these with a deadline that was told", &s.DeadlinesTold},
		{"of these late when no replica had been whole for a second", &s.Excused.Count},
		{"of these late for no longer than the machine was held up", &s.StalledExpiries.Count}, {"clocks paused for an outage", &s.PausedClocks},
		{"events watched", &s.WatchedEvents}, {"streams it took", &s.WatchStreams}, {"feed entries", &s.FeedEntries}, {"times that the feed's reader was killed", &s.FeedKills},
		{"answers in order on streams of actions", &s.Streamed}, {"ids of other requests refused", &s.Reused},
		{"plies validated by the rules alone", &s.Validated}, {"exports during play and after it", &s.Exports}, {"games in them", &s.Exported},
		{"seeds secret until their games ended", &s.Seeds},
		{"placements bound by their commitments", &s.Placements}, {"times that placing ran out", &s.PlacementExpiries},
		{"turns that passed", &s.PassedTurns}, {"seats out whose partners played on", &s.PlayedOn},
		{"encounters judged by the opened ranks", &s.Encounters}, {"boards that showed no more than their viewers may know", &s.Boards},
		{"operations linearized", &s.Linearized}, {"matches undecided", &s.Undecided},
		{"matches verified by the service too", &s.Verified}, {"times that the machine held up a commit", &s.Stalls},
	}
}

// line is a run's progress in a line.
func (r *Report) line() string {
	t := &r.Total
	return fmt.Sprintf("%d matches, %d plies, %d calls, %d kills, %d crashes, %d settlements, %.0f plies/s, %d violations",
		t.Matches, t.Plies, t.Calls, t.Faults[Kill], t.Faults[Crash], t.Settlements, float64(t.Plies)/max(t.Seconds, 1), len(r.Violations))
}

// toldViolations is how many the report tells; violations.json has them all.
const toldViolations = 50

// Write tells the report in words, as Markdown.
func (r *Report) Write(out io.Writer) error {
	var b strings.Builder
	t := &r.Total
	fmt.Fprintf(&b, "# Simulation report\n\nProduced by `referee simulate`, as docs/simulation.md explains.\n\n")
	fmt.Fprintf(&b, "Seed %d, %d batches of at most %d matches, %d replicas, %d standbys, %d tables, faults `%s`.\n", r.Settings.Seed,
		len(r.Batches), r.Settings.Batch, r.Settings.Replicas, r.Settings.Standbys, r.Settings.Tables, r.Settings.Rates)
	fmt.Fprintf(&b, "Played and checked in %s, %.2f s a match, by builds %s.\n\n| | |\n| --- | ---: |\n",
		time.Duration(t.Seconds)*time.Second, t.Seconds/max(float64(t.Matches), 1), strings.Join(r.Builds, ", "))
	for _, c := range t.counts() {
		fmt.Fprintf(&b, "| %s | %d |\n", c.name, *c.count)
	}
	fmt.Fprintf(&b, "| plies a match | %.0f |\n", float64(t.Plies)/max(float64(t.Matches), 1))
	fmt.Fprintf(&b, `
Late expiries: the latest of those that came when no replica had been whole for a second came %s after its
second; the latest of those on a machine held up came %s after it, %s of the time since its grace held up.
The longest that a commit past every link and replica was held up: %s.
`, rounded(t.Excused.Latest), rounded(t.StalledExpiries.Latest), rounded(t.StalledExpiries.Held), rounded(t.LongestStall))
	for _, table := range []struct {
		title string
		lines map[string]int
	}{{"Faults", textKeys(t.Faults)}, {"Refusals", t.Refused}, {"Games ended by", t.Endings}, {"Matches by ruleset", t.Presets}} {
		fmt.Fprintf(&b, "\n| %s | |\n| --- | ---: |\n", table.title)
		for _, key := range sortedKeys(table.lines) {
			fmt.Fprintf(&b, "| %s | %d |\n", key, table.lines[key])
		}
	}
	if ms := slices.Sorted(slices.Values(t.PromotionMS)); len(ms) > 0 {
		fmt.Fprintf(&b, "\nFrom the decision to promote a standby to the next change that was acknowledged:\n"+
			"%d ms in the middle, %d at least, %d at most.\n", ms[len(ms)/2], ms[0], ms[len(ms)-1])
	}
	fmt.Fprintf(&b, "\n**%d violations.**\n", len(r.Violations))
	for _, v := range r.Violations[:min(len(r.Violations), toldViolations)] {
		fmt.Fprintf(&b, "- %s\n", v)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func rounded(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

func textKeys(counts map[Kind]int) map[string]int {
	texts := map[string]int{}
	for kind, count := range counts {
		texts[string(kind)] = count
	}
	return texts
}

func sortedKeys(m map[string]int) []string {
	var keys []string
	for key := range m {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}
