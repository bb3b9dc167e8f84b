package main

import (
	"fmt"
	"strings"

	"referee.example/internal/referee"
	"referee.example/internal/rules"
	"referee.example/internal/rules/junqi"
)

// checkArmyChess judges one change of a position of army chess.
func (call invocation) checkArmyChess(g *junqi.Game, position, text string) error {
	change, turned, err := g.ParseChange(text)
	if err != nil {
		return &usageError{fmt.Sprintf("%q is %v", text, err)}
	}
	j, err := referee.JudgeArmyChess(g, position, rules.NoSeat, change, turned)
	if err != nil {
		return &usageError{err.Error()}
	}
	if !j.Illegal.OK() {
		tell(call.out, "illegal (%s): %s\n", j.Illegal.Rule, j.Description)
		if j.Lost {
			call.tellNext(&j)
		}
		return errIllegal
	}
	what := j.What
	if what == "" {
		what = j.Notation // no action
	}
	tell(call.out, "legal: %s\n", what)
	call.tellEncounter(g, &j.Effect)
	call.tellNext(&j)
	return nil
}

// tellEncounter tells what everybody is told of a change.
func (call invocation) tellEncounter(g *junqi.Game, e *junqi.Effect) {
	if e.Verdict != junqi.NoContact {
		tell(call.out, "encounter: %s\n", strings.ReplaceAll(e.Verdict.String(), "_", " "))
	}
	if e.Shown != rules.NoPiece {
		tell(call.out, "shows: %s\n", g.PieceText(e.Shown))
	}
	for seat := range rules.Seat(g.Seats()) {
		if e.Fallen.Has(seat) {
			tell(call.out, "reveals: the flag of seat %d on %s\n", seat, g.SquareName(e.FlagAt[seat]))
		}
		if e.Out.Has(seat) {
			tell(call.out, "out: seat %d\n", seat)
		}
	}
}

func (call invocation) tellNext(j *referee.ArmyJudgement) {
	tell(call.out, "next: %s\n", j.Next)
	for _, line := range j.NextWords {
		tell(call.out, "%s\n", line)
	}
}
