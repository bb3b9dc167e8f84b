package server

import (
	"context"
	"errors"
	"fmt"

	"referee.example/internal/referee"
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
	var unreadable *referee.UnreadableError
	if errors.As(err, &unreadable) {
		return a.unreadable(ctx, id, unreadable)
	}
	if err != nil {
		return nil, err
	}
	if game > 0 && game >= len(record.Logs) && game >= 1+len(record.Games) {
		return nil, notFound()
	}
	logged, err := verify.Look(ctx, a.gameLog, record, a.logKeys...)
	if err != nil {
		return nil, err
	}
	report := verify.Record(record, logged)
	report.Seals(record, a.referee.CheckSeal)
	report.Placements(record, a.referee.CheckPlacements)
	out := &refereev1.VerifyGameResponse{Sound: true, Notes: report.Notes, Events: uint32(report.Events)}
	for _, f := range report.Findings {
		if game > 0 && f.Game > game {
			continue
		}
		out.Sound = false
		out.Findings = append(out.Findings, &refereev1.Finding{
			Game: uint32(max(f.Game, 0)), Seq: uint32(f.Seq), What: f.What, Expected: f.Expected, Found: f.Found,
		})
	}
	now, err := a.referee.Now()
	out.ServerTime = stamp(now)
	return out, err
}

// unreadable answers for a match of which a row holds what no referee writes: that
// is the finding, and nothing else can be judged. Whose match it is can still be
// read, or the answer is the error.
func (a *auditService) unreadable(ctx context.Context, id referee.ID, found *referee.UnreadableError) (*refereev1.VerifyGameResponse, error) {
	if caller := reader(ctx); caller.Platform != EveryPlatform {
		if _, err := a.referee.Match(ctx, caller, id); err != nil {
			return nil, err
		}
	}
	now, err := a.referee.Now()
	return &refereev1.VerifyGameResponse{
		Findings: []*refereev1.Finding{{What: found.Table + "." + found.Column, Expected: "what a referee writes", Found: found.Problem}},
		Notes:    []string{"the record can't be read, so that nothing else of it is judged"}, ServerTime: stamp(now),
	}, err
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
