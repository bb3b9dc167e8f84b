package demo

import (
	"math/rand/v2"
	"strings"

	refereev1 "referee.example/proto/referee/v1"
)

// value orders the pieces by their worth to this player. The cannon's jump
// makes it worth more than its rank, and a general is worth what it takes.
var value = map[byte]int{'K': 90, 'G': 60, 'M': 45, 'R': 30, 'N': 25, 'C': 50, 'P': 12}

// rankOrder is the standard order, highest first, without the cannon's jump.
const rankOrder = "KGMRNCP"

// player looks one ply ahead: it captures what it can take safely, runs from
// what threatens it, hunts what it can take, and turns pieces otherwise.
type player struct{ dice *rand.Rand }

// choose returns the best of the legal actions; there is always at least one.
func (p player) choose(b board, actions []*refereev1.LegalAction) *refereev1.LegalAction {
	best, bestScore := actions[0], 0
	for i, action := range actions {
		// Dice in the last digit, so that equals do not go on for ever alike.
		score := judge(b, action)*16 + p.dice.IntN(16)
		if i == 0 || score > bestScore {
			best, bestScore = action, score
		}
	}
	return best
}

// judge values an action by the position before and after it.
func judge(b board, action *refereev1.LegalAction) int {
	const flipWorth = 4
	from, fromOK := parseSquare(action.GetAction().GetFrom())
	to, toOK := parseSquare(action.GetAction().GetTo())
	if !fromOK || !toOK {
		return flipWorth
	}
	mover := b[from]
	after := b
	after[from], after[to] = emptySquare, mover
	score := 2 * value[upper(letterOf(action.GetCaptures()))]
	if threatened(b, from) {
		score += value[upper(mover)]
	}
	if threatened(after, to) {
		score -= value[upper(mover)]
	}
	return score + hunting(b, from) - hunting(after, to)
}

func letterOf(piece string) byte {
	if piece == "" {
		return emptySquare
	}
	return piece[0]
}

// hunting returns how far the nearest piece is that the one on square takes
// when it stands beside it; more than any way on the board when there is none.
func hunting(b board, square int) int {
	const nothingToHunt = files * ranks
	nearest := nothingToHunt
	for other, letter := range b {
		if enemies(b[square], letter) && outranks(b[square], letter) {
			nearest = min(nearest, steps(square, other))
		}
	}
	return nearest
}

func steps(a, b int) int {
	return distance(a%files, b%files) + distance(a/files, b/files)
}

func distance(a, b int) int { return max(a-b, b-a) }

// threatened tells whether an enemy could take the piece on square at once.
func threatened(b board, square int) bool {
	for other, letter := range b {
		if !enemies(letter, b[square]) {
			continue
		}
		if steps(other, square) == 1 && outranks(letter, b[square]) ||
			upper(letter) == 'C' && between(b, other, square) == 1 {
			return true
		}
	}
	return false
}

// outranks is the standard capture matrix between neighbours.
func outranks(attacker, target byte) bool {
	a, t := upper(attacker), upper(target)
	switch {
	case a == 'C':
		return false
	case a == 'K' && t == 'P':
		return false
	case a == 'P' && t == 'K':
		return true
	default:
		return strings.IndexByte(rankOrder, a) <= strings.IndexByte(rankOrder, t)
	}
}

// between counts the pieces on the line between two squares; -1 when they are
// not on one file or rank.
func between(b board, from, to int) int {
	var step int
	switch {
	case from%files == to%files:
		step = files
	case from/files == to/files:
		step = 1
	default:
		return -1
	}
	if to < from {
		from, to = to, from
	}
	count := 0
	for square := from + step; square < to; square += step {
		if b[square] != emptySquare {
			count++
		}
	}
	return count
}

// hopeless tells whether a side that plays the given colour should give up:
// everything is face up, nothing has happened for a while, and it has less.
func hopeless(b board, colour string, quiet uint32) bool {
	const patience = 24
	own, enemy := 0, 0
	for _, letter := range b {
		switch {
		case letter == faceDown:
			return false
		case letter == emptySquare:
		case isRed(letter) == (colour == "red"):
			own += value[upper(letter)]
		default:
			enemy += value[upper(letter)]
		}
	}
	return quiet >= patience && own < enemy
}
