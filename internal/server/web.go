package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/test/bufconn"
)

// Limits of the HTTP port. What lives longer than a call, such as server-sent
// events, sets write deadlines of its own.
const (
	headerTimeout  = 5 * time.Second
	requestTimeout = 10 * time.Second // to be read
	answerTimeout  = 30 * time.Second // to be made and written
	idleTimeout    = 2 * time.Minute
)

// inProcessBuffer is what a client within the process may have sent unread.
const inProcessBuffer = 256 << 10

// webServer is the HTTP port, and the gRPC server behind it. That one is apart
// from the port's: grpc.Server can't end in good order what came to it by HTTP,
// so http.Server does, and nothing else may be stopped with it.
type webServer struct {
	grpc      *grpc.Server
	rpc       http.Handler
	http      *http.Server
	inProcess *bufconn.Listener
	client    *grpc.ClientConn
	tls       *tls.Config // nil for none
	log       *slog.Logger
}

func newWebServer(g *grpc.Server, log *slog.Logger) *webServer {
	w := &webServer{grpc: g, rpc: newRPCHandler(g), inProcess: bufconn.Listen(inProcessBuffer), log: log}
	w.http = &http.Server{
		ReadHeaderTimeout: headerTimeout, ReadTimeout: requestTimeout, WriteTimeout: answerTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	client, err := grpc.NewClient("passthrough:in-process",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return w.inProcess.DialContext(ctx) }),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxResponseBytes)))
	if err != nil {
		panic(err) // options that contradict each other, which these don't
	}
	w.client = client
	return w
}

// InProcess returns a client of the contract that needs no port. Its calls meet
// the same checks as any: each has to bring a token. It may be used while the
// server serves.
func (s *Server) InProcess() grpc.ClientConnInterface { return s.web.client }

func (w *webServer) serveInProcess() {
	err := w.grpc.Serve(w.inProcess)
	if err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		w.log.Error("serving within the process", "cause", err)
	}
}

// ServeWeb answers HTTP on lis until Drain: the unary RPCs as JSON, /healthz, /metrics, and
// what pages has for other paths, unless it is nil. It closes lis.
func (s *Server) ServeWeb(lis net.Listener, pages http.Handler) error {
	mux := http.NewServeMux()
	for name := range s.web.grpc.GetServiceInfo() {
		mux.Handle("/"+name+"/", s.web.rpc)
	}
	mux.HandleFunc("GET /healthz", s.healthz)
	if s.metrics != nil {
		mux.Handle("GET /metrics", s.metrics)
	}
	if pages != nil {
		mux.Handle("/", pages)
	}
	s.web.http.Handler = s.web.recovering(withSecurityHeaders(mux))
	// Beneath TLS, so that who never shakes hands counts too.
	lis = &limitedListener{Listener: lis, most: int64(s.limits.conns)}
	if s.web.tls != nil {
		lis = tls.NewListener(lis, s.web.tls)
	}
	if err := s.web.http.Serve(lis); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve HTTP: %w", err)
	}
	return nil
}

// healthz tells what grpc.health.v1 tells: 200 if calls may be sent here, 503 if not.
func (s *Server) healthz(w http.ResponseWriter, r *http.Request) {
	answer, err := s.health.Check(r.Context(), &healthv1.HealthCheckRequest{})
	if err != nil || answer.GetStatus() != healthv1.HealthCheckResponse_SERVING {
		http.Error(w, healthv1.HealthCheckResponse_NOT_SERVING.String(), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = fmt.Fprintln(w, answer.GetStatus())
}

// withSecurityHeaders lets no browser run, frame, keep or guess at an answer. Pages
// set what they need instead.
func withSecurityHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// recovering answers for a handler that panics, and logs where, not with what:
// that may hold what is hidden.
func (w *webServer) recovering(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		defer func() {
			panicked := recover()
			if panicked == nil {
				return
			}
			if err, ok := panicked.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(http.ErrAbortHandler) // net/http's own way to cut a connection
			}
			w.log.Error("panic of an HTTP handler", "type", fmt.Sprintf("%T", panicked), "at", frames())
			http.Error(rw, "a fault of the server", http.StatusInternalServerError)
		}()
		next.ServeHTTP(rw, r)
	})
}

// drain ends the HTTP port: calls in flight are finished until ctx is done. The
// contract's streams have been told to end before.
func (w *webServer) drain(ctx context.Context) {
	if w.http.Shutdown(ctx) != nil {
		_ = w.http.Close() // cuts off what did not finish
	}
	_ = w.client.Close()
	w.grpc.Stop()
}
