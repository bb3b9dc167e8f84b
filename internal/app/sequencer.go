package app

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"referee.example/internal/tlog"
)

const (
	// sequenceEvery leaves room for several failures within the ten seconds in
	// which a finished game enters the log.
	sequenceEvery   = time.Second
	sequenceTimeout = 5 * time.Second
)

// sequence lets finished games into the log each second, beside the other
// replicas. What keeps it from that is told when it begins, changes and ends.
func sequence(ctx context.Context, s *tlog.Sequencer, logger *slog.Logger) {
	ticker := time.NewTicker(sequenceEvery)
	defer ticker.Stop()
	trouble := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		err := step(ctx, s)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && err.Error() != trouble:
			trouble = err.Error()
			logger.Error(complaint(err), "error", err)
		case err == nil && trouble != "":
			trouble = ""
			logger.Info("the log of finished games goes on")
		}
	}
}

// complaint says what an error of a step means to an operator.
func complaint(err error) string {
	var queued *tlog.QueueError
	if errors.As(err, &queued) {
		return "the queue of the log of finished games has what no ending explains: referee log audit"
	}
	return "the log of finished games is held up"
}

func step(ctx context.Context, s *tlog.Sequencer) error {
	limited, cancel := context.WithTimeout(ctx, sequenceTimeout)
	defer cancel()
	return s.Step(limited)
}
