package simulate

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/jackc/pgx/v5"

	"referee.example/internal/simulate/check"
)

// stallMeter notes when the machine is too slow for promises of a second. Each 50 ms
// it commits a row, past every link and replica, and times it: to adjudicate an
// expiry takes some six such round trips. And it counts what is ready to run, since
// many others on the machine slow a busy replica more than a brief commit. A crash of
// Postgres is no stall.
type stallMeter struct {
	postgres *postgres
	spans    []check.Span
}

const (
	stallTick = 50 * time.Millisecond
	// stallLimit is what a commit takes at most on a machine that is fit for it.
	stallLimit = 50 * time.Millisecond
	// crowd is how many tasks a processor may have ready to run.
	crowd = 8
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
		if until := time.Now(); until.Sub(from) > stallTick+stallLimit || crowded() {
			s.spans = append(s.spans, check.Span{From: from, Until: until})
		}
	}
}

// crowded reports whether more is ready to run than the machine is fit for.
func crowded() bool {
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return false
	}
	var one, five, fifteen float64
	var ready int
	_, err = fmt.Sscanf(string(load), "%f %f %f %d/", &one, &five, &fifteen, &ready)
	return err == nil && ready > crowd*runtime.NumCPU()
}
