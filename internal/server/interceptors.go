package server

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strconv"
	"strings"
	"time"

	"referee.example/internal/referee"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

const (
	// requestIDHeader names a call in the logs of both sides; it has nothing to
	// do with the request_id of a change.
	requestIDHeader   = "x-request-id"
	maxRequestIDBytes = 64

	// defaultDeadline is that of a unary call whose client set none.
	defaultDeadline = 5 * time.Second
	// leastTime is what a call must have left: less than that is not worth a
	// commit whose answer would come too late.
	leastTime = 50 * time.Millisecond

	// lastWord is how long a health watch has to tell that the server drains.
	lastWord = 100 * time.Millisecond
)

// call is one call on its way through the interceptor.
type call struct {
	method string
	id     string
	start  time.Time
	ids    []slog.Attr // of match and request, for the log
	token  *Token
	trace  trace.SpanContext
	server *Server
}

// unary leads a unary call through its stations: request id, recovery and log,
// deadline, authentication, admission.
func (s *Server) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
	lookedAt(ctx)
	c := s.begin(ctx, info.FullMethod)
	defer func() {
		err = c.end(recover(), err)
		pushBack(ctx, err)
	}()
	_ = grpc.SetHeader(ctx, metadata.Pairs(requestIDHeader, c.id)) // fails only once headers are sent
	c.ids = idsOf(req)
	ctx, cancel, err := withDeadline(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	if quiet(info.FullMethod) {
		return handler(ctx, req)
	}
	if ctx, err = s.authenticate(ctx, info.FullMethod); err != nil {
		return nil, err
	}
	c.token = tokenOf(ctx)
	leave, err := s.admission.enter(ctx, info.FullMethod, c.token.Platform)
	if err != nil {
		return nil, err
	}
	defer leave()
	if err := wellFormed(req); err != nil {
		return nil, err
	}
	return handler(ctx, req)
}

// stream does the same for a stream, which lives as long as its client wants.
func (s *Server) stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) (err error) {
	ctx := stream.Context()
	lookedAt(ctx)
	c := s.begin(ctx, info.FullMethod)
	defer func() { err = c.end(recover(), err) }()
	_ = stream.SetHeader(metadata.Pairs(requestIDHeader, c.id))
	if info.FullMethod == healthv1.Health_Watch_FullMethodName {
		return s.watchHealth(srv, stream, handler)
	}
	if quiet(info.FullMethod) {
		return handler(srv, stream)
	}
	if ctx, err = s.authenticate(ctx, info.FullMethod); err != nil {
		return err
	}
	c.token = tokenOf(ctx)
	leave, err := s.admission.open(ctx, info.FullMethod, c.token.Platform)
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := s.untilExpiry(ctx)
	defer cancel()
	err = handler(srv, &contextStream{stream, ctx})
	if err != nil && errors.Is(context.Cause(ctx), errTokenExpired) {
		return errTokenExpired
	}
	return err
}

// watchHealth ends a health watch when the server drains, once it has told that
// it no longer serves: a watcher would else hold the drain up to its limit.
func (s *Server) watchHealth(srv any, stream grpc.ServerStream, handler grpc.StreamHandler) error {
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	defer context.AfterFunc(s.draining, func() { time.AfterFunc(lastWord, cancel) })()
	return handler(srv, &contextStream{stream, ctx})
}

// contextStream is a stream with another context.
type contextStream struct {
	grpc.ServerStream
	ctx context.Context
}

// Context returns the stream's context with what the interceptor added.
func (s *contextStream) Context() context.Context { return s.ctx }

// RecvMsg reads a message and refuses a malformed one.
func (s *contextStream) RecvMsg(m any) error {
	if err := s.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	return wellFormed(m)
}

// quiet reports whether a method is open to all and not logged: health and
// reflection, which tell nothing that is not public.
func quiet(method string) bool { return strings.HasPrefix(method, "/grpc.") }

func (s *Server) begin(ctx context.Context, method string) *call {
	return &call{method: method, id: requestID(ctx), start: time.Now(), trace: trace.SpanContextFromContext(ctx), server: s}
}

// requestID takes the client's name for the call, or makes one.
func requestID(ctx context.Context) string {
	if values := metadata.ValueFromIncomingContext(ctx, requestIDHeader); len(values) == 1 && plain(values[0]) {
		return values[0]
	}
	random := make([]byte, 16)
	_, _ = rand.Read(random) // documented never to fail
	return hex.EncodeToString(random)
}

// plain reports whether a client's text may stand in a log.
func plain(text string) bool {
	const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."
	return text != "" && len(text) <= maxRequestIDBytes && strings.Trim(text, allowed) == ""
}

// withDeadline gives a call a deadline if it has none and refuses one that
// leaves no time.
func withDeadline(ctx context.Context) (context.Context, context.CancelFunc, error) {
	deadline, ok := ctx.Deadline()
	if !ok {
		ctx, cancel := context.WithTimeout(ctx, defaultDeadline)
		return ctx, cancel, nil
	}
	if left := time.Until(deadline); left < leastTime {
		return ctx, nil, &referee.Refusal{Reason: reasonDeadlineTooShort,
			Message: fmt.Sprintf("less than %v are left of the call's deadline", leastTime)}
	}
	return ctx, func() {}, nil
}

// pushBack tells retrying gRPC clients when to try again, as the RetryInfo does
// those that read it.
func pushBack(ctx context.Context, err error) {
	if delay := streamRefusal(status.Convert(err)).GetRetryDelayMs(); delay > 0 {
		_ = grpc.SetTrailer(ctx, metadata.Pairs("grpc-retry-pushback-ms", strconv.FormatInt(delay, 10)))
	}
}

// end turns what a handler left, a panic too, into the call's status, and
// writes its line of the log.
func (c *call) end(panicked any, err error) error {
	if panicked != nil {
		err = fmt.Errorf("panic of type %T at %s", panicked, frames())
	}
	st := statusOf(err)
	if !quiet(c.method) {
		measureCall(c.method, st.Code(), time.Since(c.start))
	}
	switch {
	case quiet(c.method) && st.Code() != codes.Internal:
		return err
	case st.Code() == codes.ResourceExhausted:
		c.server.shedLog.Do(func() { c.log(st, err) })
	default:
		c.log(st, err)
	}
	return st.Err()
}

// log writes method, code, duration and ids, never a body: hidden pieces must
// not reach a log. The cause of an internal fault is told here and only here.
func (c *call) log(st *status.Status, err error) {
	attributes := append(make([]slog.Attr, 0, 11), slog.String("method", c.method), slog.String("code", st.Code().String()),
		slog.Int64("duration_us", time.Since(c.start).Microseconds()), slog.String("request", c.id))
	if reason := reasonOf(st); reason != "" {
		attributes = append(attributes, slog.String("reason", reason))
	}
	if c.token != nil {
		attributes = append(attributes, slog.String("principal", c.token.Name), slog.String("platform", c.token.Platform))
	}
	if c.trace.IsValid() {
		attributes = append(attributes, slog.String("trace_id", c.trace.TraceID().String()))
	}
	attributes = append(attributes, c.ids...)
	level := slog.LevelInfo
	switch st.Code() {
	case codes.Internal, codes.Unknown:
		level = slog.LevelError
		attributes = append(attributes, slog.String("cause", err.Error()))
	case codes.Unavailable:
		level = slog.LevelWarn
	}
	handler := c.server.log.Handler()
	if !handler.Enabled(context.Background(), level) {
		return
	}
	line := slog.NewRecord(time.Now(), level, "call", 0) // where in the program it is written is no news
	line.AddAttrs(attributes...)
	_ = handler.Handle(context.Background(), line) // as LogAttrs has it
}

// frames tells where a panic came from. It names functions and lines only: the
// arguments of a stack trace, and the panic's own text, may hold what is hidden.
func frames() string {
	callers := make([]uintptr, 32)
	walk := runtime.CallersFrames(callers[:runtime.Callers(4, callers)])
	var b strings.Builder
	for {
		frame, more := walk.Next()
		fmt.Fprintf(&b, "%s:%d ", frame.Function, frame.Line)
		if !more {
			return strings.TrimSpace(b.String())
		}
	}
}

// idsOf returns the ids of a request for the log, if they are well formed.
func idsOf(req any) []slog.Attr {
	attributes := make([]slog.Attr, 0, 2)
	if r, ok := req.(interface{ GetMatchId() string }); ok {
		if _, ok := parseID(r.GetMatchId()); ok {
			attributes = append(attributes, slog.String("match_id", r.GetMatchId()))
		}
	}
	if r, ok := req.(interface{ GetRequestId() string }); ok {
		if _, ok := parseID(r.GetRequestId()); ok {
			attributes = append(attributes, slog.String("request_id", r.GetRequestId()))
		}
	}
	return attributes
}
