package tlog

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// ForkError means that a log has signed two trees of one size. The two signed
// checkpoints prove it to anybody.
type ForkError struct{ Held, Shown Checkpoint }

func (e *ForkError) Error() string {
	return fmt.Sprintf("the log has forked: it has signed %d games with root %s, and held are %d games with root %s",
		e.Shown.Size, e.Shown.Root, e.Held.Size, e.Held.Root)
}

// UnprovedError means that a checkpoint could not be shown to contain the one
// held. It accuses nobody: whoever answers can leave the proof out or repeat an
// old checkpoint without the log's key, and a promoted copy that is not confirmed
// yet shows fewer games in good faith.
type UnprovedError struct{ Held, Shown Checkpoint }

func (e *UnprovedError) Error() string {
	return fmt.Sprintf("the checkpoint shown, %d games with root %s, could not be shown to contain what was held, %d games with root %s: "+
		"the answer is wrong, or the log was changed; ask again, ask another replica", e.Shown.Size, e.Shown.Root, e.Held.Size, e.Held.Root)
}

// CheckConsistency returns nil if the checkpoint that a log shows contains the
// one held before, as the proof (RFC 6962, section 2.1.2) shows. It returns a
// *ForkError if the two exclude each other whatever the proof, else an
// *UnprovedError. Both checkpoints have been opened.
func CheckConsistency(held, shown Checkpoint, proof []Hash) error {
	switch {
	case shown.Size < held.Size:
		return &UnprovedError{held, shown}
	case shown.Size == held.Size:
		if shown.Root != held.Root {
			return &ForkError{held, shown}
		}
		return nil
	case held.Size == 0:
		if held.Root != EmptyTree.Root {
			return &ForkError{held, shown}
		}
		return nil
	}
	if err := tlog.CheckTree(proof, shown.Size, shown.Root, held.Size, held.Root); err != nil {
		return &UnprovedError{held, shown}
	}
	return nil
}

// ErrContradicted refuses to confirm a log that does not contain what it has signed.
var ErrContradicted = errors.New("the database does not hold what the log has signed")

// Confirm lets the log sign on in the database as it is now, after a restore, a
// promotion or a move: it compares the stored tree with checkpoints that others
// hold, which should be the newest of each, and with the one stored. Without any
// checkpoint the caller vouches that nobody holds one that the database does not.
// Errors: ErrContradicted, ErrDamaged, ErrCheckpoint, ErrConflict if the database
// changed under it.
func Confirm(ctx context.Context, store Store, log note.Verifier, checkpoints []string) (Tree, error) {
	head, err := store.LogHead(ctx)
	if err != nil {
		return Tree{}, err
	}
	read := reader(ctx, store)
	if err := checkRoot(head.Tree, read); err != nil {
		return Tree{}, err
	}
	for _, text := range checkpoints {
		c, err := OpenCheckpoint(text, log)
		if err != nil {
			return Tree{}, err
		}
		if err := contains(head.Tree, c.Tree, read); err != nil {
			return Tree{}, err
		}
	}
	if head.Checkpoint != "" {
		signed, err := unverifiedTree(head.Checkpoint)
		if err != nil {
			return Tree{}, fmt.Errorf("%w: the stored checkpoint: %w", ErrDamaged, err)
		}
		if err := contains(head.Tree, signed, read); err != nil {
			return Tree{}, err
		}
	}
	return head.Tree, store.ConfirmLog(ctx, head.Epoch)
}

// contains returns ErrContradicted unless the stored tree contains another.
func contains(stored, other Tree, read hashReader) error {
	if other == stored {
		return nil
	}
	if other.Size > stored.Size {
		return fmt.Errorf("%w: it holds %d games, signed were %d", ErrContradicted, stored.Size, other.Size)
	}
	root, err := tlog.TreeHash(other.Size, read)
	if err != nil {
		return err
	}
	if root != other.Root {
		return fmt.Errorf("%w: its first %d games have the root %s, signed was %s", ErrContradicted, other.Size, root, other.Root)
	}
	return nil
}
