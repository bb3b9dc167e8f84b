package server

import (
	"context"

	"referee.example/internal/referee"
	refereev1 "referee.example/proto/referee/v1"
)

// GetMatch returns a match.
func (m *matchService) GetMatch(ctx context.Context, r *refereev1.GetMatchRequest) (*refereev1.GetMatchResponse, error) {
	var c check
	id := c.id("match_id", r.GetMatchId())
	if err := c.err(); err != nil {
		return nil, err
	}
	state, err := m.referee.Match(ctx, reader(ctx), id)
	if err != nil {
		return nil, err
	}
	match, err := protoMatch(state)
	if err != nil {
		return nil, err
	}
	now, err := m.referee.Now()
	return &refereev1.GetMatchResponse{Match: match, ServerTime: stamp(now)}, err
}

// GetGame returns a game as a viewer may see it.
func (m *matchService) GetGame(ctx context.Context, r *refereev1.GetGameRequest) (*refereev1.GetGameResponse, error) {
	var c check
	id, number := c.id("match_id", r.GetMatchId()), c.gameOrPresent(r.GetGame())
	viewer := c.optionalSeat("viewer_seat", r.ViewerSeat)
	if err := c.err(); err != nil {
		return nil, err
	}
	state, err := m.referee.Game(ctx, reader(ctx), id, number)
	if err != nil {
		return nil, err
	}
	if err := state.ViewerSeat(reader(ctx), viewer, state.Game.Number); err != nil {
		return nil, err
	}
	game, err := m.game(state, viewer)
	if err != nil {
		return nil, err
	}
	now, err := m.referee.Now()
	return &refereev1.GetGameResponse{Game: game, ServerTime: stamp(now)}, err
}

// ListLegalActions lists what the side to move may do.
func (m *matchService) ListLegalActions(ctx context.Context, r *refereev1.ListLegalActionsRequest) (*refereev1.ListLegalActionsResponse, error) {
	var c check
	id, number := c.id("match_id", r.GetMatchId()), c.gameOrPresent(r.GetGame())
	viewer := c.optionalSeat("viewer_seat", r.ViewerSeat)
	if err := c.err(); err != nil {
		return nil, err
	}
	state, err := m.referee.Game(ctx, reader(ctx), id, number)
	if err != nil {
		return nil, err
	}
	if err := state.ViewerSeat(reader(ctx), viewer, state.Game.Number); err != nil {
		return nil, err
	}
	if state.Game.Status != referee.GamePlaying {
		return nil, &referee.Refusal{Reason: referee.ReasonGameNotRunning, Message: "the game is not being played"}
	}
	out := &refereev1.ListLegalActionsResponse{
		Seat: uint32(state.Game.Position.Turn()), NextPly: uint32(state.Game.NextPly()),
	}
	if state.Rules.Conceals() && viewer != state.Game.Position.Turn() {
		return nil, referee.InvalidField("viewer_seat", "must be the seat to move, %d: what it may do tells its pieces", state.Game.Position.Turn())
	}
	actions, err := m.referee.LegalActions(state)
	if err != nil {
		return nil, err
	}
	for _, action := range actions {
		what, target := state.WouldBe(action)
		out.Actions = append(out.Actions, &refereev1.LegalAction{
			Action: protoAction(action, state.Rules.SquareName), What: what, Captures: state.Rules.PieceName(target),
		})
	}
	now, err := m.referee.Now()
	out.ServerTime = stamp(now)
	return out, err
}
