package tlog

import (
	"context"
	"errors"
	"fmt"
	"time"
)

var (
	// ErrConflict means that another replica was first, or that the database has
	// changed under the call. Nothing was changed.
	ErrConflict = errors.New("the log of finished games has changed meanwhile")
	// ErrNotLogged means that a game is not in the log, or not yet under that size.
	ErrNotLogged = errors.New("the game is not in the log")
	// ErrNoHead means that the log's head is gone from the database.
	ErrNoHead = fmt.Errorf("%w: the row of its head is missing", ErrDamaged)
)

// Head is the state of a stored log.
type Head struct {
	Tree
	// Checkpoint is the last that was signed; empty when none was.
	Checkpoint string
	// SignedSize is the size that stands beside it; 0 when none was.
	SignedSize int64
	Now        time.Time // of the database
	// Epoch names the database's present life: another server, another timeline
	// after a promotion or a recovery, another copy of the tables has another.
	Epoch string
	// Confirmed reports whether Epoch is the one in which the log may be signed.
	Confirmed bool
}

// Pending is what waits to enter the log.
type Pending struct {
	Entry
	Ended  time.Time // of a game; zero for compensations
	Logged bool      // the game has an entry already
}

// Batch is what one step of a sequencer adds to a log.
type Batch struct {
	From    int64 // the size that the tree must still have
	To      Tree
	Entries []Entry // at positions From, From+1, ...
	First   int64   // storage index of the first hash
	Hashes  []Hash  // at First, First+1, ...
}

// Store keeps the log. Package store implements it on Postgres.
type Store interface {
	// LogHead returns the head; ErrDamaged if there is none.
	LogHead(ctx context.Context) (Head, error)
	// PendingGames returns what waits to enter the log, at most limit.
	PendingGames(ctx context.Context, limit int) ([]Pending, error)
	// AppendGames makes a batch durable, all of it or nothing. ErrConflict if the
	// tree is no longer of the size it began with.
	AppendGames(ctx context.Context, b Batch) error
	// SaveCheckpoint keeps a checkpoint as the last that was signed. ErrConflict
	// if the database's epoch is not confirmed, if the tree is smaller, or if a
	// larger one was signed.
	SaveCheckpoint(ctx context.Context, c Checkpoint) error
	// ConfirmLog lets the log be signed in this epoch. ErrConflict if it is over.
	ConfirmLog(ctx context.Context, epoch string) error
	// LogHashes returns stored hashes in the order of their storage indexes, as
	// golang.org/x/mod/sumdb/tlog numbers them.
	LogHashes(ctx context.Context, indexes []int64) ([]Hash, error)
	// LogPosition returns the position of a game in the log, from 0; ErrNotLogged.
	LogPosition(ctx context.Context, match [16]byte, game int) (int64, error)
	// LogEntries returns count entries from a position on.
	LogEntries(ctx context.Context, from int64, count int) ([]Entry, error)
}

// reader reads the stored hashes for one call.
func reader(ctx context.Context, store Store) hashReader {
	return func(indexes []int64) ([]Hash, error) { return store.LogHashes(ctx, indexes) }
}
