package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"referee.example/internal/referee"
)

var (
	errBadURL = errors.New("the database URL is malformed")
	// errRuleset means that a stored ruleset is not the one its hash names.
	errRuleset = errors.New("the stored ruleset does not compile to its hash")
)

// SQLSTATE codes, from Postgres's appendix A; those of class RF are this
// schema's own.
const (
	codeUniqueViolation  = "23505"
	codeSerialization    = "40001"
	codeDeadlock         = "40P01"
	codeLockNotAvailable = "55P03"
	codeNotSaved         = "RF00" // and the verdict
	classConnection      = "08"
)

// codesUnavailable: the server is shutting down, crashed, is starting, or has no
// connection left.
var codesUnavailable = []string{"57P01", "57P02", "57P03", "53300"}

// Verdicts of a guarded commit, as its statement gives them.
const (
	verdictSaved    = 0
	verdictConflict = 1
	verdictTooLate  = 2
	verdictTooEarly = 3
	verdictMissing  = 4
)

// verdictError returns what a commit's verdict means to the referee.
func verdictError(verdict int) error {
	switch verdict {
	case verdictSaved:
		return nil
	case verdictConflict:
		return referee.ErrConflict
	case verdictTooLate:
		return referee.ErrTooLate
	case verdictTooEarly:
		return referee.ErrTooEarly
	case verdictMissing:
		return referee.ErrNotFound
	}
	return fmt.Errorf("unknown verdict %d of a commit", verdict)
}

// postgresError is what this package shows of an error of Postgres. Its detail
// is left out, because it quotes rows.
type postgresError struct{ Code, Constraint, Message string }

func (e *postgresError) Error() string {
	if e.Constraint == "" {
		return fmt.Sprintf("%s (SQLSTATE %s)", e.Message, e.Code)
	}
	return fmt.Sprintf("%s (SQLSTATE %s, constraint %s)", e.Message, e.Code, e.Constraint)
}

// wrap says in which operation an error arose and turns those that mean
// something to the referee into its own.
func wrap(operation string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("%s: %w", operation, referee.ErrNotFound)
	}
	if unavailable(err) {
		return fmt.Errorf("%s: %w: %w", operation, referee.ErrUnavailable, cause(err))
	}
	var failed *pgconn.PgError
	if !errors.As(err, &failed) {
		return fmt.Errorf("%s: %w", operation, err)
	}
	if known := knownError(failed); known != nil {
		return fmt.Errorf("%s: %w", operation, known)
	}
	return fmt.Errorf("%s: %w", operation, cause(err))
}

// cause is what may be shown of an error.
func cause(err error) error {
	var failed *pgconn.PgError
	if errors.As(err, &failed) {
		return &postgresError{failed.Code, failed.ConstraintName, failed.Message}
	}
	return err
}

// unavailable reports whether the database could not be reached, went away in the
// middle, or did something that no standby may have: the same call may go through
// later, and if it was a commit, its request id tells what became of it.
func unavailable(err error) bool {
	var failed *pgconn.PgError
	if errors.As(err, &failed) {
		return slices.Contains(codesUnavailable, failed.Code) || strings.HasPrefix(failed.Code, classConnection)
	}
	if errors.Is(err, errNotReplicated) || errors.Is(err, errUnproven) || errors.Is(err, pgconn.ErrConnClosed) {
		return true
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	var connecting *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &connecting) || errors.As(err, &network) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || pgconn.SafeToRetry(err)
}

// knownError returns what the error means to the referee, nil for nothing. In
// each of these cases the transaction has changed nothing.
func knownError(failed *pgconn.PgError) error {
	switch failed.Code {
	case codeSerialization, codeDeadlock, codeLockNotAvailable:
		return referee.ErrConflict
	case codeUniqueViolation:
		switch failed.ConstraintName {
		case "external_refs_pkey":
			return referee.ErrRefTaken
		case "create_requests_pkey", "matches_pkey", "match_states_pkey":
			return referee.ErrConflict
		}
	}
	if len(failed.Code) == 5 && failed.Code[:4] == codeNotSaved {
		return verdictError(int(failed.Code[4] - '0'))
	}
	return nil
}
