package referee

import (
	"errors"
	"fmt"

	"referee.example/internal/rules"
	"referee.example/internal/rules/banqi"
	"referee.example/internal/series"
)

// darkChess is the family of dark chess: a deal that the plies turn up, and no
// secrets of single seats.
type darkChess struct {
	*banqi.Game
	pieces []byte // the deck
}

func newDarkChess(r banqi.Rules) (*darkChess, error) {
	game, err := banqi.Compile(r)
	if err != nil {
		return nil, err
	}
	deck := banqi.Deck()
	f := &darkChess{Game: game, pieces: make([]byte, len(deck))}
	for i, p := range deck {
		f.pieces[i] = byte(p)
	}
	return f, nil
}

func (f *darkChess) sides() series.Sides { return series.Sides{rules.SeatsOf(0), rules.SeatsOf(1)} }

func (f *darkChess) deck() []byte { return f.pieces }

func (f *darkChess) dealt(square rules.Square) int { return int(square) }

func (f *darkChess) compares() bool { return true }

func (f *darkChess) drawn(a, b rules.Piece) int { return banqi.Higher(a, b) }

func (f *darkChess) conceals() bool { return false }

func (f *darkChess) places() bool { return false }

func (f *darkChess) checkPlacement(rules.Seat, string) (rules.Illegal, error) {
	return rules.Illegal{}, errors.New("dark chess deals its pieces")
}

func (f *darkChess) open() bool { return false }

func (f *darkChess) reveal(dealt []byte, _ []string) (hidden, error) {
	return hidden{dealt: dealt}, nil
}

func (f *darkChess) start(first rules.Seat, _ hidden) Position {
	return Position{dark: f.Start(first)}
}

func (f *darkChess) check(p *Position, _ hidden, seat rules.Seat, a rules.Action) rules.Illegal {
	return f.Check(&p.dark, seat, a)
}

func (f *darkChess) illegalLoses(rules.Illegal) bool { return false }

func (f *darkChess) list(p *Position, _ hidden) []rules.Action { return f.List(&p.dark, nil) }

func (f *darkChess) turnsFace(p *Position, a rules.Action) (rules.Square, bool) {
	if !f.TurnsFace(&p.dark, a) {
		return rules.NoSquare, false
	}
	if a.Kind == rules.ActionFlip {
		return a.From, true
	}
	return a.To, true
}

func (f *darkChess) checkResign(*Position, rules.Seat) rules.Illegal { return rules.Illegal{} }

func (f *darkChess) putsOut() bool { return false }

func (f *darkChess) passes() bool { return false }

func (f *darkChess) judge(p *Position, h hidden, c change) (rules.Piece, []byte, error) {
	square, turns := f.turnsFace(p, c.action)
	if !turns {
		return rules.NoPiece, nil, nil
	}
	return rules.Piece(h.dealt[square]), nil, nil
}

func (f *darkChess) apply(p *Position, c change, turned rules.Piece, _ []byte) (Effect, error) {
	if c.kind != EventPly && c.kind != EventServerPly {
		return Effect{}, fmt.Errorf("%w: dark chess knows no such change", errReplay)
	}
	e, err := f.Apply(&p.dark, c.action, turned)
	effect := Effect{Captured: e.Captured, TurnEnded: e.TurnEnded, Outcome: e.Outcome}
	if e.Merit {
		effect.Detail = greatMerit()
	}
	return effect, err
}

func (f *darkChess) requestCount(p *Position, seat rules.Seat) rules.Illegal {
	return f.RequestCount(&p.dark, seat)
}

func (f *darkChess) ruleFoul(p *Position, confirm bool) error {
	_, err := f.RuleFoul(&p.dark, confirm)
	return err
}

func (f *darkChess) encode(p *Position) []byte { return f.AppendBinary(nil, &p.dark) }

func (f *darkChess) decode(b []byte) (p Position, err error) {
	p.dark, err = f.DecodeBinary(b)
	return p, err
}

func (f *darkChess) text(p *Position) string { return f.Text(&p.dark) }

func (f *darkChess) describe(i rules.Illegal) string { return f.Describe(i) }

func (f *darkChess) squareName(square rules.Square) string { return banqi.SquareName(square) }

func (f *darkChess) pieceName(piece rules.Piece) string { return string(banqi.PieceLetter(piece)) }

// CheckRecord replays a text record of dark chess under the rules and compares its
// result with theirs. It returns a *banqi.RecordError for one that they contradict,
// and refuses rules of another family.
func (r *Rules) CheckRecord(record *banqi.Record) (banqi.RecordVerdict, error) {
	f, ok := r.family.(*darkChess)
	if !ok {
		return banqi.RecordVerdict{}, InvalidField("rules", "must be of dark chess")
	}
	return f.Game.CheckRecord(record)
}
