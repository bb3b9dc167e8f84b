package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"referee.example/internal/referee"
)

func TestUnavailable(t *testing.T) {
	cases := []struct {
		name string
		err  error
		want bool
	}{
		{"shutting down", &pgconn.PgError{Code: "57P01"}, true},
		{"crashed", &pgconn.PgError{Code: "57P02"}, true},
		{"starting", &pgconn.PgError{Code: "57P03"}, true},
		{"too many connections", &pgconn.PgError{Code: "53300"}, true},
		{"connection failure", &pgconn.PgError{Code: "08006"}, true},
		{"connection cut", fmt.Errorf("receive: %w", io.ErrUnexpectedEOF), true},
		{"a connection that was closed before", fmt.Errorf("execute: %w", pgconn.ErrConnClosed), true},
		{"statement timeout", &pgconn.PgError{Code: "57014"}, false},
		{"check violated", &pgconn.PgError{Code: "23514"}, false},
		{"the caller went away", context.Canceled, false},
		{"the call's deadline", fmt.Errorf("query: %w", context.DeadlineExceeded), false},
		{"a fault", errors.New("no such column"), false},
	}
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			if got := errors.Is(wrap("test", tt.err), referee.ErrUnavailable); got != tt.want {
				t.Fatalf("unavailable: %v, want %v", got, tt.want)
			}
		})
	}
}

func TestErrorsDoNotQuoteRows(t *testing.T) {
	err := wrap("test", &pgconn.PgError{Code: "23514", Message: "violated", Detail: "Failing row contains (secret)."})
	if want := "test: violated (SQLSTATE 23514)"; err.Error() != want {
		t.Fatalf("%q, want %q", err, want)
	}
}
