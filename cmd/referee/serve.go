package main

import (
	"context"
	"log/slog"
	"time"

	"referee.example/internal/app"
	"referee.example/internal/telemetry"
)

// telemetryTimeout bounds the sending of the last spans, once nothing runs any more.
const telemetryTimeout = 5 * time.Second

func serve(ctx context.Context, call invocation) error {
	config, err := app.ParseConfig("serve", call.arguments, call.getenv, call.out)
	if err != nil {
		return err
	}
	logger := slog.New(slog.NewJSONHandler(call.err, &slog.HandlerOptions{Level: config.LogLevel}))
	release, _ := build()
	measured, err := telemetry.Start(ctx, release, call.getenv)
	if err != nil {
		return err
	}
	defer func() {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), telemetryTimeout)
		defer cancel()
		if err := measured.Stop(limited); err != nil {
			logger.Warn("the last measurements could not be sent", "error", err)
		}
	}()
	config.Metrics = measured.Handler()
	return app.Run(ctx, config, logger)
}
