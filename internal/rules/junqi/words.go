package junqi

import (
	"fmt"
	"slices"
	"strings"

	"referee.example/internal/rules"
)

// Sentences returns the rules in plain English, a sentence or two for each field,
// for people who decide whether these are the rules they mean.
func (r Rules) Sentences() []string {
	lines := r.formSentences()
	lines = append(lines,
		"Road: one step. Rail: any distance along one line while nothing stands in the way; an engineer on rail turns at will.",
		"A piece in a camp can't be attacked.",
	)
	lines = append(lines, r.headquartersSentences()...)
	lines = append(lines, "Of two ranked pieces the higher stays and equal ones both go; a bomb and what it meets both go; mines and flags never move.")
	lines = append(lines, r.mineSentences()...)
	lines = append(lines, r.flagSentences()...)
	lines = append(lines, r.tellingSentences()...)
	return append(lines, r.endingSentences()...)
}

func (r Rules) formSentences() []string {
	switch r.Form {
	case FormFlip:
		return []string{
			"Two players, flip (軍棋翻棋): all pieces begin face down at random, camps empty; a turn turns one piece or moves an own one that is face up; face-down pieces are not attacked.",
			map[string]string{
				"first_piece":    "The first piece turned gives its side to who turned it.",
				"own_two":        "The first player whose two latest own turns show one side plays it.",
				"previous_piece": "The first player to turn a piece of the same side as the piece turned just before plays that side.",
				"first_engineer": "The first player to turn an engineer plays its side.",
			}[r.Colours] + " No piece moves before that; if the last piece is turned without it, its side goes to who turned it.",
		}
	case FormFourPlayer:
		return append([]string{
			"Four players (四國軍棋), in the dark: partners sit opposite, the turn goes counter-clockwise; a partner's pieces block and can't be attacked.",
			"A player who is out loses all pieces at once, and the partner plays on; a team is out when both are.",
		}, r.visibilitySentence())
	}
	return []string{"Two players, in the dark (軍棋暗棋): each places his pieces in secret.", r.visibilitySentence()}
}

func (r Rules) visibilitySentence() string {
	switch r.Visibility {
	case "open":
		return "Open play (明棋): from the start everybody sees every rank."
	case "partner":
		return "Partners see each other's ranks; of all others only what an encounter tells."
	}
	return "A player sees the own ranks only; of all others only what an encounter tells."
}

func (r Rules) headquartersSentences() []string {
	lock := "A piece that enters a headquarters never leaves it."
	switch {
	case r.flips():
		lock = "Pieces enter and leave headquarters as they like."
	case r.FlagCarryHome:
		lock = "A piece that enters a headquarters never leaves it, unless it carries a flag."
	}
	if !r.HQProtects {
		return []string{lock, "A piece in a headquarters can be attacked."}
	}
	if r.flips() {
		return []string{lock, "A piece in a headquarters can't be attacked, a flag there neither."}
	}
	return []string{lock, "A piece in a headquarters can't be attacked, so that no flag is ever taken."}
}

func (r Rules) mineSentences() []string {
	lines := []string{map[string]string{
		"":        "An engineer clears mines and stays; any other ranked piece is lost to a mine, which stays.",
		"stays":   "An engineer clears mines and stays; any other ranked piece is lost to a mine, which stays.",
		"both":    "An engineer clears mines and stays; any other ranked piece goes with the mine that it attacks.",
		"refused": "An engineer clears mines and stays; no other ranked piece may attack one.",
		"bounce":  "An engineer clears mines and stays; any other ranked piece that attacks one stays where it was, as the mine does.",
	}[r.Mine]}
	if r.LowestClearsMines {
		lines = append(lines, "When a side has no engineers left, its lowest remaining ranked pieces clear mines and are removed with them.")
	}
	if r.WeakerAttacks == "refused" {
		return append(lines, "Attacks that would only cost the attacker are refused.")
	}
	return append(lines, "A piece may attack a stronger one and be lost.")
}

func (r Rules) flagSentences() []string {
	taker := map[string]string{
		"": "any ranked piece", "any": "any ranked piece", "engineer": "an engineer", "lowest": "a lowest remaining ranked piece of its side",
	}[r.FlagTaker]
	bomb := map[string]string{
		"":          "A bomb blows a flag up, and its owner has lost it.",
		"both":      "A bomb blows a flag up, and its owner has lost it.",
		"refused":   "A bomb may not attack a flag.",
		"bomb_lost": "A bomb that attacks a flag is lost.",
	}[r.BombVsFlag]
	lines := []string{"A flag is taken by " + taker + ".", bomb}
	if r.FlagAfterMines {
		lines = append(lines, "A flag is safe, from bombs too, while its side has a mine.")
	} else {
		lines = append(lines, "A flag may be taken before its side's mines are cleared.")
	}
	if r.FlagAfterMines || r.FlagTaker == "engineer" || r.FlagTaker == "lowest" {
		answer := "An attack on a flag that is safe from it is answered like one on a stronger piece: the attacker is lost."
		if r.shown() {
			answer = "An attack on a flag that is safe from it is refused."
		}
		lines = append(lines, answer)
	}
	if r.FlagCarryHome {
		lines = append(lines, "A flag counts as taken once the piece that took it reaches a headquarters of its own side; everybody sees who carries it. When the carrier is lost, the flag goes back to the stop that it was taken on, or if that is occupied to a free headquarters of its side, or else to the first free stop of its side from the last of a placement back.")
	}
	return lines
}

func (r Rules) tellingSentences() []string {
	if r.shown() {
		return nil
	}
	lines := []string{"A marshal that is lost in an encounter reveals where its side's flag stands."}
	if r.FlagReveal == "never" {
		lines[0] = "Nothing reveals where a flag stands."
	}
	if r.EngineerScouts {
		return append(lines, "An engineer that is lost to a piece it attacked shows that piece to all.")
	}
	return append(lines, "No encounter shows a rank.")
}

func (r Rules) endingSentences() []string {
	lines := []string{"Who loses the flag has lost."}
	switch r.Form {
	case FormFourPlayer:
		lines = []string{"Who loses the flag, or has no legal move on his turn, is out; where nobody has a move, the game is drawn."}
	case FormFlip:
		lines = append(lines, "Who can neither turn nor move on his turn has lost; where nobody can, the game is drawn.")
	default:
		lines = append(lines, "Who has no legal move on his turn has lost; where neither side has, the game is drawn.")
	}
	quiet := "There is no limit of plies without contact."
	if r.Idle.Limit > 0 {
		quiet = fmt.Sprintf("After %d plies in a row without contact the game is drawn.", r.Idle.Limit)
		if r.Idle.Result == "loss" {
			quiet = fmt.Sprintf("After %d plies in a row without contact the side to move next has lost.", r.Idle.Limit)
		}
	}
	lines = append(lines, quiet)
	if r.IllegalMoves == "lose" {
		lines = append(lines, "A player who tries an illegal move on the own turn has lost.")
	} else {
		lines = append(lines, "Illegal moves are refused.")
	}
	if r.ResignFromPly > 1 {
		lines = append(lines, fmt.Sprintf("A player may resign from ply %d on.", r.ResignFromPly))
	} else {
		lines = append(lines, "A player may resign at any time.")
	}
	switch {
	case r.Leaver == "unscored":
		lines = append(lines, "When a player leaves whose partner is still in, the game counts for nothing; with the partner already out, the others win.")
	case r.Form == FormFourPlayer:
		lines = append(lines, "A player who leaves is out, and the partner plays on.")
	default:
		lines = append(lines, "A player who leaves has lost.")
	}
	if r.MaxPlies > 0 {
		return append(lines, fmt.Sprintf("A game is drawn when %d plies have been played.", r.MaxPlies))
	}
	return append(lines, "A game has no limit of length.")
}

// Words returns the game in plain English for people at a terminal: who is to
// move and, with the identities that this needs, what is legal; or how it ended.
func (g *Game) Words(s *State, ids *Identities) []string {
	if s.outcome.Over() {
		return []string{"The game is over: " + g.outcomeInWords(s) + "."}
	}
	lines := []string{fmt.Sprintf("Seat %d is to move.", s.turn)}
	switch side := g.Side(s, s.turn); {
	case side == NoSide:
		lines = append(lines, "It is not settled yet who plays which side.")
	case g.flip:
		lines[0] = fmt.Sprintf("Seat %d is to move, with the side %c.", s.turn, g.sideLetter(side))
	}
	var legal []string
	for _, a := range g.List(s, ids, nil) {
		legal = append(legal, g.FormatAction(a, rules.NoPiece))
	}
	slices.Sort(legal)
	return append(lines, "Legal: "+strings.Join(legal, " "))
}

// outcomeInWords tells a finished game's result by seat.
func (g *Game) outcomeInWords(s *State) string {
	o := s.outcome
	text := "draw"
	switch {
	case o.Void:
		text = "it counts for nothing,"
	case o.Winners.Len() == 1:
		text = "seat " + seatList(o.Winners, "") + " wins"
	case o.Decided():
		text = "seats " + seatList(o.Winners, " and ") + " win"
	}
	text += " by " + strings.ReplaceAll(EndingName(o.Reason), "_", " ")
	if o.LastPly > 0 {
		text += fmt.Sprintf(" (plies %d to %d)", o.FirstPly, o.LastPly)
	}
	return text
}
