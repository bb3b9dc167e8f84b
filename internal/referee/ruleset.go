package referee

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"referee.example/internal/clock"
	"referee.example/internal/rules/banqi"
	"referee.example/internal/rules/junqi"
	"referee.example/internal/series"
)

// EngineVersion is the version of the rules engines that judge new matches. It
// goes up when the same log would be judged otherwise under the same ruleset.
const EngineVersion = 1

// Ruleset is everything that differs between houses, as data. Its JSON form is
// that of the preset files, of the contract and of the stored record; a field
// that is absent is off.
type Ruleset struct {
	ID          string   `json:"id,omitempty"`
	Description string   `json:"description,omitempty"`
	Decisions   []string `json:"decisions,omitempty"` // choices of ours where the house's text is silent
	// The board part: that of one family, and of no other.
	DarkChess        *banqi.Rules  `json:"dark_chess,omitempty"`
	ArmyChess        *junqi.Rules  `json:"army_chess,omitempty"`
	ResignAfterTurns int           `json:"resign_after_turns,omitempty"`
	DrawOffers       DrawOffers    `json:"draw_offers"`
	FirstMover       string        `json:"first_mover"`
	Clock            clock.System  `json:"clock"`
	Series           series.Rules  `json:"series"`
	Stakes           series.Stakes `json:"stakes"`
	// AbandonAllowed lets a match be abandoned between games for any reason;
	// otherwise only for a balance that can't cover the next one.
	AbandonAllowed bool `json:"abandon_allowed,omitempty"`
}

// DrawOffers limit offers of a draw.
type DrawOffers struct {
	Limit       int  `json:"limit,omitempty"` // a player and game; 0 = none may be made
	Unlimited   bool `json:"unlimited,omitempty"`
	OwnTurnOnly bool `json:"own_turn_only,omitempty"`
}

// How the first mover of a match is found.
const (
	FirstMoverComparison = "comparison"
	FirstMoverNamed      = "named"
)

// Limits of a ruleset.
const (
	MaxRulesetBytes     = 16 << 10 // its JSON form
	maxIDBytes          = 64
	maxDescriptionBytes = 2048
	maxDecisions        = 32
	maxResignAfterTurns = 1000
	maxDrawOffers       = 1000
)

// FieldError is what is wrong with a field of a ruleset or a request.
type FieldError struct{ Field, Reason string }

func (e FieldError) Error() string { return e.Field + ": " + e.Reason }

// Validate returns what is wrong with the ruleset, a reason a field; nothing
// for a sound one.
func (r *Ruleset) Validate() []FieldError {
	var faults []FieldError
	refuse := func(wrong bool, field, reason string) {
		if wrong {
			faults = append(faults, FieldError{field, reason})
		}
	}
	refuse(len(r.ID) > maxIDBytes, "id", fmt.Sprintf("must not be longer than %d bytes", maxIDBytes))
	refuse(len(r.Description) > maxDescriptionBytes, "description",
		fmt.Sprintf("must not be longer than %d bytes", maxDescriptionBytes))
	refuse(len(r.Decisions) > maxDecisions, "decisions", fmt.Sprintf("must not be more than %d", maxDecisions))
	refuse(slices.ContainsFunc(r.Decisions, func(d string) bool { return len(d) > maxDescriptionBytes }),
		"decisions", fmt.Sprintf("must each be at most %d bytes", maxDescriptionBytes))
	refuse(r.families() == 0, "family", "must be set: the rules of a board are missing")
	refuse(r.families() > 1, "family", "must be one: a game is played on one board")
	refuse(r.ResignAfterTurns < 0 || r.ResignAfterTurns > maxResignAfterTurns, "resign_after_turns",
		fmt.Sprintf("must be from 0 to %d", maxResignAfterTurns))
	refuse(r.DrawOffers.Limit < 0 || r.DrawOffers.Limit > maxDrawOffers, "draw_offers.limit",
		fmt.Sprintf("must be from 0 to %d", maxDrawOffers))
	refuse(r.DrawOffers.Unlimited && r.DrawOffers.Limit != 0, "draw_offers.limit", "must be 0 where offers are unlimited")
	refuse(r.FirstMover != FirstMoverComparison && r.FirstMover != FirstMoverNamed, "first_mover",
		`must be "comparison" or "named"`)
	if r.DarkChess != nil {
		for _, f := range r.DarkChess.Validate() {
			faults = append(faults, FieldError{"dark_chess." + f.Field, f.Reason})
		}
		refuse(r.Clock.PlacementMS != 0, "clock.placement_ms", "must be 0: dark chess has nothing to place")
	}
	if r.ArmyChess != nil {
		for _, f := range r.ArmyChess.Validate() {
			faults = append(faults, FieldError{"army_chess." + f.Field, f.Reason})
		}
		r.validateArmyChess(refuse)
	}
	for _, f := range r.Clock.Validate() {
		faults = append(faults, FieldError{"clock." + f.Field, f.Reason})
	}
	for _, f := range r.Series.Validate() {
		faults = append(faults, FieldError{"series." + f.Field, f.Reason})
	}
	for _, f := range r.Stakes.Validate() {
		faults = append(faults, FieldError{"stakes." + f.Field, f.Reason})
	}
	return faults
}

// families counts the boards that the ruleset has rules of.
func (r *Ruleset) families() (n int) {
	for _, set := range []bool{r.DarkChess != nil, r.ArmyChess != nil} {
		if set {
			n++
		}
	}
	return n
}

// validateArmyChess refuses what contradicts army chess in the fields that the
// families share.
func (r *Ruleset) validateArmyChess(refuse func(wrong bool, field, reason string)) {
	places := r.ArmyChess.Form != junqi.FormFlip
	refuse(r.FirstMover == FirstMoverComparison, "first_mover", `must be "named": army chess compares no pieces for it`)
	refuse(r.ResignAfterTurns != 0, "resign_after_turns", "must be 0: army_chess.resign_from_ply says it")
	refuse(r.ArmyChess.Form == junqi.FormFourPlayer && r.DrawOffers != (DrawOffers{}), "draw_offers",
		"must be off: an offer is one side's to the other, and no house says how a team of two agrees")
	refuse(places && r.Clock.PlacementMS == 0 && !r.Clock.None(), "clock.placement_ms",
		"must be above 0: who may place for ever need never play")
	refuse(!places && r.Clock.PlacementMS != 0, "clock.placement_ms", "must be 0: the flip form has nothing to place")
}

// Rules is a ruleset made ready to judge by. It is immutable and shared.
type Rules struct {
	Ruleset
	Content []byte   // the canonical JSON that is stored
	Hash    [32]byte // SHA-256 of Content
	family  family
}

// RulesetError lists what is wrong with a ruleset.
type RulesetError struct{ Faults []FieldError }

func (e *RulesetError) Error() string {
	parts := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		parts[i] = f.Error()
	}
	return "unsound ruleset: " + strings.Join(parts, "; ")
}

// CompileRules validates a ruleset and makes it ready. It returns a
// *RulesetError for an unsound one.
func CompileRules(r Ruleset) (*Rules, error) {
	if faults := r.Validate(); len(faults) > 0 {
		return nil, &RulesetError{faults}
	}
	content, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode ruleset: %w", err)
	}
	if len(content) > MaxRulesetBytes {
		return nil, &RulesetError{[]FieldError{{"ruleset", fmt.Sprintf("must not be longer than %d bytes", MaxRulesetBytes)}}}
	}
	return compile(r, content)
}

// compile makes a ruleset ready whose stored form is content.
func compile(r Ruleset, content []byte) (*Rules, error) {
	if r.families() != 1 {
		return nil, &RulesetError{[]FieldError{{"family", "must be one: the rules of a board are missing, or those of two are there"}}}
	}
	compiled := &Rules{Ruleset: r, Content: content, Hash: sha256.Sum256(content)}
	var err error
	if r.DarkChess != nil {
		compiled.family, err = newDarkChess(*r.DarkChess)
	} else {
		compiled.family, err = newArmyChess(*r.ArmyChess)
	}
	if err != nil {
		return nil, fmt.Errorf("compile board rules: %w", err)
	}
	if r.FirstMover == FirstMoverComparison && !compiled.family.compares() {
		return nil, &RulesetError{[]FieldError{{"first_mover", `must be "named": this board compares no pieces for it`}}}
	}
	return compiled, nil
}

// ParseRules reads a ruleset's JSON form; unknown fields are refused.
func ParseRules(content []byte) (*Rules, error) {
	r, err := decodeRuleset(content)
	if err != nil {
		return nil, err
	}
	return CompileRules(r)
}

// StoredRules makes a ruleset ready that a match was created under. Its content
// stays what it was, byte for byte, whatever fields and limits have come since.
func StoredRules(content []byte) (*Rules, error) {
	r, err := decodeRuleset(content)
	if err != nil {
		return nil, err
	}
	return compile(r, slices.Clone(content))
}

func decodeRuleset(content []byte) (r Ruleset, err error) {
	d := json.NewDecoder(bytes.NewReader(content))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return r, &RulesetError{[]FieldError{{"ruleset", err.Error()}}}
	}
	if _, err := d.Token(); err != io.EOF {
		return r, &RulesetError{[]FieldError{{"ruleset", "must be one JSON value"}}}
	}
	return r, nil
}

//go:embed presets/*.json
var presetFiles embed.FS

// Presets are the houses' rulesets by id, read from the preset files.
type Presets struct {
	ids  []string
	byID map[string]*Rules
}

// LoadPresets reads and checks the preset files. A file that is not sound is a
// fault of the build.
func LoadPresets() (Presets, error) {
	p := Presets{byID: map[string]*Rules{}}
	files, err := presetFiles.ReadDir("presets")
	if err != nil {
		return p, err
	}
	for _, file := range files {
		content, err := presetFiles.ReadFile(path.Join("presets", file.Name()))
		if err != nil {
			return p, err
		}
		r, err := ParseRules(content)
		if err != nil {
			return p, fmt.Errorf("preset %s: %w", file.Name(), err)
		}
		if r.ID+".json" != file.Name() {
			return p, fmt.Errorf("preset %s has the id %q", file.Name(), r.ID)
		}
		p.ids = append(p.ids, r.ID)
		p.byID[r.ID] = r
	}
	slices.Sort(p.ids)
	return p, nil
}

// IDs returns the ids of all presets in alphabetical order.
func (p Presets) IDs() []string { return slices.Clone(p.ids) }

// Get returns a preset, nil if there is none of that id.
func (p Presets) Get(id string) *Rules { return p.byID[id] }
