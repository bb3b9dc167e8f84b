package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"golang.org/x/mod/sumdb/note"

	"referee.example/internal/tlog"
	"referee.example/internal/verify"
)

// errUnsound ends a run of verify that found something.
var errUnsound = errors.New("not every game is what it claims to be")

// verifyFiles checks exported games. It needs nothing but the files.
func verifyFiles(_ context.Context, call invocation) error {
	flags := flag.NewFlagSet("verify", flag.ContinueOnError)
	quiet := flags.Bool("quiet", false, "write only what is wrong")
	logKey := flags.String("log-key", "", "public `key` of the log of finished games, which must then hold every game")
	files, err := call.parseWith(flags, " FILE...")
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return &usageError{"name the files that `referee export` wrote; - is the standard input"}
	}
	run := verification{out: call.out, quiet: *quiet}
	if *logKey != "" {
		if run.log, err = tlog.ParsePublic(*logKey); err != nil {
			return &usageError{"--log-key: " + err.Error()}
		}
	}
	for _, name := range files {
		if err := run.file(name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	_, err = fmt.Fprintf(call.out, "%d matches, %d games, %d events: %d findings\n", run.matches, run.games, run.events, run.findings)
	switch {
	case err != nil:
		return err
	case run.findings > 0:
		return errUnsound
	case run.games == 0:
		return errors.New("the files hold no game")
	}
	return nil
}

// verification is a run over some files.
type verification struct {
	out                              io.Writer
	quiet                            bool
	log                              note.Verifier // nil where no key was named
	matches, games, events, findings int
}

func (v *verification) file(name string) error {
	if name == "-" {
		return verify.Read(os.Stdin, v.match)
	}
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	return verify.Read(file, v.match)
}

func (v *verification) match(m *verify.Match) error {
	report := verify.Check(m, v.log)
	v.matches++
	v.games += report.Games
	v.events += report.Events
	v.findings += len(report.Findings)
	if report.Sound() && v.quiet {
		return nil
	}
	verdict := "sound"
	if !report.Sound() {
		verdict = "NOT SOUND"
	}
	_, err := fmt.Fprintf(v.out, "match %s: %d games, %d events: %s\n", m.ID, report.Games, report.Events, verdict)
	for _, finding := range report.Findings {
		_, failed := fmt.Fprintf(v.out, "  %s\n", finding)
		err = errors.Join(err, failed)
	}
	if !v.quiet {
		for _, note := range report.Notes {
			_, failed := fmt.Fprintf(v.out, "  note: %s\n", note)
			err = errors.Join(err, failed)
		}
	}
	return err
}
