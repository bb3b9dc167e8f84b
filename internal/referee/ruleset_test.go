package referee

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
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
	if len(ids) != 17 {
		t.Fatalf("%d presets", len(ids))
	}
	for _, id := range ids {
		if preset(t, id).ArmyChess != nil {
			continue // TestArmyChessMatches plays those
		}
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
		if r.DarkChess != nil && r.DarkChess.MaxPlies != 1000 || r.ArmyChess != nil && r.ArmyChess.MaxPlies < 2000 {
			t.Errorf("%s allows other numbers of plies than its decisions say", id)
		}
	}
}

// TestDarkChessKeepsItsHash: matches name the rulesets of dark chess by these
// hashes, which were taken before there was a second family.
func TestDarkChessKeepsItsHash(t *testing.T) {
	content, err := os.ReadFile("testdata/preset_hashes.json")
	if err != nil {
		t.Fatal(err)
	}
	var hashes map[string]string
	if err := json.Unmarshal(content, &hashes); err != nil {
		t.Fatal(err)
	}
	for _, id := range presetIDs(t) {
		r := preset(t, id)
		want, ok := hashes[id]
		if dark := r.DarkChess != nil; dark != ok {
			t.Errorf("%s is of dark chess: %v, and has a hash: %v", id, dark, ok)
		}
		if got := hex.EncodeToString(r.Hash[:]); ok && got != want {
			t.Errorf("%s has the hash %s, want %s", id, got, want)
		}
	}
}

// TestStoredArmyChess: the stored form of a ruleset of army chess has nothing of
// the other family, and is read back as the same rules.
func TestStoredArmyChess(t *testing.T) {
	for _, id := range presetIDs(t) {
		r := preset(t, id)
		if r.ArmyChess == nil {
			continue
		}
		again, err := StoredRules(r.Content)
		if err != nil || again.Hash != r.Hash || *again.ArmyChess != *r.ArmyChess || again.DarkChess != nil {
			t.Errorf("%s reads back as another ruleset: %v", id, err)
		}
		if bytes.Contains(r.Content, []byte("dark_chess")) || again.Seats() != map[string]int{"siguo": 4}[id] && again.Seats() != 2 {
			t.Errorf("%s, %d seats: %s", id, again.Seats(), r.Content)
		}
	}
}

func TestUnsoundRulesets(t *testing.T) {
	cases := []struct{ name, content, field string }{
		{"unknown field", `{"id": "x", "colour": "red"}`, "ruleset"},
		{"no JSON", `{`, "ruleset"},
		{"two values", `{} {}`, "ruleset"},
		{"two families", `{"dark_chess": {}, "army_chess": {"form": "dark"}}`, "family"},
		{"comparison", `{"army_chess": {"form": "dark"}, "first_mover": "comparison"}`, "first_mover"},
		{"resignation twice", `{"army_chess": {"form": "dark"}, "resign_after_turns": 3}`, "resign_after_turns"},
		{"four agree", `{"army_chess": {"form": "four_player"}, "draw_offers": {"limit": 1}}`, "draw_offers"},
		{"four agree at any time", `{"army_chess": {"form": "four_player"}, "draw_offers": {"unlimited": true}}`, "draw_offers"},
		{"four agree on their turns", `{"army_chess": {"form": "four_player"}, "draw_offers": {"own_turn_only": true}}`, "draw_offers"},
		{"placing for ever", `{"army_chess": {"form": "dark"}, "clock": {"main_ms": 1, "on_expiry": "lose"}}`, "clock.placement_ms"},
		{"placing what was dealt", `{"army_chess": {"form": "flip"}, "clock": {"placement_ms": 1}}`, "clock.placement_ms"},
		{"placing dark chess", `{"dark_chess": {}, "clock": {"placement_ms": 1}}`, "clock.placement_ms"},
		{"placing in negative time", `{"army_chess": {"form": "dark"}, "clock": {"placement_ms": -1}}`, "clock.placement_ms"},
		{"unknown form", `{"army_chess": {"form": "six_player"}}`, "army_chess.form"},
		{"a refusal that tells", `{"army_chess": {"form": "dark", "mine": "refused"}}`, "army_chess.mine"},
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
	for _, boards := range []string{``, `"dark_chess": {}, "army_chess": {"form": "dark"}, `} {
		if _, err := StoredRules([]byte(`{` + boards + `"first_mover": "named"}`)); err == nil {
			t.Fatal("a stored ruleset of no family, or of two, is ready to judge by")
		}
	}
}
