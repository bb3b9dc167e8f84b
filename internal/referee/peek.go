package referee

import (
	"context"
	"errors"
)

// ErrUnavailable is wrapped by what a Store answers when its database can't be
// reached; the caller may try again, here or at another replica.
var ErrUnavailable = errors.New("the store can't be reached")

// Peek returns a match as it was last committed. Unlike Match it adjudicates
// nothing: a watcher must not be what moves a match.
func (r *Referee) Peek(ctx context.Context, caller Caller, id ID) (*State, error) {
	loaded, err := r.load(ctx, caller, id)
	return loaded.State, err
}

// PeekRecent returns a match as this replica saw it last, without asking the
// database; nil if it does not remember it, or if the caller may not see it. It may be
// stale. The caller does not change it.
func (r *Referee) PeekRecent(ctx context.Context, caller Caller, id ID) *State {
	if recent := r.store.Recent(ctx, id); recent != nil && caller.sees(recent.Platform) {
		return recent
	}
	return nil
}
