package policyfile

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/penstock-mcp/penstock/engine"
)

func TestRequestsOfTools(t *testing.T) {
	line := `{"tool": {"server": "fs", "name": "wr\u0069te/\/*é", "annotations": {"readOnlyHint": false, "destructiveHint": "yes", "title": 1},
		"fingerprint": "f1", "raw": { "a":1,  "a":"\ud800"}},
	"args": {"path": "/data/x", "n": 9007199254740993, "list": [1.0, null, true, {"k": []}]}, "has_approver": true,
	"approved": [{"server": "fs", "name": "write", "fingerprint": "f2"}, {"server": "fs", "name": "other", "fingerprint": ""}],
	"taint": ["web", "fs"], "attributes": {"groups": ["admins"]}}`
	req, err := DecodeRequest([]byte(line))
	require.NoError(t, err)

	name := "write//*é"
	assert.Equal(t, engine.Tools, req.Kind)
	assert.Equal(t, "fs", req.Server)
	assert.Equal(t, name, req.Name)
	assert.Equal(t, engine.Tool{
		Server: "fs", Name: name, Fingerprint: "f1",
		Hints: engine.Hints{ReadOnly: engine.False},
		Raw:   json.RawMessage(`{ "a":1,  "a":"\ud800"}`),
	}, req.Tool)
	assert.Equal(t, engine.Call{Server: "fs", Name: name, Args: map[string]any{
		"path": "/data/x", "n": json.Number("9007199254740993"),
		"list": []any{json.Number("1.0"), nil, true, map[string]any{"k": []any{}}},
	}}, req.Call)
	assert.True(t, req.Request.HasApprover)
	assert.Equal(t, []string{"web", "fs"}, req.Request.Taint)
	assert.Equal(t, map[string]any{"groups": []any{"admins"}}, req.Request.Attributes)
	assert.Equal(t, []engine.Target{{Server: "fs", Name: "other"}, {Server: "fs", Name: "write"}}, req.Request.Approved.Targets())
	f, ok := req.Request.Approved.Lookup(engine.Target{Server: "fs", Name: "other"})
	assert.True(t, ok)
	assert.Empty(t, f)
}

func TestRequestsOfResourcesAndPrompts(t *testing.T) {
	req, err := DecodeRequest([]byte(`{"resource": {"server": "fs", "uri": "file:///x"}, "taint": []}`))
	require.NoError(t, err)
	assert.Equal(t, &Request{Kind: engine.Resources, Server: "fs", URI: "file:///x"}, req)

	req, err = DecodeRequest([]byte(` {"has_approver": false, "args": null, "prompt": {"name": "review", "server": "gh"}} `))
	require.NoError(t, err)
	assert.Equal(t, &Request{Kind: engine.Prompts, Server: "gh", Name: "review"}, req)
}

func TestRequestsAreEvaluated(t *testing.T) {
	doc, err := Parse([]byte(`{"version": 1, "policy": {"scope": ["tools", "resources", "prompts"], "allow": ["a/b"], "deny": ["resource:a/b", "prompt:a/c"]}}`), Options{})
	require.NoError(t, err)
	_, policy, err := doc.Compile()
	require.NoError(t, err)
	for line, want := range map[string]string{
		`{"tool": {"server": "a", "name": "b"}}`:      "allow by allow[0] (matched), new tool",
		`{"resource": {"server": "a", "uri": "b"}}`:   "deny by deny[0] (matched)",
		`{"prompt": {"server": "a", "name": "c"}}`:    "deny by deny[1] (matched)",
		`{"prompt": {"server": "a", "name": "b"}}`:    "deny by default (no_match)",
		`{"tool": {"server": "a", "name": "\u0000"}}`: "deny by default (no_match), new tool",
	} {
		req, err := DecodeRequest([]byte(line))
		require.NoError(t, err)
		d, err := req.Evaluate(context.Background(), policy)
		require.NoError(t, err)
		assert.Equal(t, want, d.String(), line)
	}
}

// What is no request: the whole message.
func TestBadRequestsAreRefused(t *testing.T) {
	tool := func(more string) string { return `{"tool": {"server": "a", "name": "b"}` + more + `}` }
	for _, tt := range []struct{ name, line, want string }{
		{"nothing", "", `byte 0: there is nothing`},
		{"blank", " \t", `byte 2: there is nothing`},
		{"null", "null", `byte 0: want an object, not null`},
		{"list", "[]", `byte 0: want an object, not a list`},
		{"no JSON", "x", "byte 0: JSON: invalid character 'x' at start of value"},
		{"cut off", `{"tool": {"server": "a"`, `byte 23: tool: the JSON ends too early`},
		{"no subject", "{}", `byte 0: one of the keys "tool", "resource" and "prompt" is missing`},
		{"two subjects", tool(`, "prompt": {"server": "a", "name": "b"}`), `byte 0: a request is about one thing, not "tool" and "prompt"`},
		{"three subjects", tool(`, "prompt": {"server": "a", "name": "b"}, "resource": {"server": "a", "uri": "b"}`),
			`byte 0: a request is about one thing, not "tool", "prompt" and "resource"`},
		{"data behind", tool("") + " {}", `byte 39: something follows the object (one line holds one)`},
		{"rubbish behind", tool("") + "x", `byte 38: something follows the object (one line holds one)`},
		{"unknown key", tool(`, "aproved": []`), `byte 39: unknown key "aproved" (did you mean "approved"?)`},
		{"unknown key far from all", `{"tools": 1, "zzz": 1}`, `byte 1: unknown key "tools" (did you mean "tool"?)`},
		{"unknown key in a tool", `{"tool": {"server": "a", "nmae": "b"}}`, `byte 25: tool: unknown key "nmae" (did you mean "name"?)`},
		{"uri of a prompt", `{"prompt": {"server": "a", "uri": "b"}}`, `byte 27: prompt: unknown key "uri" (the keys here are "server" and "name")`},
		{"key in another case", `{"Tool": {}}`, `byte 1: unknown key "Tool" (did you mean "tool"?)`},
		{"duplicate key", tool(`, "tool": {}`), `byte 39: duplicate key "tool"`},
		{"duplicate key in another spelling", tool(`, "args": {}, "\u0061rgs": {}`), `byte 51: duplicate key "args"`},
		{"duplicate key in a tool", `{"tool": {"server": "a", "server": "b"}}`, `byte 25: tool: duplicate key "server"`},
		{"duplicate key in arguments", tool(`, "args": {"a": [{"b": 1, "b": 2}]}`), `byte 63: args/a/0: duplicate key "b"`},
		{"duplicate key in attributes", tool(`, "attributes": {"a": 1, "a": 2}`), `byte 62: attributes: duplicate key "a"`},
		{"duplicate key in annotations", `{"tool": {"server": "a", "name": "b", "annotations": {"readOnlyHint": true, "readOnlyHint": false}}}`,
			`byte 76: tool.annotations: duplicate key "readOnlyHint"`},
		{"no server", `{"tool": {"name": "b"}}`, `byte 9: tool: the key "server" is missing`},
		{"no name", `{"tool": {"server": "b"}}`, `byte 9: tool: the key "name" is missing`},
		{"no uri", `{"resource": {"server": "b"}}`, `byte 13: resource: the key "uri" is missing`},
		{"number as a name", `{"tool": {"server": "a", "name": 1}}`, `byte 33: tool.name: want a string, not a number`},
		{"null as a server", `{"tool": {"server": null, "name": "b"}}`, `byte 20: tool.server: want a string, not null`},
		{"null as a fingerprint", `{"tool": {"server": "a", "name": "b", "fingerprint": null}}`, `byte 53: tool.fingerprint: want a string, not null`},
		{"string as a tool", `{"tool": "a/b"}`, `byte 9: tool: want an object, not a string`},
		{"list as annotations", `{"tool": {"server": "a", "name": "b", "annotations": []}}`, `byte 53: tool.annotations: want an object, not a list`},
		{"list as arguments", tool(`, "args": []`), `byte 47: args: want an object, not a list`},
		{"string as arguments", tool(`, "args": "{}"`), `byte 47: args: want an object, not a string`},
		{"null as attributes", tool(`, "attributes": null`), `byte 53: attributes: want an object, not null`},
		{"string as approver", tool(`, "has_approver": "true"`), `byte 55: has_approver: want true or false, not a string`},
		{"null as the baseline", tool(`, "approved": null`), `byte 51: approved: want a list, not null`},
		{"object as the baseline", tool(`, "approved": {}`), `byte 51: approved: want a list, not an object`},
		{"string in the baseline", tool(`, "approved": ["a/b"]`), `byte 52: approved[0]: want an object, not a string`},
		{"baseline without a fingerprint", tool(`, "approved": [{"server": "a", "name": "b"}]`), `byte 52: approved[0]: the key "fingerprint" is missing`},
		{"duplicate target in the baseline", tool(`, "approved": [{"server": "a", "name": "b", "fingerprint": "1"}, {"server": "a", "name": "b", "fingerprint": "2"}]`),
			`byte 102: approved[1]: "b" of "a" stands here twice`},
		{"string as taint", tool(`, "taint": "web"`), `byte 48: taint: want a list, not a string`},
		{"number in taint", tool(`, "taint": ["web", 1]`), `byte 56: taint[1]: want a string, not a number`},
		{"bytes that are not UTF-8", "{\"tool\": {\"server\": \"a\", \"name\": \"\xff\"}}", `byte 33: tool.name: JSON: invalid UTF-8`},
		{"key that is not UTF-8", "{\"tool\xff\": 1}", `byte 1: JSON: invalid UTF-8`},
		{"lone surrogate in a name", `{"tool": {"server": "a", "name": "\ud800"}}`, "byte 33: tool.name: JSON: invalid surrogate pair `\\ud800\"` in string"},
		{"lone surrogate in arguments", tool(`, "args": {"a": "\udc00"}`), "byte 54: args: JSON: invalid surrogate pair `\\udc00\"}` in string"},
		{"not UTF-8 in arguments", tool(", \"args\": {\"a\": \"\xff\"}"), `byte 54: args: JSON: invalid UTF-8`},
		{"no JSON in arguments", tool(`, "args": {"a": 01}`), `byte 54: args: JSON: invalid character '1' after object value (expecting ',' or '}')`},
		{"no JSON as raw", `{"tool": {"server": "a", "name": "b", "raw": {]}}`, `byte 46: tool.raw: JSON: invalid character ']' at start of string (expecting '"')`},
		{"byte order mark", "\ufeff{}", "byte 0: JSON: invalid character '\\ufeff' at start of value"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req, err := DecodeRequest([]byte(tt.line))
			require.Error(t, err)
			assert.Nil(t, req)
			assert.Equal(t, tt.want, err.Error())
			var typed *RequestError
			require.ErrorAs(t, err, &typed)
			require.Error(t, typed.Err)
		})
	}
}

// Whatever a server put into a definition, the request that carries it is a good one, and the bytes stay.
func TestRawDefinitionsAreKeptAsTheyAre(t *testing.T) {
	for _, raw := range []string{
		`{"name":"b","inputSchema":{"type":"object"}}`, `{"a":1,"a":2}`, `"\ud800"`, "\"\xff\"", `{"n":1e400}`, `"null"`, `[ ]`, `9007199254740993`,
		strings.Repeat("[", 200) + strings.Repeat("]", 200),
	} {
		line := []byte(`{"tool": {"server": "a", "name": "b", "raw":  ` + raw + " }}")
		req, err := DecodeRequest(line)
		require.NoError(t, err, raw)
		assert.Equal(t, raw, string(req.Tool.Raw))
		clear(line)
		assert.Equal(t, raw, string(req.Tool.Raw), "it shares memory with the line")
	}
}

func TestNullIsNoRawDefinition(t *testing.T) {
	req, err := DecodeRequest([]byte(`{"tool": {"server": "a", "name": "b", "raw": null}}`))
	require.NoError(t, err)
	without, err := DecodeRequest([]byte(`{"tool": {"server": "a", "name": "b"}}`))
	require.NoError(t, err)
	assert.Equal(t, without, req)
	assert.Nil(t, req.Tool.Raw)
}

// What the JSON reader cannot walk over makes the line a bad one, and no more than the line.
func TestRawDefinitionsNestAsDeepAsTheReaderGoes(t *testing.T) {
	line := func(depth int) []byte {
		return []byte(`{"tool": {"server": "a", "name": "b", "raw": ` + strings.Repeat("[", depth) + strings.Repeat("]", depth) + `}}`)
	}
	_, err := DecodeRequest(line(9_998))
	require.NoError(t, err)
	_, err = DecodeRequest(line(9_999))
	var bad *RequestError
	require.ErrorAs(t, err, &bad)
	assert.Equal(t, "tool.raw", bad.Path)
}

func TestArgumentsAndObjects(t *testing.T) {
	args, err := DecodeArguments([]byte(` {"a": 1.0} `))
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"a": json.Number("1.0")}, args)

	args, err = DecodeArguments([]byte("null"))
	require.NoError(t, err)
	assert.Nil(t, args)

	object, err := DecodeObject([]byte("{}"))
	require.NoError(t, err)
	assert.Equal(t, map[string]any{}, object)

	for text, want := range map[string]string{
		"":                            "byte 0: there is nothing",
		"null":                        "byte 0: want an object, not null",
		"[]":                          "byte 0: want an object, not a list",
		"{} {}":                       "byte 3: something follows the object (one line holds one)",
		`{"a": 1, "a": 1}`:            `byte 9: duplicate key "a"`,
		`{"a": {"b": 1, "\u0062":1}}`: `byte 15: /a: duplicate key "b"`,
		`{"a": "\ud800"}`:             "byte 7: JSON: invalid surrogate pair `\\ud800\"}` in string",
		"{\"a\": \"\x80\"}":           "byte 7: JSON: invalid UTF-8",
		`{"a": 1`:                     "byte 7: the JSON ends too early",
	} {
		_, err := DecodeObject([]byte(text))
		require.Error(t, err, text)
		assert.Equal(t, want, err.Error(), text)
	}
}
