package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"referee.example/internal/referee"
)

const rulesUsage = "`id` of the rules, or the name of a .json file that holds a ruleset"

// tellRules lists the presets, or tells one of them, or a ruleset of the
// caller's own, in words.
func tellRules(_ context.Context, call invocation) error {
	arguments, err := call.parseWith(flag.NewFlagSet("rules", flag.ContinueOnError), " [ID or FILE.json]")
	if err != nil {
		return err
	}
	presets, err := referee.LoadPresets()
	if err != nil {
		return err
	}
	switch len(arguments) {
	case 0:
		for _, id := range presets.IDs() {
			tell(call.out, "%-26s %s\n", id, presets.Get(id).Description)
		}
		return nil
	case 1:
		r, err := rulesNamed(presets, arguments[0])
		if err != nil {
			return err
		}
		call.describe(r)
		return nil
	}
	return &usageError{"one ruleset at a time"}
}

// rulesNamed finds rules by a preset's id, or reads them from a .json file.
func rulesNamed(presets referee.Presets, name string) (*referee.Rules, error) {
	if strings.HasSuffix(name, ".json") {
		content, err := os.ReadFile(name)
		if err != nil {
			return nil, &usageError{err.Error()}
		}
		r, err := referee.ParseRules(content)
		var unsound *referee.RulesetError
		if errors.As(err, &unsound) {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return r, err
	}
	if r := presets.Get(name); r != nil {
		return r, nil
	}
	return nil, &usageError{fmt.Sprintf("there are no rules %q: referee rules lists them", name)}
}

func (call invocation) describe(r *referee.Rules) {
	name := r.ID
	if name == "" {
		name = "a composed ruleset"
	}
	tell(call.out, "%s\n", oneLine(name))
	if r.Description != "" {
		tell(call.out, "%s\n", oneLine(r.Description))
	}
	tell(call.out, "SHA-256 of the stored form: %x\n", r.Hash)
	for _, section := range r.InWords() {
		if len(section.Lines) == 0 {
			continue
		}
		tell(call.out, "\n%s\n", section.Title)
		for _, line := range section.Lines {
			tell(call.out, "  - %s\n", oneLine(line))
		}
	}
}
