package main

import (
	"context"
	"flag"
	"time"

	"referee.example/internal/tlog"
	"referee.example/internal/witness"
	refereev1 "referee.example/proto/referee/v1"
)

// witnessLog looks at the log once; a timer calls it as often as it should look.
func witnessLog(ctx context.Context, call invocation) error {
	flags := flag.NewFlagSet("witness", flag.ContinueOnError)
	from := serverFlags(flags, "any scope; for --games the scope audit and every platform")
	logKey := flags.String("log-key", "", "public `key` of the log")
	keyFile := flags.String("key-file", "", "`file` of the witness's own key, made with log key --witness")
	games := flags.String("games", "", "`file` of the games it has seen, 26 bytes each: look for games that are logged twice, not at hashes only")
	timeout := flags.Duration("timeout", 10*time.Second, "how long to wait, as a `duration`")
	files, err := call.parseWith(flags, " FILE\n\n"+
		"Fetches the log's checkpoint, checks that it contains the one in FILE, cosigns it and keeps it\n"+
		"there. If the log has signed another tree of the same size, it exits with code 3, leaves FILE alone\n"+
		"and keeps the other in FILE.fork. If the checkpoint could only not be shown to contain that in FILE,\n"+
		"which the one who answers may be to blame for, it exits with code 1 and keeps it in FILE.unproved.\n"+
		"With --games it reads the entries that it has not seen too: code 3, and FILE.second, if a game is\n"+
		"in the signed log twice. The first time that is the whole log: give it a --timeout.")
	if err != nil {
		return err
	}
	if len(files) != 1 || *logKey == "" || *keyFile == "" {
		return &usageError{"--log-key, --key-file and one FILE are needed"}
	}
	w, err := newWitness(*logKey, *keyFile, files[0], *games)
	if err != nil {
		return err
	}
	conn, err := from.dial(call)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // nothing is left to be said to the server
	w.Audit = refereev1.NewAuditServiceClient(conn)
	ctx, cancel := context.WithTimeout(ctx, *timeout)
	defer cancel()
	seen, err := w.Update(ctx, time.Now())
	if err != nil {
		return err
	}
	checked := "hashes only: --games reads the games too"
	if *games != "" {
		checked = "no game is among them twice"
	}
	return say(call.out, "%s: %d entries, root %s, cosigned in %s (%s)\n", oneLine(seen.Origin), seen.Size, seen.Root, oneLine(files[0]), checked)
}

func newWitness(logKey, keyFile, file, games string) (*witness.Witness, error) {
	log, err := tlog.ParsePublic(logKey)
	if err != nil {
		return nil, &usageError{err.Error()}
	}
	key, err := readLogKey(keyFile)
	if err != nil {
		return nil, err
	}
	return &witness.Witness{Log: log, Key: key, File: file, Games: games}, nil
}
