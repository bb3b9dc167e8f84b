package store

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Matches that are played at the same time come to the index of a month in turns,
// which splits its pages in their middle and leaves them half full: an entry takes
// some 70 bytes. Built anew, once nothing is added any more, it takes 41.
const (
	packedEntryBytes = 48
	// looseBytes are those of a few pages, for which it is not worth the while.
	looseBytes = 64 << 10
)

const (
	// The count of entries is that of the index's last building or vacuuming. An
	// index that is not valid is what a packing left that was broken off.
	sqlLoosePartitions = `
SELECT t.relname::text FROM pg_class t
JOIN pg_index i ON i.indrelid = t.oid AND i.indisprimary JOIN pg_class x ON x.oid = i.indexrelid
WHERE t.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'events'::regclass)
	AND t.relkind = 'r' AND t.relname = ANY ($1) AND (pg_relation_size(x.oid) > $2 + $3 * greatest(x.reltuples, 0)::bigint
		OR EXISTS (SELECT FROM pg_index b WHERE b.indrelid = t.oid AND NOT b.indisvalid))
ORDER BY t.relname`
	sqlBrokenIndexes = `
SELECT i.indexrelid::regclass::text FROM pg_index i WHERE i.indrelid = $1::regclass AND NOT i.indisvalid`
)

// PackPartitions builds the indexes of the months anew in which no match goes on
// and none can begin to, detached ones too, where they take more than they need,
// and returns the names of their tables. Moves and readers go on meanwhile; it
// waits for the transactions that use a month, 30 seconds at most. What was broken
// off the next call does again. It needs the rights of the tables' owner.
func (s *Store) PackPartitions(ctx context.Context) (packed []string, err error) {
	months, err := s.Partitions(ctx)
	if err != nil {
		return nil, err
	}
	now, err := s.Now()
	if err != nil {
		return nil, err
	}
	var closed []string
	for _, p := range months {
		if p.Live == 0 && instant(p.Month.AddDate(0, 1, 0)) <= now {
			closed = append(closed, p.Name)
		}
	}
	rows, err := s.pool.Query(ctx, sqlLoosePartitions, closed, looseBytes, packedEntryBytes)
	if err != nil {
		return nil, wrap("find loose partitions", err)
	}
	loose, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, wrap("find loose partitions", err)
	}
	for _, name := range loose {
		if err := s.pack(ctx, name); err != nil {
			return packed, wrap("pack "+name, err)
		}
		packed = append(packed, name)
	}
	return packed, nil
}

// pack builds one month's indexes anew. Postgres allows no transaction around it.
func (s *Store) pack(ctx context.Context, name string) error {
	conn, err := s.patient(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	defer func() { _ = conn.Conn().Close(ctx) }() // with its limits, the pool makes another
	table := pgx.Identifier{name}.Sanitize()
	rows, err := conn.Query(ctx, sqlBrokenIndexes, table)
	if err != nil {
		return err
	}
	broken, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, index := range broken { // what an earlier call was broken off at
		if _, err := conn.Exec(ctx, `DROP INDEX CONCURRENTLY `+index); err != nil {
			return err
		}
	}
	_, err = conn.Exec(ctx, `REINDEX TABLE CONCURRENTLY `+table)
	return err
}
