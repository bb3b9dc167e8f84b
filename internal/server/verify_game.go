package server

import (
	"context"
	"errors"
	"fmt"

	"referee.example/internal/referee"
	"referee.example/internal/tlog"
	"referee.example/internal/verify"
	refereev1 "referee.example/proto/referee/v1"
)

// VerifyGame finds out whether a game is what its record claims. Unlike every
// other reading it trusts no row, not even enough to adjudicate what is due.
func (a *auditService) VerifyGame(ctx context.Context, r *refereev1.VerifyGameRequest) (*refereev1.VerifyGameResponse, error) {
	var c check
	id, game := c.id("match_id", r.GetMatchId()), c.gameOrPresent(r.GetGame())
	if err := c.err(); err != nil {
		return nil, err
	}
	record, err := a.recordOf(ctx, id)
	if err != nil {
		return nil, err
	}
	if game > 0 && game >= len(record.Logs) && game >= 1+len(record.Games) {
		return nil, notFound()
	}
	proofs, err := a.proofs(ctx, record)
	if err != nil {
		return nil, err
	}
	report := verify.Record(record, proofs, a.logKey)
	report.Seals(record, a.referee.CheckSeal)
	out := &refereev1.VerifyGameResponse{Sound: true, Notes: report.Notes, Events: uint32(report.Events)}
	for _, f := range report.Findings {
		if game > 0 && f.Game > game {
			continue
		}
		out.Sound = false
		out.Findings = append(out.Findings, &refereev1.Finding{
			Game: uint32(f.Game), Seq: uint32(f.Seq), What: f.What, Expected: f.Expected, Found: f.Found,
		})
	}
	now, err := a.referee.Now()
	out.ServerTime = stamp(now)
	return out, err
}

// recordOf returns the record of a match that the caller may see.
func (a *auditService) recordOf(ctx context.Context, id referee.ID) (*referee.Record, error) {
	record, err := a.records.Record(ctx, id)
	if errors.Is(err, referee.ErrNotFound) {
		return nil, notFound()
	}
	if err != nil {
		return nil, fmt.Errorf("record of match %s: %w", id, err)
	}
	if caller := reader(ctx); caller.Platform != EveryPlatform && caller.Platform != record.Match.Platform {
		return nil, notFound()
	}
	return record, nil
}

// proofs returns the proofs that the log of finished games holds a match's
// ended games, those that have entered it.
func (a *auditService) proofs(ctx context.Context, record *referee.Record) (verify.Proofs, error) {
	proofs := verify.Proofs{}
	for i := range record.Games {
		if record.Games[i].Status != referee.GameEnded {
			continue
		}
		game := record.Games[i].Game
		proof, _, err := a.gameLog.ProveGame(ctx, record.Match.ID, game, 0)
		switch {
		case err == nil:
			proofs[game] = &proof
		case !errors.Is(err, tlog.ErrNotLogged) && !errors.Is(err, tlog.ErrNoCheckpoint):
			return nil, fmt.Errorf("proof of game %d of match %s: %w", game, record.Match.ID, err)
		}
	}
	return proofs, nil
}
