package server

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	refereev1 "referee.example/proto/referee/v1"

	"google.golang.org/protobuf/encoding/protojson"
)

// sound is the ruleset that testdata/ruleset_faults.json changes.
const sound = `{
	"dark_chess": {"capture_matrix": {"K": "KGMRNC", "P": "KP"}, "cannon_targets": "K"},
	"first_mover": "named", "draw_offers": {}, "clock": {}, "series": {"valid_games": 1}, "stakes": {}
}`

// TestCheckRuleset changes a sound ruleset field by field, and wants a reason
// for each field that is then wrong and for no other.
func TestCheckRuleset(t *testing.T) {
	r := newRoom(t, options{})
	var cases []struct {
		Name   string         `json:"name"`
		Change map[string]any `json:"change"` // path of a field to its value, null for absent
		Faults []string       `json:"faults"` // fields that are refused, in any order
	}
	readCases(t, "testdata/ruleset_faults.json", &cases)
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			got, err := r.rules.CheckRuleset(r.as("east"), &refereev1.CheckRulesetRequest{Ruleset: changed(t, c.Change)})
			must(t, err)
			var fields []string
			for _, fault := range got.GetFaults() {
				if fault.GetDescription() == "" {
					t.Errorf("%s is refused without a reason", fault.GetField())
				}
				fields = append(fields, fault.GetField())
			}
			slices.Sort(fields)
			slices.Sort(c.Faults)
			if fields = slices.Compact(fields); !slices.Equal(fields, c.Faults) {
				t.Errorf("refused %v, want %v", got.GetFaults(), c.Faults)
			}
			if sound := len(got.GetRulesetHash()) == 32; sound != (len(c.Faults) == 0) {
				t.Errorf("hash %x", got.GetRulesetHash())
			}
		})
	}
}

func changed(t *testing.T, change map[string]any) *refereev1.Ruleset {
	t.Helper()
	var fields map[string]any
	must(t, json.Unmarshal([]byte(sound), &fields))
	for path, value := range change {
		at := fields
		parts := strings.Split(path, ".")
		for _, part := range parts[:len(parts)-1] {
			at = at[part].(map[string]any)
		}
		if at[parts[len(parts)-1]] = value; value == nil {
			delete(at, parts[len(parts)-1])
		}
	}
	content, err := json.Marshal(fields)
	must(t, err)
	out := &refereev1.Ruleset{}
	must(t, protojson.Unmarshal(content, out))
	return out
}
