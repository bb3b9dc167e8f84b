package console

import (
	"strconv"
	"strings"

	"referee.example/internal/rules/junqi"
	refereev1 "referee.example/proto/referee/v1"
)

// armyPiece is a piece of army chess as a viewer sees it.
type armyPiece struct {
	Side  int    // 0 to 3; -1 face down in the flip form
	Glyph string // characters on the piece; empty where the rank is not known
	Short string // one character, where two have no room
	Name  string // key of the rank's name
	// Private is a rank that not everybody was shown.
	Private bool
}

// armyShort are the ranks in one character, as players shorten them.
var armyShort = map[string]string{
	"司令": "司", "军长": "军", "师长": "师", "旅长": "旅", "团长": "团", "营长": "营", "连长": "连", "排长": "排",
	"工兵": "兵", "炸弹": "炸", "地雷": "雷", "军旗": "旗",
}

// armySides are the letters of the sides in their order, of either board.
var armySides = []string{armyTwo.game.SideLetters(), armyFour.game.SideLetters()}

// armyPieceOf reads a piece such as "b9", "t?" or "??"; nil for none.
func armyPieceOf(text string) *armyPiece {
	if len(text) != 2 {
		return nil
	}
	if text == "??" {
		return &armyPiece{Side: -1}
	}
	for _, letters := range armySides {
		if side := strings.IndexByte(letters, text[0]); side >= 0 {
			return armyPieceWith(side, text[1])
		}
	}
	return nil
}

// armyPieceWith is a side's piece of a rank's letter.
func armyPieceWith(side int, letter byte) *armyPiece {
	p := &armyPiece{Side: side}
	known, err := armyTwo.game.ParsePiece("b" + string(letter))
	if err != nil {
		return p
	}
	rank := junqi.RankOf(known)
	p.Glyph, p.Short, p.Name = rank.Name(), armyShort[rank.Name()], "rank."+strings.ReplaceAll(rank.String(), " ", "_")
	return p
}

// armyPiecesOf reads pieces side by side, such as "b9t3".
func armyPiecesOf(text string) (out []*armyPiece) {
	for ; len(text) >= 2; text = text[2:] {
		if p := armyPieceOf(text[:2]); p != nil {
			out = append(out, p)
		}
	}
	return out
}

// armyBoard is a board of army chess, ready to be drawn.
type armyBoard struct {
	*armyGraph
	Placed    []armyPlaced
	Marks     []mark
	Arrow     *line
	Carried   []*refereev1.ArmyChessCarriedFlag
	FaceDown  uint32
	IdlePlies uint32
	IdleLimit uint32
	Ready     []armyReady // in the placement phase, and of a game that ended in it
	Placing   bool        // it goes on
}

// armyPlaced is a piece on a stop.
type armyPlaced struct {
	X, Y    int
	Square  string
	Piece   *armyPiece
	Carries bool // a flag
}

// armyReady is a seat in the placement phase.
type armyReady struct {
	Seat     uint32
	Attempts uint32
}

// drawArmyChess draws a view. after is the ply that led to it, nil for none.
func drawArmyChess(graph *armyGraph, view *refereev1.ArmyChessView, after *refereev1.Event) *armyBoard {
	b := &armyBoard{armyGraph: graph, FaceDown: view.GetFaceDown(), IdlePlies: view.GetIdlePlies(), IdleLimit: view.GetIdleLimit(),
		Carried: view.GetCarriedFlags()}
	carriers := map[string]bool{}
	for _, flag := range view.GetCarriedFlags() {
		carriers[flag.GetSquare()] = true
	}
	for _, p := range view.GetPieces() {
		piece := armyPieceOf(p.GetPiece())
		if piece != nil {
			piece.Private = piece.Glyph != "" && !p.GetShown()
			b.put(p.GetSquare(), piece, carriers[p.GetSquare()])
		}
	}
	if after != nil {
		b.last(after)
	}
	return b
}

// open puts the ranks on pieces that were hidden, out of what an ended game has
// revealed: its placements or its deal. A hidden piece is known by the stop that it
// began on.
func (b *armyBoard) open(view *refereev1.ArmyChessView, ended *refereev1.Game) {
	began := map[string]*armyPiece{}
	start := drawPlacements(b.armyGraph, ended.GetPlacements())
	if start == nil {
		start = drawArmyDeal(ended.GetDeal().GetArrangement())
	}
	if start == nil {
		return // a game that was never played
	}
	for _, p := range start.Placed {
		began[p.Square] = p.Piece
	}
	origins := map[string]string{}
	for _, p := range view.GetPieces() {
		origins[p.GetSquare()] = p.GetOrigin()
	}
	for i := range b.Placed {
		p := &b.Placed[i]
		if p.Piece.Name != "" {
			continue
		}
		origin := origins[p.Square]
		if origin == "" {
			origin = p.Square // face down, where it was dealt
		}
		if known := began[origin]; known != nil {
			opened := *known
			opened.Private = true
			p.Piece = &opened
		}
	}
}

// drawPlacing draws the placement phase: who is ready, and what the viewer may
// know of the placements.
func drawPlacing(graph *armyGraph, goesOn bool, placements []*refereev1.SeatPlacement) *armyBoard {
	b := &armyBoard{armyGraph: graph, Placing: goesOn}
	for _, placement := range placements {
		b.Ready = append(b.Ready, armyReady{placement.GetSeat(), placement.GetAttempt()})
		b.placement(placement)
	}
	return b
}

// placement puts a seat's placement on its stops, as far as it may be known.
func (b *armyBoard) placement(placement *refereev1.SeatPlacement) {
	side := int(placement.GetSeat())
	if placement.GetAttempt() == 0 || side >= b.game.Seats() {
		return
	}
	rows := strings.ReplaceAll(placement.GetPlacement(), "/", "")
	stops := b.Stops
	for i, stop := range b.game.Home(junqi.Side(side)) {
		switch {
		case rows == "" && stops[stop].Kind != "camp":
			b.put(stops[stop].Name, &armyPiece{Side: side}, false)
		case i < len(rows) && rows[i] != '.':
			piece := armyPieceWith(side, rows[i])
			piece.Private = true
			b.put(stops[stop].Name, piece, false)
		}
	}
}

// drawArmyDeal draws what was dealt to the stops, camps left out, two letters a
// piece; nil while that is sealed.
func drawArmyDeal(arrangement string) *armyBoard {
	if arrangement == "" {
		return nil
	}
	b := &armyBoard{armyGraph: armyTwo}
	pieces := armyPiecesOf(arrangement)
	for _, stop := range armyTwo.Stops {
		if stop.Kind != "camp" && len(pieces) > 0 {
			b.put(stop.Name, pieces[0], false)
			pieces = pieces[1:]
		}
	}
	return b
}

// drawPlacements draws the opened placements of all seats; nil while they are
// sealed, and where there are none.
func drawPlacements(graph *armyGraph, placements []*refereev1.SeatPlacement) *armyBoard {
	b := &armyBoard{armyGraph: graph}
	for _, placement := range placements {
		if len(placement.GetSalt()) > 0 {
			b.placement(placement)
		}
	}
	if len(b.Placed) == 0 {
		return nil
	}
	for i := range b.Placed {
		b.Placed[i].Piece.Private = false
	}
	return b
}

func (b *armyBoard) put(square string, piece *armyPiece, carries bool) {
	if p, ok := b.at[square]; ok {
		b.Placed = append(b.Placed, armyPlaced{p.x, p.y, square, piece, carries})
	}
}

func (b *armyBoard) mark(square, kind string) bool {
	p, ok := b.at[square]
	if ok {
		b.Marks = append(b.Marks, mark{p.x, p.y, kind})
	}
	return ok
}

// last marks what the last ply did.
func (b *armyBoard) last(e *refereev1.Event) {
	from, to := e.GetAction().GetFrom(), e.GetAction().GetTo()
	if to == "" {
		b.mark(from, "to")
	} else if b.mark(from, "from") && b.mark(to, "to") {
		b.Arrow = b.arrow(from, to)
	}
	for _, flag := range e.GetDisclosure().GetFlags() {
		b.mark(flag.GetSquare(), "revealed")
	}
}

// arrow is a line between two stops that ends before the piece on the second.
func (b *armyBoard) arrow(from, to string) *line {
	const gap = 40
	p, q := b.at[from], b.at[to]
	long := max(abs(q.x-p.x), abs(q.y-p.y))
	if long <= gap {
		return nil
	}
	return &line{p.x, p.y, q.x - (q.x-p.x)*gap/long, q.y - (q.y-p.y)*gap/long}
}

func abs(n int) int { return max(n, -n) }

// armyGraphOf is the board that a match is played on.
func armyGraphOf(rules *refereev1.ArmyChessRules) *armyGraph {
	if rules.GetForm() == junqi.FormFourPlayer {
		return armyFour
	}
	return armyTwo
}

// armyChess adds what the board knows of a seat.
func (s *seatPanel) armyChess(view *refereev1.ArmyChessView, seat int) {
	s.Army = true
	if seat < len(view.GetSeatSides()) && view.GetSeatSides()[seat] != "" {
		s.ArmySide = armyPieceOf(view.GetSeatSides()[seat] + "?")
	}
	if seat < len(view.GetTurns()) {
		s.Turns = view.GetTurns()[seat]
	}
	if seat < len(view.GetCaptures()) {
		s.Taken = view.GetCaptures()[seat]
	}
	for _, out := range view.GetOutSeats() {
		s.Out = s.Out || int(out) == seat
	}
	if s.ArmySide == nil {
		return
	}
	for _, lost := range armyPiecesOf(view.GetCaptured()) {
		if lost.Side == s.ArmySide.Side {
			s.Lost = append(s.Lost, lost)
		}
	}
}

// placing adds what the placement phase knows of a seat.
func (s *seatPanel) placing(goesOn bool, placement *refereev1.SeatPlacement) {
	s.Army, s.Placing, s.Attempts = true, goesOn, placement.GetAttempt()
	s.ArmySide = &armyPiece{Side: int(placement.GetSeat())}
}

// SideKey is the key of the name of the piece's side.
func (p *armyPiece) SideKey() string { return "side." + strconv.Itoa(p.Side) }

// Class tells the style whose piece it is.
func (p *armyPiece) Class() string {
	if p.Side < 0 {
		return "army-down"
	}
	return "army-" + strconv.Itoa(p.Side)
}
