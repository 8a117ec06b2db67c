package telemetry

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/hub"
	"github.com/penstock-mcp/penstock/hub/approval"
	"github.com/penstock-mcp/penstock/hub/upstream"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

func measured(t testing.TB, o MetricsOptions) (*Metrics, *sdk.ManualReader) {
	t.Helper()
	r := sdk.NewManualReader()
	p := sdk.NewMeterProvider(sdk.WithReader(r))
	t.Cleanup(func() { _ = p.Shutdown(context.Background()) })
	m, err := NewMetrics(p, o)
	if err != nil {
		t.Fatal(err)
	}
	return m, r
}

// read returns every point: its instrument, its labels sorted, and its value, or count and sum.
func read(t testing.TB, r sdk.Reader) map[string]float64 {
	t.Helper()
	var rm metricdata.ResourceMetrics
	if err := r.Collect(context.Background(), &rm); err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, s := range rm.ScopeMetrics {
		for _, m := range s.Metrics {
			key := func(a attribute.Set) string {
				return m.Name + "{" + a.Encoded(attribute.DefaultEncoder()) + "}"
			}
			switch d := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range d.DataPoints {
					out[key(p.Attributes)] = float64(p.Value)
				}
			case metricdata.Gauge[int64]:
				for _, p := range d.DataPoints {
					out[key(p.Attributes)] = float64(p.Value)
				}
			case metricdata.Histogram[float64]:
				for _, p := range d.DataPoints {
					out[key(p.Attributes)] = p.Sum
					out[key(p.Attributes)+"#"] = float64(p.Count)
				}
			default:
				t.Fatalf("%s is a %T", m.Name, d)
			}
		}
	}
	return out
}

func keysOf(points map[string]float64) string {
	var out []string
	for k := range points {
		out = append(out, k)
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

func TestMetricsOfOneCall(t *testing.T) {
	m, r := measured(t, MetricsOptions{Tools: true, Views: func(v string) bool { return v == "main" }})
	e := sample()
	e.Duration, e.Backend, e.Waited, e.Asked = 10*time.Second, 2*time.Second, 7*time.Second, true
	e.Approval = hub.Approval{Verdict: hub.Approved, Remember: true}
	m.Observe(t.Context(), e)
	no := hub.Event{Method: "tools/call", Result: hub.ResultRefused, Asked: true, Approval: hub.Approval{Err: approval.ErrExpired}}
	m.Observe(t.Context(), no)
	list := hub.Event{Method: "tools/list", Result: hub.ResultListed, Caller: hub.Caller{View: "made-up"}, Listed: 3, Total: 5}
	m.Observe(t.Context(), list)
	list.Err = errors.New("no")
	m.Observe(t.Context(), list)
	got := read(t, r)
	for key, want := range map[string]float64{
		"penstock.requests{gen_ai.tool.name=read,mcp.method.name=tools/call,penstock.action=deny,penstock.kind=tools,penstock.reason=none,penstock.result=ran,penstock.server=fs,penstock.source=none,penstock.view=main}": 1,
		"penstock.requests{mcp.method.name=tools/list,penstock.kind=tools,penstock.result=listed,penstock.view=_OTHER}":                                                                                                    2,
		"mcp.server.operation.duration{gen_ai.tool.name=read,mcp.method.name=tools/call,penstock.result=ran}":                                                                                                              10,
		"penstock.guard.duration{mcp.method.name=tools/call,penstock.result=ran}":                                                                                                                                          1,
		"penstock.backend.duration{mcp.method.name=tools/call,penstock.result=ran,penstock.server=fs}":                                                                                                                     2,
		"penstock.approval.duration{penstock.verdict=approved}":                                                                                                                                                            7,
		"penstock.approvals{penstock.kind=tools,penstock.remember=true,penstock.server=fs,penstock.verdict=approved}":                                                                                                      1,
		"penstock.approvals{error.type=unanswered,penstock.kind=tools,penstock.remember=false,penstock.verdict=refused}":                                                                                                   1,
		"penstock.lists{mcp.method.name=tools/list}":                                                                                                                                                                       1,
		"penstock.lists{error.type=_OTHER,mcp.method.name=tools/list}":                                                                                                                                                     1,
		"penstock.list.entries{mcp.method.name=tools/list}":                                                                                                                                                                6,
	} {
		if got[key] != want {
			t.Errorf("%s is %v, not %v", key, got[key], want)
		}
	}
	if t.Failed() {
		t.Log(keysOf(got))
	}
}

func TestGauges(t *testing.T) {
	status := []upstream.Status{
		{Server: "fs", State: upstream.Up, Tools: 5, Prompts: 2, Resources: 3, Problems: make([]upstream.Problem, 4)},
		{Server: "db", State: upstream.Down, Attempts: 6},
	}
	generation := uint64(7)
	m, r := measured(t, MetricsOptions{Servers: func() []upstream.Status { return status }, Generation: func() uint64 { return generation }})
	got := read(t, r)
	for key, want := range map[string]float64{
		"penstock.generation{}":               7,
		"penstock.servers{penstock.state=up}": 1, "penstock.servers{penstock.state=down}": 1,
		"penstock.servers{penstock.state=connecting}": 0, "penstock.servers{penstock.state=stopped}": 0,
		"penstock.server.up{penstock.server=fs}": 1, "penstock.server.up{penstock.server=db}": 0,
		"penstock.server.tools{penstock.server=fs}": 5, "penstock.server.prompts{penstock.server=fs}": 2,
		"penstock.server.resources{penstock.server=fs}": 3, "penstock.server.problems{penstock.server=fs}": 4,
		"penstock.server.attempts{penstock.server=db}": 6,
	} {
		if v, ok := got[key]; !ok || v != want {
			t.Errorf("%s is %v (%v), not %v", key, v, ok, want)
		}
	}
	status, generation = status[:1], 8
	got = read(t, r)
	if _, ok := got["penstock.server.up{penstock.server=db}"]; ok || got["penstock.generation{}"] != 8 || got["penstock.servers{penstock.state=down}"] != 0 {
		t.Errorf("a server that is gone is still there: %s", keysOf(got))
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if got := keysOf(read(t, r)); strings.Contains(got, "penstock.server.up") {
		t.Errorf("closed, and still there: %s", got)
	}
}

// Nobody but the operator makes labels: ten thousand callers who try add none.
func TestLabelsAreBounded(t *testing.T) {
	for _, x := range []struct {
		what  string
		calls int
		o     MetricsOptions
	}{
		{"with servers", 10_000, MetricsOptions{Tools: true, Views: func(v string) bool { return v == "main" }, Servers: func() []upstream.Status { return []upstream.Status{{Server: "fs"}} }}},
		{"without", 1000, MetricsOptions{Tools: true}},
	} {
		t.Run(x.what, func(t *testing.T) {
			m, r := measured(t, x.o)
			w := newWorld(t, m, func(g *hub.GuardOptions) {
				g.Identify = func(context.Context, string, mcp.Request) (hub.Caller, error) {
					name := fmt.Sprintf("%s-%x", canary, rand.Uint64())
					view := "main"
					if rand.IntN(2) == 0 {
						view = name
					}
					return hub.Caller{Principal: name, View: view}, nil
				}
			})
			w.run(script())
			before := read(t, r)
			c := w.wire()
			for i := range x.calls {
				name := fmt.Sprintf("%s-%x", canary, rand.Uint64())
				switch i % 4 {
				case 0:
					p := call(name, `{}`)
					c.do(p[0], p[1], "")
				case 1: // its server is a guess of the embedder's
					c.do("resources/read", fmt.Sprintf(`{"uri":"%s://a"}`, name), "")
				case 2:
					c.do("prompts/get", fmt.Sprintf(`{"name":%q,"arguments":{%q:%q}}`, name, name, name), "")
				case 3:
					p := call("fs__read", fmt.Sprintf(`{%q:%q}`, name, name))
					c.do(p[0], p[1], "")
				}
			}
			after := read(t, r)
			if len(after) > 2*len(before)+60 || len(before) < 20 {
				t.Errorf("%d points before, %d after:\n%s", len(before), len(after), keysOf(after))
			}
			if got := keysOf(after); strings.Contains(got, canary) || strings.Contains(got, "acme") || strings.Contains(got, "root") {
				t.Errorf("a caller's words in a label:\n%s", got)
			}
		})
	}
}

// Tools and servers that are real, but many, end in one label.
func TestManyTools(t *testing.T) {
	m, r := measured(t, MetricsOptions{Tools: true})
	for i := range 2 * maxTools {
		e := sample()
		e.Target.Name = fmt.Sprintf("t%d", i)
		if i%4 == 0 {
			e.Target.Server = fmt.Sprintf("s%d", i)
		}
		m.Observe(t.Context(), e)
	}
	if len(m.tools.names) != maxTools || len(m.servers.names) != 1000 {
		t.Errorf("%d tools, %d servers", len(m.tools.names), len(m.servers.names))
	}
	points := 0
	for k := range read(t, r) {
		if strings.HasPrefix(k, "penstock.requests{") {
			points++
		}
	}
	if points > maxTools+2 {
		t.Errorf("%d points", points)
	}
}

// One label that is not text would hide its whole instrument from Prometheus.
func TestLabelsAreText(t *testing.T) {
	bad := "\xff\n"
	status := []upstream.Status{{Server: bad, State: upstream.Up}}
	m, r := measured(t, MetricsOptions{Tools: true, Views: func(string) bool { return true }, Servers: func() []upstream.Status { return status }})
	m.Observe(t.Context(), hub.Event{
		Method: bad, Result: hub.ResultRan, Caller: hub.Caller{View: bad}, Target: engine.Target{Server: bad, Name: bad},
		Backend: 1, Asked: true, Err: errors.New(bad),
	})
	got := keysOf(read(t, r))
	if !utf8.ValidString(got) || strings.Count(got, `"\\xff\\n"`) < 8 {
		t.Error(got)
	}
}

// The servers are read again when an unknown one comes up, but not for each of them.
func TestServersAreReadSeldom(t *testing.T) {
	reads := 0
	m, _ := measured(t, MetricsOptions{Servers: func() []upstream.Status {
		reads++
		return []upstream.Status{{Server: "fs"}}
	}})
	for i := range 1000 {
		e := sample()
		e.Target = engine.Target{Server: fmt.Sprint(i), Name: "x"}
		if l := m.labelsOf(&e); l.server.Value.AsString() != other {
			t.Fatal(l.server)
		}
		e.Target.Server = "fs"
		if l := m.labelsOf(&e); l.server.Value.AsString() != "fs" {
			t.Fatal(l.server)
		}
	}
	if reads > 100 { // one a second, on a machine that takes its time
		t.Errorf("read %d times", reads)
	}
}

func TestMetricsThatCannotBeMade(t *testing.T) {
	if m, err := NewMetrics(refusing{}, MetricsOptions{}); err == nil || m != nil {
		t.Errorf("%v, %v", m, err)
	}
	if m, err := NewMetrics(nil, MetricsOptions{}); err != nil {
		t.Error(err)
	} else {
		m.Observe(t.Context(), sample()) // nobody listens
	}
}

// refusing is a provider that makes no histograms.
type refusing struct{ metric.MeterProvider }

func (refusing) Meter(string, ...metric.MeterOption) metric.Meter { return refusingMeter{} }

type refusingMeter struct{ metric.Meter }

func (refusingMeter) Int64Counter(string, ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	return nil, nil
}

func (refusingMeter) Float64Histogram(string, ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	return nil, errors.New("no")
}

func BenchmarkMetrics(b *testing.B) {
	m, _ := measured(b, MetricsOptions{Tools: true, Servers: func() []upstream.Status { return []upstream.Status{{Server: "fs"}} }})
	e := sample()
	b.ReportAllocs()
	for b.Loop() {
		m.Observe(b.Context(), e)
	}
}
