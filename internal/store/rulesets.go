package store

import (
	"context"
	"fmt"

	"referee.example/internal/referee"
)

const (
	sqlAddRuleset = `
INSERT INTO rulesets (ruleset_hash, ruleset_id, content) VALUES ($1, $2, $3)
ON CONFLICT (ruleset_hash) DO NOTHING`
	sqlRuleset = `SELECT content FROM rulesets WHERE ruleset_hash = $1`
)

// ruleset returns a stored ruleset, ready to judge by.
func (s *Store) ruleset(ctx context.Context, hash [32]byte) (*referee.Rules, error) {
	if known, ok := s.rulesets.get(hash); ok {
		return known, nil
	}
	var content string
	if err := s.pool.QueryRow(ctx, sqlRuleset, hash[:]).Scan(&content); err != nil {
		return nil, wrap("read a ruleset", err)
	}
	r, err := referee.StoredRules([]byte(content))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errRuleset, err)
	}
	if r.Hash != hash {
		return nil, errRuleset
	}
	s.rulesets.put(hash, r)
	return r, nil
}

// decode makes a match of a row of match_states.
func (s *Store) decode(ctx context.Context, id referee.ID, version int64, snapshot []byte) (*referee.State, error) {
	hash, err := referee.RulesetHash(snapshot)
	if err != nil {
		return nil, err
	}
	r, err := s.ruleset(ctx, hash)
	if err != nil {
		return nil, err
	}
	return referee.DecodeSnapshot(snapshot, id, version, r)
}
