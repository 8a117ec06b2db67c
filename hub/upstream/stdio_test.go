//go:build unix

package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestToolsAreListedAndCalled(t *testing.T) {
	nothingLeft(t)
	h := one(t, program(t, "plain"))
	st := h.status("s")
	if st.State != Up || st.Tools != 1 || st.Err != nil {
		t.Fatalf("%+v", st)
	}
	tool := h.tool("s", "echo")
	if string(tool.Raw) != plainTool("echo") || tool.Fingerprint == "" || tool.Definition == nil {
		t.Errorf("%+v", tool)
	}
	res, err := h.call("echo")
	if err != nil || texts(res) != "ran echo" {
		t.Errorf("%v %v", res, err)
	}
}

func TestLongListsComeWhole(t *testing.T) {
	for _, size := range []int{2 << 20, 20 << 20} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			h := one(t, program(t, "big", "SIZE", fmt.Sprint(size)))
			if big := h.tool("s", "big"); len(big.Raw) < size || len(big.Definition.Description) != size || big.Fingerprint == "" {
				t.Errorf("%d bytes", len(big.Raw))
			}
			if _, err := h.call("small"); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestALineWithoutEndEndsTheSession(t *testing.T) {
	nothingLeft(t)
	h := one(t, program(t, "longline"))
	if st := h.status("s"); st.State == Up || !errors.Is(st.Err, ErrTooMuch) {
		t.Errorf("%+v", st)
	}
}

func TestJunkIsDroppedAndReported(t *testing.T) {
	h := one(t, program(t, "junk"))
	if _, err := h.call("echo"); err != nil {
		t.Error(err)
	}
	if got := problems(h.status("s").Problems); !strings.Contains(got, "are not JSON-RPC") {
		t.Errorf("%q", got)
	}
	if !strings.Contains(h.log.String(), "a server writes what is not MCP") {
		t.Error("not logged")
	}
}

func TestStandardErrorIsLoggedWithinBounds(t *testing.T) {
	h := one(t, program(t, "stderr", "TOKEN", "sesame-open-up"))
	if _, err := h.call("echo"); err != nil {
		t.Error(err)
	}
	await(t, "the log", func() bool { return strings.Contains(h.log.String(), "line 1") })
	log := h.log.String()
	if n := strings.Count(log, "kind=stderr"); n > 2*sayBurst || len(log) > 1<<20 {
		t.Errorf("%d lines, %d bytes", n, len(log))
	}
	if strings.Contains(log, "sesame") || !strings.Contains(log, "using token [hidden]") {
		t.Errorf("the token is logged: %s", log[:200])
	}
}

func TestServersThatDoNotKnowTheNewestProtocol(t *testing.T) {
	for _, name := range []string{"old", "silent"} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			h.discover = 200 * time.Millisecond
			h.apply(map[string]Server{"s": program(t, name)})
			h.awaitState("s", Up)
			if _, err := h.call("echo"); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAServerThatDoesNotAnswer(t *testing.T) {
	for _, name := range []string{"deaf", "blind"} {
		t.Run(name, func(t *testing.T) {
			nothingLeft(t)
			h := one(t, program(t, name), func(o *Options) { o.ConnectTimeout = 300 * time.Millisecond })
			st := h.status("s")
			if st.State == Up || !errors.Is(st.Err, ErrTimeout) {
				t.Errorf("%+v", st)
			}
			if _, err := h.callAs("", "echo"); !errors.Is(err, ErrDown) {
				t.Error(err)
			}
		})
	}
}

func TestAServerThatDiesAtOnceIsTriedAgainAndAgain(t *testing.T) {
	nothingLeft(t)
	path, path2 := filepath.Join(t.TempDir(), "count"), filepath.Join(t.TempDir(), "count")
	h := one(t, program(t, "short", "COUNT", path, "SECRET", "sesame-open-up"))
	await(t, "attempts", func() bool { return h.status("s").Attempts >= 5 })
	st := h.status("s")
	if st.Err == nil || !strings.Contains(st.Err.Error(), "exit status 9") || !strings.Contains(st.Err.Error(), "cannot open the database") ||
		strings.Contains(st.Err.Error(), "sesame") {
		t.Error(st.Err)
	}
	if len(h.all("s")) != 0 {
		t.Error("a server that was never up is said to be down")
	}
	h.apply(map[string]Server{"s": program(t, "third", "COUNT", path2)})
	h.awaitState("s", Up)
}

func TestACommandThatIsNotThere(t *testing.T) {
	h := one(t, Server{Command: "penstock-no-such-program"})
	if st := h.status("s"); st.Err == nil || !strings.Contains(st.Err.Error(), "is not found") {
		t.Errorf("%+v", st)
	}
	h.apply(map[string]Server{"s": {Command: os.Args[0], Dir: "/no/such/directory"}})
	if st := h.status("s"); st.Err == nil || !strings.Contains(st.Err.Error(), "cwd /no/such/directory is no folder") {
		t.Errorf("%+v", st)
	}
}

func TestCheckStartsNothing(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for want, s := range map[string]Server{
		"":                         {Command: os.Args[0], Dir: dir},
		"is not found (give":       {Command: "penstock-no-such-program"},
		"(arguments go into args)": {Command: "node mock.mjs"},
		"may be run":               {Command: plain},
		"is no folder":             {Command: os.Args[0], Dir: plain},
	} {
		err := s.Check()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v: %v", s, err)
		}
	}
	for _, s := range []Server{{URL: "http://127.0.0.1:1/"}, {Command: "penstock-no-such-program", Disabled: true}} {
		if err := s.Check(); err != nil {
			t.Error(err)
		}
	}
}

// Node ends with where it was and which version it is; npm with where its log is. What went wrong comes before.
func TestTheLastWordsOfAProgramSayWhatWentWrong(t *testing.T) {
	s := &session{w: &worker{says: &says{logger: slog.New(slog.DiscardHandler)}}}
	for i := range 20 {
		s.complained(fmt.Sprintf("starting %d", i))
	}
	for line := range strings.Lines("Error: Cannot find module '/x/nope.js'\n" + strings.Repeat("    at Module._load (node:internal:1)\n", 30) + " {\n  code: 'MODULE_NOT_FOUND'\n}\n\nNode.js v20\n") {
		s.complained(strings.TrimSuffix(line, "\n"))
	}
	want := []string{"starting 17", "starting 18", "starting 19", "Error: Cannot find module '/x/nope.js'", " {", "  code: 'MODULE_NOT_FOUND'", "}", "Node.js v20"}
	if !slices.Equal(s.complaints, want) {
		t.Errorf("%q", s.complaints)
	}
}

func TestTheEnvironmentDoesNotLeak(t *testing.T) {
	t.Setenv("OTHER_SERVERS_SECRET", "sesame")
	t.Setenv("HOME", "/home/somebody")
	h := one(t, program(t, "environment", "OWN", "mine"))
	res, err := h.call("echo")
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintf("%s", res.StructuredContent)
	if strings.Contains(got, "sesame") || !strings.Contains(got, `"OWN=mine"`) || !strings.Contains(got, `"HOME=/home/somebody"`) {
		t.Error(got)
	}
	env := environment(map[string]string{"PATH": "/x"}, func(k string) (string, bool) { return "() { code; }", k == "SHELL" })
	if want := []string{"PATH=/x"}; !reflect.DeepEqual(env, want) {
		t.Error(env)
	}
}

// alive reports whether a process runs: one that is dead and not yet reaped by whoever adopted it does not.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !strings.Contains(string(b), ") Z ")
}

func TestAProgramEndsWithItsChildren(t *testing.T) {
	nothingLeft(t)
	pids := filepath.Join(t.TempDir(), "pids")
	h := one(t, program(t, "stubborn", "PIDS", pids))
	var parent, child int
	b, err := os.ReadFile(pids)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(string(b), &parent, &child); err != nil || !alive(parent) || !alive(child) {
		t.Fatal(err, parent, child)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	await(t, "both to be gone", func() bool { return !alive(parent) && !alive(child) })
}

func TestReconnectingLeavesNothingBehind(t *testing.T) {
	nothingLeft(t)
	h := one(t, program(t, "dies"))
	for i := range 50 {
		h.awaitState("s", Up)
		if _, err := h.call("echo"); err == nil {
			t.Fatalf("call %d", i)
		}
		await(t, "the end", func() bool { return len(h.all("s")) >= 2*(i+1) })
	}
}

func TestTheEndOfAProgramEndsItsCalls(t *testing.T) {
	h := one(t, program(t, "dies"))
	_, err := h.call("echo")
	var e *Error
	if !errors.Is(err, ErrLost) || !errors.As(err, &e) || e.Server != "s" || e.Op != "tools/call" {
		t.Errorf("%v", err)
	}
	await(t, "its tools to vanish", func() bool {
		all := h.all("s")
		return len(all) >= 2 && all[0].Up && !all[1].Up && len(all[1].Tools) == 0
	})
	await(t, "it to be back", func() bool { return len(h.all("s")) >= 3 && h.last("s").Up })
}

func TestCloseEndsWhatIsUnderWay(t *testing.T) {
	nothingLeft(t)
	h := one(t, program(t, "hangs", "COUNT", filepath.Join(t.TempDir(), "count")))
	fp := h.tool("s", "echo").Fingerprint
	done := make(chan error)
	go func() {
		_, err := h.callAs(fp, "echo")
		done <- err
	}()
	await(t, "the call", func() bool {
		tp := h.session().tap
		tp.mu.Lock()
		defer tp.mu.Unlock()
		return len(tp.pending) > 0
	})
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; !errors.Is(err, ErrLost) {
		t.Error(err)
	}
	if _, err := h.CallTool(context.Background(), "s", fp, nil, nil); err == nil {
		t.Error("a call after Close")
	}
	h.Apply(map[string]Server{"s": program(t, "plain")})
	if err := h.Settled(context.Background()); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

func TestAProgramThatReadsNoMore(t *testing.T) {
	nothingLeft(t)
	h := one(t, program(t, "clogged"), func(o *Options) { o.CallTimeout = 200 * time.Millisecond })
	for range 3 {
		if _, err := h.call("echo", func(p *mcp.CallToolParams) { p.Arguments = map[string]string{"a": strings.Repeat("x", 1<<20)} }); !errors.Is(err, ErrTimeout) {
			t.Error(err)
		}
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

func TestTheNewestProtocolWithAProgram(t *testing.T) {
	nothingLeft(t)
	h := one(t, program(t, "sdk"))
	if !h.session().modern() {
		t.Fatal("it is not spoken")
	}
	if _, err := h.call("grow"); err != nil {
		t.Fatal(err)
	}
	if _, err := h.call("grown"); err != nil {
		t.Error(err)
	}
	if res, err := h.call("ask"); err != nil || !res.NeedsInput() {
		t.Errorf("%+v %v", res, err)
	}
	if res, err := h.call("echo"); err != nil || string(res.StructuredContent.(json.RawMessage)) != `{"n":9007199254740993}` {
		t.Errorf("%+v %v", res, err)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}
