// Package witness watches a log of finished games for somebody who does not run
// it: it keeps the largest checkpoint it has seen in a file, cosigns it, and
// accepts only what contains it.
package witness

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/mod/sumdb/note"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"referee.example/internal/tlog"
	refereev1 "referee.example/proto/referee/v1"
)

// ErrBusy means that another witness is at work on the file.
var ErrBusy = errors.New("another witness is at work on this file")

// The files beside the witness's own. That of a fork keeps the first checkpoint
// which contradicts it: the two together prove the log's fault. The other keeps the
// last that could not be shown to contain it, to ask about elsewhere: it proves nothing.
const (
	forkSuffix     = ".fork"
	unprovedSuffix = ".unproved"
)

// Witness is who watches which log.
type Witness struct {
	Audit refereev1.AuditServiceClient
	Log   note.Verifier // the log's key
	Key   tlog.Key      // the witness's own
	File  string        // what it has seen: a checkpoint, cosigned
	// Games is the file of the games it has seen; empty for a witness that checks
	// hashes only. It takes a token that may read the entries.
	Games string
}

// Update fetches the log's checkpoint, checks it against the one in the file,
// cosigns it and keeps it there. An error leaves the files as they are. A
// *tlog.ForkError, and with Games a *SecondLeafError, proves a fault of the log, and
// keeps the offending checkpoint beside them; a *tlog.UnprovedError keeps it too, and
// like an *EntriesError says that the answer or the log is wrong and not which. Other errors say
// nothing about the log, but for tlog.ErrCheckpoint: what came was not signed by
// it, or the file isn't.
func (w *Witness) Update(ctx context.Context, now time.Time) (tlog.Checkpoint, error) {
	unlock, err := lock(w.File)
	if err != nil {
		return tlog.Checkpoint{}, err
	}
	defer unlock()
	held, err := w.held()
	if err != nil {
		return tlog.Checkpoint{}, err
	}
	shown, proof, err := w.fetch(ctx, held.Size)
	if err != nil {
		return tlog.Checkpoint{}, err
	}
	if err := tlog.CheckConsistency(held, shown, proof); err != nil {
		if !Contradicts(err) {
			return tlog.Checkpoint{}, errors.Join(err, replace(w.File+unprovedSuffix, shown.Note))
		}
		return tlog.Checkpoint{}, errors.Join(err, keepEvidence(w.File+forkSuffix, shown))
	}
	if w.Games != "" {
		if err := w.followed(ctx, shown); err != nil {
			return tlog.Checkpoint{}, err
		}
	}
	cosigned, err := tlog.Cosign(shown, w.Log, w.Key, now)
	if err != nil {
		return tlog.Checkpoint{}, err
	}
	return cosigned, replace(w.File, cosigned.Note)
}

// followed checks the entries too, and keeps the checkpoint of a log that they
// contradict.
func (w *Witness) followed(ctx context.Context, shown tlog.Checkpoint) error {
	err := w.follow(ctx, shown)
	if Contradicts(err) {
		return errors.Join(err, keepEvidence(w.File+secondSuffix, shown))
	}
	return err
}

// Contradicts reports whether an error of Update is a fault of the log: what it
// signed excludes itself, whoever answered. The kept checkpoint is the evidence.
func Contradicts(err error) bool {
	var fork *tlog.ForkError
	var second *SecondLeafError
	return errors.As(err, &fork) || errors.As(err, &second)
}

// held returns the checkpoint in the file; that of the empty tree if there is
// no file yet.
func (w *Witness) held() (tlog.Checkpoint, error) {
	content, err := os.ReadFile(w.File)
	if errors.Is(err, fs.ErrNotExist) {
		return tlog.Checkpoint{Tree: tlog.EmptyTree}, nil
	}
	if err != nil {
		return tlog.Checkpoint{}, err
	}
	held, err := tlog.OpenCheckpoint(string(content), w.Log)
	if err != nil {
		return tlog.Checkpoint{}, fmt.Errorf("%s: %w", w.File, err)
	}
	return held, nil
}

// fetch returns the log's checkpoint and the proof that it contains a tree of
// that size.
func (w *Witness) fetch(ctx context.Context, from int64) (tlog.Checkpoint, []tlog.Hash, error) {
	answer, err := w.Audit.GetCheckpoint(ctx, &refereev1.GetCheckpointRequest{FromSize: from})
	if from != 0 && status.Code(err) == codes.InvalidArgument {
		// The log does not know that size: what it does know shall be judged.
		answer, err = w.Audit.GetCheckpoint(ctx, &refereev1.GetCheckpointRequest{})
	}
	if err != nil {
		return tlog.Checkpoint{}, nil, fmt.Errorf("fetch the checkpoint: %w", err)
	}
	shown, err := tlog.OpenCheckpoint(answer.GetCheckpoint(), w.Log)
	if err != nil {
		return tlog.Checkpoint{}, nil, fmt.Errorf("fetch the checkpoint: %w", err)
	}
	proof, err := tlog.ParseProof(answer.GetConsistencyProof())
	if err != nil {
		return tlog.Checkpoint{}, nil, fmt.Errorf("fetch the checkpoint: %w", err)
	}
	return shown, proof, nil
}

// keepEvidence keeps the first checkpoint of its kind that contradicted the file.
func keepEvidence(path string, shown tlog.Checkpoint) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	return replace(path, shown.Note)
}

// replace writes a file so that after a crash the old or the new content is
// there, whole.
func replace(path, content string) error {
	dir := filepath.Dir(path)
	file, err := os.CreateTemp(dir, filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = file.WriteString(content)
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// lock keeps a second witness off the file: two at once could each cosign a tree
// that contains what is held and not the other's. The kernel lets go of the lock
// when the process ends.
func lock(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, ErrBusy), file.Close())
	}
	return func() { _ = file.Close() }, nil
}
