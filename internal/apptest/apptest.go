// Package apptest starts replicas for the tests of packages that call them.
package apptest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"referee.example/internal/app"
	"referee.example/internal/deal"
	"referee.example/internal/pgtest"
	"referee.example/internal/referee"
	"referee.example/internal/server"
	"referee.example/internal/store"
	"referee.example/internal/tlog"
)

// Config is that of a replica on a database of its own, with keys of its own, on a
// free port. The secret of each token that has no digest is its name.
func Config(t testing.TB, tokens ...server.Token) (config app.Config, logKey tlog.Key) {
	t.Helper()
	database := pgtest.New(t)
	must(t, app.Migrate(t.Context(), database.URL))
	key, err := tlog.NewKey("referee.example/log")
	must(t, err)
	logKey, err = tlog.ParseKey(key)
	must(t, err)
	tokens = slices.Clone(tokens)
	for i, token := range tokens {
		if token.SHA256 == "" {
			digest := sha256.Sum256([]byte(token.Name))
			tokens[i].SHA256 = hex.EncodeToString(digest[:])
		}
	}
	list, err := json.Marshal(tokens)
	must(t, err)
	return app.Config{
		Listen: "127.0.0.1:0", DatabaseURL: database.URL, MaxConns: 16, Keys: app.NewKey("test"),
		LogKeyFile: file(t, "log.key", []byte(key)), TokenFile: file(t, "tokens.json", list), DrainTimeout: 10 * time.Second,
	}, logKey
}

func file(t testing.TB, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	must(t, os.WriteFile(path, content, 0o600))
	return path
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Dealt serves without a sweep, with the arrangements that the dealer lays out, until
// the test ends, and returns the address too.
func Dealt(t testing.TB, config app.Config, dealer referee.Dealer, logger *slog.Logger) (served *server.Server, address string) {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{URL: config.DatabaseURL, MaxConns: config.MaxConns})
	must(t, err)
	t.Cleanup(s.Close)
	pgtest.KeepBeating(t, s)
	presets, err := referee.LoadPresets()
	must(t, err)
	keys, err := deal.ParseKeyring(config.Keys)
	must(t, err)
	content, err := os.ReadFile(config.TokenFile)
	must(t, err)
	known, err := server.ParseTokens(content)
	must(t, err)
	lis, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", config.Listen)
	must(t, err)
	served = server.New(server.Config{
		Referee: referee.New(s, presets, keys, s.Now).WithDealer(dealer), History: s, Records: s, Ready: s.Ready,
		Versions: s.Versions, Log: tlog.NewLog(s), Access: server.NewAccess(known, nil), Conns: config.MaxConns, Logger: logger,
	})
	ended := make(chan error, 1)
	go func() { ended <- served.Serve(lis) }()
	t.Cleanup(func() {
		limited, cancel := context.WithTimeout(context.Background(), config.DrainTimeout)
		defer cancel()
		served.Drain(limited)
		if err := <-ended; err != nil {
			t.Errorf("serving ended: %v", err)
		}
	})
	return served, lis.Addr().String()
}
