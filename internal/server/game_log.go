package server

import (
	"context"
	"errors"
	"time"

	"referee.example/internal/referee"
	"referee.example/internal/tlog"
	refereev1 "referee.example/proto/referee/v1"
)

// logRetry is after which time a game that has just ended is looked for again.
const logRetry = time.Second

// GetCheckpoint returns the signed head of the log of finished games.
func (a *auditService) GetCheckpoint(ctx context.Context, r *refereev1.GetCheckpointRequest) (*refereev1.GetCheckpointResponse, error) {
	checkpoint, proof, err := a.gameLog.Checkpoint(ctx, r.GetFromSize())
	if err != nil {
		return nil, logRefusal("from_size", err)
	}
	now, err := a.referee.Now()
	return &refereev1.GetCheckpointResponse{
		Checkpoint: checkpoint.Note, Size: checkpoint.Size, ConsistencyProof: proof, ServerTime: stamp(now),
	}, err
}

// ProveGame proves that a game is in the log.
func (a *auditService) ProveGame(ctx context.Context, r *refereev1.ProveGameRequest) (*refereev1.ProveGameResponse, error) {
	var c check
	id, game := c.id("match_id", r.GetMatchId()), c.number("game", r.GetGame(), maxGame)
	if err := c.err(); err != nil {
		return nil, err
	}
	if _, err := a.referee.Match(ctx, reader(ctx), id); err != nil {
		return nil, err
	}
	in, size, err := a.gameLog.ProveGame(ctx, id, game, r.GetSize())
	if err != nil {
		return nil, logRefusal("size", err)
	}
	now, err := a.referee.Now()
	return &refereev1.ProveGameResponse{
		Checkpoint: in.Checkpoint, Size: size, Index: in.Index, Proof: in.Proof, ServerTime: stamp(now),
	}, err
}

// GetLogTile returns a tile of the log. Entries name the matches of all
// platforms, so that who sees but one is told that there are none.
func (a *auditService) GetLogTile(ctx context.Context, r *refereev1.GetLogTileRequest) (*refereev1.GetLogTileResponse, error) {
	tile, err := tlog.ParseTile(r.GetPath())
	if err != nil {
		return nil, referee.InvalidField("path", "%v", err)
	}
	if tile.Entries() && reader(ctx).Platform != EveryPlatform {
		return nil, notFound()
	}
	content, err := a.gameLog.Tile(ctx, tile)
	if err != nil {
		return nil, logRefusal("path", err)
	}
	return &refereev1.GetLogTileResponse{Content: content}, nil
}

// logRefusal turns what the log answers into a refusal; field is the one that
// named a size.
func logRefusal(field string, err error) error {
	var size *tlog.SizeError
	switch {
	case errors.As(err, &size):
		return referee.InvalidField(field, "must be from 0 to %d", size.Signed)
	case errors.Is(err, tlog.ErrNoCheckpoint):
		return notReady(err.Error())
	case errors.Is(err, tlog.ErrNotLogged):
		return &referee.Refusal{Reason: reasonNotLogged, Message: err.Error(), RetryAfter: logRetry}
	case errors.Is(err, tlog.ErrNoTile):
		return notFound()
	}
	return err
}
