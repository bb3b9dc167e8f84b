package main

import (
	"context"
	"flag"
	"fmt"
	"runtime/debug"

	"referee.example/internal/referee"
	"referee.example/migrations"
)

func version(_ context.Context, call invocation) error {
	err := call.parse(flag.NewFlagSet("version", flag.ContinueOnError))
	if err != nil {
		return err
	}
	release, commit := build()
	_, err = fmt.Fprintf(call.out, "referee %s\ncommit  %s\nschema  %d\nengine  %d\n",
		release, commit, migrations.Newest(), referee.EngineVersion)
	return err
}

// build returns this program's version and commit, as far as they are known.
func build() (release, commit string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown", "unknown"
	}
	return buildOf(info)
}

// buildOf returns the module's version and the commit it was built from, which
// the compiler notes only where it finds a repository.
func buildOf(info *debug.BuildInfo) (release, commit string) {
	release, commit = info.Main.Version, "unknown"
	modified := false
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			commit = setting.Value
		case "vcs.modified":
			modified = setting.Value == "true"
		}
	}
	if modified {
		commit += ", with changes that are not committed"
	}
	return release, commit
}
