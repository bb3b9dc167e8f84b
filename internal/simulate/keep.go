package simulate

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5"

	"referee.example/internal/simulate/check"
)

// keptTables are what is kept of a database in which a promise was broken, each as
// a CSV file with a header.
var keptTables = map[string]string{
	"events": `SELECT match_id, game, seq, ply, kind, seat, event_time, pg_xact_commit_timestamp(xmin) AS committed_at,
	xmin AS transaction, request_id, action_kind, from_square, to_square, turned, captured, principal, clocks, client_hash, detail, hash
FROM events ORDER BY match_id, game, seq`,
	"matches":          `SELECT * FROM matches ORDER BY match_id`,
	"rulesets":         `SELECT * FROM rulesets`,
	"games":            `SELECT * FROM games ORDER BY match_id, game`,
	"settlements":      `SELECT *, xmin AS transaction FROM settlements ORDER BY match_id, game`,
	"settlement_lines": `SELECT * FROM settlement_lines ORDER BY match_id, game, compensates, line`,
	"outages":          `SELECT * FROM outages ORDER BY from_at`,
	"log_entries":      `SELECT * FROM log_entries ORDER BY position`,
}

// keep writes down what led to violations: these, the faults that were
// carried out, every call, and the tables.
func (b *batch) keep(ctx context.Context, violations []check.Violation) error {
	err := errors.Join(writeFile(filepath.Join(b.dir, "violations.json"), violations),
		writeFile(filepath.Join(b.dir, "faults.json"), b.done), b.keepCalls())
	return errors.Join(err, b.postgres.with(ctx, b.database, func(conn *pgx.Conn) error {
		for table, query := range keptTables {
			if err := keepTable(ctx, conn, filepath.Join(b.dir, table+".csv"), query); err != nil {
				return err
			}
		}
		return nil
	}))
}

func (b *batch) keepCalls() error {
	file, err := os.Create(filepath.Join(b.dir, "calls.jsonl"))
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(file)
	for i := range b.recorder.calls {
		if err == nil {
			err = encoder.Encode(&b.recorder.calls[i])
		}
	}
	return errors.Join(err, file.Close())
}

func keepTable(ctx context.Context, conn *pgx.Conn, path, query string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = conn.PgConn().CopyTo(ctx, file, "COPY ("+query+") TO STDOUT WITH (FORMAT csv, HEADER)")
	return errors.Join(err, file.Close())
}
