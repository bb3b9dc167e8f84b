package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"referee.example/internal/app"
	refereev1 "referee.example/proto/referee/v1"
)

// servedConnections is how many a platform's backend has open to a replica.
const servedConnections = 4

// served is a whole replica on the bench's database, and a platform's connections
// to it.
type served struct {
	clients []refereev1.MatchServiceClient
	audit   refereev1.AuditServiceClient
	token   string
	ends    []func() // the last first
}

func (r *served) stop() {
	for i := len(r.ends) - 1; i >= 0; i-- {
		r.ends[i]()
	}
}

// authorized lets calls name the platform's token.
func (r *served) authorized(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+r.token)
}

// serve starts one that seals, proves, chains and logs. Whoever calls stops it,
// also after an error.
func (b *bench) serve(ctx context.Context) (*served, error) {
	r := &served{}
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
	for range servedConnections {
		conn, err := grpc.NewClient(started.Addr(), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return r, err
		}
		r.ends = append(r.ends, func() { _ = conn.Close() })
		r.clients, r.audit = append(r.clients, refereev1.NewMatchServiceClient(conn)), refereev1.NewAuditServiceClient(conn)
	}
	return r, nil
}
