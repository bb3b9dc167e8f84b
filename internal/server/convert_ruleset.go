package server

import (
	"bytes"
	"encoding/json"
	"fmt"

	"referee.example/internal/referee"
	refereev1 "referee.example/proto/referee/v1"

	"google.golang.org/protobuf/encoding/protojson"
)

// A ruleset has one JSON form: in the preset files, in the stored record and in
// the contract, whose fields have the same names. So it is converted by it, and
// a new field needs no line here.

// protoRuleset returns the contract's form of a ruleset.
func protoRuleset(r *referee.Ruleset) (*refereev1.Ruleset, error) {
	content, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode ruleset: %w", err)
	}
	out := &refereev1.Ruleset{}
	if err := protojson.Unmarshal(content, out); err != nil {
		return nil, fmt.Errorf("convert ruleset to the contract: %w", err)
	}
	return out, nil
}

// ruleset returns the referee's form of a ruleset.
func ruleset(r *refereev1.Ruleset) (referee.Ruleset, error) {
	var out referee.Ruleset
	content, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(r)
	if err != nil {
		return out, fmt.Errorf("encode ruleset: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(content))
	d.DisallowUnknownFields()
	if err := d.Decode(&out); err != nil {
		return out, fmt.Errorf("convert ruleset from the contract: %w", err)
	}
	return out, nil
}

// compile makes a ruleset of the contract ready. It returns a
// *referee.RulesetError for an unsound one.
func compile(r *refereev1.Ruleset) (*referee.Rules, error) {
	if r == nil {
		r = &refereev1.Ruleset{}
	}
	converted, err := ruleset(r)
	if err != nil {
		return nil, err
	}
	return referee.CompileRules(converted)
}

// rulesOf finds the rules that a request names, by a preset's id or whole.
func (s *Server) rulesOf(id string, whole *refereev1.Ruleset) (*referee.Rules, error) {
	if whole != nil {
		return compile(whole)
	}
	return s.preset(id)
}

// preset returns a preset.
func (s *Server) preset(id string) (*referee.Rules, error) {
	if rules := s.referee.Presets().Get(id); rules != nil {
		return rules, nil
	}
	if id == "" {
		return nil, referee.InvalidField("rules", "must name a preset or hold a ruleset")
	}
	return nil, notFound()
}
