package banqi

import (
	"errors"

	"referee.example/internal/rules"
)

// ErrNotation is what ParseAction answers for text that is no action.
var ErrNotation = errors.New("not an action such as b3, b3(n), a4-a5, a4-a5(k) or stop")

// FormatAction writes an action and the piece it turned, NoPiece for none:
// "b3(n)", "a4-a5", "a4-a5(k)", "stop" (dark-chess rules, section 7).
func FormatAction(a rules.Action, turned rules.Piece) string {
	var text string
	switch a.Kind {
	case rules.ActionFlip:
		text = SquareName(a.From)
	case rules.ActionMove:
		text = SquareName(a.From) + "-" + SquareName(a.To)
	case rules.ActionStop:
		return "stop"
	default:
		return "none"
	}
	if turned != rules.NoPiece {
		text += "(" + string(PieceLetter(turned)) + ")"
	}
	return text
}

// ParseAction reads what FormatAction writes. The error is ErrNotation.
func ParseAction(text string) (rules.Action, rules.Piece, error) {
	if text == "stop" {
		return rules.Stop(), rules.NoPiece, nil
	}
	turned := rules.NoPiece
	if n := len(text); n > 3 && text[n-3] == '(' && text[n-1] == ')' {
		p, err := ParsePiece(text[n-2])
		if err != nil {
			return rules.Action{}, rules.NoPiece, ErrNotation
		}
		text, turned = text[:n-3], p
	}
	switch {
	case len(text) == 2:
		if square, err := ParseSquare(text); err == nil {
			return rules.Flip(square), turned, nil
		}
	case len(text) == 5 && text[2] == '-':
		from, errFrom := ParseSquare(text[:2])
		to, errTo := ParseSquare(text[3:])
		if errFrom == nil && errTo == nil {
			return rules.Move(from, to), turned, nil
		}
	}
	return rules.Action{}, rules.NoPiece, ErrNotation
}
