package upstream

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

func TestWhatTheTapLetsThrough(t *testing.T) {
	var notices []string
	tp := newTap()
	tp.notify = func(method string, params []byte) { notices = append(notices, method+" "+string(params)) }
	note := func(id, method string) *holder {
		ctx, h := withHolder(context.Background())
		if err := tp.note(ctx, id, method); err != nil {
			t.Fatal(err)
		}
		return h
	}
	list, call, other, listen := note("1", "tools/list"), note("2", "tools/call"), note("3", "resources/read"), note("4", "subscriptions/listen")
	var over error
	listen.over = func(err error) { over = err }
	for _, c := range []struct {
		in, out string
		junk    bool
	}{
		{`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a", "x":1}]}}`, `{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}`, false},
		{`{"jsonrpc":"2.0","id":2.0,"result":{"structuredContent":{"n": 1e400},"content":[]}}`, `{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`, false},
		{`{"jsonrpc":"2.0","id":3,"result":{"structuredContent":1}}`, `{"jsonrpc":"2.0","id":3,"result":{"structuredContent":1}}`, false},
		{`{"jsonrpc":"2.0","id":3,"result":{}}`, ``, false}, // a second answer
		{`{"jsonrpc":"2.0","id":4,"result":{}}`, `{"jsonrpc":"2.0","id":4,"result":{}}`, false},
		{`{"jsonrpc":"2.0","id":"1","result":{}}`, ``, false},
		{`{"jsonrpc":"2.0","method":"notifications/x","params":{"a":1}}`, ``, false},
		{`{"jsonrpc":"2.0","id":null,"method":"notifications/y"}`, ``, false},
		{`{"jsonrpc":"2.0","id":9,"method":"ping"}`, `{"jsonrpc":"2.0","id":9,"method":"ping"}`, false},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, ``, true},
		{`{"jsonrpc":"2.0","method":3}`, ``, true},
		{`{"jsonrpc":"2.0","method":"a","method":"b"}`, ``, true},
		{`{"id":1,"result":{}}`, ``, true},
		{`{"jsonrpc":"2.0"}`, ``, true},
		{`hello`, ``, true},
	} {
		out, _, err := tp.received([]byte(c.in))
		if string(out) != c.out || errors.Is(err, errJunk) != c.junk {
			t.Errorf("%s: %s %v", c.in, out, err)
		}
	}
	if string(list.get()) != `{"tools":[{"name":"a", "x":1}]}` || string(call.get()) != `{"n": 1e400}` || other.get() != nil {
		t.Errorf("%s %s", list.get(), call.get())
	}
	if over != io.EOF {
		t.Error(over)
	}
	if got := strings.Join(notices, "; "); got != `notifications/x {"a":1}; notifications/y ` {
		t.Error(got)
	}
	if n, sample, _ := tp.junkReport(tp.last); n != 6 || sample != "hello" {
		t.Error(n, sample)
	}
	h := note("5", "tools/call")
	tp.forget(h)
	if len(tp.pending) != 0 {
		t.Errorf("%v", tp.pending)
	}
}

// What cannot be read is an error for whoever waits, and not for all.
func TestABadResponseFailsItsCallOnly(t *testing.T) {
	for _, result := range []string{`"result":{"structuredContent":1,"structuredContent":2}`, `"result":3`, `"result":{},"result":{}`, `"x":1`, `"error":3`} {
		tp := newTap()
		ctx, _ := withHolder(context.Background())
		if err := tp.note(ctx, "7", "tools/call"); err != nil {
			t.Fatal(err)
		}
		out, id, err := tp.received([]byte(`{"jsonrpc":"2.0","id":7,` + result + `}`))
		if err != nil || id != "7" {
			t.Fatal(err)
		}
		msg, err := jsonrpc.DecodeMessage(out)
		if err != nil {
			t.Fatal(err)
		}
		if r, ok := msg.(*jsonrpc.Response); !ok || r.Error == nil {
			t.Errorf("%s: %s", result, out)
		}
	}
}

// Whatever a server sends, what the SDK gets can be decoded, and only what was asked for is answered.
func FuzzMessages(f *testing.F) {
	for _, s := range []string{`{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}`, `{"jsonrpc":"2.0","id":2,"result":{"structuredContent":[1e400],"content":[]}}`,
		`{"jsonrpc":"2.0","id":3,"error":{"code":1,"message":"x"}}`, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"a"}}`,
		`{"jsonrpc":"2.0","id":4,"method":"ping"}`, `[{}]`, "\xff", `{"jsonrpc":"2.0","id":"1","result":null}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		tp := newTap()
		tp.notify = func(string, []byte) {}
		for i, method := range []string{"tools/list", "tools/call", "resources/read"} {
			ctx, _ := withHolder(context.Background())
			if err := tp.note(ctx, string(rune('1'+i)), method); err != nil {
				t.Fatal(err)
			}
		}
		for _, line := range split(data) {
			out, id, _ := tp.received(line)
			if out == nil {
				continue
			}
			msg, err := jsonrpc.DecodeMessage(out)
			if err != nil {
				t.Fatalf("%q became %q: %v", line, out, err)
			}
			if r, ok := msg.(*jsonrpc.Response); ok && (idText(r.ID) != id || !strings.Contains("1 2 3", id)) {
				t.Fatalf("%q became %q", line, out)
			}
		}
	})
}

func TestAStreamEndsWithItsResponse(t *testing.T) {
	tp := newTap()
	if err := tp.note(context.Background(), "1", "tools/call"); err != nil {
		t.Fatal(err)
	}
	r, w := io.Pipe()
	go func() {
		_, _ = io.WriteString(w, "id: 5\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n") // and no end
	}()
	b := &body{rt: &roundTripper{tap: tp}, src: r, id: "1"}
	got, err := io.ReadAll(newEvents(b))
	if want := "id: 5\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n"; err != nil || string(got) != want {
		t.Errorf("%q %v", got, err)
	}
	_ = w.Close()
}
