package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"

	"referee.example/internal/deal"
	"referee.example/internal/referee"
	"referee.example/internal/server"
	"referee.example/internal/store"
)

// App is one running replica.
type App struct {
	config    Config
	logger    *slog.Logger
	store     *store.Store
	server    *server.Server
	listener  net.Listener
	stopLoops context.CancelFunc
	loops     sync.WaitGroup
	served    chan error // of the server, once
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
	return errors.Join(err, a.Stop())
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
	tokens, err := config.tokens()
	if err != nil {
		return nil, err
	}
	presets, err := referee.LoadPresets()
	if err != nil {
		return nil, err
	}
	logger.Info("starting", "config", config, "key", keys.Current())
	opened, err := store.Open(ctx, store.Config{URL: config.DatabaseURL, MaxConns: config.MaxConns})
	if err != nil {
		return nil, err
	}
	a := &App{config: config, logger: logger, store: opened, served: make(chan error, 1)}
	err = a.open(ctx, keys)
	if err != nil {
		opened.Close()
		return nil, err
	}
	a.serve(referee.New(opened, presets, keys, opened.Now), tokens)
	return a, nil
}

// open checks what the store and the machine have to offer before anything is
// promised to anyone.
func (a *App) open(ctx context.Context, keys deal.Keyring) error {
	err := a.store.Ready(ctx)
	if err != nil {
		return fmt.Errorf("the database is not ready: %w", err)
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
	return err
}

func (a *App) serve(r *referee.Referee, tokens server.Tokens) {
	a.server = server.New(server.Config{
		Referee: r, History: a.store, Ready: a.ready, Versions: a.store.Versions,
		Tokens: tokens, Reflection: a.config.Reflection, Logger: a.logger,
	})
	ctx, cancel := context.WithCancel(context.Background())
	a.stopLoops = cancel
	a.loops.Go(func() { heartbeat(ctx, a.store, a.logger) })
	a.loops.Go(func() { newSweep(a.store, r, a.logger).run(ctx) })
	go func() { a.served <- a.server.Serve(a.listener) }()
	a.logger.Info("listening", "address", a.Addr())
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

// Stop ends a replica in order: it is called unready, streams are told to go
// elsewhere, calls at work finish within the drain timeout, and only then do
// the loops and the connections to the database end. It is called once.
func (a *App) Stop() error {
	a.logger.Info("draining", "timeout", a.config.DrainTimeout.String())
	ctx, cancel := context.WithTimeout(context.Background(), a.config.DrainTimeout)
	defer cancel()
	err := a.server.Drain(ctx)
	a.stopLoops()
	a.loops.Wait()
	a.store.Close()
	a.logger.Info("stopped")
	return err
}

func (c Config) tokens() (server.Tokens, error) {
	content, err := os.ReadFile(c.TokenFile)
	if err != nil {
		return server.Tokens{}, err
	}
	tokens, err := server.ParseTokens(content)
	if err != nil {
		return server.Tokens{}, fmt.Errorf("%s: %w", c.TokenFile, err)
	}
	return tokens, nil
}

// checkKeys refuses to start without the key of a game that may still be running:
// it could neither go on nor be settled here.
func checkKeys(ctx context.Context, games *store.Store, keys deal.Keyring) error {
	ids, err := games.RecentKeyIDs(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if !keys.Has(id) {
			return fmt.Errorf("games of this database are sealed under key %q, which the keyring does not hold", id)
		}
	}
	return nil
}
