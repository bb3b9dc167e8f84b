package server

import (
	"context"

	"referee.example/internal/referee"
	"referee.example/internal/rules"
	"referee.example/internal/rules/junqi"
	refereev1 "referee.example/proto/referee/v1"
)

// maxChangeBytes is for the longest change that is no action, and to spare.
const maxChangeBytes = 32

// validateArmyChess is ValidateAction for rulesets of army chess.
func validateArmyChess(compiled *referee.Rules, r *refereev1.ValidateActionRequest) (*refereev1.ValidateActionResponse, error) {
	g := compiled.ArmyChessGame()
	var c check
	state := c.text("state", r.GetState(), 1, junqi.MaxTextLength)
	seat := c.optionalSeat("seat", r.Seat)
	change, turned := c.armyChange(compiled, r), c.armyPiece(g, "turned", r.GetTurned())
	if err := c.err(); err != nil {
		return nil, err
	}
	j, err := referee.JudgeArmyChess(g, state, seat, change, turned)
	if err != nil {
		return nil, err
	}
	out := &refereev1.ValidateActionResponse{Legal: j.Illegal.OK()}
	if !j.Illegal.OK() {
		out.Illegal = protoIllegal(compiled, j.Illegal, j.Description)
	} else {
		out.What, out.Notation = j.What, j.Notation
	}
	if !j.Illegal.OK() && !j.Lost {
		return out, nil
	}
	out.NextState, out.Result = j.Next, protoResult(j.Effect.Outcome)
	out.Disclosure, out.OutSeats = protoDisclosure(compiled, j.Effect.Disclosure), seatList(j.Effect.Out)
	out.SeatSides = armySides(g, j.Sides)
	if !j.Effect.Outcome.Over() {
		out.NextSeat, out.NextSide = optionalSeat(j.NextSeat), out.GetSeatSides()[j.NextSeat]
	}
	return out, nil
}

// armyChange reads what changes a game of army chess: an action, or what else.
func (c *check) armyChange(compiled *referee.Rules, r *refereev1.ValidateActionRequest) junqi.Change {
	text := c.text("change", r.GetChange(), 0, maxChangeBytes)
	if text == "" {
		return junqi.Ply(c.actionOn(compiled.Board(), r.GetAction()))
	}
	if r.GetAction() != nil {
		c.refuse("action", "must be absent where a change is given")
	}
	change, _, err := compiled.ArmyChessGame().ParseChange(text)
	if err != nil || change.Kind == junqi.ChangePly {
		c.refuse("change", "must be pass, out= with a seat and a reason, or leave= with a seat")
	}
	return change
}

// armyPiece reads a piece with its rank; empty is none.
func (c *check) armyPiece(g *junqi.Game, field, text string) rules.Piece {
	if text == "" {
		return rules.NoPiece
	}
	piece, err := g.ParsePiece(text)
	if err != nil {
		c.refuse(field, "must be the letter of a side and one of 987654321BMF, or empty")
	}
	return piece
}

// ValidatePlacement judges a placement that the caller keeps.
func (s *rulesService) ValidatePlacement(_ context.Context, r *refereev1.ValidatePlacementRequest) (*refereev1.ValidatePlacementResponse, error) {
	var c check
	seat, text := c.seat(r.Seat), c.text("placement", r.GetPlacement(), 1, maxPlacementBytes)
	if err := c.err(); err != nil {
		return nil, err
	}
	compiled, err := s.rulesOf(r.GetRulesetId(), r.GetRuleset())
	if err != nil {
		return nil, err
	}
	illegal, description, err := referee.JudgePlacement(compiled, seat, text)
	if err != nil {
		return nil, err
	}
	out := &refereev1.ValidatePlacementResponse{Legal: illegal.OK()}
	if !illegal.OK() {
		out.Illegal = protoIllegal(compiled, illegal, description)
	}
	return out, nil
}
