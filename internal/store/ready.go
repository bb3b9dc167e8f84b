package store

import (
	"context"
	"errors"
	"fmt"

	"referee.example/migrations"
)

// Reasons why a database is not ready, besides not answering.
var (
	ErrSchema     = errors.New("the schema is older than this binary needs, or half migrated")
	ErrPartitions = errors.New("the log has no partition for this month or the next")
)

const (
	sqlSchemaVersion = `SELECT version, dirty FROM schema_migrations`
	sqlPartitionsDue = `
SELECT count(*) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = 'events'::regclass AND NOT i.inhdetachpending
	AND c.relname IN (events_partition(now()), events_partition(now() + interval '1 month'))`
)

// Ready returns nil if the database answers, its schema is new enough for this
// binary and the log has partitions for this month and the next. Otherwise its
// error wraps ErrSchema or ErrPartitions or tells the fault.
func (s *Store) Ready(ctx context.Context) error {
	var version int64
	var dirty bool
	if err := s.pool.QueryRow(ctx, sqlSchemaVersion).Scan(&version, &dirty); err != nil {
		return wrap("read the schema's version", err)
	}
	if needed := migrations.Newest(); !migrations.Suits(uint(max(version, 0)), dirty) {
		return fmt.Errorf("%w: version %d (dirty: %t), needed %d", ErrSchema, version, dirty, needed)
	}
	var partitions int
	if err := s.pool.QueryRow(ctx, sqlPartitionsDue).Scan(&partitions); err != nil {
		return wrap("look for partitions", err)
	}
	if partitions < 2 {
		return ErrPartitions
	}
	return nil
}
