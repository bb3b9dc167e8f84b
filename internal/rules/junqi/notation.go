package junqi

import (
	"errors"
	"strconv"
	"strings"

	"referee.example/internal/rules"
)

// ErrNotation is what ParseAction and ParseChange answer for text that is none.
var ErrNotation = errors.New("not an action such as G2-F2, F2 or F2(t5), nor pass, out=1:time or leave=1")

// FormatAction writes an action and the piece it turned, NoPiece for none:
// "G2-F2", "F2", "F2(t5)" (army-chess rules, section 6).
func (g *Game) FormatAction(a rules.Action, turned rules.Piece) string {
	switch {
	case a.Kind == rules.ActionMove:
		return g.SquareName(a.From) + "-" + g.SquareName(a.To)
	case a.Kind != rules.ActionFlip:
		return "none"
	case turned == rules.NoPiece:
		return g.SquareName(a.From)
	}
	return g.SquareName(a.From) + "(" + g.PieceText(turned) + ")"
}

// ParseAction reads what FormatAction writes. The error is ErrNotation.
func (g *Game) ParseAction(text string) (rules.Action, rules.Piece, error) {
	if from, to, ok := strings.Cut(text, "-"); ok {
		a, errFrom := g.ParseSquare(from)
		b, errTo := g.ParseSquare(to)
		if errFrom != nil || errTo != nil {
			return rules.Action{}, rules.NoPiece, ErrNotation
		}
		return rules.Move(a, b), rules.NoPiece, nil
	}
	turned := rules.NoPiece
	name, piece, ok := strings.Cut(text, "(")
	if ok {
		p, err := g.ParsePiece(strings.TrimSuffix(piece, ")"))
		if err != nil || !strings.HasSuffix(piece, ")") {
			return rules.Action{}, rules.NoPiece, ErrNotation
		}
		turned = p
	}
	stop, err := g.ParseSquare(name)
	if err != nil {
		return rules.Action{}, rules.NoPiece, ErrNotation
	}
	return rules.Flip(stop), turned, nil
}

// FormatChange writes a change and the piece it turned: an action, "pass",
// "out=1:time" for a seat put out, or "leave=1".
func (g *Game) FormatChange(c Change, turned rules.Piece) string {
	switch c.Kind {
	case ChangePly:
		return g.FormatAction(c.Action, turned)
	case ChangePass:
		return "pass"
	case ChangePutOut:
		return "out=" + strconv.Itoa(int(c.Seat)) + ":" + EndingName(c.Reason)
	case ChangeLeave:
		return "leave=" + strconv.Itoa(int(c.Seat))
	}
	return "none"
}

// ParseChange reads what FormatChange writes. The error is ErrNotation.
func (g *Game) ParseChange(text string) (Change, rules.Piece, error) {
	if text == "pass" {
		return Pass(), rules.NoPiece, nil
	}
	for reason := rules.EndResignation; reason <= rules.EndDisconnection; reason++ {
		if seat, ok := g.parseOut(text, reason); ok {
			return PutOut(seat, reason), rules.NoPiece, nil
		}
	}
	if seat, ok := g.parseOut(text, rules.EndIllegalAction); ok {
		return PutOut(seat, rules.EndIllegalAction), rules.NoPiece, nil
	}
	for seat := range rules.Seat(g.Seats()) {
		if c := Leave(seat); text == g.FormatChange(c, rules.NoPiece) {
			return c, rules.NoPiece, nil
		}
	}
	a, turned, err := g.ParseAction(text)
	if err != nil {
		return Change{}, rules.NoPiece, err
	}
	return Ply(a), turned, nil
}

func (g *Game) parseOut(text string, reason rules.EndReason) (rules.Seat, bool) {
	for seat := range rules.Seat(g.Seats()) {
		if text == g.FormatChange(PutOut(seat, reason), rules.NoPiece) {
			return seat, true
		}
	}
	return rules.NoSeat, false
}
