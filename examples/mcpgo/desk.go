// The server that is guarded: a desk with notes. Nothing here knows of a policy.

package main

import (
	"context"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

var tools = []server.ServerTool{
	{Tool: mcp.NewTool("read_note", mcp.WithString("title")), Handler: answer("read")},
	{Tool: mcp.NewTool("write_note", mcp.WithString("title"), mcp.WithString("folder")), Handler: answer("written")},
	{Tool: mcp.NewTool("burn_note", mcp.WithString("title")), Handler: answer("burnt")},
	{Tool: mcp.NewTool("reindex_internal"), Handler: answer("reindexed")},
	// Runs either way, as a task or at once.
	{Tool: mcp.NewTool("export", mcp.WithString("format"), mcp.WithTaskSupport(mcp.TaskSupportOptional)), Handler: answer("exported")},
}

// taskTools run as tasks only, and the library's middleware does not run for them.
var taskTools = []server.ServerTaskTool{
	{Tool: mcp.NewTool("archive", mcp.WithString("format"), mcp.WithTaskSupport(mcp.TaskSupportRequired)), Handler: task("archived")},
	{Tool: mcp.NewTool("wipe_internal", mcp.WithTaskSupport(mcp.TaskSupportRequired)), Handler: task("wiped")},
}

var resources = []mcp.Resource{
	mcp.NewResource("note://inbox/shopping", "shopping"),
	mcp.NewResource("note://drafts/resignation", "resignation"),
}

var templates = []mcp.ResourceTemplate{
	mcp.NewResourceTemplate("note://inbox/{title}", "inbox"),
	mcp.NewResourceTemplate("note://drafts/{title}", "drafts"),
}

var prompts = []mcp.Prompt{
	mcp.NewPrompt("summarize"),
	mcp.NewPrompt("appraise"),
}

// answer is a handler that says what it did to which arguments: here, the very bytes that were judged.
func answer(done string) server.ToolHandlerFunc {
	return func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(fmt.Sprintf("%s: %s", done, req.Params.RawArguments)), nil
	}
}

// task is answer for tasks. The library cancels a task's context once its creation was answered.
func task(done string) server.TaskToolHandlerFunc {
	return func(_ context.Context, req mcp.CallToolRequest) (*mcp.CreateTaskResult, error) {
		text := fmt.Sprintf("%s: %s", done, req.Params.RawArguments)
		return &mcp.CreateTaskResult{Content: []mcp.Content{mcp.NewTextContent(text)}}, nil
	}
}

func read(_ context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
	return []mcp.ResourceContents{mcp.TextResourceContents{URI: req.Params.URI, Text: "Milk, bread."}}, nil
}

func prompt(_ context.Context, req mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	message := mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent(req.Params.Name+" this note."))
	return mcp.NewGetPromptResult("", []mcp.PromptMessage{message}), nil
}
