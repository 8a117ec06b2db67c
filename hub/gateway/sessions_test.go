package gateway

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// One caller has so many sessions and no more, which takes none from another one, and what has ended does not count.
func TestSessionsAreBounded(t *testing.T) {
	fs := newFake(t, "read")
	w := newWorld(t, map[string]string{
		"hub.yaml":    hubYAML("callers:", `  - {principal: alice, view: default, token_env: ALICE}`, `  - {principal: bob, view: default, token_env: BOB}`),
		"policy.yaml": policyYAML("fs/*"),
	}, map[string]*fake{"fs": fs}, func(w *world) { w.env["ALICE"], w.env["BOB"] = "alice-0123456789", "bob-0123456789ab" })
	const alice, bob = "Authorization: Bearer alice-0123456789", "Authorization: Bearer bob-0123456789ab"
	mine := w.rawSession(alice)
	user := "token:alice"
	s := &w.g.web.sessions
	count := func(what string, n int) { // which comes a moment after the answer
		eventually(t, what, func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return len(s.has[user]) == n && s.opening[user] == 0
		})
	}
	count("one session", 1)
	s.mu.Lock()
	for i := 1; i < maxSessions; i++ { // that have ended
		s.has[user][fmt.Sprint("gone ", i)] = true
	}
	s.mu.Unlock()
	w.rawSession(alice)
	count("the two that are there", 2)
	s.mu.Lock()
	s.opening[user] = maxSessions - 2
	s.mu.Unlock()
	first := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"` +
		"x%s" + `","version":"1"}}}`
	_, res := w.raw("POST", fmt.Sprintf(first, ""), alice)
	require.Equal(t, http.StatusServiceUnavailable, res.StatusCode)
	w.rawSession(bob)
	_, res = w.raw("DELETE", "", mine...)
	require.Equal(t, http.StatusNoContent, res.StatusCode)
	w.rawSession(alice)

	_, res = w.raw("POST", fmt.Sprintf(first, strings.Repeat("y", maxFirst)), bob)
	require.Equal(t, http.StatusRequestEntityTooLarge, res.StatusCode)
	_, res = w.raw("POST", fmt.Sprintf(first, ""), bob)
	require.Equal(t, http.StatusOK, res.StatusCode)
	eventually(t, "what was refused is not opening any more", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.opening["token:bob"] == 0
	})
}

// What listens in a session of an older protocol would stay when the caller has gone: there is no such method.
func TestNobodyListensInAnOldSession(t *testing.T) {
	w := newWorld(t, map[string]string{"hub.yaml": hubYAML(), "policy.yaml": policyYAML("fs/*")}, map[string]*fake{"fs": newFake(t, "read")}, nil)
	header := w.rawSession()
	for _, want := range []string{`{"toolsListChanged":true}`, `{"resourceSubscriptions":["penstock:fs:demo://a"]}`, `{}`} {
		_, res := w.raw("POST", `{"jsonrpc":"2.0","id":2,"method":"subscriptions/listen","params":{"notifications":`+want+`}}`, header...)
		b := make([]byte, 400)
		n, _ := res.Body.Read(b)
		require.Contains(t, string(b[:n]), `"code":-32601`, want)
	}
}
