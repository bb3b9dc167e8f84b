package banqi

import (
	"errors"
	"fmt"

	"referee.example/internal/rules"
)

// RecordError says where the rules contradict a record.
type RecordError struct {
	Ply    int    // the refused ply, from 1; 0 for the result
	Text   string // the entry or the result as the record has it
	Reason string
}

// Error names the ply and the rule in words.
func (e *RecordError) Error() string {
	if e.Ply == 0 {
		return fmt.Sprintf("result %q: %s", e.Text, e.Reason)
	}
	return fmt.Sprintf("ply %d, %s: %s", e.Ply, e.Text, e.Reason)
}

// RecordVerdict is what the rules say about a record that they accept.
type RecordVerdict struct {
	State State // after the last entry; seat 0 played first
	// Proven says that the plies themselves lead to the record's result. Time,
	// resignations and agreements leave no ply, and a record may tell no reason.
	Proven bool
	Merits []int // plies that were a little soldier's great merit
}

// CheckRecord replays a record from the first flip and compares its result with
// ours. The error is a *RecordError for the first ply that is refused, or for a
// result that can't be.
func (g *Game) CheckRecord(r *Record) (RecordVerdict, error) {
	v := RecordVerdict{State: g.Start(0)}
	for i := range r.Entries {
		if err := g.replayEntry(&v, &r.Entries[i]); err != nil {
			return v, err
		}
	}
	proven, reason := v.State.agrees(r.Result)
	if reason != "" {
		return v, &RecordError{Text: r.Result.String(), Reason: reason}
	}
	v.Proven = proven
	return v, nil
}

func (g *Game) replayEntry(v *RecordVerdict, e *RecordEntry) error {
	s := &v.State
	refused := &RecordError{Ply: s.Ply() + 1, Text: e.Word}
	switch e.Word {
	case "":
		refused.Text = FormatAction(e.Action, e.Turned)
		return g.replayPly(v, e, refused)
	case WordRequest:
		if i := g.RequestCount(s, s.turn); !i.OK() {
			refused.Reason = g.Describe(i)
			return refused
		}
	default:
		if _, err := g.RuleFoul(s, e.Word == WordConfirm); err != nil {
			refused.Reason = err.Error()
			return refused
		}
	}
	return nil
}

func (g *Game) replayPly(v *RecordVerdict, e *RecordEntry, refused *RecordError) error {
	effect, err := g.Apply(&v.State, e.Action, e.Turned)
	var illegal *IllegalError
	switch {
	case errors.As(err, &illegal):
		refused.Reason = g.Describe(illegal.Illegal)
		return refused
	case err != nil:
		refused.Reason = err.Error()
		return refused
	}
	if effect.Merit {
		v.Merits = append(v.Merits, v.State.Ply())
	}
	return nil
}

// agrees compares a record's result with how the game stands. A contradiction
// is told in words.
func (s *State) agrees(r RecordResult) (proven bool, reason string) {
	if s.outcome.Over() {
		ours := ResultOf(s.outcome, 0)
		switch {
		case r.Words == "":
			return true, ""
		case s.resultWords(r.Words) != ours.Words || r.Reason != rules.EndNone && r.Reason != ours.Reason:
			return false, "the plies end the game otherwise: " + ours.String()
		}
		return true, ""
	}
	switch {
	case r.Words == "" || r.Words == unfinished:
		return true, ""
	case s.resultWords(r.Words) == "":
		return false, "no side has that colour yet"
	case r.Reason == rules.EndNone:
		return false, ""
	case !leavesNoPly(r):
		return false, "the plies don't end the game, least of all so"
	}
	return false, ""
}

// resultWords returns a result told by colour as one told by order.
func (s *State) resultWords(words string) string {
	var winner Colour
	switch words {
	case "red wins":
		winner = Red
	case "black wins":
		winner = Black
	default:
		return words
	}
	switch s.Colour(0) {
	case NoColour:
		return ""
	case winner:
		return "first wins"
	}
	return "second wins"
}

// leavesNoPly reports whether the referee, not the board, ends games so.
func leavesNoPly(r RecordResult) bool {
	switch r.Reason {
	case rules.EndResignation, rules.EndTime, rules.EndDisconnection:
		return r.Words != "draw" && r.Words != "void"
	case rules.EndAgreement:
		return r.Words == "draw"
	case rules.EndAllGone, rules.EndMatchVoided, rules.EndMatchAbandoned:
		return r.Words == "void"
	}
	return false
}
