package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"referee.example/internal/tlog"
)

// The log of finished games. Games are queued by a trigger, in the transaction
// that ends them, and compensations in the one that makes them.

var _ tlog.Store = (*Store)(nil)

const (
	sqlLogHead = `SELECT size, root, coalesce(checkpoint, ''), coalesce(signed_size, 0), log_epoch(), epoch = log_epoch(), clock_timestamp()
FROM log_head`

	// sqlPendingGames reads both queues, each by its key. What has an entry already
	// is told apart, since it must not get a second one. Games and entries are looked
	// up one by one: statistics of a queue say nothing, and by them all would be read.
	sqlPendingGames = `
SELECT match_id, game, head_hash, ended_at, logged FROM ((
	SELECT c.match_id, 0::smallint AS game, c.head_hash, NULL::timestamptz AS ended_at, l.position IS NOT NULL AS logged
	FROM made_compensations c
	LEFT JOIN LATERAL (SELECT position FROM log_entries
		WHERE match_id = c.match_id AND game = 0 AND head_hash = c.head_hash LIMIT 1) l ON true
	ORDER BY c.match_id, c.game LIMIT $1
) UNION ALL (
	SELECT f.match_id, f.game, g.head_hash, g.ended_at, l.position IS NOT NULL AS logged
	FROM finished_games f
	CROSS JOIN LATERAL (SELECT head_hash, ended_at FROM games
		WHERE match_id = f.match_id AND game = f.game AND head_hash IS NOT NULL LIMIT 1) g
	LEFT JOIN LATERAL (SELECT position FROM log_entries WHERE match_id = f.match_id AND game = f.game LIMIT 1) l ON true
	ORDER BY f.match_id, f.game LIMIT $1
)) AS p LIMIT $1`

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
), taken_compensations AS (
	DELETE FROM made_compensations c USING batch b
	WHERE b.game = 0 AND c.match_id = b.match_id AND c.head_hash = b.head_hash
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

// LogHead returns the head of the log of finished games; tlog.ErrDamaged if there
// is none or its root is no hash.
func (s *Store) LogHead(ctx context.Context) (h tlog.Head, err error) {
	var root []byte
	err = s.pool.QueryRow(ctx, sqlLogHead).Scan(&h.Size, &root, &h.Checkpoint, &h.SignedSize, &h.Epoch, &h.Confirmed, &h.Now)
	if errors.Is(err, pgx.ErrNoRows) {
		return h, tlog.ErrNoHead
	}
	if err == nil {
		h.Root, err = hashOf(root)
	}
	return h, wrap("read the log's head", err)
}

// hashOf reads a hash of the log; tlog.ErrDamaged for other bytes.
func hashOf(b []byte) (h tlog.Hash, err error) {
	if len(b) != len(h) {
		return h, fmt.Errorf("%w: a hash has %d bytes", tlog.ErrDamaged, len(b))
	}
	return tlog.Hash(b), nil
}

// PendingGames returns games that have ended, and compensations that were made,
// and are not in the log, at most limit, and those that are in it all the same.
func (s *Store) PendingGames(ctx context.Context, limit int) ([]tlog.Pending, error) {
	rows, err := s.pool.Query(ctx, sqlPendingGames, limit)
	if err != nil {
		return nil, wrap("read finished games", err)
	}
	pending, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p tlog.Pending, err error) {
		var head []byte
		var ended *time.Time
		if err = row.Scan(&p.Match, &p.Game, &head, &ended, &p.Logged); err != nil {
			return p, err
		}
		if ended != nil {
			p.Ended = *ended
		}
		h, err := hashOf(head)
		p.Head = h
		return p, err
	})
	return pending, wrap("read finished games", err)
}

// LogEntries returns count entries of the log from a position on, fewer at its end.
func (s *Store) LogEntries(ctx context.Context, from int64, count int) ([]tlog.Entry, error) {
	rows, err := s.pool.Query(ctx, sqlLogEntries, from, count)
	if err != nil {
		return nil, wrap("read the log", err)
	}
	entries, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (e tlog.Entry, err error) {
		var head []byte
		if err = row.Scan(&e.Match, &e.Game, &head); err != nil {
			return e, err
		}
		h, err := hashOf(head)
		e.Head = h
		return e, err
	})
	return entries, wrap("read the log", err)
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
		if err := row.Scan(&hash); err != nil {
			return tlog.Hash{}, err
		}
		return hashOf(hash)
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
