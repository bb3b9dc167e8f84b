package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"referee.example/internal/referee"
)

const (
	sqlAddCreateRequest = `
INSERT INTO create_requests (platform, request_id, match_id, fingerprint) VALUES ($1, $2, $3, $4)`
	sqlAddExternalRef = `INSERT INTO external_refs (platform, external_ref, match_id) VALUES ($1, $2, $3)`
	sqlAddMatch       = `
INSERT INTO matches (match_id, created_at, stake, fee, scene_fee, disconnection_penalty, engine_version, status,
	first_seat, platform, external_ref, table_ref, ruleset_id, ruleset_hash, player_ids)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`
	sqlAddParticipant = `INSERT INTO participants (platform, player_id, match_id, seat) VALUES ($1, $2, $3, $4)`
	sqlAddState       = `INSERT INTO match_states (match_id, version, state) VALUES ($1, 1, $2)`

	sqlFindCreated     = `SELECT match_id, fingerprint FROM create_requests WHERE platform = $1 AND request_id = $2`
	sqlFindExternalRef = `SELECT match_id FROM external_refs WHERE platform = $1 AND external_ref = $2`
	sqlSealedSeeds     = `SELECT sealed_seed FROM games WHERE match_id = $1 ORDER BY game`
)

// create stores a new match. Every transaction takes the unique keys in this
// same order, so that two creations never wait for each other: first the
// request, so that a retry at the same instant waits for it and finds it.
func (s *Store) create(ctx context.Context, c referee.Change) error {
	m := c.State
	r := m.Rules
	batch := &pgx.Batch{}
	batch.Queue(sqlAddCreateRequest, m.Platform, uuid(c.Create.RequestID), uuid(m.ID), c.Create.Fingerprint())
	if m.ExternalRef != "" {
		batch.Queue(sqlAddExternalRef, m.Platform, m.ExternalRef, uuid(m.ID))
	}
	batch.Queue(sqlAddRuleset, r.Hash[:], r.ID, string(r.Content))
	batch.Queue(sqlAddMatch, uuid(m.ID), timestamp(m.Created), m.Stake, m.Charges.Fee, m.Charges.SceneFee,
		m.Charges.DisconnectionPenalty, m.EngineVersion, int16(m.Status), int16(m.FirstSeat),
		m.Platform, m.ExternalRef, m.TableRef, r.ID, r.Hash[:], m.Players)
	for seat, player := range m.Players {
		batch.Queue(sqlAddParticipant, m.Platform, player, uuid(m.ID), seat)
	}
	batch.Queue(sqlAddGame, uuid(m.ID), m.Game.Number, m.Game.Commitment[:], m.Game.Sealed)
	batch.Queue(sqlAddState, uuid(m.ID), m.Snapshot())
	batch.Queue(sqlAddEvents, append([]any{uuid(m.ID)}, eventArrays(c.Events)...)...)
	err := s.send(ctx, "create a match", batch)
	if err != nil {
		return err
	}
	m.Version = 1
	s.known.requests.committed(m.ID, c.Events)
	// Not with its caller's ruleset, which no other match shares.
	if shared, ok := s.rulesets.get(r.Hash); ok {
		created := *m
		created.Rules = shared
		s.known.recent.put(&created)
	}
	return nil
}

// FindCreated returns the match that a CreateMatch request made and the
// fingerprint of that request; referee.ErrNotFound if there is none.
func (s *Store) FindCreated(ctx context.Context, platform string, request referee.ID) (referee.ID, []byte, error) {
	var id [16]byte
	var fingerprint []byte
	err := s.pool.QueryRow(ctx, sqlFindCreated, platform, uuid(request)).Scan(&id, &fingerprint)
	return id, fingerprint, wrap("find a match by its request", err)
}

// FindExternalRef returns the platform's match of that external_ref;
// referee.ErrNotFound if there is none.
func (s *Store) FindExternalRef(ctx context.Context, platform, ref string) (referee.ID, error) {
	var id [16]byte
	err := s.pool.QueryRow(ctx, sqlFindExternalRef, platform, ref).Scan(&id)
	return id, wrap("find a match by external_ref", err)
}

// SealedSeeds returns the sealed seeds of a match's games, from game 1 to the
// one that is committed to; referee.ErrNotFound if there is no such match.
func (s *Store) SealedSeeds(ctx context.Context, id referee.ID) ([][]byte, error) {
	rows, err := s.pool.Query(ctx, sqlSealedSeeds, uuid(id))
	if err != nil {
		return nil, wrap("read sealed seeds", err)
	}
	seeds, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
	if err == nil && len(seeds) == 0 {
		return nil, fmt.Errorf("read sealed seeds: %w", referee.ErrNotFound)
	}
	return seeds, wrap("read sealed seeds", err)
}
