package main

import (
	"context"
	"flag"
	"fmt"

	"referee.example/internal/app"
	"referee.example/migrations"
)

// databaseVariable names the database where the flag does not.
const databaseVariable = "REFEREE_DATABASE_URL"

func migrate(ctx context.Context, call invocation) error {
	flags := flag.NewFlagSet("migrate", flag.ContinueOnError)
	url := flags.String("database-url", call.getenv(databaseVariable), "postgres:// `URL` of the database, as its owner; by default that of "+databaseVariable)
	flags.Lookup("database-url").DefValue = "" // the real one holds a password
	down := flags.Bool("down", false, "take every migration back; needs --delete-all-data")
	deleteAll := flags.Bool("delete-all-data", false, "confirm --down")
	ask := flags.Bool("version", false, "say where the schema is and change nothing")
	force := flags.Int("force", -1, "record that the schema is at this `version`, after a failed migration has been looked at")
	err := call.parse(flags)
	if err != nil {
		return err
	}
	switch {
	case *url == "":
		return &usageError{"there is no database: set --database-url or " + databaseVariable}
	case *down && !*deleteAll:
		return &usageError{"--down deletes every match; confirm it with --delete-all-data"}
	case *down && *ask || *down && *force >= 0 || *ask && *force >= 0:
		return &usageError{"--down, --version and --force are three different things"}
	case *ask:
	case *down:
		err = migrations.Down(ctx, *url)
	case *force >= 0:
		err = migrations.Force(ctx, *url, uint(*force))
	default:
		err = app.Migrate(ctx, *url)
	}
	if err != nil {
		return err
	}
	return printSchema(ctx, call, *url)
}

func printSchema(ctx context.Context, call invocation, url string) error {
	version, dirty, err := migrations.Version(ctx, url)
	if err != nil {
		return err
	}
	state := ""
	if dirty {
		state = ", left half-way by a migration that failed"
	}
	_, err = fmt.Fprintf(call.out, "schema %d of %d%s\n", version, migrations.Newest(), state)
	return err
}
