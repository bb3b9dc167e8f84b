// Command withpg runs another command beside a private Postgres server, which
// REFEREE_TEST_PG_URL names to it, and exits with that command's code:
//
//	go run ./internal/pgtest/withpg go test ./...
//
// With -data DIR it opens the folder that an earlier run has kept, and leaves it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"referee.example/internal/devpg"
	"referee.example/internal/pgtest"
)

func main() {
	dataDir := flag.String("data", "", "open this kept data folder instead of a new one")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: withpg [-data DIR] COMMAND [ARGUMENT...]")
		os.Exit(2)
	}
	code, err := run(*dataDir, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "withpg:", err)
		os.Exit(1)
	}
	os.Exit(code)
}

func run(dataDir string, command []string) (code int, err error) {
	// A terminal's Ctrl-C reaches the command itself; this one has to outlive it,
	// to stop the server.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if dataDir != "" {
		return runOnKept(dataDir, command, signals)
	}
	server, err := pgtest.StartPrivate(context.Background())
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, server.Close(os.Stderr)) }()
	return runCommand(server.URL(), command, signals)
}

func runOnKept(dataDir string, command []string, signals <-chan os.Signal) (code int, err error) {
	server, err := devpg.Start(context.Background(), devpg.Options{DataDir: dataDir})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	return runCommand(server.URL("postgres"), command, signals)
}

func runCommand(url string, command []string, signals <-chan os.Signal) (int, error) {
	cmd := exec.CommandContext(context.Background(), command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), pgtest.URLVariable+"="+url)
	err := cmd.Start()
	if err != nil {
		return 0, err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case received := <-signals:
			// A terminal has told the command too; a supervisor only us.
			if received == syscall.SIGTERM {
				_ = cmd.Process.Signal(received) // it may just have ended
			}
		case err = <-done:
			return exitCode(err)
		}
	}
}

func exitCode(err error) (int, error) {
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() >= 0 {
		return exit.ExitCode(), nil
	}
	return 0, err
}
