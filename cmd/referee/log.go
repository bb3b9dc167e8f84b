package main

import (
	"context"
	"flag"
	"os"

	"referee.example/internal/app"
	"referee.example/internal/tlog"
)

// gameLog is what an operator does for the log of finished games.
func gameLog(ctx context.Context, call invocation) error {
	if len(call.arguments) > 0 {
		rest := call
		rest.arguments = call.arguments[1:]
		switch call.arguments[0] {
		case "key":
			return makeLogKey(rest)
		case "public":
			return printLogKey(rest)
		case "confirm":
			return confirmLog(ctx, rest)
		case "audit":
			return auditLog(ctx, rest)
		case "-h", "--help", "help":
			tell(call.out, "Usage: referee log key|public|confirm|audit [flags]\n\nreferee log key --help and so on tell more.\n")
			return nil
		}
	}
	return &usageError{"say log key, log public, log confirm or log audit, and --help for more"}
}

// makeLogKey writes a secret key and prints the public one.
func makeLogKey(call invocation) error {
	flags := flag.NewFlagSet("log key", flag.ContinueOnError)
	name := flags.String("name", "", "`name` of the log or witness: a URL without its scheme that no other has")
	witness := flags.Bool("witness", false, "print the public key in the form of a witness's")
	files, err := call.parseWith(flags, " FILE")
	if err != nil {
		return err
	}
	if len(files) != 1 || *name == "" {
		return &usageError{"--name and one FILE are needed"}
	}
	text, err := tlog.NewKey(*name)
	if err != nil {
		return &usageError{err.Error()}
	}
	key, err := tlog.ParseKey(text)
	if err != nil {
		return err
	}
	err = writeNew(files[0], text)
	if err != nil {
		return err
	}
	return call.printPublic(key, *witness)
}

// printLogKey prints the public key of a file.
func printLogKey(call invocation) error {
	flags := flag.NewFlagSet("log public", flag.ContinueOnError)
	witness := flags.Bool("witness", false, "print it in the form of a witness's")
	files, err := call.parseWith(flags, " FILE")
	if err != nil {
		return err
	}
	if len(files) != 1 {
		return &usageError{"one FILE is needed"}
	}
	key, err := readLogKey(files[0])
	if err != nil {
		return err
	}
	return call.printPublic(key, *witness)
}

func (call invocation) printPublic(key tlog.Key, witness bool) error {
	public := key.Public()
	if witness {
		public = key.PublicWitness()
	}
	return say(call.out, "%s\n", public)
}

// readLogKey reads the secret key of a log or a witness.
func readLogKey(file string) (tlog.Key, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return tlog.Key{}, err
	}
	key, err := tlog.ParseKey(string(content))
	if err != nil {
		return tlog.Key{}, &usageError{file + ": " + err.Error()}
	}
	return key, nil
}

// confirmLog lets a database that was restored, promoted or moved sign on.
func confirmLog(ctx context.Context, call invocation) error {
	flags := flag.NewFlagSet("log confirm", flag.ContinueOnError)
	url := flags.String("database-url", call.getenv(databaseVariable), "postgres:// `URL` of the database, as its owner; by default that of "+databaseVariable)
	flags.Lookup("database-url").DefValue = "" // the real one holds a password
	logKey := flags.String("log-key", "", "public `key` of the log")
	none := flags.Bool("none", false, "vouch that nobody holds a checkpoint of this log")
	files, err := call.parseWith(flags, " FILE...\n\n"+
		"Compares the database with the checkpoints in the files, which should be the last that each\n"+
		"witness holds, and if it contains them lets the log be signed in it.")
	if err != nil {
		return err
	}
	switch {
	case *url == "":
		return &usageError{"there is no database: set --database-url or " + databaseVariable}
	case *logKey == "":
		return &usageError{"--log-key is needed: the public key, as log key printed it"}
	case *none == (len(files) > 0):
		return &usageError{"name the files of the witnesses' last checkpoints, or say --none"}
	}
	log, err := tlog.ParsePublic(*logKey)
	if err != nil {
		return &usageError{err.Error()}
	}
	checkpoints := make([]string, len(files))
	for i, name := range files {
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		checkpoints[i] = string(content)
	}
	tree, err := app.ConfirmLog(ctx, *url, log, checkpoints)
	if err != nil {
		return err
	}
	found := "the database contains what was signed"
	if *none {
		found = "nothing was compared, you vouch that nobody holds a checkpoint"
	}
	return say(call.out, "%s: the log goes on from %d games\n", found, tree.Size)
}
