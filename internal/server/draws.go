package server

import (
	"context"

	"referee.example/internal/referee"
	refereev1 "referee.example/proto/referee/v1"
)

// OfferDraw offers a draw.
func (m *matchService) OfferDraw(ctx context.Context, r *refereev1.OfferDrawRequest) (*refereev1.OfferDrawResponse, error) {
	var c check
	command := &referee.OfferDraw{Header: c.header(r, c.seat(r.Seat))}
	change, err := m.do(ctx, &c, command, &command.Header)
	if err != nil {
		return nil, err
	}
	return &refereev1.OfferDrawResponse{Change: change}, nil
}

// WithdrawDraw takes the own offer back.
func (m *matchService) WithdrawDraw(ctx context.Context, r *refereev1.WithdrawDrawRequest) (*refereev1.WithdrawDrawResponse, error) {
	var c check
	command := &referee.WithdrawDraw{Header: c.header(r, c.seat(r.Seat))}
	change, err := m.do(ctx, &c, command, &command.Header)
	if err != nil {
		return nil, err
	}
	return &refereev1.WithdrawDrawResponse{Change: change}, nil
}

// AnswerDraw accepts or declines the opponent's offer.
func (m *matchService) AnswerDraw(ctx context.Context, r *refereev1.AnswerDrawRequest) (*refereev1.AnswerDrawResponse, error) {
	var c check
	command := &referee.AnswerDraw{Header: c.header(r, c.seat(r.Seat)), Accept: r.GetAccept()}
	change, err := m.do(ctx, &c, command, &command.Header)
	if err != nil {
		return nil, err
	}
	return &refereev1.AnswerDrawResponse{Change: change}, nil
}

// RequestCount starts the count towards the idle limit.
func (m *matchService) RequestCount(ctx context.Context, r *refereev1.RequestCountRequest) (*refereev1.RequestCountResponse, error) {
	var c check
	command := &referee.RequestCount{Header: c.header(r, c.seat(r.Seat))}
	change, err := m.do(ctx, &c, command, &command.Header)
	if err != nil {
		return nil, err
	}
	return &refereev1.RequestCountResponse{Change: change}, nil
}
