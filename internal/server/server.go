// Package server translates: the contract's requests into the referee's
// commands and its answers back. It decides nothing about a match.
//
// One file holds an RPC or a closely related few; convert_*.go turn the
// referee's words into the contract's, errors.go its refusals into statuses,
// interceptors.go is the way of every call, hub.go tells watchers of changes.
package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"referee.example/internal/referee"
	"referee.example/internal/tlog"
	refereev1 "referee.example/proto/referee/v1"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"
)

// Limits of connections and messages.
const (
	MaxRequestBytes  = 64 << 10 // the longest request is a whole ruleset or state
	maxResponseBytes = 16 << 20 // the longest answer is ten complete games
	maxStreams       = 1000     // a connection
	maxHeaderBytes   = 16 << 10
	maxConnections   = 20_000  // a port; further ones are closed as they come
	readBufferBytes  = 1 << 10 // a connection: requests are short, and most connections wait
	// A client may send so much unread, of one call and of all of a connection: what is
	// longer than a request may be is refused when no more of it has come. Windows that
	// grow with what is sent, which are the default, let megabytes come.
	streamWindow     = MaxRequestBytes
	connectionWindow = 1 << 20
	// workers answer calls on stacks that have grown already; a call that finds none
	// free gets a goroutine of its own.
	workers = 64

	handshakeTimeout = 10 * time.Second // TLS and HTTP/2 together
	connectionIdle   = 15 * time.Minute // without a call

	connectionAge  = 30 * time.Minute // so that clients spread over new replicas
	streamAge      = time.Hour        // of a watch or a play stream
	connectionRest = streamAge + time.Minute
	pingEach       = time.Minute      // a silent connection is tried
	pingTimeout    = 20 * time.Second // then it is closed
	leastPing      = 10 * time.Second // clients may ping so often
)

// Config is what a server needs. Every field but TLS, WebTLS, LogKeys, PlatformRate, Metrics
// and Reflection is required.
type Config struct {
	Referee *referee.Referee
	History referee.History
	Records referee.Records
	// Ready tells why the replica can't serve; asked each second.
	Ready func(ctx context.Context) error
	// Versions returns the versions of matches, those it knows.
	Versions func(ctx context.Context, ids []referee.ID) (map[referee.ID]int64, error)
	Log      *tlog.Log // of finished games
	// LogKeys are the public keys of that log: a log that changes its key has two
	// for a while. None leaves its signatures unchecked.
	LogKeys []note.Verifier
	Access  *Access // who may call, until SetAccess
	// TLS is the gRPC port's, WebTLS the HTTP port's; nil for none.
	TLS, WebTLS *tls.Config
	// Metrics answers /metrics on the HTTP port, without a token; nil for none.
	Metrics http.Handler
	// Conns is the size of the pool that Referee, History and Records share.
	Conns int
	// PlatformRate is how many calls a second one platform may make; 0 for no limit.
	PlatformRate float64
	// Reflection lets anybody ask for the contract.
	Reflection bool
	Logger     *slog.Logger
}

// limits are those that tests shorten.
type limits struct {
	poll      time.Duration // how often versions of what is watched are asked for
	ready     time.Duration // how often readiness is asked for
	heartbeat time.Duration // a watch's longest silence
	streamAge time.Duration
	watches   int // of matches and of feeds each, at this replica
	calls     int // at work
	waiting   int // of one connection, to be admitted
	streams   int // open
	conns     int // open
	handshake time.Duration
}

var standardLimits = limits{
	poll: 100 * time.Millisecond, ready: time.Second, heartbeat: 10 * time.Second,
	streamAge: streamAge, watches: 10_000, calls: standardCalls(), waiting: standardCalls() / 2, streams: 20_000, conns: maxConnections,
	handshake: handshakeTimeout,
}

// Server is the gRPC server of one replica, and its HTTP server.
type Server struct {
	grpc    *grpc.Server
	web     *webServer
	health  *health.Server
	referee *referee.Referee
	history referee.History
	records referee.Records
	gameLog *tlog.Log
	logKeys []note.Verifier
	access  atomic.Pointer[Access]
	ready   func(context.Context) error
	metrics http.Handler
	log     *slog.Logger
	hub     *hub[referee.ID] // of matches
	feeds   *hub[string]     // of platforms' settlements
	pages   readPages        // of matches
	isReady atomic.Bool      // when it was asked last
	limits  limits

	admission *admission
	shedLog   rate.Sometimes // one refused call is logged of those of a second: they are counted

	// draining ends the contract's streams, stopping what runs in the background.
	draining, stopping context.Context
	drain, stop        context.CancelFunc
	background         sync.WaitGroup
	// beginning is held while Serve starts the background, so that a Drain at the
	// same time waits for all of it or finds none.
	beginning sync.Mutex
}

// New returns a server that isn't serving yet.
func New(c Config) *Server { return newServer(c, standardLimits) }

func newServer(c Config, l limits) *Server {
	s := &Server{
		health: health.NewServer(), referee: c.Referee, history: c.History, records: c.Records, gameLog: c.Log, logKeys: c.LogKeys,
		ready: c.Ready, metrics: c.Metrics, log: c.Logger,
		hub: newHub(c.Versions, c.Logger, l), feeds: newHub(c.History.SettlementHeads, c.Logger, l), limits: l,
		admission: newAdmission(l, c.Conns, c.PlatformRate),
	}
	s.shedLog.Interval = time.Second
	s.access.Store(c.Access)
	s.draining, s.drain = context.WithCancel(context.Background())
	s.stopping, s.stop = context.WithCancel(context.Background())
	s.grpc = s.newGRPC(
		grpc.Creds(transport(c.TLS)),
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.ConnectionTimeout(l.handshake),
		grpc.ReadBufferSize(readBufferBytes),
		grpc.StaticStreamWindowSize(streamWindow),
		grpc.StaticConnWindowSize(connectionWindow),
		grpc.NumStreamWorkers(workers),
		grpc.InTapHandle(s.arrive),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			MaxConnectionIdle: connectionIdle, MaxConnectionAge: connectionAge, MaxConnectionAgeGrace: connectionRest,
			Time: pingEach, Timeout: pingTimeout,
		}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: leastPing, PermitWithoutStream: true}),
	)
	s.web = newWebServer(s.newGRPC(), c.Logger)
	s.web.tls = c.WebTLS
	s.setHealth(false)
	healthv1.RegisterHealthServer(s.grpc, s.health)
	if c.Reflection {
		reflection.Register(s.grpc)
	}
	return s
}

func transport(config *tls.Config) credentials.TransportCredentials {
	if config == nil {
		return insecure.NewCredentials()
	}
	return credentials.NewTLS(config)
}

// newGRPC returns a gRPC server of the contract: whichever way a call comes, it
// meets the same stations and limits.
func (s *Server) newGRPC(options ...grpc.ServerOption) *grpc.Server {
	g := grpc.NewServer(append(append(options, tracing()...),
		grpc.ChainUnaryInterceptor(s.unary),
		grpc.ChainStreamInterceptor(s.stream),
		grpc.ForceServerCodecV2(newCodec()),
		grpc.MaxRecvMsgSize(MaxRequestBytes),
		grpc.MaxSendMsgSize(maxResponseBytes),
		grpc.MaxHeaderListSize(maxHeaderBytes),
		grpc.WaitForHandlers(true),
	)...)
	refereev1.RegisterMatchServiceServer(g, &matchService{Server: s})
	refereev1.RegisterRulesServiceServer(g, &rulesService{Server: s})
	refereev1.RegisterAuditServiceServer(g, &auditService{Server: s})
	return g
}

// The services of the contract.
type (
	matchService struct {
		refereev1.UnimplementedMatchServiceServer
		*Server
	}
	rulesService struct {
		refereev1.UnimplementedRulesServiceServer
		*Server
	}
	auditService struct {
		refereev1.UnimplementedAuditServiceServer
		*Server
	}
)

// Serve answers calls on lis until Drain, which may come first. It closes lis.
func (s *Server) Serve(lis net.Listener) error {
	s.beginning.Lock()
	if s.stopping.Err() == nil {
		s.background.Go(func() { s.hub.run(s.stopping) })
		s.background.Go(func() { s.feeds.run(s.stopping) })
		s.background.Go(s.watchReadiness)
		s.background.Go(s.web.serveInProcess)
	}
	s.beginning.Unlock()
	err := s.grpc.Serve(&limitedListener{Listener: lis, most: int64(s.limits.conns)})
	if err == nil || errors.Is(err, grpc.ErrServerStopped) && s.draining.Err() != nil { // drained before it began
		return nil
	}
	return fmt.Errorf("serve gRPC: %w", err)
}

// SettlementsSequenced tells those who follow the feeds of platforms that these
// have grown. It only hints: they would find out by asking.
func (s *Server) SettlementsSequenced(platforms []string) {
	for _, platform := range platforms {
		s.feeds.changed(platform)
	}
}

// Drain stops serving in order, on both ports at once: health says so first,
// streams end with a reason, calls in flight are finished until ctx is done, then
// whatever is left is cut off. Serve and ServeWeb return meanwhile. It may be
// called once.
func (s *Server) Drain(ctx context.Context) {
	s.health.Shutdown()
	s.drain()
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		s.grpc.GracefulStop()
	}()
	s.web.drain(ctx)
	select {
	case <-finished:
	case <-ctx.Done():
		s.grpc.Stop()
		<-finished
	}
	s.beginning.Lock()
	s.stop()
	s.beginning.Unlock()
	s.background.Wait()
}
