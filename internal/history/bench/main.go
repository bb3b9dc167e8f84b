// Command bench measures the documented queries of the history on a generated one,
// beside OFFSET paging and beside a tenth of the data, warm and cold.
//
// Warm is after the same calls have been made. Cold is after Postgres was stopped and
// started again and its files were dropped from the operating system's cache
// (posix_fadvise); what a disk or a hypervisor keeps stays. Each cold call has a
// restart of its own, and is the first on its connection: reading the catalogue
// and planning are counted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"

	"referee.example/internal/devpg"
	"referee.example/internal/history"
	"referee.example/migrations"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// settings are the command's flags.
type settings struct {
	games, events int
	calls, rounds int
	data          string
}

func run(ctx context.Context) (err error) {
	var s settings
	flag.IntVar(&s.games, "games", 1_000_000, "games of the history")
	flag.IntVar(&s.events, "events", 10_000_000, "events of it")
	flag.IntVar(&s.calls, "calls", 500, "warm calls of each query")
	flag.IntVar(&s.rounds, "rounds", 20, "cold calls of each query, each after a restart")
	flag.StringVar(&s.data, "data", "", "keep the database in this folder, and use what is there")
	flag.Parse()
	keep := s.data != ""
	if !keep {
		s.data = filepath.Join(os.TempDir(), fmt.Sprintf("history-postgres-%d", os.Getpid()))
	}
	server, err := devpg.Start(ctx, devpg.Options{DataDir: s.data, MaxConnections: 50})
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, server.Stop())
		if !keep {
			err = errors.Join(err, os.RemoveAll(server.DataDir()))
		}
	}()
	all := make(results)
	for _, part := range []struct {
		name string
		of   int
	}{{tenth, 10}, {whole, 1}} {
		if err := fill(ctx, server, part.name, s.games/part.of, s.events/part.of); err != nil {
			return err
		}
	}
	// All that is warm first: a cold call drops the files of both databases.
	var both []*bench
	for _, part := range []string{tenth, whole} {
		b := &bench{ctx: ctx, server: server, database: part, settings: s, results: all}
		if err := b.measureWarm(); err != nil {
			return fmt.Errorf("%s: %w", part, err)
		}
		both = append(both, b)
	}
	for _, b := range both {
		if err := b.measureCold(); err != nil {
			return fmt.Errorf("%s: %w", b.database, err)
		}
	}
	return report(ctx, os.Stdout, server, s, all)
}

// The two databases.
const (
	tenth = "tenth"
	whole = "whole"
)

// fill makes a database with a generated history, unless it is there.
func fill(ctx context.Context, server *devpg.Server, name string, games, events int) error {
	conn, err := pgx.Connect(ctx, server.URL("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	var there bool
	if err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`, name).Scan(&there); err != nil || there {
		return err
	}
	if _, err := conn.Exec(ctx, `CREATE DATABASE `+name); err != nil {
		return err
	}
	if err := migrations.Up(ctx, server.URL(name)); err != nil {
		return err
	}
	begin := time.Now()
	size, err := history.Generate(ctx, server.URL(name), history.Options{Games: games, Events: events})
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%s: generated %d matches, %d games, %d events in %v\n",
		name, size.Matches, size.Games, size.Events, time.Since(begin).Round(time.Second))
	return nil
}
