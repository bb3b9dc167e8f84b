package server

import (
	"context"

	"referee.example/internal/referee"
	"referee.example/internal/rules"
	refereev1 "referee.example/proto/referee/v1"
)

// ValidateAction judges an action in a position that the caller keeps.
func (s *rulesService) ValidateAction(_ context.Context, r *refereev1.ValidateActionRequest) (*refereev1.ValidateActionResponse, error) {
	compiled, err := s.rulesOf(r.GetRulesetId(), r.GetRuleset())
	if err != nil {
		return nil, err
	}
	if g := compiled.ArmyGame(); g != nil {
		return validateArmyChess(g, r)
	}
	var c check
	state := c.text("state", r.GetState(), 1, maxStateBytes)
	action, turned := c.action(r.GetAction()), c.piece("turned", r.GetTurned())
	seat := c.optionalSeat("seat", r.Seat)
	if r.GetChange() != "" {
		c.refuse("change", "must be empty: it is of army chess")
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	j, err := referee.Judge(compiled, state, seat, action, turned)
	if err != nil {
		return nil, err
	}
	if !j.Illegal.OK() {
		return &refereev1.ValidateActionResponse{Illegal: protoIllegal(j)}, nil
	}
	return &refereev1.ValidateActionResponse{
		Legal: true, NextState: j.Next, What: j.Manner.String(), Captured: pieceLetter(j.Effect.Captured),
		Notation: j.Notation, Result: protoResult(j.Effect.Outcome), NextSide: sideName(j.NextSide),
		Foul: j.Effect.Foul.Number > 0, Feat: featName(j.Effect.Merit),
	}, nil
}

// sideName is a colour's name as the contract has it.
func sideName(name string) string {
	if name == "unassigned" {
		return ""
	}
	return name
}

func protoIllegal(j referee.Judgement) *refereev1.IllegalAction {
	out := &refereev1.IllegalAction{Rule: string(j.Illegal.Rule), Description: j.Description}
	for _, square := range j.Illegal.Squares {
		if square != rules.NoSquare {
			out.Squares = append(out.Squares, squareName(square))
		}
	}
	for _, piece := range j.Illegal.Pieces {
		if piece != rules.NoPiece {
			out.Pieces = append(out.Pieces, pieceLetter(piece))
		}
	}
	return out
}
