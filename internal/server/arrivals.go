package server

import (
	"context"
	"sync/atomic"
	"time"

	refereev1 "referee.example/proto/referee/v1"

	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/tap"
)

// A call is admitted or refused once its request has come and it is its turn to be looked
// at. Calls that wait for that are bounded too, by connection: else those of one that
// makes more calls than can even be refused would all wait for seconds, and whatever
// else comes behind them. One too many is refused when its headers are read, at a
// fraction of what a look at it takes.

// Nor are calls of one connection read faster than one each callPace, in the mean, and
// streams one each ten of these: with hundreds that come at once others would wait for
// all of them.
const (
	callPace    = 100 * time.Microsecond
	streamCalls = 10  // take as long as the opening of a stream
	callBurst   = 100 // come without a pause
)

// streaming are the methods that open streams.
var streaming = streamsOf(&refereev1.MatchService_ServiceDesc, &refereev1.AuditService_ServiceDesc)

func streamsOf(services ...*grpc.ServiceDesc) map[string]bool {
	methods := map[string]bool{}
	for _, service := range services {
		for _, stream := range service.Streams {
			methods["/"+service.ServiceName+"/"+stream.StreamName] = true
		}
	}
	return methods
}

// connection counts the calls of a connection: those that have not been looked at, and
// those that have come since it was read from last.
type connection struct{ waiting, read atomic.Int64 }

type arrivalKey struct{}

// arrival is a call that waits to be looked at.
type arrival struct {
	connection *connection
	stop       func() bool // keeps the end of the call from ending the wait
}

// arrive counts a call whose headers have come, or refuses it. It is called by the
// connection's reader.
func (s *Server) arrive(ctx context.Context, call *tap.Info) (context.Context, error) {
	from, ok := peer.FromContext(ctx)
	if !ok {
		return ctx, nil
	}
	addr, ok := from.Addr.(connectionAddr)
	if !ok {
		return ctx, nil
	}
	c := addr.calls
	if streaming[call.FullMethodName] {
		c.read.Add(streamCalls)
	} else {
		c.read.Add(1)
	}
	if quiet(call.FullMethodName) {
		return ctx, nil
	}
	if c.waiting.Add(1) > int64(s.limits.waiting) {
		c.waiting.Add(-1)
		return ctx, statusOf(shed(ctx, classOf(call.FullMethodName), "connection", "the connection has as many calls waiting as a replica takes of one")).Err()
	}
	a := &arrival{connection: c}
	a.stop = context.AfterFunc(ctx, func() { c.waiting.Add(-1) }) // it may end before it is looked at
	return context.WithValue(ctx, arrivalKey{}, a), nil
}

// lookedAt ends the wait of a call, if it was counted.
func lookedAt(ctx context.Context) {
	if a, ok := ctx.Value(arrivalKey{}).(*arrival); ok && a.stop() {
		a.connection.waiting.Add(-1)
	}
}
