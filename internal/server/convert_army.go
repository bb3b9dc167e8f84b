package server

import (
	"referee.example/internal/referee"
	"referee.example/internal/rules"
	"referee.example/internal/rules/junqi"
	refereev1 "referee.example/proto/referee/v1"
)

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
func protoDisclosure(r *referee.Rules, d junqi.Disclosure) *refereev1.ArmyChessDisclosure {
	d.Turned = rules.NoPiece
	if d == (junqi.Disclosure{}) {
		return nil
	}
	out := &refereev1.ArmyChessDisclosure{
		Verdict: refereev1.EncounterVerdict(d.Verdict), Shown: r.PieceName(d.Shown), Flag: d.Flag, StuckSeats: seatList(d.Stuck),
	}
	for seat := range rules.Seat(r.Seats()) {
		if d.Fallen.Has(seat) {
			out.Flags = append(out.Flags, &refereev1.ArmyChessFlag{Seat: uint32(seat), Square: r.SquareName(d.FlagAt[seat])})
		}
	}
	return out
}
