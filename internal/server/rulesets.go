package server

import (
	"context"
	"errors"
	"slices"

	"referee.example/internal/referee"
	refereev1 "referee.example/proto/referee/v1"
)

// ListRulesets lists the presets by id.
func (s *rulesService) ListRulesets(_ context.Context, r *refereev1.ListRulesetsRequest) (*refereev1.ListRulesetsResponse, error) {
	var c check
	p := c.page(&refereev1.ListRulesetsRequest{}, "ListRulesets", r.GetPageSize())
	if err := c.err(); err != nil {
		return nil, err
	}
	if err := p.open(r.GetPageToken(), func([]byte) bool { return true }); err != nil {
		return nil, err
	}
	ids := s.referee.Presets().IDs()
	from, _ := slices.BinarySearch(ids, string(p.after)+"\x00") // the first id above
	out := &refereev1.ListRulesetsResponse{}
	for i, id := range ids[from:] {
		if i == p.size {
			out.NextPageToken = p.next([]byte(ids[from+i-1]))
			break
		}
		preset, err := protoRuleset(&s.referee.Presets().Get(id).Ruleset)
		if err != nil {
			return nil, err
		}
		out.Rulesets = append(out.Rulesets, preset)
	}
	return out, nil
}

// GetRuleset returns a preset.
func (s *rulesService) GetRuleset(_ context.Context, r *refereev1.GetRulesetRequest) (*refereev1.GetRulesetResponse, error) {
	if r.GetRulesetId() == "" {
		return nil, referee.InvalidField("ruleset_id", "is required")
	}
	rules, err := s.preset(r.GetRulesetId())
	if err != nil {
		return nil, err
	}
	preset, err := protoRuleset(&rules.Ruleset)
	return &refereev1.GetRulesetResponse{Ruleset: preset, RulesetHash: rules.Hash[:]}, err
}

// CheckRuleset says what is wrong with a ruleset.
func (s *rulesService) CheckRuleset(_ context.Context, r *refereev1.CheckRulesetRequest) (*refereev1.CheckRulesetResponse, error) {
	out := &refereev1.CheckRulesetResponse{}
	rules, err := compile(r.GetRuleset())
	var unsound *referee.RulesetError
	if errors.As(err, &unsound) {
		for _, f := range unsound.Faults {
			out.Faults = append(out.Faults, &refereev1.FieldFault{Field: f.Field, Description: f.Reason})
		}
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	out.RulesetHash = rules.Hash[:]
	return out, nil
}
