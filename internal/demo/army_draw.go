package demo

import (
	"fmt"
	"strings"
	"time"

	refereev1 "referee.example/proto/referee/v1"
)

// armyCharacters are those of the pieces of army chess by rank; a full-width mark
// stands for a rank that the viewer does not know.
var armyCharacters = map[byte]string{
	'9': "司", '8': "軍", '7': "師", '6': "旅", '5': "團", '4': "營", '3': "連", '2': "排", '1': "工",
	'B': "炸", 'M': "雷", 'F': "旗", '?': "？",
}

// armyColours are the escape sequences of the sides; partners' are alike.
var armyColours = map[byte]string{
	'b': escapeRed, 't': "\x1b[1;34m", 'S': escapeRed, 'N': "\x1b[1;35m", 'E': "\x1b[1;34m", 'W': "\x1b[1;36m",
}

// drawArmyChess draws a board of army chess. Each piece has the letter of its side.
func drawArmyChess(game *refereev1.Game, players []string, last *refereev1.Event, now time.Time, style Style) (string, error) {
	b, err := newArmyBoard(game.GetArmyChess())
	if err != nil {
		return "", err
	}
	marked := map[string]bool{last.GetAction().GetFrom(): true, last.GetAction().GetTo(): true}
	beside := armyPanel(game, players, now, b.height)
	var out strings.Builder
	head := style.armyHead(b)
	fmt.Fprintln(&out, head)
	for y := range b.height {
		label := "   "
		if !b.four {
			label = fmt.Sprintf(" %c ", 'A'+y)
		}
		row := label
		for x := range b.width {
			name := b.names[point{x, y}]
			row += style.armyCell(b, name, name != "" && marked[name])
		}
		fmt.Fprintln(&out, strings.TrimRight(row+label+"  "+beside[y], " "))
	}
	fmt.Fprintln(&out, head)
	return out.String(), nil
}

// armyHead names the columns of the two-player board.
func (s Style) armyHead(b *armyBoard) string {
	line := "   "
	for x := range b.width {
		if s.ASCII {
			line += fmt.Sprintf(" %d  ", x)
		} else {
			line += fmt.Sprintf("  %d  ", x)
		}
	}
	if b.four {
		return ""
	}
	return strings.TrimRight(line, " ")
}

// armyCell draws a stop, bracketed when the last ply touched it; empty where the
// paper has none.
func (s Style) armyCell(b *armyBoard, name string, marked bool) string {
	sign := s.armySign(b, name)
	if marked {
		return s.paint(escapeMark, "[") + sign + s.paint(escapeMark, "]")
	}
	return " " + sign + " "
}

// armySign has two columns in letters and three in characters.
func (s Style) armySign(b *armyBoard, name string) string {
	pad := " "
	if s.ASCII {
		pad = ""
	}
	if name == "" {
		return "  " + pad
	}
	piece := b.pieces[name]
	switch {
	case piece == "":
		return s.paint(escapeDim, map[byte]string{'-': "-" + pad + " ", '(': "(" + pad + ")", '{': "{" + pad + "}"}[b.ground(name)])
	case piece == "??" && s.ASCII:
		return s.paint(escapeDim, piece)
	case piece == "??":
		return s.paint(escapeDim, " "+characters[faceDown])
	case s.ASCII:
		return s.paint(armyColours[piece[0]], piece)
	}
	return s.paint(armyColours[piece[0]], piece[:1]+armyCharacters[piece[1]])
}

// armyPanel returns the lines beside the board, from its top down.
func armyPanel(game *refereev1.Game, players []string, now time.Time, height int) []string {
	lines := make([]string, height)
	view := game.GetArmyChess()
	for seat, player := range players {
		at := 4 * seat
		if at+3 > height {
			break
		}
		lines[at] = armyPlayerLine(game, seat, player)
		if seat < len(view.GetCaptures()) {
			lines[at+1] = fmt.Sprintf("  captured  %d", view.GetCaptures()[seat])
		}
		lines[at+2] = "  clock     " + clockOf(game, seat, now)
	}
	lines[height-1] = footLine(game)
	if view.GetIdleLimit() > 0 && game.GetResult() == nil {
		lines[height-1] = fmt.Sprintf("plies without contact %d of %d", view.GetIdlePlies(), view.GetIdleLimit())
	}
	return lines
}

func armyPlayerLine(game *refereev1.Game, seat int, player string) string {
	view := game.GetArmyChess()
	line := player
	if sides := view.GetSeatSides(); seat < len(sides) && sides[seat] != "" {
		line += ", " + sides[seat]
	}
	for _, out := range view.GetOutSeats() {
		if int(out) == seat {
			return line + ", out"
		}
	}
	if game.ToMove != nil && int(game.GetToMove()) == seat {
		line += "  <- to move"
	}
	return line
}
