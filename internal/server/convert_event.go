package server

import (
	"context"
	"fmt"

	"referee.example/internal/clock"
	"referee.example/internal/deal"
	"referee.example/internal/referee"
	"referee.example/internal/rules"
	refereev1 "referee.example/proto/referee/v1"
)

// eventWriter turns a match's events into the contract's.
type eventWriter struct {
	referee *referee.Referee
	// state is the match at or after the events that are written.
	state *referee.State
	// names of principals, for auditors; nil hides who submitted what, and what
	// a player holds in his wallet.
	names  map[int32]string
	prover *referee.Prover
	game   int // that prover is for
}

// write converts one event. ctx is for the deals of earlier games.
func (w *eventWriter) write(ctx context.Context, e *referee.Event) (*refereev1.Event, error) {
	out := &refereev1.Event{
		Game: uint32(e.Game), Seq: uint32(e.Seq), Ply: uint32(e.Ply), Seat: optionalSeat(e.Seat),
		Kind: refereev1.EventKind(e.Kind), EventTime: stamp(e.Time), Hash: e.Hash[:],
	}
	if len(e.Clocks) > 0 {
		stores, seats, _, err := clock.DecodeStores(e.Clocks)
		if err != nil {
			return nil, fmt.Errorf("clocks of event %d: %w", e.Seq, err)
		}
		out.Clocks = protoStores(stores[:], seats)
	}
	if w.names != nil {
		out.SubmittedBy, out.ClientHash = w.names[e.Principal], e.ClientHash
		if e.RequestID != (referee.ID{}) {
			out.RequestId = e.RequestID.String()
		}
	}
	if e.Kind == referee.EventPly || e.Kind == referee.EventServerPly {
		if err := w.ply(ctx, e, out); err != nil {
			return nil, err
		}
	}
	if err := w.detail(e, out); err != nil {
		return nil, fmt.Errorf("detail of event %d of game %d: %w", e.Seq, e.Game, err)
	}
	return out, nil
}

func (w *eventWriter) ply(ctx context.Context, e *referee.Event, out *refereev1.Event) error {
	r := w.state.Rules
	out.Action, out.Notation = protoAction(e.Action, r.SquareName), r.FormatAction(e.Action, e.Turned)
	out.Turned, out.Captured = r.PieceName(e.Turned), r.PieceName(e.Captured)
	if r.DarkChess != nil {
		out.Feat = featName(e.GreatMerit())
	}
	if e.Turned == rules.NoPiece {
		return nil
	}
	if err := w.openDeal(ctx, e.Game); err != nil {
		return err
	}
	square := e.Action.To
	if e.Action.Kind == rules.ActionFlip {
		square = e.Action.From
	}
	out.Proof = protoOpening(r, square, w.prover.Open(e))
	return nil
}

// featName is the contract's name of a feat.
func featName(merit bool) string {
	if merit {
		return "great_merit"
	}
	return ""
}

// openDeal gets the prover of a game.
func (w *eventWriter) openDeal(ctx context.Context, game int) error {
	if w.prover != nil && w.game == game {
		return nil
	}
	prover, err := w.referee.ProverOf(ctx, w.state, game)
	if err != nil {
		return fmt.Errorf("deal of game %d: %w", game, err)
	}
	w.prover, w.game = prover, game
	return nil
}

func protoOpening(r *referee.Rules, square rules.Square, o deal.Opening) *refereev1.SquareProof {
	proof := &refereev1.SquareProof{
		Square: r.SquareName(square), Piece: r.PieceName(rules.Piece(o.Piece)), Salt: o.Salt, Path: make([][]byte, len(o.Proof)),
	}
	for i := range o.Proof {
		proof.Path[i] = o.Proof[i][:]
	}
	return proof
}

// detail writes what belongs to the event's kind.
func (w *eventWriter) detail(e *referee.Event, out *refereev1.Event) error {
	switch e.Kind {
	case referee.EventMatchCreated:
		d, err := e.Created()
		out.Detail = &refereev1.Event_MatchCreated{MatchCreated: &refereev1.MatchCreated{Commitment: d.Commitment[:]}}
		return err
	case referee.EventGameStarted:
		return w.gameStarted(e, out)
	case referee.EventGameEnded:
		return w.gameEnded(e, out)
	case referee.EventMatchEnded:
		return matchEnded(e, out)
	case referee.EventMatchVoided, referee.EventMatchAbandoned:
		d, err := e.Leave()
		left := &refereev1.MatchLeft{Note: d.Note}
		if w.names != nil {
			left.Balances = d.Balances
		}
		out.Detail = &refereev1.Event_MatchLeft{MatchLeft: left}
		return err
	case referee.EventClockPaused:
		d, err := e.Paused()
		out.Detail = &refereev1.Event_ClockPaused{ClockPaused: &refereev1.ClockPaused{
			FromTime: stamp(d.From), UntilTime: stamp(d.Until)}}
		return err
	case referee.EventCompensation:
		return w.compensation(e, out)
	case referee.EventPly, referee.EventServerPly, referee.EventTurnPassed, referee.EventSeatOut, referee.EventSeatLeft,
		referee.EventPlacementSubmitted, referee.EventPlayBegan, referee.EventIllegalAttempt:
		if w.state.Rules.ArmyChess == nil {
			return nil
		}
		return armyDetail(w.state.Rules, e, out)
	case referee.EventDisconnected, referee.EventFoulRuled, referee.EventBankCalled, referee.EventExpired:
		d, err := e.Small()
		smallDetail(e.Kind, d, out)
		return err
	}
	return nil
}

func (w *eventWriter) gameStarted(e *referee.Event, out *refereev1.Event) error {
	d, err := e.Started()
	started := &refereev1.GameStarted{PlayerSeeds: d.PlayerSeeds, FirstSeat: uint32(d.First)}
	if !w.state.Rules.Places() {
		started.Root = d.Root[:]
	}
	if w.names != nil {
		started.Balances, started.HoldIds = d.Balances, d.HoldIDs
	}
	for _, piece := range d.Draws {
		started.FirstDraws = append(started.FirstDraws, w.state.Rules.PieceName(rules.Piece(piece)))
	}
	out.Detail = &refereev1.Event_GameStarted{GameStarted: started}
	return err
}

func (w *eventWriter) gameEnded(e *referee.Event, out *refereev1.Event) error {
	d, err := e.GameEnded()
	if err != nil {
		return err
	}
	settlement, err := protoSettlement(w.state, e.Game)
	ended := &refereev1.GameEnded{Result: protoResult(d.Outcome), Settlement: settlement, ServerSeed: d.ServerSeed[:],
		Placements: protoRevealed(d.Placements)}
	if d.NextCommitment != ([32]byte{}) {
		ended.NextCommitment = d.NextCommitment[:]
	}
	out.Detail = &refereev1.Event_GameEnded{GameEnded: ended}
	return err
}

func matchEnded(e *referee.Event, out *refereev1.Event) error {
	d, err := e.MatchEnd()
	ended := &refereev1.MatchEnded{Status: refereev1.MatchStatus(d.Status), WinnerSeats: seatList(d.Winners)}
	if d.ServerSeed != ([32]byte{}) {
		ended.ServerSeed = d.ServerSeed[:]
	}
	out.Detail = &refereev1.Event_MatchEnded{MatchEnded: ended}
	return err
}

func (w *eventWriter) compensation(e *referee.Event, out *refereev1.Event) error {
	d, err := e.Compensation()
	if err != nil {
		return err
	}
	compensation := &refereev1.Compensation{SettlementId: d.Settlement.String(), Note: d.Note, Game: uint32(d.Game)}
	if d.Made {
		compensation.Settlement, err = protoCompensation(w.state, d.Game, e.Time)
	}
	out.Detail = &refereev1.Event_Compensation{Compensation: compensation}
	return err
}

func smallDetail(kind referee.EventKind, d referee.Small, out *refereev1.Event) {
	switch kind {
	case referee.EventDisconnected:
		out.Detail = &refereev1.Event_Disconnected{Disconnected: &refereev1.Disconnected{Seats: seatList(rules.SeatSet(d.Number))}}
	case referee.EventFoulRuled:
		out.Detail = &refereev1.Event_FoulRuled{FoulRuled: &refereev1.FoulRuled{Confirmed: d.Number == 1, Note: d.Note}}
	case referee.EventBankCalled:
		out.Detail = &refereev1.Event_BankCalled{BankCalled: &refereev1.BankCalled{PortionMs: uint32(d.Number)}}
	case referee.EventExpired:
		out.Detail = &refereev1.Event_Expired{Expired: &refereev1.Expired{Lost: d.Number == 1}}
	}
}
