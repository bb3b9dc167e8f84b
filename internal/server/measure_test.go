package server

import (
	"context"
	"strings"
	"testing"

	refereev1 "referee.example/proto/referee/v1"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc/metadata"
)

// spanSink takes spans.
type spanSink chan trace.ReadOnlySpan

func (s spanSink) ExportSpans(_ context.Context, spans []trace.ReadOnlySpan) error {
	for _, span := range spans {
		s <- span
	}
	return nil
}

func (s spanSink) Shutdown(context.Context) error { return nil }

// Where somebody takes spans a call is one, in the caller's trace, which its line of
// the log names; where nobody does gRPC is not asked to tell of calls.
func TestSpans(t *testing.T) {
	before, propagator := otel.GetTracerProvider(), otel.GetTextMapPropagator()
	t.Cleanup(func() {
		otel.SetTracerProvider(before)
		otel.SetTextMapPropagator(propagator)
	})
	otel.SetTracerProvider(noop.NewTracerProvider())
	if len(tracing()) != 0 {
		t.Error("gRPC is asked to tell of calls for nobody")
	}
	spans := make(spanSink, 10)
	otel.SetTracerProvider(trace.NewTracerProvider(trace.WithSyncer(spans)))
	otel.SetTextMapPropagator(propagation.TraceContext{})
	log := &journal{}
	r := newRoom(t, options{log: log})
	const traceID = "0af7651916cd43dd8448eb211c80319c"
	ctx := metadata.AppendToOutgoingContext(r.as("east"), "traceparent", "00-"+traceID+"-b7ad6b7169203331-01")
	_, err := r.rules.ListRulesets(ctx, &refereev1.ListRulesetsRequest{})
	must(t, err)
	span := <-spans
	if name := span.Name(); name != "referee.v1.RulesService/ListRulesets" || span.SpanContext().TraceID().String() != traceID {
		t.Errorf("the span is %s in trace %v", name, span.SpanContext().TraceID())
	}
	if !strings.Contains(log.String(), `"trace_id":"`+traceID+`"`) {
		t.Errorf("the log does not name the trace: %s", log)
	}
}
