package app

import (
	"context"

	"referee.example/internal/store"
	"referee.example/migrations"
)

// Migrate brings a database's schema up to this binary's and makes the log's
// partitions for the months ahead, so that it is worth running each month. It
// needs the tables' owner. Errors: those of migrations.Up and of the store.
func Migrate(ctx context.Context, url string) error {
	err := migrations.Up(ctx, url)
	if err != nil {
		return err
	}
	opened, err := store.Open(ctx, store.Config{URL: url, MaxConns: 1})
	if err != nil {
		return err
	}
	defer opened.Close()
	_, err = opened.EnsurePartitions(ctx)
	return err
}

// ApplyRoles makes the database roles of the server and of auditors, or brings
// them to what this version needs. It needs a role that may create roles.
func ApplyRoles(ctx context.Context, url string) error {
	opened, err := store.Open(ctx, store.Config{URL: url, MaxConns: 1})
	if err != nil {
		return err
	}
	defer opened.Close()
	return opened.ApplyRoles(ctx)
}
