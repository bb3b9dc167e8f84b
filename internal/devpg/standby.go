package devpg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// Standby starts a streaming standby of a running server: a copy of its data, which
// then follows what the server at the address writes, by default that of s itself.
// Its name is what synchronous_standby_names calls it: letters and digits. Settings
// that were made by ALTER SYSTEM are the primary's. The password is that of s.
// Errors: those of Start.
func (s *Server) Standby(ctx context.Context, name, address string, options Options) (*Server, error) {
	if options.MaxConnections == 0 {
		options.MaxConnections = s.options.MaxConnections // it may not be less
	}
	standby := &Server{binaries: s.binaries, account: s.account, options: options, password: s.password}
	dir, err := os.MkdirTemp(tempRoot, "referee-postgres-*")
	if err != nil {
		return nil, err
	}
	standby.dataDir = dir
	err = standby.account.own(dir)
	if err == nil {
		err = standby.copy(ctx, s, name)
	}
	if err == nil && address != "" {
		err = standby.follow(name, address)
	}
	if err == nil {
		err = standby.launch(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir)) // nothing of anyone is in it
	}
	return standby, nil
}

// copy takes a base backup of a primary that says whom to follow.
func (s *Server) copy(ctx context.Context, primary *Server, name string) error {
	cmd := exec.CommandContext(ctx, s.binaries.path("pg_basebackup"),
		"--pgdata", s.dataDir, "--checkpoint", "fast", "--wal-method", "stream", "--no-sync", "--no-password",
		"--write-recovery-conf", "--dbname", s.connInfo(name, "127.0.0.1:"+strconv.Itoa(primary.port)))
	cmd.Dir = "/"
	cmd.Env = cleanEnvironment()
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.account.credential()}
	output, err := cmd.CombinedOutput()
	if err != nil {
		return &StartError{Program: "pg_basebackup", Err: err, Log: strings.TrimSpace(string(output))}
	}
	return nil
}

// connInfo is how a standby of this name reaches the primary at an address.
func (s *Server) connInfo(name, address string) string {
	host, port, _ := strings.Cut(address, ":")
	return fmt.Sprintf("host=%s port=%s user=%s password=%s application_name=%s sslmode=disable connect_timeout=2",
		host, port, superuser, s.password, name)
}

// follow sets whom a standby that does not run will follow: the last line counts.
func (s *Server) follow(name, address string) error {
	file, err := os.OpenFile(s.dataDir+"/postgresql.auto.conf", os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(file, "primary_conninfo = '%s'\n", s.connInfo(name, address))
	return errors.Join(err, file.Close())
}

// Following is the statement that makes a running standby of a name follow the server
// at an address, once the configuration is loaded anew.
func (s *Server) Following(name, address string) string {
	return fmt.Sprintf("ALTER SYSTEM SET primary_conninfo = '%s'", s.connInfo(name, address))
}
