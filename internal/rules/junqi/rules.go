// Package junqi referees army chess (軍棋, junqi) in its three forms: two players
// in the dark, two players who flip, and four players in two teams (四國軍棋). It
// is pure: time, dice and the ranks of pieces come in as arguments. A State holds
// nothing that was not made public, so that it can be stored and shown in clear;
// where a rank decides, the caller brings the Identities, and what they decided
// is a Disclosure, from which alone the same State follows again.
package junqi

import "referee.example/internal/rules"

// Rules is the board part of a ruleset as data (army-chess rules, sections 3 and
// 4). The zero value of a field turns it off, or is the value named first.
type Rules struct {
	// Form is "dark" (two players), "flip" (two players) or "four_player".
	Form string `json:"form"`
	// Visibility is whose ranks a seat of a dark form sees: "own" (as is ""),
	// "partner" for the partner's too, or "open" (明棋) for everybody's.
	Visibility string `json:"visibility,omitempty"`

	// Mine is the fate of a ranked piece, engineers aside, that attacks a mine:
	// "stays" (as is "": only the mine does), "both" (both go), "refused" or
	// "bounce" (both stay where they were, and the turn is spent).
	Mine string `json:"mine,omitempty"`
	// LowestClearsMines lets the lowest remaining ranked pieces of a side without
	// engineers clear mines; such a piece is removed with the mine.
	LowestClearsMines bool `json:"lowest_clears_mines,omitempty"`
	// BombVsFlag is what a bomb does to a flag: "both" (as is "": both go and the
	// owner loses), "refused" or "bomb_lost".
	BombVsFlag string `json:"bomb_vs_flag,omitempty"`
	// FlagTaker says which ranked pieces take a flag: "any" (as is ""), "engineer"
	// or "lowest" (the lowest remaining of their side). Bombs follow BombVsFlag.
	FlagTaker string `json:"flag_taker,omitempty"`
	// FlagAfterMines protects a flag, from bombs too, while its side has a mine.
	FlagAfterMines bool `json:"flag_after_mines,omitempty"`
	// FlagCarryHome: a flag counts as taken when the piece that took it reaches a
	// headquarters of its own side.
	FlagCarryHome bool `json:"flag_carry_home,omitempty"`
	// WeakerAttacks are attacks that would only cost the attacker: "allowed" (as
	// is "") or "refused".
	WeakerAttacks string `json:"weaker_attacks,omitempty"`
	// FlagReveal says when a flag's stop becomes public: "marshal_lost", when that
	// side's marshal is lost in an encounter (as is "" in the dark forms), or "never".
	FlagReveal string `json:"flag_reveal,omitempty"`
	// EngineerScouts shows to all a piece that an engineer was lost to.
	EngineerScouts bool `json:"engineer_scouts,omitempty"`
	// HQProtects: a piece in a headquarters, like one in a camp, can't be attacked.
	HQProtects bool `json:"hq_protects,omitempty"`

	// Colours is how turned pieces decide who plays which side of the flip form:
	// "first_piece" (of the game, to who turned it), "own_two" (the first player
	// whose two latest own turns match), "previous_piece" (the first to turn a
	// piece like the one turned just before) or "first_engineer" (to who turns it).
	Colours string `json:"colours,omitempty"`

	Idle Idle `json:"idle,omitzero"`
	// IllegalMoves are "refused" (as is "") or "lose": the contest rule, by which
	// a player who tries one on the own turn has lost.
	IllegalMoves string `json:"illegal_moves,omitempty"`
	// ResignFromPly is the first ply before which a seat may resign; 0 for any.
	ResignFromPly int `json:"resign_from_ply,omitempty"`
	// Leaver is what becomes of a game that a player leaves: it "loses" (as is "")
	// for his side, or is "unscored" while his partner is still in.
	Leaver string `json:"leaver,omitempty"`
	// MaxPlies draws the game when that many plies were played; 0 for no limit.
	MaxPlies int `json:"max_plies,omitempty"`
}

// Idle ends a game after too many plies in a row without contact: without an
// attack, and in the flip form without a turn.
type Idle struct {
	Limit int `json:"limit,omitempty"` // plies; 0 turns the rule off
	// Result is "draw" (as is "") or "loss": the side to move next has lost.
	Result string `json:"result,omitempty"`
}

// The forms.
const (
	FormDark       = "dark"
	FormFlip       = "flip"
	FormFourPlayer = "four_player"
)

// The limits of a ruleset's numbers.
const (
	MaxIdleLimit     = 1000
	MaxResignFromPly = 1000
	MaxPliesLimit    = 10000
)

// Validate returns one reason a wrong field: values that do not exist, fields that
// contradict each other, and refusals that would depend on a rank that the mover
// was not shown. An empty answer means Compile accepts r.
func (r Rules) Validate() []rules.FieldError {
	var v rules.Validation
	v.OneOf("form", r.Form, FormDark, FormFlip, FormFourPlayer)
	v.OneOf("visibility", r.Visibility, "", "own", "partner", "open")
	v.Refuse(r.Visibility != "" && r.flips(), "visibility", "the flip form shows what is turned to everybody")
	v.Refuse(r.Visibility == "partner" && r.Form == FormDark, "visibility", "with two players nobody has a partner")
	r.validateEncounters(&v)
	r.validateFlags(&v)
	r.validateSecrets(&v)
	r.validateColours(&v)
	r.validateEndings(&v)
	return v
}

func (r Rules) flips() bool { return r.Form == FormFlip }

// shown reports whether everybody sees the rank of every piece that can be attacked.
func (r Rules) shown() bool { return r.flips() || r.Visibility == "open" }

func (r Rules) validateEncounters(v *rules.Validation) {
	v.OneOf("mine", r.Mine, "", "stays", "both", "refused", "bounce")
	v.Refuse(r.LowestClearsMines && r.Mine == "both", "lowest_clears_mines",
		"every piece is removed with the mine that it attacks where mine is \"both\"")
	v.OneOf("weaker_attacks", r.WeakerAttacks, "", "allowed", "refused")
	v.Refuse(r.EngineerScouts && r.shown(), "engineer_scouts", "every piece that can be attacked is shown already")
}

func (r Rules) validateFlags(v *rules.Validation) {
	v.OneOf("bomb_vs_flag", r.BombVsFlag, "", "both", "refused", "bomb_lost")
	v.OneOf("flag_taker", r.FlagTaker, "", "any", "engineer", "lowest")
	v.OneOf("flag_reveal", r.FlagReveal, "", "marshal_lost", "never")
	v.Refuse(r.FlagReveal == "marshal_lost" && r.shown(), "flag_reveal", "every flag that can be attacked is shown already")
	v.Refuse(r.FlagCarryHome && r.Form != FormDark, "flag_carry_home",
		"needs form \"dark\": in the flip form no headquarters is a side's own, and with four players a piece could carry two flags")
	v.Refuse(r.FlagCarryHome && r.BombVsFlag != "bomb_lost", "flag_carry_home", "needs bomb_vs_flag \"bomb_lost\": a flag that was blown up can't be carried")
	if r.HQProtects && r.Form != FormFlip {
		for _, f := range []struct {
			on    bool
			field string
		}{
			{r.BombVsFlag != "", "bomb_vs_flag"}, {r.FlagTaker != "", "flag_taker"}, {r.FlagAfterMines, "flag_after_mines"},
			{r.FlagCarryHome, "flag_carry_home"}, {r.FlagReveal == "marshal_lost", "flag_reveal"},
		} {
			v.Refuse(f.on, f.field, "flags stand in headquarters, where hq_protects lets nobody attack them")
		}
	}
}

// validateSecrets: a refusal tells the mover something, so none may depend on what
// he was not shown.
func (r Rules) validateSecrets(v *rules.Validation) {
	if r.shown() {
		return
	}
	const reason = "a refusal would tell the mover a rank that he was not shown"
	v.Refuse(r.Mine == "refused", "mine", reason)
	v.Refuse(r.BombVsFlag == "refused", "bomb_vs_flag", reason)
	v.Refuse(r.WeakerAttacks == "refused", "weaker_attacks", reason)
}

func (r Rules) validateColours(v *rules.Validation) {
	if !r.flips() {
		v.Refuse(r.Colours != "", "colours", "needs form \"flip\": in the dark forms a seat plays its own side")
		return
	}
	v.OneOf("colours", r.Colours, "first_piece", "own_two", "previous_piece", "first_engineer")
}

func (r Rules) validateEndings(v *rules.Validation) {
	if r.Idle.Limit == 0 {
		v.Refuse(r.Idle.Result != "", "idle.result", "needs idle.limit")
	} else {
		v.Between("idle.limit", r.Idle.Limit, 1, MaxIdleLimit)
	}
	v.OneOf("idle.result", r.Idle.Result, "", "draw", "loss")
	v.Refuse(r.Idle.Result == "loss" && r.Form == FormFourPlayer, "idle.result",
		"with four players nobody in particular is to blame: it is a draw")
	v.OneOf("illegal_moves", r.IllegalMoves, "", "refused", "lose")
	v.Refuse(r.IllegalMoves == "lose" && r.Form != FormDark, "illegal_moves", "\"lose\" needs form \"dark\"")
	v.Between("resign_from_ply", r.ResignFromPly, 0, MaxResignFromPly)
	v.OneOf("leaver", r.Leaver, "", "loses", "unscored")
	v.Refuse(r.Leaver == "unscored" && r.Form != FormFourPlayer, "leaver", "\"unscored\" needs a partner")
	v.Between("max_plies", r.MaxPlies, 0, MaxPliesLimit)
}
