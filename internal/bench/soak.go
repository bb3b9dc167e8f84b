package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"referee.example/internal/devpg"
	refereev1 "referee.example/proto/referee/v1"
)

// A soak plays many moves on many matches and watches what becomes of the table
// whose rows each move rewrites: whether the new row still fits on the page of the
// old one (a heap-only update), and whether the table goes on growing.

// phase is a part of a soak: so many moves, while something else reads.
type phase struct {
	name  string
	moves int64
	// beside runs until ctx ends; nil for nothing.
	beside func(ctx context.Context, r *served) error
}

// soaked is what was counted in a phase.
type soaked struct {
	phase
	played        int64
	elapsed       time.Duration
	updates, hot  int64
	heap, indexes int64 // bytes at the end
	dead          int64 // rows at the end, by the statistics
}

func (s soaked) share() float64 { return float64(s.hot) / float64(max(s.updates, 1)) }

// soakPhases splits moves in parts of equal length: the last two beside an export of
// everything and a dump.
func (b *bench) soakPhases(moves int64) []phase {
	const parts = 10
	var all []phase
	for n := range parts {
		p := phase{name: "nothing", moves: moves / parts}
		switch n {
		case parts - 3:
			p.name, p.beside = "exports of everything", exportAll
		case parts - 2:
			p.name, p.beside = "dumps", b.dumpAll
		}
		all = append(all, p)
	}
	return all
}

// soak plays the phases on so many matches at once.
func (b *bench) soak(ctx context.Context, matches int, phases []phase) (all []soaked, err error) {
	r, err := b.serve(ctx)
	defer r.stop()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(r.authorized(ctx))
	defer cancel()
	tables, err := soakTables(ctx, r.clients, matches)
	if err != nil {
		return nil, err
	}
	start, err := b.states(ctx, int64(matches)) // as each start of a game does
	if err != nil {
		return nil, err
	}
	before, counted := start, start.updates // each move updates one row
	for _, p := range phases {
		s := soaked{phase: p}
		since := time.Now()
		if s.played, err = playPhase(ctx, r, tables, p); err != nil {
			return all, fmt.Errorf("beside %s: %w", p.name, err)
		}
		s.elapsed = time.Since(since)
		counted += s.played
		now, err := b.states(ctx, counted)
		if err != nil {
			return all, err
		}
		s.updates, s.hot = now.updates-before.updates, now.hot-before.hot
		s.heap, s.indexes, s.dead = now.heap, now.indexes, now.dead
		before = now
		all = append(all, s)
	}
	return all, nil
}

// playPhase plays a phase's moves, beside what runs in it.
func playPhase(ctx context.Context, r *served, tables []*soakTable, p phase) (played int64, err error) {
	besideCtx, end := context.WithCancel(ctx)
	defer end()
	ended := make(chan error, 1)
	if p.beside == nil {
		ended <- nil
	} else {
		go func() { ended <- p.beside(besideCtx, r) }()
	}
	var count atomic.Int64
	errs := make([]error, len(tables))
	var all sync.WaitGroup
	for i, t := range tables {
		all.Go(func() {
			for refusals := 0; count.Load() < p.moves; {
				moved, err := t.move(ctx)
				switch {
				case moved:
					count.Add(1)
					refusals = 0
				case err != nil && refusals == maxRefusals:
					errs[i] = err
					return
				case err != nil: // a replica that is short of time may be unready for a while
					refusals++
					t.lookAgain(ctx)
				}
			}
		})
	}
	all.Wait()
	end()
	return count.Load(), errors.Join(errors.Join(errs...), <-ended)
}

// maxRefusals is how often in a row a player is refused before the soak fails.
const maxRefusals = 60

// exportAll exports all ended games, again and again. While the replica has no room
// for an export it waits.
func exportAll(ctx context.Context, r *served) error {
	exported := 0
	var refused error
	for ctx.Err() == nil {
		stream, err := r.audit.ExportGames(ctx, &refereev1.ExportGamesRequest{})
		for err == nil {
			if _, err = stream.Recv(); err == nil {
				exported++
			}
		}
		if !errors.Is(err, io.EOF) && ctx.Err() == nil {
			refused = err
			pause(ctx, 20*time.Millisecond)
		}
	}
	if exported == 0 {
		return fmt.Errorf("nothing was exported: %w", refused)
	}
	return nil
}

// dumpAll dumps the database, again and again: each dump is one snapshot for as
// long as it takes.
func (b *bench) dumpAll(ctx context.Context, _ *served) error {
	program, err := devpg.Program("pg_dump")
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		command := exec.CommandContext(ctx, program, "--format=custom", "--no-sync", "--file="+os.DevNull, b.url)
		if output, err := command.CombinedOutput(); err != nil && ctx.Err() == nil {
			return fmt.Errorf("pg_dump: %w: %s", err, output)
		}
	}
	return nil
}

// statesReading is what Postgres counts of the table of states.
type statesReading struct{ updates, hot, dead, heap, indexes int64 }

const readStates = `
SELECT n_tup_upd, n_tup_hot_upd, n_dead_tup, pg_relation_size(relid), pg_indexes_size(relid)
FROM pg_stat_user_tables WHERE relid = 'public.match_states'::regclass`

// states reads the counters once they stand still and at least so many updates are
// counted. Sessions report within a second, or within ten when they are idle.
func (b *bench) states(ctx context.Context, atLeast int64) (now statesReading, err error) {
	for last := (statesReading{updates: -1}); last.updates != now.updates || now.updates < atLeast; {
		last = now
		time.Sleep(1100 * time.Millisecond) //nolint:forbidigo // the counters tell nobody when they are complete
		if err := b.pool.QueryRow(ctx, readStates).Scan(&now.updates, &now.hot, &now.dead, &now.heap, &now.indexes); err != nil {
			return now, err
		}
	}
	return now, nil
}

// leastShare is how many of a long soak's updates have to be heap-only.
const leastShare = 0.95

// steady returns an error if fewer were, in a part beside which nobody dumps.
func steady(all []soaked) error {
	for i, s := range all {
		if s.name != "dumps" && s.share() < leastShare {
			return fmt.Errorf("part %d: %.1f %% of the updates were heap-only", i, 100*s.share())
		}
	}
	return nil
}

// soakReport writes Markdown.
func soakReport(out io.Writer, matches int, all []soaked) {
	fmt.Fprintf(out, "\n%d matches at a time.\n\n", matches)
	fmt.Fprintln(out, "| moves so far | beside | moves/s | HOT % | table kB | indexes kB | dead rows |")
	fmt.Fprintln(out, "| --- | --- | --- | --- | --- | --- | --- |")
	var sum int64
	for _, s := range all {
		sum += s.played
		fmt.Fprintf(out, "| %d | %s | %.0f | %.1f | %d | %d | %d |\n", sum, s.name, float64(s.played)/s.elapsed.Seconds(),
			100*s.share(), s.heap/1000, s.indexes/1000, s.dead)
	}
}
