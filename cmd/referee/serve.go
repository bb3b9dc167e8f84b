package main

import (
	"context"
	"log/slog"

	"referee.example/internal/app"
)

func serve(ctx context.Context, call invocation) error {
	config, err := app.ParseConfig(call.arguments, call.getenv, call.out)
	if err != nil {
		return err
	}
	logger := slog.New(slog.NewJSONHandler(call.err, &slog.HandlerOptions{Level: config.LogLevel}))
	return app.Run(ctx, config, logger)
}
