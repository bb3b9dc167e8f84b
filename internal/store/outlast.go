package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// leastTime is the least time that a statement gets once it is sent.
const leastTime = time.Second

// outlast has a statement that is sent run to its end although the call that wants it is
// given up. pgx ends a statement by closing its connection, and a new one costs both
// sides more than hundreds of statements, each of which is planned anew on it; so
// whoever made calls and gave them up, again and again, would have a replica do little
// else. The deadline stays, but for leastTime. Contexts without a deadline are left
// alone: they are those of long work that must be stopped at once.
type outlast struct{}

// giveUp is the context's key of what frees a statement's timer.
type giveUp struct{}

// rollback is what pgx ends a transaction with that failed, mostly because its call was
// given up: if it is not sent, the connection is closed.
const rollback = "rollback"

func outlasting(ctx context.Context, statement string) context.Context {
	deadline, has := ctx.Deadline()
	if gone := ctx.Err() != nil; statement != rollback && (gone || !has) { // nothing is sent for who is gone
		return ctx
	}
	if least := time.Now().Add(leastTime); deadline.Before(least) {
		deadline = least
	}
	lasting, free := context.WithDeadline(context.WithoutCancel(ctx), deadline)
	return context.WithValue(lasting, giveUp{}, free)
}

func free(ctx context.Context) {
	if f, is := ctx.Value(giveUp{}).(context.CancelFunc); is {
		f()
	}
}

// TraceQueryStart returns the context that a statement runs with (pgx.QueryTracer).
func (outlast) TraceQueryStart(ctx context.Context, _ *pgx.Conn, query pgx.TraceQueryStartData) context.Context {
	return outlasting(ctx, query.SQL)
}

// TraceQueryEnd ends that context.
func (outlast) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryEndData) { free(ctx) }

// TraceBatchStart returns the context that a batch runs with (pgx.BatchTracer).
func (outlast) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return outlasting(ctx, "")
}

// TraceBatchQuery does nothing.
func (outlast) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd ends that context.
func (outlast) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchEndData) { free(ctx) }
