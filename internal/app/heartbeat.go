package app

import (
	"context"
	"log/slog"
	"time"

	"referee.example/internal/store"
)

const (
	// beatEvery leaves room for two lost beats before a gap counts as an outage
	// (3 s; dark-chess rules, section 5).
	beatEvery   = time.Second
	beatTimeout = 900 * time.Millisecond
)

// heartbeat shows each second that this replica is alive; every beat also is a
// sample of the database's time.
func heartbeat(ctx context.Context, s *store.Store, logger *slog.Logger) {
	ticker := time.NewTicker(beatEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			beat(ctx, s, logger)
		}
	}
}

func beat(ctx context.Context, s *store.Store, logger *slog.Logger) {
	limited, cancel := context.WithTimeout(ctx, beatTimeout)
	defer cancel()
	_, err := s.Beat(limited)
	if err != nil && ctx.Err() == nil {
		logger.Warn("heartbeat failed", "error", err)
	}
}
