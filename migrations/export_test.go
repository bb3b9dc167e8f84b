package migrations

import (
	"context"
	"time"

	"github.com/golang-migrate/migrate/v4"
)

// UpWithin is Up with a lock timeout that a test can wait for.
func UpWithin(ctx context.Context, url string, lockTimeout time.Duration) error {
	return run(ctx, url, lockTimeout, (*migrate.Migrate).Up)
}
