package store

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// Where standbys are synchronous, a commit's answer comes when a standby has it.
// Postgres breaks that in three cases, each of which makes the change visible on
// the primary alone, from where it is lost with the primary:
//
//   - The wait is cancelled: the commit is answered as if nothing were amiss, after
//     a warning. Such an answer is cut off (warned), so that it counts as none.
//   - A client that gives up cancels the wait itself, since pgx sends a cancel
//     request with every connection that it drops. It does not here (uncancelled).
//   - The primary crashes while a commit waits, and comes back with it done. So
//     each connection begins with a commit of its own (sqlBarrier): the log is
//     one, so that once this one is replicated, all that could be seen before is.
//
// The first also happens to other sessions. So whoever answers by what he finds
// done, a retry, lets a commit of his own follow before he answers: Durable.

// sqlBarrier is a commit that changes no table. It fails on a standby.
const sqlBarrier = `SELECT pg_logical_emit_message(true, 'referee', '')`

// errNotReplicated means that a change is done on the primary and may be on no
// standby.
var errNotReplicated = errors.New("the wait for a synchronous standby was cancelled")

// Durable returns nil when all that was read from the database before is as
// durable as what was acknowledged. While no synchronous standby answers it waits.
func (s *Store) Durable(ctx context.Context) error {
	_, err := s.pool.Exec(ctx, sqlBarrier)
	return wrap("wait for standbys", err)
}

// replicated makes connections by a configuration trust a commit's answer only
// where it says that the commit is replicated, and keep to the fence. Those without
// one only read, and may also be to a standby, or to a primary whose commits wait.
func replicated(config *pgconn.Config, f *fence) {
	config.RuntimeParams["client_min_messages"] = "warning" // or less is heard of them
	config.BuildFrontend = func(r io.Reader, w io.Writer) *pgproto3.Frontend {
		return pgproto3.NewFrontend(&warned{from: r}, w)
	}
	dial := config.DialFunc
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &uncancelled{Conn: conn}, nil
	}
	validate := config.ValidateConnect // target_session_attrs
	config.ValidateConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		if validate != nil {
			if err := validate(ctx, conn); err != nil {
				return err
			}
		}
		if f == nil {
			return nil
		}
		if err := f.begin(ctx, conn); err != nil {
			return err
		}
		mayBeCancelled(conn, false)
		return nil
	}
}

// mayBeCancelled says whether giving up what a connection does cancels it.
func mayBeCancelled(conn *pgconn.PgConn, may bool) {
	network := conn.Conn()
	if encrypted, is := network.(*tls.Conn); is {
		network = encrypted.NetConn()
	}
	network.(*uncancelled).sealed.Store(!may)
}

// uncancelled is a connection whose peer can't be asked to cancel what it does,
// once that is set: pgx asks by the address that the connection gives.
type uncancelled struct {
	net.Conn
	sealed atomic.Bool
}

func (c *uncancelled) RemoteAddr() net.Addr {
	if c.sealed.Load() {
		return nowhere{}
	}
	return c.Conn.RemoteAddr()
}

// nowhere is an address of a network that there is not.
type nowhere struct{}

func (nowhere) Network() string { return "nowhere" }
func (nowhere) String() string  { return "nowhere" }

// Of messages of Postgres's protocol: a byte that says which, and the length of
// the rest with the length itself.
const (
	messageHeader = 5
	lengthBytes   = 4
	notice        = 'N'
)

// cancelledWait is a notice's field with the function that gave it, which no
// language changes.
var cancelledWait = []byte("\x00RSyncRepWaitForLSN\x00")

// warned reads messages and fails for good at the warning that the wait for a
// standby was cancelled: the answer to the commit comes after it.
type warned struct {
	from   io.Reader
	header []byte // of the message at hand, as far as it was read
	left   int    // bytes of its body to come
	body   []byte // of a notice, as far as it was read
	failed bool
}

func (w *warned) Read(p []byte) (int, error) {
	if w.failed {
		return 0, errNotReplicated
	}
	n, err := w.from.Read(p)
	if w.scan(p[:n]); w.failed {
		return 0, errNotReplicated
	}
	return n, err
}

func (w *warned) scan(p []byte) {
	for len(p) > 0 && !w.failed {
		if w.left == 0 {
			p = w.begin(p)
			continue
		}
		n := min(w.left, len(p))
		if w.header[0] == notice {
			w.body = append(w.body, p[:n]...)
		}
		w.left -= n
		p = p[n:]
		if w.left == 0 {
			w.end()
		}
	}
}

// begin takes bytes of a header and returns those after it.
func (w *warned) begin(p []byte) []byte {
	n := min(messageHeader-len(w.header), len(p))
	w.header = append(w.header, p[:n]...)
	if len(w.header) == messageHeader {
		w.left = int(binary.BigEndian.Uint32(w.header[1:])) - lengthBytes
		if w.left <= 0 { // shorter than itself is for pgx to refuse
			w.left = 0
			w.end()
		}
	}
	return p[n:]
}

func (w *warned) end() {
	w.failed = bytes.Contains(w.body, cancelledWait)
	w.header, w.body = w.header[:0], w.body[:0]
}
