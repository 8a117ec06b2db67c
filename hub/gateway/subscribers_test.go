package gateway

import (
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/penstock-mcp/penstock/engine"
	"github.com/stretchr/testify/require"
)

// A session that leaves takes its own subscription with it, and nobody else's.
func TestASubscriptionOutlivesAnotherSession(t *testing.T) {
	for _, p := range protocols {
		t.Run(p, func(t *testing.T) {
			fs := newFake(t)
			fs.addOthers()
			w := newWorld(t, map[string]string{"hub.yaml": hubYAML(), "policy.yaml": policyYAML("resource:fs/demo://a")}, map[string]*fake{"fs": fs}, nil)
			var one, two updates
			a, b := w.client(p, "", one.options()), w.client(p, "", two.options())
			for _, cs := range []*mcp.ClientSession{a, b} {
				require.NoError(t, cs.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "penstock:fs:demo://a"}))
			}
			sessions := func() int {
				w.g.subs.mu.Lock()
				defer w.g.subs.mu.Unlock()
				if i := w.g.subs.wanted[engine.Target{Server: "fs", Name: "demo://a"}]; i != nil {
					return i.sessions
				}
				return 0
			}
			eventually(t, "both are subscribed", func() bool { return sessions() == 2 })
			require.NoError(t, a.Unsubscribe(t.Context(), &mcp.UnsubscribeParams{URI: "penstock:fs:demo://a"}))
			eventually(t, "one has left", func() bool { return sessions() < 2 })
			before := len(one.heard())
			eventually(t, "the other one is told", func() bool {
				require.NoError(t, fs.server.ResourceUpdated(t.Context(), &mcp.ResourceUpdatedNotificationParams{URI: "demo://a"}))
				return len(two.heard()) > 1
			})
			require.Equal(t, 1, sessions())
			require.Equal(t, 1, fs.subscribed("demo://a"))
			require.Len(t, one.heard(), before, "who left is told")
		})
	}
}
