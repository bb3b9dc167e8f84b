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

// protoArmyBoard is a board as its viewer sees it.
func protoArmyBoard(r *referee.Rules, v *referee.ArmyChessView) *refereev1.ArmyChessView {
	g, seats := r.ArmyChessGame(), r.Seats()
	out := &refereev1.ArmyChessView{
		Board: v.Board, SeatSides: armySides(g, v.Sides[:seats]), Turns: counts(v.Turns[:seats]), Captures: counts(v.Captures[:seats]),
		OutSeats: seatList(v.Out), FaceDown: uint32(v.FaceDown), IdlePlies: uint32(v.Idle), IdleLimit: uint32(v.IdleLimit), State: v.State,
	}
	for _, p := range v.Pieces {
		out.Pieces = append(out.Pieces, &refereev1.ArmyChessPiece{
			Square: r.SquareName(p.Stop), Piece: r.PieceName(p.Piece), Origin: r.SquareName(p.Origin), Shown: p.Public,
		})
	}
	for _, piece := range v.Captured {
		out.Captured += r.PieceName(piece)
	}
	for _, c := range v.Carried {
		out.CarriedFlags = append(out.CarriedFlags, &refereev1.ArmyChessCarriedFlag{
			Seat: uint32(c.Owner), Square: r.SquareName(c.By), TakenOn: r.SquareName(c.From),
		})
	}
	return out
}

func counts(numbers []int) (out []uint32) {
	for _, n := range numbers {
		out = append(out, uint32(n))
	}
	return out
}

// placements are those of the seats of a started game as far as a viewer may know
// them, none where pieces are dealt.
func (s *Server) placements(state *referee.State, viewer rules.Seat) (out []*refereev1.SeatPlacement, err error) {
	if !state.Rules.Places() {
		return nil, nil
	}
	g := &state.Game
	for seat := range rules.Seat(len(state.Players)) {
		p := &refereev1.SeatPlacement{Seat: uint32(seat), Attempt: uint32(g.Placing.Attempts[seat])}
		if mayKnowPlacement(state, viewer, seat) {
			if p.Placement, err = s.referee.Placement(state, seat); err != nil {
				return nil, err
			}
		}
		if g.Status == referee.GameEnded && p.GetAttempt() > 0 {
			p.Salt = g.Placing.Revealed[seat].Salt[:]
		}
		out = append(out, p)
	}
	return out, nil
}

// mayKnowPlacement reports whether a viewer may know how a seat placed its pieces.
func mayKnowPlacement(s *referee.State, viewer, seat rules.Seat) bool {
	switch playing := s.Game.Status == referee.GamePlaying; {
	case s.Game.Status == referee.GameEnded, viewer == seat:
		return true
	case s.Rules.ArmyChess.Visibility == "open":
		return playing
	case s.Rules.ArmyChess.Visibility == "partner":
		return playing && viewer >= 0 && viewer%2 == seat%2
	}
	return false
}

func protoRevealed(revealed []referee.RevealedPlacement) (out []*refereev1.SeatPlacement) {
	for seat := range revealed {
		if p := &revealed[seat]; p.Attempt > 0 {
			out = append(out, &refereev1.SeatPlacement{
				Seat: uint32(seat), Attempt: uint32(p.Attempt), Placement: p.Placement, Salt: p.Salt[:],
			})
		}
	}
	return out
}

// armyDetail writes what belongs to the kinds of event that only army chess has,
// and what any change of its board told everybody.
func armyDetail(r *referee.Rules, e *referee.Event, out *refereev1.Event) error {
	switch e.Kind {
	case referee.EventPlacementSubmitted:
		d, err := e.Placed()
		out.Detail = &refereev1.Event_PlacementSubmitted{PlacementSubmitted: &refereev1.PlacementSubmitted{
			Attempt: uint32(d.Attempt), Commitment: d.Commitment[:]}}
		return err
	case referee.EventPlayBegan:
		d, err := e.Began()
		out.Detail = &refereev1.Event_PlayBegan{PlayBegan: &refereev1.PlayBegan{Placements: d.Placements}}
		return err
	case referee.EventIllegalAttempt:
		d, err := e.Small()
		out.Action = protoAction(e.Action, r.SquareName)
		out.Detail = &refereev1.Event_IllegalAttempt{IllegalAttempt: &refereev1.IllegalAttempt{Rule: d.Note}}
		return err
	}
	d, err := e.Disclosed()
	if err != nil {
		return err
	}
	if e.Kind == referee.EventSeatOut {
		out.Detail = &refereev1.Event_SeatOut{SeatOut: &refereev1.SeatOut{Reason: refereev1.EndReason(d.Reason)}}
	}
	out.Disclosure = protoDisclosure(r, d.Disclosure)
	return nil
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
