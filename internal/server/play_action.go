package server

import (
	"context"

	"referee.example/internal/referee"
	refereev1 "referee.example/proto/referee/v1"
)

// PlayAction plays one board action.
func (m *matchService) PlayAction(ctx context.Context, r *refereev1.PlayActionRequest) (*refereev1.PlayActionResponse, error) {
	change, err := m.play(ctx, r)
	if err != nil {
		return nil, err
	}
	return &refereev1.PlayActionResponse{Change: change}, nil
}

func (m *matchService) play(ctx context.Context, r *refereev1.PlayActionRequest) (*refereev1.Change, error) {
	var c check
	action, board := c.action(r.GetAction())
	command := &referee.PlayAction{
		Header: referee.Header{
			Match:     c.id("match_id", r.GetMatchId()),
			Game:      c.number("game", r.GetGame(), maxGame),
			RequestID: c.id("request_id", r.GetRequestId()),
			Expected:  c.number("expected_ply", r.GetExpectedPly(), maxNumber),
			Seat:      c.seat(r.Seat),
			Board:     board,
		},
		Action:     action,
		ClientHash: c.bytes("client_hash", r.GetClientHash(), referee.MaxClientHashBytes),
	}
	return m.do(ctx, &c, command, &command.Header)
}
