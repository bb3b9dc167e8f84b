package banqi

import (
	"fmt"
	"slices"
	"strings"

	"referee.example/internal/rules"
)

// Sentences returns the rules in plain English, a sentence or two for each
// field, for people who decide whether these are the rules they mean.
func (r Rules) Sentences() []string {
	lines := r.captureSentences()
	lines = append(lines, r.lineSentences()...)
	lines = append(lines, r.darkSentences()...)
	lines = append(lines, r.Idle.sentence(), r.Repetition.sentence())
	lines = append(lines, r.chaseSentences()...)
	if r.MaxPlies > 0 {
		lines = append(lines, fmt.Sprintf("A game is drawn when %d plies have been played.", r.MaxPlies))
	} else {
		lines = append(lines, "A game has no limit of length.")
	}
	order := r.EndingOrder
	if len(order) == 0 {
		order = DefaultEndingOrder()
	}
	lines = append(lines, "Where one ply meets several endings, the first of these counts: "+strings.ReplaceAll(strings.Join(order, ", "), "_", " ")+".")
	if r.Feats {
		lines = append(lines, "The little soldier's great merit (小兵立大功) is recorded: a player's last soldier takes the enemy general. It has no effect on the result.")
	} else {
		lines = append(lines, "No feats are recorded.")
	}
	return lines
}

func (r Rules) captureSentences() (lines []string) {
	for i := range rankLetters {
		letter := rankLetters[i : i+1]
		takes := ranksInWords(r.CaptureMatrix[letter])
		if takes == "" {
			takes = "nothing"
		}
		lines = append(lines, capitalised(rankInWords(letter[0]))+" takes, on a neighbouring square: "+takes+".")
	}
	if r.CannonTargets == "" {
		return append(lines, "Cannon does not jump.")
	}
	return append(lines, "Cannon takes, at any distance over exactly one piece: "+ranksInWords(r.CannonTargets)+".")
}

func (r Rules) lineSentences() (lines []string) {
	switch r.ChariotRush {
	case "any_rank":
		lines = append(lines, "Chariot rush (車直衝): along a clear line a chariot takes the first piece at distance 2 or more, whatever its rank.")
	case "matrix":
		lines = append(lines, "Chariot rush (車直衝): along a clear line a chariot takes the first piece at distance 2 or more, if it could take it as a neighbour.")
	default:
		lines = append(lines, "Chariots do not rush.")
	}
	if r.ChariotRush != "" {
		lines = append(lines, map[bool]string{
			true: "A rush may hit a face-down piece.", false: "A rush may not hit a face-down piece."}[r.RushDark])
	}
	lines = append(lines, map[bool]string{
		true:  "A chariot moves any distance along a clear line.",
		false: "A chariot moves one step, as all pieces do."}[r.ChariotSlide])
	switch r.Horse {
	case "diagonal_captures":
		lines = append(lines, "A horse also takes any piece one step diagonally; it moves along files and ranks.")
	case "diagonal_only":
		lines = append(lines, "A horse moves and takes one step diagonally only, and takes any piece.")
	default:
		lines = append(lines, "A horse moves and takes along files and ranks only.")
	}
	return lines
}

func (r Rules) darkSentences() []string {
	chain := "A capture ends the turn."
	if r.Chain {
		chain = "Chains (連吃): a piece that captured may go on capturing in the same turn, or stop; the turn ends by itself when nothing more can be taken."
	}
	dark := "Face-down pieces may not be captured."
	if r.DarkCapture {
		dark = "Face-down pieces may be attacked, by every capture but the rush: the target is turned first, and captured if the attacker may take it."
	}
	lines := []string{chain, dark}
	if r.DarkCapture || r.RushDark {
		fate := "An attacker that turns a piece it may not take stays where it was, and the turn ends."
		if r.FailedAttacker == "lost" {
			fate = "An attacker that turns an enemy it may not take is lost to it; one that turns an own piece stays where it was; the turn ends."
		}
		lines = append(lines, fate)
	}
	return lines
}

func (i Idle) sentence() string {
	if i.Limit == 0 {
		return "There is no limit of quiet plies."
	}
	in := "in a row"
	if i.Count == "cumulative" {
		in = "counted over the whole game"
	}
	text := fmt.Sprintf("A game is drawn after %d quiet plies of both sides together, %s", i.Limit, in)
	if i.When == "all_face_up" {
		text += ", counted only while nothing is face down"
	}
	if i.Trigger == "on_request" {
		return text + "; they are counted only after a player, on the own turn, has asked for it, once a game, and from 0 again after a capture."
	}
	return text + "."
}

func (p Repetition) sentence() string {
	switch p.Kind {
	case "cycle":
		return fmt.Sprintf("A game is drawn when the last quiet plies are one cycle of plies %d times over; flips and captures break it.", p.Times)
	case "position":
		text := fmt.Sprintf("A game is drawn when a position with the same side to move arises for the time number %d", p.Times)
		if p.ChaseExempt {
			text += "; those that arise by chase steps and the replies to them do not count"
		}
		return text + "."
	}
	return "Repetition has no consequence."
}

func (r Rules) chaseSentences() []string {
	c := r.Chase
	if c.Chaser == "" {
		return []string{"Perpetual chases (長捉) have no consequence."}
	}
	by := "by the same piece"
	if c.Chaser == "side" {
		by = "by any pieces of a side"
	}
	lines := []string{fmt.Sprintf("Perpetual chase (長捉): %d chase steps in a row against the same piece %s are allowed.", c.Length, by)}
	switch c.Sanction {
	case "pause":
		lines = append(lines, "After them the chaser may not move or capture for one turn.")
	case "refuse":
		lines = append(lines, "A further step is refused while the chase stands.")
	case "foul":
		lines = append(lines, fmt.Sprintf("Each further step is a technical foul; a player with %d of them loses.", r.FoulsToLose))
	}
	if c.LowerRankExempt {
		lines = append(lines, "Steps of a piece of lower rank than the chased one do not count.")
	}
	if c.LastPieceExempt {
		lines = append(lines, "Nothing counts while either side is down to one piece.")
	}
	if c.ForcedDeathExempt {
		lines = append(lines, "A foul is disputable (必死除外) where every other action would let the opponent win on the next turn; a loss that rests on one waits for an operator's ruling.")
	}
	return append(lines, "A restriction that would leave no legal action is lifted for the turn.")
}

// rankInWords names the rank of a capital letter.
func rankInWords(letter byte) string {
	p, _ := ParsePiece(letter)
	return words[p&rankMask]
}

// ranksInWords names a set of ranks, highest first; "any piece" for all.
func ranksInWords(set string) string {
	var names []string
	for i := range rankLetters {
		if strings.IndexByte(set, rankLetters[i]) >= 0 {
			names = append(names, rankInWords(rankLetters[i]))
		}
	}
	if len(names) == len(rankLetters) {
		return "any piece"
	}
	return strings.Join(names, ", ")
}

func capitalised(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

// Words returns the state in plain English for people at a terminal: who is to
// move and what the rules would let that side do.
func (g *Game) Words(s *State) []string {
	if s.outcome.Over() {
		return []string{"The game is over: " + g.outcomeInWords(s) + "."}
	}
	if s.awaiting {
		return []string{"A loss by fouls awaits a ruling."}
	}
	lines := []string{s.Colour(s.turn).String() + " is to move."}
	if s.red == rules.NoSeat {
		lines = []string{"Nobody has a colour before the first flip."}
	}
	var legal []string
	for _, a := range g.List(s, nil) {
		legal = append(legal, FormatAction(a, rules.NoPiece))
	}
	slices.Sort(legal)
	return append(lines, "Legal: "+strings.Join(legal, " "))
}

// outcomeInWords tells a finished game's result, by colour, and the plies that
// prove it.
func (g *Game) outcomeInWords(s *State) string {
	text := "draw"
	if s.outcome.Decided() {
		text = s.Colour(s.winner()).String() + " wins"
	}
	text += " by " + strings.ReplaceAll(EndingName(s.outcome.Reason), "_", " ")
	if s.outcome.LastPly > 0 {
		text += fmt.Sprintf(" (plies %d to %d)", s.outcome.FirstPly, s.outcome.LastPly)
	}
	return text
}
