package e2e

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// fakeFolder is the environment variable that makes the test binary a server: it has one tool, act, whose description is
// the text of the file "description" in that folder, now and whenever it changes; its process id is in "pid", and
// what it was called with is appended to "calls". While there is a file "hold" its calls do not end.
const fakeFolder = "PENSTOCK_E2E_SERVER"

// runFake is the server. It ends with its standard input.
func runFake(dir string) {
	write := func(name, text string) {
		part := filepath.Join(dir, name+".part")
		if err := os.WriteFile(part, []byte(text), 0o600); err != nil {
			log.Fatal(err)
		}
		if err := os.Rename(part, filepath.Join(dir, name)); err != nil {
			log.Fatal(err)
		}
	}
	calls, err := os.OpenFile(filepath.Join(dir, "calls"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		log.Fatal(err)
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "fake", Version: "1"}, &mcp.ServerOptions{
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
		CompletionHandler: func(_ context.Context, r *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{r.Params.Ref.Name + r.Params.Ref.URI}}}, nil
		},
	})
	var current atomic.Value
	current.Store("")
	act := func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		fmt.Fprintf(calls, "%s %s\n", current.Load(), r.Params.Arguments)
		held(ctx, dir)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "acted: " + string(r.Params.Arguments)}}}, nil
	}
	w := &worldOf{dir: dir, calls: calls, server: server, act: act}
	describe := func() {
		w.look()
		text, err := os.ReadFile(filepath.Join(dir, "description"))
		if err != nil || string(text) == current.Load() {
			return
		}
		current.Store(string(text))
		server.AddTool(&mcp.Tool{Name: "act", Description: string(text), InputSchema: object{"type": "object"}}, act)
	}
	describe()
	go func() {
		for range time.Tick(20 * time.Millisecond) {
			describe()
		}
	}()
	write("pid", strconv.Itoa(os.Getpid()))
	_ = server.Run(context.Background(), &mcp.StdioTransport{})
}

// fake is the server as a test knows it.
type fake struct {
	*folder
}

func newFake(t *testing.T, description string) *fake {
	return &fake{newFolder(t, map[string]string{"description": description})}
}

// server is its entry in mcpServers.
func (f *fake) server() object {
	f.t.Helper()
	self, err := os.Executable()
	require.NoError(f.t, err)
	return object{"command": self, "env": object{fakeFolder: f.dir}}
}

// calls are the calls that reached it.
func (f *fake) calls() []string {
	text, err := os.ReadFile(f.path("calls"))
	if err != nil || len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

func (f *fake) pid() int {
	f.t.Helper()
	pid, err := strconv.Atoi(f.read("pid"))
	require.NoError(f.t, err)
	return pid
}

// alive reports whether a process runs. One that has ended and was not waited for does not.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}
