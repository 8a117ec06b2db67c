package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/penstock-mcp/penstock/hub"
)

func TestListsAndCallsGoThrough(t *testing.T) {
	fs, web := newFake(t, "read", "write", "rm"), newFake(t, "get", "link")
	fs.addOthers()
	w := newWorld(t, map[string]string{
		"hub.yaml": hubYAML(),
		"policy.yaml": `
version: 1
filter: {exclude: ["fs/rm"]}
policy:
  scope: [tools, resources, prompts]
  allow_new_tools: true
  default: deny
  deny: [{id: no-writes, rule: "fs/write", message: "Nothing is written here."}]
  allow: ["fs/*", "web/*", "resource:fs/demo://a", "resource:fs/item://*", "prompt:fs/greet"]
`,
	}, map[string]*fake{"fs": fs, "web": web}, nil)
	w.each(t, nil, func(t *testing.T, cs *mcp.ClientSession) {
		ctx := t.Context()
		require.Equal(t, []string{"fs__read", "fs__write", "web__get", "web__link"}, toolNames(t, cs))
		text, err := call(cs, "fs__read", json.RawMessage(`{"b":1,"a":[2.0]}`))
		require.NoError(t, err)
		require.Equal(t, "ran read first", text)
		calls := fs.called()
		require.Equal(t, `read {"a":[2],"b":1}`, calls[len(calls)-1], "the canonical form is what is sent")

		before := len(fs.called())
		text, err = call(cs, "fs__write", nil)
		require.NoError(t, err)
		require.Equal(t, "error: This call is not allowed here, and trying it again will not change that. Nothing is written here.", text)
		_, hidden := call(cs, "fs__rm", nil)
		_, unknown := call(cs, "fs__no", nil)
		require.ErrorContains(t, hidden, `unknown tool "fs__rm"`)
		require.Equal(t, strings.ReplaceAll(hidden.Error(), "fs__rm", "fs__no"), unknown.Error())
		require.Len(t, fs.called(), before, "nothing of it reached the server")

		resources, err := cs.ListResources(ctx, nil)
		require.NoError(t, err)
		require.Len(t, resources.Resources, 1)
		require.Equal(t, "penstock:fs:demo://a", resources.Resources[0].URI)
		templates, err := cs.ListResourceTemplates(ctx, nil)
		require.NoError(t, err)
		require.Len(t, templates.ResourceTemplates, 1)
		require.Equal(t, "penstock:fs:item://{id}", templates.ResourceTemplates[0].URITemplate)
		for _, uri := range []string{"demo://a", "item://7"} {
			res, err := cs.ReadResource(ctx, &mcp.ReadResourceParams{URI: "penstock:fs:" + uri})
			require.NoError(t, err)
			require.Len(t, res.Contents, 1)
			require.Equal(t, "text of "+uri, res.Contents[0].Text)
			require.Equal(t, "penstock:fs:"+uri, res.Contents[0].URI)
		}
		for _, uri := range []string{"penstock:fs:demo://secret", "penstock:fs:demo://no", "penstock:fs:item", "penstock:no:demo://a", "demo://a"} {
			_, err := cs.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
			require.ErrorContains(t, err, "Resource not found", uri)
		}

		prompts, err := cs.ListPrompts(ctx, nil)
		require.NoError(t, err)
		require.Len(t, prompts.Prompts, 1)
		require.Equal(t, "fs__greet", prompts.Prompts[0].Name)
		prompt, err := cs.GetPrompt(ctx, &mcp.GetPromptParams{Name: "fs__greet", Arguments: map[string]string{"who": "you"}})
		require.NoError(t, err)
		require.Equal(t, &mcp.ResourceLink{URI: "penstock:fs:demo://a", Name: "you"}, prompt.Messages[0].Content)
		_, err = cs.GetPrompt(ctx, &mcp.GetPromptParams{Name: "fs__secret"})
		require.ErrorContains(t, err, `unknown prompt "fs__secret"`)

		done, err := cs.Complete(ctx, &mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "fs__greet"}, Argument: mcp.CompleteParamsArgument{Name: "who"}})
		require.NoError(t, err)
		require.Equal(t, []string{"greet"}, done.Completion.Values)
		done, err = cs.Complete(ctx, &mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/resource", URI: "penstock:fs:item://{id}"}, Argument: mcp.CompleteParamsArgument{Name: "id"}})
		require.NoError(t, err)
		require.Equal(t, []string{"item://{id}"}, done.Completion.Values)

		res, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "web__link"})
		require.NoError(t, err)
		require.Equal(t, "penstock:web:demo://linked", res.Content[0].(*mcp.ResourceLink).URI)
		require.Equal(t, "penstock:web:demo://embedded", res.Content[1].(*mcp.EmbeddedResource).Resource.URI)
	})
}

// What a capability says, every caller hears: it must not depend on what there is.
func TestCapabilitiesDoNotDependOnTheServers(t *testing.T) {
	w := newWorld(t, map[string]string{"hub.yaml": hubYAML(), "policy.yaml": policyYAML()}, nil, nil)
	for _, p := range protocols {
		got, err := json.Marshal(w.client(p, "", nil).InitializeResult().Capabilities)
		require.NoError(t, err)
		require.JSONEq(t, `{"completions":{},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"tools":{"listChanged":true}}`, string(got))
	}
}

func TestProgressGoesToTheCaller(t *testing.T) {
	fs := newFake(t, "progress")
	w := newWorld(t, map[string]string{"hub.yaml": hubYAML(), "policy.yaml": policyYAML("fs/*")}, map[string]*fake{"fs": fs}, nil)
	var heard atomic.Int32
	o := &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
		if r.Params.ProgressToken == "mine" && r.Params.Message == "on the way" {
			heard.Add(1)
		}
	}}
	w.each(t, o, func(t *testing.T, cs *mcp.ClientSession) {
		heard.Store(0)
		p := &mcp.CallToolParams{Name: "fs__progress", Meta: mcp.Meta{"progressToken": "mine"}}
		_, err := cs.CallTool(t.Context(), p)
		require.NoError(t, err)
		eventually(t, "three notifications", func() bool { return heard.Load() == 3 })
	})
}

func TestCancellationReachesTheServer(t *testing.T) {
	fs := newFake(t, "slow")
	w := newWorld(t, map[string]string{"hub.yaml": hubYAML(), "policy.yaml": policyYAML("fs/*")}, map[string]*fake{"fs": fs}, nil)
	w.each(t, nil, func(t *testing.T, cs *mcp.ClientSession) {
		before := len(fs.called())
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "fs__slow"})
			ended <- err
		}()
		eventually(t, "the call runs", func() bool { return len(fs.called()) > before })
		cancel()
		require.Error(t, <-ended)
		eventually(t, "no call runs any more", func() bool {
			w.g.calls.mu.Lock()
			defer w.g.calls.mu.Unlock()
			return len(w.g.calls.running) == 0
		})
	})
}

// A server that goes takes its tools with it, says no more than that, and they come back with it.
func TestAServerThatIsDown(t *testing.T) {
	fs, web := newFake(t, "read"), newFake(t, "get")
	w := newWorld(t, map[string]string{"hub.yaml": hubYAML(), "policy.yaml": policyYAML("fs/*", "web/*")}, map[string]*fake{"fs": fs, "web": web}, nil)
	cs := w.client(protocols[0], "", nil)
	require.Equal(t, []string{"fs__read", "web__get"}, toolNames(t, cs))
	require.Equal(t, "ok", w.g.Health().Status)
	fs.stop()
	eventually(t, "its tools are gone", func() bool {
		names := toolNames(t, cs)
		return len(names) == 1 && names[0] == "web__get"
	})
	_, err := call(cs, "fs__read", nil)
	require.EqualError(t, err, `calling "tools/call": unknown tool "fs__read"`)
	text, err := call(cs, "web__get", nil)
	require.NoError(t, err)
	require.Equal(t, "ran get first", text)
	h := w.g.Health()
	require.Equal(t, "degraded", h.Status)
	require.Len(t, h.Servers, 2)
	require.NotEmpty(t, h.Servers[0].Error)
}

// Whatever goes wrong behind the guard, a model reads a sentence, and a method without room for one gets an error.
func TestWhatAModelReads(t *testing.T) {
	w := newWorld(t, map[string]string{"hub.yaml": hubYAML(), "policy.yaml": policyYAML()}, nil, nil)
	back := w.g.backend(func(context.Context, string, mcp.Request) (mcp.Result, error) {
		t.Error("the SDK was asked")
		return nil, nil
	})
	for _, in := range []struct {
		method string
		req    mcp.Request
	}{
		{"tools/call", &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "x"}}},
		{"resources/read", &mcp.ReadResourceRequest{Params: &mcp.ReadResourceParams{URI: "penstock:x:y"}}},
		{"prompts/get", &mcp.GetPromptRequest{Params: &mcp.GetPromptParams{Name: "x"}}},
		{"completion/complete", &mcp.CompleteRequest{Params: &mcp.CompleteParams{}}},
		{"resources/subscribe", &mcp.SubscribeRequest{Params: &mcp.SubscribeParams{URI: "penstock:x:y"}}},
		{"resources/unsubscribe", &mcp.UnsubscribeRequest{Params: &mcp.UnsubscribeParams{URI: "penstock:x:y"}}},
	} {
		_, err := back(t.Context(), in.method, in.req)
		require.ErrorIs(t, err, errUnjudged, in.method)
	}
	require.ErrorIs(t, w.g.onSubscribe(t.Context(), &mcp.SubscribeRequest{Params: &mcp.SubscribeParams{URI: "penstock:x:y"}}), errUnjudged)
	_, err := back(t.Context(), "other/method", &mcp.ServerRequest[*mcp.PingParams]{})
	require.Equal(t, int64(jsonrpc.CodeMethodNotFound), err.(*jsonrpc.Error).Code)
}

// A caller over stdio is the configured one.
func TestStdioCaller(t *testing.T) {
	fs := newFake(t, "read", "write")
	w := newWorld(t, map[string]string{
		"hub.yaml":    hubYAML("views: {reader: {policy: reader.yaml}}", "stdio: {principal: me, view: reader, attributes: {team: x}}"),
		"policy.yaml": policyYAML("fs/*"),
		"reader.yaml": "version: 1\nfilter: {include: [\"fs/read\"]}\npolicy: {allow_new_tools: true, allow: [\"*/*\"]}\n",
	}, map[string]*fake{"fs": fs}, nil)
	require.Equal(t, []string{"fs__read"}, toolNames(t, w.local(protocols[0], nil)))
	require.Equal(t, []string{"fs__read", "fs__write"}, toolNames(t, w.client(protocols[0], "", nil)), "over HTTP nobody is me")
	c, err := w.g.caller(nil)
	require.NoError(t, err)
	require.Equal(t, hub.Caller{Principal: "me", View: "reader", Attributes: map[string]any{"team": "x"}}, c)
}

// Calls that run when a gateway stops may end; no new ones begin.
func TestStoppingLetsCallsEnd(t *testing.T) {
	fs := newFake(t, "slow")
	w := newWorld(t, map[string]string{"hub.yaml": hubYAML(), "policy.yaml": policyYAML("fs/*")}, map[string]*fake{"fs": fs}, nil)
	cs := w.client(protocols[0], "", nil)
	ended := make(chan string, 1)
	go func() {
		text, err := call(cs, "fs__slow", nil)
		if err != nil {
			text = err.Error()
		}
		ended <- text
	}()
	eventually(t, "the call runs", func() bool { return len(fs.called()) == 1 })
	closed := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		closed <- w.g.Close(ctx)
	}()
	eventually(t, "no more calls begin", func() bool {
		_, done, err := w.g.calls.begin(context.Background(), "")
		if err == nil {
			done()
		}
		return errors.Is(err, errStopped)
	})
	close(fs.block)
	require.Equal(t, "ran slow first", <-ended)
	require.NoError(t, <-closed)
}
