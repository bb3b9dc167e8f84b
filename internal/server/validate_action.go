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
	if compiled.ArmyChess != nil {
		return validateArmyChess(compiled, r)
	}
	var c check
	state := c.text("state", r.GetState(), 1, maxStateBytes)
	action, turned := c.actionOn(referee.DarkChessBoard, r.GetAction()), c.piece("turned", r.GetTurned())
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
		return &refereev1.ValidateActionResponse{Illegal: protoIllegal(compiled, j.Illegal, j.Description)}, nil
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

func protoIllegal(r *referee.Rules, i rules.Illegal, description string) *refereev1.IllegalAction {
	out := &refereev1.IllegalAction{Rule: string(i.Rule), Description: description}
	for _, square := range i.Squares {
		if square != rules.NoSquare {
			out.Squares = append(out.Squares, r.SquareName(square))
		}
	}
	for _, piece := range i.Pieces {
		if piece != rules.NoPiece {
			out.Pieces = append(out.Pieces, r.PieceName(piece))
		}
	}
	return out
}
