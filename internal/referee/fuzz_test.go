package referee

import "testing"

// FuzzParseRules: whatever is read as a ruleset reads back from its stored form
// as itself, has words, and can be played.
func FuzzParseRules(f *testing.F) {
	presets, err := LoadPresets()
	if err != nil {
		f.Fatal(err)
	}
	for _, id := range presets.IDs() {
		f.Add(presets.Get(id).Content)
	}
	f.Add([]byte(full))
	f.Fuzz(func(t *testing.T, content []byte) {
		r, err := ParseRules(content)
		if err != nil {
			return
		}
		again, err := ParseRules(r.Content)
		if err != nil || again.Hash != r.Hash {
			t.Fatalf("%v: the stored form %s reads back as another ruleset", err, r.Content)
		}
		if sections := r.InWords(); len(sections[0].Lines) == 0 {
			t.Fatal("a board without words")
		}
		start := r.family.start(0)
		if len(r.family.list(&start, hidden{})) != 32 {
			t.Fatal("a game can't begin")
		}
	})
}
