package referee

import (
	"referee.example/internal/rules"
	"referee.example/internal/rules/banqi"
	"referee.example/internal/rules/junqi"
)

// Board is a set of squares. Each has names of its own, so that a call can name a
// square before its match's rules are known; numbers of squares mean nothing
// without their board.
type Board uint8

// The boards. NoBoard is that of calls which name no square.
const (
	NoBoard Board = iota
	DarkChessBoard
	TwoPlayerBoard  // army chess with two players
	FourPlayerBoard // army chess with four players
)

// FindSquare returns the square of a name and its board, NoBoard for no square.
func FindSquare(name string) (rules.Square, Board) {
	if square, err := banqi.ParseSquare(name); err == nil {
		return square, DarkChessBoard
	}
	switch stop, seats := junqi.FindStop(name); seats {
	case 2:
		return stop, TwoPlayerBoard
	case 4:
		return stop, FourPlayerBoard
	}
	return rules.NoSquare, NoBoard
}

// Board returns the board that the rules play on.
func (r *Rules) Board() Board {
	switch {
	case r.DarkChess != nil:
		return DarkChessBoard
	case r.ArmyChess.Form == junqi.FormFourPlayer:
		return FourPlayerBoard
	}
	return TwoPlayerBoard
}

// SquareName returns a square's name, empty for none.
func (r *Rules) SquareName(square rules.Square) string {
	if square == rules.NoSquare {
		return ""
	}
	return r.family.squareName(square)
}

// PieceName returns a piece's letters, empty for none.
func (r *Rules) PieceName(piece rules.Piece) string {
	if piece == rules.NoPiece {
		return ""
	}
	return r.family.pieceName(piece)
}

// FormatAction writes an action and the piece that it turned, NoPiece for none, in
// the board's notation.
func (r *Rules) FormatAction(a rules.Action, turned rules.Piece) string {
	if g := r.ArmyChessGame(); g != nil {
		return g.FormatAction(a, turned)
	}
	return banqi.FormatAction(a, turned)
}
