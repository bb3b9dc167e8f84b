package banqi

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"sync"
	"testing"
)

// readJSON decodes a file of testdata strictly.
func readJSON(t testing.TB, name string, into any) {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// loaded reads the rulesets of testdata once.
var loaded = sync.OnceValues(func() (map[string]Rules, error) {
	data, err := os.ReadFile("testdata/rulesets.json")
	if err != nil {
		return nil, err
	}
	var all map[string]Rules
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	return all, decoder.Decode(&all)
})

// allRules are the rulesets of testdata: every house's board part and what the
// cases need besides. They are shared: change a copy.
func allRules(t testing.TB) map[string]Rules {
	t.Helper()
	all, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// rulesetNames returns the names in a fixed order.
func rulesetNames(t testing.TB) []string {
	t.Helper()
	return slices.Sorted(maps.Keys(allRules(t)))
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

// games compiles every ruleset.
func games(t testing.TB) map[string]*Game {
	t.Helper()
	all := make(map[string]*Game)
	for name := range allRules(t) {
		all[name] = compiled(t, name)
	}
	return all
}

func position(t testing.TB, g *Game, text string) State {
	t.Helper()
	s, err := g.ParseState(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s
}
