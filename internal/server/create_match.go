package server

import (
	"context"
	"fmt"

	"referee.example/internal/referee"
	"referee.example/internal/rules"
	refereev1 "referee.example/proto/referee/v1"
)

// chariotRushAny is the rush that a table chooses on top of a preset.
const chariotRushAny = "any_rank"

// CreateMatch seats the players of a new match.
func (m *matchService) CreateMatch(ctx context.Context, r *refereev1.CreateMatchRequest) (*refereev1.CreateMatchResponse, error) {
	var c check
	command := &referee.CreateMatch{
		RequestID:   c.id("request_id", r.GetRequestId()),
		ExternalRef: c.text("external_ref", r.GetExternalRef(), 0, referee.MaxRefBytes),
		TableRef:    c.text("table_ref", r.GetTableRef(), 0, referee.MaxRefBytes),
		Players:     r.GetPlayerIds(),
		Stake:       r.GetStake(),
		Charges:     charges(r.GetCharges()),
		Balances:    r.GetBalances(),
		FirstSeat:   c.optionalSeat("first_seat", r.FirstSeat),
	}
	c.perSeat("player_ids", len(r.GetPlayerIds()))
	for i, player := range r.GetPlayerIds() {
		c.text(fmt.Sprintf("player_ids[%d]", i), player, 1, maxPlayerIDBytes)
	}
	c.perSeat("balances", len(r.GetBalances()))
	if err := c.err(); err != nil {
		return nil, err
	}
	var err error
	if command.Caller, err = m.caller(ctx); err != nil {
		return nil, err
	}
	if command.Rules, err = m.matchRules(r); err != nil {
		// Rules that can't be played can't have created a match either: if the
		// request did, it was with others.
		return nil, m.referee.UnlessReused(ctx, command, err)
	}
	if command.Caller.Player != "" {
		return nil, &referee.Refusal{Reason: referee.ReasonSeatForbidden,
			Message: "a token that is limited to a player seats nobody"}
	}
	answer, err := m.referee.CreateMatch(ctx, command)
	if err != nil {
		return nil, err
	}
	change, err := m.change(ctx, answer, rules.NoSeat)
	if err != nil {
		return nil, err
	}
	return &refereev1.CreateMatchResponse{Change: change}, nil
}

// matchRules finds the rules that a match is to be played by.
func (m *matchService) matchRules(r *refereev1.CreateMatchRequest) (*referee.Rules, error) {
	if whole := r.GetRuleset(); whole != nil {
		if r.ChariotRush != nil {
			return nil, referee.InvalidField("chariot_rush", "must be absent: the ruleset says it")
		}
		return m.composed(whole)
	}
	preset, err := m.preset(r.GetRulesetId())
	if err != nil || r.ChariotRush == nil {
		return preset, err
	}
	if preset.DarkChess == nil {
		return nil, referee.InvalidField("chariot_rush", "must be absent: it is of dark chess")
	}
	rush := ""
	if r.GetChariotRush() {
		rush = chariotRushAny
	}
	if preset.DarkChess.ChariotRush == rush {
		return preset, nil
	}
	chosen, board := preset.Ruleset, *preset.DarkChess
	board.ChariotRush = rush
	chosen.DarkChess = &board
	return referee.CompileRules(chosen)
}

// composed compiles a caller's ruleset. It may not go by the name of a house
// whose rules it hasn't: the history is searched by these names.
func (m *matchService) composed(whole *refereev1.Ruleset) (*referee.Rules, error) {
	compiled, err := compile(whole)
	if err != nil || compiled.ID == "" {
		return compiled, err
	}
	if preset := m.referee.Presets().Get(compiled.ID); preset == nil || preset.Hash != compiled.Hash {
		return nil, referee.InvalidField("ruleset.id", "must be empty, or that of the very preset")
	}
	return compiled, nil
}
