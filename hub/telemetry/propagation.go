// Which trace a request belongs to: what comes in with it, and what goes out to a server.

package telemetry

import (
	"context"
	"maps"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// w3c is the only format that MCP has names for.
var w3c propagation.TraceContext

// metaCarrier is a request's _meta, which may hold any JSON: what is no text is not there.
type metaCarrier map[string]any

func (m metaCarrier) Get(key string) string {
	s, _ := m[key].(string)
	return s
}
func (m metaCarrier) Set(key, value string) { m[key] = value }
func (m metaCarrier) Keys() []string        { return slices.Sorted(maps.Keys(m)) }

// Inject returns a copy of the _meta of a request to a server that says which span of ctx it comes from, in the keys
// "traceparent" and "tracestate". Without a span it is a copy. Other keys, and meta itself, stay as they are; nil stays
// nil where there is nothing to say.
func Inject(ctx context.Context, meta mcp.Meta) mcp.Meta {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return maps.Clone(meta)
	}
	out := make(mcp.Meta, len(meta)+2)
	maps.Copy(out, meta)
	delete(out, "traceparent")
	delete(out, "tracestate") // of the span that this one replaces
	w3c.Inject(ctx, metaCarrier(out))
	return out
}

// parent returns the context a request's span starts in.
func (t *Tracing) parent(ctx context.Context, in mcp.Request) (context.Context, []trace.SpanStartOption) {
	ambient := trace.SpanContextFromContext(ctx)
	bare := trace.ContextWithSpanContext(ctx, trace.SpanContext{})
	caller := trace.SpanContextFromContext(w3c.Extract(bare, metaCarrier(metaOf(in))))
	if !caller.IsValid() && !ambient.IsValid() {
		if extra := in.GetExtra(); extra != nil {
			caller = trace.SpanContextFromContext(w3c.Extract(bare, propagation.HeaderCarrier(extra.Header)))
		}
	}
	var options []trace.SpanStartOption
	link := func(to trace.SpanContext) {
		if to.IsValid() {
			options = append(options, trace.WithLinks(trace.Link{SpanContext: to}))
		}
	}
	switch {
	case t.o.NewRoots:
		link(caller)
		link(ambient)
		return ctx, append(options, trace.WithNewRoot())
	case caller.IsValid():
		link(ambient)
		return trace.ContextWithRemoteSpanContext(ctx, caller), options
	default:
		return ctx, options
	}
}

// metaOf returns a request's _meta; params that are not there have none.
func metaOf(in mcp.Request) (meta map[string]any) {
	defer func() {
		if recover() != nil {
			meta = nil
		}
	}()
	if p := in.GetParams(); p != nil {
		return p.GetMeta()
	}
	return nil
}
