package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// world is what the fake server has besides act: the text of the file "world.json" in its folder, now and whenever it
// changes. Tools do what act does. A note is the resource note:///NAME, and another text of it is an update.
type world struct {
	Tools   map[string]string // descriptions by name
	Notes   map[string]string // texts by name
	Prompts []string
}

// setWorld changes the world of a fake.
func (f *fake) setWorld(w world) {
	f.t.Helper()
	text, err := json.Marshal(w)
	require.NoError(f.t, err)
	f.write("world.json", string(text))
}

// worldOf is the world as the server last saw it.
type worldOf struct {
	dir    string
	calls  io.Writer // what the server did, a line each
	server *mcp.Server
	act    mcp.ToolHandler
	text   string
	now    world
}

// look takes over the file if it has changed.
func (w *worldOf) look() {
	text, err := os.ReadFile(filepath.Join(w.dir, "world.json"))
	if err != nil || string(text) == w.text {
		return
	}
	var next world
	if json.Unmarshal(text, &next) != nil {
		return
	}
	old := w.now
	w.text, w.now = string(text), next
	for name, description := range next.Tools {
		if was, ok := old.Tools[name]; !ok || was != description {
			w.server.AddTool(&mcp.Tool{Name: name, Description: description, InputSchema: object{"type": "object"}}, w.act)
		}
	}
	w.server.RemoveTools(gone(old.Tools, next.Tools)...)
	for name, note := range next.Notes {
		was, ok := old.Notes[name]
		if ok && was == note {
			continue
		}
		uri := "note:///" + name
		w.server.AddResource(&mcp.Resource{URI: uri, Name: name}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, Text: note}}}, nil
		})
		if ok {
			_ = w.server.ResourceUpdated(context.Background(), &mcp.ResourceUpdatedNotificationParams{URI: uri})
			fmt.Fprintf(w.calls, "updated %s\n", name)
		}
	}
	for _, name := range gone(old.Notes, next.Notes) {
		w.server.RemoveResources("note:///" + name)
	}
	for _, name := range next.Prompts {
		if !slices.Contains(old.Prompts, name) {
			w.server.AddPrompt(&mcp.Prompt{Name: name}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: name}}}}, nil
			})
		}
	}
}

// gone are the names that are no longer there.
func gone(old, now map[string]string) []string {
	var names []string
	for name := range old {
		if _, ok := now[name]; !ok {
			names = append(names, name)
		}
	}
	return names
}

// held waits while there is a file "hold" in the folder.
func held(ctx context.Context, dir string) {
	for {
		if _, err := os.Stat(filepath.Join(dir, "hold")); err != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}
