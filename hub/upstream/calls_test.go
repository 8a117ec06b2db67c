//go:build unix

package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/penstock-mcp/penstock/engine"
)

func TestAToolThatIsNotListedIsNotCalled(t *testing.T) {
	h := one(t, program(t, "plain")) // it answers any name with success
	fp := h.tool("s", "echo").Fingerprint
	for _, name := range []string{"other", "Echo", "echo ", ""} {
		for _, judged := range []engine.Fingerprint{"", fp} {
			if _, err := h.callAs(judged, name); !errors.Is(err, ErrNoTool) {
				t.Errorf("%q: %v", name, err)
			}
		}
	}
	if _, err := h.callAs("", "echo"); !errors.Is(err, ErrChanged) {
		t.Error(err)
	}
	if _, err := h.CallTool(context.Background(), "none", fp, &mcp.CallToolParams{Name: "echo"}, nil); !errors.Is(err, ErrNoServer) {
		t.Error(err)
	}
}

func TestANameThatIsListedTwiceIsNotCalled(t *testing.T) {
	h := one(t, program(t, "list", "LIST", `{"tools":[`+plainTool("a")+`,`+plainTool("b")+`,{"name":"a","inputSchema":{"type":"object"}},`+plainTool("a")+`]}`))
	c := h.last("s")
	if got := names(c); !slices.Equal(got, []string{"a", "b", "a", "a"}) {
		t.Error(got)
	}
	for _, tool := range c.Tools {
		_, err := h.callAs(tool.Fingerprint, tool.Name)
		if want := tool.Name == "a"; errors.Is(err, ErrTwice) != want || (err != nil) != want {
			t.Errorf("%s: %v", tool.Name, err)
		}
	}
	if got := problems(c.Problems); strings.Count(got, ErrTwice.Error()) != 1 || !strings.Contains(got, "server s: a: ") {
		t.Error(got)
	}
}

func TestAToolThatChangesAfterItWasJudgedIsNotCalled(t *testing.T) {
	h := one(t, program(t, "changing"))
	judged := h.tool("s", "turns").Fingerprint
	if _, err := h.callAs(judged, "turns"); err != nil {
		t.Fatal(err)
	}
	if _, err := h.call("change"); err != nil {
		t.Fatal(err)
	}
	// The notification came before the answer did: from now on the tool that was judged must not run, whether or not the
	// list has been read.
	if _, err := h.callAs(judged, "turns"); !errors.Is(err, ErrChanged) {
		t.Fatal(err)
	}
	now := h.tool("s", "turns")
	if now.Fingerprint == judged || now.Definition.Description != "1" {
		t.Errorf("%+v", now)
	}
	if _, err := h.callAs(now.Fingerprint, "turns"); err != nil {
		t.Error(err)
	}
}

func TestAListThatWasAnnouncedAndNotShown(t *testing.T) {
	h := one(t, program(t, "stale"))
	fp := h.tool("s", "echo").Fingerprint
	if _, err := h.callAs(fp, "echo"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	_, err := h.CallTool(ctx, "s", fp, &mcp.CallToolParams{Name: "echo"}, nil)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

func TestAToolWithoutFingerprint(t *testing.T) {
	h := one(t, program(t, "list", "LIST", `{"tools":[{"name":"a","name2":1,"name2":2},{"name":"n","inputSchema":{"type":"object","properties":{"x":{"maximum":9223372036854775807}}}}]}`))
	a := h.tool("s", "a")
	if a.Fingerprint != "" || a.Definition != nil || string(a.Raw) != `{"name":"a","name2":1,"name2":2}` {
		t.Errorf("%+v", a)
	}
	n := h.tool("s", "n")
	if n.Fingerprint != "" || n.Definition == nil || !strings.Contains(string(n.Definition.InputSchema.(json.RawMessage)), "9223372036854775807") {
		t.Errorf("%+v", n)
	}
	if _, err := h.callAs("penstock1:00", "a"); !errors.Is(err, ErrChanged) {
		t.Error(err)
	}
	if _, err := h.callAs("", "a"); err != nil {
		t.Error(err)
	}
}

func TestNumbersKeepTheirDigits(t *testing.T) {
	h := one(t, program(t, "numbers"))
	const args = `{"n":9007199254740993,"f":0.10}`
	res, err := h.call("echo", func(p *mcp.CallToolParams) { p.Arguments = json.RawMessage(args) })
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"id": 9007199254740993, "e": 1E400, "b":1,"a":2, "args":` + args + `}`
	if got, ok := res.StructuredContent.(json.RawMessage); !ok || string(got) != want {
		t.Errorf("%T %s", res.StructuredContent, res.StructuredContent)
	}
	if res.IsError || res.Content == nil {
		t.Errorf("%+v", res)
	}
}

func TestAnswersThatAreNone(t *testing.T) {
	for answer, check := range map[string]func(*mcp.CallToolResult, error) bool{
		`{"content":[],"structuredContent":1,"structuredContent":2}`: func(_ *mcp.CallToolResult, err error) bool { return err != nil },
		`{"content":[{"type":"hologram"}]}`:                          func(_ *mcp.CallToolResult, err error) bool { return err != nil },
		`"text"`:                                                     func(_ *mcp.CallToolResult, err error) bool { return err != nil },
		`{"content":[],"structuredContent":"x"}`: func(r *mcp.CallToolResult, err error) bool {
			return err == nil && string(r.StructuredContent.(json.RawMessage)) == `"x"`
		},
		`{"content":[],"structuredContent":null}`: func(r *mcp.CallToolResult, err error) bool {
			return err == nil && r.StructuredContent == nil
		},
		strings.Repeat("[", 5000) + strings.Repeat("]", 5000): func(_ *mcp.CallToolResult, err error) bool { return err != nil },
	} {
		h := one(t, program(t, "answers", "ANSWER", answer))
		if res, err := h.call("echo"); !check(res, err) {
			t.Errorf("%.60s: %+v %v", answer, res, err)
		}
		if st := h.status("s"); st.State != Up {
			t.Errorf("%.60s: the server is %s", answer, st.State)
		}
	}
}

func TestErrorsOfServersComeThrough(t *testing.T) {
	h := one(t, program(t, "plain"))
	_, err := h.GetPrompt(context.Background(), "s", &mcp.GetPromptParams{Name: "x"}, nil)
	var answer *jsonrpc.Error
	if !errors.As(err, &answer) || answer.Code != jsonrpc.CodeMethodNotFound {
		t.Errorf("%v", err)
	}
	if _, err := h.Complete(context.Background(), "s", &mcp.CompleteParams{}); !errors.Is(err, ErrNotSupported) {
		t.Error(err)
	}
	if err := h.Subscribe(context.Background(), "s", "a://b"); !errors.Is(err, ErrNotSupported) {
		t.Error(err)
	}
	for _, err := range []error{
		func() error { _, err := h.CallTool(context.Background(), "s", "", nil, nil); return err }(),
		func() error { _, err := h.ReadResource(context.Background(), "s", nil, nil); return err }(),
		func() error { _, err := h.GetPrompt(context.Background(), "s", nil, nil); return err }(),
		func() error { _, err := h.Complete(context.Background(), "s", nil); return err }(),
	} {
		if !errors.Is(err, errNoParams) {
			t.Error(err)
		}
	}
}

func TestProgressIsPassedOn(t *testing.T) {
	h := one(t, program(t, "progress"))
	var mu sync.Mutex
	var got []float64
	for range 20 {
		mu.Lock()
		got = nil
		mu.Unlock()
		over := false
		res, err := h.CallTool(context.Background(), "s", h.tool("s", "echo").Fingerprint,
			&mcp.CallToolParams{Name: "echo", Meta: mcp.Meta{"progressToken": "mine", "other": 1}},
			func(_ context.Context, p *mcp.ProgressNotificationParams) {
				mu.Lock()
				defer mu.Unlock()
				if over || p.ProgressToken != "mine" || p.Total != 5 || p.Message != "step" {
					t.Errorf("over: %v, %+v", over, p)
				}
				got = append(got, p.Progress)
			})
		mu.Lock()
		over = true
		mu.Unlock()
		if err != nil || !strings.Contains(texts(res), "penstock-") || strings.Contains(texts(res), "mine") {
			t.Fatalf("%v %v", res, err)
		}
		if !slices.Equal(got, []float64{0, 1, 2, 3, 4}) {
			t.Errorf("%v", got)
		}
	}
	res, err := h.call("echo", func(p *mcp.CallToolParams) { p.Meta = mcp.Meta{"progressToken": "mine"} })
	if err != nil || texts(res) != "null" {
		t.Errorf("nobody asked for progress, and the server was told a token: %v %v", texts(res), err)
	}
}

func TestCancellationIsPassedOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "count")
	h := one(t, program(t, "hangs", "COUNT", path))
	fp := h.tool("s", "echo").Fingerprint
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := h.CallTool(ctx, "s", fp, &mcp.CallToolParams{Name: "echo"}, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	await(t, "the server to be told", func() bool { b, _ := os.ReadFile(path); return len(b) == 1 })
	if st := h.status("s"); st.State != Up {
		t.Errorf("%+v", st)
	}
}

func TestCallsHaveATimeout(t *testing.T) {
	h := one(t, program(t, "hangs", "COUNT", filepath.Join(t.TempDir(), "count")), func(o *Options) { o.CallTimeout = 50 * time.Millisecond })
	if _, err := h.call("echo"); !errors.Is(err, ErrTimeout) {
		t.Error(err)
	}
}

func TestPromptsResourcesAndSubscriptions(t *testing.T) {
	h := one(t, program(t, "resources"))
	c := h.last("s")
	if len(c.Resources) != 2 || c.Resources[1].URI != "a://4" || len(c.Prompts) != 1 || !c.Subscribe || !c.Completions || len(c.Templates) != 0 {
		t.Errorf("%+v", c)
	}
	got := problems(c.Problems)
	for _, want := range []string{"a://1: it is listed more than once", "resources[2]: it is left out", "a://2: it is left out", "q: it is left out"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	ctx := context.Background()
	for range 2 { // it is not kept, whatever the server says of its age
		r, err := h.ReadResource(ctx, "s", &mcp.ReadResourceParams{URI: "a://1"}, nil)
		if err != nil || len(r.Contents) != 1 || r.Contents[0].Text != "hello" || r.TTLMs != 100000 {
			t.Errorf("%+v %v", r, err)
		}
	}
	if p, err := h.GetPrompt(ctx, "s", &mcp.GetPromptParams{Name: "p"}, nil); err != nil || len(p.Messages) != 1 {
		t.Error(p, err)
	}
	if r, err := h.Complete(ctx, "s", &mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "p"}}); err != nil || len(r.Completion.Values) != 1 {
		t.Error(r, err)
	}
	updates := func(n int) func() bool {
		return func() bool {
			h.mu.Lock()
			defer h.mu.Unlock()
			return len(h.updates) >= n && h.updates[n-1] == "s a://2"
		}
	}
	for range 2 {
		if err := h.Subscribe(ctx, "s", "a://2"); err != nil {
			t.Fatal(err)
		}
	}
	await(t, "the update", updates(1))
	if _, err := h.ReadResource(ctx, "s", &mcp.ReadResourceParams{URI: "a://die"}, nil); !errors.Is(err, ErrLost) {
		t.Error(err)
	}
	await(t, "the subscription to be renewed", updates(2))
	await(t, "it to be up", func() bool { return len(h.all("s")) >= 3 && h.last("s").Up })
	if err := h.Unsubscribe(ctx, "s", "a://2"); err != nil {
		t.Fatal(err)
	}
	_, _ = h.ReadResource(ctx, "s", &mcp.ReadResourceParams{URI: "a://die"}, nil)
	await(t, "it to be back", func() bool { return len(h.all("s")) >= 5 && h.last("s").Up })
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.updates) != 2 {
		t.Errorf("%v", h.updates)
	}
}
