package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"referee.example/internal/app"
	"referee.example/internal/demo"
	"referee.example/internal/devpg"
	"referee.example/internal/tlog"
)

// dev is the referee for a developer's machine: nothing to install but Postgres
// itself, nothing to configure.
func dev(ctx context.Context, call invocation) (err error) {
	flags := flag.NewFlagSet("dev", flag.ContinueOnError)
	listen := flags.String("listen", "127.0.0.1:50051", "TCP `address` of the gRPC port; port 0 picks a free one")
	httpListen := flags.String("http-listen", "127.0.0.1:8080", "TCP `address` of the HTTP port; port 0 picks a free one, nothing leaves it out")
	dataDir := flags.String("data-dir", "", "`folder` of the database, kept from one start to the next")
	ascii := flags.Bool("ascii", false, "draw letters instead of Chinese characters")
	fast := flags.Bool("fast", false, "do not wait between plies, list them")
	err = call.parse(flags)
	if err != nil {
		return err
	}
	if *dataDir == "" {
		*dataDir, err = devpg.DefaultDataDir()
		if err != nil {
			return err
		}
	}
	tell(call.out, "Postgres keeps its data in %s.\n", *dataDir)
	postgres, err := devpg.Start(ctx, devpg.Options{DataDir: *dataDir})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, postgres.Stop()) }()
	running, token, err := startDev(ctx, call, postgres, *listen, *httpListen)
	if err != nil {
		return err
	}
	defer running.Stop()
	return demonstrateDev(ctx, call, running, token, call.demoOptions(anySeed(), *ascii, *fast))
}

// startDev migrates and starts a replica with a key and a token of its own.
func startDev(ctx context.Context, call invocation, postgres *devpg.Server, listen, httpListen string) (*app.App, string, error) {
	url := postgres.URL("postgres")
	err := app.Migrate(ctx, url)
	if err != nil {
		return nil, "", err
	}
	keyFile, logKeyFile := postgres.DataDir()+".key", postgres.DataDir()+".log.key"
	err = keepKeys(keyFile, logKeyFile)
	if err != nil {
		return nil, "", err
	}
	token, tokenFile := app.NewDevToken()
	tokenPath := postgres.DataDir() + ".tokens.json"
	err = os.WriteFile(tokenPath, tokenFile, 0o600)
	if err != nil {
		return nil, "", err
	}
	config := app.Config{
		Listen: listen, HTTPListen: httpListen, Console: httpListen != "", DatabaseURL: url, MaxConns: 16, KeyFile: keyFile, LogKeyFile: logKeyFile, TokenFile: tokenPath,
		Reflection: true, LogLevel: slog.LevelWarn, DrainTimeout: 5 * time.Second,
	}
	logger := slog.New(slog.NewTextHandler(call.err, &slog.HandlerOptions{Level: config.LogLevel}))
	running, err := app.Start(ctx, config, logger)
	return running, token, err
}

// keepKeys makes keys where there are none. Without the one that is there the
// games of the database beside it could never be opened again.
func keepKeys(keyFile, logKeyFile string) error {
	logKey, err := tlog.NewKey("dev.example/log")
	if err != nil {
		return err
	}
	for path, content := range map[string]string{keyFile: app.NewKey("dev"), logKeyFile: logKey} {
		err := writeNew(path, content)
		if err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	return nil
}

// writeNew writes a secret file, and fails if there is one already.
func writeNew(path, content string) error {
	file, err := os.OpenFile(filepath.Clean(path), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(content)
	return errors.Join(err, file.Close())
}

// demonstrateDev plays one match through the port and serves on until the signal,
// which is no failure whenever it comes.
func demonstrateDev(ctx context.Context, call invocation, running *app.App, token string, options demo.Options) error {
	if options.Live {
		options.Pause = briskPause
	}
	conn, err := (&server{address: running.Addr(), token: token}).dial(call)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // every answer has been read
	match, err := playDemo(ctx, conn, options)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the demonstration match: %w", err)
	}
	tell(call.out, howToCall, running.Addr(), token, match.GetMatchId())
	if running.HTTPAddr() != "" {
		tell(call.out, howToLook, running.HTTPAddr(), match.GetMatchId())
	}
	<-ctx.Done()
	tell(call.out, "\nStopping.\n")
	return nil
}

// howToCall is filled with the address, the token and the match.
const howToCall = `
The referee answers at %[1]s until Ctrl-C. Try it (make tools builds bin/grpcurl):

  export REFEREE_TOKEN=%[2]s
  call() { bin/grpcurl -plaintext -H "authorization: Bearer $REFEREE_TOKEN" "$@"; }

  call %[1]s list referee.v1.MatchService
  call -d '{"match_id": "%[3]s"}' %[1]s referee.v1.MatchService/GetMatch
  call -d '{"match_id": "%[3]s", "game": 1}' %[1]s referee.v1.AuditService/GetGameRecord
  call %[1]s referee.v1.AuditService/GetCheckpoint
  call -d '{"ruleset_id": "7club-standard", "stake": 100, "charges": {"fee": 5}}' %[1]s referee.v1.RulesService/QuoteStake

  bin/referee demo --addr %[1]s     plays another match
`

// howToLook is filled with the HTTP port's address and the match.
const howToLook = `
Look at the match in a browser, and sign in with the token:

  http://%[1]s/console/matches/%[2]s
`
