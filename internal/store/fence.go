package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/sync/singleflight"
)

// A read writes nothing, so that a primary whose place another has taken answers it
// as before: from how matches stood when it was cut off. Two rules keep that from
// being told as the present, and cost an ordinary read nothing:
//
//   - A connection is used only while a commit has gone through, on it or another of
//     the same timeline, within the last three seconds; an old primary's commits wait
//     for a standby that follows another. The heartbeat is such a commit. Whoever finds
//     none commits, on the connection at hand, before he asks (prove).
//   - A promotion begins a new timeline. Once a replica has been connected to one, it
//     uses no connection to an earlier one, be it an idle one of its pool or a new one
//     to an old primary that takes commits by itself.
//
// What neither can show is an old primary without synchronous standbys, to a replica
// that reaches nothing else.

const (
	// provenFor is how old what is read may be at most: as long as a gap in the
	// heartbeat that is no outage yet.
	provenFor = 3 * time.Second
	// proofTimeout frees those who ask a primary that nobody follows.
	proofTimeout = time.Second
)

var (
	errUnproven    = errors.New("the database takes no commits: another may have taken its place")
	errOldTimeline = errors.New("this database was the primary before another was promoted")
)

// sqlTimeline is sqlBarrier with the timeline, in hexadecimal, that it was written on.
const sqlTimeline = sqlBarrier + `, substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)`

// timelineKey is where a connection keeps its timeline.
const timelineKey = "timeline"

// fence keeps a store from what is the past.
type fence struct {
	proofs singleflight.Group

	mu       sync.Mutex
	limit    time.Duration // provenFor
	timeline uint64        // the latest that was seen
	proven   time.Time     // when the last commit on it that went through was sent
}

// begin commits on a new connection and learns its timeline. Errors: those of a
// standby, of a commit that does not go through, errOldTimeline.
func (f *fence) begin(ctx context.Context, conn *pgconn.PgConn) error {
	sent := time.Now()
	results, err := conn.Exec(ctx, sqlTimeline).ReadAll()
	if err != nil {
		return fmt.Errorf("no standby takes commits, or this is one: %w", err)
	}
	timeline, err := strconv.ParseUint(string(results[0].Rows[0][1]), 16, 32)
	if err != nil {
		return fmt.Errorf("read the timeline: %w", err)
	}
	conn.CustomData()[timelineKey] = timeline
	f.mu.Lock()
	defer f.mu.Unlock()
	if timeline < f.timeline {
		return errOldTimeline
	}
	f.timeline = timeline
	f.note(sent)
	return nil
}

// proved notes that a commit went through on a connection, and when it was sent.
func (f *fence) proved(conn *pgx.Conn, sent time.Time) {
	if f == nil { // of a store that only reads
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if timelineOf(conn) == f.timeline {
		f.note(sent)
	}
}

func (f *fence) note(sent time.Time) {
	if sent.After(f.proven) {
		f.proven = sent
	}
}

// timelineOf is the timeline that begin has learnt.
func timelineOf(conn *pgx.Conn) uint64 {
	timeline, _ := conn.PgConn().CustomData()[timelineKey].(uint64)
	return timeline
}

// admit says whether a connection of the pool may be used (pgxpool.Config.PrepareConn).
func (f *fence) admit(ctx context.Context, conn *pgx.Conn) (keep bool, err error) {
	f.mu.Lock()
	old, fresh := timelineOf(conn) < f.timeline, time.Since(f.proven) <= f.limit
	f.mu.Unlock()
	switch {
	case old:
		return false, nil // the pool takes another
	case fresh:
		return true, nil
	}
	err = f.prove(ctx, conn)
	return !conn.IsClosed(), err
}

// prove commits on a connection; those who come meanwhile get the same outcome.
func (f *fence) prove(ctx context.Context, conn *pgx.Conn) error {
	_, err, _ := f.proofs.Do("", func() (any, error) {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), proofTimeout)
		defer cancel()
		sent := time.Now()
		if _, err := conn.Exec(limited, sqlBarrier); err != nil {
			return nil, fmt.Errorf("%w: %s", errUnproven, cause(err).Error())
		}
		f.proved(conn, sent)
		return nil, nil
	})
	return err
}
