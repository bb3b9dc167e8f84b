package server

import (
	"referee.example/internal/rules"
	"referee.example/internal/rules/junqi"
	refereev1 "referee.example/proto/referee/v1"
)

// armySquare is a stop's name, empty for none.
func armySquare(g *junqi.Game, square rules.Square) string {
	if square == rules.NoSquare {
		return ""
	}
	return g.SquareName(square)
}

// armyPiece is a piece's text, empty for none.
func armyPiece(g *junqi.Game, piece rules.Piece) string {
	if piece == rules.NoPiece {
		return ""
	}
	return g.PieceText(piece)
}

// armySide is the letter of a side, empty while it is not settled.
func armySide(g *junqi.Game, side junqi.Side) string {
	if side == junqi.NoSide {
		return ""
	}
	return g.PieceText(junqi.PieceOf(side, junqi.Flag))[:1]
}

func armySides(g *junqi.Game, sides []junqi.Side) (letters []string) {
	for _, side := range sides {
		letters = append(letters, armySide(g, side))
	}
	return letters
}

// protoDisclosure is what a change told everybody, nil where that was nothing
// beside the piece that it turned.
func protoDisclosure(g *junqi.Game, d junqi.Disclosure) *refereev1.ArmyChessDisclosure {
	d.Turned = rules.NoPiece
	if d == (junqi.Disclosure{}) {
		return nil
	}
	out := &refereev1.ArmyChessDisclosure{
		Verdict: refereev1.EncounterVerdict(d.Verdict), Shown: armyPiece(g, d.Shown), Flag: d.Flag, StuckSeats: seatList(d.Stuck),
	}
	for seat := range rules.Seat(g.Seats()) {
		if d.Fallen.Has(seat) {
			out.Flags = append(out.Flags, &refereev1.ArmyChessFlag{Seat: uint32(seat), Square: armySquare(g, d.FlagAt[seat])})
		}
	}
	return out
}

func protoArmyIllegal(g *junqi.Game, i rules.Illegal, description string) *refereev1.IllegalAction {
	out := &refereev1.IllegalAction{Rule: string(i.Rule), Description: description}
	for n, square := range i.Squares {
		if square != rules.NoSquare {
			out.Squares = append(out.Squares, armySquare(g, square))
		}
		if piece := i.Pieces[n]; piece != rules.NoPiece {
			out.Pieces = append(out.Pieces, armyPiece(g, piece))
		}
	}
	return out
}
