package devpg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
)

// binDirVariable names the environment variable that says where the server
// binaries are. When it is set nowhere else is looked.
const binDirVariable = "REFEREE_PG_BIN"

// systemBinDirs is where Debian and its kin keep the server binaries of each
// major version, outside PATH.
const systemBinDirs = "/usr/lib/postgresql/*/bin"

// ErrNoBinaries means that this machine has no Postgres server binaries.
var ErrNoBinaries = errors.New("no Postgres server binaries found in $" + binDirVariable + ", " +
	systemBinDirs + " or PATH; install them with: apt-get install -y postgresql")

// binaries is one installation of the Postgres server.
type binaries struct {
	dir   string
	major int
}

func (b binaries) path(name string) string { return filepath.Join(b.dir, name) }

func findBinaries(ctx context.Context) (binaries, error) {
	dir, err := findBinDir()
	if err != nil {
		return binaries{}, err
	}
	output, err := exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "--version").Output()
	if err != nil {
		return binaries{}, fmt.Errorf("asking Postgres in %s for its version: %w", dir, err)
	}
	major, err := parseMajor(string(output))
	return binaries{dir: dir, major: major}, err
}

// Program returns the path of a program that is installed beside the server,
// such as pg_dump. It returns ErrNoBinaries if there is no server.
func Program(name string) (string, error) {
	dir, err := findBinDir()
	return filepath.Join(dir, name), err
}

// findBinDir returns the named folder, else the newest version of the system,
// else what PATH has.
func findBinDir() (string, error) {
	if dir := os.Getenv(binDirVariable); dir != "" {
		if !hasServer(dir) {
			return "", fmt.Errorf("%s names %s, which lacks initdb or postgres: %w", binDirVariable, dir, ErrNoBinaries)
		}
		return filepath.Abs(dir)
	}
	dirs, err := filepath.Glob(systemBinDirs)
	if err != nil {
		return "", err
	}
	dirs = slices.DeleteFunc(dirs, func(dir string) bool { return !hasServer(dir) })
	if len(dirs) > 0 {
		return newest(dirs), nil
	}
	postgres, err := exec.LookPath("postgres")
	if err != nil || !hasServer(filepath.Dir(postgres)) {
		return "", ErrNoBinaries
	}
	return filepath.Abs(filepath.Dir(postgres))
}

func hasServer(dir string) bool {
	for _, name := range []string{"initdb", "postgres"} {
		if _, err := exec.LookPath(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// newest compares versions as numbers: as text, 9 would be newer than 15.
func newest(binDirs []string) string {
	version := func(dir string) float64 {
		number, err := strconv.ParseFloat(filepath.Base(filepath.Dir(dir)), 64)
		if err != nil {
			return 0
		}
		return number
	}
	return slices.MaxFunc(binDirs, func(a, b string) int { return cmp.Compare(version(a), version(b)) })
}

var versionPattern = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

// parseMajor reads "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)".
func parseMajor(output string) (int, error) {
	match := versionPattern.FindStringSubmatch(output)
	if match == nil {
		return 0, fmt.Errorf("Postgres gave no version that can be read: %q", output)
	}
	return strconv.Atoi(match[1])
}
