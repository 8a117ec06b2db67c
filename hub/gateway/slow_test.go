package gateway

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// raw sends a request as it stands, and returns the connection with the answer unread but for its header.
func (w *world) raw(method, body string, header ...string) (net.Conn, *http.Response) {
	w.t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(w.web.URL, "http://"))
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = c.Close() })
	_ = c.(*net.TCPConn).SetReadBuffer(4 << 10)
	_, err = fmt.Fprintf(c, "%s /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"+
		"Accept: application/json, text/event-stream\r\nContent-Length: %d\r\n%s\r\n\r\n%s", method, len(body), strings.Join(header, "\r\n"), body)
	require.NoError(w.t, err)
	require.NoError(w.t, c.SetReadDeadline(time.Now().Add(20*time.Second)))
	res, err := http.ReadResponse(bufio.NewReaderSize(c, 16), nil)
	require.NoError(w.t, err)
	return c, res
}

// rawSession opens a session of the older protocols and returns what stands in the header of its requests.
func (w *world) rawSession(more ...string) []string {
	w.t.Helper()
	c, res := w.raw("POST", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",`+
		`"capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`, append(more, "Connection: close")...)
	require.Equal(w.t, http.StatusOK, res.StatusCode)
	_ = c.Close()
	header := append(more, "Mcp-Session-Id: "+res.Header.Get("Mcp-Session-Id"), "Mcp-Protocol-Version: 2025-11-25")
	_, res = w.raw("POST", `{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}`, header...)
	require.Equal(w.t, http.StatusAccepted, res.StatusCode)
	return header
}

// A caller that opens a stream and never reads keeps nothing from the others, and does not keep the gateway from stopping.
func TestACallerThatDoesNotRead(t *testing.T) {
	uri := "demo://" + strings.Repeat("x", maxURI-100)
	for name, open := range map[string]func(w *world){
		"2025-11-25": func(w *world) {
			header := w.rawSession()
			_, res := w.raw("POST", `{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"penstock:fs:`+uri+`"}}`, header...)
			require.Equal(w.t, http.StatusOK, res.StatusCode)
			w.raw("GET", "", header...)
		},
		"2026-07-28": func(w *world) {
			w.raw("POST", `{"jsonrpc":"2.0","id":2,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["penstock:fs:`+uri+`"]},`+
				`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"},`+
				`"io.modelcontextprotocol/clientCapabilities":{}}}}`, "Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: subscriptions/listen")
		},
	} {
		t.Run(name, func(t *testing.T) {
			fs := newFake(t, "old")
			fs.addOthers()
			w := newWorld(t, map[string]string{"hub.yaml": hubYAML(), "policy.yaml": policyYAML("resource:fs/*", "fs/*")}, map[string]*fake{"fs": fs}, nil)
			open(w) // first, so that it is told first where one is told after the other
			eventually(t, "the subscription", func() bool { return fs.subscribed(uri) == 1 })
			update := func(uri string) {
				require.NoError(t, fs.server.ResourceUpdated(t.Context(), &mcp.ResourceUpdatedNotificationParams{URI: uri}))
			}
			// As many as all buffers on the way hold, each when the one before has been dealt with.
			stuck := func() bool {
				w.g.notices.mu.Lock()
				defer w.g.notices.mu.Unlock()
				return len(w.g.notices.wait) > 0
			}
			eventually(t, "a write that does not end", func() bool {
				update(uri)
				for end := time.Now().Add(500 * time.Millisecond); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
					if !stuck() {
						return false
					}
				}
				return true
			})
			began := time.Now()
			changed := make(chan struct{}, 100)
			var u updates
			o := u.options()
			o.ToolListChangedHandler = func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} }
			cs := w.client(protocols[0], "", o)
			require.Len(t, toolNames(t, cs), 1)
			require.NoError(t, cs.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "penstock:fs:demo://a"}))
			eventually(t, "the other caller hears of a resource", func() bool { update("demo://a"); return len(u.heard()) > 0 })
			fs.add("new", "")
			eventually(t, "the other caller hears of a list", func() bool { return len(changed) > 0 })
			require.Less(t, time.Since(began), takeTimeout, "it was kept waiting")
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			require.NoError(t, w.g.Close(ctx))
		})
	}
}

// A response goes on as long as pieces of it are taken, and ends when one is not.
func TestWritesHaveAnEnd(t *testing.T) {
	const timeout = 300 * time.Millisecond
	size := 16 << 20
	result := make(chan error, 1)
	web := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/writes" { // a client that looks for another test's server, which had this port
			http.NotFound(rw, r)
			return
		}
		rw, done := newTimely(rw, timeout)
		defer done()
		_, err := rw.Write(make([]byte, size))
		if err == nil {
			time.Sleep(2 * timeout) // as a stream that has nothing to say
			_, err = rw.Write([]byte("the end"))
			err = errors.Join(err, http.NewResponseController(rw).Flush())
		}
		result <- err
	}))
	defer web.Close()
	get := func(read func(*bufio.Reader)) {
		c, err := net.Dial("tcp", web.Listener.Addr().String())
		require.NoError(t, err)
		defer c.Close()
		_, err = fmt.Fprintf(c, "GET /writes HTTP/1.0\r\n\r\n")
		require.NoError(t, err)
		require.NoError(t, c.SetReadDeadline(time.Now().Add(20*time.Second)))
		read(bufio.NewReaderSize(c, 64<<10))
	}
	get(func(r *bufio.Reader) {
		n := 0
		for began := time.Now(); ; {
			if _, err := r.Peek(1); err != nil {
				break
			}
			m, _ := r.Discard(r.Buffered())
			if n += m; time.Since(began) < 3*timeout {
				time.Sleep(time.Millisecond) // slow, and not stuck
			}
		}
		require.Greater(t, n, size)
	})
	require.NoError(t, <-result)
	get(func(*bufio.Reader) { require.ErrorIs(t, <-result, os.ErrDeadlineExceeded) })
}
