package referee

import (
	"errors"
	"strings"
	"testing"

	"referee.example/internal/rules"
)

func presetIDs(t testing.TB) []string {
	t.Helper()
	presets, err := LoadPresets()
	if err != nil {
		t.Fatal(err)
	}
	return presets.IDs()
}

// TestPresetsPlay plays a whole match of every preset through the decisions.
func TestPresetsPlay(t *testing.T) {
	ids := presetIDs(t)
	if len(ids) != 12 {
		t.Fatalf("%d presets", len(ids))
	}
	for _, id := range ids {
		t.Run(id, func(t *testing.T) {
			tb := newTable(t, preset(t, id))
			for !tb.state.Status.Over() {
				tb.start()
				if tb.state.Game.Clock.Opening {
					tb.must(&CallTime{Header: tb.header(rules.NoSeat, false)})
				}
				tb.playOut()
				if tb.state.Status == MatchAwaitingRuling {
					tb.must(&RuleFoul{Header: tb.header(rules.NoSeat, false), Confirm: true, Note: "n"})
				}
			}
			tb.checkReplay()
		})
	}
}

func TestPresetsSayWhatIsOurDecision(t *testing.T) {
	for _, id := range presetIDs(t) {
		r := preset(t, id)
		if r.Description == "" || len(r.Decisions) == 0 {
			t.Errorf("%s lacks a description or its decisions", id)
		}
		if r.DarkChess.MaxPlies != 1000 {
			t.Errorf("%s allows %d plies", id, r.DarkChess.MaxPlies)
		}
	}
}

func TestUnsoundRulesets(t *testing.T) {
	cases := []struct{ name, content, field string }{
		{"unknown field", `{"id": "x", "colour": "red"}`, "ruleset"},
		{"no JSON", `{`, "ruleset"},
		{"two values", `{} {}`, "ruleset"},
		{"no family", `{"first_mover": "named", "series": {"valid_games": 1}}`, "family"},
		{"first mover", `{"first_mover": "oldest"}`, "first_mover"},
		{"offers", `{"draw_offers": {"limit": 3, "unlimited": true}}`, "draw_offers.limit"},
		{"turns", `{"resign_after_turns": -1}`, "resign_after_turns"},
		{"clock", `{"clock": {"turn_ms": -1}}`, "clock.turn_ms"},
		{"series", `{"series": {"valid_games": 0}}`, "series.valid_games"},
		{"board", `{"dark_chess": {"idle": {"limit": 5, "count": "sometimes"}}}`, "dark_chess.idle.count"},
		{"long description", `{"description": "` + strings.Repeat("x", maxDescriptionBytes+1) + `"}`, "description"},
		{"many decisions", `{"decisions": ["x"` + strings.Repeat(`, "x"`, maxDecisions) + `]}`, "decisions"},
		{"long decision", `{"decisions": ["` + strings.Repeat("x", maxDescriptionBytes+1) + `"]}`, "decisions"},
		{"long id", `{"id": "` + strings.Repeat("x", 65) + `"}`, "id"},
	}
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParseRules([]byte(tt.content))
			var unsound *RulesetError
			if !errors.As(err, &unsound) {
				t.Fatalf("error %v", err)
			}
			for _, fault := range unsound.Faults {
				if fault.Field == tt.field {
					return
				}
			}
			t.Fatalf("no fault of %s in %v", tt.field, unsound)
		})
	}
}

func TestHashFollowsContent(t *testing.T) {
	a := preset(t, sevenClub)
	again, err := ParseRules(a.Content)
	if err != nil || again.Hash != a.Hash {
		t.Fatalf("the stored form reads back as another ruleset: %v", err)
	}
	changed := a.Ruleset
	changed.ResignAfterTurns++
	b, err := CompileRules(changed)
	if err != nil || b.Hash == a.Hash {
		t.Fatalf("two rulesets of one hash: %v", err)
	}
}

// TestStoredRulesKeepTheirBytes reads back a form that today's encoder would
// not write, as of a time before a field was added.
func TestStoredRulesKeepTheirBytes(t *testing.T) {
	old := strings.Replace(string(preset(t, sevenClub).Content), `"draw_offers":{"limit":3},`, `"draw_offers": {"limit":3},`, 1)
	r, err := StoredRules([]byte(old))
	if err != nil {
		t.Fatal(err)
	}
	if string(r.Content) != old || r.Hash == preset(t, sevenClub).Hash {
		t.Fatal("a stored ruleset was written anew")
	}
	if _, err := StoredRules([]byte(`{"first_mover": "named"}`)); err == nil {
		t.Fatal("a stored ruleset without a board is ready to judge by")
	}
}
