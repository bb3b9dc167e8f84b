package referee

import (
	"slices"
	"testing"
)

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
		if n := openings(r); n == 0 || r.DarkChess != nil && n != 32 {
			t.Fatal("a game can't begin")
		}
	})
}

// openings counts what may be played first.
func openings(r *Rules) int {
	h, err := r.family.reveal(r.Deck(), slices.Repeat([]string{"98776/6.5.5/44.33/3.2.2/2MM11/MF1BB"}, r.Seats()))
	if err != nil {
		return 0
	}
	start := r.family.start(0, h)
	return len(r.family.list(&start, h))
}
