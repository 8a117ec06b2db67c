package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/penstock-mcp/penstock/engine"
	"github.com/stretchr/testify/require"
)

// files is an MCP server of the Go SDK that notes what it is called with.
type files struct {
	server *mcp.Server
	mu     sync.Mutex
	calls  []string
}

func newFiles() *files {
	f := &files{server: mcp.NewServer(&mcp.Implementation{Name: "files", Version: "1"}, &mcp.ServerOptions{PageSize: 2})}
	for _, name := range []string{"read_file", "write_file", "delete_file", "search", "reindex_internal"} {
		f.add(name)
	}
	return f
}

func (f *files) add(name string) {
	def := &mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}
	f.server.AddTool(def, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.calls = append(f.calls, name+" "+string(req.Params.Arguments))
		// In a stream of events this comes before the answer.
		_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: "x", Message: "half"})
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ran " + name}}}, nil
	})
}

func (f *files) ran() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.calls...)
}

// world is a gate before the server, with a caller for each view and one whose view is not configured.
type world struct {
	t       *testing.T
	files   *files
	backend *server
	gate    *gate
	url     string
}

func newWorld(t *testing.T, events bool) *world {
	w := &world{t: t, files: newFiles()}
	behind := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return w.files.server },
		&mcp.StreamableHTTPOptions{JSONResponse: !events}))
	t.Cleanup(behind.Close)
	views, names, err := readViews("policies")
	require.NoError(t, err)
	require.Equal(t, []string{"readers", "writers"}, names)
	e, err := engine.New(engine.Config{Views: views})
	require.NoError(t, err)
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	w.backend = &server{url: behind.URL, client: http.DefaultClient, log: log}
	report, err := w.backend.refresh(t.Context(), e)
	require.NoError(t, err)
	require.Equal(t, 5, report.Tools) // of three pages
	w.gate = &gate{engine: e, callers: callers{}, backend: w.backend, log: log}
	for _, view := range append(names, "strangers") {
		w.gate.callers[sha256.Sum256([]byte(view+"-token"))] = caller{user: view, view: view}
	}
	s := httptest.NewServer(w.gate)
	t.Cleanup(s.Close)
	w.url = s.URL
	return w
}

// post sends a body as a caller of a view.
func (w *world) post(view, body string) (status int, answer string) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.url, strings.NewReader(body))
	require.NoError(w.t, err)
	req.Header.Set("Authorization", "Bearer "+view+"-token")
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	require.NoError(w.t, err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	require.NoError(w.t, err)
	return res.StatusCode, string(b)
}

func (w *world) call(view, name, args string) string {
	w.t.Helper()
	status, answer := w.post(view, fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, name, args))
	require.Equal(w.t, http.StatusOK, status)
	return answer
}

func TestListsAreByView(t *testing.T) {
	w := newWorld(t, true)
	for view, want := range map[string][]string{
		"readers": {"read_file", "search"}, "writers": {"delete_file", "read_file", "search", "write_file"}, "strangers": nil,
	} {
		_, answer := w.post(view, `{"jsonrpc":"2.0","id":"a","method":"tools/list"}`)
		var list struct {
			ID     string
			Result struct{ Tools []struct{ Name string } }
		}
		require.NoError(t, json.Unmarshal([]byte(answer), &list))
		require.Equal(t, "a", list.ID)
		var names []string
		for _, tool := range list.Result.Tools {
			names = append(names, tool.Name)
		}
		require.Equal(t, want, names, view)
	}
}

func TestCallsAreHiddenDeniedAndRun(t *testing.T) {
	for _, events := range []bool{false, true} {
		w := newWorld(t, events)
		unknown := w.call("writers", "nonsense", `{"a":[]}`)
		require.Contains(t, unknown, `unknown tool`)
		require.Equal(t, unknown, strings.ReplaceAll(w.call("writers", "reindex_internal", `{"a":[]}`), "reindex_internal", "nonsense"))
		require.Equal(t, unknown, strings.ReplaceAll(w.call("writers", "reindex_internal", `[]`), "reindex_internal", "nonsense"))
		require.Equal(t, unknown, strings.ReplaceAll(w.call("strangers", "search", `{}`), "search", "nonsense"))
		require.Equal(t, unknown, strings.ReplaceAll(w.call("readers", "write_file", `{}`), "write_file", "nonsense"))

		denied := w.call("writers", "delete_file", `{"path":"/data/x"}`)
		require.Contains(t, denied, `"isError":true`)
		require.Contains(t, denied, "Ask the owner of the file.")
		for _, args := range []string{`{"path":"/etc/passwd"}`, `{"path":"/data/../etc"}`, `{"Path":"/data/x"}`, `{}`, `null`} {
			require.Contains(t, w.call("writers", "write_file", args), `"isError":true`, args)
		}
		require.Contains(t, w.call("writers", "write_file", `["/data/x"]`), `"error"`)
		require.Empty(t, w.files.ran())

		require.Contains(t, w.call("writers", "write_file", `{ "path" : "\u002fdata/x", "n": 1.0 }`), "ran write_file")
		require.Contains(t, w.call("readers", "search", `null`), "ran search")
		require.Equal(t, `write_file {"n":1,"path":"/data/x"}`, w.files.ran()[0]) // what was judged
		require.Len(t, w.files.ran(), 2)
	}
}

func TestWhatCouldBeReadInTwoWaysIsRefused(t *testing.T) {
	w := newWorld(t, false)
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"write_file","arguments":{"path":"/data/x"}}}`
	for _, body := range []string{
		``, `null`, `1`, `[` + call + `]`, `[]`, call + call, `{"jsonrpc":"2.0"}`, `{"id":1,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":null,"method":"ping"}`, `{"jsonrpc":"2.0","id":{},"method":"ping"}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}`, `{"jsonrpc":"2.0","id":1,"METHOD":"ping"}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{"name":"search"}}`,
		strings.Replace(call, `"path":"/data/x"`, `"path":"/data/x","path":"/etc/x"`, 1),
		strings.Replace(call, `"path":"/data/x"`, `"path":"/data/x","n":9007199254740993`, 1),
		strings.Replace(call, `"path":"/data/x"`, `"path":"/data/\ud800"`, 1),
	} {
		status, answer := w.post("writers", body)
		require.Equal(t, http.StatusBadRequest, status, body)
		require.Contains(t, answer, `"error"`, body)
	}
	require.Empty(t, w.files.ran())
	status, _ := w.post("writers", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"`+strings.Repeat("y", maxRequest)+`"}}`)
	require.Equal(t, http.StatusRequestEntityTooLarge, status)
	status, answer := w.post("writers", strings.Replace(call, `"id":1,`, "", 1)) // a notification calls nothing
	require.Equal(t, http.StatusAccepted, status)
	require.Empty(t, answer)
	require.Empty(t, w.files.ran())
}

func TestWhatIsNotJudgedIsRefused(t *testing.T) {
	w := newWorld(t, false)
	for _, method := range []string{"resources/read", "prompts/get", "completion/complete", "subscriptions/listen", "logging/setLevel", "x"} {
		_, answer := w.post("writers", `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{"uri":"file:///data"}}`)
		require.Contains(t, answer, "-32601", method)
	}
	_, answer := w.post("writers", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"eA"}}`)
	require.Contains(t, answer, "-32602")
}

func TestOnlyCallersWithATokenAndOnlyPosts(t *testing.T) {
	w := newWorld(t, false)
	status, _ := w.post("nobody", `{}`)
	require.Equal(t, http.StatusUnauthorized, status)
	for _, c := range []struct {
		want   int
		change func(*http.Request)
	}{
		{http.StatusOK, func(*http.Request) {}},
		{http.StatusUnauthorized, func(r *http.Request) { r.Header.Del("Authorization") }},
		{http.StatusUnauthorized, func(r *http.Request) { r.Header.Add("Authorization", "Bearer readers-token") }},
		{http.StatusUnauthorized, func(r *http.Request) { r.Header.Set("Authorization", "readers-token") }},
		{http.StatusMethodNotAllowed, func(r *http.Request) { r.Method = http.MethodGet }},
		{http.StatusUnsupportedMediaType, func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }},
	} {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
		r.Header.Set("Authorization", "Bearer writers-token")
		r.Header.Set("Content-Type", "application/json")
		c.change(r)
		got := httptest.NewRecorder()
		w.gate.ServeHTTP(got, r)
		require.Equal(t, c.want, got.Code)
	}
}

func TestAServerThatFailsHasNoTools(t *testing.T) {
	w := newWorld(t, false)
	w.backend.url = "http://127.0.0.1:1"
	require.Contains(t, w.call("readers", "search", `{}`), "the server did not answer")
	_, err := w.backend.refresh(t.Context(), w.gate.engine)
	require.Error(t, err)
	require.Contains(t, w.call("readers", "search", `{}`), "unknown tool")
}

// A session that ended is found out by one request, which is not sent twice.
func TestASessionThatEnded(t *testing.T) {
	w := newWorld(t, true)
	w.backend.session = "ended"
	require.Contains(t, w.call("readers", "search", `{}`), "the server did not answer")
	require.Empty(t, w.files.ran())
	require.Contains(t, w.call("readers", "search", `{}`), "ran search")
}

func TestEvents(t *testing.T) {
	stream := ": hello\n\nevent: message\ndata: {\"method\":\"x\",\"id\":3}\n\ndata: {\"id\":2,\"result\":1}\n\ndata: {\"id\":3,\r\ndata: \"result\":{}}\r\n\r\n"
	result, err := readEvents(strings.NewReader(stream), 3)
	require.NoError(t, err)
	require.JSONEq(t, `{}`, string(result))
	_, err = readEvents(strings.NewReader(stream), 4)
	require.ErrorIs(t, err, io.EOF)
	_, err = readEvents(strings.NewReader("data: {\"id\":3,\"error\":{\"code\":-1,\"message\":\"no\"}}\n\n"), 3)
	var own *rpcError
	require.ErrorAs(t, err, &own)
	require.Equal(t, -1, own.Code)
}

type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// A client that somebody else wrote gets along with the gate.
func TestAClientOfTheGoSDK(t *testing.T) {
	w := newWorld(t, true)
	transport := &mcp.StreamableClientTransport{Endpoint: w.url, HTTPClient: &http.Client{Transport: bearer("readers-token")}}
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), transport, nil)
	require.NoError(t, err)
	defer cs.Close()
	list, err := cs.ListTools(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, list.Tools, 2)
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "read_file", Arguments: map[string]any{"path": "/data/x"}})
	require.NoError(t, err)
	require.False(t, res.IsError)
	res, err = cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "read_file", Arguments: map[string]any{"path": "/etc/x"}})
	require.NoError(t, err)
	require.True(t, res.IsError)
	_, err = cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "write_file"})
	require.ErrorContains(t, err, "unknown tool")
}

func TestTheProgramServesAndStops(t *testing.T) {
	listen := func() net.Listener {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		return l
	}
	ctx, stop := context.WithCancel(t.Context())
	l, done := listen(), make(chan error, 1)
	go func() { done <- run(ctx, l, "http://127.0.0.1:1", "policies") }()
	res, err := http.Post("http://"+l.Addr().String(), "application/json", strings.NewReader(`{}`))
	require.NoError(t, err)
	res.Body.Close()
	require.Equal(t, http.StatusUnauthorized, res.StatusCode)
	stop()
	require.NoError(t, <-done)
	require.Error(t, run(t.Context(), listen(), "http://127.0.0.1:1", "nothing"))
}
