package main

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/stretchr/testify/require"
)

func newTestServer(t *testing.T) *server.MCPServer {
	s, err := newServer("policy.yaml")
	require.NoError(t, err)
	return s
}

// wire sends one message as a user and returns the answer, without its id.
func wire(t *testing.T, s *server.MCPServer, user, method, params string) string {
	t.Helper()
	ctx := context.WithValue(t.Context(), callerKey{}, user)
	return send(t, s, ctx, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`)
}

func send(t *testing.T, s *server.MCPServer, ctx context.Context, message string) string {
	t.Helper()
	b, err := json.Marshal(s.HandleMessage(ctx, json.RawMessage(message)))
	require.NoError(t, err)
	return strings.Replace(string(b), `"id":1,`, "", 1)
}

// same requires that two answers differ in the name that was asked for and in nothing else.
func same(t *testing.T, unknown, unknownName, hidden, hiddenName string) {
	t.Helper()
	require.Contains(t, unknown, `"error"`)
	require.Contains(t, unknown, unknownName)
	require.Equal(t, unknown, strings.ReplaceAll(hidden, hiddenName, unknownName))
}

func TestClientsOverHTTP(t *testing.T) {
	u := users{}
	web := httptest.NewServer(handler(newTestServer(t), u))
	defer web.Close()
	res, err := http.Post(web.URL, "application/json", strings.NewReader(`{}`))
	require.NoError(t, err)
	res.Body.Close()
	require.Equal(t, http.StatusUnauthorized, res.StatusCode)

	connect := func(token string) *client.Client {
		c, err := client.NewStreamableHttpClient(web.URL, transport.WithHTTPHeaders(map[string]string{"Authorization": "Bearer " + token}))
		require.NoError(t, err)
		require.NoError(t, c.Start(t.Context()))
		t.Cleanup(func() { c.Close() })
		_, err = c.Initialize(t.Context(), mcp.InitializeRequest{Params: mcp.InitializeParams{
			ProtocolVersion: mcp.LATEST_PROTOCOL_VERSION, ClientInfo: mcp.Implementation{Name: "test", Version: "1"},
		}})
		require.NoError(t, err)
		return c
	}
	call := func(c *client.Client, name string, args map[string]any) (*mcp.CallToolResult, error) {
		return c.CallTool(t.Context(), mcp.CallToolRequest{Params: mcp.CallToolParams{Name: name, Arguments: args}})
	}
	reader, writer := connect(u.add("reader")), connect(u.add("writer"))

	list, err := reader.ListTools(t.Context(), mcp.ListToolsRequest{})
	require.NoError(t, err)
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	require.Equal(t, []string{"archive", "burn_note", "export", "read_note", "write_note"}, names)

	note := map[string]any{"title": "x", "folder": "inbox"}
	out, err := call(reader, "write_note", note)
	require.NoError(t, err)
	require.True(t, out.IsError)
	out, err = call(writer, "write_note", note)
	require.NoError(t, err)
	require.False(t, out.IsError)
	require.Equal(t, `written: {"folder":"inbox","title":"x"}`, out.Content[0].(mcp.TextContent).Text)
	_, err = call(writer, "reindex_internal", nil)
	require.ErrorContains(t, err, "not found")
}

func TestHiddenToolsAreUnknownWordForWord(t *testing.T) {
	s := newTestServer(t)
	for _, rest := range []string{`}`, `,"arguments":{"a":1,"a":2}}`, `,"task":{}}`, `,"task":{},"arguments":[]}`} {
		unknown := wire(t, s, "writer", "tools/call", `{"name":"nonsense"`+rest)
		same(t, unknown, "nonsense", wire(t, s, "writer", "tools/call", `{"name":"reindex_internal"`+rest), "reindex_internal")
		same(t, unknown, "nonsense", wire(t, s, "writer", "tools/call", `{"name":"wipe_internal"`+rest), "wipe_internal")
	}
}

func TestCallsAreJudgedByWhatIsSent(t *testing.T) {
	s := newTestServer(t)
	denial := wire(t, s, "writer", "tools/call", `{"name":"burn_note","arguments":{}}`)
	require.Contains(t, denial, `"isError":true`)
	require.Contains(t, denial, "not allowed")
	for _, args := range []string{
		`{"folder":"inbox","folder":"/etc"}`, `{"folder":"inbox","n":9007199254740993}`, `{"folder":"inbox","s":"\ud800"}`, `["inbox"]`,
	} {
		answer := wire(t, s, "writer", "tools/call", `{"name":"write_note","arguments":`+args+`}`)
		require.Contains(t, answer, `"isError":true`, args)
		require.Contains(t, answer, "arguments", args)
	}
	require.Contains(t, wire(t, s, "writer", "tools/call", `{"name":"write_note","arguments":{"folder":"/etc"}}`), denied)
	ran := wire(t, s, "writer", "tools/call", `{"name":"write_note","arguments":{ "title" : "\u0041", "n": 1.50, "folder":"inbox" }}`)
	require.Contains(t, ran, `written: {\"folder\":\"inbox\",\"n\":1.5,\"title\":\"A\"}`)
	require.Contains(t, wire(t, s, "nobody", "tools/call", `{"name":"read_note","arguments":null}`), `read: null`)
}

// The middleware does not run for archive at all, and for export it runs in the task.
func TestTasksAreJudgedBeforeTheyBegin(t *testing.T) {
	s := newTestServer(t)
	for _, name := range []string{"archive", "export"} {
		for _, args := range []string{`{"format":"raw"}`, `{}`, `{"format":"text","format":"raw"}`, `["text"]`} {
			answer := wire(t, s, "writer", "tools/call", `{"name":"`+name+`","task":{},"arguments":`+args+`}`)
			require.Contains(t, answer, `"error"`, args)
			require.NotContains(t, answer, "taskId", args)
		}
		answer := wire(t, s, "writer", "tools/call", `{"name":"`+name+`","task":{},"arguments":{ "format": "\u0074ext" }}`)
		var created struct {
			Result struct{ Task struct{ TaskID string } }
		}
		require.NoError(t, json.Unmarshal([]byte(answer), &created))
		require.NotEmpty(t, created.Result.Task.TaskID, answer)
		result := wire(t, s, "writer", "tasks/result", `{"taskId":"`+created.Result.Task.TaskID+`"}`)
		require.Contains(t, result, `ed: {\"format\":\"text\"}`)
	}
	// A task tool runs as a task or not at all, and the others do not become tasks.
	require.Contains(t, wire(t, s, "writer", "tools/call", `{"name":"archive","arguments":{"format":"raw"}}`), `"error"`)
	require.Contains(t, wire(t, s, "writer", "tools/call", `{"name":"burn_note","task":{}}`), `"error"`)
	require.Contains(t, wire(t, s, "writer", "tools/call", `{"name":"read_note","task":{}}`), `read: `)
}

// What is added around the guard is not there: the engine does not know it.
func TestWhatTheEngineDoesNotKnowIsHidden(t *testing.T) {
	s := newTestServer(t)
	s.AddTool(mcp.NewTool("late"), answer("ran"))
	s.AddTaskTool(mcp.NewTool("late_task", mcp.WithTaskSupport(mcp.TaskSupportRequired)), task("ran"))
	s.AddResource(mcp.NewResource("note://inbox/late/one", "late"), read)
	require.NotContains(t, wire(t, s, "writer", "tools/list", `{}`), "late")
	same(t, wire(t, s, "writer", "tools/call", `{"name":"nonsense"}`), "nonsense", wire(t, s, "writer", "tools/call", `{"name":"late"}`), "late")
	same(t, wire(t, s, "writer", "tools/call", `{"name":"nonsense","task":{}}`), "nonsense",
		wire(t, s, "writer", "tools/call", `{"name":"late_task","task":{}}`), "late_task")
	require.Contains(t, wire(t, s, "writer", "resources/read", `{"uri":"note://inbox/late/one"}`), "not found")
}

func TestDeniedResourcesAndPromptsAreNotThere(t *testing.T) {
	s := newTestServer(t)
	list := wire(t, s, "reader", "resources/list", `{}`) + wire(t, s, "reader", "resources/templates/list", `{}`) + wire(t, s, "reader", "prompts/list", `{}`)
	require.Contains(t, list, "note://inbox/shopping")
	require.Contains(t, list, "note://inbox/{title}")
	require.Contains(t, list, "summarize")
	require.NotContains(t, list, "drafts")
	require.NotContains(t, list, "appraise")

	require.Contains(t, wire(t, s, "reader", "resources/read", `{"uri":"note://inbox/shopping"}`), "Milk")
	require.Contains(t, wire(t, s, "reader", "resources/read", `{"uri":"note://inbox/other"}`), "Milk")
	unknown := wire(t, s, "reader", "resources/read", `{"uri":"note://else"}`)
	same(t, unknown, "note://else", wire(t, s, "reader", "resources/read", `{"uri":"note://drafts/resignation"}`), "note://drafts/resignation")
	same(t, unknown, "note://else", wire(t, s, "reader", "resources/read", `{"uri":"note://drafts/other"}`), "note://drafts/other")

	require.Contains(t, wire(t, s, "reader", "prompts/get", `{"name":"summarize"}`), "this note")
	same(t, wire(t, s, "reader", "prompts/get", `{"name":"nonsense"}`), "nonsense", wire(t, s, "reader", "prompts/get", `{"name":"appraise"}`), "appraise")
}

func TestWhatNothingJudgesIsRefused(t *testing.T) {
	s := newTestServer(t)
	for _, method := range []string{
		"resources/subscribe", "resources/unsubscribe", "subscriptions/listen", "completion/complete", "tasks/list", "custom/thing",
	} {
		answer := wire(t, s, "writer", method, `{"uri":"note://drafts/resignation","ref":{"type":"ref/prompt","name":"appraise"}}`)
		require.Contains(t, answer, "is not offered here", method)
	}
	require.Contains(t, send(t, s, t.Context(), `[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]`), `"error"`) // a batch
	require.Contains(t, send(t, s, t.Context(), `{"jsonrpc":"2.0","id":1,"method":"ping","Method":"completion/complete"}`), "is not offered here")
	require.Error(t, (&guard{}).gate(t.Context(), 1, "text"))
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
