package server

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"referee.example/internal/referee"
)

// hub tells this replica's watchers that a match has changed. It only hints:
// what changed each watcher reads from the log, so that a lost or a doubled
// hint costs a read and never an event. One query asks for all watched matches.
type hub struct {
	versions func(context.Context, []referee.ID) (map[referee.ID]int64, error)
	log      *slog.Logger
	limits   limits

	mu      sync.Mutex
	watched map[referee.ID]*watched
	count   int
}

// watched is a match that somebody watches.
type watched struct {
	version int64 // that its watchers were last told of, -1 at first
	hints   map[chan struct{}]struct{}
}

func newHub(versions func(context.Context, []referee.ID) (map[referee.ID]int64, error), log *slog.Logger, l limits) *hub {
	return &hub{versions: versions, log: log, limits: l, watched: map[referee.ID]*watched{}}
}

// watch returns a channel that holds a hint whenever the match may have changed
// since it was last emptied, and the function that ends the watch. It refuses
// when there are too many.
func (h *hub) watch(id referee.ID) (<-chan struct{}, func(), error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.count >= h.limits.watches {
		return nil, nil, &referee.Refusal{Reason: reasonOverloaded,
			Message: "the replica has as many watches as it takes", RetryAfter: time.Second}
	}
	h.count++
	match := h.watched[id]
	if match == nil {
		match = &watched{version: -1, hints: map[chan struct{}]struct{}{}}
		h.watched[id] = match
	}
	hint := make(chan struct{}, 1)
	match.hints[hint] = struct{}{}
	return hint, func() { h.unwatch(id, hint) }, nil
}

func (h *hub) unwatch(id referee.ID, hint chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	match := h.watched[id]
	delete(match.hints, hint)
	if len(match.hints) == 0 {
		delete(h.watched, id)
	}
	h.count--
}

// Watches returns how many watches are open.
func (s *Server) Watches() int {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	return s.hub.count
}

// changed hints at a change that this replica made itself.
func (h *hub) changed(id referee.ID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if match := h.watched[id]; match != nil {
		match.tell()
	}
}

// tell leaves a hint for each watcher that has none yet.
func (w *watched) tell() {
	for hint := range w.hints {
		select {
		case hint <- struct{}{}:
		default:
		}
	}
}

// run asks for the versions of watched matches until ctx is done.
func (h *hub) run(ctx context.Context) {
	ticker := time.NewTicker(h.limits.poll)
	defer ticker.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		err := h.poll(ctx)
		if failed := err != nil; failed != failing && ctx.Err() == nil {
			failing = failed
			h.log.Warn("versions of watched matches", "failing", failing, "cause", err)
		}
	}
}

// poll asks once and hints at what has changed.
func (h *hub) poll(ctx context.Context) error {
	ids := h.ids()
	if len(ids) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, defaultDeadline)
	defer cancel()
	versions, err := h.versions(ctx, ids)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, version := range versions {
		if match := h.watched[id]; match != nil && match.version != version {
			match.version = version
			match.tell()
		}
	}
	return nil
}

func (h *hub) ids() []referee.ID {
	h.mu.Lock()
	defer h.mu.Unlock()
	ids := make([]referee.ID, 0, len(h.watched))
	for id := range h.watched {
		ids = append(ids, id)
	}
	return ids
}
