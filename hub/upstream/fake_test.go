//go:build unix

// Servers that do what servers must not do. A fake is this test's own program, started again with a word in its
// environment that says how it misbehaves.

package upstream

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"testing"
	"time"
)

const fakeKey = "PENSTOCK_FAKE"

func TestMain(m *testing.M) {
	if name := os.Getenv(fakeKey); name != "" {
		f, ok := fakes[name]
		if !ok {
			fmt.Fprintln(os.Stderr, "no such fake:", name)
			os.Exit(3)
		}
		f(&fake{out: os.Stdout})
		os.Exit(0)
	}
	// The runtime opens two files of its own when the first pipe is used. They are not a leak.
	if r, w, err := os.Pipe(); err == nil {
		_ = r.SetReadDeadline(time.Now())
		_ = r.Close()
		_ = w.Close()
	}
	os.Exit(m.Run())
}

// program returns a server that is the fake of that name, with more environment in pairs.
func program(t testing.TB, name string, env ...string) Server {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := Server{Command: exe, Env: map[string]string{fakeKey: name}}
	for i := 0; i+1 < len(env); i += 2 {
		s.Env[env[i]] = env[i+1]
	}
	return s
}

// request is what a fake is asked.
type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string          `json:"name"`
		Cursor    string          `json:"cursor"`
		URI       string          `json:"uri"`
		Arguments json.RawMessage `json:"arguments"`
		Meta      map[string]any  `json:"_meta"`
	} `json:"params"`
}

// fake speaks the protocol of 2025-11-25 by hand.
type fake struct {
	mu  sync.Mutex
	out io.Writer

	caps  string                                   // of initialize; "" is tools
	tools func(r request) string                   // the result of tools/list
	call  func(r request) string                   // the result of tools/call; "" for no answer
	other func(r request) (result string, ok bool) // any other request
}

func (f *fake) line(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, _ = io.WriteString(f.out, fmt.Sprintf(format, args...)+"\n")
}

func (f *fake) raw(s string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, _ = io.WriteString(f.out, s)
}

func (f *fake) result(id json.RawMessage, result string) {
	f.raw(`{"jsonrpc":"2.0","id":` + string(id) + `,"result":` + result + "}\n")
}

func (f *fake) notify(method string) { f.line(`{"jsonrpc":"2.0","method":%q}`, method) }

// serve answers until its input ends.
func (f *fake) serve() {
	r := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		var req request
		if json.Unmarshal(line, &req) != nil || len(req.ID) == 0 {
			continue
		}
		f.answer(req)
	}
}

func (f *fake) answer(req request) {
	if f.other != nil {
		if res, ok := f.other(req); ok {
			if res != "" {
				f.result(req.ID, res)
			}
			return
		}
	}
	switch req.Method {
	case "initialize":
		caps := f.caps
		if caps == "" {
			caps = `{"tools":{"listChanged":true}}`
		}
		f.result(req.ID, `{"protocolVersion":"2025-11-25","capabilities":`+caps+`,"serverInfo":{"name":"fake","version":"1"}}`)
	case "ping":
		f.result(req.ID, `{}`)
	case "tools/list":
		res := `{"tools":[` + plainTool("echo") + `]}`
		if f.tools != nil {
			res = f.tools(req)
		}
		f.result(req.ID, res)
	case "tools/call":
		if f.call == nil {
			f.result(req.ID, `{"content":[{"type":"text","text":"ran `+req.Params.Name+`"}]}`)
		} else if res := f.call(req); res != "" {
			f.result(req.ID, res)
		}
	default:
		f.line(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, req.ID)
	}
}

func plainTool(name string) string {
	return fmt.Sprintf(`{"name":%q,"description":"does %s","inputSchema":{"type":"object","properties":{"a":{"type":"string"}}}}`, name, name)
}

// count reads, and raises, a number in a file: fakes that are started again and again know how often.
func count(path string) int {
	b, _ := os.ReadFile(path)
	_ = os.WriteFile(path, append(b, '.'), 0o600)
	return len(b)
}
