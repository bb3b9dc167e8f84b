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
