package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// The bare tables have the shape of the referee's, without their checks, triggers
// and partitions; the rows are as wide as those of a game.
const (
	bareSchema = `
CREATE SCHEMA bare;
CREATE TABLE bare.match_states (LIKE public.match_states) WITH (fillfactor = 70);
ALTER TABLE bare.match_states ADD PRIMARY KEY (match_id);
CREATE TABLE bare.events (LIKE public.events);
ALTER TABLE bare.events ADD PRIMARY KEY (match_id, game, seq);`

	bareRows = `
TRUNCATE bare.match_states, bare.events;
INSERT INTO bare.match_states (match_id, version, state)
SELECT lpad(n::text, 32, '0')::uuid, 1, convert_to(repeat('s', 650), 'UTF8') FROM generate_series(0, 999) n;`

	bareEvent = `now(), $2, $2, 1, 1, 0, 3, 1, 2, 3, 4, 5, $1, repeat('c', 20)::bytea, '', '', sha256('h')`

	bareColumns = `match_id, event_time, seq, ply, principal, game, seat, kind, action_kind, from_square, to_square, turned,
	captured, request_id, clocks, client_hash, detail, hash`

	// bareStatement is the least that a durable, guarded, logged move can be: $1
	// the match, $2 the version.
	bareStatement = `
WITH saved AS (
	UPDATE bare.match_states SET version = version + 1, state = convert_to(repeat('s', 650), 'UTF8'), deadline = now()
	WHERE match_id = $1 AND version = $2 RETURNING match_id
)
INSERT INTO bare.events (` + bareColumns + `) SELECT match_id, ` + bareEvent + ` FROM saved`
)

// pgbench plays with Postgres's own load generator, a client a match.
func (b *bench) pgbench(ctx context.Context, matches int) (p played, err error) {
	if _, err := b.pool.Exec(ctx, bareRows); err != nil {
		return p, err
	}
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return p, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	statement := strings.NewReplacer(
		"$1", "lpad(:client_id::text, 32, '0')::uuid", "$2", ":version", "\n", " ", "\t", " ").Replace(bareStatement)
	script := filepath.Join(dir, "move.sql")
	if err := os.WriteFile(script, []byte("\\set version :version + 1\n"+statement+";\n"), 0o600); err != nil {
		return p, err
	}
	binary, err := pgbenchBinary()
	if err != nil {
		return p, err
	}
	command := exec.CommandContext(ctx, binary, "--no-vacuum", "--protocol=prepared", "--define=version=0",
		"--client="+strconv.Itoa(matches), "--jobs="+strconv.Itoa(min(2, matches)),
		"--time="+strconv.Itoa(int((b.length+connecting+time.Duration(matches)*connecting/64).Seconds()+0.5)), "--log", "--log-prefix="+filepath.Join(dir, "log"),
		"--file="+script, b.url)
	before, err := b.used()
	if err != nil {
		return p, err
	}
	if output, err := command.CombinedOutput(); err != nil {
		return p, fmt.Errorf("pgbench: %w: %s", err, output)
	}
	used, err := b.since(before)
	if err != nil {
		return p, err
	}
	var moves int
	if err := b.pool.QueryRow(ctx, `SELECT count(*) FROM bare.events`).Scan(&moves); err != nil {
		return p, err
	}
	if p, err = pgbenchLog(dir); err == nil && len(p.latencies) != moves {
		err = fmt.Errorf("pgbench says that it made %d moves, and %d are logged", len(p.latencies), moves)
	}
	p.used = used
	return p, err
}

// pgbenchBinary finds pgbench beside the server's binaries, or on the path.
func pgbenchBinary() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/pgbench")
	if err == nil && len(found) > 0 {
		return found[len(found)-1], nil
	}
	return exec.LookPath("pgbench")
}

// connecting is how long 64 clients take to connect on a busy machine, which
// pgbench counts as playing; what is reported begins with the first move.
const connecting = 2 * time.Second

// pgbenchLog reads the logs: the third column is the latency in microseconds, the
// fifth and sixth are when the move was done, in seconds and microseconds.
func pgbenchLog(dir string) (p played, err error) {
	logs, err := filepath.Glob(filepath.Join(dir, "log*"))
	if err != nil {
		return p, err
	}
	var first, last time.Duration
	for _, path := range logs {
		content, err := os.ReadFile(path)
		if err != nil {
			return p, err
		}
		for line := range strings.Lines(string(content)) {
			var ignored int
			var latency, seconds, microseconds int64
			_, err := fmt.Sscan(line, &ignored, &ignored, &latency, &ignored, &seconds, &microseconds)
			if err != nil {
				return p, fmt.Errorf("pgbench logged %q: %w", line, err)
			}
			p.latencies = append(p.latencies, time.Duration(latency)*time.Microsecond)
			done := time.Duration(seconds)*time.Second + time.Duration(microseconds)*time.Microsecond
			if first == 0 {
				first = done
			}
			first, last = min(first, done), max(last, done)
		}
	}
	p.elapsed, p.whole = last-first, last-first
	return p, nil
}
