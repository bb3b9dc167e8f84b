package referee

import (
	"encoding/json"
	"os"
	"testing"

	"referee.example/internal/rules"
)

// TestResignations plays so many turns of each side and resigns; the cases are
// data, named as the rule cases they come from.
func TestResignations(t *testing.T) {
	content, err := os.ReadFile("testdata/resignations.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		ID, Ruleset, Expect, Note string
		TurnsEach                 int `json:"turns_each"`
	}
	if err := json.Unmarshal(content, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.ID, func(t *testing.T) {
			tb := newTable(t, preset(t, c.Ruleset))
			tb.start()
			for range 2 * c.TurnsEach {
				tb.play(tb.choose())
			}
			loser := tb.turn()
			refusal := tb.do(&Resign{Header: tb.header(loser, false)})
			if c.Expect == "illegal" {
				if refusal == nil || refusal.Reason != ReasonResignationTooEarly || len(tb.state.Past) != 0 {
					t.Fatalf("%s: refusal %v", c.Note, refusal)
				}
				return
			}
			if refusal != nil {
				t.Fatalf("%s: refused: %v", c.Note, refusal)
			}
			got := tb.state.Past[0].Outcome
			if got.Reason != rules.EndResignation || got.Winners != rules.SeatsOf(1-loser) {
				t.Fatalf("%s: outcome %+v", c.Note, got)
			}
		})
	}
}
