package app

import (
	"context"
	"time"

	"referee.example/internal/store"
	"referee.example/migrations"
)

// Migrate brings a database's schema up to this binary's and makes the log's
// partitions for the months ahead, so that it is worth running each month. It
// needs the tables' owner. Errors: those of migrations.Up and of the store.
func Migrate(ctx context.Context, url string) error {
	err := migrations.Up(ctx, url)
	if err != nil {
		return err
	}
	opened, err := store.Open(ctx, store.Config{URL: url, MaxConns: 1})
	if err != nil {
		return err
	}
	defer opened.Close()
	_, err = opened.EnsurePartitions(ctx)
	return err
}

// ApplyRoles makes the database roles of the server and of auditors, or brings
// them to what this version needs. It needs a role that may create roles.
func ApplyRoles(ctx context.Context, url string) error {
	opened, err := store.Open(ctx, store.Config{URL: url, MaxConns: 1})
	if err != nil {
		return err
	}
	defer opened.Close()
	return opened.ApplyRoles(ctx)
}

// MaxMonthsAhead is for how many months room can be made.
const MaxMonthsAhead = store.MaxMonthsAhead

// Partitions is what an operator does with the months of the log. It needs the
// tables' owner.
type Partitions struct {
	// Ahead, if not 0, is for how many months after this one there must be room.
	Ahead int
	// DetachBefore, if not zero, is the first month that stays.
	DetachBefore time.Time
	// Pack builds the indexes of months that are over anew.
	Pack bool
}

// Kept is what came of Partitions.
type Kept struct {
	Months           []store.Partition // all, as they are then
	Detached, Packed []string          // names of tables
}

// KeepPartitions makes, detaches and packs months of the log as asked. Of an error
// what came before it is done. Errors: store.ErrMonthsAhead, store.ErrRecent,
// *store.LiveMatchesError.
func KeepPartitions(ctx context.Context, url string, p Partitions) (kept Kept, err error) {
	opened, err := store.Open(ctx, store.Config{URL: url, MaxConns: 2})
	if err != nil {
		return kept, err
	}
	defer opened.Close()
	if p.Ahead != 0 {
		if _, err := opened.EnsurePartitionsAhead(ctx, p.Ahead); err != nil {
			return kept, err
		}
	}
	if !p.DetachBefore.IsZero() {
		if kept.Detached, err = opened.DetachPartitions(ctx, p.DetachBefore); err != nil {
			return kept, err
		}
	}
	if p.Pack {
		if kept.Packed, err = opened.PackPartitions(ctx); err != nil {
			return kept, err
		}
	}
	kept.Months, err = opened.Partitions(ctx)
	return kept, err
}
