package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/grpc/metadata"

	"referee.example/internal/app"
	refereev1 "referee.example/proto/referee/v1"
)

// replica is a whole replica on the bench's database, and a platform's connections
// to it.
type replica struct {
	clients []refereev1.MatchServiceClient
	audit   refereev1.AuditServiceClient
	token   string
	ends    []func() // the last first
}

func (r *replica) stop() {
	for i := len(r.ends) - 1; i >= 0; i-- {
		r.ends[i]()
	}
}

// authorized lets calls name the platform's token.
func (r *replica) authorized(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+r.token)
}

// replica starts one that seals, proves, chains and logs. Whoever calls stops it,
// also after an error.
func (b *bench) replica(ctx context.Context) (*replica, error) {
	r := &replica{}
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return r, err
	}
	r.ends = append(r.ends, func() { _ = os.RemoveAll(dir) })
	var file []byte
	r.token, file = app.NewDevToken()
	tokens, logKey := filepath.Join(dir, "tokens.json"), filepath.Join(dir, "log.key")
	if err := errors.Join(os.WriteFile(tokens, file, 0o600), os.WriteFile(logKey, []byte(b.logKey), 0o600)); err != nil {
		return r, err
	}
	log, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return r, err
	}
	r.ends = append(r.ends, func() { _ = log.Close() })
	started, err := app.Start(ctx, app.Config{
		Listen: "127.0.0.1:0", DatabaseURL: b.url, MaxConns: b.maxConns, Sharded: b.sharded, Keys: b.keys, LogKeyFile: logKey,
		TokenFile: tokens, DrainTimeout: 10 * time.Second,
	}, slog.New(slog.NewJSONHandler(log, nil)))
	if err != nil {
		return r, err
	}
	r.ends = append(r.ends, started.Stop)
	open, hangUp, err := dial(started.Addr())
	if err != nil {
		return r, err
	}
	r.ends = append(r.ends, hangUp)
	r.clients, r.audit = matchClients(open), refereev1.NewAuditServiceClient(open[0])
	return r, nil
}
