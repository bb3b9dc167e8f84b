package history

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"referee.example/internal/clock"
	"referee.example/internal/referee"
	"referee.example/internal/store"
)

// MoveBytes is what a move takes on disk, a row in the log and its index entries,
// in bytes.
type MoveBytes struct {
	Moves int64
	Heap  float64
	// Index is that of the key as play leaves it: matches that are played at the
	// same time split its pages in their middle. Packed is the same after REINDEX.
	Index, Packed float64
	// JSON is a move as a JSON document under the same key, its index included.
	JSON float64
}

// sqlMoves copies the moves of the games that were played, as if so many matches
// were played at the same time: in the order of their numbers, so that the keys of
// the matches come in turns.
const sqlMoves = `
CREATE SCHEMA measured;
CREATE TABLE measured.events (LIKE public.events INCLUDING ALL);
CREATE TABLE measured.documents (match_id uuid NOT NULL, game smallint NOT NULL, seq integer NOT NULL, payload jsonb NOT NULL,
	PRIMARY KEY (match_id, game, seq));
CREATE TEMP TABLE turns AS
SELECT e.*, md5(e.match_id::text || n)::uuid AS copy_id, gen_random_uuid() AS copy_request, sha256(convert_to(n || e.hash::text, 'UTF8')) AS copy_hash
FROM public.events e CROSS JOIN generate_series(1, %d) n WHERE e.kind = 3;
INSERT INTO measured.events (match_id, event_time, seq, ply, principal, game, seat, kind, action_kind, from_square, to_square,
	turned, captured, request_id, clocks, client_hash, detail, hash)
SELECT copy_id, event_time, seq, ply, principal, game, seat, kind, action_kind, from_square, to_square,
	turned, captured, copy_request, clocks, client_hash, detail, copy_hash
FROM turns ORDER BY game, seq, copy_id;
INSERT INTO measured.documents (match_id, game, seq, payload)
SELECT copy_id, game, seq, jsonb_build_object('time', event_time, 'ply', ply, 'principal', principal, 'seat', seat, 'kind', kind,
	'action', jsonb_build_object('kind', action_kind, 'from', from_square, 'to', to_square), 'turned', turned, 'captured', captured,
	'request_id', copy_request, 'clocks', encode(clocks, 'base64'), 'hash', encode(copy_hash, 'base64'))
FROM turns ORDER BY game, seq, copy_id`

// MeasureMoves plays three matches on a migrated database and measures what their
// moves take on disk, all indexes counted, when so many copies of each are played
// at a time.
func MeasureMoves(ctx context.Context, url string, copies int) (b MoveBytes, err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return b, err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	s, err := store.Open(ctx, store.Config{URL: url, MaxConns: 2})
	if err != nil {
		return b, err
	}
	defer s.Close()
	presets, err := referee.LoadPresets()
	if err != nil {
		return b, err
	}
	now, err := s.Now()
	if err != nil {
		return b, err
	}
	for seed := range uint64(3) {
		t, err := newTable(s, seed, now-clock.Time(seed+1)*86_400*second)
		if err != nil {
			return b, err
		}
		if _, _, err := t.play(ctx, presets.Get(Ruleset), byRules); err != nil {
			return b, err
		}
	}
	if err := conn.PgConn().Exec(ctx, fmt.Sprintf(sqlMoves, copies)).Close(); err != nil {
		return b, err
	}
	err = conn.QueryRow(ctx, `SELECT count(*), pg_table_size('measured.events')::float8 / count(*),
		pg_indexes_size('measured.events')::float8 / count(*), pg_total_relation_size('measured.documents')::float8 / count(*)
		FROM measured.events`).Scan(&b.Moves, &b.Heap, &b.Index, &b.JSON)
	if err != nil {
		return b, err
	}
	if _, err := conn.Exec(ctx, `REINDEX TABLE measured.events`); err != nil {
		return b, err
	}
	var packed int64
	err = conn.QueryRow(ctx, `SELECT pg_indexes_size('measured.events')`).Scan(&packed)
	b.Packed = float64(packed) / float64(b.Moves)
	return b, err
}
