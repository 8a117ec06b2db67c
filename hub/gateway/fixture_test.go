package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// fake is a server behind the hub, over HTTP. It remembers what it was called with.
type fake struct {
	t      testing.TB
	server *mcp.Server
	web    *httptest.Server

	mu    sync.Mutex
	calls []string
	block chan struct{} // a call of the tool "slow" waits for it
	subs  map[string]int
}

func newFake(t testing.TB, tools ...string) *fake {
	t.Helper()
	f := &fake{t: t, block: make(chan struct{}), subs: map[string]int{}}
	count := func(uri string, n int) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.subs[uri] += n
	}
	f.server = mcp.NewServer(&mcp.Implementation{Name: "fake", Version: "1"}, &mcp.ServerOptions{
		SubscribeHandler:   func(_ context.Context, r *mcp.SubscribeRequest) error { count(r.Params.URI, 1); return nil },
		UnsubscribeHandler: func(_ context.Context, r *mcp.UnsubscribeRequest) error { count(r.Params.URI, -1); return nil },
		CompletionHandler: func(_ context.Context, r *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{r.Params.Ref.Name + r.Params.Ref.URI}}}, nil
		},
	})
	for _, name := range tools {
		f.add(name, "first")
	}
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return f.server }, nil)
	f.web = httptest.NewServer(handler)
	t.Cleanup(f.stop)
	return f
}

// stop ends the server, and every connection to it.
func (f *fake) stop() {
	f.web.CloseClientConnections()
	f.web.Config.SetKeepAlivesEnabled(false)
	for ss := range f.server.Sessions() {
		go ss.Close()
	}
	f.web.Close()
}

// add adds a tool, or changes it to another definition.
func (f *fake) add(name, description string) {
	f.server.AddTool(&mcp.Tool{Name: name, Description: description, InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			f.mu.Lock()
			f.calls = append(f.calls, name+" "+string(r.Params.Arguments))
			f.mu.Unlock()
			switch name {
			case "slow":
				select {
				case <-f.block:
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			case "progress":
				for n := range 3 {
					_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
						ProgressToken: r.Params.GetProgressToken(), Progress: float64(n + 1), Message: "on the way",
					})
				}
			case "link":
				return &mcp.CallToolResult{Content: []mcp.Content{
					&mcp.ResourceLink{URI: "demo://linked", Name: "linked"},
					&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "demo://embedded", Text: "e"}},
				}}, nil
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ran " + name + " " + description}}}, nil
		})
}

func (f *fake) addOthers() {
	read := func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, Text: "text of " + r.Params.URI}}}, nil
	}
	f.server.AddResource(&mcp.Resource{URI: "demo://a", Name: "a"}, read)
	f.server.AddResource(&mcp.Resource{URI: "demo://secret", Name: "secret"}, read)
	f.server.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "item://{id}", Name: "items"}, read)
	for _, name := range []string{"greet", "secret"} {
		f.server.AddPrompt(&mcp.Prompt{Name: name}, func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.ResourceLink{URI: "demo://a", Name: r.Params.Arguments["who"]}}}}, nil
		})
	}
}

func (f *fake) called() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.calls...)
}

func (f *fake) subscribed(uri string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.subs[uri]
}

// world is a hub with its files, served over HTTP.
type world struct {
	t   testing.TB
	dir string
	env map[string]string
	log *journal
	o   Options
	g   *Gateway
	web *httptest.Server
}

// newWorld makes a hub of files by name; hub.yaml is one of them. Servers are the fakes by id.
func newWorld(t testing.TB, files map[string]string, servers map[string]*fake, change func(*world)) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), env: map[string]string{}, log: &journal{}}
	w.servers(servers)
	for _, name := range sorted(files) {
		w.write(name, files[name])
	}
	w.o.Logger = slog.New(slog.NewTextHandler(w.log, nil))
	w.o.Load.Getenv = func(name string) (string, bool) { v, ok := w.env[name]; return v, ok }
	if change != nil {
		change(w)
	}
	w.start()
	return w
}

func (w *world) start() {
	w.t.Helper()
	c, err := Load(filepath.Join(w.dir, "hub.yaml"), w.o.Load)
	require.NoError(w.t, err)
	w.g, err = New(c, w.o)
	require.NoError(w.t, err)
	w.g.Start()
	w.web = httptest.NewServer(w.g.Handler())
	w.t.Cleanup(w.stop)
	w.settle()
}

func (w *world) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	w.g.web.streams.close()
	_ = w.g.Close(ctx)
	w.web.CloseClientConnections()
	w.web.Close()
}

func (w *world) settle() {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	require.NoError(w.t, w.g.Settled(ctx))
}

func (w *world) path(name string) string { return filepath.Join(w.dir, name) }

func (w *world) write(name, text string) {
	w.t.Helper()
	// As editors do it: whole, or not at all.
	tmp := w.path("." + name + ".tmp")
	require.NoError(w.t, os.WriteFile(tmp, []byte(text), 0o600))
	require.NoError(w.t, os.Rename(tmp, w.path(name)))
}

func (w *world) servers(servers map[string]*fake) {
	all := map[string]any{}
	for id, f := range servers {
		all[id] = map[string]any{"url": f.web.URL, "type": "http"}
	}
	data, err := json.Marshal(map[string]any{"mcpServers": all})
	require.NoError(w.t, err)
	w.write("mcp.json", string(data))
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !f() {
		if time.Now().After(deadline) {
			t.Fatalf("it never came to this: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// The protocols that callers speak: one of each generation.
var protocols = []string{"2025-11-25", "2026-07-28"}

type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if b != "" {
		r.Header.Set("Authorization", "Bearer "+string(b))
	}
	return http.DefaultTransport.RoundTrip(r)
}

// dial connects a client over HTTP.
func (w *world) dial(protocol, token string, o *mcp.ClientOptions) (*mcp.ClientSession, error) {
	t := &mcp.StreamableClientTransport{Endpoint: w.web.URL + "/mcp", HTTPClient: &http.Client{Transport: bearer(token)}}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	return mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, o).Connect(ctx, t, &mcp.ClientSessionOptions{ProtocolVersion: protocol})
}

func (w *world) client(protocol, token string, o *mcp.ClientOptions) *mcp.ClientSession {
	w.t.Helper()
	cs, err := w.dial(protocol, token, o)
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = cs.Close() })
	require.Equal(w.t, protocol, cs.InitializeResult().ProtocolVersion)
	return cs
}

// local connects a client in memory, which is what stdio is to the hub.
func (w *world) local(protocol string, o *mcp.ClientOptions) *mcp.ClientSession {
	w.t.Helper()
	a, b := mcp.NewInMemoryTransports()
	_, err := w.g.Server().Connect(context.Background(), a, nil)
	require.NoError(w.t, err)
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, o).Connect(context.Background(), b,
		&mcp.ClientSessionOptions{ProtocolVersion: protocol})
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = cs.Close() })
	return cs
}

// each runs f with a client of each protocol, over HTTP and in memory.
func (w *world) each(t *testing.T, o *mcp.ClientOptions, f func(t *testing.T, cs *mcp.ClientSession)) {
	for _, p := range protocols {
		t.Run("http "+p, func(t *testing.T) { f(t, w.client(p, "", o)) })
		t.Run("memory "+p, func(t *testing.T) { f(t, w.local(p, o)) })
	}
}

func toolNames(t testing.TB, cs *mcp.ClientSession) []string {
	t.Helper()
	res, err := cs.ListTools(context.Background(), nil)
	require.NoError(t, err)
	names := []string{}
	for _, tool := range res.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// call calls a tool and returns its text, with "error: " in front where the tool says that it failed.
func call(cs *mcp.ClientSession, name string, args any) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	res, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if res.IsError {
		b.WriteString("error: ")
	}
	for _, c := range res.Content {
		if c, ok := c.(*mcp.TextContent); ok {
			b.WriteString(c.Text)
		}
	}
	return b.String(), nil
}

// journal is a log to look at.
type journal struct {
	mu sync.Mutex
	b  strings.Builder
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.String()
}

// hubYAML is a configuration with more lines behind the usual ones.
func hubYAML(more ...string) string {
	return "version: 1\nlisten: 127.0.0.1:0\nservers: mcp.json\npolicy: policy.yaml\n" + strings.Join(more, "\n") + "\n"
}

// policyYAML allows patterns, and denies the rest.
func policyYAML(allow ...string) string {
	quoted, err := json.Marshal(append([]string{}, allow...))
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("version: 1\npolicy:\n  scope: [tools, resources, prompts]\n  allow_new_tools: true\n  default: deny\n  allow: %s\n", quoted)
}

// closeIdle closes the connections that a client keeps for later.
func closeIdle() { http.DefaultTransport.(*http.Transport).CloseIdleConnections() }
