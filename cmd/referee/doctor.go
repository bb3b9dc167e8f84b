package main

import (
	"context"
	"fmt"

	"referee.example/internal/app"
)

// doctor looks at a deployment with the settings that serve would be started with.
func doctor(ctx context.Context, call invocation) error {
	config, err := app.ParseConfig("doctor", call.arguments, call.getenv, call.out)
	if err != nil {
		return err
	}
	faults := 0
	for _, found := range app.Examine(ctx, config) {
		if found.Level == app.Fault {
			faults++
		}
		_, err = fmt.Fprintln(call.out, found)
		if err != nil {
			return err
		}
	}
	if faults > 0 {
		return fmt.Errorf("%d faults", faults)
	}
	return nil
}
