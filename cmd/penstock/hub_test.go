package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// fakeServer is the program mcp-fake: an MCP server on standard input and output that is written by hand, so that its
// definitions are the bytes below, and that prints a line of junk first, as real ones do.
func fakeServer() {
	fmt.Println("starting up …")
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var r struct {
			ID     json.RawMessage
			Method string
			Params struct{ Name string }
		}
		if json.Unmarshal(in.Bytes(), &r) != nil || r.ID == nil {
			continue
		}
		answer := `"error":{"code":-32601,"message":"no such method"}`
		switch r.Method {
		case "initialize":
			answer = `"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"fake","version":"1"}}`
		case "ping":
			answer = `"result":{}`
		case "tools/list":
			answer = `"result":{"tools":[` + strings.Join(fakeTools, ",") + `]}`
		case "tools/call":
			answer = `"result":{"content":[{"type":"text","text":"ran ` + r.Params.Name + `"}]}`
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,%s}`+"\n", r.ID, answer)
	}
}

// fakeTools are definitions that no library would write: keys in another order, numbers and characters in another form.
var fakeTools = []string{
	`{"inputSchema" : {"type":"object","x-order":[1.0,2e0]}, "name":"read", "description":"\u0041 file", "annotations":{"readOnlyHint":true}}`,
	`{"name":"write","description":"A <b>file</b> & more","inputSchema":{"type":"object"},"vendor":{"b":1,"a":null}}`,
}

// bin returns a folder with the programs penstock and mcp-fake, which are this test: see TestMain.
func bin(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"penstock", "mcp-fake"} {
		if runtime.GOOS == "windows" {
			name += ".exe"
		}
		if err := os.Link(self, filepath.Join(dir, name)); err == nil {
			continue
		}
		data, err := os.ReadFile(self)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), data, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// hubDir is a folder with a hub's files, and penstock to run there.
type hubDir struct {
	t        *testing.T
	dir, bin string
}

func newHubDir(t *testing.T, yaml string) *hubDir {
	h := &hubDir{t, t.TempDir(), bin(t)}
	fake, err := json.Marshal(filepath.Join(h.bin, "mcp-fake"))
	if err != nil {
		t.Fatal(err)
	}
	h.write("mcp.json", fmt.Sprintf(`{"mcpServers": {"fs": {"command": %s}}}`, fake))
	h.write("hub.yaml", "version: 1\nservers: mcp.json\npolicy: policy.yaml\n"+yaml)
	h.write("policy.yaml", allowing("*/read"))
	return h
}

func allowing(pattern string) string {
	return "version: 1\npolicy: {allow_new_tools: true, default: deny, allow: [\"" + pattern + "\"]}\n"
}

func (h *hubDir) write(name, text string) {
	h.t.Helper()
	tmp := filepath.Join(h.dir, "."+name)
	if err := os.WriteFile(tmp, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
	if err := os.Rename(tmp, filepath.Join(h.dir, name)); err != nil {
		h.t.Fatal(err)
	}
}

func (h *hubDir) command(args ...string) *exec.Cmd {
	c := exec.Command(filepath.Join(h.bin, "penstock"), args...)
	c.Dir = h.dir
	return c
}

// output runs a command that must succeed.
func (h *hubDir) output(args ...string) string {
	h.t.Helper()
	var stderr bytes.Buffer
	c := h.command(args...)
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		h.t.Fatalf("%v: %v\n%s%s", args, err, out, stderr.String())
	}
	return string(out)
}

func listed(t *testing.T, cs *mcp.ClientSession) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	res, err := cs.ListTools(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range res.Tools {
		names = append(names, tool.Name)
	}
	return names
}

func called(t *testing.T, cs *mcp.ClientSession, tool string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	res, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: tool})
	if err != nil {
		return err.Error()
	}
	return res.Content[0].(*mcp.TextContent).Text
}

func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !f(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never came to this: %s", what)
		}
	}
}

var generations = []string{"2025-11-25", "2026-07-28"}

func TestHubOverStdio(t *testing.T) {
	for _, protocol := range generations {
		h := newHubDir(t, "")
		var log locked
		c := h.command("hub", "-c", "hub.yaml")
		c.Stderr = &log
		cs, err := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil).Connect(context.Background(), &mcp.CommandTransport{Command: c},
			&mcp.ClientSessionOptions{ProtocolVersion: protocol})
		if err != nil {
			t.Fatal(err, log.String())
		}
		if got := cs.InitializeResult().ProtocolVersion; got != protocol {
			t.Errorf("protocol %s, want %s", got, protocol)
		}
		if got := listed(t, cs); !slices.Equal(got, []string{"fs__read", "fs__write"}) {
			t.Errorf("tools %v", got)
		}
		if got := called(t, cs, "fs__read"); got != "ran read" {
			t.Error(got)
		}
		if got := called(t, cs, "fs__write"); !strings.HasPrefix(got, "This call is not allowed") {
			t.Error(got)
		}
		h.write("policy.yaml", allowing("*/write"))
		eventually(t, "the policy is another one", func() bool { return called(t, cs, "fs__write") == "ran write" })
		if err := cs.Close(); err != nil {
			t.Errorf("the client went, and the hub ended with %v\n%s", err, log.String())
		}
	}
}

// locked is a buffer that a process writes while it is read.
type locked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

var addresses = regexp.MustCompile(`msg=listening for=(\w+) address=(\S+)`)

func TestHubOverHTTP(t *testing.T) {
	h := newHubDir(t, "listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\nbaseline: approved.json\n")
	var log locked
	c := h.command("hub", "-c", "hub.yaml")
	c.Stderr = &log
	stdout, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Process.Kill() }()
	at := map[string]string{}
	eventually(t, "it listens", func() bool {
		for _, m := range addresses.FindAllStringSubmatch(log.String(), -1) {
			at[m[1]] = m[2]
		}
		return len(at) == 2
	})
	if !strings.Contains(log.String(), "nobody has to say who he is") {
		t.Error("it does not say that anybody may come in")
	}
	for _, protocol := range generations {
		cs, err := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil).Connect(context.Background(),
			&mcp.StreamableClientTransport{Endpoint: "http://" + at["mcp"] + "/mcp"}, &mcp.ClientSessionOptions{ProtocolVersion: protocol})
		if err != nil {
			t.Fatal(err)
		}
		if got := called(t, cs, "fs__read"); got != "ran read" {
			t.Error(got)
		}
		_ = cs.Close()
	}
	get := func(url string) string {
		res, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if got := get("http://" + at["mcp"] + "/healthz"); got != "{\"status\":\"ok\"}\n" {
		t.Error(got)
	}
	if got := get("http://" + at["admin"] + "/healthz"); !strings.Contains(got, `"server":"fs","state":"up"`) {
		t.Error(got)
	}
	for _, want := range []string{"penstock_requests_total{", "penstock_server_up_ratio{", "penstock_config_failed"} {
		if got := get("http://" + at["admin"] + "/metrics"); !strings.Contains(got, want) {
			t.Errorf("no %s in the metrics (%d bytes)", want, len(got))
		}
	}
	if runtime.GOOS != "windows" {
		h.write("policy.yaml", "version: 1\npolicy: {allow: [\"fs/\"]}\n")
		if err := c.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the bad policy is told", func() bool { return get("http://"+at["mcp"]+"/healthz") == "{\"status\":\"degraded\"}\n" })
		if got := get("http://" + at["admin"] + "/healthz"); !strings.Contains(got, `policy.yaml:2:18: policy.allow[0]`) {
			t.Error(got)
		}
	}
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(stdout)
	if err != nil || len(out) > 0 {
		t.Errorf("standard output: %q, %v", out, err)
	}
	if err := c.Wait(); err != nil {
		t.Errorf("it was asked to end, and ended with %v\n%s", err, log.String())
	}
}

// What catalogs writes has the fingerprints that the hub compares: a baseline of it approves everything.
func TestHubCatalogsMakeABaseline(t *testing.T) {
	h := newHubDir(t, "baseline: approved.json\nonly_approved: true\n")
	if got := h.output("hub", "catalogs", "-c", "hub.yaml", "-o", "catalogs"); got != filepath.Join("catalogs", "fs.json")+": 2 tools, 0 prompts, 0 resources\n" {
		t.Error(got)
	}
	h.output("baseline", "create", "-o", "approved.json", "catalogs")
	h.output("check", "-p", "policy.yaml", "--baseline", "approved.json", "catalogs")
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil).Connect(context.Background(),
		&mcp.CommandTransport{Command: h.command("hub", "-c", "hub.yaml")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer cs.Close()
	if got := listed(t, cs); !slices.Equal(got, []string{"fs__read", "fs__write"}) {
		t.Errorf("tools %v", got)
	}
}

// A server that does not start is an error, and keeps nothing else from being written.
func TestHubCatalogsOfADeadServer(t *testing.T) {
	h := newHubDir(t, "timeouts: {connect: 5s}\n")
	fake, _ := json.Marshal(filepath.Join(h.bin, "mcp-fake"))
	h.write("mcp.json", fmt.Sprintf(`{"mcpServers": {"fs": {"command": %s}, "dead": {"command": "/nowhere/at-all"}}}`, fake))
	var stderr bytes.Buffer
	c := h.command("hub", "catalogs", "-c", "hub.yaml", "-o", "catalogs")
	c.Stderr = &stderr
	err := c.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != exitFindings || !strings.Contains(stderr.String(), "dead: nothing was listed") {
		t.Errorf("%v\n%s", err, stderr.String())
	}
	if _, err := os.Stat(filepath.Join(h.dir, "catalogs", "fs.json")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(h.dir, "catalogs", "dead.json")); err == nil {
		t.Error("the dead server has a catalog")
	}
}
