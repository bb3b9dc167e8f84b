package main

import (
	"os"
	"syscall"
	"testing"
)

func TestPassesTheURLAndTheExitCode(t *testing.T) {
	check := `case "$REFEREE_TEST_PG_URL" in postgres://*@127.0.0.1:*/postgres*) exit 3;; *) exit 4;; esac`
	code, err := run("", []string{"sh", "-c", check})
	if code != 3 || err != nil {
		t.Errorf("run = %d, %v", code, err)
	}
}

func TestForwardsTermination(t *testing.T) {
	signals := make(chan os.Signal, 1)
	signals <- syscall.SIGTERM
	// It would wait for ever for its input, a pipe that stays open.
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = read.Close(), write.Close() }()
	stdin := os.Stdin
	os.Stdin = read
	defer func() { os.Stdin = stdin }()
	if code, err := runCommand("postgres://unused", []string{"cat"}, signals); err == nil {
		t.Errorf("a command ended by a signal gave code %d and no error", code)
	}
}

func TestCommandThatIsNotThere(t *testing.T) {
	if code, err := runCommand("postgres://unused", []string{"/no/such/command"}, nil); err == nil {
		t.Errorf("it gave code %d and no error", code)
	}
}
