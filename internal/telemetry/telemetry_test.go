package telemetry

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.opentelemetry.io/otel"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
)

// sink is a collector that keeps the names of the spans that it is sent.
type sink struct {
	collector.UnimplementedTraceServiceServer
	spans chan string
}

func (s *sink) Export(_ context.Context, r *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	for _, of := range r.GetResourceSpans() {
		for _, scope := range of.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				s.spans <- scope.GetScope().GetName() + " " + span.GetName()
			}
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

func TestTracesReachACollector(t *testing.T) {
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	received := &sink{spans: make(chan string, 10)}
	server := grpc.NewServer()
	collector.RegisterTraceServiceServer(server, received)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Setenv(endpointVariable, "http://"+listener.Addr().String())

	measured, err := Start(t.Context(), "v1", func(string) string { return "set" })
	if err != nil {
		t.Fatal(err)
	}
	_, span := otel.Tracer("tests").Start(t.Context(), "judged")
	span.End()
	if err := measured.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := <-received.spans; got != "tests judged" {
		t.Errorf("received %q", got)
	}
	server.Stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestWithoutACollectorNoSpanIsMade(t *testing.T) {
	measured, err := Start(t.Context(), "v1", func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	if _, span := otel.Tracer("tests").Start(t.Context(), "judged"); span.IsRecording() || span.SpanContext().IsValid() {
		t.Error("a span was made")
	}
	recorder := httptest.NewRecorder()
	measured.Handler().ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	if recorder.Code != http.StatusOK || !strings.Contains(recorder.Body.String(), `service_version="v1"`) ||
		!strings.Contains(recorder.Body.String(), "go_goroutines") {
		t.Errorf("status %d: %s", recorder.Code, recorder.Body)
	}
	if err := measured.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}
