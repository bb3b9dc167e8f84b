package devpg

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const (
	// tempRoot is not TMPDIR, which root often has where no other user may enter.
	tempRoot = "/tmp"
	// passwordFile, inside the data folder, keeps the superuser's password, so
	// that a later start can give a URL.
	passwordFile = "referee_password"
)

// VersionError means that the data folder belongs to another major version of
// Postgres. The folder has not been touched.
type VersionError struct {
	DataDir string
	BinDir  string
	// Data is what PG_VERSION says, Binaries the major version found.
	Data, Binaries string
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("data folder %s was made by Postgres %s, but the binaries in %s are of Postgres %s; "+
		"set %s to the binaries of Postgres %s, or choose another data folder",
		e.DataDir, e.Data, e.BinDir, e.Binaries, binDirVariable, e.Data)
}

// DataDirError means that the data folder cannot be used. It has not been
// touched.
type DataDirError struct {
	DataDir string
	Reason  string
}

func (e *DataDirError) Error() string {
	return fmt.Sprintf("data folder %s cannot be used: %s", e.DataDir, e.Reason)
}

// DefaultDataDir returns where a developer's database is kept: .cache/postgres
// in the working folder, or, for root in a folder that Postgres's unprivileged
// user may not enter, /var/lib/referee/postgres.
func DefaultDataDir() (string, error) {
	working, err := os.Getwd()
	if err != nil {
		return "", err
	}
	account, err := unprivilegedAccount()
	if err != nil {
		return "", err
	}
	barrier, err := account.barrier(working)
	if err != nil {
		return "", err
	}
	if barrier != "" {
		return "/var/lib/referee/postgres", nil
	}
	return filepath.Join(working, ".cache", "postgres"), nil
}

// openDataDir settles the folder, the account and the password, making the
// folder when there is none yet.
func (s *Server) openDataDir(ctx context.Context) error {
	if s.options.DataDir == "" {
		return s.createDataDir(ctx, "")
	}
	dir, err := filepath.Abs(s.options.DataDir)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(entries) == 0 {
		return s.createDataDir(ctx, dir)
	}
	s.dataDir = dir
	return s.reopenDataDir()
}

func (s *Server) reopenDataDir() error {
	found, err := os.ReadFile(filepath.Join(s.dataDir, "PG_VERSION"))
	if err != nil {
		return &DataDirError{DataDir: s.dataDir, Reason: "it is not empty and its PG_VERSION cannot be read: " + err.Error()}
	}
	version, wanted := strings.TrimSpace(string(found)), strconv.Itoa(s.binaries.major)
	if version != wanted {
		return &VersionError{DataDir: s.dataDir, BinDir: s.binaries.dir, Data: version, Binaries: wanted}
	}
	password, err := os.ReadFile(filepath.Join(s.dataDir, passwordFile))
	if err != nil {
		return &DataDirError{DataDir: s.dataDir, Reason: "it was not made here: " + err.Error()}
	}
	s.password = strings.TrimSpace(string(password))
	s.account, err = accountOf(s.dataDir)
	if err != nil {
		return err
	}
	return s.checkReach(s.dataDir)
}

// checkReach refuses a folder that lies behind a barrier: Postgres itself would
// say no more than "permission denied".
func (s *Server) checkReach(dir string) error {
	barrier, err := s.account.barrier(filepath.Dir(dir))
	if err != nil || barrier == "" {
		return err
	}
	return &DataDirError{
		DataDir: dir,
		Reason:  fmt.Sprintf("Postgres runs as user %s, who may not enter %s; choose a folder elsewhere", s.account.name, barrier),
	}
}

// createDataDir runs initdb in a folder beside dir and then renames it, so that
// what stands at dir is either nothing or whole. With dir "" the new folder
// stays where it was made.
func (s *Server) createDataDir(ctx context.Context, dir string) error {
	target, pattern := filepath.Join(tempRoot, "referee-postgres"), "referee-postgres-*"
	if dir != "" {
		target, pattern = dir, filepath.Base(dir)+".new-*"
	}
	parent := filepath.Dir(target)
	var err error
	s.account, err = unprivilegedAccount()
	if err != nil {
		return err
	}
	err = os.MkdirAll(parent, 0o755) //nolint:gosec // the unprivileged user has to pass through it
	if err != nil {
		return err
	}
	err = s.checkReach(target)
	if err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(parent, pattern)
	if err != nil {
		return err
	}
	s.dataDir = fresh
	err = s.initialise(ctx)
	if err == nil && dir != "" {
		err = s.moveDataDir(dir)
	}
	if err != nil {
		// Made a moment ago by this very call: no data of anyone is in it.
		return errors.Join(err, os.RemoveAll(fresh))
	}
	return nil
}

// moveDataDir puts the new folder in the place of nothing or of an empty folder.
func (s *Server) moveDataDir(dir string) error {
	err := os.Remove(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err = os.Rename(s.dataDir, dir)
	if err != nil {
		return err
	}
	s.dataDir = dir
	return nil
}

func (s *Server) initialise(ctx context.Context) error {
	err := s.account.own(s.dataDir)
	if err != nil {
		return err
	}
	s.password = rand.Text()
	// initdb wants an empty folder, so the password waits beside it.
	waiting := s.dataDir + ".password"
	err = os.WriteFile(waiting, []byte(s.password+"\n"), 0o600)
	if err != nil {
		return err
	}
	err = s.account.own(waiting)
	if err == nil {
		err = s.initdb(ctx, waiting)
	}
	if err != nil {
		return errors.Join(err, os.Remove(waiting))
	}
	return os.Rename(waiting, filepath.Join(s.dataDir, passwordFile))
}

func (s *Server) initdb(ctx context.Context, pwfile string) error {
	arguments := []string{
		"--pgdata", s.dataDir, "--username", superuser, "--pwfile", pwfile,
		"--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C",
	}
	if s.options.NoFsync {
		arguments = append(arguments, "--no-sync")
	}
	cmd := exec.CommandContext(ctx, s.binaries.path("initdb"), arguments...)
	cmd.Dir = "/"
	cmd.Env = cleanEnvironment()
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.account.credential()}
	output, err := cmd.CombinedOutput()
	if err != nil {
		return &StartError{Program: "initdb", Err: err, Log: strings.TrimSpace(string(output))}
	}
	return nil
}
