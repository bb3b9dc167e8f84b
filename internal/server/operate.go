package server

import (
	"context"

	"referee.example/internal/referee"
	"referee.example/internal/rules"
	refereev1 "referee.example/proto/referee/v1"
)

// VoidMatch ends a match by an operator.
func (m *matchService) VoidMatch(ctx context.Context, r *refereev1.VoidMatchRequest) (*refereev1.VoidMatchResponse, error) {
	var c check
	command := &referee.VoidMatch{
		Header: c.header(r, rules.NoSeat), Note: c.text("note", r.GetNote(), 1, referee.MaxNoteBytes),
	}
	change, err := m.do(ctx, &c, command, &command.Header)
	if err != nil {
		return nil, err
	}
	return &refereev1.VoidMatchResponse{Change: change}, nil
}

// RuleFoul confirms or waives the disputable foul that a result rests on.
func (m *matchService) RuleFoul(ctx context.Context, r *refereev1.RuleFoulRequest) (*refereev1.RuleFoulResponse, error) {
	var c check
	command := &referee.RuleFoul{
		Header: c.header(r, rules.NoSeat), Confirm: r.GetConfirm(),
		Note: c.text("note", r.GetNote(), 1, referee.MaxNoteBytes),
	}
	change, err := m.do(ctx, &c, command, &command.Header)
	if err != nil {
		return nil, err
	}
	return &refereev1.RuleFoulResponse{Change: change}, nil
}

// CompensateSettlement proposes the reversal of a settlement or makes it.
func (m *matchService) CompensateSettlement(ctx context.Context, r *refereev1.CompensateSettlementRequest) (*refereev1.CompensateSettlementResponse, error) {
	var c check
	command := &referee.CompensateSettlement{
		Header:     c.header(r, rules.NoSeat),
		Settlement: c.id("settlement_id", r.GetSettlementId()),
		Note:       c.text("note", r.GetNote(), 1, referee.MaxNoteBytes),
	}
	err := c.err()
	if err != nil {
		return nil, err
	}
	if command.Caller, err = m.caller(ctx); err != nil {
		return nil, err
	}
	answer, err := m.referee.Compensate(ctx, command)
	if err != nil {
		return nil, err
	}
	m.hub.changed(command.Match)
	events, err := m.events(ctx, answer.State, answer.Events, nil)
	if err != nil {
		return nil, err
	}
	return &refereev1.CompensateSettlementResponse{
		Event: events[0], Replayed: answer.Replayed, ServerTime: stamp(answer.Now),
	}, nil
}
