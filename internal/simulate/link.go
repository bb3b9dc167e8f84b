package simulate

import (
	"context"
	"io"
	"net"
	"sync"
	"time"
)

// link is a TCP proxy on which faults happen. Its address stays, what it leads to
// may move.
type link struct {
	listener net.Listener
	running  sync.WaitGroup

	mu     sync.Mutex
	change chan struct{} // closed and made anew when one of the following changes
	target string
	closed bool
	cut    bool
	frozen bool
	losing bool
	lag    time.Duration
	conns  map[net.Conn]bool
}

// dialTimeout bounds the connection to what a link leads to.
const dialTimeout = 5 * time.Second

func newLink(ctx context.Context, target string) (*link, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &link{listener: listener, target: target, change: make(chan struct{}), conns: map[net.Conn]bool{}}
	l.running.Go(func() { l.accept(ctx) })
	return l, nil
}

func (l *link) addr() string { return l.listener.Addr().String() }

func (l *link) accept(ctx context.Context) {
	for {
		from, err := l.listener.Accept()
		if err != nil {
			return
		}
		l.running.Go(func() { l.serve(ctx, from) })
	}
}

func (l *link) serve(ctx context.Context, from net.Conn) {
	defer func() { _ = from.Close() }()
	l.mu.Lock()
	target, refused := l.target, l.cut || l.closed
	l.mu.Unlock()
	if refused || target == "" {
		return
	}
	to, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "tcp", target)
	if err != nil {
		return
	}
	defer func() { _ = to.Close() }()
	if !l.enter(from, to) {
		return
	}
	defer l.leave(from, to)
	var pumps sync.WaitGroup
	pumps.Go(func() { l.pump(to, from, false) })
	pumps.Go(func() { l.pump(from, to, true) })
	pumps.Wait()
}

func (l *link) enter(conns ...net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut || l.closed {
		return false
	}
	for _, conn := range conns {
		l.conns[conn] = true
	}
	return true
}

func (l *link) leave(conns ...net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, conn := range conns {
		delete(l.conns, conn)
	}
}

// pump passes on what comes, one way, until either side is closed; both are then.
func (l *link) pump(to, from net.Conn, answers bool) {
	defer func() { _, _ = to.Close(), from.Close() }()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && !l.pass(to, buffer[:n], answers) {
			return
		}
		if err != nil {
			return
		}
	}
}

func (l *link) pass(to io.Writer, piece []byte, answers bool) bool {
	l.mu.Lock()
	lag := l.lag
	l.mu.Unlock()
	if lag > 0 {
		<-time.After(lag)
	}
	for {
		l.mu.Lock()
		change, frozen, lost, gone := l.change, l.frozen, l.losing && answers, l.cut || l.closed
		l.mu.Unlock()
		switch {
		case gone:
			return false
		case frozen:
			<-change
			continue
		case lost:
			return true
		}
		_, err := to.Write(piece)
		return err == nil
	}
}

// set changes the link's state and closes every connection of one that is cut.
func (l *link) set(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
	close(l.change)
	l.change = make(chan struct{})
	if l.cut || l.closed {
		for conn := range l.conns {
			_ = conn.Close()
		}
	}
}

func (l *link) lead(target string) { l.set(func() { l.target = target }) }

func (l *link) close() {
	_ = l.listener.Close()
	l.set(func() { l.closed = true })
	l.running.Wait()
}
