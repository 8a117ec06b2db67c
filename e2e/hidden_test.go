package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// secretPolicy hides whatever is called secret.
const secretPolicy = `version: 1
filter: {exclude: ["fake/*secret*"]}
policy:
  scope: [tools, resources, prompts]
  deny: ["resource:fake/*secret*", "prompt:fake/*secret*"]
  allow: ["fake/act", "fake/t0003", "fake/t0003-secret", "resource:fake/*", "prompt:fake/*"]
`

// secretWorlds are two servers of which one has secrets, and the other is the same without.
func secretWorlds() (with, without world) {
	without = world{Tools: map[string]string{}, Notes: map[string]string{"open": "o", "plain": "p"}, Prompts: []string{"ask", "tell"}}
	for i := range 2300 {
		without.Tools[fmt.Sprintf("t%04d", i)] = "Acts."
	}
	with = world{Tools: maps.Clone(without.Tools), Notes: maps.Clone(without.Notes), Prompts: append(slices.Clone(without.Prompts), "secret")}
	for i := range 400 {
		with.Tools[fmt.Sprintf("t%04d-secret", 3*i)] = "Acts."
	}
	with.Notes["a-secret"], with.Notes["z-secret"] = "s", "s"
	return with, without
}

func secretHub(t *testing.T, w world) (*fake, *httpHub) {
	s := newFake(t, "Acts.")
	s.setWorld(w)
	f := fakeHub(t, s)
	f.write("policy.yaml", secretPolicy)
	f.write("hub.yaml", "version: 1\nservers: servers.json\npolicy: policy.yaml\naudit: {file: audit.jsonl}\n")
	return s, f.serve(1)
}

// TestHiddenIsAsIfItWereNotThere sends the same requests to two hubs: behind one is a server with secrets, behind the
// other one without. Nothing that comes back may differ in a byte.
func TestHiddenIsAsIfItWereNotThere(t *testing.T) {
	with, without := secretWorlds()
	s, has := secretHub(t, with)
	_, hasNot := secretHub(t, without)
	health := func(h *httpHub, tools int) {
		h.waitHealth(func(health healthz) bool { return health.Servers[0].Tools == tools })
	}
	health(has, 1+2300+400)
	health(hasNot, 1+2300)

	a, b := &wire{t: t, url: has.url}, &wire{t: t, url: hasNot.url}
	same := func(method string, params object) string {
		t.Helper()
		status, answer := a.post(method, params)
		otherStatus, other := b.post(method, params)
		require.Equal(t, otherStatus, status, "%s %v", method, params)
		require.Equal(t, other, answer, "%s %v", method, params)
		require.NotContains(t, answer, `"public"`, "what one caller sees is for nobody else")
		return answer
	}

	// Every list, every page. A page is full but for the last one, whatever is hidden on the way.
	for _, l := range []struct{ method, key string }{
		{"tools/list", "tools"}, {"resources/list", "resources"}, {"resources/templates/list", "resourceTemplates"}, {"prompts/list", "prompts"},
	} {
		var sizes []int
		params := object{}
		for {
			answer := same(l.method, params)
			require.Contains(t, answer, `"cacheScope":"private"`, l.method)
			require.NotContains(t, answer, "secret")
			var page struct{ Result map[string]json.RawMessage }
			require.NoError(t, json.Unmarshal([]byte(answer), &page))
			var items []json.RawMessage
			require.NoError(t, json.Unmarshal(page.Result[l.key], &items), answer)
			sizes = append(sizes, len(items))
			if page.Result["nextCursor"] == nil {
				break
			}
			var cursor string
			require.NoError(t, json.Unmarshal(page.Result["nextCursor"], &cursor))
			decoded, err := base64.RawURLEncoding.DecodeString(cursor)
			require.NoError(t, err)
			require.NotContains(t, string(decoded), "secret")
			params = object{"cursor": cursor}
		}
		want := map[string][]int{"tools": {1000, 1000, 301}, "resources": {2}, "resourceTemplates": {0}, "prompts": {2}}
		require.Equal(t, want[l.key], sizes, l.key)
	}
	// A cursor that somebody made up, at a tool that is hidden and at one that is not.
	for _, name := range []string{"fake__t0003-secret", "fake__t0003", "fake__t0004-secret"} {
		same("tools/list", object{"cursor": base64.RawURLEncoding.EncodeToString([]byte("tools:" + name))})
	}
	for _, cursor := range []string{"x", "prompts:fake__secret", base64.RawURLEncoding.EncodeToString([]byte("prompts:fake__secret"))} {
		same("tools/list", object{"cursor": cursor})
	}
	require.Contains(t, same("server/discover", nil), `"cacheScope":"private"`)

	// Calls: what is hidden is unknown, whatever the arguments are.
	for _, args := range []any{nil, object{}, object{"n": 1}, []int{1}, "x"} {
		params := object{"name": "fake__t0003-secret"}
		if args != nil {
			params["arguments"] = args
		}
		require.Contains(t, same("tools/call", params), "unknown tool")
	}
	require.Contains(t, same("tools/call", object{"name": "fake__t0003", "arguments": object{"n": 1}}), "acted")

	// Resources, prompts and completions.
	require.Contains(t, same("resources/read", object{"uri": "penstock:fake:note:///open"}), `"cacheScope":"private"`)
	for _, uri := range []string{"penstock:fake:note:///a-secret", "penstock:fake:note:///z-secret", "penstock:fake:note:///gone", "penstock:other:note:///open", "note:///open"} {
		require.Contains(t, same("resources/read", object{"uri": uri}), "Resource not found")
		require.Contains(t, same("completion/complete", object{"ref": object{"type": "ref/resource", "uri": uri}, "argument": object{"name": "x", "value": ""}}), "")
	}
	require.Contains(t, same("prompts/get", object{"name": "fake__ask"}), `"text":"ask"`)
	for _, name := range []string{"fake__secret", "fake__nothing"} {
		require.Contains(t, same("prompts/get", object{"name": name}), "unknown prompt")
		same("completion/complete", object{"ref": object{"type": "ref/prompt", "name": name}, "argument": object{"name": "x", "value": ""}})
	}
	require.Contains(t, same("completion/complete", object{"ref": object{"type": "ref/prompt", "name": "fake__ask"}, "argument": object{"name": "x", "value": ""}}), `"ask"`)
	for _, call := range s.calls() {
		require.NotContains(t, call, "secret")
	}

	// Clients see all pages, and hear of what changes for them and of nothing else.
	ts, c := newTSClient(t, object{"url": has.url}), connectGo(t, has.overHTTP(""), nil)
	require.Equal(t, modern, c.version())
	want := []string{act}
	for _, name := range slices.Sorted(maps.Keys(without.Tools)) {
		want = append(want, "fake__"+name)
	}
	require.Equal(t, want, ts.tools())
	require.Equal(t, want, c.tools())
	for _, method := range []string{"prompts/list", "resources/list", "resources/templates/list"} {
		require.NoError(t, ts.request(method, object{}, nil))
	}
	ts.seen()
	with.Tools["t0000-secret"] = "Acts otherwise."
	with.Tools["another-secret"] = "Acts."
	with.Notes["another-secret"] = "s"
	with.Prompts = append(with.Prompts, "another-secret")
	s.setWorld(with)
	health(has, 1+2300+401)
	with.Tools["visible"] = "Acts."
	s.setWorld(with)
	var told []string
	look := func() {
		for _, e := range ts.seen() {
			told = append(told, e.Notification)
		}
	}
	require.Eventually(t, func() bool {
		look()
		changed, _, _ := c.told()
		return len(told) > 0 && changed > 0
	}, patience, poll)
	require.Contains(t, ts.tools(), "fake__visible")
	require.Contains(t, c.tools(), "fake__visible")
	look()
	require.Equal(t, []string{"notifications/tools/list_changed"}, told, "somebody heard of what is hidden")
	changed, _, _ := c.told()
	require.Equal(t, 1, changed)
}
