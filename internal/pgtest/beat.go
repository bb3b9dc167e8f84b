package pgtest

import (
	"context"
	"sync"
	"testing"
	"time"

	"referee.example/internal/clock"
)

// KeepBeating keeps the heart of a replica beating until the test ends, as its
// application does: a gap would pause the clocks of running games.
func KeepBeating(t testing.TB, replica interface {
	Beat(ctx context.Context) (clock.Time, error)
}) {
	t.Helper()
	_, err := replica.Beat(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var beating sync.WaitGroup
	beating.Go(func() {
		ticker := time.NewTicker(300 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				_, _ = replica.Beat(ctx) // a missed beat shows in the test that needed it
			}
		}
	})
	t.Cleanup(func() {
		cancel()
		beating.Wait()
	})
}
