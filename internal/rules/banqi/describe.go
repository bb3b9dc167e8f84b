package banqi

import (
	"strconv"
	"strings"

	"referee.example/internal/rules"
)

// sentences are the refusals in words. {0} and {1} are the refusal's squares
// with what they show, {n} its count.
var sentences = map[rules.Rule]string{
	RuleGameOver:      "the game is over",
	RuleAwaiting:      "a foul awaits a ruling; until then nobody may act",
	RuleTurn:          "it is the other seat's turn",
	RuleAction:        "no such action on this board",
	RuleNothingToFlip: "{0} is empty: there is nothing to flip",
	RuleFaceUp:        "{0} is already face up",
	RuleNoPiece:       "{0} is empty: there is no piece to move",
	RuleMoverFaceDown: "{0} does not move before it is flipped",
	RuleNotYours:      "{0} is not yours to move",
	RuleOwnTarget:     "{0} may not go to {1}: it is of its own side",
	RuleFaceDown:      "{0} may not take {1}: it is face down",
	RuleRank:          "{0} may not take {1}: the capture rules do not allow it",
	RuleAdjacent:      "{0} may not go to {1}: it is not one step away",
	RuleLine:          "{0} may not go to {1}: they are not on one file or rank",
	RuleBlocked:       "{0} may not go to {1}: the line is blocked (pieces between: {n})",
	RuleDiagonal:      "{0} may not go to {1}: it moves diagonally only",
	RuleScreen:        "{0} may not take {1}: a cannon takes over exactly one piece (pieces between: {n})",
	RuleCannonNear:    "{0} may not take {1}: a cannon does not take a neighbour",
	RuleChainPiece:    "a chain is running: only {0} may go on capturing, or stop",
	RuleChainCapture:  "{0} may not go to {1}: in a chain it may only capture, or stop",
	RuleNoChain:       "no chain is running: there is nothing to stop",
	RulePause:         "{0} may not move this turn: it has chased {1} for {n} turns in a row",
	RuleChase:         "{0} may not go on chasing {1}: the chase is {n} turns long",
	RuleNoCount:       "these rules have no count of quiet plies on request",
	RuleCountRunning:  "a count of quiet plies is already running",
	RuleCountHidden:   "a count of quiet plies may be asked for once nothing is face down",
}

// Describe returns the refusal i in words, with its pieces and squares named;
// empty where i refuses nothing.
func (g *Game) Describe(i rules.Illegal) string {
	if i.OK() {
		return ""
	}
	sentence, ok := sentences[i.Rule]
	if !ok {
		return string(i.Rule)
	}
	return strings.NewReplacer(
		"{0}", describeSquare(i, 0), "{1}", describeSquare(i, 1), "{n}", strconv.Itoa(i.Count),
	).Replace(sentence)
}

func describeSquare(i rules.Illegal, n int) string {
	square, p := i.Squares[n], i.Pieces[n]
	switch {
	case square == rules.NoSquare:
		return "the piece"
	case p == rules.NoPiece:
		return SquareName(square)
	}
	return "the " + pieceWords(p) + " on " + SquareName(square)
}
