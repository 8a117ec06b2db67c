package gateway

import (
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// A caller that is in another view, or may not come in any more, is told nothing by the sessions it had; the others keep
// theirs.
func TestSessionsEndWithWhatTheirCallersWere(t *testing.T) {
	caller := func(name, view string) string {
		return "  - {principal: " + name + ", view: " + view + ", token_env: " + name + "}"
	}
	yaml := func(callers ...string) string {
		return hubYAML(append([]string{"views: {reader: {policy: reader.yaml}}", "callers:"}, callers...)...)
	}
	for name, after := range map[string]string{
		"another view": yaml(caller("alice", "reader"), caller("bob", "default")),
		"gone":         yaml(caller("bob", "default")),
		"attributes":   yaml("  - {principal: alice, view: default, token_env: alice, attributes: {team: x}}", caller("bob", "default")),
	} {
		t.Run(name, func(t *testing.T) {
			fs := newFake(t, "read")
			fs.addOthers()
			w := newWorld(t, map[string]string{
				"hub.yaml":    yaml(caller("alice", "default"), caller("bob", "default")),
				"policy.yaml": policyYAML("fs/*", "resource:fs/*"), "reader.yaml": policyYAML("resource:fs/demo://a"),
			}, map[string]*fake{"fs": fs}, func(w *world) { w.env["alice"], w.env["bob"] = "alice-0123456789", "bob-0123456789ab" })
			var hers, his updates
			a, b := w.client(protocols[0], "alice-0123456789", hers.options()), w.client(protocols[0], "bob-0123456789ab", his.options())
			for _, cs := range []*mcp.ClientSession{a, b} {
				require.NoError(t, cs.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "penstock:fs:demo://secret"}))
			}
			w.write("hub.yaml", after)
			require.NoError(t, w.g.Reload(false))
			eventually(t, "one session is left", func() bool {
				n := 0
				for range w.g.server.Sessions() {
					n++
				}
				return n == 1
			})
			heard := len(hers.heard())
			eventually(t, "the other is told", func() bool {
				require.NoError(t, fs.server.ResourceUpdated(t.Context(), &mcp.ResourceUpdatedNotificationParams{URI: "demo://secret"}))
				return len(his.heard()) > 1
			})
			require.Len(t, hers.heard(), heard)
			_, err := call(b, "fs__read", nil)
			require.NoError(t, err)
		})
	}
	t.Run("nobody in particular", func(t *testing.T) {
		w := newWorld(t, map[string]string{"hub.yaml": hubYAML(), "policy.yaml": policyYAML("fs/*")}, map[string]*fake{"fs": newFake(t, "read")}, func(w *world) { w.env["bob"] = "bob-0123456789ab" })
		header := w.rawSession()
		w.write("hub.yaml", hubYAML("callers:", caller("bob", "default")))
		require.NoError(t, w.g.Reload(false))
		eventually(t, "nobody uses the session, whoever he is", func() bool {
			_, res := w.raw("POST", `{"jsonrpc":"2.0","id":2,"method":"ping"}`, append(header, "Authorization: Bearer bob-0123456789ab")...)
			return res.StatusCode == 404
		})
	})
}
