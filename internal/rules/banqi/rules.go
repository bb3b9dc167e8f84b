// Package banqi referees Chinese dark chess (暗棋, banqi) for every house whose
// rules a Rules value can say. It is pure: time, dice and the identities of
// face-down pieces come in as arguments, and a State never holds an identity
// that has not been turned.
package banqi

import (
	"fmt"
	"slices"
	"strings"

	"referee.example/internal/rules"
)

// Rules is the board part of a ruleset as data (dark-chess rules, sections 2
// and 3). The zero value of a field turns it off.
type Rules struct {
	// CaptureMatrix says what each rank takes when adjacent: attacker's letter
	// (a capital) to the letters it takes, such as "K": "KGMRNC". A rank without
	// a row takes nothing that way.
	CaptureMatrix map[string]string `json:"capture_matrix"`
	// CannonTargets are the ranks a cannon takes over its screen; empty turns
	// the jump off.
	CannonTargets string `json:"cannon_targets,omitempty"`
	// ChariotRush lets a chariot take the first piece of a clear line at
	// distance 2 or more: "any_rank", or "matrix" for what its row allows.
	ChariotRush string `json:"chariot_rush,omitempty"`
	// RushDark lets the rush hit face-down pieces, with or without DarkCapture.
	RushDark bool `json:"rush_dark,omitempty"`
	// ChariotSlide gives a chariot quiet moves of any distance along a clear line.
	ChariotSlide bool `json:"chariot_slide,omitempty"`
	// Horse is "orthogonal" (as is ""), "diagonal_captures" or "diagonal_only".
	Horse string `json:"horse,omitempty"`
	// Chain lets a piece that took go on taking in the same turn.
	Chain bool `json:"chain,omitempty"`
	// DarkCapture allows face-down targets for every capture but the rush.
	DarkCapture bool `json:"dark_capture,omitempty"`
	// FailedAttacker is the fate of one that turned an enemy it may not take:
	// "stays" (as is "") or "lost".
	FailedAttacker string     `json:"failed_attacker,omitempty"`
	Idle           Idle       `json:"idle,omitzero"`
	Repetition     Repetition `json:"repetition,omitzero"`
	Chase          Chase      `json:"chase,omitzero"`
	// FoulsToLose is how many technical fouls lose the game.
	FoulsToLose int `json:"fouls_to_lose,omitempty"`
	// MaxPlies draws the game when that many plies were played; 0 for no limit.
	MaxPlies int `json:"max_plies,omitempty"`
	// EndingOrder decides between endings that one action meets; empty for
	// DefaultEndingOrder, else a permutation of it.
	EndingOrder []string `json:"ending_order,omitempty"`
	// Feats records the little soldier's great merit (小兵立大功).
	Feats bool `json:"feats,omitempty"`
}

// Idle draws a game after too many quiet plies, counted for both sides together.
type Idle struct {
	Limit   int    `json:"limit,omitempty"`   // plies; 0 turns the rule off
	Count   string `json:"count,omitempty"`   // "consecutive" (as is "") or "cumulative"
	When    string `json:"when,omitempty"`    // "always" (as is "") or "all_face_up"
	Trigger string `json:"trigger,omitempty"` // "automatic" (as is "") or "on_request"
}

// Repetition draws a game that goes round in circles.
type Repetition struct {
	Kind        string `json:"kind,omitempty"`         // "" off, "cycle" or "position"
	Times       int    `json:"times,omitempty"`        // how often the cycle or the position comes
	ChaseExempt bool   `json:"chase_exempt,omitempty"` // position: chase steps and their replies do not count
}

// Chase bounds perpetual chases (長捉; dark-chess rules, section 3).
type Chase struct {
	Chaser   string `json:"chaser,omitempty"`   // "" off, "piece" or "side": whose steps make one chase
	Length   int    `json:"length,omitempty"`   // steps allowed
	Sanction string `json:"sanction,omitempty"` // "pause", "refuse" or "foul"
	// LowerRankExempt: steps of a piece of lower rank than its prey do not count.
	LowerRankExempt bool `json:"lower_rank_exempt,omitempty"`
	// LastPieceExempt: nothing counts while either side is down to one piece.
	LastPieceExempt bool `json:"last_piece_exempt,omitempty"`
	// ForcedDeathExempt (必死除外): a foul is disputable where every other legal
	// action would let the opponent win on the next turn.
	ForcedDeathExempt bool `json:"forced_death_exempt,omitempty"`
}

// The limits of a ruleset's numbers.
const (
	MaxIdleLimit   = 1000
	MaxTimes       = 9
	MaxChaseLength = 100
	MaxFouls       = 100
	MaxPliesLimit  = 10000
)

// endingNames are the endings found by the rules, in the words of EndingOrder.
var endingNames = map[string]rules.EndReason{
	"all_captured":    rules.EndAllCaptured,
	"fouls":           rules.EndFouls,
	"no_legal_action": rules.EndNoLegalAction,
	"repetition":      rules.EndRepetition,
	"idle":            rules.EndIdle,
	"max_plies":       rules.EndMaxPlies,
}

// DefaultEndingOrder returns the order of endings that holds where a ruleset
// names none (dark-chess rules, section 1).
func DefaultEndingOrder() []string {
	return []string{"all_captured", "fouls", "no_legal_action", "repetition", "idle", "max_plies"}
}

// Validate returns one reason a wrong field: values that do not exist and
// fields that contradict each other. An empty answer means Compile accepts r.
func (r Rules) Validate() []rules.FieldError {
	var v rules.Validation
	r.validateCaptures(&v)
	r.Idle.validate(&v)
	r.Repetition.validate(&v)
	r.Chase.validate(&v)
	v.Between("max_plies", r.MaxPlies, 0, MaxPliesLimit)
	v.Between("fouls_to_lose", r.FoulsToLose, 0, MaxFouls)
	fouls := r.Chase.Sanction == "foul"
	v.Refuse(r.FoulsToLose > 0 && !fouls, "fouls_to_lose", "nothing books fouls unless chase.sanction is \"foul\"")
	v.Refuse(r.FoulsToLose == 0 && fouls, "fouls_to_lose", "chase.sanction \"foul\" needs the number of fouls that loses")
	r.validateOrder(&v)
	return v
}

func (r Rules) validateCaptures(v *rules.Validation) {
	v.Refuse(len(r.CaptureMatrix) == 0, "capture_matrix", "no rank takes anything")
	for _, attacker := range sortedKeys(r.CaptureMatrix) {
		field := "capture_matrix." + attacker
		if _, err := rankOf(attacker); err != nil {
			v.Refuse(true, field, "%q is not one of the ranks %s", attacker, rankLetters)
			continue
		}
		_, err := rankSet(r.CaptureMatrix[attacker])
		v.Refuse(err != nil, field, "%v", err)
	}
	_, err := rankSet(r.CannonTargets)
	v.Refuse(err != nil, "cannon_targets", "%v", err)
	v.OneOf("chariot_rush", r.ChariotRush, "", "any_rank", "matrix")
	v.OneOf("horse", r.Horse, "", "orthogonal", "diagonal_captures", "diagonal_only")
	v.OneOf("failed_attacker", r.FailedAttacker, "", "stays", "lost")
	v.Refuse(r.RushDark && r.ChariotRush == "", "rush_dark", "needs chariot_rush")
	v.Refuse(r.FailedAttacker != "" && !r.DarkCapture && !r.RushDark,
		"failed_attacker", "needs dark_capture or rush_dark")
}

func (i Idle) validate(v *rules.Validation) {
	if i.Limit == 0 {
		v.Refuse(i.Count != "", "idle.count", "needs idle.limit")
		v.Refuse(i.When != "", "idle.when", "needs idle.limit")
		v.Refuse(i.Trigger != "", "idle.trigger", "needs idle.limit")
		return
	}
	v.Between("idle.limit", i.Limit, 1, MaxIdleLimit)
	v.OneOf("idle.count", i.Count, "", "consecutive", "cumulative")
	v.OneOf("idle.when", i.When, "", "always", "all_face_up")
	v.OneOf("idle.trigger", i.Trigger, "", "automatic", "on_request")
	v.Refuse(i.Trigger == "on_request" && i.Count == "cumulative",
		"idle.count", "a count on request restarts after a capture: it cannot be cumulative")
}

func (p Repetition) validate(v *rules.Validation) {
	v.OneOf("repetition.kind", p.Kind, "", "cycle", "position")
	if p.Kind == "" {
		v.Refuse(p.Times != 0, "repetition.times", "needs repetition.kind")
	} else {
		v.Between("repetition.times", p.Times, 2, MaxTimes)
	}
	v.Refuse(p.ChaseExempt && p.Kind != "position", "repetition.chase_exempt", "needs repetition.kind \"position\"")
}

func (c Chase) validate(v *rules.Validation) {
	v.OneOf("chase.chaser", c.Chaser, "", "piece", "side")
	if c.Chaser == "" {
		v.Refuse(c.Length != 0, "chase.length", "needs chase.chaser")
		v.Refuse(c.Sanction != "", "chase.sanction", "needs chase.chaser")
		v.Refuse(c.LowerRankExempt, "chase.lower_rank_exempt", "needs chase.chaser")
		v.Refuse(c.LastPieceExempt, "chase.last_piece_exempt", "needs chase.chaser")
	} else {
		v.Between("chase.length", c.Length, 1, MaxChaseLength)
		v.OneOf("chase.sanction", c.Sanction, "pause", "refuse", "foul")
	}
	v.Refuse(c.ForcedDeathExempt && c.Sanction != "foul",
		"chase.forced_death_exempt", "needs chase.sanction \"foul\"")
}

func (r Rules) validateOrder(v *rules.Validation) {
	if len(r.EndingOrder) == 0 {
		return
	}
	got, want := slices.Sorted(slices.Values(r.EndingOrder)), slices.Sorted(slices.Values(DefaultEndingOrder()))
	v.Refuse(!slices.Equal(got, want), "ending_order", "must name each of %q once", DefaultEndingOrder())
}

// rankLetters are the ranks as rulesets write them, highest first.
const rankLetters = "KGMRNCP"

// ranks is a set of ranks, bit n for rank n.
type ranks uint8

const allRanks ranks = 0xfe

func rankOf(letter string) (int, error) {
	if len(letter) != 1 || !strings.Contains(rankLetters, letter) {
		return 0, fmt.Errorf("%q is not one of the ranks %s", letter, rankLetters)
	}
	return strings.IndexByte(letters, letter[0]), nil
}

// rankSet reads a set of ranks such as "KGM"; a rank must not come twice.
func rankSet(text string) (ranks, error) {
	var set ranks
	for _, letter := range text {
		rank, err := rankOf(string(letter))
		if err != nil {
			return 0, err
		}
		if set&(1<<rank) != 0 {
			return 0, fmt.Errorf("%c is named twice", letter)
		}
		set |= 1 << rank
	}
	return set, nil
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
