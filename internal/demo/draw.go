package demo

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	refereev1 "referee.example/proto/referee/v1"
)

// Style is how boards are drawn.
type Style struct {
	// ASCII draws letters instead of Chinese characters.
	ASCII bool
	// Colour uses the terminal's escape sequences.
	Colour bool
}

// Escape sequences. Red pieces are red; black ones have the terminal's own
// foreground, which is dark on a light ground and light on a dark one.
const (
	escapeRed   = "\x1b[1;31m"
	escapeBlack = "\x1b[1m"
	escapeDim   = "\x1b[2m"
	escapeMark  = "\x1b[1;33m"
	escapeReset = "\x1b[0m"
)

// Characters of the pieces. The signs for a face-down piece and for an empty
// square are such as have two columns, or one, in every terminal: a black
// square would have one or two, depending on its language.
var characters = map[byte]string{
	'K': "帥", 'G': "仕", 'M': "相", 'R': "俥", 'N': "傌", 'C': "炮", 'P': "兵",
	'k': "將", 'g': "士", 'm': "象", 'r': "車", 'n': "馬", 'c': "包", 'p': "卒",
	faceDown: "〇", emptySquare: "--",
}

// Lines is the height of a drawing of dark chess.
const Lines = ranks + 2

// Draw returns a game as its view shows it, with what stands beside the board:
// players, captures, clocks, whose turn it is. last is the event that led here;
// nil marks nothing. now is the server's time of the answer.
func Draw(game *refereev1.Game, players []string, last *refereev1.Event, now time.Time, style Style) (string, error) {
	if game.GetArmyChess() != nil {
		return drawArmyChess(game, players, last, now, style)
	}
	b, err := parseBoard(game.GetDarkChess().GetBoard())
	if err != nil {
		return "", err
	}
	marked := markedSquares(last)
	beside := panel(game, players, now, style)
	var out strings.Builder
	fmt.Fprintln(&out, style.fileNames())
	for rank := ranks - 1; rank >= 0; rank-- {
		fmt.Fprintf(&out, " %d ", rank+1)
		for file := range files {
			square := rank*files + file
			out.WriteString(style.cell(b[square], marked[square]))
		}
		line := fmt.Sprintf(" %d   %s", rank+1, beside[ranks-1-rank])
		fmt.Fprintln(&out, strings.TrimRight(line, " "))
	}
	fmt.Fprintln(&out, style.fileNames())
	return out.String(), nil
}

func markedSquares(last *refereev1.Event) (marked [files * ranks]bool) {
	for _, name := range []string{last.GetAction().GetFrom(), last.GetAction().GetTo()} {
		if square, ok := parseSquare(name); ok {
			marked[square] = true
		}
	}
	return marked
}

func (s Style) fileNames() string {
	if s.ASCII {
		return "    a  b  c  d"
	}
	return "    a   b   c   d"
}

// cell draws a square, bracketed when the last ply touched it.
func (s Style) cell(letter byte, marked bool) string {
	sign := s.sign(letter)
	if marked {
		return s.paint(escapeMark, "[") + sign + s.paint(escapeMark, "]")
	}
	return " " + sign + " "
}

func (s Style) sign(letter byte) string {
	sign := characters[letter]
	if s.ASCII {
		sign = string(letter)
	}
	switch {
	case !isPiece(letter):
		return s.paint(escapeDim, sign)
	case isRed(letter):
		return s.paint(escapeRed, sign)
	default:
		return s.paint(escapeBlack, sign)
	}
}

func (s Style) signs(letters string) string {
	var out strings.Builder
	for i := range len(letters) {
		out.WriteString(s.sign(letters[i]))
	}
	return out.String()
}

func (s Style) paint(escape, text string) string {
	if !s.Colour {
		return text
	}
	return escape + text + escapeReset
}

// panel returns the lines beside the board, from rank 8 down.
func panel(game *refereev1.Game, players []string, now time.Time, style Style) (lines [ranks]string) {
	const linesPerSeat = 3
	for seat, player := range players {
		if seat > 1 {
			break
		}
		at := seat * (linesPerSeat + 1)
		lines[at] = playerLine(game, seat, player)
		lines[at+1] = "  captured  " + capturedBy(game.GetDarkChess(), seat, style)
		lines[at+2] = "  clock     " + clockOf(game, seat, now)
	}
	lines[ranks-1] = footLine(game)
	return lines
}

func playerLine(game *refereev1.Game, seat int, player string) string {
	line := player
	colours := game.GetDarkChess().GetSeatColours()
	if seat < len(colours) && colours[seat] != "" {
		line += ", " + colours[seat]
	}
	if game.ToMove != nil && int(game.GetToMove()) == seat {
		line += "  <- to move"
	}
	return line
}

func capturedBy(view *refereev1.DarkChessView, seat int, style Style) string {
	captures := view.GetCaptures()
	if seat >= len(captures) || captures[seat].GetPieces() == "" {
		return "none"
	}
	pieces := captures[seat].GetPieces()
	return fmt.Sprintf("%d  %s", len(pieces), style.signs(pieces))
}

func clockOf(game *refereev1.Game, seat int, now time.Time) string {
	clock := game.GetClock()
	var parts []string
	if clock.RunningSeat != nil && int(clock.GetRunningSeat()) == seat {
		if end := runningUntil(clock); end != nil {
			parts = append(parts, fmt.Sprintf("%.1f s", max(0, end.AsTime().Sub(now).Seconds())))
		}
	} else {
		parts = append(parts, "stands")
	}
	if seat < len(clock.GetSeats()) {
		parts = append(parts, fmt.Sprintf("%d extensions left", clock.GetSeats()[seat].GetExtensionsLeft()))
	}
	return strings.Join(parts, ", ")
}

// runningUntil returns the end of the plain turn time or, without one, of all
// time the player has.
func runningUntil(clock *refereev1.GameClock) *timestamppb.Timestamp {
	if clock.GetTurnEndTime() != nil {
		return clock.GetTurnEndTime()
	}
	return clock.GetDeadlineTime()
}

func footLine(game *refereev1.Game) string {
	if game.GetResult() != nil {
		return "ended: " + words(game.GetResult().GetReason().String(), "END_REASON_")
	}
	view := game.GetDarkChess()
	if view.GetIdleLimit() > 0 {
		return fmt.Sprintf("quiet plies %d of %d", view.GetIdlePlies(), view.GetIdleLimit())
	}
	return ""
}

// words turns the name of an enum's value into words.
func words(name, prefix string) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, prefix), "_", " "))
}
