// What servers say on their own, and how sessions hear of it.

package gateway

import (
	"context"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/hub/upstream"
)

// onCatalog is upstream.Options.OnCatalog.
func (g *Gateway) onCatalog(c upstream.Catalog) {
	report, err := g.catalogs.update(c)
	if err != nil {
		g.log.Error("the tools of a server cannot be used", "server", c.Server, "error", err)
	}
	for _, q := range report.Quarantined {
		g.log.Warn("a tool is left out", "server", c.Server, "tool", strconv.Quote(q.Name), "reason", q.Reason)
	}
	for _, p := range c.Problems {
		g.log.Warn("a server got something wrong", "server", c.Server, "item", p.Item, "error", p.Err)
	}
	if c.Up && g.subs.wants(c.Server) {
		g.wait.Go(func() { g.subs.renew(g.background, c.Server) })
	}
}

// onUpdated is upstream.Options.OnResourceUpdated: whoever subscribed is told, if the guard lets it pass.
func (g *Gateway) onUpdated(server, uri string) {
	uri = ExposeURI(engine.Target{Server: server, Name: uri})
	_ = g.server.ResourceUpdated(context.Background(), &mcp.ResourceUpdatedNotificationParams{URI: uri})
}

// The SDK tells sessions that a list changed when something is added to its own lists, so something is, and goes again.
// No table of names has it, and nothing that callers are told comes from those lists. Within 10 ms the SDK tells once,
// and the guard keeps it from sessions for which nothing changed.
const nudgeName = "penstock-nudge"

// nudge has the sessions told that lists changed. The engine and the tables have to be in place.
func (g *Gateway) nudge(what lists) {
	if what&toolLists != 0 {
		g.server.AddTool(&mcp.Tool{Name: nudgeName, InputSchema: emptySchema}, nobody)
		g.server.RemoveTools(nudgeName)
	}
	if what&promptLists != 0 {
		g.server.AddPrompt(&mcp.Prompt{Name: nudgeName}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return nil, errUnjudged
		})
		g.server.RemovePrompts(nudgeName)
	}
	if what&resourceLists != 0 {
		uri := uriScheme + nudgeName
		g.server.AddResource(&mcp.Resource{URI: uri, Name: nudgeName}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return nil, errUnjudged
		})
		g.server.RemoveResources(uri)
	}
}

var emptySchema = map[string]any{"type": "object"}

func nobody(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return nil, errUnjudged
}
