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
	if err := run.total(); err != nil {
		return err
	}
	switch {
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
	files                            verify.Files
	matches, games, events, findings int
	partial                          int // matches of which the files have only a part
}

func (v *verification) file(name string) error {
	each := func(m *verify.Match) error { return v.match(name, m) }
	if name == "-" {
		return verify.Read(os.Stdin, each)
	}
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	return verify.Read(file, each)
}

func (v *verification) match(file string, m *verify.Match) error {
	report := verify.Check(m, v.log)
	v.files.Compare(file, m, report)
	v.matches++
	v.games += report.Games
	v.events += report.Events
	v.findings += len(report.Findings)
	if report.Partial {
		v.partial++
	}
	if report.Sound() && v.quiet {
		return nil
	}
	verdict := "sound"
	if !report.Sound() {
		verdict = "NOT SOUND"
	}
	err := say(v.out, "match %s: %d games, %d events: %s\n", m.ID, report.Games, report.Events, verdict)
	for _, finding := range report.Findings {
		err = errors.Join(err, say(v.out, "  %s\n", finding))
	}
	if !v.quiet {
		for _, note := range report.Notes {
			err = errors.Join(err, say(v.out, "  note: %s\n", note))
		}
	}
	return err
}

// total writes the last line.
func (v *verification) total() error {
	partial := ""
	if v.partial > 0 {
		partial = fmt.Sprintf("; of %d matches the files have only a part", v.partial)
	}
	return say(v.out, "%d matches, %d games, %d events: %d findings%s\n", v.matches, v.games, v.events, v.findings, partial)
}
