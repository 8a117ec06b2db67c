//go:build unix

package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// site is an HTTP server that can be stopped and started again at the same address.
type site struct {
	t       testing.TB
	addr    string
	handler http.Handler
	srv     *httptest.Server
}

func (s *site) start() {
	s.t.Helper()
	var l net.Listener
	await(s.t, "the address", func() (ok bool) {
		addr := s.addr
		if addr == "" {
			addr = "127.0.0.1:0"
		}
		var err error
		l, err = net.Listen("tcp", addr)
		return err == nil
	})
	s.addr = l.Addr().String()
	s.srv = &httptest.Server{Listener: l, Config: &http.Server{Handler: s.handler}}
	s.srv.Start()
}

func (s *site) stop() {
	s.srv.CloseClientConnections()
	s.srv.Close()
}

// sdkServer is a server of the SDK.
func sdkServer(modern bool) *mcp.Server {
	o := &mcp.ServerOptions{
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	}
	if !modern {
		o.SupportedProtocolVersions = []string{"2025-06-18"}
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "1"}, o)
	add(s, "echo")
	s.AddResource(&mcp.Resource{URI: "a://1", Name: "one"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "a://1", Text: "hello"}}}, nil
	})
	return s
}

func add(s *mcp.Server, name string) {
	s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if name == "ask" && r.Params.RequestState == "" {
			return &mcp.CallToolResult{RequestState: "more", InputRequests: mcp.InputRequestMap{"q": &mcp.ElicitParams{Message: "really?", Mode: "form"}}}, nil
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ran " + name}}, StructuredContent: json.RawMessage(`{"n":9007199254740993}`)}, nil
	})
}

func serve(t testing.TB, modern bool, o *mcp.StreamableHTTPOptions) (*mcp.Server, *site) {
	t.Helper()
	server := sdkServer(modern)
	s := &site{t: t, handler: mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, o)}
	s.start()
	t.Cleanup(func() { s.stop() })
	return server, s
}

func eachKind(t *testing.T, f func(t *testing.T, modern bool, o *mcp.StreamableHTTPOptions)) {
	for _, modern := range []bool{true, false} {
		for _, asJSON := range []bool{true, false} {
			t.Run(fmt.Sprintf("modern=%v/json=%v", modern, asJSON), func(t *testing.T) {
				f(t, modern, &mcp.StreamableHTTPOptions{JSONResponse: asJSON, Stateless: modern})
			})
		}
	}
}

func TestHTTPServersAreListedCalledAndListenedTo(t *testing.T) {
	eachKind(t, func(t *testing.T, modern bool, o *mcp.StreamableHTTPOptions) {
		nothingLeft(t)
		server, site := serve(t, modern, o)
		h := one(t, Server{URL: "http://" + site.addr + "/mcp"})
		res, err := h.call("echo")
		if err != nil || texts(res) != "ran echo" || string(res.StructuredContent.(json.RawMessage)) != `{"n":9007199254740993}` {
			t.Fatalf("%+v %v", res, err)
		}
		if got := h.session().modern(); got != modern {
			t.Fatalf("modern: %v", got)
		}
		if r, err := h.ReadResource(context.Background(), "s", &mcp.ReadResourceParams{URI: "a://1"}, nil); err != nil || r.Contents[0].Text != "hello" {
			t.Error(r, err)
		}
		add(server, "later")
		await(t, "the new tool", func() bool { return has(names(h.last("s")), "later") })
		if _, err := h.call("later"); err != nil {
			t.Error(err)
		}
		server.RemoveTools("echo")
		await(t, "the tool to vanish", func() bool { return !has(names(h.last("s")), "echo") })

		if err := h.Subscribe(context.Background(), "s", "a://1"); err != nil {
			t.Fatal(err)
		}
		await(t, "an update", func() bool {
			_ = server.ResourceUpdated(context.Background(), &mcp.ResourceUpdatedNotificationParams{URI: "a://1"})
			h.mu.Lock()
			defer h.mu.Unlock()
			return len(h.updates) > 0 && h.updates[0] == "s a://1"
		})
		add(server, "still") // listening to resources as well does not end listening to tools
		await(t, "the newest tool", func() bool { return has(names(h.last("s")), "still") })
		if err := h.Unsubscribe(context.Background(), "s", "a://1"); err != nil {
			t.Error(err)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestAnHTTPServerThatIsRestarted(t *testing.T) {
	eachKind(t, func(t *testing.T, modern bool, o *mcp.StreamableHTTPOptions) {
		_, site := serve(t, modern, o)
		h := one(t, Server{URL: "http://" + site.addr})
		fp := h.tool("s", "echo").Fingerprint
		site.stop()
		await(t, "its tools to vanish", func() bool {
			_, err := h.callAs(fp, "echo")
			if err == nil {
				t.Fatal("a call of a dead server")
			}
			return !h.last("s").Up
		})
		server := sdkServer(modern) // it knows nothing of the sessions before
		add(server, "new")
		site.handler = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, o)
		site.start()
		await(t, "it to be back", func() bool { return has(names(h.last("s")), "new") })
		if _, err := h.call("echo"); err != nil {
			t.Error(err)
		}
	})
}

func TestASessionThatIsLost(t *testing.T) {
	server, site := serve(t, false, nil)
	h := one(t, Server{URL: "http://" + site.addr})
	fp := h.tool("s", "echo").Fingerprint
	for ss := range server.Sessions() {
		_ = ss.Close()
	}
	await(t, "a new session", func() bool { return len(h.all("s")) >= 3 && h.last("s").Up })
	if _, err := h.callAs(fp, "echo"); err != nil {
		t.Error(err)
	}
}

func TestLosingSessionsLeavesNothingBehind(t *testing.T) {
	nothingLeft(t)
	for _, modern := range []bool{true, false} {
		server, site := serve(t, modern, &mcp.StreamableHTTPOptions{Stateless: modern})
		h := one(t, Server{URL: "http://" + site.addr})
		times := 3 // the SDK tries for more than a second to take up the stream of an older session
		if modern {
			times = 25
		}
		for i := range times {
			h.awaitState("s", Up)
			s := h.session()
			await(t, "the session", func() bool { s = h.session(); return s != nil })
			if modern {
				s.cancel(errors.New("lost"))
			} else {
				for ss := range server.Sessions() {
					_ = ss.Close()
				}
			}
			await(t, "its end", func() bool { return len(h.all("s")) >= 2*(i+1) })
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestAnAnswerThatAsksForInput(t *testing.T) {
	server, site := serve(t, true, &mcp.StreamableHTTPOptions{Stateless: true})
	add(server, "ask")
	h := one(t, Server{URL: "http://" + site.addr})
	res, err := h.call("ask")
	if err != nil || !res.NeedsInput() || res.RequestState != "more" || res.InputRequests["q"] == nil {
		t.Fatalf("%+v %v", res, err)
	}
	res, err = h.call("ask", func(p *mcp.CallToolParams) {
		p.RequestState, p.InputResponses = res.RequestState, mcp.InputResponseMap{"q": &mcp.ElicitResult{Action: "accept"}}
	})
	if err != nil || texts(res) != "ran ask" {
		t.Errorf("%+v %v", res, err)
	}
}
