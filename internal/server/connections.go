package server

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// limitedListener closes connections beyond a number as they come: a client that
// is turned away at once tries another replica, one that is left waiting hangs.
type limitedListener struct {
	net.Listener
	most int64
	open atomic.Int64
}

// Accept returns the next connection within the limit.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.open.Add(1) <= l.most {
			return &limitedConn{Conn: conn, closed: sync.OnceFunc(func() { l.open.Add(-1) }), calls: &connection{}}, nil
		}
		l.open.Add(-1)
		_ = conn.Close()
		countShedConnection()
	}
}

func countShedConnection() {
	shedCalls.Add(context.Background(), 1, metric.WithAttributes(attribute.String("class", "connection"), attribute.String("limit", "connections")))
}

// limitedConn gives its place back when it is closed, and is read no faster than calls of
// one connection may come.
type limitedConn struct {
	net.Conn
	closed func()
	calls  *connection
	paid   time.Time // until when the calls that came take
}

// Read reads what has come, once the calls that were read before have had their time.
// What else has come to the replica gets its turn meanwhile.
func (c *limitedConn) Read(b []byte) (int, error) {
	if calls := c.calls.read.Swap(0); calls > 0 {
		now := time.Now()
		if c.paid.Before(now) {
			c.paid = now
		}
		c.paid = c.paid.Add(time.Duration(calls) * callPace)
		if wait := c.paid.Sub(now); wait > callPace*callBurst {
			<-time.NewTimer(wait).C
		}
	}
	return c.Conn.Read(b)
}

// RemoteAddr is the client's address, which leads back to the connection.
func (c *limitedConn) RemoteAddr() net.Addr { return connectionAddr{c.Conn.RemoteAddr(), c.calls} }

// connectionAddr is the address of a connection's client.
type connectionAddr struct {
	net.Addr
	calls *connection
}

// Close closes the connection.
func (c *limitedConn) Close() error {
	defer c.closed()
	return c.Conn.Close()
}
