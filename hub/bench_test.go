package hub

import (
	"context"
	"encoding/json"
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

// inTurns runs things in alternating rounds and returns the median time of each. The first is what the benchmark is of.
func inTurns(b *testing.B, things ...func()) []time.Duration {
	b.Helper()
	for range 3 {
		for _, do := range things {
			do()
		}
	}
	took := make([][]time.Duration, len(things))
	b.ResetTimer()
	for range b.N {
		for i, do := range things {
			start := time.Now()
			do()
			took[i] = append(took[i], time.Since(start))
		}
	}
	b.StopTimer()
	medians := make([]time.Duration, len(things))
	for i, all := range took {
		slices.Sort(all)
		medians[i] = all[len(all)/2]
	}
	b.ReportMetric(float64(medians[0]), "ns/op")
	return medians
}

// BenchmarkGuard is what the guard costs.
//
//	call, list   a round trip in memory through the guard, in turns with one over the bare SDK: bare-ns, x-bare. A list is every
//	             page of 5,000 tools, a third of them hidden; the bare server has only the others.
//	alone/...    the guard by itself, without any transport, and its parts
//
// decision-% is the share of the engine's decision in the round trip of a call.
func BenchmarkGuard(b *testing.B) {
	guarded, bare, w, kept := benchPair(b, 5000)
	ctx := context.Background()
	const name, arguments = "server07__write_something_2", `{"path":"/data/some/file.txt","n":3}`

	view := w.engine.Snapshot().View("a")
	parsed, err := ParseArguments([]byte(arguments))
	if err != nil {
		b.Fatal(err)
	}
	toDecide := &engine.Call{Server: "server07", Name: "write_something_2", Args: parsed.Values}
	decide := func() {
		if d, err := view.Decide(ctx, toDecide, nil); err != nil || d.Action != engine.Allow {
			b.Fatal(d, err)
		}
	}
	const decisions = 100 // a clock is too coarse for one

	b.Run("call", func(b *testing.B) {
		call := func(cs *mcp.ClientSession) func() {
			p := &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(arguments)}
			return func() {
				if res, err := cs.CallTool(ctx, p); err != nil || text(res) != "ran" {
					b.Fatalf("%v, %v", text(res), err)
				}
			}
		}
		t := inTurns(b, call(guarded), call(bare), func() {
			for range decisions {
				decide()
			}
		})
		b.ReportMetric(float64(t[1]), "bare-ns")
		b.ReportMetric(float64(t[0])/float64(t[1]), "x-bare")
		b.ReportMetric(float64(t[2])/decisions/float64(t[1])*100, "decision-%")
	})
	b.Run("list/tools=5000", func(b *testing.B) {
		list := func(cs *mcp.ClientSession) func() {
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
		t := inTurns(b, list(guarded), list(bare))
		b.ReportMetric(float64(t[1]), "bare-ns")
		b.ReportMetric(float64(t[0])/float64(t[1]), "x-bare")
	})

	ss := func() *mcp.ServerSession {
		for s := range w.server.Sessions() {
			return s
		}
		return nil
	}()
	b.Run("alone/call", func(b *testing.B) {
		next := func(context.Context, string, mcp.Request) (mcp.Result, error) { return &mcp.CallToolResult{}, nil }
		h := w.guard.Middleware()(next)
		req := &mcp.CallToolRequest{Session: ss, Params: &mcp.CallToolParamsRaw{Name: name, Arguments: []byte(arguments)}}
		b.ReportAllocs()
		for b.Loop() {
			if _, err := h(ctx, "tools/call", req); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("alone/arguments", func(b *testing.B) {
		for b.Loop() {
			if _, err := ParseArguments([]byte(arguments)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("alone/decision", func(b *testing.B) {
		for b.Loop() {
			decide()
		}
	})
	b.Run("alone/page", func(b *testing.B) { // one page of 1,000, for which all 5,000 are collected
		var pages mcp.MethodHandler
		w.server.AddReceivingMiddleware(func(inner mcp.MethodHandler) mcp.MethodHandler { pages = inner; return inner })
		for b.Loop() {
			res, err := pages(ctx, "tools/list", &mcp.ListToolsRequest{Session: ss})
			if err != nil || len(res.(*mcp.ListToolsResult).Tools) != defaultPageSize {
				b.Fatal(err)
			}
		}
	})
}
