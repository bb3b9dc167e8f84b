package simulate

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"referee.example/internal/devpg"
	"referee.example/internal/simulate/check"
)

// What an operator does when the primary is gone: docs/operations.md.

// promotionLimit bounds each step of a promotion.
const promotionLimit = time.Minute

// failover ends the primary for good, by SIGKILL or at once, and after a while makes
// the standby that is furthest the primary. The others follow it, and where the old
// one was a new standby is made. It returns when the standby was told to take over.
func (p *postgres) failover(ctx context.Context, kill bool, lasting time.Duration) (decided time.Time, err error) {
	p.fault.Lock()
	defer p.fault.Unlock()
	old := p.current()
	if kill {
		old.server.Kill()
	} else {
		old.server.Crash()
	}
	_ = sleep(ctx, lasting)
	ctx, cancel := context.WithTimeout(ctx, 4*promotionLimit)
	defer cancel()
	decided = time.Now()
	best, err := p.furthest(ctx, old)
	if err != nil {
		return decided, err
	}
	if err := best.execute(ctx, "SELECT pg_promote()"); err != nil {
		return decided, err
	}
	p.mu.Lock()
	p.primary = best
	p.mu.Unlock()
	for _, n := range p.nodes {
		if n == old || n == best {
			continue
		}
		for _, statement := range []string{n.server.Following(n.name, best.address), "SELECT pg_reload_conf()"} {
			if err := n.execute(ctx, statement); err != nil {
				return decided, err
			}
		}
	}
	return decided, p.remake(ctx, old, best)
}

// furthest is the standby that has most of what the primary wrote. Of a commit that
// was acknowledged one standby at least has all, but not each.
func (p *postgres) furthest(ctx context.Context, old *node) (best *node, err error) {
	most := int64(-1)
	for _, n := range p.nodes {
		if n == old {
			continue
		}
		has, err := n.received(ctx)
		if err != nil {
			return nil, err
		}
		if has > most {
			best, most = n, has
		}
	}
	return best, nil
}

// received is up to where a standby has the primary's log safely, once it gets no more.
func (n *node) received(ctx context.Context) (lsn int64, err error) {
	err = connected(ctx, n.server.URL("postgres"), func(conn *pgx.Conn) error {
		for receives := true; receives; {
			err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_stat_wal_receiver WHERE status = 'streaming'),
				pg_wal_lsn_diff(coalesce(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()), '0/0')::bigint`).Scan(&receives, &lsn)
			if err == nil && receives {
				err = sleep(ctx, 10*time.Millisecond)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return lsn, err
}

// remake removes a server that is gone and makes a standby of the primary in its place.
func (p *postgres) remake(ctx context.Context, n, primary *node) error {
	port, err := n.port()
	if err != nil {
		return err
	}
	if err := os.RemoveAll(n.server.DataDir()); err != nil {
		return err
	}
	server, err := primary.server.Standby(ctx, n.name, "", devpg.Options{Port: port})
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	n.server = server
	return nil
}

func (n *node) port() (int, error) {
	_, port, err := net.SplitHostPort(n.address)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(port)
}

func (n *node) execute(ctx context.Context, statement string) error {
	return connected(ctx, n.server.URL("postgres"), func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, statement)
		return err
	})
}

// witnessed is where a batch's witness keeps the last checkpoint that it has seen.
func (b *batch) witnessed() string { return filepath.Join(b.dir, "log.witnessed") }

// errForked means that the log of finished games contradicts what was held.
var errForked = errors.New("the log of finished games was forked")

// witness looks at the log of finished games, as a witness does each minute. Whether
// there is something to be seen is nobody's promise; that it contradicts what was seen
// before is a fault.
func (b *batch) witness(ctx context.Context) error {
	key := filepath.Join(b.dir, "witness.key")
	if _, err := os.Stat(key); errors.Is(err, os.ErrNotExist) {
		if err := b.command(ctx, nil, "log", "key", "--witness", "--name", "simulation.example/witness", key); err != nil {
			return err
		}
	}
	var failed error
	for _, r := range b.replicas {
		failed = b.command(ctx, nil, "witness", "--addr", r.clients.addr(), "--token", auditorToken, "--log-key", b.publicKey,
			"--key-file", key, "--timeout", "2s", b.witnessed())
		var exit *exec.ExitError
		if failed == nil || errors.As(failed, &exit) && exit.ExitCode() == exitForked {
			break
		}
	}
	var exit *exec.ExitError
	if errors.As(failed, &exit) && exit.ExitCode() == exitForked {
		return errors.Join(errForked, failed)
	}
	return nil
}

// exitForked is the exit code of a witness that can prove the log to be forked.
const exitForked = 3

// confirm has the log signed on in a database that was promoted, once it was compared
// with what the witness holds.
func (b *batch) confirm(ctx context.Context) error {
	held := b.witnessed()
	if _, err := os.Stat(held); errors.Is(err, os.ErrNotExist) {
		held = "--none"
	}
	return b.command(ctx, []string{"REFEREE_DATABASE_URL=" + b.postgres.url(b.database)}, "log", "confirm", "--log-key", b.publicKey, held)
}

// signed waits until the log is signed as far as it goes, and has the witness see it.
func (b *batch) signed(ctx context.Context) error {
	deadline := time.Now().Add(quietLimit)
	for whole := false; !whole; {
		err := b.postgres.with(ctx, b.database, func(conn *pgx.Conn) error {
			return conn.QueryRow(ctx, `SELECT size = coalesce(signed_size, 0) FROM log_head`).Scan(&whole)
		})
		if !whole && time.Now().After(deadline) {
			return errors.Join(errors.New("the log of finished games was not signed on after the last promotion"), err)
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	return b.witness(ctx)
}

// unserved is for each promotion how long after it was decided on a change was first
// acknowledged, in milliseconds.
func (b *batch) unserved(decided []time.Time) (ms []int) {
	for _, at := range decided {
		first := time.Time{}
		for i := range b.recorder.calls {
			c := &b.recorder.calls[i]
			if c.Outcome == check.Acknowledged && c.RequestID != "" && c.Answered.After(at) && (first.IsZero() || c.Answered.Before(first)) {
				first = c.Answered
			}
		}
		if !first.IsZero() {
			ms = append(ms, int(first.Sub(at).Milliseconds()))
		}
	}
	return ms
}

// readPublicKey learns the public key of the log from the command that prints it.
func (b *batch) readPublicKey(ctx context.Context, keyFile string) error {
	printed, err := exec.CommandContext(ctx, b.options.Binary, "log", "public", keyFile).Output()
	b.publicKey = strings.TrimSpace(string(printed))
	return err
}
