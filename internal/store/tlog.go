package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"referee.example/internal/tlog"
)

// The log of finished games. Games are queued by a trigger, in the transaction
// that ends them.

var _ tlog.Store = (*Store)(nil)

const (
	sqlLogHead = `SELECT size, root, coalesce(checkpoint, ''), log_epoch(), epoch = log_epoch() FROM log_head`

	sqlPendingGames = `
SELECT f.match_id, f.game, g.head_hash
FROM finished_games f JOIN games g ON g.match_id = f.match_id AND g.game = f.game
ORDER BY f.match_id, f.game LIMIT $1`

	// sqlAppendGames does nothing unless the tree has the size $1. The head's row
	// is locked from then to the commit, which follows at once.
	sqlAppendGames = `
WITH advanced AS (
	UPDATE log_head SET size = $2, root = $3 WHERE size = $1 RETURNING 1
), batch AS MATERIALIZED (
	SELECT e.match_id, e.game, e.head_hash, $1::bigint + e.n - 1 AS position
	FROM unnest($4::uuid[], $5::smallint[], $6::bytea[]) WITH ORDINALITY AS e (match_id, game, head_hash, n)
	WHERE EXISTS (SELECT FROM advanced)
), taken AS (
	DELETE FROM finished_games f USING batch b WHERE f.match_id = b.match_id AND f.game = b.game
), entered AS (
	INSERT INTO log_entries (position, match_id, game, head_hash)
	SELECT position, match_id, game, head_hash FROM batch
), hashed AS (
	INSERT INTO log_hashes (storage_index, hash)
	SELECT $7::bigint + h.n - 1, h.hash FROM unnest($8::bytea[]) WITH ORDINALITY AS h (hash, n)
	WHERE EXISTS (SELECT FROM advanced)
)
SELECT EXISTS (SELECT FROM advanced)`

	// sqlSaveCheckpoint asks for the epoch at the writing: whatever was signed in
	// another one is not kept.
	sqlSaveCheckpoint = `
UPDATE log_head SET signed_size = $1, checkpoint = $2
WHERE $1 <= size AND coalesce(signed_size, 0) <= $1 AND epoch = log_epoch()`
	sqlConfirmLog = `UPDATE log_head SET epoch = $1 WHERE log_epoch() = $1`

	sqlLogHashes = `
SELECT h.hash FROM unnest($1::bigint[]) WITH ORDINALITY AS w (storage_index, n)
JOIN log_hashes h ON h.storage_index = w.storage_index ORDER BY w.n`
	sqlLogPosition = `SELECT position FROM log_entries WHERE match_id = $1 AND game = $2`
	sqlLogEntries  = `
SELECT match_id, game, head_hash FROM log_entries WHERE position >= $1 AND position < $1 + $2::bigint ORDER BY position`
)

// LogHead returns the head of the log of finished games.
func (s *Store) LogHead(ctx context.Context) (h tlog.Head, err error) {
	var root []byte
	err = s.pool.QueryRow(ctx, sqlLogHead).Scan(&h.Size, &root, &h.Checkpoint, &h.Epoch, &h.Confirmed)
	if err != nil {
		return h, wrap("read the log's head", err)
	}
	h.Root = tlog.Hash(root)
	return h, nil
}

// PendingGames returns games that have ended and are not in the log, at most
// limit.
func (s *Store) PendingGames(ctx context.Context, limit int) ([]tlog.Entry, error) {
	return s.entries(ctx, "read finished games", sqlPendingGames, limit)
}

// LogEntries returns count entries of the log from a position on, fewer at its end.
func (s *Store) LogEntries(ctx context.Context, from int64, count int) ([]tlog.Entry, error) {
	return s.entries(ctx, "read the log", sqlLogEntries, from, count)
}

func (s *Store) entries(ctx context.Context, operation, query string, arguments ...any) ([]tlog.Entry, error) {
	rows, err := s.pool.Query(ctx, query, arguments...)
	if err != nil {
		return nil, wrap(operation, err)
	}
	entries, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (e tlog.Entry, err error) {
		var head []byte
		if err = row.Scan(&e.Match, &e.Game, &head); err == nil {
			e.Head = [32]byte(head)
		}
		return e, err
	})
	return entries, wrap(operation, err)
}

// AppendGames lets a batch into the log and takes its games from the queue: all
// of it or nothing. tlog.ErrConflict if the tree has grown meanwhile.
func (s *Store) AppendGames(ctx context.Context, b tlog.Batch) error {
	matches, games, heads := make([]pgtype.UUID, len(b.Entries)), make([]int16, len(b.Entries)), make([][]byte, len(b.Entries))
	for i, e := range b.Entries {
		matches[i], games[i], heads[i] = uuid(e.Match), int16(e.Game), e.Head[:]
	}
	hashes := make([][]byte, len(b.Hashes))
	for i := range b.Hashes {
		hashes[i] = b.Hashes[i][:]
	}
	var advanced bool
	err := s.pool.QueryRow(ctx, sqlAppendGames, b.From, b.To.Size, b.To.Root[:], matches, games, heads, b.First, hashes).Scan(&advanced)
	if err != nil {
		return wrap("log finished games", err)
	}
	if !advanced {
		return tlog.ErrConflict
	}
	return nil
}

// SaveCheckpoint keeps a signed checkpoint as the last. tlog.ErrConflict if this
// database may not be signed in, if the tree is smaller or if a larger one is signed.
func (s *Store) SaveCheckpoint(ctx context.Context, c tlog.Checkpoint) error {
	tag, err := s.pool.Exec(ctx, sqlSaveCheckpoint, c.Size, c.Note)
	return changed("save a checkpoint", tag.RowsAffected(), err)
}

// ConfirmLog lets the log be signed in this database as it is now.
// tlog.ErrConflict if that is no longer the epoch. It needs the owner's rights.
func (s *Store) ConfirmLog(ctx context.Context, epoch string) error {
	tag, err := s.pool.Exec(ctx, sqlConfirmLog, epoch)
	return changed("confirm the log", tag.RowsAffected(), err)
}

func changed(operation string, rows int64, err error) error {
	if err == nil && rows == 0 {
		return tlog.ErrConflict
	}
	return wrap(operation, err)
}

// LogHashes returns hashes of the tree in the order of their storage indexes as
// given; tlog.ErrDamaged if one is missing.
func (s *Store) LogHashes(ctx context.Context, indexes []int64) ([]tlog.Hash, error) {
	rows, err := s.pool.Query(ctx, sqlLogHashes, indexes)
	if err != nil {
		return nil, wrap("read the log's hashes", err)
	}
	hashes, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (tlog.Hash, error) {
		var hash []byte
		err := row.Scan(&hash)
		if err != nil {
			return tlog.Hash{}, err
		}
		return tlog.Hash(hash), nil
	})
	if err == nil && len(hashes) != len(indexes) {
		return nil, fmt.Errorf("read the log's hashes: %w: %d of %d are there", tlog.ErrDamaged, len(hashes), len(indexes))
	}
	return hashes, wrap("read the log's hashes", err)
}

// LogPosition returns the position of a game in the log; tlog.ErrNotLogged.
func (s *Store) LogPosition(ctx context.Context, match [16]byte, game int) (position int64, err error) {
	rows, err := s.pool.Query(ctx, sqlLogPosition, uuid(match), game)
	if err != nil {
		return 0, wrap("find a game in the log", err)
	}
	positions, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return 0, wrap("find a game in the log", err)
	}
	if len(positions) == 0 {
		return 0, tlog.ErrNotLogged
	}
	return positions[0], nil
}
