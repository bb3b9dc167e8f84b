package app

import (
	"context"

	"golang.org/x/mod/sumdb/note"

	"referee.example/internal/store"
	"referee.example/internal/tlog"
)

// AuditLog reads the whole log of finished games of a database against itself,
// its games, and checkpoints that others hold. log are the log's public keys; find
// is told of each fault, progress of each page. The tables' owner and auditors may
// do it. Errors are those of the store: the audit is then not complete.
func AuditLog(ctx context.Context, url string, log []note.Verifier, held []tlog.Checkpoint,
	find func(tlog.Finding), progress func(done, of int64),
) (store.AuditSummary, []store.AuditedOutage, error) {
	opened, err := store.Open(ctx, store.Config{URL: url, MaxConns: 1, ReadOnly: true})
	if err != nil {
		return store.AuditSummary{}, nil, err
	}
	defer opened.Close()
	summary, err := opened.AuditLog(ctx, tlog.NewAudit(log, held, find), progress)
	if err != nil {
		return summary, nil, err
	}
	outages, err := opened.AuditOutages(ctx)
	return summary, outages, err
}
