package app

import (
	"context"

	"golang.org/x/mod/sumdb/note"

	"referee.example/internal/store"
	"referee.example/internal/tlog"
)

// ConfirmLog lets the log of finished games be signed in a database that was
// restored, promoted or moved, after comparing it with checkpoints that others
// hold. log is the log's public key. It needs the tables' owner. Errors: those of
// tlog.Confirm and of the store.
func ConfirmLog(ctx context.Context, url string, log note.Verifier, checkpoints []string) (tlog.Tree, error) {
	opened, err := store.Open(ctx, store.Config{URL: url, MaxConns: 1})
	if err != nil {
		return tlog.Tree{}, err
	}
	defer opened.Close()
	return tlog.Confirm(ctx, opened, log, checkpoints)
}
