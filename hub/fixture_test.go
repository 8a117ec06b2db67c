package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/penstock-mcp/penstock/engine"
)

// world is a guarded server with what stands behind it. Callers are told apart by the name of their client, which is
// also their view.
type world struct {
	t      testing.TB
	engine *engine.Engine
	server *mcp.Server
	guard  *Guard
	names  atomic.Pointer[Names]
	prompt atomic.Pointer[Names]

	mu     sync.Mutex
	tools  map[string][]engine.Tool
	events []Event
	ran    []*Judged
	args   []string // as the handlers got them
}

func rules(patterns ...string) []engine.Rule {
	var out []engine.Rule
	for _, p := range patterns {
		out = append(out, engine.Pattern(p))
	}
	return out
}

func view(t testing.TB, f engine.FilterOptions, p engine.PolicyOptions) engine.View {
	t.Helper()
	filter, err := engine.CompileFilter(f)
	if err != nil {
		t.Fatal(err)
	}
	policy, err := engine.CompilePolicy(p)
	if err != nil {
		t.Fatal(err)
	}
	return engine.View{Filter: filter, Policy: policy}
}

func byClient(_ context.Context, _ string, req mcp.Request) (Caller, error) {
	name := req.GetSession().(*mcp.ServerSession).InitializeParams().ClientInfo.Name
	return Caller{Principal: name, View: name}, nil
}

func newWorld(t testing.TB, views map[string]engine.View, change func(*GuardOptions), so *mcp.ServerOptions) *world {
	t.Helper()
	w := &world{t: t, tools: map[string][]engine.Tool{}}
	e, err := engine.New(engine.Config{Views: views})
	if err != nil {
		t.Fatal(err)
	}
	w.engine = e
	o := GuardOptions{
		Engine: e, Identify: byClient, Observer: w,
		Names: w.names.Load, Prompts: w.prompt.Load,
		Resources: byPrefix, Templates: byPrefix,
	}
	if change != nil {
		change(&o)
	}
	if w.guard, err = NewGuard(o); err != nil {
		t.Fatal(err)
	}
	options := mcp.ServerOptions{
		Capabilities: capabilities(),
		CompletionHandler: func(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			_, known := w.prompt.Load().Target(req.Params.Ref.Name) // a handler that would tell
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{fmt.Sprint(known, req.Params.Ref)}}}, nil
		},
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
		Logger:             slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	if so != nil {
		options.PageSize, options.SupportedProtocolVersions = so.PageSize, so.SupportedProtocolVersions
	}
	w.server = mcp.NewServer(&mcp.Implementation{Name: "hub", Version: "1"}, &options)
	w.server.AddReceivingMiddleware(w.guard.Middleware())
	w.server.AddSendingMiddleware(w.guard.SendingMiddleware())
	return w
}

// capabilities are the same whatever is registered.
func capabilities() *mcp.ServerCapabilities {
	return &mcp.ServerCapabilities{
		Tools:     &mcp.ToolCapabilities{ListChanged: true},
		Prompts:   &mcp.PromptCapabilities{ListChanged: true},
		Resources: &mcp.ResourceCapabilities{ListChanged: true},
	}
}

// byPrefix knows the URIs "SERVER://…".
func byPrefix(uri string) (engine.Target, bool) {
	server, _, ok := strings.Cut(uri, "://")
	return engine.Target{Server: server, Name: uri}, ok && (server == "fs" || server == "db")
}

func (w *world) Observe(_ context.Context, e Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, e)
}

// last returns the last event of a method.
func (w *world) last(method string) Event {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := len(w.events) - 1; i >= 0; i-- {
		if w.events[i].Method == method {
			return w.events[i]
		}
	}
	w.t.Fatalf("nothing was observed of %s", method)
	return Event{}
}

func (w *world) calls() ([]*Judged, []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]*Judged(nil), w.ran...), append([]string(nil), w.args...)
}

func definition(name, description string) json.RawMessage {
	b, _ := json.Marshal(map[string]any{"name": name, "description": description, "inputSchema": map[string]any{"type": "object"}})
	return b
}

// add adds tools: to the engine first, then to the table and the server.
func (w *world) add(server string, names ...string) {
	w.t.Helper()
	for _, n := range names {
		w.tools[server] = append(w.tools[server], engine.Tool{Server: server, Name: n, Raw: definition(n, "d")})
	}
	w.refresh(server)
	for _, n := range names {
		exposed, _ := w.names.Load().Exposed(engine.Target{Server: server, Name: n})
		w.server.AddTool(&mcp.Tool{Name: exposed, Description: "d", InputSchema: map[string]any{"type": "object"}}, w.handle)
	}
}

func (w *world) refresh(server string) {
	w.t.Helper()
	if _, err := w.engine.Refresh(server, w.tools[server]); err != nil {
		w.t.Fatal(err)
	}
	var all []engine.Target
	for _, tools := range w.tools {
		for _, tool := range tools {
			all = append(all, tool.Target())
		}
	}
	w.names.Store(NewNames(all))
}

func (w *world) handle(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	j, _ := JudgedFrom(ctx)
	w.mu.Lock()
	w.ran = append(w.ran, j)
	w.args = append(w.args, string(req.Params.Arguments))
	w.mu.Unlock()
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ran " + req.Params.Name}}}, nil
}

func (w *world) addPrompts(names ...string) {
	all := map[string]engine.Target{}
	for e, t := range promptsOf(w.prompt.Load()) {
		all[e] = t
	}
	for _, n := range names {
		all[n] = engine.Target{Server: "fs", Name: n}
		w.server.AddPrompt(&mcp.Prompt{Name: n}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{}}, nil
		})
	}
	table, err := NamesOf(all)
	if err != nil {
		w.t.Fatal(err)
	}
	w.prompt.Store(table)
}

func promptsOf(n *Names) map[string]engine.Target {
	if n == nil {
		return nil
	}
	return n.targets
}

func (w *world) addResources(uris ...string) {
	for _, uri := range uris {
		read := func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, Text: "text"}}}, nil
		}
		if strings.Contains(uri, "{") {
			w.server.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: uri, Name: uri}, read)
		} else {
			w.server.AddResource(&mcp.Resource{URI: uri, Name: uri}, read)
		}
	}
}

// client connects a client of the SDK.
func (w *world) client(name string, o *mcp.ClientOptions) *mcp.ClientSession {
	w.t.Helper()
	ctx := context.Background()
	a, b := mcp.NewInMemoryTransports()
	if _, err := w.server.Connect(ctx, a, nil); err != nil {
		w.t.Fatal(err)
	}
	cs, err := mcp.NewClient(&mcp.Implementation{Name: name, Version: "1"}, o).Connect(ctx, b, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { cs.Close() })
	return cs
}

// wire is a client that sees every byte.
type wire struct {
	t      testing.TB
	conn   mcp.Connection
	meta   string
	id     int
	others []string // what came that was no answer
	in     chan string
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}},"io.modelcontextprotocol/clientInfo":{"name":"%s","version":"1"}}`

// wire connects one: on a modern session, or on one that begins with initialize.
func (w *world) wire(name string, modern bool) *wire {
	w.t.Helper()
	ctx := context.Background()
	a, b := mcp.NewInMemoryTransports()
	if _, err := w.server.Connect(ctx, a, nil); err != nil {
		w.t.Fatal(err)
	}
	conn, err := b.Connect(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	c := &wire{t: w.t, conn: conn, in: make(chan string, 100)}
	go func() {
		defer close(c.in)
		for {
			m, err := conn.Read(ctx)
			if err != nil {
				return
			}
			b, _ := jsonrpc.EncodeMessage(m)
			c.in <- string(b)
		}
	}()
	w.t.Cleanup(func() { conn.Close() })
	if modern {
		c.meta = fmt.Sprintf(modernMeta, name)
		return c
	}
	c.do("initialize", `{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{"name":"`+name+`","version":"1"}}`)
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c
}

func (c *wire) send(message string) {
	c.t.Helper()
	m, err := jsonrpc.DecodeMessage([]byte(message))
	if err != nil {
		c.t.Fatal(err)
	}
	if err := c.conn.Write(context.Background(), m); err != nil {
		c.t.Fatal(err)
	}
}

// start sends a request and does not wait.
func (c *wire) start(method, params string) string {
	c.t.Helper()
	if c.meta != "" {
		if params == "{}" {
			params = "{" + c.meta + "}"
		} else {
			params = "{" + c.meta + "," + params[1:]
		}
	}
	c.id++
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, c.id, method, params))
	return fmt.Sprintf(`"id":%d,`, c.id)
}

// do sends a request and returns the answer.
func (c *wire) do(method, params string) string {
	c.t.Helper()
	id := c.start(method, params)
	timeout := time.After(10 * time.Second)
	for {
		select {
		case m, ok := <-c.in:
			if !ok {
				c.t.Fatal("the connection is closed")
			}
			if strings.Contains(m, id) {
				return strings.Replace(m, id, "", 1)
			}
			c.others = append(c.others, m)
		case <-timeout:
			c.t.Fatalf("no answer to %s %s", method, params)
		}
	}
}

// quiet waits a while and returns what came.
func (c *wire) quiet(d time.Duration) []string {
	timeout := time.After(d)
	for {
		select {
		case m, ok := <-c.in:
			if !ok {
				return c.others
			}
			c.others = append(c.others, m)
		case <-timeout:
			return c.others
		}
	}
}

// until reads what comes until it is enough, for 20 seconds at most, and then what else comes soon.
func (c *wire) until(enough func(all string) bool) string {
	deadline := time.Now().Add(20 * time.Second)
	for !enough(strings.Join(c.others, "\n")) && time.Now().Before(deadline) {
		c.quiet(20 * time.Millisecond)
	}
	return strings.Join(c.quiet(100*time.Millisecond), "\n")
}

func names(tools []*mcp.Tool) []string {
	var out []string
	for _, t := range tools {
		out = append(out, t.Name)
	}
	return out
}

func customHandler(called *bool) func(context.Context, *mcp.ServerSession, *custom) (*customResult, error) {
	return func(context.Context, *mcp.ServerSession, *custom) (*customResult, error) {
		*called = true
		return &customResult{}, nil
	}
}
