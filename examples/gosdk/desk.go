// The server that is guarded: a desk with notes. Nothing here knows of a policy.

package main

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// tool is a tool of this server.
type tool struct {
	def *mcp.Tool
	run mcp.ToolHandler
}

var tools = []tool{
	{define("read_note", "Reads a note.", "title"), answer("read")},
	{define("write_note", "Writes a note into a folder.", "title", "folder"), answer("written")},
	{define("send_note", "Sends a note to somebody.", "title", "to"), answer("sent")},
	{define("burn_note", "Burns a note.", "title"), answer("burnt")},
	{define("reindex_internal", "Rebuilds the index."), answer("reindexed")},
}

var prompts = []*mcp.Prompt{
	{Name: "summarize", Description: "Sums up a note."},
	{Name: "appraise", Description: "Judges whoever wrote it."},
}

func define(name, description string, strings ...string) *mcp.Tool {
	properties := map[string]any{}
	for _, s := range strings {
		properties[s] = map[string]any{"type": "string"}
	}
	schema := map[string]any{"type": "object", "properties": properties}
	return &mcp.Tool{Name: name, Description: description, InputSchema: schema}
}

// answer is a handler that says what it did to which arguments: here, the very bytes that were judged.
func answer(done string) mcp.ToolHandler {
	return func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		text := fmt.Sprintf("%s: %s", done, req.Params.Arguments)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
	}
}

func read(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	contents := []*mcp.ResourceContents{{URI: req.Params.URI, Text: "Milk, bread."}}
	return &mcp.ReadResourceResult{Contents: contents}, nil
}

func prompt(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	message := &mcp.PromptMessage{Role: "user", Content: &mcp.TextContent{Text: req.Params.Name + " this note."}}
	return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{message}}, nil
}

func newServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "desk", Version: "1"}, &mcp.ServerOptions{
		// Said for all three, whatever is registered: left out, the SDK would tell by them whether there is anything.
		Capabilities: &mcp.ServerCapabilities{
			Tools:     &mcp.ToolCapabilities{ListChanged: true},
			Prompts:   &mcp.PromptCapabilities{ListChanged: true},
			Resources: &mcp.ResourceCapabilities{ListChanged: true},
		},
	})
	for _, t := range tools {
		s.AddTool(t.def, t.run)
	}
	for _, p := range prompts {
		s.AddPrompt(p, prompt)
	}
	s.AddResource(&mcp.Resource{URI: "note://inbox/shopping", Name: "shopping"}, read)
	s.AddResource(&mcp.Resource{URI: "note://drafts/resignation", Name: "resignation"}, read)
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "note://inbox/{title}", Name: "inbox"}, read)
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "note://drafts/{title}", Name: "drafts"}, read)
	return s
}
