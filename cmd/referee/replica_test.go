package main

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"referee.example/internal/app"
	"referee.example/internal/demo"
	"referee.example/internal/pgtest"
	refereev1 "referee.example/proto/referee/v1"
)

// replica is a running one whose log may be signed, as an operator set it up.
type replica struct {
	t           *testing.T
	app         *app.App
	config      app.Config
	conn        *grpc.ClientConn
	environment map[string]string // with the database and a token of every scope
	logKey      string            // public
	url         string            // of the database
}

func newReplica(t *testing.T) *replica {
	t.Helper()
	r := &replica{t: t, url: pgtest.New(t).URL}
	secret := filepath.Join(t.TempDir(), "log.key")
	made := call(t.Context(), nil, "log", "key", "--name", "referee.example/log", secret)
	r.logKey = string(bytes.TrimSpace([]byte(made.out)))
	token, tokens := app.NewDevToken()
	r.environment = map[string]string{databaseVariable: r.url, "REFEREE_TOKEN": token}
	r.must("migrate")
	// The test's database is a copy of another, which may sign nothing unasked.
	r.must("log", "confirm", "--none", "--log-key", r.logKey)
	r.config = app.Config{Listen: "127.0.0.1:0", DatabaseURL: r.url, MaxConns: 8, Keys: app.NewKey("test"),
		LogKeyFile: secret, TokenFile: file(t, tokens), DrainTimeout: 10 * time.Second}
	r.start()
	t.Cleanup(r.stop)
	return r
}

// must runs a command that has to succeed.
func (r *replica) must(arguments ...string) called {
	r.t.Helper()
	got := call(r.t.Context(), r.environment, arguments...)
	if got.code != exitDone {
		r.t.Fatalf("%v: exit code %d\n%s%s", arguments, got.code, got.out, got.err)
	}
	return got
}

func (r *replica) start() {
	r.t.Helper()
	var err error
	if r.app, err = app.Start(r.t.Context(), r.config, slog.New(slog.DiscardHandler)); err != nil {
		r.t.Fatal(err)
	}
	r.conn, err = grpc.NewClient(r.app.Addr(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithPerRPCCredentials(bearer(r.environment["REFEREE_TOKEN"])))
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *replica) stop() {
	if r.app != nil {
		_ = r.conn.Close() // its answers have been read
		r.app.Stop()
		r.app = nil
	}
}

// play plays a match and waits until its games are in the log, or not if logged
// is false.
func (r *replica) play(seed uint64, logged bool) *refereev1.Match {
	r.t.Helper()
	match, err := demo.Play(r.t.Context(), r.conn, demo.Options{Out: &bytes.Buffer{}, Seed: seed})
	if err != nil {
		r.t.Fatal(err)
	}
	if logged {
		awaitLogged(r.t, refereev1.NewAuditServiceClient(r.conn), match.GetMatchId(), match.GetGames()[len(match.GetGames())-1].GetGame())
	}
	return match
}

// export is a call of the command with what every export needs.
func (r *replica) export(arguments ...string) []string {
	return append([]string{"export", "--addr", r.app.Addr()}, arguments...)
}
