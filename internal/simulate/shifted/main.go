// Command shifted builds the referee's program with a wall clock that can be set
// wrong: SIMULATE_CLOCK_SHIFT_S, of its environment, is how many seconds
// time.Now is ahead, and every two seconds it jumps to as far behind and back. So
// the simulation shifts a replica's own clock without a knob in the product. Only
// the copy of package time that goes into this build is changed.
//
//	go run ./internal/simulate/shifted -o bin/referee-shifted
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	before = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	after  = before + "\tsec += clockShift(mono)\n"
)

const shift = `package time

import "syscall"

var clockShiftS = func() (shift int64) {
	text, _ := syscall.Getenv("SIMULATE_CLOCK_SHIFT_S")
	negative := len(text) > 0 && text[0] == '-'
	for _, digit := range text {
		if digit >= '0' && digit <= '9' {
			shift = 10*shift + int64(digit-'0')
		}
	}
	if negative {
		shift = -shift
	}
	return shift
}()

func clockShift(mono int64) int64 {
	if mono/2e9%2 == 0 {
		return clockShiftS
	}
	return -clockShiftS
}
`

func main() {
	out := flag.String("o", "bin/referee-shifted", "`file` of the program")
	flag.Parse()
	if err := build(*out); err != nil {
		fmt.Fprintln(os.Stderr, "shifted:", err)
		os.Exit(1)
	}
}

func build(out string) (err error) {
	root, err := exec.Command("go", "env", "GOROOT").Output() //nolint:noctx // it takes a moment and then the program ends
	if err != nil {
		return fmt.Errorf("go env: %w", err)
	}
	dir, err := os.MkdirTemp("", "referee-shifted-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	source := filepath.Join(strings.TrimSpace(string(root)), "src", "time")
	overlay, err := patch(source, dir)
	if err != nil {
		return err
	}
	cmd := exec.Command("go", "build", "-overlay", overlay, "-o", out, "referee.example/cmd/referee") //nolint:noctx // as above
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, output)
	}
	return nil
}

// patch writes the changed files and returns the overlay that puts them in the
// place of those of package time.
func patch(source, dir string) (overlay string, err error) {
	content, err := os.ReadFile(filepath.Join(source, "time.go"))
	if err != nil {
		return "", err
	}
	if bytes.Count(content, []byte(before)) != 1 {
		return "", errors.New("this Go's time.Now is another: the clock can't be shifted so")
	}
	changed, added := filepath.Join(dir, "time.go"), filepath.Join(dir, "clock_shift.go")
	names, err := json.Marshal(map[string]map[string]string{"Replace": {
		filepath.Join(source, "time.go"):        changed,
		filepath.Join(source, "clock_shift.go"): added,
	}})
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, errors.Join(err,
		//nolint:gosec // a folder that this very run has made
		os.WriteFile(changed, bytes.Replace(content, []byte(before), []byte(after), 1), 0o600),
		os.WriteFile(added, []byte(shift), 0o600),
		os.WriteFile(overlay, names, 0o600))
}
