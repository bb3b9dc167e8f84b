package tlog

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// ErrNoCheckpoint means that the log has not been signed yet.
var ErrNoCheckpoint = errors.New("the log of finished games has not been signed yet")

// A SizeError refuses a tree's size that the log has not been signed at or beyond.
type SizeError struct{ Size, Signed int64 }

func (e *SizeError) Error() string {
	return fmt.Sprintf("a tree of %d games was asked for, and the log is signed up to %d", e.Size, e.Signed)
}

// Inclusion proves that a game is in the log as it ended. In JSON it is the
// "inclusion" block of an exported game.
type Inclusion struct {
	Checkpoint string   `json:"checkpoint"` // signed note; empty for a size that the caller named
	Index      int64    `json:"index"`      // position in the log, from 0
	Proof      [][]byte `json:"proof"`      // hashes from the leaf's sibling to the root's child (RFC 6962, section 2.1.1)
}

// Check returns the checkpoint under which the entry is in the log of that key.
// Errors: ErrCheckpoint, ErrNotLogged.
func (in Inclusion) Check(e Entry, log note.Verifier) (Checkpoint, error) {
	c, err := OpenCheckpoint(in.Checkpoint, log)
	if err != nil {
		return Checkpoint{}, err
	}
	proof, err := hashes(in.Proof)
	if err != nil {
		return c, fmt.Errorf("%w: %w", ErrNotLogged, err)
	}
	if err := tlog.CheckRecord(proof, c.Size, c.Root, in.Index, e.Leaf()); err != nil {
		return c, fmt.Errorf("%w under this checkpoint: %w", ErrNotLogged, err)
	}
	return c, nil
}

func hashes(list [][]byte) ([]Hash, error) {
	out := make([]Hash, len(list))
	for i, b := range list {
		if len(b) != len(Hash{}) {
			return nil, fmt.Errorf("hash %d of the proof has %d bytes", i, len(b))
		}
		out[i] = Hash(b)
	}
	return out, nil
}

// ParseProof reads the hashes of a proof.
func ParseProof(list [][]byte) ([]Hash, error) { return hashes(list) }

func raw[H ~[]Hash](list H) [][]byte {
	out := make([][]byte, len(list))
	for i := range list {
		out[i] = list[i][:]
	}
	return out
}

// Log answers what is asked about the log. It shows nothing beyond what has been
// signed.
type Log struct{ store Store }

// NewLog returns a log of what the store keeps.
func NewLog(store Store) *Log { return &Log{store} }

// signed returns the last checkpoint; ErrNoCheckpoint.
func (l *Log) signed(ctx context.Context) (Checkpoint, error) {
	head, err := l.store.LogHead(ctx)
	if err != nil {
		return Checkpoint{}, err
	}
	if head.Checkpoint == "" {
		return Checkpoint{}, ErrNoCheckpoint
	}
	tree, err := unverifiedTree(head.Checkpoint)
	if err != nil {
		return Checkpoint{}, fmt.Errorf("%w: the stored checkpoint: %w", ErrDamaged, err)
	}
	return Checkpoint{Tree: tree, Note: head.Checkpoint}, nil
}

// Checkpoint returns the last checkpoint and, if from is not 0, the proof that a
// tree of that size is part of its tree. Two checkpoints that are both older can
// be compared through the last. Errors: ErrNoCheckpoint, *SizeError.
func (l *Log) Checkpoint(ctx context.Context, from int64) (Checkpoint, [][]byte, error) {
	c, err := l.signed(ctx)
	if err != nil || from == 0 {
		return c, nil, err
	}
	if from < 0 || from > c.Size {
		return c, nil, &SizeError{from, c.Size}
	}
	proof, err := tlog.ProveTree(c.Size, from, reader(ctx, l.store))
	return c, raw(proof), err
}

// ProveGame proves that a game is in the log: under the last checkpoint if size
// is 0, else in the tree of that size. It returns the size it proved it for.
// Errors: ErrNoCheckpoint, ErrNotLogged, *SizeError.
func (l *Log) ProveGame(ctx context.Context, match [16]byte, game int, size int64) (Inclusion, int64, error) {
	c, err := l.signed(ctx)
	if err != nil {
		return Inclusion{}, 0, err
	}
	in := Inclusion{Checkpoint: c.Note}
	if size != 0 {
		in.Checkpoint = ""
	} else {
		size = c.Size
	}
	if size < 0 || size > c.Size {
		return Inclusion{}, 0, &SizeError{size, c.Size}
	}
	in.Index, err = l.store.LogPosition(ctx, match, game)
	if err != nil {
		return Inclusion{}, 0, err
	}
	in.Proof, err = l.prove(ctx, in.Index, size)
	return in, size, err
}

func (l *Log) prove(ctx context.Context, position, size int64) ([][]byte, error) {
	if position < 0 || position >= size {
		return nil, ErrNotLogged
	}
	proof, err := tlog.ProveRecord(size, position, reader(ctx, l.store))
	return raw(proof), err
}

// Head returns the stored head as it is, for whoever judges it: CheckHead. Errors:
// ErrDamaged.
func (l *Log) Head(ctx context.Context) (Head, error) { return l.store.LogHead(ctx) }

// ProvePosition proves under the last checkpoint what is logged at a position, and
// returns the leaf that is stored there. Errors: ErrNoCheckpoint, ErrNotLogged if
// it is not signed yet, ErrDamaged.
func (l *Log) ProvePosition(ctx context.Context, position int64) (Inclusion, Hash, error) {
	c, err := l.signed(ctx)
	if err != nil {
		return Inclusion{}, Hash{}, err
	}
	proof, err := l.prove(ctx, position, c.Size)
	if err != nil {
		return Inclusion{}, Hash{}, err
	}
	leaf, err := l.store.LogHashes(ctx, []int64{tlog.StoredHashIndex(0, position)})
	if err != nil {
		return Inclusion{}, Hash{}, err
	}
	return Inclusion{Checkpoint: c.Note, Index: position, Proof: proof}, leaf[0], nil
}
