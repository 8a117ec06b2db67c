package gateway

import (
	"context"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/lockfile"
)

// person answers questions with a choice.
func person(choice *atomic.Value, asked *atomic.Int32) *mcp.ClientOptions {
	return &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		asked.Add(1)
		c, _ := choice.Load().(string)
		if c == "" {
			return &mcp.ElicitResult{Action: "decline"}, nil
		}
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": c}}, nil
	}}
}

const asking = "version: 1\npolicy: {ask: [\"fs/write\"], allow: [\"fs/*\"]}\n"

// A person is asked, and the answer counts once; what is allowed for good is in the baseline, and pinned.
func TestAPersonDecides(t *testing.T) {
	for _, p := range protocols {
		t.Run(p, func(t *testing.T) {
			fs := newFake(t, "read", "write")
			w := newWorld(t, map[string]string{"hub.yaml": hubYAML("baseline: approved.json", "ask: {elicit: true, remember: true}"), "policy.yaml": asking}, map[string]*fake{"fs": fs}, nil)
			var choice atomic.Value
			var asked atomic.Int32
			cs := w.client(p, "", person(&choice, &asked))

			text, err := call(cs, "fs__write", map[string]any{"path": "/x"})
			require.NoError(t, err)
			require.Equal(t, "error: This call needs the approval of a person, and it was not given.", text)
			require.Empty(t, fs.called())
			choice.Store("once")
			for n := range 2 {
				text, err = call(cs, "fs__write", map[string]any{"path": "/x"})
				require.NoError(t, err)
				require.Equal(t, "ran write first", text)
				require.Len(t, fs.called(), n+1)
			}
			require.EqualValues(t, 3, asked.Load(), "once is once")

			// A new tool, which a rule with a star would allow if it were not new.
			choice.Store("always")
			text, err = call(cs, "fs__read", nil)
			require.NoError(t, err)
			require.Equal(t, "ran read first", text)
			require.EqualValues(t, 4, asked.Load())
			file, err := lockfile.Load(w.path("approved.json"))
			require.NoError(t, err)
			require.Equal(t, 1, file.Len())
			entry, ok := file.Lookup(engine.Target{Server: "fs", Name: "read"})
			require.True(t, ok)
			text, err = call(cs, "fs__read", nil)
			require.NoError(t, err)
			require.Equal(t, "ran read first", text)
			require.EqualValues(t, 4, asked.Load(), "not asked again")

			// The hub's own write is no change that somebody made.
			generation := w.g.Engine().Snapshot().Generation()
			require.NoError(t, w.g.Reload(false))
			require.Equal(t, generation, w.g.Engine().Snapshot().Generation())

			// The server changes the tool: the pin asks, and what was approved is known.
			choice.Store("")
			fs.add("read", "second")
			eventually(t, "the hub knows the change", func() bool {
				text, err := call(cs, "fs__read", nil)
				return err == nil && strings.HasPrefix(text, "error: This call needs the approval")
			})
			require.JSONEq(t, string(entry.Definition), string(w.g.approvedDefinition(engine.Target{Server: "fs", Name: "read"})))
		})
	}
}

// Without anybody to ask, the answer is no.
func TestNobodyToAsk(t *testing.T) {
	fs := newFake(t, "read", "write")
	for name, more := range map[string]string{
		"a client without elicitation": "ask: {elicit: true, remember: true}",
		"left out":                     "",
		"switched off":                 "ask: {elicit: false}",
		"another view is asked":        "views: {other: {policy: policy.yaml}}\nask: {elicit: true, views: [other]}",
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, map[string]string{"hub.yaml": hubYAML("baseline: approved.json", more), "policy.yaml": asking}, map[string]*fake{"fs": fs}, nil)
			var choice atomic.Value
			var asked atomic.Int32
			choice.Store("once")
			o := person(&choice, &asked)
			if name == "a client without elicitation" {
				o = nil
			}
			for _, p := range protocols {
				text, err := call(w.client(p, "", o), "fs__write", nil)
				require.NoError(t, err)
				require.Contains(t, text, "error: This call is not allowed here")
			}
			require.Zero(t, asked.Load())
			require.Empty(t, fs.called())
			require.NoFileExists(t, w.path("approved.json"))
		})
	}
}

// With only_approved, what was not approved is not there, and neither is what has changed.
func TestOnlyApprovedToolsAreShown(t *testing.T) {
	fs := newFake(t, "read", "write")
	w := newWorld(t, map[string]string{
		"hub.yaml": hubYAML("baseline: approved.json", "only_approved: true"), "policy.yaml": policyYAML("fs/*"),
	}, map[string]*fake{"fs": fs}, nil)
	cs := w.client(protocols[0], "", nil)
	require.Empty(t, toolNames(t, cs))
	tool, ok := w.g.Engine().Snapshot().View("default").Tool(t.Context(), "fs", "read", &engine.Request{})
	require.True(t, ok)
	file, bad := lockfile.New([]engine.Tool{*tool}, lockfile.Options{})
	require.Empty(t, bad)
	text, err := file.Encode()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(w.path("approved.json"), text, 0o600))
	require.NoError(t, w.g.Reload(false))
	require.Equal(t, []string{"fs__read"}, toolNames(t, cs))
	fs.add("read", "second")
	eventually(t, "it is another tool now", func() bool { return len(toolNames(t, cs)) == 0 })
	_, err = call(cs, "fs__read", nil)
	require.ErrorContains(t, err, `unknown tool "fs__read"`)
}
