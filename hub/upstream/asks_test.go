//go:build unix

package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

func (t *tap) open() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.asked)
}

// A server that asks and does not read the answers is heard only so often, and again when it has read them.
func TestRequestsOfAServerAreBounded(t *testing.T) {
	tap := newTap()
	ask := func(id string) bool {
		out, _, _ := tap.received([]byte(`{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}`))
		return out != nil
	}
	for i := range maxAsked {
		id := fmt.Sprint(i)
		if i%2 == 1 {
			id = `"` + id + `"`
		}
		if !ask(id) {
			t.Fatalf("request %s is not heard", id)
		}
		if ask(id) {
			t.Fatalf("request %s is heard twice", id)
		}
	}
	if ask("1000") || ask(`"x"`) {
		t.Fatal("there is one too many")
	}
	if n, _, _ := tap.junkReport(time.Time{}); n != maxAsked+2 {
		t.Fatalf("%d requests were left out, and nobody hears of it", n)
	}
	if id, method := requestOf([]byte(`{"jsonrpc":"2.0","id":"1","result":{}}`)); id != `"1"` || method != "" {
		t.Fatalf("an answer is %q %q", id, method)
	}
	tap.replied(`"1"`)
	if !ask("1000") || ask("1001") || tap.open() != maxAsked {
		t.Fatal("an answer makes room for one")
	}
	for _, bad := range []string{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, `{"jsonrpc":"2.0","id":7,"id":8,"method":"ping"}`} {
		if out, _, err := tap.received([]byte(bad)); out != nil || err == nil {
			t.Fatalf("%s goes through", bad)
		}
	}
}

// Over HTTP as well as over pipes, an answer counts as given when it has been taken.
func TestAnswersAreTakenBeforeTheyCount(t *testing.T) {
	hold, posted := make(chan struct{}), make(chan struct{}, 1000)
	web := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m struct {
			Method string
			ID     json.RawMessage
		}
		_ = json.Unmarshal(body, &m)
		switch {
		case r.Method != http.MethodPost:
			rw.Header().Set("Content-Type", "text/event-stream")
			for i := range 10 * maxAsked {
				fmt.Fprintf(rw, "data: {\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"ping\"}\n\n", i)
			}
			_ = http.NewResponseController(rw).Flush()
			<-r.Context().Done()
		case m.Method == "":
			posted <- struct{}{}
			select {
			case <-hold:
			case <-r.Context().Done():
			}
			rw.WriteHeader(http.StatusAccepted)
		case m.Method == "initialize":
			rw.Header().Set("Content-Type", "application/json")
			rw.Header().Set("Mcp-Session-Id", "1")
			fmt.Fprintf(rw, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"x","version":"1"}}}`, m.ID)
		case len(m.ID) > 0:
			rw.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(rw, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.ID)
		default:
			rw.WriteHeader(http.StatusAccepted)
		}
	}))
	t.Cleanup(web.Close)
	h := one(t, Server{URL: web.URL})
	tap := h.session().tap
	await(t, "as many answers as are waited for", func() bool { return len(posted) == maxAsked })
	time.Sleep(50 * time.Millisecond)
	if n := len(posted); n != maxAsked || tap.open() != maxAsked {
		t.Fatalf("%d answers are under way, and %d wait", n, tap.open())
	}
	close(hold)
	await(t, "all answers to be taken", func() bool { return tap.open() == 0 })
}

// An answer that cannot be written any more leaves nothing behind.
func TestAnAnswerThatIsNotTaken(t *testing.T) {
	c := &stdioConn{tap: newTap(), out: make(chan outgoing), closed: make(chan struct{})}
	id, _ := jsonrpc.MakeID("a")
	c.tap.asks(idText(id))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Write(ctx, &jsonrpc.Response{ID: id, Result: json.RawMessage(`{}`)}); err == nil || c.tap.open() != 0 {
		t.Fatalf("%v, and %d wait", err, c.tap.open())
	}
}
