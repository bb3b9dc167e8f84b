package server

import (
	"context"
	"net"
	"sync"
	"sync/atomic"

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
			return &limitedConn{Conn: conn, closed: sync.OnceFunc(func() { l.open.Add(-1) })}, nil
		}
		l.open.Add(-1)
		_ = conn.Close()
		countShedConnection()
	}
}

func countShedConnection() {
	shedCalls.Add(context.Background(), 1, metric.WithAttributes(attribute.String("class", "connection"), attribute.String("limit", "connections")))
}

// limitedConn gives its place back when it is closed.
type limitedConn struct {
	net.Conn
	closed func()
}

// Close closes the connection.
func (c *limitedConn) Close() error {
	defer c.closed()
	return c.Conn.Close()
}
