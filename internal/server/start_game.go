package server

import (
	"context"
	"fmt"

	"referee.example/internal/referee"
	"referee.example/internal/rules"
	refereev1 "referee.example/proto/referee/v1"
)

// StartGame starts the next game of a match.
func (m *matchService) StartGame(ctx context.Context, r *refereev1.StartGameRequest) (*refereev1.StartGameResponse, error) {
	var c check
	command := &referee.StartGame{
		Header: c.header(r, rules.NoSeat), Balances: r.GetBalances(),
		HoldIDs: r.GetHoldIds(), PlayerSeeds: r.GetPlayerSeeds(),
	}
	c.perSeat("balances", len(r.GetBalances()))
	c.perSeat("hold_ids", len(r.GetHoldIds()))
	for i, hold := range r.GetHoldIds() {
		c.text(fmt.Sprintf("hold_ids[%d]", i), hold, 0, referee.MaxRefBytes)
	}
	c.perSeat("player_seeds", len(r.GetPlayerSeeds()))
	for i, seed := range r.GetPlayerSeeds() {
		c.bytes(fmt.Sprintf("player_seeds[%d]", i), seed, referee.MaxSeedBytes)
	}
	change, err := m.do(ctx, &c, command, &command.Header)
	if err != nil {
		return nil, err
	}
	return &refereev1.StartGameResponse{Change: change}, nil
}

// SubmitPlacement places a seat's pieces.
func (m *matchService) SubmitPlacement(ctx context.Context, r *refereev1.SubmitPlacementRequest) (*refereev1.SubmitPlacementResponse, error) {
	var c check
	command := &referee.SubmitPlacement{
		Header:    c.header(r, c.seat(r.Seat)),
		Placement: c.text("placement", r.GetPlacement(), 0, maxPlacementBytes),
	}
	change, err := m.do(ctx, &c, command, &command.Header)
	if err != nil {
		return nil, err
	}
	return &refereev1.SubmitPlacementResponse{Change: change}, nil
}
