package store

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// TestGivenUpStatementsKeepTheirConnection gives calls up while their statements run, by
// going away and by a short deadline. The connection is there afterwards.
func TestGivenUpStatementsKeepTheirConnection(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	s := d.open(1)
	pid := func() (pid int) {
		t.Helper()
		d.must(s.pool.QueryRow(t.Context(), `SELECT pg_backend_pid()`).Scan(&pid))
		return pid
	}
	const slow = `SELECT pg_sleep(0.1)`
	statements := map[string]func(context.Context){
		"alone": func(ctx context.Context) { _, _ = s.pool.Exec(ctx, slow) },
		"with rows": func(ctx context.Context) {
			var nothing string
			_ = s.pool.QueryRow(ctx, slow+`::text`).Scan(&nothing)
		},
		"in a batch": func(ctx context.Context) {
			batch := &pgx.Batch{}
			batch.Queue(slow)
			_ = s.pool.SendBatch(ctx, batch).Close()
		},
		"in a transaction": func(ctx context.Context) {
			_ = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
				_, err := tx.Exec(ctx, slow)
				if err == nil {
					_, err = tx.Exec(ctx, slow)
				}
				return err
			})
		},
	}
	first := pid()
	for name, run := range statements {
		for seen := false; !seen; {
			ctx, goAway := context.WithTimeout(t.Context(), time.Minute)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				run(ctx)
			}()
			for over := false; !seen && !over; {
				seen = ask[bool](d, `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1 AND state = 'active')`, first)
				select {
				case <-ended: // before anybody looked: once more
					over = true
				default:
				}
			}
			goAway()
			<-ended
		}
		if pid() != first {
			t.Errorf("%s: its caller gone, the connection is gone", name)
			first = pid()
		}
		brief, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
		run(brief)
		stop()
		if pid() != first {
			t.Errorf("%s: its deadline over, the connection is gone", name)
			first = pid()
		}
	}
	brief, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	if _, err := s.pool.Exec(brief, `SELECT pg_sleep(100)`); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a statement that has had its time ended with %v", err)
	}
}
