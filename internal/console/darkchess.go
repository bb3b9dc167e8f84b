package console

import (
	"strings"

	refereev1 "referee.example/proto/referee/v1"
)

// The board of Chinese dark chess is drawn in these units.
const (
	darkFiles, darkRanks = 4, 8
	darkCell             = 100
	darkMargin           = 46 // around the squares; the coordinates stand in it
)

// piece is a face-up piece.
type piece struct {
	Glyph  string
	Colour string // "red" or "black"
	Name   string // key of its name
}

// darkPieces are the pieces by their letters. The two sides have characters of
// their own for the same rank, as on the pieces themselves.
var darkPieces = map[byte]piece{
	'K': {"帥", "red", "piece.red_general"}, 'G': {"仕", "red", "piece.red_advisor"}, 'M': {"相", "red", "piece.red_elephant"},
	'R': {"俥", "red", "piece.red_chariot"}, 'N': {"傌", "red", "piece.red_horse"}, 'C': {"炮", "red", "piece.red_cannon"}, 'P': {"兵", "red", "piece.red_soldier"},
	'k': {"將", "black", "piece.black_general"}, 'g': {"士", "black", "piece.black_advisor"}, 'm': {"象", "black", "piece.black_elephant"},
	'r': {"車", "black", "piece.black_chariot"}, 'n': {"馬", "black", "piece.black_horse"}, 'c': {"砲", "black", "piece.black_cannon"}, 'p': {"卒", "black", "piece.black_soldier"},
}

// pieceOf returns the piece of a letter, nil for none.
func pieceOf(letter string) *piece {
	if len(letter) != 1 {
		return nil
	}
	if p, ok := darkPieces[letter[0]]; ok {
		return &p
	}
	return nil
}

func piecesOf(letters string) (out []piece) {
	for i := range len(letters) {
		if p, ok := darkPieces[letters[i]]; ok {
			out = append(out, p)
		}
	}
	return out
}

// darkChessBoard is a board of dark chess, ready to be drawn: middles of squares
// in the drawing's units.
type darkChessBoard struct {
	Width, Height int
	Lines         []line // of the squares
	Files, Ranks  []label
	Pieces        []placed
	Marks         []mark
	Arrow         *line
	Chases        []chase
	IdlePlies     uint32
	IdleLimit     uint32
	Pauses        []*refereev1.DarkChessPause
	Chain         string
	Counting      *uint32 // seat that asked for the count
}

type line struct{ X1, Y1, X2, Y2 int }

type label struct {
	X, Y int
	Text string
}

// placed is what stands on a square: a face-up piece or a face-down one.
type placed struct {
	X, Y   int
	Square string
	Piece  *piece // nil for face down
}

// mark is a sign around a square: "from", "to", "chain", "chaser", "chased", "pause".
type mark struct {
	X, Y int
	Kind string
}

// chase is a chase that stands.
type chase struct {
	Seat    uint32
	Chaser  string
	Allowed uint32
	Targets []*refereev1.DarkChessChased
	Lines   []line
}

// drawDarkChess draws a view. after is the ply that led to it, nil for none.
func drawDarkChess(view *refereev1.DarkChessView, after *refereev1.Event) *darkChessBoard {
	b := newDarkChessBoard()
	b.place(strings.ReplaceAll(view.GetBoard(), "/", ""))
	if after != nil {
		b.last(after.GetAction())
	}
	if b.mark(view.GetChainSquare(), "chain") {
		b.Chain = view.GetChainSquare()
	}
	for _, c := range view.GetChases() {
		b.chase(c)
	}
	for _, pause := range view.GetPauses() {
		b.mark(pause.GetSquare(), "pause")
	}
	b.Pauses, b.IdlePlies, b.IdleLimit, b.Counting = view.GetPauses(), view.GetIdlePlies(), view.GetIdleLimit(), view.CountRequestedBy //nolint:protogetter // absent is not 0
	return b
}

// newDarkChessBoard is an empty board.
func newDarkChessBoard() *darkChessBoard {
	b := &darkChessBoard{Width: darkFiles*darkCell + 2*darkMargin, Height: darkRanks*darkCell + 2*darkMargin}
	right, bottom := b.Width-darkMargin, b.Height-darkMargin
	for file := range darkFiles + 1 {
		x := darkMargin + file*darkCell
		b.Lines = append(b.Lines, line{x, darkMargin, x, bottom})
	}
	for rank := range darkRanks + 1 {
		y := darkMargin + rank*darkCell
		b.Lines = append(b.Lines, line{darkMargin, y, right, y})
	}
	for file := range darkFiles {
		x := darkMargin + file*darkCell + darkCell/2
		b.Files = append(b.Files, label{x, b.Height - darkMargin/2, string(rune('a' + file))})
	}
	for rank := range darkRanks {
		y := bottom - rank*darkCell - darkCell/2
		b.Ranks = append(b.Ranks, label{darkMargin / 2, y, string(rune('1' + rank))})
	}
	return b
}

// place puts pieces on the board, given as 32 letters from rank 8 down.
func (b *darkChessBoard) place(letters string) {
	for i := range min(len(letters), darkFiles*darkRanks) {
		square := string(rune('a'+i%darkFiles)) + string(rune('8'-i/darkFiles))
		x, y, _ := middle(square)
		switch up, ok := darkPieces[letters[i]]; {
		case ok:
			b.Pieces = append(b.Pieces, placed{x, y, square, &up})
		case letters[i] == 'X':
			b.Pieces = append(b.Pieces, placed{x, y, square, nil})
		}
	}
}

// middle is where a square's middle is drawn.
func middle(square string) (x, y int, ok bool) {
	if len(square) != 2 || square[0] < 'a' || square[0] >= 'a'+darkFiles || square[1] < '1' || square[1] >= '1'+darkRanks {
		return 0, 0, false
	}
	file, rank := int(square[0]-'a'), int(square[1]-'1')
	return darkMargin + file*darkCell + darkCell/2, darkMargin + (darkRanks-1-rank)*darkCell + darkCell/2, true
}

func (b *darkChessBoard) mark(square, kind string) bool {
	x, y, ok := middle(square)
	if ok {
		b.Marks = append(b.Marks, mark{x, y, kind})
	}
	return ok
}

// last marks what the last ply did.
func (b *darkChessBoard) last(a *refereev1.Action) {
	if a.GetTo() == "" {
		b.mark(a.GetFrom(), "to")
		return
	}
	if b.mark(a.GetFrom(), "from") && b.mark(a.GetTo(), "to") {
		b.Arrow = between(a.GetFrom(), a.GetTo())
	}
}

// between is a line between the middles of two squares, cut off before the discs.
func between(from, to string) *line {
	x1, y1, fromOK := middle(from)
	x2, y2, toOK := middle(to)
	if !fromOK || !toOK {
		return nil
	}
	const gap = 44
	sign := func(n int) int { return max(-1, min(1, n)) }
	return &line{x1, y1, x2 - gap*sign(x2-x1), y2 - gap*sign(y2-y1)}
}

func (b *darkChessBoard) chase(c *refereev1.DarkChessChase) {
	out := chase{Seat: c.GetSeat(), Chaser: c.GetChaserSquare(), Allowed: c.GetAllowed(), Targets: c.GetChased()}
	b.mark(c.GetChaserSquare(), "chaser")
	for _, target := range c.GetChased() {
		b.mark(target.GetSquare(), "chased")
		if l := between(c.GetChaserSquare(), target.GetSquare()); l != nil {
			out.Lines = append(out.Lines, *l)
		}
	}
	b.Chases = append(b.Chases, out)
}

// darkChess adds what the board knows of a seat.
func (s *seatPanel) darkChess(view *refereev1.DarkChessView, seat int) {
	at := func(list []uint32) uint32 {
		if seat < len(list) {
			return list[seat]
		}
		return 0
	}
	s.Fouls, s.Disputed, s.Turns = at(view.GetFouls()), at(view.GetDisputedFouls()), at(view.GetTurns())
	if seat < len(view.GetSeatColours()) {
		s.Colour = view.GetSeatColours()[seat]
	}
	if seat < len(view.GetCaptures()) {
		s.Captures = piecesOf(view.GetCaptures()[seat].GetPieces())
	}
}

// darkMovers are the pieces that moved or took, by ply. Events don't name them:
// they follow from what was turned before.
func darkMovers(events []*refereev1.Event) map[int]*piece {
	board, movers := map[string]string{}, map[int]*piece{}
	for _, e := range events {
		from, to := e.GetAction().GetFrom(), e.GetAction().GetTo()
		switch mover := board[from]; {
		case !isPly(e):
		case to == "": // a flip; a stop has no square and turns nothing
			board[from] = e.GetTurned()
		default:
			movers[int(e.GetPly())] = pieceOf(mover)
			if e.GetTurned() == "" || e.GetTurned() == e.GetCaptured() {
				board[to] = mover
			} else {
				board[to] = e.GetTurned() // a dark target that could not be taken
			}
			if e.GetTurned() == "" || e.GetCaptured() != "" { // the attacker has gone there, or is lost
				delete(board, from)
			}
		}
	}
	return movers
}

// drawDeal draws what lay on the squares at the start, nil while that is sealed.
func drawDeal(arrangement string) *darkChessBoard {
	if arrangement == "" {
		return nil
	}
	b := newDarkChessBoard()
	b.place(arrangement)
	return b
}
