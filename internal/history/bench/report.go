package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"referee.example/internal/devpg"
	"referee.example/internal/history"
	"referee.example/migrations"
)

// quantile is the time that so many hundredths of the times are not above; the
// highest where there are too few to tell.
func quantile(times []time.Duration, hundredths int) time.Duration {
	if len(times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(times))
	return sorted[min((len(sorted)*hundredths+99)/100, len(sorted))-1]
}

const sqlSizes = `
SELECT version(), current_setting('shared_buffers'), pg_size_pretty(pg_database_size(current_database())),
	(SELECT count(*) FROM matches), (SELECT count(*) FROM games WHERE started_at IS NOT NULL), (SELECT count(*) FROM events)`

// report writes Markdown.
func report(ctx context.Context, out io.Writer, server *devpg.Server, s settings, all results) error {
	for _, name := range []string{tenth, whole} {
		if err := describe(ctx, out, server, name); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "\n%d CPUs; %s; load average %s. Milliseconds; %d warm calls and %d cold ones of each query, %d warm ones by OFFSET. "+
		"Each at a random place of the history; warm ones are made twice and measured the second time. Of cold calls the median and the slowest.\n\n",
		runtime.NumCPU(), runtime.Version(), loadAverage(), s.calls, s.rounds, min(s.calls, offsetCalls))
	fmt.Fprintln(out, "| query | warm p50 | p50, a tenth of the data | warm p99 | p99, a tenth | cold p50 | cold slowest | cold slowest, a tenth |")
	fmt.Fprintln(out, "| --- | --- | --- | --- | --- | --- | --- | --- |")
	for _, q := range slices.Concat(queries, offsets) {
		times := all[q.name]
		fmt.Fprintf(out, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", q.name,
			ms(quantile(times[whole+" warm"], 50)), ms(quantile(times[tenth+" warm"], 50)),
			ms(quantile(times[whole+" warm"], 99)), ms(quantile(times[tenth+" warm"], 99)),
			ms(quantile(times[whole+" cold"], 50)), ms(quantile(times[whole+" cold"], 100)), ms(quantile(times[tenth+" cold"], 100)))
	}
	return moves(ctx, out, server)
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d.Microseconds())/1000) }

func describe(ctx context.Context, out io.Writer, server *devpg.Server, name string) error {
	conn, err := pgx.Connect(ctx, server.URL(name))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	var version, buffers, size string
	var matches, games, events int64
	err = conn.QueryRow(ctx, sqlSizes).Scan(&version, &buffers, &size, &matches, &games, &events)
	if name == tenth {
		fmt.Fprintf(out, "%s; shared_buffers %s\n\n", strings.SplitN(version, " on ", 2)[0], buffers)
	}
	fmt.Fprintf(out, "- %s: %d matches, %d games, %d events, %s\n", name, matches, games, events, size)
	return err
}

// moves measures what a move takes on disk, at different numbers of matches that
// are played at a time.
func moves(ctx context.Context, out io.Writer, server *devpg.Server) error {
	fmt.Fprintln(out, "\n| matches at a time | moves | row | index as played | index packed | in all, as played | in all, packed | JSON document |")
	fmt.Fprintln(out, "| --- | --- | --- | --- | --- | --- | --- | --- |")
	for _, copies := range []int{1, 10, 50} {
		b, err := moveBytes(ctx, server, copies)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "| %d | %d | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f |\n", 3*copies, b.Moves, b.Heap, b.Index, b.Packed,
			b.Heap+b.Index, b.Heap+b.Packed, b.JSON)
	}
	return nil
}

func moveBytes(ctx context.Context, server *devpg.Server, copies int) (b history.MoveBytes, err error) {
	conn, err := pgx.Connect(ctx, server.URL("postgres"))
	if err != nil {
		return b, err
	}
	defer func() { _ = conn.Close(ctx) }()
	const name = "moves"
	for _, statement := range []string{`DROP DATABASE IF EXISTS ` + name, `CREATE DATABASE ` + name} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return b, err
		}
	}
	if err := migrations.Up(ctx, server.URL(name)); err != nil {
		return b, err
	}
	return history.MeasureMoves(ctx, server.URL(name), copies)
}

func loadAverage() string {
	content, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(content))[:3], " ")
}
