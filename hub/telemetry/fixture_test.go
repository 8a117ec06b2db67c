package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/hub"
	"github.com/penstock-mcp/penstock/hub/approval"
	"github.com/penstock-mcp/penstock/hub/upstream"
)

// canary is in the arguments of calls, and in every error that could quote them.
const canary = "canary-7f3a"

// inexact is a number that cannot be judged, in an argument.
const inexact = "90071992547409937"

// hostile is a name that tries to begin a line, a field and a color of its own.
const hostile = "x\"}\n{\"level\":\"INFO\",\"principal\":\"root\u001b[31m\u202e\u009b"

// world is a guarded server whose tools behave as their names say.
type world struct {
	t      testing.TB
	engine *engine.Engine
	server *mcp.Server
	after  func() // in the approver, before it answers
}

var toolNames = []string{"read", "write", "say", "shell", "strict", "fail", "code", "down", "swapped", "tool-error", "hidden"}

// newWorld makes a world that tells o, with middleware before the guard.
func newWorld(t testing.TB, o hub.Observer, change func(*hub.GuardOptions), before ...mcp.Middleware) *world {
	t.Helper()
	at := func(line int32) engine.Position { return engine.Position{File: "policy.yaml", Line: line, Column: 5} }
	strict := engine.Args("careless", func(_ context.Context, in engine.Input) (bool, error) {
		v, _ := in.Arg("path")
		return false, fmt.Errorf("cannot judge %v", v)
	})
	filter, err := engine.CompileFilter(engine.FilterOptions{Exclude: []engine.Rule{engine.Pattern("fs/hidden")}})
	if err != nil {
		t.Fatal(err)
	}
	policy, err := engine.CompilePolicy(engine.PolicyOptions{
		Scope: []engine.Kind{engine.Tools, engine.Resources, engine.Prompts},
		Deny: []engine.Rule{
			engine.Named("no-shell", engine.Pattern("*/shell")).At(at(3)),
			engine.All(engine.Pattern("fs/strict"), strict).At(at(4)),
			engine.Pattern("resource:fs/*secret*").At(at(5)),
		},
		Ask:           []engine.Rule{engine.Pattern("fs/write").At(at(8)), engine.Pattern("fs/say").At(at(9))},
		Allow:         []engine.Rule{engine.Pattern("fs/*").At(at(12)), engine.Pattern("resource:*/*"), engine.Pattern("prompt:*/*")},
		AllowNewTools: true, NoMatch: engine.DenyNoMatch,
	})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t}
	if w.engine, err = engine.New(engine.Config{Views: map[string]engine.View{"main": {Filter: filter, Policy: policy}}}); err != nil {
		t.Fatal(err)
	}
	var tools []engine.Tool
	var targets []engine.Target
	for _, n := range toolNames {
		raw, _ := json.Marshal(map[string]any{"name": n, "inputSchema": map[string]any{"type": "object"}})
		tools = append(tools, engine.Tool{Server: "fs", Name: n, Raw: raw})
		targets = append(targets, engine.Target{Server: "fs", Name: n})
	}
	if _, err := w.engine.Refresh("fs", tools); err != nil {
		t.Fatal(err)
	}
	table := hub.NewNames(targets)
	prompts, err := hub.NamesOf(map[string]engine.Target{"fs__greet": {Server: "fs", Name: "greet"}})
	if err != nil {
		t.Fatal(err)
	}
	options := hub.GuardOptions{
		Engine: w.engine, Observer: o,
		Names:   func() *hub.Names { return table },
		Prompts: func() *hub.Names { return prompts },
		Resources: func(uri string) (engine.Target, bool) { // one that guesses
			server, _, ok := strings.Cut(uri, "://")
			return engine.Target{Server: server, Name: uri}, ok
		},
		Identify: func(context.Context, string, mcp.Request) (hub.Caller, error) {
			return hub.Caller{Principal: "ada", View: "main"}, nil
		},
		Approver: approverFunc(w.approve),
		Definition: func(tool *engine.Tool) (*mcp.Tool, bool) {
			return &mcp.Tool{InputSchema: map[string]any{"type": "object"}}, true
		},
	}
	if change != nil {
		change(&options)
	}
	guard, err := hub.NewGuard(options)
	if err != nil {
		t.Fatal(err)
	}
	w.server = mcp.NewServer(&mcp.Implementation{Name: "hub", Version: "1"}, &mcp.ServerOptions{
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}, Prompts: &mcp.PromptCapabilities{}, Resources: &mcp.ResourceCapabilities{}},
		Logger:       slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	w.server.AddReceivingMiddleware(append(append([]mcp.Middleware{}, before...), guard.Middleware(), backend)...)
	if err := mcp.AddReceivingCustomMethod(w.server, customMethod, func(context.Context, *mcp.ServerSession, *custom) (*customResult, error) {
		return &customResult{}, nil
	}); err != nil {
		t.Fatal(err)
	}
	return w
}

// customMethod is one that somebody added behind the guard's back.
const customMethod = "acme/" + hostile

type custom struct{ mcp.ParamsBase }
type customResult struct{ mcp.ResultBase }

type approverFunc func(context.Context, *hub.ApprovalRequest) (hub.Approval, error)

func (f approverFunc) Approve(ctx context.Context, r *hub.ApprovalRequest) (hub.Approval, error) {
	return f(ctx, r)
}

// approve answers as the arguments say.
func (w *world) approve(_ context.Context, r *hub.ApprovalRequest) (hub.Approval, error) {
	if w.after != nil {
		w.after()
	}
	var args struct{ Answer, Path string }
	_ = json.Unmarshal(r.Args, &args)
	switch args.Answer {
	case "yes":
		return hub.Approval{Verdict: hub.Approved, Remember: true, By: "grace"}, nil
	case "later":
		return hub.Approval{Verdict: hub.Pending, State: "state"}, nil
	case "error":
		return hub.Approval{}, errors.New("cannot ask about " + args.Path)
	case "panic":
		panic(args.Path)
	default:
		return hub.Approval{Message: "No: " + args.Path, Err: fmt.Errorf("%w: %s", approval.ErrDeclined, args.Path)}, nil
	}
}

// backend is the server behind the guard, or all of it where there is none.
func backend(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, in mcp.Request) (mcp.Result, error) {
		switch p := in.GetParams().(type) {
		case *mcp.CallToolParamsRaw:
			args := string(p.Arguments)
			switch strings.TrimPrefix(p.Name, "fs__") {
			case "fail":
				return nil, errors.New("cannot open " + args)
			case "code":
				return nil, &jsonrpc.Error{Code: -32000, Message: "bad arguments " + args}
			case "down":
				return nil, fmt.Errorf("server %q: %w: %s", "fs", upstream.ErrDown, args)
			case "swapped":
				return nil, fmt.Errorf("fs: %w", upstream.ErrChanged)
			case "tool-error":
				return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "no " + args}}}, nil
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ran " + args}}}, nil
		case *mcp.ReadResourceParams:
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: p.URI, Text: canary}}}, nil
		case *mcp.GetPromptParams:
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{}}, nil
		}
		return next(ctx, method, in)
	}
}

// wire is a client that writes what it likes.
type wire struct {
	t    testing.TB
	conn mcp.Connection
	id   int
}

func (w *world) wire() *wire {
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
	w.t.Cleanup(func() { conn.Close() })
	return &wire{t: w.t, conn: conn}
}

const modernMeta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}},` +
	`"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"}`

// do sends a request with some more _meta, and returns the answer.
func (c *wire) do(method, params, meta string) string {
	c.t.Helper()
	if meta != "" {
		meta = "," + meta
	}
	rest := params[1:]
	if rest != "}" {
		rest = "," + rest
	}
	name, _ := json.Marshal(method)
	c.id++
	m, err := jsonrpc.DecodeMessage(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%s,"params":{"_meta":{%s%s}%s}`, c.id, name, modernMeta, meta, rest))
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(context.Background(), 20*time.Second)
	defer stop()
	if err := c.conn.Write(ctx, m); err != nil {
		c.t.Fatal(err)
	}
	for {
		m, err := c.conn.Read(ctx)
		if err != nil {
			c.t.Fatal(err)
		}
		b, _ := jsonrpc.EncodeMessage(m)
		if strings.Contains(string(b), fmt.Sprintf(`"id":%d,`, c.id)) {
			return string(b)
		}
	}
}

func call(tool, args string) [2]string {
	name, _ := json.Marshal(tool)
	if args == "" {
		return [2]string{"tools/call", fmt.Sprintf(`{"name":%s}`, name)}
	}
	return [2]string{"tools/call", fmt.Sprintf(`{"name":%s,"arguments":%s}`, name, args)}
}

// script are requests that end in every way there is; the canary is in all arguments.
func script() [][2]string {
	args := func(answer string) string { return fmt.Sprintf(`{"answer":%q,"path":"/%s"}`, answer, canary) }
	return [][2]string{
		{"tools/list", `{}`},
		{"tools/list", `{"cursor":"bad"}`},
		call("fs__read", args("")),
		call("fs__read", ""),
		call("fs__tool-error", args("")),
		call("fs__code", args("")),
		call("fs__fail", args("")),
		call("fs__down", args("")),
		call("fs__swapped", args("")),
		call("fs__shell", args("")),
		call("fs__strict", args("")),
		call("fs__hidden", args("")),
		call("nobody", args("")),
		call(hostile, args("")),
		call(strings.Repeat("long", 1000), args("")),
		call("fs__read", `{"path":`+inexact+`}`),
		call("fs__read", `{"`+canary+`":1,"`+canary+`":2}`),
		call("fs__read", `["`+canary+`"]`),
		call("fs__write", args("yes")),
		call("fs__write", args("no")),
		call("fs__write", args("later")),
		call("fs__write", args("error")),
		call("fs__write", args("panic")),
		{"resources/list", `{}`},
		{"resources/read", `{"uri":"fs://a"}`},
		{"resources/read", `{"uri":"fs://secret"}`},
		{"resources/read", `{"uri":"nothing"}`},
		{"prompts/get", `{"name":"fs__greet","arguments":{"path":"` + canary + `"}}`},
		{"prompts/get", `{"name":"other"}`},
		{customMethod, `{}`},
		{"server/discover", `{}`},
	}
}

func (w *world) run(requests [][2]string) []string {
	c := w.wire()
	var out []string
	for _, r := range requests {
		out = append(out, c.do(r[0], r[1], ""))
	}
	return out
}

// syncBuffer is a buffer that may be read while it is written to.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
