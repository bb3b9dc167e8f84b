package junqi

import "referee.example/internal/rules"

// View is what a viewer may see of a game: everything public, and the ranks of
// the pieces that the viewer's seat may know.
type View struct {
	// Board is the pieces as Text writes them, with b9? for a piece that only some
	// seats know, the viewer's among them.
	Board     string
	Pieces    []PieceView // by stop, ascending
	ToMove    rules.Seat
	Sides     [rules.MaxSeats]Side // by seat, NoSide until settled and for seats that the form does not have
	Ply       int
	Turns     [rules.MaxSeats]int // plies made, by seat
	Captures  [rules.MaxSeats]int // pieces lost to each seat
	Captured  []rules.Piece       // flip: pieces lost, side by side, flags first
	Out       rules.SeatSet
	FaceDown  int
	Idle      int // plies without contact in a row
	IdleLimit int // those that end the game; 0 for no limit
	Carried   []CarryView
	Outcome   rules.Outcome
}

// PieceView is one piece as a viewer sees it.
type PieceView struct {
	Stop   rules.Square
	Piece  rules.Piece  // with its rank where the viewer knows it, else hidden or FaceDown
	Origin rules.Square // where a piece that was not shown to all began; NoSquare for others
	Public bool         // its rank was shown to all
}

// CarryView is a flag on its way.
type CarryView struct {
	Owner rules.Seat
	By    rules.Square // where the piece stands that carries it
	From  rules.Square // where it was taken
}

// View returns what a viewer may see of s: a seat, or NoSeat for a spectator. Once
// the game is over everybody sees every rank.
func (g *Game) View(s *State, ids *Identities, viewer rules.Seat) View {
	v := View{
		ToMove: s.turn, Ply: s.Ply(), Out: s.out, FaceDown: s.FaceDownCount(),
		Idle: s.Idle(), IdleLimit: g.rules.Idle.Limit, Outcome: s.outcome,
	}
	secret := func(stop rules.Square) rules.Piece {
		if !g.sees(s, viewer, s.at[stop]) {
			return rules.NoPiece
		}
		return s.secret(ids, stop)
	}
	v.Board = string(g.appendBoard(nil, s, secret))
	for stop := range s.occupied().all {
		p := PieceView{Stop: stop, Piece: s.at[stop], Origin: rules.NoSquare, Public: known(s.at[stop])}
		if isHidden(p.Piece) {
			p.Origin = s.origin[stop]
		}
		if told := secret(stop); told != rules.NoPiece {
			p.Piece = told
		}
		v.Pieces = append(v.Pieces, p)
	}
	for seat := range rules.Seat(rules.MaxSeats) {
		v.Sides[seat], v.Turns[seat], v.Captures[seat] = g.Side(s, seat), s.Turns(seat), s.Captures(seat)
	}
	v.Captured = s.capturedPieces()
	for side, c := range s.carried {
		if c != notCarried {
			v.Carried = append(v.Carried, CarryView{rules.Seat(side), c.by, c.from})
		}
	}
	return v
}

// Ended returns a copy of a game that something has ended which its rules do not
// know, such as an agreement: everybody sees every rank in it.
func (s *State) Ended(o rules.Outcome) *State {
	ended := *s
	if !ended.outcome.Over() {
		ended.outcome = o
	}
	return &ended
}

// Known returns of the identities those that a viewer may know, as View does.
func (g *Game) Known(s *State, ids *Identities, viewer rules.Seat) *Identities {
	known := new(Identities)
	for stop := range s.occupied().all {
		if !g.sees(s, viewer, s.at[stop]) {
			continue
		}
		began := stop
		if isHidden(s.at[stop]) {
			began = s.origin[stop]
		}
		if p := s.secret(ids, stop); p != rules.NoPiece {
			known[began] = p
		}
	}
	return known
}

// Met returns the pieces that a legal action lets meet, with their ranks as the
// identities tell them; NoPiece twice where it attacks nothing.
func (g *Game) Met(s *State, ids *Identities, a rules.Action) (attacker, defender rules.Piece) {
	if a.Kind != rules.ActionMove || s.At(a.From) == rules.NoPiece || s.At(a.To) == rules.NoPiece {
		return rules.NoPiece, rules.NoPiece
	}
	return s.identity(ids, a.From), s.identity(ids, a.To)
}

// sees reports whether a viewer may know the rank of a piece that was not shown.
func (g *Game) sees(s *State, viewer rules.Seat, p rules.Piece) bool {
	switch {
	case s.outcome.Over():
		return true
	case viewer < 0 || int(viewer) >= g.Seats():
		return false
	case SideOf(p) == Side(viewer):
		return true
	}
	return g.rules.Visibility == "partner" && SideOf(p) == Side(viewer^2)
}

// capturedPieces returns what was lost in the flip form.
func (s *State) capturedPieces() (pieces []rules.Piece) {
	for side := range s.captured {
		for rank := Flag; rank >= Engineer; rank-- {
			for range s.captured[side][rank] {
				pieces = append(pieces, PieceOf(Side(side), rank))
			}
		}
	}
	return pieces
}
