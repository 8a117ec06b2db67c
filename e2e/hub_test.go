package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// penstock is the command, as TestMain built it.
var penstock string

func TestMain(m *testing.M) {
	if dir := os.Getenv(fakeFolder); dir != "" {
		runFake(dir)
		return
	}
	os.Exit(func() int {
		if _, err := os.Stat("node/node_modules"); err != nil {
			fmt.Fprintln(os.Stderr, "e2e: run `npm ci --ignore-scripts` in e2e/node first:", err)
			return 1
		}
		dir, err := os.MkdirTemp("", "penstock")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		penstock = filepath.Join(dir, "penstock")
		build := exec.Command("go", "build", "-o", penstock, ".")
		build.Dir = filepath.Join("..", "cmd", "penstock")
		build.Env = append(os.Environ(), "GOWORK=off")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "e2e: building penstock: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

// bin is the path of a server of node/package.json.
func bin(name string) string {
	path, err := filepath.Abs(filepath.Join("node", "node_modules", ".bin", name))
	if err != nil {
		panic(err)
	}
	return path
}

// folder is a folder of a hub's files.
type folder struct {
	t   *testing.T
	dir string
}

func newFolder(t *testing.T, files map[string]string) *folder {
	t.Helper()
	f := &folder{t, t.TempDir()}
	for name, text := range files {
		f.write(name, text)
	}
	return f
}

func (f *folder) path(name string) string { return filepath.Join(f.dir, name) }

// write replaces a file, as an editor does.
func (f *folder) write(name, text string) {
	f.t.Helper()
	part := f.path(name + ".part")
	require.NoError(f.t, os.WriteFile(part, []byte(text), 0o600))
	require.NoError(f.t, os.Rename(part, f.path(name)))
}

func (f *folder) read(name string) string {
	f.t.Helper()
	text, err := os.ReadFile(f.path(name))
	require.NoError(f.t, err)
	return string(text)
}

// servers is the mcpServers of the three servers: everything, fs with the folder files, and memory.
func (f *folder) servers() string {
	f.t.Helper()
	require.NoError(f.t, os.MkdirAll(f.path("files"), 0o700))
	text, err := json.Marshal(object{"mcpServers": object{
		"everything": object{"command": bin("mcp-server-everything")},
		"fs":         object{"command": bin("mcp-server-filesystem"), "args": []string{f.path("files")}},
		"memory":     object{"command": bin("mcp-server-memory"), "env": object{"MEMORY_FILE_PATH": f.path("memory.jsonl")}},
	}})
	require.NoError(f.t, err)
	return string(text)
}

// runPenstock runs the command to its end.
func runPenstock(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := exec.Command(penstock, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); cmd.ProcessState == nil {
		require.NoError(t, err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// httpHub is a hub that serves HTTP.
type httpHub struct {
	t          *testing.T
	cmd        *exec.Cmd
	url, admin string
	log        *lockedBuffer
	exited     chan struct{}
}

// lockedBuffer is what a process printed so far.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// freePort returns a port of the loopback address that nobody listens on. It is none of those that the system takes for
// connections that go out: until its server listens, one of them could take it.
func freePort(t *testing.T) int {
	t.Helper()
	for range 100 {
		port := 10_000 + rand.IntN(20_000)
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			require.NoError(t, l.Close())
			return port
		}
	}
	require.Fail(t, "no port is free")
	return 0
}

// serve starts a hub with http.yaml, which is hub.yaml of the folder and two addresses, and waits until its servers are up.
func (f *folder) serve(up int) *httpHub {
	f.t.Helper()
	listen, admin := fmt.Sprintf("127.0.0.1:%d", freePort(f.t)), fmt.Sprintf("127.0.0.1:%d", freePort(f.t))
	f.write("http.yaml", f.read("hub.yaml")+fmt.Sprintf("listen: %s\nadmin: %s\n", listen, admin))
	h := &httpHub{
		t: f.t, cmd: exec.Command(penstock, "hub", "-c", f.path("http.yaml")),
		url: "http://" + listen + "/mcp", admin: "http://" + admin, log: new(lockedBuffer), exited: make(chan struct{}),
	}
	h.cmd.Stdout, h.cmd.Stderr = h.log, h.log
	require.NoError(f.t, h.cmd.Start())
	go func() {
		_ = h.cmd.Wait()
		close(h.exited)
	}()
	f.t.Cleanup(func() {
		h.stop()
		if f.t.Failed() {
			f.t.Logf("the hub said:\n%s", h.log)
		}
	})
	h.waitHealth(func(health healthz) bool { return health.up() == up })
	return h
}

// stop asks the hub to end, and returns its exit code.
func (h *httpHub) stop() int {
	_ = h.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-h.exited:
	case <-time.After(patience):
		_ = h.cmd.Process.Kill()
		<-h.exited
		h.t.Error("the hub did not stop")
	}
	return h.cmd.ProcessState.ExitCode()
}

// healthz is what the admin port says.
type healthz struct {
	Status     string `json:"status"`
	Generation uint64 `json:"generation"`
	Servers    []struct {
		Server string `json:"server"`
		State  string `json:"state"`
		Tools  int    `json:"tools"`
	} `json:"servers"`
}

func (h healthz) up() int {
	n := 0
	for _, s := range h.Servers {
		if s.State == "up" {
			n++
		}
	}
	return n
}

// get returns what a URL answers.
func get(url string) (status int, body string, err error) {
	res, err := http.Get(url)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return res.StatusCode, string(text), err
}

func (h *httpHub) waitHealth(good func(healthz) bool) {
	h.t.Helper()
	var last string
	require.Eventually(h.t, func() bool {
		select {
		case <-h.exited:
			return false
		default:
		}
		_, body, err := get(h.admin + "/healthz")
		last = body
		var health healthz
		return err == nil && json.Unmarshal([]byte(body), &health) == nil && good(health)
	}, patience, poll, "health: %s\nlog: %s", &last, h.log)
}

// goClient is a client of the Go SDK that answers every elicitation by answer, which may be nil.
type goClient struct {
	*mcp.ClientSession
	t       *testing.T
	mu      sync.Mutex
	asked   []string // the messages of elicitations
	changed int      // list_changed of tools
	updated []string // the URIs of resources that were updated
	steps   int      // notifications of progress
}

type answering func(*mcp.ElicitRequest) (*mcp.ElicitResult, error)

func choose(decision string) answering {
	return func(*mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "accept", Content: object{"decision": decision}}, nil
	}
}

func connectGo(t *testing.T, transport mcp.Transport, answer answering) *goClient {
	t.Helper()
	return connectGoVersion(t, transport, answer, "")
}

// connectGoVersion connects with a version of the protocol, "" for the newest.
func connectGoVersion(t *testing.T, transport mcp.Transport, answer answering, version string) *goClient {
	t.Helper()
	c := &goClient{t: t}
	o := &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.changed++
		},
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.updated = append(c.updated, r.Params.URI)
		},
		ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.steps++
		},
	}
	if answer != nil {
		o.ElicitationHandler = func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			c.mu.Lock()
			c.asked = append(c.asked, r.Params.Message)
			c.mu.Unlock()
			return answer(r)
		}
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, o)
	cs, err := client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	require.NoError(t, err)
	t.Cleanup(func() { _ = cs.Close() })
	c.ClientSession = cs
	return c
}

// overHTTP is a transport to a hub, with a bearer token if there is one.
func (h *httpHub) overHTTP(token string) mcp.Transport {
	return &mcp.StreamableClientTransport{Endpoint: h.url, HTTPClient: &http.Client{Transport: bearer(token)}}
}

type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if b != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+string(b))
	}
	return http.DefaultTransport.RoundTrip(r)
}

// overStdio is a transport to a hub of its own.
func (f *folder) overStdio() mcp.Transport {
	cmd := exec.Command(penstock, "hub", "-c", f.path("hub.yaml"))
	cmd.Stderr = os.Stderr
	return &mcp.CommandTransport{Command: cmd}
}

// told returns how often the tools were said to have changed, what was updated, and how often there was progress.
func (c *goClient) told() (changed int, updated []string, steps int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed, slices.Clone(c.updated), c.steps
}

func (c *goClient) tools() []string {
	c.t.Helper()
	var names []string
	for tool, err := range c.Tools(c.t.Context(), nil) {
		require.NoError(c.t, err)
		names = append(names, tool.Name)
	}
	return names
}

func (c *goClient) describe(name string) string {
	c.t.Helper()
	for tool, err := range c.Tools(c.t.Context(), nil) {
		require.NoError(c.t, err)
		if tool.Name == name {
			return tool.Description
		}
	}
	return ""
}

func (c *goClient) call(name string, args object) outcome {
	c.t.Helper()
	res, err := c.CallTool(c.t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		return outcome{Err: err.Error()}
	}
	o := outcome{IsError: res.IsError}
	for _, content := range res.Content {
		if text, ok := content.(*mcp.TextContent); ok {
			o.Text += text.Text
		}
	}
	return o
}

func (c *goClient) questions() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.asked, "\n---\n")
}

// version is the version of the protocol that the session speaks.
func (c *goClient) version() string { return c.InitializeResult().ProtocolVersion }
