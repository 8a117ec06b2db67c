// Traces: a span of each request.

package telemetry

import (
	"context"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/hub"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// TracingOptions are the options of [NewTracing].
type TracingOptions struct {
	// NewRoots begins a trace of its own for every request, linked to the caller's: for callers who are not to decide
	// what is sampled, since the usual sampler does as its parent does.
	NewRoots bool
}

// Tracing makes a span of each request. Make one with [NewTracing]; a nil *Tracing does nothing. It is middleware, which
// goes before the guard's, and an observer, which tells the span what the guard decided:
//
//	server.AddReceivingMiddleware(tracing.Middleware(), guard.Middleware(), backend)
//
// Either works without the other: without a guard a span has what the request says of itself.
//
// A span is named after its method, and after the tool or the prompt where the guard knows it. Its parent is the caller's
// span, from "traceparent" and "tracestate" in the request's _meta; where there is none, the span of the context, and over
// HTTP that of the request's header. A caller's span is a claim: whether a request is sampled because of it is up to the
// sampler of the provider, and to TracingOptions.NewRoots. Baggage is not read.
//
// Its attributes are those of OpenTelemetry's conventions for MCP and penstock.result, .generation, .kind, .server,
// .name, .view, .action, .source, .reason, .rule, .new, .asked, .resumed, .verdict and .args_digest, .waited. Arguments are not among them,
// nor are principals. What was denied, hidden, refused or malformed is an answer and not an error: the status is an
// error where a handler, a tool or the guard failed.
type Tracing struct {
	o      TracingOptions
	tracer trace.Tracer
}

// NewTracing returns a Tracing whose spans come from p; nil is otel.GetTracerProvider.
func NewTracing(p trace.TracerProvider, o TracingOptions) *Tracing {
	if p == nil {
		p = otel.GetTracerProvider()
	}
	return &Tracing{o: o, tracer: p.Tracer(scope)}
}

// span is one request's, in that request's context.
type span struct {
	trace.Span
	told   bool // the guard said what became of it
	failed bool
	answer bool // an error is the guard's answer
}

type spanKey struct{ t *Tracing }

// Middleware returns the receiving middleware that makes the spans.
//
// A subscription of a 2026-07-28 session is one request, and one span, for as long as it lasts.
func (t *Tracing) Middleware() mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		if t == nil || t.tracer == nil {
			return next
		}
		return func(ctx context.Context, method string, in mcp.Request) (mcp.Result, error) {
			ctx, s := t.start(ctx, method, in)
			done := false
			defer func() {
				if !done {
					s.fail("panic", "panic")
				}
				s.End()
			}()
			res, err := next(context.WithValue(ctx, spanKey{t}, s), method, in)
			done = true
			if s.IsRecording() {
				s.finish(method, in, res, err)
			}
			return res, err
		}
	}
}

func (t *Tracing) start(ctx context.Context, method string, in mcp.Request) (context.Context, *span) {
	ctx, options := t.parent(ctx, in)
	attrs := make([]attribute.KeyValue, 0, 6)
	attrs = append(attrs, attribute.String("mcp.method.name", field(method)))
	if ss, ok := in.GetSession().(*mcp.ServerSession); ok && ss != nil {
		if id := ss.ID(); id != "" {
			attrs = append(attrs, attribute.String("mcp.session.id", field(id)))
		}
		if p := ss.InitializeParams(); p != nil && p.ProtocolVersion != "" {
			attrs = append(attrs, attribute.String("mcp.protocol.version", field(p.ProtocolVersion)))
		}
	}
	if extra := in.GetExtra(); extra != nil && extra.Header != nil {
		attrs = append(attrs, attribute.String("network.protocol.name", "http"), attribute.String("network.transport", "tcp"))
	}
	if method == "tools/call" {
		attrs = append(attrs, attribute.String("gen_ai.operation.name", "execute_tool"))
	}
	options = append(options, trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(attrs...))
	ctx, s := t.tracer.Start(ctx, spanName(method), options...)
	return ctx, &span{Span: s}
}

// Observe tells the span of a request what the guard says of it. Without the middleware before the guard it does nothing.
func (t *Tracing) Observe(ctx context.Context, e hub.Event) {
	if t == nil {
		return
	}
	s, ok := ctx.Value(spanKey{t}).(*span)
	if !ok || !s.IsRecording() {
		return
	}
	s.told = true
	s.failed = failed(&e)
	switch e.Result {
	case hub.ResultRan, hub.ResultPassed:
	default:
		s.answer = !s.failed
	}
	attrs := make([]attribute.KeyValue, 0, 20)
	text := func(key, value string) {
		if value != "" {
			attrs = append(attrs, attribute.String(key, field(value)))
		}
	}
	text("penstock.result", string(e.Result))
	if e.Result != hub.ResultPassed && e.Result != hub.ResultMethod {
		attrs = append(attrs, attribute.Int64("penstock.generation", int64(e.Generation)))
		text("penstock.view", e.Caller.View)
	}
	if hasKind(&e) {
		text("penstock.kind", e.Kind.String())
		text(nameKeys[e.Kind], e.Exposed)
	}
	text("penstock.server", e.Target.Server)
	text("penstock.name", e.Target.Name)
	if e.Decided {
		text("penstock.action", e.Decision.Action.String())
		text("penstock.source", e.Decision.Source.String())
		text("penstock.reason", e.Decision.Reason.String())
		text("penstock.rule", e.Decision.RuleID())
		attrs = append(attrs, attribute.Bool("penstock.new", e.Decision.New))
	}
	text("penstock.args_digest", e.ArgsDigest)
	if e.Resumed {
		attrs = append(attrs, attribute.Bool("penstock.resumed", true))
	}
	if e.Asked {
		attrs = append(attrs, attribute.Bool("penstock.asked", true),
			attribute.Float64("penstock.waited", e.Waited.Seconds()))
		text("penstock.verdict", e.Approval.Verdict.String())
	}
	s.SetAttributes(attrs...)
	if s.failed && e.Err != nil {
		s.fail(errorType(e.Err), safeText(e.Err))
	} else if s.failed && e.Approval.Err != nil {
		s.fail(errorType(e.Approval.Err), safeText(e.Approval.Err))
	} else if s.failed {
		s.fail("panic", "panic")
	}
	if e.Exposed != "" && known(&e) && e.Result != hub.ResultHidden && e.Kind != engine.Resources {
		s.SetName(spanName(e.Method) + " " + field(e.Exposed))
	} else if e.Result == hub.ResultPassed {
		s.SetName(field(e.Method)) // one the guard was told of
	}
}

// nameKeys are the attributes that a kind's names go by.
var nameKeys = map[engine.Kind]string{
	engine.Tools:     "gen_ai.tool.name",
	engine.Prompts:   "gen_ai.prompt.name",
	engine.Resources: "mcp.resource.uri",
}

// finish says how a request ended.
func (s *span) finish(method string, in mcp.Request, res mcp.Result, err error) {
	if !s.told {
		s.untold(method, in, err)
	}
	if err != nil {
		if c, ok := code(err); ok {
			s.SetAttributes(attribute.String("rpc.response.status_code", strconv.FormatInt(c, 10)))
		}
		if !s.answer && !s.failed {
			s.fail(errorType(err), safeText(err))
		}
		return
	}
	if c, ok := res.(*mcp.CallToolResult); ok && c != nil && c.IsError && !s.answer && !s.failed {
		s.fail("tool_error", "the tool said that it failed")
	}
}

// untold says what a request says of itself, where no guard did.
func (s *span) untold(method string, in mcp.Request, err error) {
	key, name := subject(in)
	if name == "" {
		return
	}
	s.SetAttributes(attribute.String(key, field(name)))
	if err == nil && key != nameKeys[engine.Resources] { // somebody knew the name
		s.SetName(spanName(method) + " " + field(name))
	}
}

func subject(in mcp.Request) (key, name string) {
	switch p := in.GetParams().(type) {
	case *mcp.CallToolParamsRaw:
		if p != nil {
			return nameKeys[engine.Tools], p.Name
		}
	case *mcp.GetPromptParams:
		if p != nil {
			return nameKeys[engine.Prompts], p.Name
		}
	case *mcp.ReadResourceParams:
		if p != nil {
			return nameKeys[engine.Resources], p.URI
		}
	case *mcp.SubscribeParams:
		if p != nil {
			return nameKeys[engine.Resources], p.URI
		}
	case *mcp.UnsubscribeParams:
		if p != nil {
			return nameKeys[engine.Resources], p.URI
		}
	}
	return "", ""
}

func (s *span) fail(kind, what string) {
	s.SetAttributes(attribute.String("error.type", kind))
	s.SetStatus(codes.Error, field(what))
}

// protocol are the methods of MCP, from which callers cannot make up names of spans.
var protocol = map[string]bool{
	"completion/complete": true, "initialize": true, "logging/setLevel": true, "ping": true,
	"notifications/cancelled": true, "notifications/initialized": true, "notifications/progress": true,
	"notifications/roots/list_changed": true,
	"prompts/get":                      true, "prompts/list": true,
	"resources/list": true, "resources/read": true, "resources/subscribe": true, "resources/unsubscribe": true,
	"resources/templates/list": true, "server/discover": true, "subscriptions/listen": true,
	"tools/call": true, "tools/list": true,
}

func spanName(method string) string {
	if protocol[method] {
		return method
	}
	return other
}
