package telemetry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/penstock-mcp/penstock/hub"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

const (
	traceID  = "4bf92f3577b34da6a3ce929d0e0e4736"
	parentID = "00f067aa0ba902b7"
	parent   = "00-" + traceID + "-" + parentID + "-01"
)

func traced(t testing.TB, o TracingOptions) (*Tracing, *tracetest.SpanRecorder, *sdk.TracerProvider) {
	t.Helper()
	r := tracetest.NewSpanRecorder()
	p := sdk.NewTracerProvider(sdk.WithSpanProcessor(r))
	t.Cleanup(func() { _ = p.Shutdown(context.Background()) })
	return NewTracing(p, o), r, p
}

func attributes(s sdk.ReadOnlySpan) map[string]string {
	out := map[string]string{}
	for _, kv := range s.Attributes() {
		out[string(kv.Key)] = kv.Value.String()
	}
	return out
}

// show is all that an exporter gets to know of a span.
func show(s sdk.ReadOnlySpan) string {
	return fmt.Sprintf("%q %q %v %v %v %v", s.Name(), s.Status(), s.Attributes(), s.Events(), s.Links(), s.Resource())
}

func TestSpansOfEveryResult(t *testing.T) {
	tr, r, _ := traced(t, TracingOptions{})
	w := newWorld(t, tr, nil, tr.Middleware())
	requests := script()
	w.run(requests)
	spans := r.Ended()
	if len(spans) != len(requests) {
		t.Fatalf("%d spans of %d requests", len(spans), len(requests))
	}
	results := map[string]int{}
	for i, s := range spans {
		a := attributes(s)
		results[a["penstock.result"]]++
		if all := show(s); strings.Contains(all, canary) || strings.Contains(all, inexact) || len(all) > 20*maxField {
			t.Errorf("%v: %s", requests[i], all)
		}
		if s.SpanKind() != trace.SpanKindServer || a["mcp.method.name"] == "" || strings.Contains(a["mcp.method.name"], "\n") {
			t.Errorf("%v: %s", requests[i], show(s))
		}
		if (s.Status().Code == codes.Error) != (a["error.type"] != "") {
			t.Errorf("%v: %s", requests[i], show(s))
		}
	}
	for _, result := range []hub.Result{hub.ResultPassed, hub.ResultListed, hub.ResultRan, hub.ResultHidden, hub.ResultDenied,
		hub.ResultRefused, hub.ResultPending, hub.ResultMalformed, hub.ResultMethod} {
		if results[string(result)] == 0 {
			t.Errorf("no span of a request that ended as %s", result)
		}
	}
	find := func(request [2]string) sdk.ReadOnlySpan {
		for i := range requests {
			if requests[i] == request {
				return spans[i]
			}
		}
		t.Fatalf("no request %v", request)
		return nil
	}
	args := `{"answer":"","path":"/` + canary + `"}`
	for _, x := range []struct {
		request [2]string
		name    string
		err     string
		attrs   map[string]string
	}{
		{call("fs__read", args), "tools/call fs__read", "", map[string]string{
			"gen_ai.tool.name": "fs__read", "gen_ai.operation.name": "execute_tool", "penstock.action": "allow", "penstock.rule": "allow[0]",
			"penstock.server": "fs", "penstock.name": "read", "penstock.generation": "2", "penstock.source": "allow", "penstock.reason": "matched",
			"mcp.protocol.version": "2026-07-28", "penstock.kind": "tools", "penstock.view": "main",
		}},
		{call("fs__shell", args), "tools/call fs__shell", "", map[string]string{"penstock.action": "deny", "penstock.rule": "no-shell"}},
		{call("nobody", args), "tools/call", "", map[string]string{"penstock.result": "hidden", "rpc.response.status_code": "-32602", "gen_ai.tool.name": "nobody"}},
		{call("fs__hidden", args), "tools/call", "", map[string]string{"penstock.result": "hidden"}},
		{call("fs__tool-error", args), "tools/call fs__tool-error", "tool_error", nil},
		{call("fs__code", args), "tools/call fs__code", "-32000", map[string]string{"rpc.response.status_code": "-32000"}},
		{call("fs__fail", args), "tools/call fs__fail", "_OTHER", nil},
		{call("fs__down", args), "tools/call fs__down", "server_down", nil},
		{call("fs__write", strings.Replace(args, `""`, `"yes"`, 1)), "tools/call fs__write", "", map[string]string{"penstock.verdict": "approved", "penstock.asked": "true"}},
		{call("fs__write", strings.Replace(args, `""`, `"no"`, 1)), "tools/call fs__write", "", map[string]string{"penstock.verdict": "refused"}},
		{call("fs__write", strings.Replace(args, `""`, `"panic"`, 1)), "tools/call fs__write", "panic", nil},
		{[2]string{"resources/read", `{"uri":"fs://a"}`}, "resources/read", "", map[string]string{"mcp.resource.uri": "fs://a"}},
		{[2]string{"prompts/get", `{"name":"fs__greet","arguments":{"path":"` + canary + `"}}`}, "prompts/get fs__greet", "", map[string]string{"gen_ai.prompt.name": "fs__greet"}},
		{[2]string{customMethod, `{}`}, "_OTHER", "", map[string]string{"penstock.result": "method"}},
		{[2]string{"server/discover", `{}`}, "server/discover", "", map[string]string{"penstock.result": "passed"}},
	} {
		s := find(x.request)
		a := attributes(s)
		if s.Name() != x.name || a["error.type"] != x.err {
			t.Errorf("%v: %s", x.request, show(s))
		}
		for key, want := range x.attrs {
			if a[key] != want {
				t.Errorf("%v: %s is %q, not %q", x.request, key, a[key], want)
			}
		}
	}
}

// Without a guard a span says what the request and the answer do.
func TestSpansWithoutGuard(t *testing.T) {
	tr, r, _ := traced(t, TracingOptions{})
	w := &world{t: t, server: mcp.NewServer(&mcp.Implementation{Name: "x", Version: "1"}, &mcp.ServerOptions{
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}, Resources: &mcp.ResourceCapabilities{}},
	})}
	w.server.AddReceivingMiddleware(tr.Middleware(), backend)
	args := `{"path":"` + canary + `"}`
	w.run([][2]string{call("read", args), call("fail", args), call("tool-error", args), {"resources/read", `{"uri":"fs://a"}`}, call(hostile, args)})
	var got []string
	for _, s := range r.Ended() {
		a := attributes(s)
		got = append(got, fmt.Sprint(s.Name(), " ", a["gen_ai.tool.name"], a["mcp.resource.uri"], " ", a["error.type"], " ", s.Status().Code))
		if all := show(s); strings.Contains(all, canary) {
			t.Error(all)
		}
	}
	want := []string{"tools/call read read  Unset", "tools/call fail _OTHER Error", "tools/call tool-error tool-error tool_error Error", "resources/read fs://a  Unset"}
	if strings.Join(got[:4], "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q\nwant %q", got[:4], want)
	}
	if strings.ContainsAny(got[4], "\n\x1b\u202e") {
		t.Errorf("%q", got[4])
	}
}

// through sends one request straight through the middleware, and returns the span that it got.
func through(t *testing.T, o TracingOptions, ctx context.Context, in mcp.Request) sdk.ReadOnlySpan {
	t.Helper()
	tr, r, _ := traced(t, o)
	_, _ = tr.Middleware()(func(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) {
		if !trace.SpanContextFromContext(ctx).IsValid() {
			t.Error("the handler has no span")
		}
		return nil, nil
	})(ctx, "tools/list", in)
	if len(r.Ended()) != 1 {
		t.Fatalf("%d spans", len(r.Ended()))
	}
	return r.Ended()[0]
}

func listRequest(meta mcp.Meta, header http.Header) *mcp.ListToolsRequest {
	in := &mcp.ListToolsRequest{Params: &mcp.ListToolsParams{Meta: meta}}
	if header != nil {
		in.Extra = &mcp.RequestExtra{Header: header}
	}
	return in
}

// Where a span's parent comes from, and what is not one.
func TestParents(t *testing.T) {
	_, _, p := traced(t, TracingOptions{})
	ambient, around := p.Tracer("x").Start(t.Context(), "around")
	defer around.End()
	header := http.Header{"Traceparent": {strings.Replace(parent, "4bf9", "aaaa", 1)}}
	meta := mcp.Meta{"traceparent": parent, "tracestate": "vendor=value"}
	long := strings.Repeat("a=b,", 10_000)
	for what, x := range map[string]struct {
		o      TracingOptions
		ctx    context.Context
		in     mcp.Request
		parent string // trace id, "" for none
		links  int
	}{
		"nothing":         {in: listRequest(nil, nil)},
		"no params":       {in: &mcp.ListToolsRequest{}},
		"meta":            {in: listRequest(meta, nil), parent: traceID},
		"meta and header": {in: listRequest(meta, header), parent: traceID},
		"header":          {in: listRequest(nil, header), parent: "aaaa" + traceID[4:]},
		"around":          {ctx: ambient, in: listRequest(nil, header), parent: around.SpanContext().TraceID().String()},
		"meta and around": {ctx: ambient, in: listRequest(meta, nil), parent: traceID, links: 1},
		"no text":         {in: listRequest(mcp.Meta{"traceparent": 1, "tracestate": []any{}}, nil)},
		"nonsense":        {in: listRequest(mcp.Meta{"traceparent": hostile, "tracestate": hostile}, nil)},
		"zero":            {in: listRequest(mcp.Meta{"traceparent": "00-00000000000000000000000000000000-0000000000000000-01"}, nil)},
		"long":            {in: listRequest(mcp.Meta{"traceparent": parent + long}, nil)},
		"long state":      {in: listRequest(mcp.Meta{"traceparent": parent, "tracestate": long}, nil), parent: traceID},
		"new roots":       {o: TracingOptions{NewRoots: true}, ctx: ambient, in: listRequest(meta, header), links: 2},
	} {
		t.Run(what, func(t *testing.T) {
			ctx := x.ctx
			if ctx == nil {
				ctx = t.Context()
			}
			s := through(t, x.o, ctx, x.in)
			got := ""
			if s.Parent().IsValid() {
				got = s.Parent().TraceID().String()
			}
			if got != x.parent || len(s.Links()) != x.links || got != "" && s.SpanContext().TraceID().String() != got {
				t.Errorf("parent %s with %d links, not %s with %d", got, len(s.Links()), x.parent, x.links)
			}
			if state := s.SpanContext().TraceState(); what == "meta" && state.String() != "vendor=value" || what == "long state" && state.Len() > 32 {
				t.Errorf("state %.100q", state.String())
			}
			if a := attributes(s); (a["network.transport"] == "tcp") != strings.Contains(what, "header") && what != "around" && what != "new roots" {
				t.Errorf("%v", a)
			}
		})
	}
}

func TestParentOnTheWire(t *testing.T) {
	tr, r, _ := traced(t, TracingOptions{})
	w := newWorld(t, tr, nil, tr.Middleware())
	p := call("fs__read", `{}`)
	w.wire().do(p[0], p[1], `"traceparent":"`+parent+`"`)
	if s := r.Ended()[0]; s.Parent().SpanID().String() != parentID || !s.Parent().IsRemote() || s.SpanContext().TraceID().String() != traceID {
		t.Error(show(s))
	}
}

func TestInject(t *testing.T) {
	_, _, p := traced(t, TracingOptions{})
	ctx, s := p.Tracer("x").Start(t.Context(), "call")
	defer s.End()
	meta := mcp.Meta{"progressToken": 1, "traceparent": parent, "tracestate": "old=1"}
	got := Inject(ctx, meta)
	want := "00-" + s.SpanContext().TraceID().String() + "-" + s.SpanContext().SpanID().String() + "-01"
	if _, stale := got["tracestate"]; got["traceparent"] != want || stale || got["progressToken"] != 1 || len(got) != 2 {
		t.Errorf("%v", got)
	}
	if meta["traceparent"] != parent || len(meta) != 3 {
		t.Errorf("changed: %v", meta)
	}
	if got := Inject(ctx, nil); got["traceparent"] != want || len(got) != 1 {
		t.Errorf("%v", got)
	}
	got = Inject(t.Context(), meta)
	got["x"] = 1
	if len(meta) != 3 || got["traceparent"] != parent {
		t.Errorf("%v, %v", meta, got)
	}
	if Inject(t.Context(), nil) != nil {
		t.Error("something out of nothing")
	}
	// Out and in again.
	if back := through(t, TracingOptions{}, t.Context(), listRequest(Inject(ctx, nil), nil)); back.Parent().SpanID() != s.SpanContext().SpanID() {
		t.Error(show(back))
	}
}

// A handler that panics leaves a span that says so, and goes on panicking.
func TestSpanOfAPanic(t *testing.T) {
	tr, r, _ := traced(t, TracingOptions{})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic is gone")
			}
		}()
		_, _ = tr.Middleware()(func(context.Context, string, mcp.Request) (mcp.Result, error) { panic(canary) })(t.Context(), "tools/list", listRequest(nil, nil))
	}()
	if s := r.Ended(); len(s) != 1 || s[0].Status().Code != codes.Error || strings.Contains(show(s[0]), canary) {
		t.Errorf("%v", s)
	}
}

// Zero values and other people's contexts do nothing.
func TestTracingThatIsNotThere(t *testing.T) {
	tr, r, _ := traced(t, TracingOptions{})
	tr.Observe(t.Context(), sample())
	other, _, _ := traced(t, TracingOptions{})
	_, _ = tr.Middleware()(func(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) {
		other.Observe(ctx, sample()) // not its span
		return nil, nil
	})(t.Context(), "tools/list", listRequest(nil, nil))
	if a := attributes(r.Ended()[0]); a["penstock.result"] != "" {
		t.Errorf("%v", a)
	}
	for _, none := range []*Tracing{nil, {}, NewTracing(nil, TracingOptions{})} {
		called := false
		_, err := none.Middleware()(func(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) {
			called = true
			none.Observe(ctx, sample())
			return nil, errors.New("its own")
		})(t.Context(), "tools/list", listRequest(nil, nil))
		if !called || err == nil {
			t.Errorf("%v: %v, %v", none, called, err)
		}
	}
}

func BenchmarkTracing(b *testing.B) {
	p := sdk.NewTracerProvider()
	tr := NewTracing(p, TracingOptions{})
	e := sample()
	h := tr.Middleware()(func(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) {
		tr.Observe(ctx, e)
		return nil, nil
	})
	in := listRequest(mcp.Meta{"traceparent": parent}, nil)
	b.ReportAllocs()
	for b.Loop() {
		_, _ = h(b.Context(), "tools/call", in)
	}
}
