package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// callersHub is a hub with callers by name, each in a view, before a fake server.
func callersHub(t *testing.T, s *fake, more string, views map[string]string) (*folder, *httpHub, map[string]string) {
	t.Helper()
	f := fakeHub(t, s)
	tokens := map[string]string{}
	text := f.read("hub.yaml") + more + "callers:\n"
	for _, principal := range []string{"alice", "bob", "carl", "dora"} {
		if view, ok := views[principal]; ok {
			token, sum := newToken(t)
			tokens[principal] = token
			text += fmt.Sprintf("  - {principal: %s, view: %s, token_sha256: %q}\n", principal, view, sum)
		}
	}
	f.write("locked.yaml", "version: 1\npolicy:\n  deny: [\"fake/act\"]\n")
	f.write("hub.yaml", text)
	return f, f.serve(1), tokens
}

// TestAnApprovalIsForOneCallOfOneCaller answers a question in the name of another caller, for other arguments, with a
// state that somebody touched, and twice.
func TestAnApprovalIsForOneCallOfOneCaller(t *testing.T) {
	s := newFake(t, "Acts.")
	f, h, tokens := callersHub(t, s, "", map[string]string{"alice": "default", "bob": "default"})
	alice := &wire{t: t, url: h.url, token: tokens["alice"], asks: true}
	bob := &wire{t: t, url: h.url, token: tokens["bob"], asks: true}
	type result struct {
		ResultType    string
		RequestState  string
		InputRequests map[string]json.RawMessage
		IsError       bool
		Content       []struct{ Text string }
	}
	call := func(w *wire, n int, state string, answers object) (r result) {
		t.Helper()
		params := object{"name": act, "arguments": object{"n": n}}
		if state != "" {
			params["requestState"], params["inputResponses"] = state, answers
		}
		w.result("tools/call", params, &r)
		return r
	}
	asked := call(alice, 1, "", nil)
	require.Equal(t, "input_required", asked.ResultType)
	require.NotEmpty(t, asked.RequestState)
	require.Len(t, asked.InputRequests, 1)
	yes := object{}
	for key := range asked.InputRequests {
		yes[key] = object{"action": "accept", "content": object{"decision": "once"}}
	}

	require.Equal(t, "input_required", call(bob, 1, asked.RequestState, yes).ResultType, "another caller used it")
	require.Equal(t, "input_required", call(alice, 2, asked.RequestState, yes).ResultType, "it was used for other arguments")
	touched := []byte(asked.RequestState)
	touched[len(touched)/2] ^= 1
	require.Equal(t, "input_required", call(alice, 1, string(touched), yes).ResultType)
	require.Empty(t, s.calls())

	ran := call(alice, 1, asked.RequestState, yes)
	require.False(t, ran.IsError)
	require.Equal(t, `acted: {"n":1}`, ran.Content[0].Text)
	again := call(alice, 1, asked.RequestState, yes)
	require.True(t, again.IsError, "%+v", again)
	require.Equal(t, []string{`Acts. {"n":1}`}, s.calls(), "an approval counted twice")

	// Who was asked, and what came of it, is in the audit log; what the call was with is not.
	var found bool
	for line := range strings.Lines(f.read("audit.jsonl")) {
		require.NotContains(t, line, `"n":1`)
		require.NotContains(t, line, asked.RequestState)
		var record struct{ Principal, Result, Verdict, By string }
		require.NoError(t, json.Unmarshal([]byte(line), &record))
		if record.Result == "ran" {
			found = true
			require.Equal(t, []string{"alice", "approved", "alice"}, []string{record.Principal, record.Verdict, record.By})
		}
	}
	require.True(t, found)
}

// TestAlwaysIsNotForThoseWhoAreDenied has one caller approve a tool for good.
func TestAlwaysIsNotForThoseWhoAreDenied(t *testing.T) {
	s := newFake(t, "Acts.")
	_, h, tokens := callersHub(t, s, "views:\n  locked: {policy: locked.yaml}\n  quiet: {policy: policy.yaml}\n",
		map[string]string{"alice": "default", "bob": "default", "carl": "locked", "dora": "quiet"})
	connect := func(principal string) (*goClient, *string) {
		decision := "deny"
		return connectGo(t, h.overHTTP(tokens[principal]), func(r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return choose(decision)(r)
		}), &decision
	}
	alice, decision := connect("alice")
	bob, _ := connect("bob")
	carl, _ := connect("carl")
	dora, _ := connect("dora")
	for name, c := range map[string]*goClient{"alice": alice, "bob": bob, "carl": carl, "dora": dora} {
		require.True(t, c.call(act, object{}).IsError, name)
	}
	require.Empty(t, carl.questions(), "who is denied was asked")
	require.Contains(t, bob.questions(), `Caller: "bob"`)
	require.Empty(t, s.calls())
	*decision = "always"
	require.False(t, alice.call(act, object{"by": "alice"}).IsError)
	require.False(t, bob.call(act, object{"by": "bob"}).IsError, "what is approved is approved for all whom a rule allows it")
	require.False(t, dora.call(act, object{"by": "dora"}).IsError)
	require.True(t, carl.call(act, object{"by": "carl"}).IsError, "an approval overrules a denial")
	require.Len(t, s.calls(), 3)
}

// TestOverHTTPAlwaysIsToBeAskedFor has nothing in hub.yaml of who may approve for others.
func TestOverHTTPAlwaysIsToBeAskedFor(t *testing.T) {
	s := newFake(t, "Acts.")
	f := fakeHub(t, s)
	f.write("hub.yaml", strings.Replace(f.read("hub.yaml"), ", remember: true", "", 1))
	h := f.serve(1)
	var form string
	ask := func(r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		text, err := json.Marshal(r.Params.RequestedSchema)
		form = string(text)
		if err != nil {
			return nil, err
		}
		return choose("always")(r)
	}
	require.NotEqual(t, outcome{Text: "acted: {}"}, connectGo(t, h.overHTTP(""), ask).call(act, object{}), "who was not offered it approved for all")
	require.NotContains(t, form, "always")
	require.Contains(t, form, "once")
	require.NoFileExists(t, f.path("baseline.json"))
	require.Empty(t, s.calls())

	// Over stdio there is one caller, and it is offered.
	c := connectGo(t, f.overStdio(), ask)
	require.Eventually(t, func() bool { return len(c.tools()) == 1 }, patience, poll)
	require.False(t, c.call(act, object{}).IsError)
	require.Contains(t, form, "always")
	require.FileExists(t, f.path("baseline.json"))
}

// TestOnlySomeAreAsked has people in front of the callers of one view only.
func TestOnlySomeAreAsked(t *testing.T) {
	s := newFake(t, "Acts.")
	f := fakeHub(t, s)
	f.write("hub.yaml", strings.Replace(f.read("hub.yaml"), "ask: {elicit: true", "ask: {views: [default], elicit: true", 1))
	alice, aliceSum := newToken(t)
	dora, doraSum := newToken(t)
	f.write("hub.yaml", f.read("hub.yaml")+fmt.Sprintf("views:\n  quiet: {policy: policy.yaml}\ncallers:\n"+
		"  - {principal: alice, view: default, token_sha256: %q}\n  - {principal: dora, view: quiet, token_sha256: %q}\n", aliceSum, doraSum))
	h := f.serve(1)
	a, d := connectGo(t, h.overHTTP(alice), choose("once")), connectGo(t, h.overHTTP(dora), choose("once"))
	require.True(t, d.call(act, object{}).IsError)
	require.Empty(t, d.questions())
	require.Empty(t, s.calls())
	require.False(t, a.call(act, object{}).IsError)
	require.NotEmpty(t, a.questions())
}

// TestASessionIsItsCallers takes a session of one caller with the token of another one, and with none.
func TestASessionIsItsCallers(t *testing.T) {
	s := newFake(t, "Acts.")
	_, h, tokens := callersHub(t, s, "views:\n  locked: {policy: locked.yaml}\n", map[string]string{"alice": "default", "carl": "locked"})
	hello := []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"wire","version":"1"}}}`)
	list := []byte(`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}`)
	status, headers, _ := send(t, http.MethodPost, h.url, tokens["alice"], hello)
	require.Equal(t, http.StatusOK, status)
	session := headers.Get("Mcp-Session-Id")
	require.NotEmpty(t, session)
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
		for _, token := range []string{tokens["carl"], "", "x" + tokens["alice"], strings.ToUpper(tokens["alice"])} {
			status, _, body := send(t, method, h.url, token, list, "Mcp-Session-Id", session)
			require.Contains(t, []int{http.StatusUnauthorized, http.StatusForbidden}, status, method)
			require.NotContains(t, body, "fake")
		}
	}
	status, _, body := send(t, http.MethodPost, h.url, tokens["alice"], list, "Mcp-Session-Id", session)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, act)

	// A client that has no token, or a wrong one, does not even connect.
	for _, token := range []string{"", "not-a-token-of-anybody-at-all"} {
		c := startTSClient(t)
		err := c.do(object{"op": "connect", "url": h.url, "token": token}, nil)
		require.Error(t, err)
		_, err = mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, nil).Connect(t.Context(), h.overHTTP(token), nil)
		require.Error(t, err)
	}
}
