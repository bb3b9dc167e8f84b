package server

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"referee.example/internal/referee"
	refereev1 "referee.example/proto/referee/v1"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
)

// health reads the next status of a health stream.
func nextHealth(t testing.TB, stream grpc.ServerStreamingClient[healthv1.HealthCheckResponse]) healthv1.HealthCheckResponse_ServingStatus {
	t.Helper()
	got, err := stream.Recv()
	must(t, err)
	return got.GetStatus()
}

func TestHealthFollowsReadiness(t *testing.T) {
	var broken atomic.Bool
	broken.Store(true)
	r := newRoom(t, options{ready: func(context.Context) error {
		if broken.Load() {
			return errors.New("the schema is too old")
		}
		return nil
	}})
	client := healthv1.NewHealthClient(r.conn)
	for _, name := range healthNames {
		got, err := client.Check(t.Context(), &healthv1.HealthCheckRequest{Service: name})
		must(t, err)
		if got.GetStatus() != healthv1.HealthCheckResponse_NOT_SERVING {
			t.Errorf("%q is %v before it is ready", name, got.GetStatus())
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := client.Watch(ctx, &healthv1.HealthCheckRequest{})
	must(t, err)
	for _, want := range []healthv1.HealthCheckResponse_ServingStatus{
		healthv1.HealthCheckResponse_NOT_SERVING, healthv1.HealthCheckResponse_SERVING, healthv1.HealthCheckResponse_NOT_SERVING,
	} {
		if got := nextHealth(t, stream); got != want {
			t.Errorf("health is %v, want %v", got, want)
		}
		broken.Store(want == healthv1.HealthCheckResponse_SERVING)
	}
}

// TestDrain takes a server down under a watch that doesn't leave by itself.
func TestDrain(t *testing.T) {
	r := newRoom(t, options{})
	table := r.create()
	stream := r.watch(table.id, "")
	event(t, stream)
	healthy, err := healthv1.NewHealthClient(r.conn).Watch(t.Context(), &healthv1.HealthCheckRequest{})
	must(t, err)
	for nextHealth(t, healthy) != healthv1.HealthCheckResponse_SERVING {
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		r.server.Drain(ctx)
		if ctx.Err() != nil {
			t.Error("the health's watcher held the drain up to its limit")
		}
	}()
	if got := nextHealth(t, healthy); got != healthv1.HealthCheckResponse_NOT_SERVING {
		t.Errorf("health is %v", got)
	}
	if end := event(t, stream).GetEnd(); end.GetReason() != refereev1.WatchEndReason_WATCH_END_REASON_DRAINING {
		t.Errorf("the watch ended with %v", end)
	}
	<-drained // though the health's watcher stays
	_, err = r.match.GetMatch(r.as("east"), &refereev1.GetMatchRequest{MatchId: table.id})
	if status.Code(err) != codes.Unavailable {
		t.Errorf("after the drain: %v", err)
	}
}

// TestDrainAtTheStart drains while Serve is only beginning: all that has begun is
// waited for, which the race detector and goleak would tell otherwise.
func TestDrainAtTheStart(t *testing.T) {
	r := newRoom(t, options{})
	for range 20 {
		s := newServer(Config{Referee: r.referee, History: r.store, Versions: r.store.Versions,
			Ready: func(context.Context) error { return nil }, Logger: slog.New(slog.DiscardHandler)}, quickLimits())
		served := make(chan struct{})
		go func() {
			defer close(served)
			_ = s.Serve(bufconn.Listen(1 << 10)) // it may come too late, which is no fault
		}()
		s.Drain(t.Context())
		<-served
	}
}

func TestReflection(t *testing.T) {
	for _, on := range []bool{false, true} {
		r := newRoom(t, options{config: func(c *Config) { c.Reflection = on }})
		stream, err := reflectionv1.NewServerReflectionClient(r.conn).ServerReflectionInfo(t.Context())
		must(t, err)
		_ = stream.Send(&reflectionv1.ServerReflectionRequest{ // fails where it is refused; Recv says why
			MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{},
		})
		got, err := stream.Recv()
		if on {
			must(t, err)
			if !strings.Contains(got.String(), "referee.v1.MatchService") {
				t.Errorf("services: %v", got)
			}
		} else if status.Code(err) != codes.Unimplemented {
			t.Errorf("reflection is off and answered %v, %v", got, err)
		}
	}
}

// journal gathers a log.
type journal struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.String()
}

// TestLogTellsCallsAndNoBodies plays a few plies and looks for the pieces, the
// tokens and the balances in the log.
func TestLogTellsCallsAndNoBodies(t *testing.T) {
	var log journal
	r := newRoom(t, options{log: &log, deal: tidy})
	table := r.started()
	request := table.action(flip("b1"))
	ctx := metadata.AppendToOutgoingContext(r.as("east"), requestIDHeader, "call-4711")
	var header metadata.MD
	_, err := r.match.PlayAction(ctx, request, grpc.Header(&header))
	must(t, err)
	if got := header.Get(requestIDHeader); len(got) != 1 || got[0] != "call-4711" {
		t.Errorf("the answer's request id is %q", got)
	}
	_, err = r.match.PlayAction(metadata.AppendToOutgoingContext(r.as("east"), requestIDHeader, "a\"b"), table.action(flip("b1")), grpc.Header(&header))
	wanted{codes.Aborted, "STALE", ""}.check(t, err)
	if got := header.Get(requestIDHeader); len(got) != 1 || len(got[0]) != 32 {
		t.Errorf("in place of a bad request id came %q", got)
	}
	text := log.String()
	for _, want := range []string{"call-4711", request.GetRequestId(), table.id, "MatchService/PlayAction", `"principal":"east"`, `"reason":"STALE"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the log lacks %s:\n%s", want, text)
		}
	}
	told := withoutNumbersOfChance(text)
	for _, hidden := range []string{"FLIP", "(G)", "secret", "hold-a", "2000", "Bearer", "XXXX"} {
		if strings.Contains(told, hidden) {
			t.Errorf("the log has %s:\n%s", hidden, text)
		}
	}
	if strings.Contains(text, "Health") {
		t.Error("health checks are logged")
	}
}

// ofChance are the times, durations and ids of a log's lines: any digits may be there.
var ofChance = regexp.MustCompile(`"(time|duration_us|request|request_id|match_id)":("[^"]*"|\d+)`)

func withoutNumbersOfChance(log string) string { return ofChance.ReplaceAllString(log, `"$1":0`) }

// TestPanicsStayInside lets the history break in the middle of a call.
func TestPanicsStayInside(t *testing.T) {
	var log journal
	r := newRoom(t, options{log: &log, config: func(c *Config) { c.History = brokenHistory{c.History} }})
	for range 2 {
		_, err := r.audit.ListMatches(r.as("auditor"), &refereev1.ListMatchesRequest{})
		wanted{codes.Internal, "INTERNAL", ""}.check(t, err)
		if strings.Contains(status.Convert(err).String(), "general") {
			t.Error("the panic's text was answered")
		}
	}
	text := log.String()
	if !strings.Contains(text, "panic") || !strings.Contains(text, "brokenHistory") || strings.Contains(text, "general") {
		t.Errorf("the log:\n%s", text)
	}
}

type brokenHistory struct{ referee.History }

func (brokenHistory) ListMatches(context.Context, referee.HistoryFilter, referee.MatchStatus, referee.ID, int) ([]*referee.State, referee.ID, error) {
	panic("the red general is on b3")
}
