package tlog

import (
	"context"
	"errors"
	"fmt"
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
}

// NewSequencer returns a sequencer that signs with the log's key.
func NewSequencer(store Store, key Key) *Sequencer {
	return &Sequencer{store: store, key: key, limit: batchGames, last: EmptyTree}
}

// Step logs games that have finished, 10,000 at most, then signs the head if it
// is not signed yet. That another replica was first is no error. Errors:
// ErrUnconfirmed, after the games were logged; ErrDamaged, ErrContradicted; those
// of the store.
func (s *Sequencer) Step(ctx context.Context) error {
	for range batchesAStep {
		logged, err := s.sequence(ctx)
		if errors.Is(err, ErrConflict) {
			break // the other goes on
		}
		if err != nil {
			return fmt.Errorf("log finished games: %w", err)
		}
		if logged < s.limit {
			break
		}
	}
	err := s.sign(ctx)
	if errors.Is(err, ErrConflict) {
		return nil
	}
	return err
}

// sequence logs a batch and returns how many games it had.
func (s *Sequencer) sequence(ctx context.Context) (int, error) {
	batch, err := s.next(ctx)
	if err != nil || len(batch.Entries) == 0 {
		return 0, err
	}
	return len(batch.Entries), s.store.AppendGames(ctx, batch)
}

// next computes the next batch. The head is read before the queue: then every
// game of the queue is beyond that head, or the head has moved.
func (s *Sequencer) next(ctx context.Context) (Batch, error) {
	head, err := s.store.LogHead(ctx)
	if err != nil {
		return Batch{}, err
	}
	entries, err := s.store.PendingGames(ctx, s.limit)
	if err != nil || len(entries) == 0 {
		return Batch{}, err
	}
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
