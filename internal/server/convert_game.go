package server

import (
	"referee.example/internal/clock"
	"referee.example/internal/deal"
	"referee.example/internal/referee"
	"referee.example/internal/rules"
	"referee.example/internal/rules/banqi"
	refereev1 "referee.example/proto/referee/v1"
)

// game returns a match's present game as a viewer may see it, NoSeat for a
// spectator. Nothing in it depends on when it is asked for.
func (s *Server) game(state *referee.State, viewer rules.Seat) (*refereev1.Game, error) {
	g := &state.Game
	out := &refereev1.Game{
		MatchId: state.ID.String(), Game: uint32(g.Number), Status: refereev1.GameStatus(g.Status),
		ViewerSeat: optionalSeat(viewer), DrawOfferedBy: optionalSeat(g.DrawOffer),
		Result: protoResult(g.Outcome), Deal: protoDeal(state, s.referee.Arrangement(state)),
	}
	if g.Seq > 0 { // a game whose log is empty has no head
		out.HeadHash = g.Head[:]
	}
	if g.Status != referee.GameEnded {
		out.NextPly, out.NextSeq = uint32(g.NextPly()), uint32(g.NextSeq())
	}
	if g.Started == 0 {
		return out, nil
	}
	for seat := range state.Players {
		out.DrawOffersMade = append(out.DrawOffersMade, uint32(g.OffersMade[seat]))
	}
	if g.Status == referee.GamePlaying {
		out.ToMove = optionalSeat(g.Position.Turn())
	}
	out.Clock = protoClock(state)
	if err := s.view(state, viewer, out); err != nil || g.Status != referee.GameEnded {
		return out, err
	}
	var err error
	out.Settlement, err = protoSettlement(state, g.Number)
	return out, err
}

// view writes the board as the viewer sees it.
func (s *Server) view(state *referee.State, viewer rules.Seat, out *refereev1.Game) error {
	if state.Rules.DarkChess != nil {
		out.View = &refereev1.Game_DarkChess{DarkChess: protoBoard(state, viewer)}
		return nil
	}
	placements, err := s.placements(state, viewer)
	if err != nil {
		return err
	}
	out.Placements = placements
	v, playing, err := s.referee.ArmyChess(state, viewer)
	if err == nil && playing {
		out.View = &refereev1.Game_ArmyChess{ArmyChess: protoArmyBoard(state.Rules, &v)}
	}
	return err
}

func protoClock(s *referee.State) *refereev1.GameClock {
	c, system := s.Game.Clock, s.Rules.Clock
	out := &refereev1.GameClock{Seats: protoStores(c.Stores[:], c.Seats), Opening: c.Opening}
	if deadline, limited := s.Deadline(); limited && s.Game.Status == referee.GamePlacing {
		out.PlacementDeadlineTime = stamp(deadline)
	}
	if s.Game.Status != referee.GamePlaying {
		return out
	}
	if deadline, ok := c.Deadline(system); ok {
		out.RunningSeat, out.TurnStartTime, out.DeadlineTime = optionalSeat(c.Running), stamp(c.TurnStart), stamp(deadline)
	}
	if end, ok := c.TurnTimeEnd(system); ok {
		out.TurnEndTime = stamp(end)
	}
	if warning, ok := c.Warning(system); ok {
		out.WarningTime = stamp(warning)
	}
	return out
}

func protoStores(stores []clock.Store, seats int) []*refereev1.SeatClock {
	out := make([]*refereev1.SeatClock, 0, seats)
	for _, st := range stores[:seats] {
		out = append(out, &refereev1.SeatClock{
			MainUs: st.MainUS, BankUs: st.BankUS, CalledUs: st.CalledUS,
			ExtensionsLeft: uint32(st.ExtensionsLeft), Expiries: uint32(st.Expiries), Cards: uint32(st.Cards),
		})
	}
	return out
}

func protoBoard(s *referee.State, viewer rules.Seat) *refereev1.DarkChessView {
	v := s.Board(viewer)
	out := &refereev1.DarkChessView{
		Board: v.Board, IdlePlies: uint32(v.Idle), IdleLimit: uint32(v.IdleLimit),
		ChainSquare: squareName(v.Chain), State: s.BoardText(), CountRequestedBy: optionalSeat(v.Requester),
	}
	seats := len(s.Players)
	out.SeatColours, out.Captures = make([]string, 0, seats), make([]*refereev1.DarkChessCaptures, 0, seats)
	out.Fouls, out.Turns, out.DisputedFouls = make([]uint32, 0, seats), make([]uint32, 0, seats), make([]uint32, 0, seats)
	for seat := range s.Players {
		out.SeatColours = append(out.SeatColours, colourName(v.Colours[seat]))
		out.Captures = append(out.Captures, &refereev1.DarkChessCaptures{Pieces: letters(v.Captured[seat])})
		out.Fouls = append(out.Fouls, uint32(v.Fouls[seat]))
		out.Turns = append(out.Turns, uint32(v.Turns[seat]))
		out.DisputedFouls = append(out.DisputedFouls, uint32(v.Disputed[seat]))
	}
	for _, chase := range v.Chases {
		standing := &refereev1.DarkChessChase{
			Seat: uint32(chase.Chaser), ChaserSquare: squareName(chase.Piece), Allowed: uint32(chase.Allowed),
		}
		for _, target := range chase.Targets {
			standing.Chased = append(standing.Chased,
				&refereev1.DarkChessChased{Square: squareName(target.Square), Length: uint32(target.Length)})
		}
		out.Chases = append(out.Chases, standing)
	}
	for _, pause := range v.Pauses {
		out.Pauses = append(out.Pauses, &refereev1.DarkChessPause{
			Seat: uint32(pause.Chaser), Square: squareName(pause.Piece), ChasedSquare: squareName(pause.Target),
		})
	}
	return out
}

// protoDeal binds the deal and, once the game has ended and its seed is
// revealed, opens it: pieces are then what lay on each square.
func protoDeal(s *referee.State, pieces []byte) *refereev1.DealProof {
	g := &s.Game
	out := &refereev1.DealProof{Algorithm: deal.Version, Commitment: g.Commitment[:]}
	if g.Started != 0 {
		out.PlayerSeeds = g.PlayerSeeds
		if !s.Rules.Places() {
			out.Root = g.Root[:]
		}
	}
	if g.Status == referee.GameEnded {
		out.ServerSeed = g.ServerSeed[:]
		out.Arrangement = arrangement(s.Rules, pieces)
	}
	return out
}

// arrangement writes a deal. That of dark chess is in the order of the board's
// text: rank 8 first, files a to d; squares are numbered from a1, b1 on.
func arrangement(r *referee.Rules, pieces []byte) string {
	const files = 4
	var text []byte
	if r.DarkChess == nil {
		for _, piece := range pieces {
			text = append(text, r.PieceName(rules.Piece(piece))...)
		}
		return string(text)
	}
	for rank := len(pieces)/files - 1; rank >= 0; rank-- {
		for _, piece := range pieces[rank*files : (rank+1)*files] {
			text = append(text, banqi.PieceLetter(rules.Piece(piece)))
		}
	}
	return string(text)
}

func squareName(square rules.Square) string {
	if square == rules.NoSquare {
		return ""
	}
	return banqi.SquareName(square)
}

func pieceLetter(piece rules.Piece) string {
	if piece == rules.NoPiece {
		return ""
	}
	return string(banqi.PieceLetter(piece))
}

func letters(pieces []rules.Piece) string {
	text := make([]byte, len(pieces))
	for i, piece := range pieces {
		text[i] = banqi.PieceLetter(piece)
	}
	return string(text)
}

func colourName(c banqi.Colour) string {
	if c == banqi.NoColour {
		return ""
	}
	return c.String()
}

func protoAction(a rules.Action, name func(rules.Square) string) *refereev1.Action {
	return &refereev1.Action{Kind: refereev1.ActionKind(a.Kind), From: name(a.From), To: name(a.To)}
}
