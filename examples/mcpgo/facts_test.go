// What the library does by itself, without a guard: the reasons why the guard is as it is. If one of these fails after
// an update, the guard may do with less, or need more.

package main

import (
	"context"
	"encoding/base64"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/stretchr/testify/require"
)

func TestTheFilterIsCalledWithOneToolForACall(t *testing.T) {
	var sizes []int
	s := server.NewMCPServer("bare", "1", server.WithToolFilter(func(_ context.Context, tools []mcp.Tool) []mcp.Tool {
		sizes = append(sizes, len(tools))
		return tools
	}))
	s.AddTool(mcp.NewTool("a"), answer("ran"))
	s.AddTool(mcp.NewTool("b"), answer("ran"))
	wire(t, s, "", "tools/list", `{}`)
	wire(t, s, "", "tools/call", `{"name":"a"}`)
	require.Equal(t, []int{2, 1}, sizes)
}

func TestTheMiddlewareDoesNotRunForTaskTools(t *testing.T) {
	asked, ran := make(chan string, 10), make(chan string, 10)
	s := server.NewMCPServer("bare", "1", server.WithTaskCapabilities(true, true, true),
		server.WithToolHandlerMiddleware(func(next server.ToolHandlerFunc) server.ToolHandlerFunc {
			return func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				asked <- req.Params.Name
				return next(ctx, req)
			}
		}))
	s.AddTaskTool(mcp.NewTool("a", mcp.WithTaskSupport(mcp.TaskSupportRequired)),
		func(context.Context, mcp.CallToolRequest) (*mcp.CreateTaskResult, error) {
			ran <- "a"
			return &mcp.CreateTaskResult{}, nil
		})
	require.Contains(t, wire(t, s, "", "tools/call", `{"name":"a","task":{}}`), "taskId")
	select {
	case <-ran:
	case <-time.After(20 * time.Second):
		t.Fatal("the task did not run")
	}
	require.Empty(t, asked)

	// And where there are no sessions everybody sees the task.
	require.Contains(t, wire(t, s, "somebody else", "tasks/list", `{}`), "taskId")
}

func TestAResourceHandlerCannotMakeTheErrorOfOneThatIsNotThere(t *testing.T) {
	s := server.NewMCPServer("bare", "1", server.WithResourceCapabilities(true, true))
	s.AddResource(mcp.NewResource("note://a", "a"), func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		return nil, server.ErrResourceNotFound
	})
	require.Contains(t, wire(t, s, "", "resources/read", `{"uri":"note://a"}`), "-32603")
	require.Contains(t, wire(t, s, "", "resources/read", `{"uri":"note://b"}`), "-32002")
	require.NotContains(t, wire(t, s, "", "resources/subscribe", `{"uri":"note://b"}`), `"error"`)
}

func TestTheCursorOfAResourceListIsAName(t *testing.T) {
	s := server.NewMCPServer("bare", "1", server.WithPaginationLimit(1))
	s.AddResource(mcp.NewResource("note://a", "a secret"), read)
	s.AddResource(mcp.NewResource("note://b", "b"), read)
	list := wire(t, s, "", "resources/list", `{}`)
	require.Contains(t, list, base64.StdEncoding.EncodeToString([]byte("a secret")))
}
