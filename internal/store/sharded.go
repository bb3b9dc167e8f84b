package store

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"referee.example/internal/clock"
	"referee.example/internal/referee"
)

// A database that is sharded by match_id commits what concerns one match on one
// node. A statement for many matches would be a transaction of several nodes, and
// one that reads, writes and inserts at once would be taken apart. So changes go
// as calls of a function for one match each, each a transaction of its own, and
// those that wait share a round trip instead of a statement. As such a connection
// does one after the other, several write at once.

const (
	// sqlCommitMove takes the parameters of commitOne, $27 for not waiting for the
	// row, and $28 for failing the transaction unless the match is saved. The call has
	// to stand alone to be sent whole to the match's node.
	sqlCommitMove = `SELECT commit_move($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18,
	$19, $20, $21, $22, $23, $24, $25, $26, $27, $28)`

	// sqlEarly and sqlPutOffOne do what sqlPutOff does, which locks rows of many
	// matches.
	sqlEarly = `
WITH woken AS (
	SELECT match_id, deadline FROM match_states WHERE wake_at BETWEEN $2 AND statement_timestamp() ORDER BY wake_at DESC LIMIT $1
)
SELECT match_id FROM woken WHERE deadline IS NULL OR deadline > statement_timestamp()`
	sqlPutOffOne = `
WITH early AS MATERIALIZED (
	SELECT match_id FROM match_states
	WHERE match_id = $1 AND wake_at <= statement_timestamp() AND (deadline IS NULL OR deadline > statement_timestamp())
	FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE match_states s SET wake_at = s.deadline FROM early WHERE s.match_id = $1 AND early.match_id = $1`
)

// planCacheMode is how statements are planned. A coordinator finds the node of a
// match as it plans, by its id.
func planCacheMode(c Config) string {
	if c.Sharded {
		return "auto"
	}
	return "force_generic_plan"
}

// shardedWriters returns how many statements of a group may be under way at once
// where a pool has so many connections: half of them for moves, a quarter for
// endings.
func shardedWriters(maxConns int) (moves, endings int) {
	return max(maxConns/2, 1), max(maxConns/4, 1)
}

// share is how many of the changes that wait one of several writers takes: it
// leaves the others theirs.
func share(waiting, writers int) int { return min((waiting+writers-1)/writers, groupRows) }

// sendEach commits changes of different matches, each by itself, and answers them.
// What send leaves to a statement of its own is left to one here too.
func (g *group) sendEach(batch []*pending) {
	ctx, cancel := context.WithTimeout(context.Background(), groupTimeout)
	defer cancel()
	for i, o := range g.commitEach(ctx, batch, true) {
		p := batch[i]
		err := o.err
		if err == nil {
			err = verdictError(o.verdict)
		}
		missing := errors.Is(err, referee.ErrNotFound)
		switch {
		case missing && p.row.putOff: // the sweep comes again, and whoever holds the row may settle the match
			g.settle(p, referee.ErrConflict)
		case err == nil, errors.Is(err, referee.ErrConflict), errors.Is(err, referee.ErrTooLate), errors.Is(err, referee.ErrTooEarly):
			g.settle(p, err)
		default:
			g.working.Go(func() { g.alone(p) })
		}
	}
}

// commitEach commits changes, each in a transaction of its own. At once, a match
// whose row is held is missing.
func (g *group) commitEach(ctx context.Context, batch []*pending, atOnce bool) []outcomeOfOne {
	transactions := make([][]*pgx.QueuedQuery, len(batch))
	for i, p := range batch {
		if p.ending == nil {
			transactions[i] = []*pgx.QueuedQuery{commitMove(&p.row, p.events, atOnce, false)}
		} else {
			transactions[i] = append([]*pgx.QueuedQuery{commitMove(&p.row, p.events, atOnce, true)}, p.ending.statements()...)
		}
	}
	return pipelined(ctx, g.pool, "commit", transactions)
}

func commitMove(r *row, events []referee.Event, atOnce, required bool) *pgx.QueuedQuery {
	return &pgx.QueuedQuery{SQL: sqlCommitMove, Arguments: append(r.arguments(events), atOnce, required)}
}

// putOffEach puts off the wake-ups that sqlPutOff does.
func (s *Store) putOffEach(ctx context.Context, from clock.Time) error {
	rows, err := s.pool.Query(ctx, sqlEarly, putOffAtOnce, timestamp(from))
	if err != nil {
		return wrap("put wake-ups off", err)
	}
	early, err := pgx.CollectRows(rows, pgx.RowTo[pgtype.UUID])
	if err != nil || len(early) == 0 {
		return wrap("put wake-ups off", err)
	}
	transactions := make([][]*pgx.QueuedQuery, len(early))
	for i, id := range early {
		transactions[i] = []*pgx.QueuedQuery{{SQL: sqlPutOffOne, Arguments: []any{id}}}
	}
	for _, o := range pipelined(ctx, s.pool, "put wake-ups off", transactions) {
		if o.err != nil {
			return o.err
		}
	}
	return nil
}

// outcomeOfOne is what became of one transaction: the number that its first
// statement answered with, if it did, and the error that undid it.
type outcomeOfOne struct {
	verdict int
	err     error
}

// pipelined sends transactions in one round trip, each ended by a Sync message, so
// that one that fails leaves the others alone. Where the connection is lost the
// outcome of those that were not answered is unknown.
func pipelined(ctx context.Context, pool *pgxpool.Pool, operation string, transactions [][]*pgx.QueuedQuery) []outcomeOfOne {
	outcomes := make([]outcomeOfOne, len(transactions))
	fail := func(from int, err error) []outcomeOfOne {
		for i := from; i < len(outcomes); i++ {
			outcomes[i] = outcomeOfOne{err: wrap(operation, err)}
		}
		return outcomes
	}
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return fail(0, err)
	}
	defer conn.Release() // a broken connection is not taken back
	calls, err := encoded(ctx, conn.Conn(), transactions)
	if err != nil {
		return fail(0, err)
	}
	pipeline := conn.Conn().PgConn().StartPipeline(ctx)
	defer func() { _ = pipeline.Close() }() // what it fails with has been answered
	for _, transaction := range calls {
		for _, c := range transaction {
			// By name: SendQueryStatement loses count where an error passes over statements.
			pipeline.SendQueryPrepared(c.statement.Name, c.ParamValues, c.ParamFormats, c.ResultFormats)
		}
		pipeline.SendPipelineSync()
	}
	if err := pipeline.Flush(); err != nil {
		return fail(0, err)
	}
	for i := range outcomes {
		lost, err := outcomes[i].read(pipeline, conn.Conn().TypeMap())
		if lost {
			return fail(i, err)
		}
		outcomes[i].err = wrap(operation, err)
	}
	return outcomes
}

// call is a statement with its parameters as they are sent.
type call struct {
	pgx.ExtendedQueryBuilder
	statement *pgconn.StatementDescription
}

// encoded prepares what the connection has not prepared before.
func encoded(ctx context.Context, conn *pgx.Conn, transactions [][]*pgx.QueuedQuery) ([][]*call, error) {
	calls := make([][]*call, len(transactions))
	for i, transaction := range transactions {
		for _, q := range transaction {
			statement, err := conn.Prepare(ctx, q.SQL, q.SQL)
			if err != nil {
				return nil, err
			}
			c := &call{statement: statement}
			if err := c.Build(conn.TypeMap(), statement, q.Arguments); err != nil {
				return nil, err
			}
			calls[i] = append(calls[i], c)
		}
	}
	return calls, nil
}

// read reads the answers of a transaction up to its Sync, which come after it is
// durable. An error with which the connection was lost leaves no further answers.
func (o *outcomeOfOne) read(pipeline *pgconn.Pipeline, types *pgtype.Map) (lost bool, err error) {
	for first := true; ; first = false {
		results, e := pipeline.GetResults()
		if e == nil {
			switch r := results.(type) {
			case *pgconn.PipelineSync:
				return false, err
			case *pgconn.ResultReader:
				if first && r.NextRow() {
					e = types.Scan(pgtype.Int4OID, r.FieldDescriptions()[0].Format, r.Values()[0], &o.verdict)
				}
				if _, closing := r.Close(); closing != nil {
					e = closing
				}
			default:
				return true, errUnanswered
			}
		}
		if e == nil {
			continue
		}
		var refused *pgconn.PgError
		if !errors.As(e, &refused) || refused.Severity == "FATAL" || refused.Severity == "PANIC" {
			return true, e
		}
		if err == nil {
			err = e
		}
	}
}

// errUnanswered means that Postgres answered fewer statements than were sent.
var errUnanswered = errors.New("a statement of a pipeline was not answered")
