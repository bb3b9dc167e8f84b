package app

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"referee.example/internal/server"
	"referee.example/internal/store"
	"referee.example/internal/tlog"
)

const (
	// logEvery leaves room for several failures within the ten seconds in which a
	// finished game enters the log.
	logEvery = time.Second
	// feedEvery is the most that a settlement waits for its position.
	feedEvery       = 100 * time.Millisecond
	sequenceTimeout = 5 * time.Second

	// feedBatch is how many settlements get their positions in one statement, and
	// feedBatches how many statements a step has at most.
	feedBatch, feedBatches = 1000, 10
)

// logGames lets finished games into the log each second, beside the other
// replicas.
func logGames(ctx context.Context, s *tlog.Sequencer, logger *slog.Logger) {
	sequence(ctx, logEvery, s.Step, logger, "the log of finished games")
}

// feedSettlements gives settlements their positions in the feeds, beside the
// other replicas, and tells this replica's readers.
func feedSettlements(ctx context.Context, settlements *store.Store, readers *server.Server, logger *slog.Logger) {
	sequence(ctx, feedEvery, func(ctx context.Context) error {
		for range feedBatches {
			queued, platforms, err := settlements.SequenceSettlements(ctx, feedBatch)
			if err != nil {
				return err
			}
			readers.SettlementsSequenced(platforms)
			if queued < feedBatch {
				break
			}
		}
		return nil
	}, logger, "the feed of settlements")
}

// sequence does a sequencer's step again and again until ctx is done. What keeps
// it from that is told when it begins, changes and ends.
func sequence(ctx context.Context, every time.Duration, step func(context.Context) error, logger *slog.Logger, what string) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	trouble := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		err := limited(ctx, step)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && err.Error() != trouble:
			trouble = err.Error()
			logger.Error(complaint(what, err), "error", err)
		case err == nil && trouble != "":
			trouble = ""
			logger.Info(what + " goes on")
		}
	}
}

// complaint says what an error of a step means to an operator.
func complaint(what string, err error) string {
	var queued *tlog.QueueError
	if errors.As(err, &queued) {
		return "the queue of the log of finished games has what no ending explains: referee log audit"
	}
	return what + " is held up"
}

func limited(ctx context.Context, step func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, sequenceTimeout)
	defer cancel()
	return step(ctx)
}
