package banqi

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"referee.example/internal/rules"
)

// The slow generator: each pair of squares is judged from the words of the
// rules, without tables or sets. It shares nothing with the fast one.

// slowMoves returns the moves and captures of a side, in text, sorted.
func slowMoves(r Rules, at *[squares]rules.Piece, side Colour) []string {
	var found []string
	for from := range squares {
		for to := range squares {
			if slowLegal(r, at, from, to, side) {
				found = append(found, SquareName(rules.Square(from))+"-"+SquareName(rules.Square(to)))
			}
		}
	}
	for square, p := range at {
		if p == FaceDown {
			found = append(found, SquareName(rules.Square(square)))
		}
	}
	slices.Sort(found)
	return found
}

func slowLegal(r Rules, at *[squares]rules.Piece, from, to int, side Colour) bool {
	mover, target := at[from], at[to]
	if PieceColour(mover) != side || PieceColour(target) == side || from == to {
		return false
	}
	letter := strings.ToUpper(string(PieceLetter(mover)))
	files, ranks := abs(from%4-to%4), abs(from/4-to/4)
	beside, corner, line := files+ranks == 1, files == 1 && ranks == 1, files == 0 || ranks == 0
	screens := slowBetween(at, from, to)
	if target == rules.NoPiece {
		switch {
		case letter == "N" && r.Horse == "diagonal_only":
			return corner
		case letter == "R" && r.ChariotSlide && line && screens == 0:
			return true
		}
		return beside
	}
	row := r.CaptureMatrix[letter]
	switch {
	case letter == "N" && r.Horse == "diagonal_only":
		return corner && slowTakes("KGMRNCP", target, r.DarkCapture)
	case letter == "N" && r.Horse == "diagonal_captures" && corner:
		return slowTakes("KGMRNCP", target, r.DarkCapture)
	case beside:
		return slowTakes(row, target, r.DarkCapture)
	case !line:
		return false
	case letter == "C":
		return screens == 1 && slowTakes(r.CannonTargets, target, r.DarkCapture)
	case letter == "R" && r.ChariotRush == "any_rank":
		return screens == 0 && slowTakes("KGMRNCP", target, r.RushDark)
	case letter == "R" && r.ChariotRush == "matrix":
		return screens == 0 && slowTakes(row, target, r.RushDark)
	}
	return false
}

// slowTakes reports whether a target may be tried by a piece that takes a row of ranks.
func slowTakes(row string, target rules.Piece, dark bool) bool {
	if target == FaceDown {
		return dark && row != ""
	}
	return strings.Contains(row, strings.ToUpper(string(PieceLetter(target))))
}

// slowBetween counts the pieces strictly between two squares of a line.
func slowBetween(at *[squares]rules.Piece, from, to int) int {
	n := 0
	for square := range squares {
		file, rank := square%4, square/4
		onFile := from%4 == to%4 && file == from%4 && rank > min(from/4, to/4) && rank < max(from/4, to/4)
		onRank := from/4 == to/4 && rank == from/4 && file > min(from%4, to%4) && file < max(from%4, to%4)
		if (onFile || onRank) && at[square] != rules.NoPiece {
			n++
		}
	}
	return n
}

func abs(n int) int { return max(n, -n) }

// randomBoard spreads a random part of the deck, some of it face down, and
// returns the identities too.
func (d dice) randomBoard() (b board, deal [squares]rules.Piece) {
	b.clear()
	deal = d.deal()
	share, hidden := d.IntN(100), d.IntN(100)
	for square := range rules.Square(squares) {
		switch {
		case d.IntN(100) < share:
			deal[square] = rules.NoPiece
		case d.IntN(100) < hidden:
			b.set(square, FaceDown)
		default:
			b.set(square, deal[square])
		}
	}
	return b, deal
}

// TestGeneratorAgainstSlow compares all actions of random positions under
// every ruleset.
func TestGeneratorAgainstSlow(t *testing.T) {
	all := allRules(t)
	for _, name := range rulesetNames(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, dice := compiled(t, name), newDice(7)
			for range 100 {
				b, _ := dice.randomBoard()
				for _, side := range []Colour{Red, Black} {
					var fast []string
					for _, a := range g.list(&b, side, nil) {
						fast = append(fast, FormatAction(a, rules.NoPiece))
					}
					slices.Sort(fast)
					slow := slowMoves(all[name], &b.at, side)
					if !slices.Equal(fast, slow) {
						t.Fatalf("%s %v:\nfast %v\nslow %v", b.text(), side, fast, slow)
					}
					if n := g.count(&b, side); n != len(slow) {
						t.Fatalf("%s %v: counted %d of %d", b.text(), side, n, len(slow))
					}
					if g.canAct(&b, side) != (len(slow) > 0) {
						t.Fatalf("%s %v: canAct is wrong", b.text(), side)
					}
				}
			}
		})
	}
}

// slowPerft is perft by the slow generator, for rulesets without dark targets.
func slowPerft(r Rules, at [squares]rules.Piece, side Colour, depth int, deal *[squares]rules.Piece) int64 {
	actions := slowMoves(r, &at, side)
	if depth == 1 {
		return int64(len(actions))
	}
	nodes := int64(0)
	for _, text := range actions {
		next := at
		from, _ := ParseSquare(text[:2])
		if len(text) == 2 {
			next[from] = deal[from]
		} else {
			to, _ := ParseSquare(text[3:])
			next[from], next[to] = rules.NoPiece, at[from]
		}
		nodes += slowPerft(r, next, 1-side, depth-1, deal)
	}
	return nodes
}

// TestPerftAgainstSlow compares perft from 50 random positions of every family
// of moves.
func TestPerftAgainstSlow(t *testing.T) {
	all := allRules(t)
	for _, name := range []string{"standard", "rush", "slide", "horse-diagonal", "7club-chariot-horse-cannon", "hong-kong-ladder", "baidu-literal"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, dice := compiled(t, name), newDice(11)
			for i := range 50 {
				b, deal := dice.randomBoard()
				depth := 2
				if i%10 == 0 {
					depth = 3
				}
				fast, slow := g.perft(&b, Red, depth, &deal), slowPerft(all[name], b.at, Red, depth, &deal)
				if fast != slow {
					t.Fatalf("%s: perft %d is %d, slowly %d", b.text(), depth, fast, slow)
				}
			}
		})
	}
}

// BenchmarkSlowList is the slow generator beside BenchmarkList.
func BenchmarkSlowList(b *testing.B) {
	r := allRules(b)["7club-standard"]
	s := position(b, compiled(b, "7club-standard"), midgame)
	cpu := cpuOf(b)
	for b.Loop() {
		if n := len(slowMoves(r, &s.board.at, Red)); n == 0 {
			b.Fatal(fmt.Errorf("no actions"))
		}
	}
	cpu()
}
