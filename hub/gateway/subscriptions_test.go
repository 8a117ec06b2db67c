package gateway

import (
	"context"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// updates collects what a session hears of resources.
type updates struct {
	mu   sync.Mutex
	uris []string
}

func (u *updates) options() *mcp.ClientOptions {
	return &mcp.ClientOptions{ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.uris = append(u.uris, r.Params.URI)
	}}
}

func (u *updates) heard() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return append([]string{}, u.uris...)
}

// A subscription goes through once, whoever and how many subscribe, updates come back under the exposed URI, and the end
// of the last session ends it.
func TestUpdatesOfResources(t *testing.T) {
	for _, p := range protocols {
		t.Run(p, func(t *testing.T) {
			fs := newFake(t)
			fs.addOthers()
			w := newWorld(t, map[string]string{"hub.yaml": hubYAML(), "policy.yaml": policyYAML("resource:fs/demo://a")}, map[string]*fake{"fs": fs}, nil)
			var one, two updates
			a, b := w.client(p, "", one.options()), w.client(p, "", two.options())
			ctx := t.Context()
			require.NoError(t, a.Subscribe(ctx, &mcp.SubscribeParams{URI: "penstock:fs:demo://a"}))
			require.NoError(t, b.Subscribe(ctx, &mcp.SubscribeParams{URI: "penstock:fs:demo://a"}))
			_ = b.Subscribe(ctx, &mcp.SubscribeParams{URI: "penstock:fs:demo://secret"}) // an error, or silence
			eventually(t, "the server has a subscriber", func() bool { return fs.subscribed("demo://a") == 1 })
			update := func(uri string) {
				require.NoError(t, fs.server.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: uri}))
			}
			eventually(t, "both are told", func() bool {
				update("demo://secret")
				update("demo://a")
				return len(one.heard()) > 0 && len(two.heard()) > 0
			})
			require.Equal(t, 1, fs.subscribed("demo://a"))
			require.Zero(t, fs.subscribed("demo://secret"))
			for _, uri := range append(one.heard(), two.heard()...) {
				require.Equal(t, "penstock:fs:demo://a", uri)
			}
			require.NoError(t, a.Unsubscribe(ctx, &mcp.UnsubscribeParams{URI: "penstock:fs:demo://a"}))
			require.NoError(t, b.Close())
			eventually(t, "nobody is subscribed", func() bool { return fs.subscribed("demo://a") == 0 })
			w.g.subs.mu.Lock()
			defer w.g.subs.mu.Unlock()
			require.Empty(t, w.g.subs.wanted)
		})
	}
}

// What a policy takes away sends no more updates.
func TestUpdatesEndWithThePermission(t *testing.T) {
	fs := newFake(t)
	fs.addOthers()
	w := newWorld(t, map[string]string{"hub.yaml": hubYAML(), "policy.yaml": policyYAML("resource:fs/demo://a", "resource:fs/demo://secret")}, map[string]*fake{"fs": fs}, nil)
	var u updates
	cs := w.client(protocols[0], "", u.options())
	for _, uri := range []string{"penstock:fs:demo://a", "penstock:fs:demo://secret"} {
		require.NoError(t, cs.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uri}))
	}
	w.write("policy.yaml", policyYAML("resource:fs/demo://a"))
	require.NoError(t, w.g.Reload(false))
	eventually(t, "the one that is allowed", func() bool {
		for _, uri := range []string{"demo://secret", "demo://a"} {
			require.NoError(t, fs.server.ResourceUpdated(t.Context(), &mcp.ResourceUpdatedNotificationParams{URI: uri}))
		}
		return len(u.heard()) > 2
	})
	require.NotContains(t, u.heard(), "penstock:fs:demo://secret")
}

// A server that is replaced by another one of the same name is subscribed to anew.
func TestASubscriptionOutlivesItsServer(t *testing.T) {
	first, second := newFake(t), newFake(t)
	first.addOthers()
	second.addOthers()
	w := newWorld(t, map[string]string{"hub.yaml": hubYAML(), "policy.yaml": policyYAML("resource:fs/demo://a")}, map[string]*fake{"fs": first}, nil)
	var u updates
	cs := w.client(protocols[0], "", u.options())
	require.NoError(t, cs.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "penstock:fs:demo://a"}))
	require.Equal(t, 1, first.subscribed("demo://a"))
	w.servers(map[string]*fake{"fs": second})
	require.NoError(t, w.g.Reload(false))
	eventually(t, "the second server has the subscriber", func() bool { return second.subscribed("demo://a") == 1 })
	eventually(t, "its updates arrive", func() bool {
		require.NoError(t, second.server.ResourceUpdated(t.Context(), &mcp.ResourceUpdatedNotificationParams{URI: "demo://a"}))
		return len(u.heard()) > 0
	})
}
