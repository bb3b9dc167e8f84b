package banqi

import (
	"slices"
	"testing"
)

// TestSentences compares what is said of rulesets that between them set each
// field to each of its values.
func TestSentences(t *testing.T) {
	var want map[string][]string
	readJSON(t, "sentences.json", &want)
	all := allRules(t)
	for name, sentences := range want {
		r, ok := all[name]
		if !ok {
			t.Fatalf("no ruleset %q", name)
		}
		if got := r.Sentences(); !slices.Equal(got, sentences) {
			t.Errorf("%s is\n%q\nwant\n%q", name, got, sentences)
		}
	}
}

// TestWords compares what is said of positions.
func TestWords(t *testing.T) {
	var cases []struct {
		Rules    string   `json:"rules"`
		Position string   `json:"position"`
		Words    []string `json:"words"`
	}
	readJSON(t, "words.json", &cases)
	for _, c := range cases {
		g := compiled(t, c.Rules)
		s := position(t, g, c.Position)
		if got := g.Words(&s); !slices.Equal(got, c.Words) {
			t.Errorf("%s\n%q\nwant %q", c.Position, got, c.Words)
		}
	}
}
