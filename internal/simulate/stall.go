package simulate

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"referee.example/internal/simulate/check"
)

// stallMeter notes for how long the machine holds things up that depend on nothing
// but itself. Each 25 ms it commits a row, past every link and replica: what that
// takes beyond what it takes on a machine that has time for it, the machine, too
// busy with other work, has held it up. To adjudicate an expiry takes some six
// such round trips. A crash of Postgres is no stall.
type stallMeter struct {
	postgres *postgres
	stalls   []check.Stall
	longest  time.Duration
}

const (
	stallTick = 25 * time.Millisecond
	// stallLeast is what a commit takes at most on a machine that has time for it.
	stallLeast = 10 * time.Millisecond
)

func (s *stallMeter) run(ctx context.Context) {
	for ctx.Err() == nil {
		_ = s.postgres.with(ctx, "postgres", func(conn *pgx.Conn) error { return s.measure(ctx, conn) })
		_ = sleep(ctx, stallTick) // Postgres may be down, as planned
	}
}

func (s *stallMeter) measure(ctx context.Context, conn *pgx.Conn) error {
	if _, err := conn.Exec(ctx, `CREATE TABLE IF NOT EXISTS stall_meter (at timestamptz)`); err != nil {
		return err
	}
	for {
		from := time.Now()
		if err := sleep(ctx, stallTick); err != nil {
			return err
		}
		if _, err := conn.Exec(ctx, `INSERT INTO stall_meter VALUES (clock_timestamp())`); err != nil {
			return err
		}
		until := time.Now()
		if held := until.Sub(from) - stallTick - stallLeast; held > 0 {
			s.stalls = append(s.stalls, check.Stall{Span: check.Span{From: from, Until: until}, Held: held})
			s.longest = max(s.longest, held)
		}
	}
}
