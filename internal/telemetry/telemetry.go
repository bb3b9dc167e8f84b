// Package telemetry sends what the referee measures: metrics to whoever reads the
// Prometheus endpoint, and traces to an OpenTelemetry collector if there is one.
// The packages measure through the OpenTelemetry API; this one alone knows where
// it goes.
//
// Nothing that is measured or traced depends on a hidden piece: attributes are
// methods, codes, outcomes and kinds; the match of a commit is in its span only.
package telemetry

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	prometheusexporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/exemplar"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace/noop"
)

// Variables of the OpenTelemetry specification; with neither set no span is made.
const (
	endpointVariable       = "OTEL_EXPORTER_OTLP_ENDPOINT"
	tracesEndpointVariable = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
)

// Telemetry is where a process's measurements go.
type Telemetry struct {
	registry *prometheus.Registry
	metrics  *metric.MeterProvider
	traces   *trace.TracerProvider // nil without a collector
}

// Start makes the process's measurements go somewhere, for the whole process. The
// exporter of traces is set up by the variables OTEL_EXPORTER_OTLP_... and
// OTEL_TRACES_SAMPLER of the OpenTelemetry specification, over gRPC.
func Start(ctx context.Context, version string, getenv func(string) string) (*Telemetry, error) {
	about, err := resource.New(ctx, resource.WithSchemaURL(semconv.SchemaURL), resource.WithFromEnv(), resource.WithTelemetrySDK(),
		resource.WithAttributes(semconv.ServiceName("referee"), semconv.ServiceVersion(version)))
	if err != nil {
		return nil, fmt.Errorf("telemetry: %w", err)
	}
	t := &Telemetry{registry: prometheus.NewRegistry()}
	t.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	reader, err := prometheusexporter.New(prometheusexporter.WithRegisterer(t.registry), prometheusexporter.WithoutScopeInfo())
	if err != nil {
		return nil, fmt.Errorf("telemetry: %w", err)
	}
	traced := getenv(endpointVariable) != "" || getenv(tracesEndpointVariable) != ""
	options := []metric.Option{metric.WithReader(reader), metric.WithResource(about)}
	if !traced {
		options = append(options, metric.WithExemplarFilter(exemplar.AlwaysOffFilter)) // they name spans
	}
	t.metrics = metric.NewMeterProvider(options...)
	otel.SetMeterProvider(t.metrics)
	if !traced {
		otel.SetTracerProvider(noop.NewTracerProvider()) // else the API keeps spans for a provider that may still come
		return t, nil
	}
	exporter, err := otlptracegrpc.New(ctx)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("telemetry: %w", err), t.Stop(ctx))
	}
	t.traces = trace.NewTracerProvider(trace.WithBatcher(exporter), trace.WithResource(about))
	otel.SetTracerProvider(t.traces)
	otel.SetTextMapPropagator(propagation.TraceContext{})
	return t, nil
}

// Handler answers with the metrics as Prometheus reads them.
func (t *Telemetry) Handler() http.Handler {
	return promhttp.HandlerFor(t.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}

// Stop sends what is left.
func (t *Telemetry) Stop(ctx context.Context) error {
	err := t.metrics.Shutdown(ctx)
	if t.traces != nil {
		err = errors.Join(err, t.traces.Shutdown(ctx))
	}
	return err
}
