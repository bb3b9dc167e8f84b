package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"golang.org/x/mod/sumdb/note"

	"referee.example/internal/app"
	"referee.example/internal/tlog"
)

// errBrokenLog ends an audit that found something.
var errBrokenLog = errors.New("the log of finished games is not what it claims to be")

const (
	// maxAuditFindings bounds what an audit writes: what is wrong beyond is counted.
	maxAuditFindings = 1000
	// auditProgress is after how many positions an audit says how far it is.
	auditProgress = 100_000
)

// auditLog reads the whole log against itself, the games and others' checkpoints.
func auditLog(ctx context.Context, call invocation) error {
	flags := flag.NewFlagSet("log audit", flag.ContinueOnError)
	url := flags.String("database-url", call.getenv(databaseVariable), "postgres:// `URL` of the database, as an auditor or its owner; by default that of "+databaseVariable)
	flags.Lookup("database-url").DefValue = "" // the real one holds a password
	var keys []note.Verifier
	flags.Func("log-key", "public `key` of the log; once for each that it has had", func(text string) error {
		key, err := tlog.ParsePublic(text)
		keys = append(keys, key)
		return err
	})
	files, err := call.parseWith(flags, " [FILE...]\n\n"+
		"Reads the whole log of finished games: entries against the leaves of the tree, the tree against its\n"+
		"head and the signed checkpoint, entries against games, and whether every ended game and compensation\n"+
		"is there once. FILEs hold checkpoints that witnesses kept, which the log must contain. It lists the\n"+
		"outages on record, with the moves that contradict them. Exit code 1 if anything was found.")
	if err != nil {
		return err
	}
	switch {
	case *url == "":
		return &usageError{"there is no database: set --database-url or " + databaseVariable}
	case len(keys) == 0:
		return &usageError{"--log-key is needed: the public key, as log key printed it"}
	}
	held, err := heldCheckpoints(files, keys)
	if err != nil {
		return err
	}
	a := &audit{call: call}
	summary, outages, err := app.AuditLog(ctx, *url, keys, held, a.find, a.progress)
	if err != nil {
		return err
	}
	for _, o := range outages {
		a.outage(o.From, o.Until, o.Moves, o.First)
	}
	if a.found > maxAuditFindings {
		tell(call.out, "and %d more findings\n", a.found-maxAuditFindings)
	}
	if summary.Late > 0 {
		tell(call.out, "note: %d games entered the log long after others that ended later, the first at position %d: was the log held up?\n", summary.Late, summary.FirstLate)
	}
	_, err = fmt.Fprintf(call.out, "%d entries, %d ended games, %d of them waiting, %d outages: %d findings\n",
		summary.Entries, summary.Games, summary.Waiting, len(outages), a.found)
	if err == nil && a.found > 0 {
		err = errBrokenLog
	}
	return err
}

// heldCheckpoints reads the files of witnesses.
func heldCheckpoints(files []string, keys []note.Verifier) ([]tlog.Checkpoint, error) {
	var held []tlog.Checkpoint
	for _, name := range files {
		content, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		c, err := tlog.OpenCheckpoint(string(content), tlog.KeyOf(string(content), keys))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		held = append(held, c)
	}
	return held, nil
}

// audit is what an audit has written.
type audit struct {
	call       invocation
	found      int
	told, done int64
}

func (a *audit) find(f tlog.Finding) {
	if a.found++; a.found <= maxAuditFindings {
		tell(a.call.out, "%s\n", f)
	}
}

func (a *audit) progress(done, of int64) {
	if a.done = done; done-a.told >= auditProgress {
		a.told = done
		tell(a.call.err, "%d of %d positions\n", done, of)
	}
}

// outage tells of an outage, and finds fault with one in which moves were taken.
func (a *audit) outage(from, until time.Time, moves int, first time.Time) {
	span := fmt.Sprintf("%s to %s", from.UTC().Format(time.RFC3339Nano), until.UTC().Format(time.RFC3339Nano))
	if moves == 0 {
		tell(a.call.out, "outage %s: no move contradicts it\n", span)
		return
	}
	a.find(tlog.Finding{Position: tlog.NoPosition, What: "outages", Expected: "no move from " + span,
		Found: fmt.Sprintf("%d moves, the first at %s", moves, first.UTC().Format(time.RFC3339Nano))})
}
