package check

import "slices"

// The two boards of army chess, from docs/verification.md: how stops are numbered,
// and where each side places its pieces.

// armyBoard is a board of two seats or of four.
type armyBoard struct {
	names   []string
	letters string // of the sides, in order

	camps, headquarters []int
	lines               [][]int // of rail, from one end to the other
	roads, rails        [][]int // by stop: those one step away
}

var twoSeats, fourSeats = newTwoSeats(), newFourSeats()

// newTwoSeats numbers rows A to L of five, A0 to A4 first.
func newTwoSeats() *armyBoard {
	b := &armyBoard{letters: "bt"}
	for row := 'A'; row <= 'L'; row++ {
		for column := '0'; column <= '4'; column++ {
			b.names = append(b.names, string([]rune{row, column}))
		}
	}
	b.layTwoSeats()
	return b
}

// newFourSeats numbers the centre, C11 to C33, and then six rows of five a side.
func newFourSeats() *armyBoard {
	b := &armyBoard{letters: "SENW"}
	add := func(letter rune, rows, columns rune) {
		for row := '1'; row < '1'+rows; row++ {
			for column := '1'; column < '1'+columns; column++ {
				b.names = append(b.names, string([]rune{letter, row, column}))
			}
		}
	}
	add('C', 3, 3)
	for _, side := range b.letters {
		add(side, 6, 5)
	}
	b.layFourSeats()
	return b
}

func (m *Match) board() *armyBoard {
	if m.Rules.ArmyChess.Form == "four_player" {
		return fourSeats
	}
	return twoSeats
}

// home is the stop of a place in the text of a side's placement, places counted from
// the left of the front row.
func (b *armyBoard) home(side, place int) int {
	switch {
	case len(b.letters) == 4:
		return 9 + 30*side + place
	case side == 0:
		return 30 + place
	}
	return 29 - place
}

func (b *armyBoard) name(stop int) string {
	if stop < 0 || stop >= len(b.names) {
		return ""
	}
	return b.names[stop]
}

func (b *armyBoard) isCamp(stop int) bool         { return slices.Contains(b.camps, stop) }
func (b *armyBoard) isHeadquarters(stop int) bool { return slices.Contains(b.headquarters, stop) }

// The ranks that are not compared by their numbers, which are those of the pieces.
const (
	engineer = 1
	marshal  = 9
	bomb     = 10
	mine     = 11
	flag     = 12
)

const rankLetters = "?123456789BMF"

// piece writes the code of a piece, its rank plus 16 a side, as messages do; empty for
// none.
func (b *armyBoard) piece(code int) string {
	side, rank := code>>4, code&15
	if code == 0 || side >= len(b.letters) || rank >= len(rankLetters) {
		return ""
	}
	return string([]byte{b.letters[side], rankLetters[rank]})
}

// army is how many pieces of each rank a side has.
var army = [len(rankLetters)]int{0, 3, 3, 3, 2, 2, 2, 2, 1, 1, 2, 3, 1}

// placeable reports whether a text places an army as the rules allow: camps empty, the
// flag in a headquarters, mines in the last two rows, no bomb in the front row.
func placeable(text string) bool {
	const form = "...../.x.x./..x../.x.x./...../....." // x is a camp
	if len(text) != len(form) {
		return false
	}
	var counts [len(rankLetters)]int
	for i := range len(form) {
		row, column := i/6, i%6
		rank := 0
		for r := 1; r < len(rankLetters); r++ {
			if rankLetters[r] == text[i] {
				rank = r
			}
		}
		switch {
		case form[i] == '/':
			if text[i] != '/' {
				return false
			}
			continue
		case form[i] == 'x':
			if text[i] != '.' {
				return false
			}
			continue
		case rank == 0, rank == mine && row < 4, rank == bomb && row == 0,
			rank == flag && (row != 5 || column != 1 && column != 3):
			return false
		}
		counts[rank]++
	}
	return counts == army
}
