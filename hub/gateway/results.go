// Results, as callers get them: URIs are the exposed ones, and the type of a result is that of the caller's version of
// the protocol, whatever the server's is. Everything is copied; what a server answered is not changed.

package gateway

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/hub"
)

// typed sets the type of a new result, which the SDK keeps to itself: reading one sets it. Sessions of older versions
// have no types.
func typed(ss *mcp.ServerSession, res json.Unmarshaler, asks bool) {
	switch {
	case !hub.Modern(ss):
	case asks:
		_ = res.UnmarshalJSON([]byte(`{"resultType":"input_required"}`))
	default:
		_ = res.UnmarshalJSON([]byte(`{"resultType":"complete"}`))
	}
}

// toolError returns the result of a call that came to nothing, for the model.
func toolError(ss *mcp.ServerSession, text string) *mcp.CallToolResult {
	var out mcp.CallToolResult
	typed(ss, &out, false)
	out.Content = []mcp.Content{&mcp.TextContent{Text: text}}
	out.IsError = true
	return &out
}

func toolResult(ss *mcp.ServerSession, server string, res *mcp.CallToolResult) *mcp.CallToolResult {
	var out mcp.CallToolResult
	typed(ss, &out, res.InputRequests != nil)
	out.Meta = inward(res.Meta)
	out.Content = contents(server, res.Content)
	out.StructuredContent = res.StructuredContent
	out.IsError = res.IsError
	out.InputRequests, out.RequestState = res.InputRequests, res.RequestState
	if out.Content == nil && out.InputRequests == nil {
		out.Content = []mcp.Content{}
	}
	return &out
}

func promptResult(ss *mcp.ServerSession, server string, res *mcp.GetPromptResult) *mcp.GetPromptResult {
	var out mcp.GetPromptResult
	typed(ss, &out, res.InputRequests != nil)
	out.Meta = inward(res.Meta)
	out.Description = res.Description
	out.InputRequests, out.RequestState = res.InputRequests, res.RequestState
	if res.InputRequests != nil {
		return &out
	}
	out.Messages = []*mcp.PromptMessage{}
	for _, m := range res.Messages {
		if m == nil {
			continue
		}
		copied := *m
		copied.Content = content(server, m.Content)
		out.Messages = append(out.Messages, &copied)
	}
	return &out
}

func resourceResult(ss *mcp.ServerSession, t engine.Target, asked string, res *mcp.ReadResourceResult) *mcp.ReadResourceResult {
	var out mcp.ReadResourceResult
	typed(ss, &out, res.InputRequests != nil)
	out.Meta = inward(res.Meta)
	out.Cacheable = res.Cacheable
	out.InputRequests, out.RequestState = res.InputRequests, res.RequestState
	if res.InputRequests != nil {
		return &out
	}
	out.Contents = []*mcp.ResourceContents{}
	for _, c := range res.Contents {
		if c == nil {
			continue
		}
		c = resource(t.Server, c)
		if c.URI == "" {
			c.URI = asked
		}
		out.Contents = append(out.Contents, c)
	}
	return &out
}

func contents(server string, in []mcp.Content) []mcp.Content {
	if in == nil {
		return nil
	}
	out := make([]mcp.Content, 0, len(in))
	for _, c := range in {
		if c != nil {
			out = append(out, content(server, c))
		}
	}
	return out
}

// content returns one content with its URIs exposed.
func content(server string, c mcp.Content) mcp.Content {
	switch c := c.(type) {
	case *mcp.ResourceLink:
		out := *c
		out.URI = exposed(server, c.URI)
		return &out
	case *mcp.EmbeddedResource:
		out := *c
		if c.Resource != nil {
			out.Resource = resource(server, c.Resource)
		}
		return &out
	default:
		return c
	}
}

func resource(server string, c *mcp.ResourceContents) *mcp.ResourceContents {
	out := *c
	out.URI = exposed(server, c.URI)
	return &out
}

// exposed returns the exposed form of a URI; one that is not there stays so.
func exposed(server, uri string) string {
	if uri == "" {
		return ""
	}
	return ExposeURI(engine.Target{Server: server, Name: uri})
}
