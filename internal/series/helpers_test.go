package series_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"referee.example/internal/rules"
	"referee.example/internal/series"
)

var (
	sevenClub = series.Stakes{
		EntryMultiple: 9, NextMultiple: 4,
		LossMultiple: 2, ReducedMultiple: 1, ReducedFromCaptures: 9,
		FeeDoubles: true,
	}
	duel  = series.Sides{rules.SeatsOf(0), rules.SeatsOf(1)}
	teams = series.Sides{rules.SeatsOf(0, 2), rules.SeatsOf(1, 3)}
)

// load reads a table of cases; a misspelt field fails the test, so that no case
// passes by saying nothing.
func load[Case any](t *testing.T, file string) []Case {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	var cases []Case
	if err := decoder.Decode(&cases); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if len(cases) == 0 {
		t.Fatalf("%s holds no case", file)
	}
	return cases
}

// sides returns the parties of a case.
func sides(four bool) series.Sides {
	if four {
		return teams
	}
	return duel
}

// outcomeOf spells an outcome: A, B, draw (or nothing), void, open, and the
// malformed voidA, openA, half and all.
func outcomeOf(t *testing.T, word string, reason rules.EndReason, sides series.Sides) rules.Outcome {
	t.Helper()
	switch word {
	case "A":
		return rules.Outcome{Reason: reason, Winners: sides[0]}
	case "B":
		return rules.Outcome{Reason: reason, Winners: sides[1]}
	case "", "draw":
		return rules.Outcome{Reason: reason}
	case "void":
		return rules.Outcome{Reason: reason, Void: true}
	case "voidA":
		return rules.Outcome{Reason: reason, Void: true, Winners: sides[0]}
	case "half":
		return rules.Outcome{Reason: reason, Winners: rules.SeatsOf(0)}
	case "all":
		return rules.Outcome{Reason: reason, Winners: sides[0] | sides[1]}
	case "open":
		return rules.Outcome{}
	case "openA":
		return rules.Outcome{Winners: sides[0]}
	}
	t.Fatalf("unknown outcome %q", word)
	return rules.Outcome{}
}

// refusal names what was refused: a field, or the kind of an inconsistency.
func refusal(err error) string {
	var field series.FieldError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &field):
		return field.Field
	case errors.Is(err, series.ErrSides):
		return "sides"
	case errors.Is(err, series.ErrOutcome):
		return "outcome"
	case errors.Is(err, series.ErrCaptures):
		return "captures"
	case errors.Is(err, series.ErrLine):
		return "line"
	}
	return "untyped: " + err.Error()
}
