//go:build unix

package upstream

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/penstock-mcp/penstock/engine"
)

// deadline is how long a test waits for what must come. It is not a measure of anything.
const deadline = 60 * time.Second

// house is a pool with what it said.
type house struct {
	*Pool
	t   testing.TB
	log *buffer

	mu       sync.Mutex
	catalogs []Catalog
	updates  []string
	panics   bool
}

type buffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func newHouse(t testing.TB, change ...func(*Options)) *house {
	t.Helper()
	h := &house{t: t, log: &buffer{}}
	o := Options{
		Logger:  slog.New(slog.NewTextHandler(h.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Refresh: -1, ConnectTimeout: deadline, MinBackoff: 2 * time.Millisecond, MaxBackoff: 20 * time.Millisecond,
		OnCatalog: func(c Catalog) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.catalogs = append(h.catalogs, c)
			if h.panics {
				panic("callback")
			}
		},
		OnResourceUpdated: func(server, uri string) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.updates = append(h.updates, server+" "+uri)
		},
	}
	for _, f := range change {
		f(&o)
	}
	h.Pool = NewPool(o)
	h.grace = grace{input: 500 * time.Millisecond, term: 500 * time.Millisecond}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			s := h.log.String()
			t.Logf("log:\n%s", s[:min(len(s), 8000)])
		}
	})
	return h
}

func (h *house) apply(servers map[string]Server) {
	h.t.Helper()
	h.Apply(servers)
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	if err := h.Settled(ctx); err != nil {
		h.t.Fatal(err)
	}
}

// one starts one server, "s".
func one(t testing.TB, s Server, change ...func(*Options)) *house {
	t.Helper()
	h := newHouse(t, change...)
	h.apply(map[string]Server{"s": s})
	return h
}

// session returns the connection to the server "s", which is up.
func (h *house) session() *session {
	h.t.Helper()
	w, err := h.worker("s")
	if err != nil {
		h.t.Fatal(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.session
}

func (h *house) status(id string) Status {
	for _, s := range h.Status() {
		if s.Server == id {
			return s
		}
	}
	return Status{}
}

func (h *house) all(id string) []Catalog {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []Catalog
	for _, c := range h.catalogs {
		if c.Server == id {
			out = append(out, c)
		}
	}
	return out
}

func (h *house) last(id string) Catalog {
	if all := h.all(id); len(all) > 0 {
		return all[len(all)-1]
	}
	return Catalog{}
}

// tool returns a tool of the last catalog of a server.
func (h *house) tool(id, name string) Tool {
	h.t.Helper()
	var found Tool
	await(h.t, "the tool "+name, func() bool {
		for _, t := range h.last(id).Tools {
			if t.Name == name {
				found = t
				return true
			}
		}
		return false
	})
	return found
}

func (h *house) call(name string, change ...func(*mcp.CallToolParams)) (*mcp.CallToolResult, error) {
	return h.callAs(h.tool("s", name).Fingerprint, name, change...)
}

func (h *house) callAs(judged engine.Fingerprint, name string, change ...func(*mcp.CallToolParams)) (*mcp.CallToolResult, error) {
	p := &mcp.CallToolParams{Name: name}
	for _, f := range change {
		f(p)
	}
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	return h.CallTool(ctx, "s", judged, p, nil)
}

// await waits until ok.
func await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(deadline); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

func (h *house) awaitState(id string, want State) {
	h.t.Helper()
	await(h.t, fmt.Sprintf("%s to be %s", id, want), func() bool { return h.status(id).State == want })
}

// problems returns what is wrong with a server, one a line.
func problems(ps []Problem) string {
	var out []string
	for _, p := range ps {
		out = append(out, p.Error())
	}
	return strings.Join(out, "\n")
}

func names(c Catalog) []string {
	var out []string
	for _, t := range c.Tools {
		out = append(out, t.Name)
	}
	return out
}

func texts(r *mcp.CallToolResult) string {
	var out []string
	for _, c := range r.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			out = append(out, t.Text)
		}
	}
	return strings.Join(out, "\n")
}

// descriptors returns how many files are open; 0 where that cannot be known.
func descriptors() int {
	if runtime.GOOS != "linux" {
		return 0
	}
	es, _ := os.ReadDir("/proc/self/fd")
	return len(es)
}

// nothingLeft checks, when the test is over, that goroutines and files are as many as now.
func nothingLeft(t testing.TB) {
	t.Helper()
	goroutines, files := runtime.NumGoroutine(), descriptors()
	t.Cleanup(func() {
		end := time.Now().Add(15 * time.Second)
		for runtime.NumGoroutine() > goroutines || descriptors() > files {
			if time.Now().After(end) {
				buf := make([]byte, 1<<20)
				t.Errorf("%d goroutines, %d before; %d files, %d before\n%s", runtime.NumGoroutine(), goroutines, descriptors(), files,
					buf[:runtime.Stack(buf, true)])
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	})
}

func has(list []string, s string) bool { return slices.Contains(list, s) }
