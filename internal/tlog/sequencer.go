package tlog

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// batchGames is how many games enter the log in one transaction: some hundred
// kilobytes, a small part of a second.
const batchGames = 1000

// batchesAStep bounds a step, so that a long queue is signed as it is logged.
const batchesAStep = 10

// ErrUnconfirmed means that nothing is signed: the database is not the one that
// the last checkpoint was signed in. It may be a copy or an older state, and to
// sign it could contradict what others hold. Confirm ends that.
var ErrUnconfirmed = errors.New("the log of finished games is not signed, because this database has been restored, promoted or moved; " +
	"compare it with the last checkpoint that a witness holds: referee log confirm")

// lateAfter is how long after its end a game may come into an empty queue without
// a word: an ending queues its game in its own transaction, and one that waited to
// be adjudicated is some seconds old.
const lateAfter = time.Minute

// A QueueError tells of a game whose place in the queue no ending explains.
type QueueError struct {
	Entry
	// Again is set for a game that has an entry: it gets no second one. Else the
	// game is in the log now, although it came Late after its end.
	Again bool
	Late  time.Duration
}

func (e *QueueError) Error() string {
	if e.Again {
		return fmt.Sprintf("game %d of match %x is queued for the log of finished games and is in it already: it was not logged again", e.Game, e.Match)
	}
	return fmt.Sprintf("game %d of match %x entered the log of finished games %s after its end, while nothing held the log up", e.Game, e.Match, e.Late.Round(time.Second))
}

// Sequencer lets finished games into the log and signs its head. Every replica
// has one. They need no leader: a batch is computed without any lock and enters
// only if the tree still has the size it was computed for, so of two sequencers
// one wins and the other looks again, and one that dies at any instant leaves
// nothing behind. Not for concurrent use.
type Sequencer struct {
	store Store
	key   Key
	limit int
	// last is the largest tree that this replica has seen signed. It holds
	// against a database that is taken back under a running replica.
	last Tree
	// emptied is when, in database time, this replica saw the queue empty.
	emptied time.Time
}

// NewSequencer returns a sequencer that signs with the log's key.
func NewSequencer(store Store, key Key) *Sequencer {
	return &Sequencer{store: store, key: key, limit: batchGames, last: EmptyTree}
}

// Step logs games that have finished, 10,000 at most, then signs the head if it
// is not signed yet. That another replica was first is no error. Errors:
// ErrUnconfirmed, after the games were logged; ErrDamaged, ErrContradicted; those
// of the store; a *QueueError after all has been done.
func (s *Sequencer) Step(ctx context.Context) error {
	var strange error
	for range batchesAStep {
		logged, odd, err := s.sequence(ctx)
		if errors.Is(err, ErrConflict) {
			break // the other goes on
		}
		if err != nil {
			return fmt.Errorf("log finished games: %w", err)
		}
		if strange == nil && odd != nil {
			strange = odd
		}
		if logged < s.limit {
			break
		}
	}
	err := s.sign(ctx)
	if errors.Is(err, ErrConflict) {
		err = nil
	}
	return errors.Join(err, strange)
}

// sequence logs a batch and returns how many games it had, and what was odd about
// the queue.
func (s *Sequencer) sequence(ctx context.Context) (logged int, odd error, err error) {
	// The head is read before the queue: then every game of the queue is beyond
	// that head, or the head has moved.
	head, err := s.store.LogHead(ctx)
	if err != nil {
		return 0, nil, err
	}
	pending, err := s.store.PendingGames(ctx, s.limit)
	if err != nil {
		return 0, nil, err
	}
	entries, odd := s.admit(pending)
	if len(entries) > 0 {
		batch, err := s.batch(ctx, head, entries)
		if err != nil {
			return 0, nil, err
		}
		if err := s.store.AppendGames(ctx, batch); err != nil {
			return 0, nil, err
		}
	}
	if len(pending) < s.limit {
		s.emptied = head.Now
	}
	return len(entries), odd, nil
}

// admit returns what is to enter the log, and a *QueueError for the first thing
// that no ending explains.
func (s *Sequencer) admit(pending []Pending) (entries []Entry, odd error) {
	for _, p := range pending {
		late := s.emptied.Sub(p.Ended)
		switch {
		case odd != nil:
		case p.Logged:
			odd = &QueueError{Entry: p.Entry, Again: true}
		case !s.emptied.IsZero() && !p.Ended.IsZero() && late > lateAfter:
			odd = &QueueError{Entry: p.Entry, Late: late}
		}
		if !p.Logged {
			entries = append(entries, p.Entry)
		}
	}
	return entries, odd
}

// batch computes what entries add to the tree.
func (s *Sequencer) batch(ctx context.Context, head Head, entries []Entry) (Batch, error) {
	leaves := make([]Hash, len(entries))
	for i, entry := range entries {
		leaves[i] = entry.Leaf()
	}
	g, err := grow(head.Tree, leaves, reader(ctx, s.store))
	return Batch{From: head.Size, To: g.to, Entries: entries, First: g.first, Hashes: g.hashes}, err
}

// sign signs the head and keeps the checkpoint. The head that it reads is
// committed, and a checkpoint that could not be kept is shown to nobody.
func (s *Sequencer) sign(ctx context.Context) error {
	head, err := s.store.LogHead(ctx)
	if err != nil {
		return fmt.Errorf("sign the log: %w", err)
	}
	signed := EmptyTree
	if head.Checkpoint != "" {
		if signed, err = unverifiedTree(head.Checkpoint); err != nil {
			return fmt.Errorf("sign the log: %w: the stored checkpoint: %w", ErrDamaged, err)
		}
	}
	// Of the tree last seen, a copy of the database knows nothing.
	if err := s.remember(ctx, head.Tree, signed); err != nil {
		return fmt.Errorf("sign the log: %w", err)
	}
	if !head.Confirmed {
		return ErrUnconfirmed
	}
	if signed.Size == head.Size && s.ours(head.Checkpoint) {
		return nil
	}
	if err := checkRoot(head.Tree, reader(ctx, s.store)); err != nil {
		return fmt.Errorf("sign the log: %w", err)
	}
	c, err := s.key.sign(head.Tree)
	if err != nil {
		return fmt.Errorf("sign the log: %w", err)
	}
	if err := s.store.SaveCheckpoint(ctx, c); err != nil {
		return fmt.Errorf("sign the log: %w", err)
	}
	s.last = c.Tree
	return nil
}

// remember checks that the stored tree contains all that was signed, as far as
// the database and this replica know, and remembers the larger.
func (s *Sequencer) remember(ctx context.Context, stored, signed Tree) error {
	read := reader(ctx, s.store)
	if signed != s.last {
		if err := contains(stored, signed, read); err != nil {
			return err
		}
	}
	if err := contains(stored, s.last, read); err != nil {
		return err
	}
	if signed.Size > s.last.Size {
		s.last = signed
	}
	return nil
}

// ours reports whether a checkpoint is signed by the present key.
func (s *Sequencer) ours(checkpoint string) bool {
	_, err := OpenCheckpoint(checkpoint, s.key.verifier)
	return err == nil
}
