package server

import (
	"context"

	"referee.example/internal/referee"
	"referee.example/internal/rules"
	refereev1 "referee.example/proto/referee/v1"
)

// Resign gives the running game up.
func (m *matchService) Resign(ctx context.Context, r *refereev1.ResignRequest) (*refereev1.ResignResponse, error) {
	var c check
	command := &referee.Resign{Header: c.header(r, c.seat(r.Seat))}
	change, err := m.do(ctx, &c, command, &command.Header)
	if err != nil {
		return nil, err
	}
	return &refereev1.ResignResponse{Change: change}, nil
}

// ReportDisconnect says who has left the running game.
func (m *matchService) ReportDisconnect(ctx context.Context, r *refereev1.ReportDisconnectRequest) (*refereev1.ReportDisconnectResponse, error) {
	var c check
	command := &referee.ReportDisconnect{Header: c.header(r, rules.NoSeat), Gone: c.seats("seats", r.GetSeats())}
	change, err := m.do(ctx, &c, command, &command.Header)
	if err != nil {
		return nil, err
	}
	return &refereev1.ReportDisconnectResponse{Change: change}, nil
}

// AbandonMatch ends a match between games.
func (m *matchService) AbandonMatch(ctx context.Context, r *refereev1.AbandonMatchRequest) (*refereev1.AbandonMatchResponse, error) {
	var c check
	command := &referee.AbandonMatch{
		Header: c.header(r, rules.NoSeat), Balances: r.GetBalances(),
		Note: c.text("note", r.GetNote(), 0, referee.MaxNoteBytes),
	}
	c.perSeat("balances", len(r.GetBalances()))
	change, err := m.do(ctx, &c, command, &command.Header)
	if err != nil {
		return nil, err
	}
	return &refereev1.AbandonMatchResponse{Change: change}, nil
}
