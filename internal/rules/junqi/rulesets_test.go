package junqi

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"referee.example/internal/clock"
	"referee.example/internal/series"
)

// readJSON decodes a file strictly.
func readJSON(t testing.TB, name string, into any) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// preset is the form of the preset files: a whole ruleset.
type preset struct {
	ID          string   `json:"id"`
	Description string   `json:"description"`
	Decisions   []string `json:"decisions"`
	ArmyChess   Rules    `json:"army_chess"`
	FirstMover  string   `json:"first_mover"`
	DrawOffers  struct {
		Limit       int  `json:"limit"`
		Unlimited   bool `json:"unlimited"`
		OwnTurnOnly bool `json:"own_turn_only"`
	} `json:"draw_offers"`
	Clock          clock.System  `json:"clock"`
	Series         series.Rules  `json:"series"`
	Stakes         series.Stakes `json:"stakes"`
	AbandonAllowed bool          `json:"abandon_allowed"`
}

// presetDirectory has the presets of all families.
const presetDirectory = "../../referee/presets/"

// presetNames are the presets of the specification, section 5.
var presetNames = []string{"junqi-dark", "junqi-dark-contest-2012", "junqi-flip", "junqi-flip-simple", "siguo"}

func readPreset(t testing.TB, name string) (p preset) {
	t.Helper()
	readJSON(t, presetDirectory+name+".json", &p)
	return p
}

// allRules are the rulesets of testdata and the presets.
func allRules(t testing.TB) map[string]Rules {
	t.Helper()
	var all map[string]Rules
	readJSON(t, "testdata/rulesets.json", &all)
	for _, name := range presetNames {
		all[name] = readPreset(t, name).ArmyChess
	}
	return all
}

func compiled(t testing.TB, name string) *Game {
	t.Helper()
	r, ok := allRules(t)[name]
	if !ok {
		t.Fatalf("no ruleset %q", name)
	}
	g, err := Compile(r)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return g
}

// TestPresets: every preset file is sound in all its parts and says in words what
// it is.
func TestPresets(t *testing.T) {
	files, err := os.ReadDir(presetDirectory)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range files {
		content, err := os.ReadFile(presetDirectory + file.Name())
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(content, []byte(`"army_chess"`)) {
			found = append(found, strings.TrimSuffix(file.Name(), ".json"))
		}
	}
	slices.Sort(found)
	if !slices.Equal(found, presetNames) {
		t.Fatalf("presets of army chess %v, want %v", found, presetNames)
	}
	for _, name := range presetNames {
		p := readPreset(t, name)
		if p.ID != name || p.Description == "" || len(p.Decisions) == 0 {
			t.Errorf("%s: id %q, description %q, %d decisions", name, p.ID, p.Description, len(p.Decisions))
		}
		board, times, match, stakes := p.ArmyChess.Validate(), p.Clock.Validate(), p.Series.Validate(), p.Stakes.Validate()
		if len(board)+len(times)+len(match)+len(stakes) > 0 {
			t.Errorf("%s: %v %v %v %v", name, board, times, match, stakes)
		}
		if p.ArmyChess.MaxPlies == 0 || p.Stakes.LossMultiple != 1 {
			t.Errorf("%s: games need an end and the loser pays once", name)
		}
	}
}

// TestSentences: each ruleset has its sentences, none of them empty, and no two
// rulesets that differ in a rule have the same.
func TestSentences(t *testing.T) {
	all := allRules(t)
	byText := make(map[string]string)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		lines := all[name].Sentences()
		for i, line := range lines {
			if strings.TrimSpace(line) == "" || !strings.HasSuffix(line, ".") || strings.HasPrefix(line, " ") {
				t.Errorf("%s: sentence %d is %q", name, i, line)
			}
		}
		text := strings.Join(lines, "\n")
		if other, ok := byText[text]; ok && !sameRules(all[other], all[name]) {
			t.Errorf("%s and %s read the same", name, other)
		}
		byText[text] = name
	}
}

// sameRules compares rulesets with their defaults written out.
func sameRules(a, b Rules) bool {
	spell := func(r Rules) Rules {
		for value, standard := range map[*string]string{
			&r.Mine: "stays", &r.BombVsFlag: "both", &r.FlagTaker: "any", &r.WeakerAttacks: "allowed", &r.IllegalMoves: "refused",
			&r.Leaver: "loses", &r.Idle.Result: "draw",
		} {
			if *value == "" {
				*value = standard
			}
		}
		return r
	}
	return spell(a) == spell(b)
}
