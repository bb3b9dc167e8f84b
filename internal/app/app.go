package app

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric"

	"referee.example/internal/console"
	"referee.example/internal/deal"
	"referee.example/internal/referee"
	"referee.example/internal/server"
	"referee.example/internal/store"
	"referee.example/internal/tlog"
	"referee.example/migrations"
)

// App is one running replica.
type App struct {
	config       Config
	logger       *slog.Logger
	store        *store.Store
	server       *server.Server
	listener     net.Listener
	web          net.Listener  // of the HTTP port; nil for none
	certificates *certificates // nil without TLS
	served       chan error    // of each port, once
	serving      sync.WaitGroup
	measured     metric.Registration
	stopLoops    context.CancelFunc
	loops        sync.WaitGroup
}

// Run starts a replica, serves until ctx ends or the server fails, and drains.
func Run(ctx context.Context, config Config, logger *slog.Logger) error {
	a, err := Start(ctx, config, logger)
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case err = <-a.served:
		err = fmt.Errorf("serving: %w", err)
	}
	a.Stop()
	return err
}

// Start starts a replica and returns when it listens; ctx bounds only the start.
// Errors: *ConfigError, those of the key and token files, a schema that is too
// old or has no room for new matches, a database that can't be reached, an
// address that is taken.
func Start(ctx context.Context, config Config, logger *slog.Logger) (*App, error) {
	err := config.Validate()
	if err != nil {
		return nil, err
	}
	keys, err := config.keyring()
	if err != nil {
		return nil, err
	}
	logKey, err := config.logKey()
	if err != nil {
		return nil, err
	}
	public, err := config.logKeys(logKey.Public())
	if err != nil {
		return nil, err
	}
	access, err := config.access()
	if err != nil {
		return nil, err
	}
	certificates, err := config.certificates()
	if err != nil {
		return nil, err
	}
	presets, err := referee.LoadPresets()
	if err != nil {
		return nil, err
	}
	tuneRuntime(os.Getenv)
	logger.Info("starting", "config", config, "key", keys.Current(), "log_key", logKey.Public())
	opened, err := store.Open(ctx, store.Config{URL: config.DatabaseURL, MaxConns: config.MaxConns, Sharded: config.Sharded})
	if err != nil {
		return nil, err
	}
	a := &App{config: config, logger: logger, store: opened, certificates: certificates, served: make(chan error, 2)}
	err = a.open(ctx, keys)
	if err != nil {
		opened.Close()
		return nil, err
	}
	a.serve(server.Config{
		Referee: referee.New(opened, presets, keys, opened.Now), History: opened, Records: opened, Ready: a.ready,
		Versions: opened.Versions, Log: tlog.NewLog(opened), LogKeys: public, Access: access, TLS: certificates.server("h2"), WebTLS: certificates.server("http/1.1"),
		Conns: config.MaxConns, PlatformRate: float64(config.PlatformRate), Metrics: config.Metrics,
		Reflection: config.Reflection, Logger: logger,
	}, keys, tlog.NewSequencer(opened, logKey))
	a.measured, err = a.measure()
	if err != nil {
		a.Stop()
		return nil, err
	}
	return a, nil
}

// open checks what the store and the machine have to offer before anything is
// promised to anyone.
func (a *App) open(ctx context.Context, keys deal.Keyring) error {
	err := checkSchema(ctx, a.config.DatabaseURL)
	if err != nil {
		return err
	}
	err = a.store.Ready(ctx)
	if err != nil {
		return fmt.Errorf("the database is not ready; `referee migrate` makes what is missing: %w", err)
	}
	err = checkKeys(ctx, a.store, keys)
	if err != nil {
		return err
	}
	// Before the first command: an outage must be on record before anyone judges
	// a deadline that fell into it.
	_, err = a.store.Beat(ctx)
	if err != nil {
		return err
	}
	a.listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", a.config.Listen)
	if err != nil || a.config.HTTPListen == "" {
		return err
	}
	a.web, err = (&net.ListenConfig{}).Listen(ctx, "tcp", a.config.HTTPListen)
	if err != nil {
		_ = a.listener.Close() // it has not been served on
	}
	return err
}

func (a *App) serve(config server.Config, keys deal.Keyring, sequencer *tlog.Sequencer) {
	a.server = server.New(config)
	ctx, cancel := context.WithCancel(context.Background())
	a.stopLoops = cancel
	a.loops.Go(func() { heartbeat(ctx, a.store, a.logger) })
	a.loops.Go(func() { newSweep(a.store, config.Referee, a.logger).run(ctx) })
	a.loops.Go(func() { logGames(ctx, sequencer, a.logger) })
	a.loops.Go(func() { feedSettlements(ctx, a.store, a.server, a.logger) })
	a.loops.Go(func() { a.followFiles(ctx) })
	a.serving.Go(func() { a.served <- a.server.Serve(a.listener) })
	if a.web != nil {
		var pages http.Handler
		if a.config.Console {
			pages = console.New(console.Config{Contract: a.server.InProcess(), Keys: keys, Logger: a.logger})
		}
		a.serving.Go(func() { a.served <- a.server.ServeWeb(a.web, pages) })
	}
	a.logger.Info("listening", "address", a.Addr(), "http", a.HTTPAddr())
}

// ready tells whether this replica may be sent calls.
func (a *App) ready(ctx context.Context) error {
	_, err := a.store.Now()
	if err != nil {
		return err
	}
	return a.store.Ready(ctx)
}

// Addr returns the address that the replica listens on.
func (a *App) Addr() string { return a.listener.Addr().String() }

// HTTPAddr returns the address of the HTTP port, empty if there is none.
func (a *App) HTTPAddr() string {
	if a.web == nil {
		return ""
	}
	return a.web.Addr().String()
}

// Stop ends a replica in order: it is called unready, streams are told to go
// elsewhere, calls at work finish within the drain timeout, and only then do
// the loops and the connections to the database end. It is called once.
func (a *App) Stop() {
	a.logger.Info("draining", "timeout", a.config.DrainTimeout.String())
	ctx, cancel := context.WithTimeout(context.Background(), a.config.DrainTimeout)
	defer cancel()
	a.server.Drain(ctx)
	a.serving.Wait()
	if ctx.Err() != nil {
		a.logger.Warn("calls were cut off: they took longer than the drain timeout")
	}
	if a.measured != nil {
		_ = a.measured.Unregister() // documented to fail never
	}
	a.stopLoops()
	a.loops.Wait()
	a.store.Close()
	a.logger.Info("stopped")
}

// followFiles takes over tokens, keys of an issuer and certificates that change.
func (a *App) followFiles(ctx context.Context) {
	files := []*file{newFile(a.takeAccess, a.config.TokenFile, a.config.JWKSFile)}
	if a.certificates != nil {
		files = append(files, newFile(a.certificates.take, a.config.TLSCertFile, a.config.TLSKeyFile, a.config.TLSClientCAFile))
	}
	ticker := time.NewTicker(fileCheck)
	defer ticker.Stop()
	followFiles(ctx, ticker.C, files, a.logger)
}

func (a *App) takeAccess() error {
	access, err := a.config.access()
	if err != nil {
		return err
	}
	a.server.SetAccess(access)
	return nil
}

// checkSchema says what to do about a schema that this binary can't work with.
func checkSchema(ctx context.Context, url string) error {
	version, dirty, err := migrations.Version(ctx, url)
	if err != nil {
		return fmt.Errorf("the database does not answer: %w", err)
	}
	if !migrations.Suits(version, dirty) {
		return &SchemaError{Version: version, Needed: migrations.Newest(), Dirty: dirty}
	}
	return nil
}

// A SchemaError refuses a start on a schema that is too old or half migrated.
type SchemaError struct {
	Version, Needed uint
	Dirty           bool
}

func (e *SchemaError) Error() string {
	if e.Dirty {
		return fmt.Sprintf("the database was left half-way to schema %d by a migration that failed; "+
			"look at it, then see `referee migrate --help`", e.Version)
	}
	return fmt.Sprintf("the database has schema %d and this binary needs %d: run `referee migrate`", e.Version, e.Needed)
}

// checkKeys refuses to start without the key of a game that may still be running,
// or with another key under its name: the game could neither go on nor be settled
// here, and games that this replica sealed could not at others.
func checkKeys(ctx context.Context, games *store.Store, keys deal.Keyring) error {
	seeds, err := games.RecentSeeds(ctx)
	if err != nil {
		return err
	}
	for id, seed := range seeds {
		if !keys.Has(id) {
			return fmt.Errorf("games of this database are sealed under key %q, which the keyring does not hold", id)
		}
		if _, err := referee.OpenSeed(keys, seed.Context, seed.Sealed); err != nil {
			return fmt.Errorf("the keyring's key %q is not the one that games of this database are sealed under: %w", id, err)
		}
	}
	return nil
}
