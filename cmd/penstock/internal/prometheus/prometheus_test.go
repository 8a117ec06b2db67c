package prometheus

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

func page(t testing.TB, e *Exporter) string {
	t.Helper()
	r := httptest.NewRecorder()
	e.Handler().ServeHTTP(r, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if r.Code != http.StatusOK {
		t.Fatalf("%d: %s", r.Code, r.Body)
	}
	return r.Body.String()
}

func exporterOf(t testing.TB) *Exporter {
	t.Helper()
	e, err := New()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestPage(t *testing.T) {
	e := exporterOf(t)
	meter := e.MeterProvider().Meter("test")
	c, err := meter.Int64Counter("penstock.requests", metric.WithUnit("{request}"), metric.WithDescription("Requests."))
	if err != nil {
		t.Fatal(err)
	}
	c.Add(t.Context(), 2, metric.WithAttributes(attribute.String("penstock.result", "ran"), attribute.String("odd", "a\"b\nc")))
	h, err := meter.Float64Histogram("mcp.server.operation.duration", metric.WithUnit("s"), metric.WithExplicitBucketBoundaries(0.5, 1))
	if err != nil {
		t.Fatal(err)
	}
	h.Record(t.Context(), 0.7)
	g, err := meter.Int64ObservableGauge("penstock.servers", metric.WithUnit("{server}"), metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
		o.Observe(3)
		return nil
	}))
	if err != nil || g == nil {
		t.Fatal(err)
	}
	got := page(t, e)
	for _, want := range []string{
		"# TYPE penstock_requests_total counter\n",
		`penstock_requests_total{odd="a\"b\nc",penstock_result="ran"} 2` + "\n",
		`mcp_server_operation_duration_seconds_bucket{le="1"} 1` + "\n",
		"penstock_servers 3\n",
		"go_goroutines ", "process_open_fds ",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	for _, line := range strings.Split(got, "\n") {
		if strings.Contains(line, "otel_scope") || strings.HasPrefix(line, "target_info") {
			t.Errorf("%s", line)
		}
	}
}

// Two exporters, and the default registry, know nothing of each other.
func TestNothingIsShared(t *testing.T) {
	a, b := exporterOf(t), exporterOf(t)
	c, err := a.MeterProvider().Meter("test").Int64Counter("only.here")
	if err != nil {
		t.Fatal(err)
	}
	c.Add(t.Context(), 1)
	if !strings.Contains(page(t, a), "only_here_total 1") || strings.Contains(page(t, b), "only_here") {
		t.Error("an instrument is on the wrong page")
	}
}

// Counting and scraping go on at once, and nothing is left behind.
func TestShutdownLeavesNothing(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 20 {
		e := exporterOf(t)
		server := httptest.NewServer(e.Handler())
		c, err := e.MeterProvider().Meter("test").Int64Counter("n")
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for range 10 {
					c.Add(context.Background(), 1)
					res, err := server.Client().Get(server.URL)
					if err != nil {
						t.Error(err)
						return
					}
					_, _ = io.Copy(io.Discard, res.Body)
					res.Body.Close()
				}
			})
		}
		all.Wait()
		if got := page(t, e); !strings.Contains(got, "n_total 40") {
			t.Error(got)
		}
		server.Close()
		if err := e.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		c.Add(context.Background(), 1) // counts for nobody
		if got := page(t, e); strings.Contains(got, "n_total") || !strings.Contains(got, "go_goroutines ") {
			t.Errorf("after the end:\n%s", got)
		}
	}
	for deadline := time.Now().Add(20 * time.Second); runtime.NumGoroutine() > before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
}
