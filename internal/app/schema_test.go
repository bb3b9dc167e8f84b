package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"referee.example/internal/pgtest"
	"referee.example/migrations"
	refereev1 "referee.example/proto/referee/v1"
)

// atSchema makes a database as the binary of an earlier schema left it.
func atSchema(t *testing.T, version uint) string {
	t.Helper()
	url := pgtest.NewEmpty(t).URL
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	names, err := fs.Glob(migrations.FS, "*.up.sql")
	if err != nil {
		t.Fatal(err)
	}
	statements := []string{`CREATE TABLE schema_migrations (version bigint NOT NULL PRIMARY KEY, dirty boolean NOT NULL)`}
	for _, name := range names { // in order, as Glob lists
		if name[:6] > fmt.Sprintf("%06d", version) {
			continue
		}
		content, err := fs.ReadFile(migrations.FS, name)
		if err != nil {
			t.Fatal(err)
		}
		statements = append(statements, string(content))
	}
	statements = append(statements, fmt.Sprintf(`INSERT INTO schema_migrations VALUES (%d, false)`, version))
	for _, statement := range statements {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	return url
}

// TestEverySchemaBefore starts this binary on each earlier schema: it refuses, says what
// to do, and serves once that was done.
func TestEverySchemaBefore(t *testing.T) {
	newest := migrations.Newest()
	for version := uint(1); version < newest; version++ {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			tt := newTable(t)
			tt.config.DatabaseURL = atSchema(t, version)
			var refused *SchemaError
			a, err := Start(t.Context(), tt.config, slog.New(slog.DiscardHandler))
			if err == nil {
				a.Stop()
			}
			want := fmt.Sprintf("the database has schema %d and this binary needs %d: run `referee migrate`", version, newest)
			if !errors.As(err, &refused) || refused.Version != version || !strings.Contains(err.Error(), want) {
				t.Fatalf("started: %v", err)
			}
			if is, dirty, err := migrations.Version(t.Context(), tt.config.DatabaseURL); is != version || dirty || err != nil {
				t.Errorf("the schema was touched: %d, dirty %t, %v", is, dirty, err)
			}
			if err := Migrate(t.Context(), tt.config.DatabaseURL); err != nil {
				t.Fatal(err)
			}
			a = tt.start(t, slog.New(slog.DiscardHandler))
			defer a.Stop()
			ctx, client := tt.context(t), refereev1.NewMatchServiceClient(dial(t, a))
			startGame(ctx, t, client, create(ctx, t, client, preset("7club-standard")).GetGame())
		})
	}
}

// TestSchemaOnItsWay starts on schemas that are marked as half migrated: on the way to
// this binary's it refuses, on the way to a later one it serves.
func TestSchemaOnItsWay(t *testing.T) {
	tt := newTable(t)
	conn, err := pgx.Connect(t.Context(), tt.config.DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	for ahead, serves := range map[int]bool{-1: false, 0: false, 1: true, 2: true} {
		if _, err := conn.Exec(t.Context(), `UPDATE schema_migrations SET version = $1, dirty = true`, int(migrations.Newest())+ahead); err != nil {
			t.Fatal(err)
		}
		a, err := Start(t.Context(), tt.config, slog.New(slog.DiscardHandler))
		if err == nil {
			a.Stop()
		}
		var refused *SchemaError
		if (err == nil) != serves || err != nil && (!errors.As(err, &refused) || !refused.Dirty) {
			t.Errorf("%d ahead: %v", ahead, err)
		}
	}
}
