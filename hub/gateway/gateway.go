// Package gateway is the hub itself: one MCP server in front of many, with a guard between. It reads hub.yaml, puts the
// parts of package hub together, serves stdio and streamable HTTP, and reloads what changes on disk.
//
//	c, err := gateway.Load("hub.yaml", gateway.LoadOptions{})
//	if err != nil {
//		return err
//	}
//	g, err := gateway.New(c, gateway.Options{Logger: logger})
//	if err != nil {
//		return err
//	}
//	return g.Run(ctx)
//
// Run serves what the configuration says. A program that serves by itself calls [Gateway.Start], uses [Gateway.Handler] or
// [Gateway.Server], and [Gateway.Close] in the end.
//
// # What stands where
//
// Requests pass the middleware of traces, the guard and the backend, in this order, and never reach a handler of the SDK
// but for the methods of the protocol itself: the server has no tools, prompts and resources of its own. Who a request
// comes from is decided by its token alone: see [Config.Callers] and [OAuth].
//
// # Reverse proxies
//
// Where nobody has to say who he is, a request that comes in on a loopback address with another Host is refused, against DNS
// rebinding. Where tokens are asked for, a proxy may pass on whatever Host it has.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/hub"
	"github.com/penstock-mcp/penstock/hub/telemetry"
	"github.com/penstock-mcp/penstock/hub/upstream"
)

// Options are what a program decides, and not its configuration. The zero value is the documented default.
type Options struct {
	Logger *slog.Logger        // nil: nothing is logged
	Server *mcp.Implementation // what callers are told; nil: penstock

	// Approver answers where the decision is to ask, instead of what Config.Ask says. Nil: as Config.Ask says.
	Approver hub.Approver

	// Observer hears of every request, besides what the configuration says. Nil: nobody does.
	Observer hub.Observer

	// Taint returns the servers whose output is in the context of the model that makes a request. A hub does not see a
	// model's context, so only the program that runs the model knows. Nil: none, and rules on taint never match.
	Taint func(ctx context.Context, c hub.Caller, in mcp.Request) []string

	MeterProvider  metric.MeterProvider // nil: nothing is measured
	TracerProvider trace.TracerProvider // nil: there are no traces
	Metrics        http.Handler         // what the admin listener has at /metrics; nil: nothing

	// Load says how the configuration was loaded, and is loaded again.
	Load LoadOptions

	// Trigger has the configuration loaded anew, whether or not it changed, and the file of the audit log opened anew, for
	// each value received. Nil: the configuration is loaded when a file has changed, and the audit log stays as it is.
	Trigger <-chan os.Signal
}

// Gateway is a hub. Make one with [New]. All methods are safe for concurrent use.
type Gateway struct {
	o   Options
	log *slog.Logger

	engine   *engine.Engine
	pool     *upstream.Pool
	catalogs *catalogs
	subs     *subscriptions
	calls    calls
	notices  notices
	guard    *hub.Guard
	server   *mcp.Server
	web      *web
	metrics  *metrics
	audit    *auditFile // nil: there is none
	refusals refusals

	state  atomic.Pointer[state]
	reload reloader

	start sync.Once
	stop  sync.Once
	wait  sync.WaitGroup // for what runs in the background

	background context.Context // ends with the gateway
	cancel     context.CancelFunc
}

// state is the configuration in force. It is immutable.
type state struct {
	config *Config
	gate   *gate
}

// New returns a gateway that has not been started. It returns an error for a configuration that nobody could run: a view
// that somebody is in and that there is not, an address outside of this machine without authentication, an audit log that
// cannot be written.
func New(c *Config, o Options) (*Gateway, error) {
	if c == nil {
		return nil, errors.New("gateway: there is no configuration")
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Server == nil {
		o.Server = &mcp.Implementation{Name: "penstock"}
	}
	e, err := engine.New(c.engine())
	if err != nil {
		return nil, err
	}
	g := &Gateway{o: o, log: o.Logger, engine: e}
	g.background, g.cancel = context.WithCancel(context.Background())
	g.refusals.log = o.Logger
	g.state.Store(&state{c, newGate(c, nil, g.refusals.note)})
	g.reload.attempt = c.files
	g.catalogs = newCatalogs(e, g.nudge)
	g.pool = upstream.NewPool(upstream.Options{
		Logger:            o.Logger,
		Client:            o.Server,
		Refresh:           c.Refresh,
		ConnectTimeout:    c.Timeouts.Connect,
		CallTimeout:       c.Timeouts.Call,
		OnCatalog:         g.onCatalog,
		OnResourceUpdated: g.onUpdated,
	})
	g.subs = newSubscriptions(
		func(ctx context.Context, t engine.Target) error { return g.pool.Subscribe(ctx, t.Server, t.Name) },
		func(ctx context.Context, t engine.Target) error { return g.pool.Unsubscribe(ctx, t.Server, t.Name) },
	)
	if err := g.assemble(c); err != nil {
		g.cancel()
		g.closeLogs()
		return nil, err
	}
	return g, nil
}

// assemble makes the server and what stands before it.
func (g *Gateway) assemble(c *Config) error {
	observers, tracing, err := g.observers(c)
	if err != nil {
		return err
	}
	approver := g.o.Approver
	if approver == nil {
		approver = g.approver(c)
	}
	o := hub.GuardOptions{
		Engine:             g.engine,
		Names:              func() *hub.Names { return g.catalogs.now.Load().names },
		Prompts:            func() *hub.Names { return g.catalogs.now.Load().prompts },
		Resources:          g.catalogs.resolve,
		Templates:          g.catalogs.resolve,
		Identify:           g.identify,
		Approver:           approver,
		Observer:           observers,
		OnlyApproved:       c.OnlyApproved,
		Definition:         g.catalogs.definition,
		ApprovedDefinition: g.approvedDefinition,
		Arguments:          c.Audit.Arguments,
	}
	if g.guard, err = hub.NewGuard(o); err != nil {
		return err
	}
	g.server = mcp.NewServer(g.o.Server, &mcp.ServerOptions{
		Logger: slog.New(quiet{g.log.Handler()}),
		// All of them, whatever the servers have: what a capability says, every caller hears.
		Capabilities: &mcp.ServerCapabilities{
			Tools:       &mcp.ToolCapabilities{ListChanged: true},
			Prompts:     &mcp.PromptCapabilities{ListChanged: true},
			Resources:   &mcp.ResourceCapabilities{ListChanged: true, Subscribe: true},
			Completions: &mcp.CompletionCapabilities{},
		},
		SubscribeHandler:   g.onSubscribe,
		UnsubscribeHandler: g.onUnsubscribe,
	})
	receiving := []mcp.Middleware{g.guard.Middleware(), g.backend}
	if tracing != nil {
		receiving = slices.Insert(receiving, 0, tracing.Middleware())
	}
	g.server.AddReceivingMiddleware(receiving...)
	g.server.AddSendingMiddleware(g.notices.middleware, g.guard.SendingMiddleware())
	g.web = newWeb(g, c)
	return nil
}

// observers returns who hears of requests.
func (g *Gateway) observers(c *Config) (telemetry.Observers, *telemetry.Tracing, error) {
	var out telemetry.Observers
	var tracing *telemetry.Tracing
	if g.o.TracerProvider != nil {
		tracing = telemetry.NewTracing(g.o.TracerProvider, telemetry.TracingOptions{})
		out = append(out, tracing)
	}
	audit, err := g.auditLog(c.Audit)
	if err != nil {
		return nil, nil, err
	}
	if audit != nil {
		out = append(out, audit)
	}
	if g.metrics, err = newMetrics(g); err != nil {
		return nil, nil, err
	}
	if g.metrics != nil {
		out = append(out, g.metrics.requests)
	}
	if g.o.Observer != nil {
		out = append(out, g.o.Observer)
	}
	return out, tracing, nil
}

// auditLog opens the audit log.
func (g *Gateway) auditLog(a Audit) (hub.Observer, error) {
	var w io.Writer
	switch a.File {
	case "":
		return nil, nil
	case stderrFile:
		w = os.Stderr
	default:
		f, err := openAudit(a.File)
		if err != nil {
			return nil, fmt.Errorf("audit.file: %w", err)
		}
		w, g.audit = f, f
	}
	h := slog.NewJSONHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug})
	return telemetry.NewAudit(slog.New(h), telemetry.AuditOptions{Arguments: a.Arguments}), nil
}

func (g *Gateway) closeLogs() {
	if g.audit != nil {
		_ = g.audit.Close()
	}
	g.metrics.close()
}

// Server returns the server, to connect transports to: what comes in over one of them without a token is Config.Stdio.
func (g *Gateway) Server() *mcp.Server { return g.server }

// Engine returns the engine, to look at.
func (g *Gateway) Engine() *engine.Engine { return g.engine }

// Handler returns what the HTTP listener serves: streamable HTTP at /mcp, /healthz, and the metadata of OAuth.
func (g *Gateway) Handler() http.Handler { return g.web }

// Admin returns what the admin listener serves: /healthz with details, and /metrics. It asks nobody who he is.
func (g *Gateway) Admin() http.Handler { return http.HandlerFunc(g.serveAdmin) }

// engine returns what the engine needs of a configuration.
func (c *Config) engine() engine.Config {
	out := engine.Config{Views: c.Views}
	if c.Baseline != nil {
		out.Baseline = c.Baseline.Baseline()
	}
	return out
}

// check says what is wrong with a configuration that was made in Go, or changed.
func (c *Config) check() error {
	var errs []error
	view := func(what, name string) {
		if _, ok := c.Views[name]; !ok && name != "" {
			errs = append(errs, fmt.Errorf("gateway: %s is in the view %q, and there is no such view", what, name))
		}
	}
	for i, caller := range c.Callers {
		view(fmt.Sprintf("callers[%d]", i), caller.View)
		for _, other := range c.Callers[:i] {
			if other.Token == caller.Token {
				errs = append(errs, fmt.Errorf("gateway: callers[%d] has the token of another caller", i))
			}
		}
	}
	view("stdio", c.Stdio.View)
	if c.OAuth != nil {
		view("oauth.default_view", c.OAuth.DefaultView)
		for i, v := range c.OAuth.Views {
			view(fmt.Sprintf("oauth.views[%d]", i), v.View)
		}
	}
	if c.Listen != "" && !loopback(c.Listen) && !c.authenticates() {
		errs = append(errs, fmt.Errorf("gateway: %s can be reached from outside, and anybody could come in", c.Listen))
	}
	if c.Ask.Remember && c.BaselinePath == "" {
		errs = append(errs, errors.New("gateway: there is no baseline to remember approvals in"))
	}
	return errors.Join(errs...)
}

// quiet is the handler of the SDK's logger, which speaks of every session: only what is wrong is passed on. That a client
// which went away was not told something is not.
type quiet struct{ slog.Handler }

func (q quiet) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && q.Handler.Enabled(ctx, l)
}

func (q quiet) Handle(ctx context.Context, r slog.Record) error {
	if strings.Contains(r.Message, "undelivered message") {
		return nil
	}
	return q.Handler.Handle(ctx, r)
}

func (q quiet) WithAttrs(a []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(a)} }
func (q quiet) WithGroup(name string) slog.Handler   { return quiet{q.Handler.WithGroup(name)} }
