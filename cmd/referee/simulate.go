package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"referee.example/internal/simulate"
)

// defaultBatch is how many matches are played between two checks: few enough that
// what clients were told fits into memory, and little is lost by an interruption.
const defaultBatch = 200

// simulateFaults plays matches while it breaks things, and proves that every
// promise was kept.
func simulateFaults(ctx context.Context, call invocation) error {
	flags := flag.NewFlagSet("simulate", flag.ContinueOnError)
	o := simulate.Options{Progress: call.err}
	flags.Uint64Var(&o.Seed, "seed", 1, "`number` that plan and players follow from; each further batch has the next one")
	flags.IntVar(&o.Matches, "matches", 200, "`number` of matches")
	flags.IntVar(&o.Batch, "batch", defaultBatch, "`number` of matches that share a database and are checked together")
	flags.IntVar(&o.Replicas, "replicas", 2, "`number` of processes that serve")
	flags.IntVar(&o.Standbys, "standbys", 0, "`number` of synchronous standbys of the database; a promotion needs one")
	flags.IntVar(&o.Tables, "tables", 24, "`number` of matches that are played at once")
	faults := flags.String("faults", simulate.DefaultRates().String(), "calls between two faults of each kind on average, as `KIND=CALLS,...`, or none")
	flags.StringVar(&o.Dir, "dir", "", "`folder` of the run's state and of what led to a violation")
	flags.BoolVar(&o.Resume, "resume", false, "go on with the run in --dir")
	reportFile := flags.String("report", "", "`file` for the report, which is also printed")
	plan := flags.Int("plan", 0, "print so many faults of the first batch's plan and play nothing, as a `number`")
	err := call.parse(flags)
	if err != nil {
		return err
	}
	o.Rates, err = simulate.ParseRates(*faults)
	if err == nil {
		err = o.Validate()
	}
	if err == nil && *plan == 0 && o.Dir == "" {
		err = errors.New("--dir must name a folder")
	}
	if err != nil {
		return &usageError{err.Error()}
	}
	if *plan > 0 {
		return printPlan(call, o, *plan)
	}
	o.Binary, err = os.Executable()
	if err != nil {
		return err
	}
	_, o.Build = build()
	report, err := simulate.Run(ctx, o)
	if report == nil {
		return err
	}
	return errors.Join(err, writeReport(call, report, *reportFile))
}

func printPlan(call invocation, o simulate.Options, faults int) error {
	plan := simulate.NewPlan(o.Seed, o.Rates, o.Replicas)
	for range faults {
		f, ok := plan.Next()
		if !ok {
			return nil
		}
		if _, err := fmt.Fprintln(call.out, f); err != nil {
			return err
		}
	}
	return nil
}

func writeReport(call invocation, report *simulate.Report, path string) error {
	err := report.Write(call.out)
	if path == "" || err != nil {
		return err
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(report.Write(file), file.Close())
}
