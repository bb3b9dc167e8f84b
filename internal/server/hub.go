package server

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"referee.example/internal/referee"
)

// hub tells this replica's watchers that a log has grown: that of a match, by its
// id, or the feed of a platform, by its name. It only hints: what is new each
// watcher reads from the log, so that a lost or a doubled hint costs a read and
// never an event. One query asks for all that is watched.
type hub[K comparable] struct {
	versions func(context.Context, []K) (map[K]int64, error)
	log      *slog.Logger
	limits   limits

	mu      sync.Mutex
	watched map[K]*watched
	count   int
}

// watched is a log that somebody watches.
type watched struct {
	version int64 // that its watchers were last told of, or unknown
	hints   map[chan struct{}]struct{}
}

// unknown is the version of a log of which the database has not been asked since this
// replica began to watch it, or last changed it.
const unknown = -1

func newHub[K comparable](versions func(context.Context, []K) (map[K]int64, error), log *slog.Logger, l limits) *hub[K] {
	return &hub[K]{versions: versions, log: log, limits: l, watched: map[K]*watched{}}
}

// watch returns a channel that holds a hint whenever the log may have grown
// since it was last emptied, and the function that ends the watch. It refuses
// when there are too many.
func (h *hub[K]) watch(id K) (<-chan struct{}, func(), error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.count >= h.limits.watches {
		return nil, nil, &referee.Refusal{Reason: reasonOverloaded,
			Message: "the replica has as many watches as it takes", RetryAfter: time.Second}
	}
	h.count++
	log := h.watched[id]
	if log == nil {
		log = &watched{version: unknown, hints: map[chan struct{}]struct{}{}}
		h.watched[id] = log
	}
	hint := make(chan struct{}, 1)
	log.hints[hint] = struct{}{}
	return hint, func() { h.unwatch(id, hint) }, nil
}

func (h *hub[K]) unwatch(id K, hint chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	log := h.watched[id]
	delete(log.hints, hint)
	if len(log.hints) == 0 {
		delete(h.watched, id)
	}
	h.count--
}

// version is that of a log that is watched, as far as its watchers were told of it.
func (h *hub[K]) version(id K) int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.watched[id].version
}

// Watches returns how many watches are open.
func (s *Server) Watches() int {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	return s.hub.count
}

// changed hints at a change that this replica made itself.
func (h *hub[K]) changed(id K) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if log := h.watched[id]; log != nil {
		log.version = unknown
		log.tell()
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

// run asks for the versions of what is watched until ctx is done.
func (h *hub[K]) run(ctx context.Context) {
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
			h.log.Warn("versions of what is watched", "failing", failing, "cause", err)
		}
	}
}

// poll asks once and hints at what has changed.
func (h *hub[K]) poll(ctx context.Context) error {
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
		if log := h.watched[id]; log != nil && log.version != version {
			log.version = version
			log.tell()
		}
	}
	return nil
}

func (h *hub[K]) ids() []K {
	h.mu.Lock()
	defer h.mu.Unlock()
	ids := make([]K, 0, len(h.watched))
	for id := range h.watched {
		ids = append(ids, id)
	}
	return ids
}
