package hub

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/penstock-mcp/penstock/engine"
)

// benchPair returns a client of a guarded server of n tools, a third of them hidden, and one of a bare server of the
// tools that are left.
func benchPair(b *testing.B, n int) (guarded, bare *mcp.ClientSession, w *world, kept int) {
	w = newWorld(b, one("a", view(b, engine.FilterOptions{Exclude: rules("*/hidden_*")}, engine.PolicyOptions{
		Deny:          rules("*/delete_*", "*/*_admin_*"),
		Allow:         []engine.Rule{engine.All(engine.Pattern("*/write_*"), engine.Arg("path", engine.Inside("/data"))), engine.Pattern("*/read_*")},
		AllowNewTools: true,
	})), func(o *GuardOptions) { o.Observer = nil }, nil)
	server := mcp.NewServer(&mcp.Implementation{Name: "hub", Version: "1"}, &mcp.ServerOptions{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	handle := func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ran"}}}, nil
	}
	schema := map[string]any{"type": "object", "properties": map[string]any{"path": map[string]any{"type": "string", "description": "An absolute path."}}}
	kinds := []string{"read", "hidden", "write"}
	var all []engine.Target
	for s := range max(1, n/100) {
		var tools []engine.Tool
		for i := range min(n, 100) {
			name := fmt.Sprintf("%s_something_%d", kinds[i%3], i)
			raw := definition(name, "Does something to a file.")
			f, err := engine.ComputeFingerprint(raw)
			if err != nil {
				b.Fatal(err)
			}
			t := engine.Tool{Server: fmt.Sprintf("server%02d", s), Name: name, Raw: raw, Fingerprint: f}
			tools, all = append(tools, t), append(all, t.Target())
			def := &mcp.Tool{Name: ExposedName(t.Target()), Description: "Does something to a file.", InputSchema: schema}
			w.server.AddTool(def, handle)
			if i%3 != 1 {
				server.AddTool(def, handle)
				kept++
			}
		}
		if _, err := w.engine.Refresh(tools[0].Server, tools); err != nil {
			b.Fatal(err)
		}
	}
	w.names.Store(NewNames(all))
	plain := &world{t: b, server: server}
	return w.client("a", nil), plain.client("a", nil), w, kept
}

// ratio runs two things in turns and reports the median of each, and how many times the second the first takes.
func ratio(b *testing.B, guarded, bare func()) {
	b.Helper()
	for range 3 {
		guarded()
		bare()
	}
	var g, p []time.Duration
	b.ResetTimer()
	for range b.N {
		start := time.Now()
		guarded()
		middle := time.Now()
		bare()
		g, p = append(g, middle.Sub(start)), append(p, time.Since(middle))
	}
	b.StopTimer()
	slices.Sort(g)
	slices.Sort(p)
	x, y := g[len(g)/2], p[len(p)/2]
	b.ReportMetric(float64(x), "guarded-ns")
	b.ReportMetric(float64(y), "bare-ns")
	b.ReportMetric(float64(x)/float64(y), "x-bare")
}

// BenchmarkGuardCall is a whole call in memory, through the guard and over the bare SDK.
func BenchmarkGuardCall(b *testing.B) {
	guarded, bare, _, _ := benchPair(b, 5000)
	ctx := context.Background()
	do := func(cs *mcp.ClientSession) func() {
		p := &mcp.CallToolParams{Name: "server07__write_something_2", Arguments: map[string]any{"path": "/data/some/file.txt", "n": 3}}
		return func() {
			if res, err := cs.CallTool(ctx, p); err != nil || text(res) != "ran" {
				b.Fatalf("%v, %v", text(res), err)
			}
		}
	}
	ratio(b, do(guarded), do(bare))
}

// BenchmarkGuardAlone is what the guard adds to a call, without any transport, and of it the engine's decision.
func BenchmarkGuardAlone(b *testing.B) {
	_, _, w, _ := benchPair(b, 5000)
	ss := func() *mcp.ServerSession {
		for s := range w.server.Sessions() {
			return s
		}
		return nil
	}()
	next := func(context.Context, string, mcp.Request) (mcp.Result, error) { return &mcp.CallToolResult{}, nil }
	h := w.guard.Middleware()(next)
	req := &mcp.CallToolRequest{Session: ss, Params: &mcp.CallToolParamsRaw{
		Name: "server07__write_something_2", Arguments: []byte(`{"path":"/data/some/file.txt","n":3}`),
	}}
	ctx := context.Background()
	b.Run("guard", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := h(ctx, "tools/call", req); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("list", func(b *testing.B) { // one page of 1,000, for which all 5,000 are collected
		var pages mcp.MethodHandler
		w.server.AddReceivingMiddleware(func(inner mcp.MethodHandler) mcp.MethodHandler { pages = inner; return inner })
		for b.Loop() {
			res, err := pages(ctx, "tools/list", &mcp.ListToolsRequest{Session: ss})
			if err != nil || len(res.(*mcp.ListToolsResult).Tools) != defaultPageSize {
				b.Fatal(err)
			}
		}
	})
	b.Run("arguments", func(b *testing.B) {
		for b.Loop() {
			if _, err := ParseArguments(req.Params.Arguments); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decision", func(b *testing.B) {
		v := w.engine.Snapshot().View("a")
		args, _ := ParseArguments(req.Params.Arguments)
		c := &engine.Call{Server: "server07", Name: "write_something_2", Args: args.Values}
		for b.Loop() {
			if d, err := v.Decide(ctx, c, nil); err != nil || d.Action != engine.Allow {
				b.Fatal(d, err)
			}
		}
	})
}

// BenchmarkGuardList is every page of a list of 5,000 tools, a third of them hidden, against a bare server that has only
// the others.
func BenchmarkGuardList(b *testing.B) {
	guarded, bare, _, kept := benchPair(b, 5000)
	ctx := context.Background()
	do := func(cs *mcp.ClientSession) func() {
		return func() {
			n := 0
			for _, err := range cs.Tools(ctx, nil) {
				if err != nil {
					b.Fatal(err)
				}
				n++
			}
			if n != kept {
				b.Fatalf("%d tools, want %d", n, kept)
			}
		}
	}
	ratio(b, do(guarded), do(bare))
}
