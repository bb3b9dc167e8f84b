// Package simulate plays whole matches of every preset against real replicas and
// a real Postgres while a seeded plan breaks things, and has package check prove
// every promise of the service from what clients were told and what is stored.
// It knows the service by its contract, its processes and its database alone.
package simulate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// Options say what is run. The same seed, matches, replicas and rates give the
// same plan and players; what meets what is up to the machine.
type Options struct {
	// Seed is that of the first batch; each further batch has the next one.
	Seed uint64
	// Matches is how many are played in all, Batch how many between two checks, at
	// most.
	Matches, Batch int
	// Replicas is how many processes serve, 1 to 8, and Tables how many matches
	// are played at once.
	Replicas, Tables int
	// Standbys is how many synchronous standbys the database has, 0 to 4; it needs one
	// for a promotion.
	Standbys int
	// Rates are those of the faults.
	Rates Rates
	// Binary is the referee's program, and Build the commit that it was built from.
	Binary, Build string
	// Dir is where the state and what led to a violation is kept; made if absent.
	Dir string
	// Resume goes on with the state that Dir holds.
	Resume bool
	// Progress gets a line a batch and, now and then, one within.
	Progress io.Writer
	// Patience is how long a request is sent again before the run fails; zero for
	// two minutes.
	Patience time.Duration
	// Presets are the ids of those that are played, all where none is named.
	Presets []string
	// Habits are how the players play; zero for DefaultHabits.
	Habits Habits
}

// Limits of Options.
const (
	MaxReplicas = 8
	MaxStandbys = 4
	MaxTables   = 256
	MaxBatch    = 1000
	MaxMatches  = 1_000_000
)

// Validate says what is wrong with the options.
func (o Options) Validate() error {
	between := func(name string, value, least, most int) error {
		if value < least || value > most {
			return fmt.Errorf("%s must be from %d to %d", name, least, most)
		}
		return nil
	}
	least := 0
	if o.Rates[Promote] > 0 {
		least = 1
	}
	return errors.Join(
		between("matches", o.Matches, 1, MaxMatches), between("batch", o.Batch, 1, MaxBatch),
		between("replicas", o.Replicas, 1, MaxReplicas), between("tables", o.Tables, 1, MaxTables),
		between("standbys", o.Standbys, least, MaxStandbys),
	)
}

// stateFile is where a run's finished batches stand, in Options.Dir.
const stateFile = "state.json"

// Run plays all batches that are not done yet and returns the report of all. It
// returns ErrBroken with the report if a promise was broken; what clients were told
// and what the database holds is then kept in Dir.
func Run(ctx context.Context, o Options) (*Report, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.Habits == (Habits{}) {
		o.Habits = DefaultHabits()
	}
	if o.Patience == 0 {
		o.Patience = defaultPatience
	}
	if err := os.MkdirAll(o.Dir, 0o750); err != nil {
		return nil, err
	}
	report, err := openReport(o)
	if err != nil {
		return nil, err
	}
	pg, err := startPostgres(ctx, o.Standbys)
	if err != nil {
		return nil, err
	}
	err = runBatches(ctx, o, pg, report)
	return report, errors.Join(err, pg.close())
}

// ErrBroken means that the checker found a broken promise.
var ErrBroken = errors.New("a promise was broken")

func runBatches(ctx context.Context, o Options, pg *postgres, report *Report) error {
	for report.Total.Matches < o.Matches {
		seed := o.Seed + uint64(len(report.Batches))
		size := min(o.Batch, o.Matches-report.Total.Matches)
		b := &batch{options: o, seed: seed, size: size, postgres: pg}
		summary, violations, err := b.run(ctx)
		if err != nil {
			err = fmt.Errorf("batch of seed %d: %w", seed, err)
		}
		if len(violations) > 0 {
			report.add(summary)
			report.Violations = append(report.Violations, violations...)
			return errors.Join(ErrBroken, err, b.keep(ctx, violations), report.save(o.Dir))
		}
		if err != nil {
			return err
		}
		report.add(summary)
		if err := report.save(o.Dir); err != nil {
			return err
		}
		progress(o, "%s", report.line())
	}
	return nil
}

func progress(o Options, format string, arguments ...any) {
	if o.Progress != nil {
		_, _ = fmt.Fprintf(o.Progress, "%s "+format+"\n", append([]any{time.Now().UTC().Format("15:04:05")}, arguments...)...)
	}
}

// writeFile writes a file whole or not at all.
func writeFile(path string, value any) error {
	content, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	fresh := path + ".new"
	if err := os.WriteFile(fresh, append(content, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(fresh, path)
}

func statePath(dir string) string { return filepath.Join(dir, stateFile) }
