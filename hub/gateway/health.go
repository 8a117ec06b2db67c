// How the gateway is doing: in one word for everybody, in detail for the operator, and in numbers.
//
// Callers are told no more than ok or degraded: how many servers and tools there are is not theirs to know.

package gateway

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/penstock-mcp/penstock/hub/telemetry"
	"github.com/penstock-mcp/penstock/hub/upstream"
)

// Health is how a gateway is doing.
type Health struct {
	Status     string         `json:"status"` // ok, or degraded where the configuration is bad or a server is down
	Generation uint64         `json:"generation"`
	Config     ConfigHealth   `json:"config"`
	Servers    []ServerHealth `json:"servers"` // by id
	Lost       []string       `json:"lost_names,omitempty"`
}

// ConfigHealth says whether the files are those in force.
type ConfigHealth struct {
	Error   string     `json:"error,omitempty"` // why the last reload failed; what was in force before is
	Since   *time.Time `json:"since,omitempty"`
	Restart []string   `json:"restart,omitempty"` // options that changed and need the hub to be started anew
}

// ServerHealth is how one server is doing.
type ServerHealth struct {
	Server    string    `json:"server"`
	State     string    `json:"state"`
	Error     string    `json:"error,omitempty"`
	Since     time.Time `json:"since"`
	Attempts  int       `json:"attempts,omitempty"`
	Tools     int       `json:"tools"`
	Prompts   int       `json:"prompts"`
	Resources int       `json:"resources"`
	Problems  []string  `json:"problems,omitempty"`
}

// Health returns how the gateway is doing.
func (g *Gateway) Health() Health {
	h := Health{Status: "ok", Generation: g.engine.Snapshot().Generation(), Servers: []ServerHealth{}}
	r := &g.reload
	r.mu.Lock()
	if r.err != nil {
		since := r.since
		h.Config.Error, h.Config.Since = r.err.Error(), &since
		h.Status = "degraded"
	}
	h.Config.Restart = r.restart
	r.mu.Unlock()
	for _, s := range g.pool.Status() {
		one := ServerHealth{
			Server: s.Server, State: string(s.State), Since: s.Since, Attempts: s.Attempts,
			Tools: s.Tools, Prompts: s.Prompts, Resources: s.Resources,
		}
		if s.Err != nil {
			one.Error = s.Err.Error()
		}
		for _, p := range s.Problems {
			text := p.Err.Error()
			if p.Item != "" {
				text = p.Item + ": " + text
			}
			one.Problems = append(one.Problems, text)
		}
		if s.State == upstream.Down {
			h.Status = "degraded"
		}
		h.Servers = append(h.Servers, one)
	}
	o := g.catalogs.now.Load()
	for _, t := range append(o.names.Lost(), o.prompts.Lost()...) {
		h.Lost = append(h.Lost, t.String())
	}
	return h
}

// serveHealth is /healthz for callers.
func (g *Gateway) serveHealth(w http.ResponseWriter, r *http.Request) {
	answer(w, r, struct {
		Status string `json:"status"`
	}{g.Health().Status})
}

func (g *Gateway) serveAdmin(w http.ResponseWriter, r *http.Request) {
	// Against DNS rebinding: a web page that has got its own name to mean this machine sends that name.
	if at, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok && loopback(at.String()) && !loopbackHost(r.Host) {
		http.Error(w, "forbidden: the Host is not this machine's", http.StatusForbidden)
		return
	}
	switch {
	case r.URL.Path == "/healthz":
		answer(w, r, g.Health())
	case r.URL.Path == "/metrics" && g.o.Metrics != nil:
		g.o.Metrics.ServeHTTP(w, r)
	default:
		http.NotFound(w, r)
	}
}

func loopbackHost(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return loopback(net.JoinHostPort(trimBrackets(host), "0"))
}

func trimBrackets(host string) string {
	if len(host) > 1 && host[0] == '[' && host[len(host)-1] == ']' {
		return host[1 : len(host)-1]
	}
	return host
}

// answer writes v. It is 200 also where v says degraded: a probe that ends the process would take away what still works.
func answer(w http.ResponseWriter, r *http.Request, v any) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(v)
}

// metrics are those of requests, and two of the configuration:
//
//	penstock.config.failed   gauge    1 while the files are not those in force, because they are bad
//	penstock.config.reloads  counter  attempts to reload, by whether they failed
type metrics struct {
	requests *telemetry.Metrics
	config   metric.Registration
}

// newMetrics returns nil where nothing is measured.
func newMetrics(g *Gateway) (*metrics, error) {
	if g.o.MeterProvider == nil {
		return nil, nil
	}
	requests, err := telemetry.NewMetrics(g.o.MeterProvider, telemetry.MetricsOptions{
		Servers:    g.pool.Status,
		Generation: func() uint64 { return g.engine.Snapshot().Generation() },
		Views: func(view string) bool {
			_, ok := g.state.Load().config.Views[view]
			return ok
		},
		Tools: true,
	})
	if err != nil {
		return nil, err
	}
	m := &metrics{requests: requests}
	meter := g.o.MeterProvider.Meter("github.com/penstock-mcp/penstock/hub/gateway")
	failed, err := meter.Int64ObservableGauge("penstock.config.failed",
		metric.WithDescription("1 while the files of the configuration are bad, and what was in force before is."))
	if err != nil {
		m.close()
		return nil, err
	}
	reloads, err := meter.Int64ObservableCounter("penstock.config.reloads",
		metric.WithDescription("Attempts to reload the configuration."))
	if err != nil {
		m.close()
		return nil, err
	}
	m.config, err = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		r := &g.reload
		r.mu.Lock()
		defer r.mu.Unlock()
		bad := int64(0)
		if r.err != nil {
			bad = 1
		}
		o.ObserveInt64(failed, bad)
		o.ObserveInt64(reloads, int64(r.tried-r.failed), metric.WithAttributes(outcome("applied")))
		o.ObserveInt64(reloads, int64(r.failed), metric.WithAttributes(outcome("failed")))
		return nil
	}, failed, reloads)
	if err != nil {
		m.close()
		return nil, err
	}
	return m, nil
}

func (m *metrics) close() {
	if m == nil {
		return
	}
	_ = m.requests.Close()
	if m.config != nil {
		_ = m.config.Unregister()
	}
}

func outcome(what string) attribute.KeyValue { return attribute.String("penstock.outcome", what) }
