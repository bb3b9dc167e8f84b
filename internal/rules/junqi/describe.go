package junqi

import (
	"strconv"
	"strings"

	"referee.example/internal/rules"
)

// sentences are the refusals in words. {0} and {1} are the refusal's stops with
// what they show, {n} its count.
var sentences = map[rules.Rule]string{
	RuleGameOver:      "the game is over",
	RuleTurn:          "it is another seat's turn",
	RuleAction:        "no such action in this game",
	RuleNothingToFlip: "{0} is empty: there is nothing to turn",
	RuleFaceUp:        "{0} is already face up",
	RuleNoPiece:       "{0} is empty: there is no piece to move",
	RuleMoverFaceDown: "{0} does not move before it is turned",
	RuleUnsettled:     "{0} does not move before it is settled who plays which side",
	RuleNotYours:      "{0} is not yours to move",
	RuleImmobile:      "{0} never moves: it is a mine or a flag",
	RuleHQ:            "{0} does not leave the headquarters that it is in",
	RuleOwnTarget:     "{0} may not go to {1}: it is of its own side",
	RuleAllyTarget:    "{0} may not attack {1}: it is the partner's",
	RuleNoPath:        "{0} may not go to {1}: neither one step by road nor its way by rail leads there",
	RuleBlocked:       "{0} may not go to {1}: pieces stand in the way",
	RuleFaceDown:      "{0} may not attack {1}: it is face down",
	RuleCamp:          "{0} may not attack {1}: it is in a camp",
	RuleHQOccupied:    "{0} may not attack {1}: it is in a headquarters",
	RuleWeaker:        "{0} may not attack {1}: it would only be lost",
	RuleMine:          "{0} may not attack {1}: it does not clear mines",
	RuleBombFlag:      "{0} may not attack {1}: bombs don't blow up flags",
	RuleFlagMines:     "{0} may not attack {1}: that side still has mines",
	RuleFlagTaker:     "{0} may not attack {1}: it is not one that takes flags",
	RuleResign:        "nobody may resign before ply {n}",
	RuleOut:           "the seat is out of the game",
	RuleCampFilled:    "{0} may not stand in a camp: camps begin empty",
	RuleCounts:        "a side has one flag, three mines, two bombs, a marshal, a general, two each of major generals, brigadiers, colonels and majors, and three each of captains, lieutenants and engineers",
	RuleFlagPlace:     "{0} must stand in a headquarters",
	RuleMinePlace:     "{0} must stand in one of the last two rows",
	RuleBombPlace:     "{0} may not stand in the front row",
}

// Describe returns the refusal i in words, with its stops named and the pieces as
// everybody sees them; empty where i refuses nothing.
func (g *Game) Describe(i rules.Illegal) string {
	if i.OK() {
		return ""
	}
	sentence, ok := sentences[i.Rule]
	if !ok {
		return string(i.Rule)
	}
	return strings.NewReplacer(
		"{0}", g.describeStop(i, 0), "{1}", g.describeStop(i, 1), "{n}", strconv.Itoa(i.Count),
	).Replace(sentence)
}

func (g *Game) describeStop(i rules.Illegal, n int) string {
	stop, p := i.Squares[n], i.Pieces[n]
	switch {
	case stop == rules.NoSquare:
		return "the piece"
	case p == rules.NoPiece:
		return g.SquareName(stop)
	case p == FaceDown:
		return "the face-down piece on " + g.SquareName(stop)
	}
	return "the " + RankOf(p).String() + " on " + g.SquareName(stop)
}
