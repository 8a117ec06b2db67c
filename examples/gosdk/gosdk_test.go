package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/penstock-mcp/penstock/engine"
	"github.com/stretchr/testify/require"
)

// buffer is a bytes.Buffer for several goroutines.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// world is the program, served, with a person at its terminal.
type world struct {
	t        *testing.T
	url      string
	callers  callers
	engine   *engine.Engine
	policy   string
	keyboard io.Writer
	screen   *buffer
	audit    *buffer
	log      *slog.Logger
}

func newWorld(t *testing.T) *world {
	keys, keyboard := io.Pipe()
	t.Cleanup(func() { keyboard.Close() })
	w := &world{t: t, callers: callers{}, keyboard: keyboard, screen: &buffer{}, audit: &buffer{}}
	text, err := os.ReadFile("policy.yaml")
	require.NoError(t, err)
	w.policy = filepath.Join(t.TempDir(), "policy.yaml")
	require.NoError(t, os.WriteFile(w.policy, text, 0o600))
	w.log = slog.New(slog.NewJSONHandler(w.audit, nil))
	server, e, err := guarded(w.policy, newTerminal(keys, w.screen), w.log)
	require.NoError(t, err)
	w.engine = e
	s := httptest.NewServer(handler(server, w.callers))
	t.Cleanup(s.Close)
	w.url = s.URL
	return w
}

type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

func (w *world) client(token string) *mcp.ClientSession {
	transport := &mcp.StreamableClientTransport{Endpoint: w.url, HTTPClient: &http.Client{Transport: bearer(token)}}
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(w.t.Context(), transport, nil)
	require.NoError(w.t, err)
	w.t.Cleanup(func() { cs.Close() })
	return cs
}

func (w *world) call(cs *mcp.ClientSession, name string, args map[string]any) (text string, isError bool, err error) {
	res, err := cs.CallTool(w.t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		return "", false, err
	}
	require.Len(w.t, res.Content, 1)
	return res.Content[0].(*mcp.TextContent).Text, res.IsError, nil
}

func TestWithoutATokenThereIsNothing(t *testing.T) {
	w := newWorld(t)
	res, err := http.Post(w.url, "application/json", strings.NewReader(`{}`))
	require.NoError(t, err)
	res.Body.Close()
	require.Equal(t, http.StatusUnauthorized, res.StatusCode)
}

func TestToolsAreHiddenDeniedAndRun(t *testing.T) {
	w := newWorld(t)
	reader, writer := w.client(w.callers.add("reader")), w.client(w.callers.add("writer", "write"))

	list, err := reader.ListTools(t.Context(), nil)
	require.NoError(t, err)
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	require.Equal(t, []string{"burn_note", "read_note", "send_note", "write_note"}, names)

	// Hidden is unknown, word for word.
	_, _, hidden := w.call(reader, "reindex_internal", nil)
	_, _, unknown := w.call(reader, "reindex_nonsense", nil)
	require.Error(t, hidden)
	require.Error(t, unknown)
	require.Equal(t, unknown.Error(), strings.ReplaceAll(hidden.Error(), "reindex_internal", "reindex_nonsense"))

	// Denied is a result, so that the model reads it.
	text, isError, err := w.call(reader, "burn_note", map[string]any{"title": "x"})
	require.NoError(t, err)
	require.True(t, isError)
	require.Contains(t, text, "not allowed")

	// By who asks, and by arguments.
	note := map[string]any{"title": "x", "folder": "inbox"}
	_, isError, err = w.call(reader, "write_note", note)
	require.NoError(t, err)
	require.True(t, isError)
	text, isError, err = w.call(writer, "write_note", note)
	require.NoError(t, err)
	require.False(t, isError, text)
	require.Equal(t, `written: {"folder":"inbox","title":"x"}`, text)
	_, isError, err = w.call(writer, "write_note", map[string]any{"title": "x", "folder": "/etc"})
	require.NoError(t, err)
	require.True(t, isError)
}

func TestSendingIsAskedAtTheTerminal(t *testing.T) {
	w := newWorld(t)
	cs := w.client(w.callers.add("writer", "write"))
	type answer struct {
		text    string
		isError bool
		err     error
	}
	ask := func() <-chan answer {
		c := make(chan answer, 1)
		go func() {
			res, err := cs.CallTool(context.WithoutCancel(t.Context()), &mcp.CallToolParams{Name: "send_note", Arguments: map[string]any{"title": "\u202e\x1b[2Jx"}})
			if err != nil {
				c <- answer{err: err}
				return
			}
			c <- answer{res.Content[0].(*mcp.TextContent).Text, res.IsError, nil}
		}()
		return c
	}
	shown := func(text string) {
		require.Eventually(t, func() bool { return strings.Contains(w.screen.String(), text) }, 20*time.Second, time.Millisecond)
	}

	first := ask()
	shown("yes 1,")
	_, err := io.WriteString(w.keyboard, "yes 1\n")
	require.NoError(t, err)
	a := <-first
	require.NoError(t, a.err)
	require.False(t, a.isError, a.text)
	require.True(t, strings.HasPrefix(a.text, "sent: "), a.text)

	second := ask()
	shown("yes 2,")
	_, err = io.WriteString(w.keyboard, "yes 1\n") // the answer to another question
	require.NoError(t, err)
	a = <-second
	require.NoError(t, a.err)
	require.True(t, a.isError)
	require.Contains(t, a.text, "approval")

	require.NotContains(t, w.screen.String(), "\x1b")
	require.NotContains(t, w.screen.String(), "\u202e")
	require.Contains(t, w.screen.String(), "It leaves the house.")
}

func TestDeniedResourcesAndPromptsAreNotThere(t *testing.T) {
	w := newWorld(t)
	cs := w.client(w.callers.add("reader"))

	resources, err := cs.ListResources(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, resources.Resources, 1)
	require.Equal(t, "note://inbox/shopping", resources.Resources[0].URI)
	templates, err := cs.ListResourceTemplates(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, templates.ResourceTemplates, 1)
	require.Equal(t, "note://inbox/{title}", templates.ResourceTemplates[0].URITemplate)

	_, err = cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "note://inbox/shopping"})
	require.NoError(t, err)
	_, denied := cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "note://drafts/resignation"})
	_, unknown := cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "note://nothing/here"})
	require.Error(t, denied)
	require.Equal(t, unknown.Error(), strings.ReplaceAll(denied.Error(), "drafts/resignation", "nothing/here"))

	prompts, err := cs.ListPrompts(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, prompts.Prompts, 1)
	require.Equal(t, "summarize", prompts.Prompts[0].Name)
	_, err = cs.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "summarize"})
	require.NoError(t, err)
	_, denied = cs.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "appraise"})
	_, unknown = cs.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "nonsense"})
	require.Error(t, denied)
	require.Equal(t, unknown.Error(), strings.ReplaceAll(denied.Error(), "appraise", "nonsense"))
}

func TestAuditSaysWhoAndWhyAndNoArguments(t *testing.T) {
	w := newWorld(t)
	cs := w.client(w.callers.add("reader"))
	_, _, err := w.call(cs, "burn_note", map[string]any{"title": "top secret"})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return strings.Contains(w.audit.String(), `"msg":"denied"`) }, 20*time.Second, time.Millisecond)
	log := w.audit.String()
	require.Contains(t, log, `"principal":"reader","server":"desk","name":"burn_note","args":"sha256:`)
	require.Contains(t, log, `"decision":{"action":"deny","source":"default"`)
	require.NotContains(t, log, "top secret")
}

func TestReloadTakesAllOrNothing(t *testing.T) {
	w := newWorld(t)
	cs := w.client(w.callers.add("reader"))
	denied := func() bool {
		_, isError, err := w.call(cs, "burn_note", nil)
		require.NoError(t, err)
		return isError
	}
	require.True(t, denied())

	require.NoError(t, os.WriteFile(w.policy, []byte("version: 1\npolicy: {allow: [\"desk/burn_note\"], deni: []}\n"), 0o600))
	reload(w.engine, w.policy, w.log)
	require.True(t, denied())
	require.Contains(t, w.audit.String(), "the policy stays as it was")

	require.NoError(t, os.WriteFile(w.policy, []byte("version: 1\npolicy: {allow: [\"desk/burn_note\"]}\n"), 0o600))
	reload(w.engine, w.policy, w.log)
	require.False(t, denied())
}

func TestTheProgramServesAndStops(t *testing.T) {
	listen := func() net.Listener {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		return l
	}
	ctx, stop := context.WithCancel(t.Context())
	l, done := listen(), make(chan error, 1)
	go func() { done <- run(ctx, l, "policy.yaml") }()
	res, err := http.Post("http://"+l.Addr().String(), "application/json", strings.NewReader(`{}`))
	require.NoError(t, err)
	res.Body.Close()
	require.Equal(t, http.StatusUnauthorized, res.StatusCode)
	stop()
	require.NoError(t, <-done)
	require.Error(t, run(t.Context(), listen(), "nothing.yaml"))
}
