package approval

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/hub"
	"github.com/stretchr/testify/require"
)

// world is a server with one tool, "fs__write", one resource and one prompt behind a guard that asks an Elicitor.
type world struct {
	t        testing.TB
	engine   *engine.Engine
	server   *mcp.Server
	approver *Elicitor
	tool     engine.Tool
	views    map[string]engine.View
	approved json.RawMessage // the definition in the baseline
	ran      atomic.Int32

	mu     sync.Mutex
	events []hub.Event
}

func definition(description string) json.RawMessage {
	b, _ := json.Marshal(map[string]any{"name": "write", "description": description, "inputSchema": map[string]any{"type": "object"}})
	return b
}

func patterns(all ...string) (out []engine.Rule) {
	for _, p := range all {
		out = append(out, engine.Pattern(p))
	}
	return out
}

func askAll() engine.PolicyOptions {
	return engine.PolicyOptions{
		Scope: []engine.Kind{engine.Tools, engine.Resources, engine.Prompts},
		Ask:   patterns("fs/*", "resource:fs/*", "prompt:fs/*"),
	}
}

func newWorld(t testing.TB, p engine.PolicyOptions, o Options) *world {
	t.Helper()
	w := &world{t: t, approver: New(o)}
	w.engine, _ = engine.New(engine.Config{})
	w.policy(p, nil)
	w.define("Writes a file.")
	target := w.tool.Target()
	names := hub.NewNames([]engine.Target{target})
	prompts, err := hub.NamesOf(map[string]engine.Target{"greet": {Server: "fs", Name: "greet"}})
	require.NoError(t, err)
	guard, err := hub.NewGuard(hub.GuardOptions{
		Engine: w.engine, Approver: w.approver, Observer: w,
		Names: func() *hub.Names { return names }, Prompts: func() *hub.Names { return prompts },
		Resources: func(uri string) (engine.Target, bool) { return engine.Target{Server: "fs", Name: uri}, true },
		Identify: func(_ context.Context, _ string, req mcp.Request) (hub.Caller, error) {
			c := hub.Caller{View: "v"}
			if info := req.(interface{ ClientInfo() *mcp.Implementation }).ClientInfo(); info != nil {
				c.Principal = info.Name
			}
			return c, nil
		},
		ApprovedDefinition: func(engine.Target) json.RawMessage { return w.approved },
	})
	require.NoError(t, err)
	w.server = mcp.NewServer(&mcp.Implementation{Name: "hub", Version: "1"}, &mcp.ServerOptions{
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}, Prompts: &mcp.PromptCapabilities{}, Resources: &mcp.ResourceCapabilities{}},
		Logger:       slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	w.server.AddReceivingMiddleware(guard.Middleware())
	w.server.AddSendingMiddleware(guard.SendingMiddleware())
	w.server.AddTool(&mcp.Tool{Name: "fs__write", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		w.ran.Add(1)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ran"}}}, nil
	})
	w.server.AddResource(&mcp.Resource{URI: "fs://a", Name: "a"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		w.ran.Add(1)
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{}}, nil
	})
	w.server.AddPrompt(&mcp.Prompt{Name: "greet"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		w.ran.Add(1)
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{}}, nil
	})
	return w
}

// policy puts a policy and a baseline into force.
func (w *world) policy(p engine.PolicyOptions, base *engine.Baseline) {
	w.t.Helper()
	policy, err := engine.CompilePolicy(p)
	require.NoError(w.t, err)
	filter, err := engine.CompileFilter(engine.FilterOptions{})
	require.NoError(w.t, err)
	w.views = map[string]engine.View{"v": {Filter: filter, Policy: policy}}
	w.baseline(base)
}

func (w *world) baseline(base *engine.Baseline) {
	require.NoError(w.t, w.engine.Apply(engine.Config{Views: w.views, Baseline: base}))
}

func (w *world) define(description string) {
	w.tool = engine.Tool{Server: "fs", Name: "write", Raw: definition(description)}
	_, err := w.engine.Refresh("fs", []engine.Tool{w.tool})
	require.NoError(w.t, err)
}

func (w *world) Observe(_ context.Context, e hub.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, e)
}

// last returns the last event of a method.
func (w *world) last(method string) hub.Event {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := len(w.events) - 1; i >= 0; i-- {
		if w.events[i].Method == method {
			return w.events[i]
		}
	}
	w.t.Fatalf("nothing was observed of %s", method)
	return hub.Event{}
}

// form is a client's user.
type form func(*mcp.ElicitParams) (action string, content map[string]any)

func chooses(choice string) form {
	return func(*mcp.ElicitParams) (string, map[string]any) { return "accept", map[string]any{"decision": choice} }
}

// connect is one of the ways to a server.
type connect func(w *world, name string, o *mcp.ClientOptions) *mcp.ClientSession

func inMemory(version string) connect {
	return func(w *world, name string, o *mcp.ClientOptions) *mcp.ClientSession {
		w.t.Helper()
		a, b := mcp.NewInMemoryTransports()
		_, err := w.server.Connect(context.Background(), a, nil)
		require.NoError(w.t, err)
		return dial(w, name, o, b, version)
	}
}

func overHTTP(version string, stateless bool) connect {
	return func(w *world, name string, o *mcp.ClientOptions) *mcp.ClientSession {
		w.t.Helper()
		s := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return w.server }, &mcp.StreamableHTTPOptions{Stateless: stateless}))
		w.t.Cleanup(s.Close)
		return dial(w, name, o, &mcp.StreamableClientTransport{Endpoint: s.URL}, version)
	}
}

func dial(w *world, name string, o *mcp.ClientOptions, t mcp.Transport, version string) *mcp.ClientSession {
	w.t.Helper()
	cs, err := mcp.NewClient(&mcp.Implementation{Name: name, Version: "1"}, o).Connect(context.Background(), t, &mcp.ClientSessionOptions{ProtocolVersion: version})
	require.NoError(w.t, err)
	w.t.Cleanup(func() { cs.Close() })
	require.Equal(w.t, version, cs.InitializeResult().ProtocolVersion)
	return cs
}

// ways are the ways to be asked.
var ways = map[string]connect{
	"memory 2025-06-18": inMemory("2025-06-18"),
	"memory 2025-11-25": inMemory("2025-11-25"),
	"memory 2026-07-28": inMemory("2026-07-28"),
	"HTTP 2025-06-18":   overHTTP("2025-06-18", false),
	"HTTP 2026-07-28":   overHTTP("2026-07-28", true),
}

// user makes client options with somebody who answers, and keeps the questions.
func user(f form, questions *[]*mcp.ElicitParams) *mcp.ClientOptions {
	var mu sync.Mutex
	return &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		mu.Lock()
		if questions != nil {
			*questions = append(*questions, req.Params)
		}
		mu.Unlock()
		action, content := f(req.Params)
		return &mcp.ElicitResult{Action: action, Content: content}, nil
	}}
}

func write(t testing.TB, cs *mcp.ClientSession, args any) (text string, failed bool) {
	t.Helper()
	res, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Name: "fs__write", Arguments: args})
	require.NoError(t, err)
	require.NotEmpty(t, res.Content)
	return res.Content[0].(*mcp.TextContent).Text, res.IsError
}
