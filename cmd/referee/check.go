package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"

	"referee.example/internal/referee"
	"referee.example/internal/rules"
	"referee.example/internal/rules/banqi"
)

// errIllegal ends a check whose action the rules refuse: the verdict has been
// written, the exit code says it again.
var errIllegal = errors.New("the action is illegal")

// checkAction judges one action in a position, without a server.
func checkAction(_ context.Context, call invocation) error {
	flags := flag.NewFlagSet("check", flag.ContinueOnError)
	name := flags.String("rules", "7club-standard", rulesUsage)
	position := call.takePosition()
	arguments, err := call.parseWith(flags, ` POSITION ACTION

POSITION is eight groups of four squares and the side to move, or a whole state:
  "----/----/-X--/C-Pr/----/----/Kp--/---- red"
ACTION is a flip with what it turns, a1(n), a move, a4-a5, a dark capture with
what it turns, a4-a5(k), or stop.

In army chess POSITION is the pieces by stop and the seat to move, or a whole
state; a rank that not everybody was shown has a question mark after it, and
where it began:
  "A1=tF?,A4=t2?,G2=b9?L0,L1=bF? seat=0"
ACTION is a flip, F2 or F2(t5), a move, G2-F2, or what else happens: pass,
out=1:time, out=1:resignation, leave=1.`)
	if err != nil {
		return err
	}
	if position == "" && len(arguments) == 2 {
		position, arguments = arguments[0], arguments[1:] // no position, which is told below
	}
	if position == "" || len(arguments) != 1 {
		return &usageError{"give a position, quoted, and an action"}
	}
	presets, err := referee.LoadPresets()
	if err != nil {
		return err
	}
	r, err := rulesNamed(presets, *name)
	if err != nil {
		return err
	}
	if g := r.ArmyChessGame(); g != nil {
		return call.checkArmyChess(g, position, arguments[0])
	}
	action, turned, err := banqi.ParseAction(arguments[0])
	if err != nil {
		return &usageError{fmt.Sprintf("%q is %v", arguments[0], err)}
	}
	j, err := referee.Judge(r, position, rules.NoSeat, action, turned)
	if err != nil {
		return &usageError{err.Error()}
	}
	return call.verdict(j)
}

// takePosition takes the position out of the arguments: the first that has four
// squares and a gap, or names the seat to move. It may begin with empty squares and
// so look like a flag.
func (call *invocation) takePosition() string {
	at := slices.IndexFunc(call.arguments, func(argument string) bool {
		return len(argument) > 4 && (argument[4] == '/' || argument[4] == ' ') || strings.Contains(argument, " seat=")
	})
	if at < 0 {
		return ""
	}
	position := call.arguments[at]
	call.arguments = slices.Delete(slices.Clone(call.arguments), at, at+1)
	return position
}

func (call invocation) verdict(j referee.Judgement) error {
	if !j.Illegal.OK() {
		tell(call.out, "illegal (%s): %s\n", j.Illegal.Rule, j.Description)
		return errIllegal
	}
	tell(call.out, "legal: %s\n", j.Manner)
	if j.Effect.Captured != rules.NoPiece {
		tell(call.out, "captures: %c\n", banqi.PieceLetter(j.Effect.Captured))
	}
	if j.Effect.Foul.Number > 0 {
		disputable := ""
		if j.Effect.Foul.Disputable {
			disputable = ", disputable"
		}
		tell(call.out, "books foul %d%s\n", j.Effect.Foul.Number, disputable)
	}
	if j.Effect.Merit {
		tell(call.out, "feat: the little soldier's great merit\n")
	}
	tell(call.out, "next: %s\n", j.Next)
	for _, line := range j.NextWords {
		tell(call.out, "%s\n", line)
	}
	return nil
}
