package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"referee.example/internal/referee"
)

// eventColumns are the log's columns but for match_id, in the order in which
// eventArrays gives and scanEvent takes them.
const eventColumns = `game, seq, ply, event_time, principal, seat, kind, action_kind, from_square, to_square,
	turned, captured, request_id, clocks, client_hash, detail, hash`

// newEvents are the numbers i of the events to be logged, and newEvent is the i-th:
// a row of the arrays in the parameters $2 to $18. To unnest that many arrays costs
// more than all else that a statement does for an event.
const (
	newEvents = `generate_subscripts($2::smallint[], 1) AS i`
	newEvent  = `($2::smallint[])[i], ($3::integer[])[i], ($4::integer[])[i], ($5::timestamptz[])[i], ($6::integer[])[i],
	($7::smallint[])[i], ($8::smallint[])[i], ($9::smallint[])[i], ($10::smallint[])[i], ($11::smallint[])[i],
	($12::smallint[])[i], ($13::smallint[])[i], ($14::uuid[])[i], ($15::bytea[])[i], ($16::bytea[])[i], ($17::bytea[])[i],
	($18::bytea[])[i]`
	// theEvent is the one event in the parameters $2 to $18.
	theEvent = `$2::smallint, $3::integer, $4::integer, $5::timestamptz, $6::integer, $7::smallint, $8::smallint, $9::smallint,
	$10::smallint, $11::smallint, $12::smallint, $13::smallint, $14::uuid, $15::bytea, $16::bytea, $17::bytea, $18::bytea`
)

const (
	sqlAddEvents = `INSERT INTO events (match_id, ` + eventColumns + `)
SELECT $1, ` + newEvent + ` FROM ` + newEvents
	sqlEvents = `SELECT ` + eventColumns + ` FROM events
WHERE match_id = $1 AND game = $2 AND seq >= $3 ORDER BY seq LIMIT $4`
	sqlEventsBetween = `SELECT ` + eventColumns + ` FROM events
WHERE match_id = $1 AND (game, seq) >= ($2, $3) AND (game, seq) <= ($4, $5) ORDER BY game, seq LIMIT $6`
	// The event of a ply is that of a player (3) or of the server (4). Its seq is
	// at least its ply, since each ply takes one.
	sqlPlyEvent = `SELECT ` + eventColumns + ` FROM events
WHERE match_id = $1 AND game = $2 AND seq >= $3 AND ply = $3 AND kind IN (3, 4) ORDER BY seq LIMIT 1`
	sqlRequestEvent = `SELECT ` + eventColumns + ` FROM events
WHERE match_id = $1 AND game = $2 AND seq >= $3 AND request_id IS NOT NULL ORDER BY seq LIMIT 1`
	sqlAttached = `SELECT EXISTS (SELECT FROM pg_inherits WHERE inhparent = 'events'::regclass
	AND NOT inhdetachpending AND inhrelid = to_regclass(events_partition($1)))`
	sqlRequests = `SELECT seq, request_id FROM events WHERE match_id = $1 AND game = $2 AND seq > $3 ORDER BY seq`
)

// Events returns a game's events from seq on, at most limit, in order. Like the
// others here it returns referee.ErrDetached where the match's month was detached.
func (s *Store) Events(ctx context.Context, id referee.ID, game, seq, limit int) ([]referee.Event, error) {
	return s.events(ctx, id, sqlEvents, game, seq, limit)
}

// EventsBetween returns the events from one place in the logs of a match's games to
// another, both included, at most limit, in order.
func (s *Store) EventsBetween(ctx context.Context, id referee.ID, from, to referee.EventPlace, limit int) ([]referee.Event, error) {
	return s.events(ctx, id, sqlEventsBetween, from.Game, from.Seq, to.Game, to.Seq, limit)
}

// PlyEvent returns the event of a game's ply; referee.ErrNotFound if there is none.
func (s *Store) PlyEvent(ctx context.Context, id referee.ID, game, ply int) (referee.Event, error) {
	return first(s.events(ctx, id, sqlPlyEvent, game, ply))
}

// RequestEvent returns a game's first event with a request id from seq on;
// referee.ErrNotFound if there is none.
func (s *Store) RequestEvent(ctx context.Context, id referee.ID, game, seq int) (referee.Event, error) {
	return first(s.events(ctx, id, sqlRequestEvent, game, seq))
}

// HasRequest reports whether any event of the game, up to that of a seq at least, has
// the request id. The log has no index for this: what this replica does not remember
// of it is read.
func (s *Store) HasRequest(ctx context.Context, id referee.ID, game, through int, request referee.ID) (bool, error) {
	has, known := s.known.requests.look(id, game, request)
	if !has && known >= through {
		return false, nil
	}
	if has {
		known = 0 // a standby that was promoted may have lost it: it is looked for in the whole log
	}
	rows, err := s.pool.Query(ctx, sqlRequests, uuid(id), game, known)
	if err != nil {
		return false, wrap("look for a request", err)
	}
	read, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (e requestEvent, err error) {
		var request pgtype.UUID
		err = row.Scan(&e.seq, &request)
		e.request = request.Bytes
		return e, err
	})
	if err != nil {
		return false, wrap("look for a request", err)
	}
	s.known.requests.learn(id, game, known, read)
	return slices.ContainsFunc(read, func(e requestEvent) bool { return e.request == request }), nil
}

func first(events []referee.Event, err error) (referee.Event, error) {
	if err != nil {
		return referee.Event{}, err
	}
	if len(events) == 0 {
		return referee.Event{}, referee.ErrNotFound
	}
	return events[0], nil
}

func (s *Store) events(ctx context.Context, id referee.ID, query string, numbers ...any) ([]referee.Event, error) {
	rows, err := s.pool.Query(ctx, query, append([]any{uuid(id)}, numbers...)...)
	if err != nil {
		return nil, wrap("read events", err)
	}
	events, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (referee.Event, error) {
		return scanEvent(row, id)
	})
	if err == nil && len(events) == 0 {
		err = s.attached(ctx, id)
	}
	return events, wrap("read events", err)
}

// attached returns referee.ErrDetached if the log has no partition for a match.
// It is asked only where a match has no events.
func (s *Store) attached(ctx context.Context, id referee.ID) error {
	var is bool
	err := s.pool.QueryRow(ctx, sqlAttached, timestamp(timeOf(id))).Scan(&is)
	if err == nil && !is {
		return referee.ErrDetached
	}
	return err
}

func scanEvent(row pgx.CollectableRow, id referee.ID) (referee.Event, error) {
	e := referee.Event{Match: id}
	var at time.Time
	var request pgtype.UUID
	var hash []byte
	err := row.Scan(&e.Game, &e.Seq, &e.Ply, &at, &e.Principal, &e.Seat, &e.Kind,
		&e.Action.Kind, &e.Action.From, &e.Action.To, &e.Turned, &e.Captured,
		&request, &e.Clocks, &e.ClientHash, &e.Detail, &hash)
	if err != nil {
		return e, err
	}
	if len(hash) != len(e.Hash) {
		return e, &referee.UnreadableError{Table: "events", Column: "hash", Problem: fmt.Sprintf("%d bytes", len(hash))}
	}
	e.Time, e.RequestID, e.Hash = instant(at), request.Bytes, [32]byte(hash)
	e.Clocks, e.ClientHash, e.Detail = orNil(e.Clocks), orNil(e.ClientHash), orNil(e.Detail)
	return e, nil
}

// eventArrays are the parameters from $2 on that newEvents stands on: a column
// an array.
func eventArrays(events []referee.Event) []any {
	return []any{
		column(events, func(e *referee.Event) int16 { return int16(e.Game) }),
		column(events, func(e *referee.Event) int32 { return int32(e.Seq) }),
		column(events, func(e *referee.Event) int32 { return int32(e.Ply) }),
		column(events, func(e *referee.Event) time.Time { return timestamp(e.Time) }),
		column(events, func(e *referee.Event) int32 { return e.Principal }),
		column(events, func(e *referee.Event) int16 { return int16(e.Seat) }),
		column(events, func(e *referee.Event) int16 { return int16(e.Kind) }),
		column(events, func(e *referee.Event) int16 { return int16(e.Action.Kind) }),
		column(events, func(e *referee.Event) int16 { return int16(e.Action.From) }),
		column(events, func(e *referee.Event) int16 { return int16(e.Action.To) }),
		column(events, func(e *referee.Event) int16 { return int16(e.Turned) }),
		column(events, func(e *referee.Event) int16 { return int16(e.Captured) }),
		column(events, func(e *referee.Event) pgtype.UUID { return uuidOrNull(e.RequestID) }),
		column(events, func(e *referee.Event) []byte { return notNull(e.Clocks) }),
		column(events, func(e *referee.Event) []byte { return notNull(e.ClientHash) }),
		column(events, func(e *referee.Event) []byte { return notNull(e.Detail) }),
		column(events, func(e *referee.Event) []byte { return e.Hash[:] }),
	}
}

// eventValues are the parameters from $2 on that theEvent is.
func eventValues(e *referee.Event) []any {
	return []any{
		int16(e.Game), int32(e.Seq), int32(e.Ply), timestamp(e.Time), e.Principal, int16(e.Seat), int16(e.Kind),
		int16(e.Action.Kind), int16(e.Action.From), int16(e.Action.To), int16(e.Turned), int16(e.Captured),
		uuidOrNull(e.RequestID), notNull(e.Clocks), notNull(e.ClientHash), notNull(e.Detail), e.Hash[:],
	}
}

// column is a column of the events. pgx writes a FlatArray without reflection.
func column[T any](events []referee.Event, value func(*referee.Event) T) pgtype.FlatArray[T] {
	values := make(pgtype.FlatArray[T], len(events))
	for i := range events {
		values[i] = value(&events[i])
	}
	return values
}
