// Package prometheus shows the metrics of a process to Prometheus: OpenTelemetry's SDK behind the API, a registry of its
// own, and a handler. Nothing of it is global, so that two of them do not meet.
package prometheus

import (
	"context"
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
)

// maxScrapes bounds how many collect at the same time: each walks all metrics, and one Prometheus needs one.
const maxScrapes = 4

// Exporter is a MeterProvider and the page that shows what its instruments hold. Make one with [New]; it is safe for
// concurrent use.
type Exporter struct {
	provider *sdk.MeterProvider
	handler  http.Handler
}

// New returns an exporter that also shows the Go runtime and the process. It starts no goroutine and opens nothing.
//
// Metrics have the names of OpenTelemetry as Prometheus writes them: "penstock.requests" is penstock_requests_total.
func New() (*Exporter, error) {
	registry := prometheus.NewRegistry()
	for _, c := range []prometheus.Collector{
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	} {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("metrics: %w", err)
		}
	}
	reader, err := exporter.New(
		exporter.WithRegisterer(registry),
		exporter.WithoutScopeInfo(),  // there is one scope, and it would be a label of every metric
		exporter.WithoutTargetInfo(), // who is scraped is what Prometheus knows best
	)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	return &Exporter{
		provider: sdk.NewMeterProvider(sdk.WithReader(reader)),
		// What cannot be collected is left out, and the rest is shown.
		handler: promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: maxScrapes}),
	}, nil
}

// MeterProvider returns what instruments are made with.
func (e *Exporter) MeterProvider() metric.MeterProvider { return e.provider }

// Handler returns the page. It answers GET and every other method alike, and is for a listener that only operators reach.
func (e *Exporter) Handler() http.Handler { return e.handler }

// Shutdown ends the instruments: they count no more, and the page shows the runtime and the process only.
func (e *Exporter) Shutdown(ctx context.Context) error { return e.provider.Shutdown(ctx) }
