package e2e

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// What the tests of one hub with three real servers go by.
const (
	guardedPolicy = `version: 1
filter:
  exclude: ["everything/get-env", "memory/delete_*"]
policy:
  scope: [tools, resources, prompts]
  trusted: [fs]
  deny:
    - {id: no-moves, rule: "fs/move_file", message: "Files stay where they are."}
    - "resource:everything/*architecture*"
    - "prompt:everything/args-prompt"
  ask: ["fs/edit_file", "everything/get-structured-content"]
  allow:
    - "everything/echo"
    - "everything/get-sum"
    - "everything/get-resource-links"
    - "everything/trigger-long-running-operation"
    - "memory/read_graph"
    - "memory/create_entities"
    - all: ["fs/write_file", {args: {path: {inside: DIR}}}]
    - all: ["fs/read_text_file", {annotation: {read_only: true}}]
    - "fs/list_directory"
    - "resource:everything/*"
    - "prompt:everything/*"
`
	guardedHub = `version: 1
servers: servers.json
policy: policy.yaml
ask: {elicit: true}
audit: {file: audit.jsonl}
`
)

func guardedFolder(t *testing.T) *folder {
	f := newFolder(t, map[string]string{"hub.yaml": guardedHub})
	f.write("servers.json", f.servers())
	f.write("policy.yaml", strings.ReplaceAll(guardedPolicy, "DIR", f.path("files")))
	return f
}

// caller is what both clients can do.
type caller interface {
	tools() []string
	describe(name string) string // "" where it is not listed
	call(name string, args object) outcome
}

// raw makes a request of a Go client that answers as the TypeScript one does.
func (c *goClient) request(method string, params, result any) error {
	c.t.Helper()
	text, err := json.Marshal(params)
	require.NoError(c.t, err)
	into := func(p any) { require.NoError(c.t, json.Unmarshal(text, p)) }
	ctx := c.t.Context()
	var res any
	switch method {
	case "resources/list":
		res, err = c.ListResources(ctx, nil)
	case "resources/templates/list":
		res, err = c.ListResourceTemplates(ctx, nil)
	case "resources/read":
		p := new(mcp.ReadResourceParams)
		into(p)
		res, err = c.ReadResource(ctx, p)
	case "prompts/list":
		res, err = c.ListPrompts(ctx, nil)
	case "prompts/get":
		p := new(mcp.GetPromptParams)
		into(p)
		res, err = c.GetPrompt(ctx, p)
	case "completion/complete":
		p := new(mcp.CompleteParams)
		into(p)
		res, err = c.Complete(ctx, p)
	default:
		c.t.Fatalf("no request %s", method)
	}
	if err != nil {
		return err
	}
	text, err = json.Marshal(res)
	require.NoError(c.t, err)
	if result != nil {
		require.NoError(c.t, json.Unmarshal(text, result))
	}
	return nil
}

type requester interface {
	caller
	request(method string, params, result any) error
}

func TestRealServersBehindTheHub(t *testing.T) {
	f := guardedFolder(t)
	h := f.serve(3)
	clients := []struct {
		name    string
		connect func(t *testing.T) requester
	}{
		{"TypeScript over stdio", func(t *testing.T) requester {
			return newTSClient(t, object{"command": penstock, "args": []string{"hub", "-c", f.path("hub.yaml")}})
		}},
		{"TypeScript over HTTP", func(t *testing.T) requester { return newTSClient(t, object{"url": h.url}) }},
		{"Go over stdio", func(t *testing.T) requester { return connectGo(t, f.overStdio(), nil) }},
		{"Go over HTTP", func(t *testing.T) requester { return connectGo(t, h.overHTTP(""), nil) }},
		{"Go over HTTP, 2025-06-18", func(t *testing.T) requester { return connectGoVersion(t, h.overHTTP(""), nil, "2025-06-18") }},
	}
	for _, client := range clients {
		t.Run(client.name, func(t *testing.T) {
			c := client.connect(t)
			require.Eventually(t, func() bool { return len(c.tools()) > 20 }, patience, poll, "the servers of a hub of its own come up")
			t.Run("lists", func(t *testing.T) { checkLists(t, c) })
			t.Run("calls", func(t *testing.T) { checkCalls(t, f, c) })
			t.Run("hidden is unknown", func(t *testing.T) { checkHidden(t, c) })
			t.Run("resources and prompts", func(t *testing.T) { checkResources(t, c) })
		})
	}
	require.Zero(t, h.stop(), "a hub that is asked to end has not failed")
	checkAudit(t, f.read("audit.jsonl"))
}

func checkLists(t *testing.T, c requester) {
	names := c.tools()
	for _, want := range []string{"everything__echo", "fs__read_text_file", "fs__move_file", "fs__edit_file", "memory__read_graph"} {
		require.Contains(t, names, want)
	}
	for _, name := range names {
		require.LessOrEqual(t, len(name), 64)
		require.NotContains(t, name, "get-env")
		require.NotContains(t, name, "memory__delete")
	}
	require.True(t, slices.IsSorted(names), "%q", names)
	require.Len(t, slices.Compact(slices.Clone(names)), len(names), "a name stands twice")
}

func checkCalls(t *testing.T, f *folder, c requester) {
	require.Equal(t, outcome{Text: "Echo: hello"}, c.call("everything__echo", object{"message": "hello"}))
	sum := c.call("everything__get-sum", object{"a": 2, "b": 40})
	require.Contains(t, sum.Text, "42")

	inside := f.path("files") + "/note.txt"
	written := c.call("fs__write_file", object{"path": inside, "content": t.Name()})
	require.False(t, written.IsError, "%+v", written)
	require.Equal(t, t.Name(), f.read("files/note.txt"))
	require.Equal(t, t.Name(), c.call("fs__read_text_file", object{"path": inside}).Text)
	made := c.call("memory__create_entities", object{"entities": []object{{"name": t.Name(), "entityType": "test", "observations": []string{"seen"}}}})
	require.False(t, made.IsError, "%+v", made)
	require.Contains(t, c.call("memory__read_graph", object{}).Text, t.Name())
	require.Contains(t, f.read("memory.jsonl"), t.Name())

	// What no rule allows is asked about, and there is nobody to ask: these clients cannot elicit.
	outside := c.call("fs__write_file", object{"path": f.path("files") + "-evil/x", "content": "x"})
	require.True(t, outside.IsError)
	require.Contains(t, outside.Text, "not allowed")
	for _, dots := range []string{"/../escape.txt", "/./note.txt", "//note.txt"} {
		require.True(t, c.call("fs__write_file", object{"path": f.path("files") + dots, "content": "x"}).IsError, dots)
	}
	_, err := os.Stat(f.path("escape.txt"))
	require.ErrorIs(t, err, os.ErrNotExist)
	edit := c.call("fs__edit_file", object{"path": inside, "edits": []object{{"oldText": "calls", "newText": "edited"}}})
	require.True(t, edit.IsError)
	require.Equal(t, t.Name(), f.read("files/note.txt"))

	move := c.call("fs__move_file", object{"source": inside, "destination": f.path("files") + "/moved.txt"})
	require.True(t, move.IsError)
	require.Contains(t, move.Text, "Files stay where they are.")
	require.NotContains(t, move.Text, "no-moves", "which rule it was is for the operator")
	require.Equal(t, t.Name(), f.read("files/note.txt"))
}

// checkHidden compares what is hidden with what is not there, with the names made equal.
func checkHidden(t *testing.T, c requester) {
	same := func(hidden, unknown, what string) {
		t.Helper()
		require.NotEmpty(t, hidden)
		require.Equal(t, unknown, hidden, what)
	}
	alike := func(text, name string) string { return strings.ReplaceAll(text, name, "NAME") }

	hidden := c.call("everything__get-env", object{})
	unknown := c.call("everything__get-xyz", object{})
	require.NotEmpty(t, hidden.Err)
	same(alike(hidden.Err, "everything__get-env"), alike(unknown.Err, "everything__get-xyz"), "tools/call")
	require.NotEmpty(t, c.call("memory__delete_entities", object{"entityNames": []string{"x"}}).Err)

	err := func(method string, params object, name string) string {
		t.Helper()
		got := c.request(method, params, nil)
		require.Error(t, got, "%s %v", method, params)
		return alike(got.Error(), name)
	}
	const denied = "penstock:everything:demo://resource/static/document/architecture.md"
	same(err("resources/read", object{"uri": denied}, denied), err("resources/read", object{"uri": "penstock:nobody:x"}, "penstock:nobody:x"), "resources/read")
	same(err("prompts/get", object{"name": "everything__args-prompt"}, "args-prompt"),
		err("prompts/get", object{"name": "everything__args-prompf"}, "args-prompf"), "prompts/get")

	complete := func(prompt string) string {
		var res json.RawMessage
		params := object{"ref": object{"type": "ref/prompt", "name": prompt}, "argument": object{"name": "department", "value": "E"}}
		if err := c.request("completion/complete", params, &res); err != nil {
			return alike(err.Error(), prompt)
		}
		return string(res)
	}
	same(complete("everything__args-prompt"), complete("everything__args-prompf"), "completion/complete")
	require.Contains(t, complete("everything__completable-prompt"), "Engineering")
}

func checkResources(t *testing.T, c requester) {
	var list struct{ Resources []struct{ URI string } }
	require.NoError(t, c.request("resources/list", object{}, &list))
	require.NotEmpty(t, list.Resources)
	for _, r := range list.Resources {
		require.True(t, strings.HasPrefix(r.URI, "penstock:everything:demo://"), r.URI)
		require.NotContains(t, r.URI, "architecture")
		var read struct{ Contents []struct{ URI, Text string } }
		require.NoError(t, c.request("resources/read", object{"uri": r.URI}, &read))
		require.Len(t, read.Contents, 1)
		require.Equal(t, r.URI, read.Contents[0].URI, "a content has the name that it can be read by")
	}
	var templates struct {
		ResourceTemplates []struct{ URITemplate string }
	}
	require.NoError(t, c.request("resources/templates/list", object{}, &templates))
	require.NotEmpty(t, templates.ResourceTemplates)
	text := templates.ResourceTemplates[0].URITemplate
	var read struct{ Contents []struct{ URI string } }
	require.NoError(t, c.request("resources/read", object{"uri": strings.ReplaceAll(text, "{resourceId}", "1")}, &read))
	require.Len(t, read.Contents, 1)

	var prompts struct{ Prompts []struct{ Name string } }
	require.NoError(t, c.request("prompts/list", object{}, &prompts))
	var names []string
	for _, p := range prompts.Prompts {
		names = append(names, p.Name)
	}
	require.Contains(t, names, "everything__simple-prompt")
	require.NotContains(t, names, "everything__args-prompt")
	var prompt struct{ Messages []json.RawMessage }
	require.NoError(t, c.request("prompts/get", object{"name": "everything__simple-prompt"}, &prompt))
	require.NotEmpty(t, prompt.Messages)
}

// checkAudit holds the audit log to what the clients did. The arguments of the calls are not in it.
func checkAudit(t *testing.T, log string) {
	require.NotContains(t, log, "hello")
	require.NotContains(t, log, "note.txt")
	counts := map[string]int{}
	for line := range strings.Lines(log) {
		var record struct {
			Method, Server, Name, Result, Action, Source, Reason, Rule string
			Generation                                                 uint64
			ArgsDigest                                                 string `json:"args_digest"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &record), line)
		if record.Method != "tools/call" || record.Server == "" {
			continue
		}
		counts[record.Server+"/"+record.Name+" "+record.Result]++
		if record.Name == "move_file" {
			require.Equal(t, []string{"deny", "deny", "matched", "no-moves"}, []string{record.Action, record.Source, record.Reason, record.Rule})
			require.Contains(t, record.ArgsDigest, "sha256:")
			require.NotZero(t, record.Generation)
		}
	}
	for _, want := range []string{"everything/echo ran", "fs/move_file denied", "fs/write_file ran", "fs/write_file denied", "everything/get-env hidden"} {
		require.GreaterOrEqual(t, counts[want], 3, "%s in %v", want, counts)
	}
}
