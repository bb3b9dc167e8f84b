package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"referee.example/internal/referee"
	"referee.example/internal/tlog"
)

// The whole log of finished games, read against itself and against the games. It
// is read page by page, without a lock or a transaction that lasts: what has once
// been logged never changes, and each statement sees one instant.

const (
	auditPage = 1000

	// matchesInAudit is how many matches are looked through for moves in an outage.
	matchesInAudit = 10_000

	// lateInLog is how much later than games before it in the log a game may have
	// ended the other way round without being counted as late.
	lateInLog = 10 * time.Minute

	sqlAuditHead = `
SELECT h.size, h.root, coalesce(h.checkpoint, ''), coalesce(h.signed_size, 0),
	(SELECT coalesce(max(position) + 1, 0) FROM log_entries), (SELECT coalesce(max(storage_index) + 1, 0) FROM log_hashes)
FROM (VALUES (1)) AS one (n) LEFT JOIN log_head h ON true`

	// sqlAuditEntries has beside each entry what it must be of: the game's row and
	// the hash of its last event, or the event of the log of compensations.
	sqlAuditEntries = `
SELECT e.position, e.match_id, e.game, e.head_hash, coalesce(g.status, 0), g.ended_at, g.head_hash, CASE WHEN e.game > 0 THEN (
	SELECT v.hash FROM events v WHERE v.match_id = e.match_id AND v.game = e.game ORDER BY v.seq DESC LIMIT 1
) ELSE (
	SELECT v.hash FROM events v WHERE v.match_id = e.match_id AND v.game = 0 AND v.hash = e.head_hash LIMIT 1
) END
FROM log_entries e LEFT JOIN games g ON g.match_id = e.match_id AND g.game = e.game
WHERE e.position >= $1 AND e.position < $1 + $2::bigint ORDER BY e.position`

	sqlAuditHashes = `
SELECT storage_index, hash FROM log_hashes WHERE storage_index >= $1 AND storage_index < $2 ORDER BY storage_index`

	// sqlAuditGames tells of each ended game how many entries it has, whether it is
	// queued, and of its compensation whether there is one (1), with an entry at or
	// after it (2), or queued (3).
	sqlAuditGames = `
SELECT g.match_id, g.game, (SELECT count(*) FROM log_entries l WHERE l.match_id = g.match_id AND l.game = g.game),
	EXISTS (SELECT FROM finished_games f WHERE f.match_id = g.match_id AND f.game = g.game),
	CASE WHEN s.match_id IS NULL THEN 0
	WHEN EXISTS (SELECT FROM made_compensations c WHERE c.match_id = g.match_id AND c.game = g.game) THEN 3
	WHEN EXISTS (SELECT FROM log_entries l JOIN events v ON v.match_id = l.match_id AND v.game = 0 AND v.hash = l.head_hash
		WHERE l.match_id = g.match_id AND l.game = 0 AND v.event_time >= s.settled_at) THEN 2
	ELSE 1 END
FROM games g LEFT JOIN settlements s ON s.match_id = g.match_id AND s.game = g.game AND s.compensates
WHERE (g.match_id, g.game) > ($1, $2::smallint) AND g.status = 4 ORDER BY g.match_id, g.game LIMIT $3`

	sqlAuditQueue = `
SELECT f.match_id, f.game FROM finished_games f LEFT JOIN games g ON g.match_id = f.match_id AND g.game = f.game
WHERE g.status IS DISTINCT FROM 4 ORDER BY f.match_id, f.game LIMIT $1`

	sqlAuditOutages = `SELECT from_at, until_at FROM outages ORDER BY until_at`

	// sqlMovesInOutage counts what sqlMoveInOutage looks for.
	sqlMovesInOutage = `
SELECT count(*), min(v.event_time) FROM (
	SELECT match_id, ruleset_hash FROM matches WHERE match_id < first_match_id($2) ORDER BY match_id DESC LIMIT $3
) m JOIN events v ON v.match_id = m.match_id
WHERE v.kind = 3 AND v.principal <> 0 AND v.event_time > $1::timestamptz + interval '3 seconds' AND v.event_time < $2` + clockRuns
)

// AuditSummary is what an audit of the log went over.
type AuditSummary struct {
	Entries int64 // of the log
	Games   int64 // that have ended
	Waiting int64 // of these, not in the log yet
	// Late counts entries of games that ended well before games that entered the
	// log earlier, as after a time in which the log was held up; FirstLate is the
	// position of the first.
	Late, FirstLate int64
}

// logAudit is one audit under way.
type logAudit struct {
	AuditSummary
	store *Store
	tree  *tlog.Audit
	// newest is when the game that ended last of those read so far did.
	newest time.Time
}

// AuditLog reads the whole log and tells a of every fault: of the tree, of entries
// that are no ended game's, of games and compensations without one entry, and of
// interventions whose operator is not whom the log names.
// progress is told after each page how many positions of how many are done. The
// roles of auditors may do it.
func (s *Store) AuditLog(ctx context.Context, a *tlog.Audit, progress func(done, of int64)) (AuditSummary, error) {
	run := &logAudit{store: s, tree: a}
	err := run.positions(ctx, progress)
	if err == nil {
		err = run.games(ctx)
	}
	if err == nil {
		err = run.queue(ctx)
	}
	if err == nil {
		err = run.principals(ctx)
	}
	return run.AuditSummary, wrap("audit the log", err)
}

// head reads and judges the head, and returns how many positions there are to read.
func (r *logAudit) head(ctx context.Context) (int64, error) {
	var size *int64
	var root []byte
	var h tlog.Head
	var entries, hashes int64
	err := r.store.pool.QueryRow(ctx, sqlAuditHead).Scan(&size, &root, &h.Checkpoint, &h.SignedSize, &entries, &hashes)
	if err != nil {
		return 0, err
	}
	if size == nil {
		r.tree.Find(tlog.NoPosition, "log_head", "the head of the log", "none")
		return entries, nil
	}
	h.Size = *size
	if h.Root, err = hashOf(root); err != nil {
		r.tree.Find(tlog.NoPosition, "log_head.root", "a hash", err.Error())
	}
	r.tree.Head(h, entries, hashes)
	return max(h.Size, entries), nil
}

func (r *logAudit) positions(ctx context.Context, progress func(done, of int64)) error {
	end, err := r.head(ctx)
	if err != nil {
		return err
	}
	for from := int64(0); from < end; from = r.tree.Size() {
		to := min(from+auditPage, end)
		there, err := r.page(ctx, from, to)
		if err != nil {
			return err
		}
		if !there {
			r.tree.Find(from, "log_entries", fmt.Sprintf("entries up to position %d", end-1), "none from here on")
			break
		}
		progress(r.tree.Size(), end)
	}
	r.tree.Done()
	return nil
}

// page reads the positions from, up to below to; there tells whether the log holds
// anything of them.
func (r *logAudit) page(ctx context.Context, from, to int64) (there bool, err error) {
	rows, err := r.store.pool.Query(ctx, sqlAuditEntries, from, to-from)
	if err != nil {
		return false, err
	}
	entries, err := pgx.CollectRows(rows, scanAudited)
	if err != nil {
		return false, err
	}
	hashes, err := r.hashes(ctx, from, to)
	if err != nil || len(entries)+len(hashes) == 0 {
		return false, err
	}
	for position := from; position < to; position++ {
		var entry *tlog.Entry
		for len(entries) > 0 && entries[0].position < position {
			r.tree.Find(entries[0].position, "log_entries", "one entry", "another at the same position")
			entries = entries[1:]
		}
		if len(entries) > 0 && entries[0].position == position {
			entry = r.entry(&entries[0])
			entries = entries[1:]
		}
		r.tree.Next(entry, hashes)
	}
	return true, nil
}

func (r *logAudit) hashes(ctx context.Context, from, to int64) (map[int64]tlog.Hash, error) {
	first, last := tlog.HashesOf(from, to)
	rows, err := r.store.pool.Query(ctx, sqlAuditHashes, first, last)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	hashes := make(map[int64]tlog.Hash, last-first)
	for rows.Next() {
		var index int64
		var hash []byte
		if err := rows.Scan(&index, &hash); err != nil {
			return nil, err
		}
		if h, err := hashOf(hash); err == nil { // else it is found missing
			hashes[index] = h
		}
	}
	return hashes, rows.Err()
}

// audited is an entry with what it must be of.
type audited struct {
	position            int64
	match               [16]byte
	game, status        int
	ended               pgtype.Timestamptz
	head, row, recorded []byte
}

func scanAudited(row pgx.CollectableRow) (a audited, err error) {
	err = row.Scan(&a.position, &a.match, &a.game, &a.head, &a.status, &a.ended, &a.row, &a.recorded)
	return a, err
}

// entry judges an entry against its game, and returns it unless it can't be read.
func (r *logAudit) entry(a *audited) *tlog.Entry {
	r.Entries++
	head, err := hashOf(a.head)
	if err != nil {
		r.tree.Find(a.position, "log_entries.head_hash", "a hash", err.Error())
		return nil
	}
	name := fmt.Sprintf("game %d of match %s", a.game, referee.ID(a.match))
	switch {
	case a.game == 0 && a.recorded == nil:
		r.tree.Find(a.position, "log_entries.head_hash", "the hash of an event of the compensations of match "+referee.ID(a.match).String(), head.String())
	case a.game == 0:
	case a.status != int(referee.GameEnded):
		r.tree.Find(a.position, "log_entries", "a game that has ended", name+", which is not there or has not")
	case string(a.recorded) != string(a.head):
		r.tree.Find(a.position, "log_entries.head_hash", fmt.Sprintf("the hash %x of the last event of %s", a.recorded, name), fmt.Sprintf("%x", a.head))
	case string(a.row) != string(a.head):
		r.tree.Find(a.position, "games.head_hash", fmt.Sprintf("%x in %s", a.head, name), fmt.Sprintf("%x", a.row))
	}
	r.late(a)
	return &tlog.Entry{Match: a.match, Game: a.game, Head: head}
}

// late counts games that entered the log well behind others that ended after them.
func (r *logAudit) late(a *audited) {
	if !a.ended.Valid {
		return
	}
	if r.newest.Sub(a.ended.Time) > lateInLog {
		if r.Late++; r.Late == 1 {
			r.FirstLate = a.position
		}
	}
	if a.ended.Time.After(r.newest) {
		r.newest = a.ended.Time
	}
}

// games looks for ended games, and compensations, that the log and its queues do
// not have, or have twice.
func (r *logAudit) games(ctx context.Context) error {
	var after struct {
		match pgtype.UUID
		game  int
	}
	after.match.Valid = true
	for {
		rows, err := r.store.pool.Query(ctx, sqlAuditGames, after.match, after.game, auditPage)
		if err != nil {
			return err
		}
		read := 0
		var entries, compensation int
		var queued bool
		_, err = pgx.ForEachRow(rows, []any{&after.match, &after.game, &entries, &queued, &compensation}, func() error {
			read++
			r.game(after.match, after.game, entries, queued, compensation)
			return nil
		})
		if err != nil || read < auditPage {
			return err
		}
	}
}

func (r *logAudit) game(match pgtype.UUID, game, entries int, queued bool, compensation int) {
	r.Games++
	name := fmt.Sprintf("game %d of match %s", game, referee.ID(match.Bytes))
	switch {
	case entries == 0 && queued:
		r.Waiting++
	case entries == 0:
		r.tree.Find(tlog.NoPosition, "log_entries", name+", or its place in the queue", "neither")
	case entries > 1:
		r.tree.Find(tlog.NoPosition, "log_entries", "one entry of "+name, fmt.Sprint(entries))
	case queued:
		r.tree.Find(tlog.NoPosition, "finished_games", "nothing of "+name+", which is logged", "the game queued again")
	}
	if compensation == 1 {
		r.tree.Find(tlog.NoPosition, "log_entries", "the compensation of "+name+", or its place in the queue", "neither")
	}
}

// queue looks for games that wait for the log and have not ended.
func (r *logAudit) queue(ctx context.Context) error {
	rows, err := r.store.pool.Query(ctx, sqlAuditQueue, auditPage)
	if err != nil {
		return err
	}
	var match pgtype.UUID
	var game int
	_, err = pgx.ForEachRow(rows, []any{&match, &game}, func() error {
		r.tree.Find(tlog.NoPosition, "finished_games", "games that have ended", fmt.Sprintf("game %d of match %s", game, referee.ID(match.Bytes)))
		return nil
	})
	return err
}

// AuditedOutage is an outage on record, and the moves that contradict it.
type AuditedOutage struct {
	From, Until time.Time
	// Moves were taken in the middle of it, in the 10,000 matches created last
	// before its end: a replica was alive.
	Moves int
	First time.Time // of them
}

// AuditOutages looks for moves in each outage on record.
func (s *Store) AuditOutages(ctx context.Context) ([]AuditedOutage, error) {
	rows, err := s.pool.Query(ctx, sqlAuditOutages)
	if err != nil {
		return nil, wrap("audit the outages", err)
	}
	outages, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (o AuditedOutage, err error) {
		err = row.Scan(&o.From, &o.Until)
		return o, err
	})
	for i := range outages {
		o := &outages[i]
		var first *time.Time
		if err == nil {
			err = s.pool.QueryRow(ctx, sqlMovesInOutage, o.From, o.Until, matchesInAudit).Scan(&o.Moves, &first)
		}
		if first != nil {
			o.First = *first
		}
	}
	return outages, wrap("audit the outages", err)
}
