package telemetry_test

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/hub"
	"github.com/penstock-mcp/penstock/hub/telemetry"
	"go.opentelemetry.io/otel/metric/noop"
)

// A guard that is seen from outside: tracing goes before it, and all three hear of what it decides.
func Example() {
	e, err := engine.New(engine.Config{})
	if err != nil {
		panic(err)
	}
	metrics, err := telemetry.NewMetrics(noop.NewMeterProvider(), telemetry.MetricsOptions{
		Generation: func() uint64 { return e.Snapshot().Generation() },
	})
	if err != nil {
		panic(err)
	}
	defer metrics.Close()
	tracing := telemetry.NewTracing(nil, telemetry.TracingOptions{})
	audit := telemetry.NewAudit(slog.New(slog.NewJSONHandler(os.Stdout, nil)), telemetry.AuditOptions{})

	guard, err := hub.NewGuard(hub.GuardOptions{Engine: e, Observer: telemetry.Observers{audit, metrics, tracing}})
	if err != nil {
		panic(err)
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "example", Version: "1"}, nil)
	server.AddReceivingMiddleware(tracing.Middleware(), guard.Middleware())
	server.AddSendingMiddleware(guard.SendingMiddleware())
}

func ExampleNewAudit() {
	audit := telemetry.NewAudit(slog.New(slog.NewJSONHandler(os.Stdout, nil)), telemetry.AuditOptions{})
	audit.Observe(context.Background(), hub.Event{ // as a guard tells it
		Time:     time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC),
		Duration: 120 * time.Microsecond,
		Method:   "tools/call",
		Caller:   hub.Caller{Principal: "ada", View: "default"},
		Result:   hub.ResultHidden,
		Exposed:  "files__delete",
	})
	// Output:
	// {"time":"2026-08-01T12:00:00Z","level":"WARN","msg":"mcp request","method":"tools/call","result":"hidden","principal":"ada","view":"default","generation":0,"kind":"tools","exposed":"files__delete","duration_ms":0.12}
}
