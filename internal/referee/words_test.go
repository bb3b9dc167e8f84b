package referee

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"referee.example/internal/rules/banqi"
)

// full is a ruleset in which every field is set, sound or not.
const full = `{
	"dark_chess": {
		"capture_matrix": {"K": "K"}, "cannon_targets": "K", "chariot_rush": "matrix", "rush_dark": true, "chariot_slide": true,
		"horse": "diagonal_only", "chain": true, "dark_capture": true, "failed_attacker": "lost",
		"idle": {"limit": 7, "count": "cumulative", "when": "all_face_up", "trigger": "on_request"},
		"repetition": {"kind": "position", "times": 4, "chase_exempt": true},
		"chase": {"chaser": "side", "length": 8, "sanction": "foul", "lower_rank_exempt": true, "last_piece_exempt": true, "forced_death_exempt": true},
		"fouls_to_lose": 3, "max_plies": 99, "ending_order": ["idle"], "feats": true
	},
	"decisions": ["one"], "resign_after_turns": 2, "draw_offers": {"limit": 5, "unlimited": true, "own_turn_only": true}, "first_mover": "comparison",
	"clock": {"turn_ms": 1000, "extensions": 2, "extension_ms": 3000, "bank_ms": 4000, "bank_use": "manual", "main_ms": 5000,
		"increment_ms": 6000, "untimed_opening": true, "warning_ms": 700, "on_expiry": "server_plays", "expiry_books": "yellow_card", "booked_to_lose": 8, "placement_ms": 9000},
	"series": {"valid_games": 2, "stop_when_decided": true, "max_games": 9},
	"stakes": {"entry_multiple": 9, "next_multiple": 4, "loss_multiple": 2, "reduced_multiple": 1, "reduced_from_captures": 8, "fee_doubles": true},
	"abandon_allowed": true
}`

// fullArmyChess are the fields that army chess adds, in a board's place.
const fullArmyChess = `{
	"army_chess": {
		"form": "four_player", "visibility": "partner", "mine": "both", "lowest_clears_mines": true, "bomb_vs_flag": "bomb_lost",
		"flag_taker": "lowest", "flag_after_mines": true, "flag_carry_home": true, "weaker_attacks": "refused",
		"flag_reveal": "never", "engineer_scouts": true, "hq_protects": true, "colours": "own_two",
		"idle": {"limit": 7, "result": "loss"}, "illegal_moves": "lose", "resign_from_ply": 9, "leaver": "unscored", "max_plies": 99
	}
}`

// TestEveryFieldHasWords clears the fields of a ruleset one by one: each is
// missed in the words.
func TestEveryFieldHasWords(t *testing.T) {
	decode := func(text string) (r Ruleset) {
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	r, army := decode(full), decode(fullArmyChess)
	checked := eachField(t, reflect.ValueOf(&r).Elem(), "", func(path string) string {
		if path == "draw_offers.limit" { // of no effect beside unlimited
			r.DrawOffers.Unlimited = false
			defer func() { r.DrawOffers.Unlimited = true }()
		}
		return fmt.Sprint(r.InWords())
	})
	if checked < 45 {
		t.Errorf("only %d fields", checked)
	}
	checked = eachField(t, reflect.ValueOf(army.ArmyChess).Elem(), "army_chess.", func(path string) string {
		kept := *army.ArmyChess
		defer func() { *army.ArmyChess = kept }()
		if path == "army_chess.colours" { // the flip form's alone
			army.ArmyChess.Form = "flip"
		}
		return fmt.Sprint(army.InWords())
	})
	if checked != 19 {
		t.Errorf("%d fields of army chess", checked)
	}
}

// eachField clears each field below v and compares the words before and after.
func eachField(t *testing.T, v reflect.Value, path string, words func(path string) string) (checked int) {
	t.Helper()
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		field, at := v.Field(i), path+name
		if field.Kind() == reflect.Pointer && field.IsNil() {
			continue // the other family
		}
		if at == "id" || at == "description" {
			continue // they stand above the words
		}
		if field.Kind() == reflect.Pointer {
			field = field.Elem()
		}
		if field.Kind() == reflect.Struct {
			checked += eachField(t, field, at+".", words)
			continue
		}
		if field.IsZero() {
			t.Errorf("%s is not set in the full ruleset", at)
		}
		before, kept := words(at), reflect.ValueOf(field.Interface())
		field.SetZero()
		if words(at) == before {
			t.Errorf("%s has no words", at)
		}
		field.Set(kept)
		checked++
	}
	return checked
}

// TestPresetsAreTheEnginesHouses: the engine's cases and properties run over
// boards of the presets' names, which have to be the presets' boards.
func TestPresetsAreTheEnginesHouses(t *testing.T) {
	content, err := os.ReadFile("../rules/banqi/testdata/rulesets.json")
	if err != nil {
		t.Fatal(err)
	}
	var boards map[string]banqi.Rules
	if err := json.Unmarshal(content, &boards); err != nil {
		t.Fatal(err)
	}
	for _, id := range presetIDs(t) {
		if preset(t, id).DarkChess == nil {
			continue // the tests of army chess read the presets themselves
		}
		tested, ok := boards[id]
		if !ok {
			t.Errorf("the engine's tests know no %s", id)
			continue
		}
		if got, want := boardWords(*preset(t, id).DarkChess), boardWords(tested); got != want {
			t.Errorf("%s plays by\n%s\nthe engine's tests by\n%s", id, got, want)
		}
	}
}

// boardWords are a board's rules in words, which say each field's meaning
// whatever its spelling.
func boardWords(r banqi.Rules) string { return strings.Join(r.Sentences(), "\n") }
