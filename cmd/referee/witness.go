package main

import (
	"context"
	"flag"
	"fmt"
	"time"

	"referee.example/internal/tlog"
	"referee.example/internal/witness"
	refereev1 "referee.example/proto/referee/v1"
)

// witnessLog looks at the log once; a timer calls it as often as it should look.
func witnessLog(ctx context.Context, call invocation) error {
	flags := flag.NewFlagSet("witness", flag.ContinueOnError)
	from := serverFlags(flags, "any scope")
	logKey := flags.String("log-key", "", "public `key` of the log")
	keyFile := flags.String("key-file", "", "`file` of the witness's own key, made with log key --witness")
	timeout := flags.Duration("timeout", 10*time.Second, "how long to wait, as a `duration`")
	files, err := call.parseWith(flags, " FILE\n\n"+
		"Fetches the log's checkpoint, checks that it contains the one in FILE, cosigns it and keeps it\n"+
		"there. If it does not, it exits with code 3, leaves FILE alone and keeps the other in FILE.fork or\n"+
		"FILE.rollback.")
	if err != nil {
		return err
	}
	if len(files) != 1 || *logKey == "" || *keyFile == "" {
		return &usageError{"--log-key, --key-file and one FILE are needed"}
	}
	w, err := newWitness(*logKey, *keyFile, files[0])
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
	_, err = fmt.Fprintf(call.out, "%s: %d games, root %s, cosigned in %s\n", seen.Origin, seen.Size, seen.Root, files[0])
	return err
}

func newWitness(logKey, keyFile, file string) (*witness.Witness, error) {
	log, err := tlog.ParsePublic(logKey)
	if err != nil {
		return nil, &usageError{err.Error()}
	}
	key, err := readLogKey(keyFile)
	if err != nil {
		return nil, err
	}
	return &witness.Witness{Log: log, Key: key, File: file}, nil
}
