package referee

import (
	"fmt"
	"slices"

	"referee.example/internal/rules"
	"referee.example/internal/rules/junqi"
	"referee.example/internal/series"
)

// armyChess is the family of army chess, in its three forms. Its positions hold
// what is public; the ranks come from the placements, or from the deal where the
// pieces begin face down.
type armyChess struct {
	*junqi.Game
	pieces []byte // the deck; nil where seats place their pieces
}

func newArmyChess(r junqi.Rules) (*armyChess, error) {
	game, err := junqi.Compile(r)
	if err != nil {
		return nil, err
	}
	f := &armyChess{Game: game}
	if !game.Places() {
		for _, p := range game.Deck() {
			f.pieces = append(f.pieces, byte(p))
		}
	}
	return f, nil
}

func (f *armyChess) sides() series.Sides { return series.Sides(f.Teams()) }

func (f *armyChess) deck() []byte { return f.pieces }

func (f *armyChess) dealt(square rules.Square) int { return f.DealIndex(square) }

func (f *armyChess) compares() bool { return false }

func (f *armyChess) drawn(a, b rules.Piece) int { return int(junqi.RankOf(a)) - int(junqi.RankOf(b)) }

func (f *armyChess) places() bool { return f.Places() }

func (f *armyChess) checkPlacement(seat rules.Seat, text string) (rules.Illegal, error) {
	placement, err := junqi.ParsePlacement(text)
	if err != nil {
		return rules.Illegal{}, err
	}
	return f.CheckPlacement(seat, &placement), nil
}

func (f *armyChess) open() bool { return f.Rules().Visibility == "open" }

func (f *armyChess) conceals() bool { return f.Places() && !f.open() }

func (f *armyChess) reveal(dealt []byte, placements []string) (hidden, error) {
	if !f.Places() {
		pieces := make([]rules.Piece, len(dealt))
		for i, p := range dealt {
			pieces[i] = rules.Piece(p)
		}
		return hidden{ids: f.Dealt(pieces)}, nil
	}
	placed := make([]junqi.Placement, len(placements))
	for seat, text := range placements {
		if text == "" {
			continue // not placed yet
		}
		var err error
		if placed[seat], err = junqi.ParsePlacement(text); err != nil {
			return hidden{}, fmt.Errorf("placement of seat %d: %w", seat, err)
		}
	}
	return hidden{ids: f.Identities(placed)}, nil
}

func (f *armyChess) start(first rules.Seat, h hidden) Position {
	s := f.Start(first, h.ids)
	return Position{army: &s}
}

func (f *armyChess) check(p *Position, h hidden, seat rules.Seat, a rules.Action) rules.Illegal {
	return f.Check(p.army, h.ids, seat, a)
}

func (f *armyChess) illegalLoses(i rules.Illegal) bool { return f.IllegalLoses(i) }

func (f *armyChess) list(p *Position, h hidden) []rules.Action { return f.List(p.army, h.ids, nil) }

func (f *armyChess) turnsFace(p *Position, a rules.Action) (rules.Square, bool) {
	return a.From, f.TurnsFace(p.army, a)
}

func (f *armyChess) checkResign(p *Position, seat rules.Seat) rules.Illegal {
	return f.CheckResign(p.army, seat)
}

func (f *armyChess) putsOut() bool { return true }

func (f *armyChess) passes() bool { return f.ExpiredTurnPasses() }

// change returns the board's own form of a change.
func (f *armyChess) change(c change) junqi.Change {
	switch c.kind {
	case EventPly, EventServerPly:
		return junqi.Ply(c.action)
	case EventTurnPassed:
		return junqi.Pass()
	case EventSeatOut:
		return junqi.PutOut(c.seat, c.reason)
	case EventSeatLeft:
		return junqi.Leave(c.seat)
	}
	return junqi.Change{} // which no position takes
}

func (f *armyChess) judge(p *Position, h hidden, c change) (rules.Piece, []byte, error) {
	disclosure, err := f.Judge(p.army, h.ids, f.change(c))
	if err != nil {
		return rules.NoPiece, nil, err
	}
	return disclosure.Turned, Disclosed{Reason: c.reason, Disclosure: disclosure}.encode(), nil
}

func (f *armyChess) apply(p *Position, c change, turned rules.Piece, detail []byte) (Effect, error) {
	d, err := decodeDisclosed(detail)
	if err != nil {
		return Effect{}, err
	}
	if p.army == nil {
		return Effect{}, fmt.Errorf("%w: the game is not being played", errReplay)
	}
	mover := p.army.Turn()
	if c.kind != EventSeatOut && c.kind != EventSeatLeft && c.seat != mover {
		return Effect{}, fmt.Errorf("%w: it is the turn of seat %d", errReplay, mover)
	}
	c.reason, d.Turned = d.Reason, turned
	next := *p.army
	made, err := f.Apply(&next, f.change(c), d.Disclosure)
	if err != nil {
		return Effect{}, err
	}
	p.army = &next
	return Effect{Detail: Disclosed{Reason: c.reason, Disclosure: made.Disclosure}.encode(),
		TurnEnded: next.Turn() != mover, Outcome: made.Outcome}, nil
}

func (f *armyChess) requestCount(*Position, rules.Seat) rules.Illegal {
	return rules.Illegal{Rule: junqi.RuleAction, Squares: [2]rules.Square{rules.NoSquare, rules.NoSquare}}
}

func (f *armyChess) ruleFoul(*Position, bool) error {
	return fmt.Errorf("%w: army chess knows no fouls", errReplay)
}

func (f *armyChess) encode(p *Position) []byte {
	if p.army == nil {
		return nil
	}
	return f.AppendBinary(nil, p.army)
}

func (f *armyChess) decode(b []byte) (Position, error) {
	if len(b) == 0 {
		return Position{}, nil
	}
	s, err := f.DecodeBinary(b)
	return Position{army: &s}, err
}

func (f *armyChess) text(p *Position) string {
	if p.army == nil {
		return ""
	}
	return f.Text(p.army)
}

func (f *armyChess) describe(i rules.Illegal) string { return f.Describe(i) }

func (f *armyChess) squareName(square rules.Square) string { return f.SquareName(square) }

func (f *armyChess) pieceName(piece rules.Piece) string { return f.PieceText(piece) }

// Disclosed is the detail of the events that change a board of army chess: what
// of the hidden became public by them.
type Disclosed struct {
	Reason rules.EndReason // of EventSeatOut alone: why the seat is out
	junqi.Disclosure
}

// disclosedVersion begins the encoding of a Disclosed that is not zero.
const disclosedVersion = 1

// encode returns the one encoding: version, reason, verdict, shown piece, whether
// a flag is lost, sides whose marshal fell and for each its flag's stop, stuck
// seats, a byte each; nothing for zero. The turned piece has a column of its own.
func (d Disclosed) encode() []byte {
	d.Turned = rules.NoPiece
	if d == (Disclosed{}) {
		return nil
	}
	var e encoder
	e.fixed([]byte{disclosedVersion, byte(d.Reason), byte(d.Verdict), byte(d.Shown)})
	e.bool(d.Flag)
	e.u8(byte(d.Fallen))
	for side, stop := range d.FlagAt {
		if d.Fallen.Has(rules.Seat(side)) {
			e.u8(byte(stop))
		}
	}
	e.u8(byte(d.Stuck))
	return e.buf
}

func decodeDisclosed(detail []byte) (d Disclosed, err error) {
	if len(detail) == 0 {
		return d, nil
	}
	r := decoder{buf: detail}
	if r.u8() != disclosedVersion {
		return d, errCorrupt
	}
	d.Reason, d.Verdict = rules.EndReason(r.u8()), junqi.Verdict(r.u8())
	d.Shown, d.Flag, d.Fallen = rules.Piece(r.u8()), r.bool(), rules.SeatSet(r.u8())
	for side := range d.FlagAt {
		if d.Fallen.Has(rules.Seat(side)) {
			d.FlagAt[side] = rules.Square(r.u8())
		}
	}
	d.Stuck = rules.SeatSet(r.u8())
	if err := r.end(); err != nil {
		return d, err
	}
	if !slices.Equal(d.encode(), detail) {
		return d, errCorrupt
	}
	return d, nil
}

// Disclosed decodes what an event of army chess made public.
func (e *Event) Disclosed() (Disclosed, error) {
	d, err := decodeDisclosed(e.Detail)
	d.Turned = e.Turned
	return d, err
}

// ArmyChange returns what an event of a game of army chess did to its board, in the
// board's own form. The error is that of a detail which can't be decoded.
func ArmyChange(e *Event) (junqi.Change, error) {
	d, err := e.Disclosed()
	change := e.change()
	change.reason = d.Reason
	return (*armyChess)(nil).change(change), err
}
