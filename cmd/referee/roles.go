package main

import (
	"context"
	"flag"
	"fmt"

	"referee.example/internal/app"
)

// roles has a command of its own because roles belong to the whole server, and
// making them needs rights that migrating one database does not.
func roles(ctx context.Context, call invocation) error {
	flags := flag.NewFlagSet("roles", flag.ContinueOnError)
	url := flags.String("database-url", call.getenv(databaseVariable), "postgres:// `URL` of the migrated database, as a role that may create roles; by default that of "+databaseVariable)
	flags.Lookup("database-url").DefValue = "" // the real one holds a password
	err := call.parse(flags)
	if err != nil {
		return err
	}
	if *url == "" {
		return &usageError{"there is no database: set --database-url or " + databaseVariable}
	}
	err = app.ApplyRoles(ctx, *url)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(call.out, "roles referee_server, referee_auditor and referee_reader are as this version needs them; "+
		"grant them to the roles that log in")
	return err
}
