// Command bench measures the referee against the least that its database could
// do, in one go on one private Postgres with fsync on:
//
//   - pgbench alone with one guarded statement a move;
//   - a gRPC server that plays a move by the textbook's transaction;
//   - the same server with the one guarded statement;
//   - the referee itself, whole, by unary calls and over streams.
//
// Each is measured several times, in turns, so that what else the machine does
// falls on all alike; the medians and their ratios count.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"referee.example/internal/app"
	"referee.example/internal/devpg"
	"referee.example/internal/telemetry"
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

func run(ctx context.Context) (err error) {
	length := flag.Duration("length", 3*time.Second, "how long each measurement takes")
	rounds := flag.Int("rounds", 3, "how often each is made")
	list := flag.String("matches", "1,8,32,64,256", "numbers of concurrent matches")
	only := flag.String("only", "", "measure only the kinds that contain this")
	fillfactor := flag.Int("fillfactor", 70, "that of match_states")
	q := askFlags()
	profile := flag.String("profile", "", "write a CPU profile of this process to a file")
	flag.Parse()
	// A replica sets its process's collector, in which here players and the bare
	// servers live too: let all have the same from the beginning.
	debug.SetGCPercent(1000)
	instruments, err := telemetry.Start(ctx, "bench", func(string) string { return "" }) // as a replica's process does
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, instruments.Stop(context.WithoutCancel(ctx))) }()
	sizes, err := numbers(*list)
	if err != nil {
		return err
	}
	dataDir := filepath.Join(os.TempDir(), fmt.Sprintf("bench-postgres-%d", os.Getpid()))
	server, err := devpg.Start(ctx, devpg.Options{DataDir: dataDir, MaxConnections: 400})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop(), os.RemoveAll(server.DataDir())) }()
	b := &bench{url: server.URL("postgres"), urlOf: server.URL, length: *length, maxConns: 16}
	if b.postmaster, err = postmasterOf(server.DataDir()); err != nil {
		return err
	}
	if err := app.Migrate(ctx, b.url); err != nil {
		return err
	}
	if err := b.open(ctx); err != nil {
		return err
	}
	defer b.close()
	if _, err := b.pool.Exec(ctx, fmt.Sprintf(`ALTER TABLE match_states SET (fillfactor = %d)`, *fillfactor)); err != nil {
		return err
	}
	stopProfile, err := startProfile(*profile)
	if err != nil {
		return err
	}
	defer stopProfile()
	return b.answer(ctx, q, *only, sizes, *rounds)
}

// measured measures, again if a player was refused: a replica that is held up may be
// unready for a moment.
func measured(ctx context.Context, b *bench, k kind, matches int) (r result, err error) {
	const tries = 3
	for range tries {
		if r, err = b.measure(ctx, k, matches); err == nil || ctx.Err() != nil {
			return r, err
		}
		fmt.Fprintln(os.Stderr, "again, since", err)
	}
	return r, err
}

func numbers(list string) (sizes []int, err error) {
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 1000 {
			return nil, fmt.Errorf("%q is not a number from 1 to 1000", text)
		}
		sizes = append(sizes, n)
	}
	return sizes, nil
}
