// Package devpg runs a private Postgres from the server binaries found on the
// machine: for `referee dev`, and for tests, which crash and restart it. It
// downloads nothing and never deletes a data folder. Linux only: it relies on
// the kernel to end the server when the process that started it dies.
package devpg

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"strconv"
	"time"
)

// superuser is the one role a new data folder has.
const superuser = "postgres"

// Ports are picked from these. The system gives the others, from 32768 on, to whoever
// connects or asks for any: one of those might be taken while a server is down that
// has to come back on its port.
const lowestPort, highestPort = 20_000, 32_767

// portAttempts bounds how often a free port is picked again because another
// process took it between the look and the bind.
const portAttempts = 5

// portLooks bounds how many ports are looked at for a free one.
const portLooks = 1000

// stopTimeout is how long a fast shutdown may take before an immediate one.
const stopTimeout = 30 * time.Second

// Options say how a server is started. The zero value is a durable server in a
// new folder, on a free port.
type Options struct {
	// DataDir is the data folder, made if it is absent or empty. When it is ""
	// a new folder is made; Server.DataDir names it and the caller removes it.
	DataDir string
	// Port is the TCP port on 127.0.0.1; 0 picks a free one.
	Port int
	// NoFsync trades safety against a crash of the machine for speed. Commits
	// still survive a crash of Postgres itself.
	NoFsync bool
	// MaxConnections is Postgres's max_connections; 0 means 100.
	MaxConnections int
}

// Server is one Postgres server and its data folder. Its methods are for one
// goroutine at a time.
type Server struct {
	binaries   binaries
	account    *account
	options    Options
	dataDir    string
	port       int
	password   string
	postmaster *postmaster
}

// Start makes the data folder if need be, starts Postgres on it and returns
// when it accepts connections; ctx bounds only that. The server listens on
// 127.0.0.1 alone and asks for a password. Run by root, Postgres runs as the
// owner of the data folder, else as user postgres, else as nobody.
//
// Errors: ErrNoBinaries, *VersionError, *DataDirError, *StartError.
func Start(ctx context.Context, options Options) (*Server, error) {
	binaries, err := findBinaries(ctx)
	if err != nil {
		return nil, err
	}
	if options.MaxConnections == 0 {
		options.MaxConnections = 100
	}
	s := &Server{binaries: binaries, options: options}
	err = s.openDataDir(ctx)
	if err != nil {
		return nil, err
	}
	err = s.launch(ctx)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// URL returns the connection string of a database of this server, as its
// superuser. It holds the password.
func (s *Server) URL(dbname string) string {
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(superuser, s.password),
		Host:     net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)),
		Path:     "/" + dbname,
		RawQuery: "sslmode=disable",
	}
	return u.String()
}

// DataDir returns the absolute path of the data folder.
func (s *Server) DataDir() string { return s.dataDir }

// Stop ends every session, shuts the server down with a checkpoint and waits
// until it is gone. Stopping a stopped server is no error.
func (s *Server) Stop() error {
	if s.postmaster == nil {
		return nil
	}
	err := s.postmaster.stop(stopTimeout)
	s.postmaster = nil
	return err
}

// Kill crashes the server: no checkpoint, no word to the clients. It returns
// when all its processes are gone; Restart then recovers from the log.
func (s *Server) Kill() {
	if s.postmaster == nil {
		return
	}
	s.postmaster.kill()
	s.postmaster = nil
}

// Crash stops the server at once, without a checkpoint, as
// `pg_ctl stop -m immediate` does. It returns when all its processes are gone;
// Restart then recovers from the log.
func (s *Server) Crash() {
	if s.postmaster == nil {
		return
	}
	s.postmaster.crash()
	s.postmaster = nil
}

// Restart starts the server again on the same data folder and port, after
// stopping it if it still runs. Errors: those of Start.
func (s *Server) Restart(ctx context.Context) error {
	err := s.Stop()
	if err != nil {
		return err
	}
	s.options.Port = s.port
	return s.launch(ctx)
}

func (s *Server) launch(ctx context.Context) error {
	for attempt := 1; ; attempt++ {
		port, err := s.choosePort(ctx)
		if err != nil {
			return err
		}
		process, err := startPostmaster(ctx, s.command(port), s.dataDir)
		if err == nil {
			s.port, s.postmaster = port, process
			return nil
		}
		if s.options.Port != 0 || attempt == portAttempts || !portTaken(err) {
			return err
		}
	}
}

func (s *Server) choosePort(ctx context.Context) (int, error) {
	if s.options.Port != 0 {
		return s.options.Port, nil
	}
	var taken error
	for range portLooks {
		port := lowestPort + rand.IntN(highestPort-lowestPort+1) //nolint:gosec // which is no secret
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			return port, listener.Close()
		}
		taken = err
	}
	return 0, fmt.Errorf("looking for a free port: %w", taken)
}
