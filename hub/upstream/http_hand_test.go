//go:build unix

// Servers over HTTP that are written by hand, since no SDK would let them do what they do.

package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// byHand is an HTTP server of 2025-11-25 that answers with JSON what the fakes answer.
func byHand(t testing.TB, answer func(w http.ResponseWriter, r *http.Request, req request) bool) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		body, _ := io.ReadAll(r.Body)
		var req request
		_ = json.Unmarshal(body, &req)
		if answer != nil && answer(w, r, req) {
			return
		}
		if len(req.ID) == 0 {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		(&fake{out: w}).answer(req)
	}))
	t.Cleanup(srv.Close)
	return srv
}

func TestHeadersGoToTheServerAndNowhereElse(t *testing.T) {
	var leaked atomic.Int32
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { leaked.Add(1) }))
	defer elsewhere.Close()
	var mu sync.Mutex
	var seen []string
	var to atomic.Value
	to.Store("")
	srv := byHand(t, func(w http.ResponseWriter, r *http.Request, req request) bool {
		mu.Lock()
		seen = append(seen, r.URL.RequestURI()+" "+r.Header.Get("Authorization")+" "+r.Header.Get("X-Key"))
		mu.Unlock()
		if r.URL.Path == "/old" {
			http.Redirect(w, r, "new?b=2", http.StatusTemporaryRedirect)
			return true
		}
		if s := to.Load().(string); s != "" && req.Method == "tools/call" {
			http.Redirect(w, r, s, http.StatusTemporaryRedirect)
			return true
		}
		return false
	})
	address := "http://somebody:sesame-open@" + strings.TrimPrefix(srv.URL, "http://") + "/old?token=sesame-query"
	h := one(t, Server{URL: address, Headers: map[string]string{"X-Key": "sesame-header"}})
	if st := h.status("s"); st.State != Up {
		t.Fatalf("%+v", st)
	}
	mu.Lock()
	if first := seen[0]; !strings.HasPrefix(first, "/old?token=sesame-query Basic ") || !strings.HasSuffix(first, " sesame-header") {
		t.Error(first)
	}
	if second := seen[1]; !strings.HasPrefix(second, "/new?b=2 Basic ") || !strings.HasSuffix(second, " sesame-header") {
		t.Error(second)
	}
	mu.Unlock()
	for _, s := range []string{elsewhere.URL, strings.Replace(srv.URL, "http:", "https:", 1), "//" + strings.TrimPrefix(elsewhere.URL, "http://") + "/x", "ftp://x", ":bad"} {
		to.Store(s)
		if _, err := h.call("echo"); !errors.Is(err, ErrRedirect) || strings.Contains(err.Error(), "sesame") {
			t.Errorf("%s: %v", s, err)
		}
	}
	to.Store(srv.URL + "/loop")
	if _, err := h.call("echo"); !errors.Is(err, ErrRedirect) {
		t.Error(err)
	}
	if leaked.Load() != 0 {
		t.Error("another origin was asked")
	}
	srv.Close()
	_, err := h.call("echo")
	if err == nil || strings.Contains(err.Error(), "sesame") {
		t.Error(err)
	}
	await(t, "it to be down", func() bool { return h.status("s").Err != nil })
	if err := h.status("s").Err; strings.Contains(err.Error(), "sesame") || strings.Contains(h.log.String(), "sesame") {
		t.Error(err)
	}
}

func TestBodiesAreBounded(t *testing.T) {
	nothingLeft(t)
	chunk := []byte(strings.Repeat(" ", 1<<20))
	for _, kind := range []string{"application/json", "text/event-stream"} {
		t.Run(kind, func(t *testing.T) {
			var wrote atomic.Int64
			srv := byHand(t, func(w http.ResponseWriter, r *http.Request, req request) bool {
				if req.Method != "tools/call" {
					return false
				}
				w.Header().Set("Content-Type", kind)
				_, _ = io.WriteString(w, "data: ")
				for {
					n, err := w.Write(chunk)
					if wrote.Add(int64(n)) > maxMessage*4 || err != nil {
						return true
					}
				}
			})
			h := one(t, Server{URL: srv.URL})
			if _, err := h.call("echo"); err == nil {
				t.Error("an endless body")
			}
			if err := h.Close(); err != nil {
				t.Error(err)
			}
			if wrote.Load() > 2*maxMessage-1 { // what is on its way when it is too much, the buffers of the network, counts as written
				t.Errorf("%d bytes were read", wrote.Load())
			}
		})
	}
}

func TestAStreamThatGoesOnBehindItsResponse(t *testing.T) {
	nothingLeft(t)
	gone := make(chan struct{}, 10)
	srv := byHand(t, func(w http.ResponseWriter, r *http.Request, req request) bool {
		if req.Method != "tools/call" {
			return false
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, ": hello\r\nevent: other\ndata: {}\n\nid: 7\nretry: 10\n\ndata: junk\n\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\ndata:\"id\":%s,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"ok\"}]}}\n\n", req.ID)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		gone <- struct{}{}
		return true
	})
	h := one(t, Server{URL: srv.URL})
	for range 3 {
		res, err := h.call("echo")
		if err != nil || texts(res) != "ok" {
			t.Fatalf("%+v %v", res, err)
		}
		select {
		case <-gone:
		case <-time.After(deadline):
			t.Fatal("the stream is still read")
		}
	}
}

func TestHTTPAnswersThatAreNone(t *testing.T) {
	for name, f := range map[string]func(w http.ResponseWriter, req request){
		"not json": func(w http.ResponseWriter, _ request) { _, _ = io.WriteString(w, "<html>") },
		"another id": func(w http.ResponseWriter, _ request) {
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":99,"result":{}}`)
		},
		"a notice": func(w http.ResponseWriter, _ request) {
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","method":"notifications/x"}`)
		},
		"an array": func(w http.ResponseWriter, req request) {
			fmt.Fprintf(w, `[{"jsonrpc":"2.0","id":%s,"result":{}}]`, req.ID)
		},
		"500": func(w http.ResponseWriter, _ request) { w.WriteHeader(500) },
	} {
		t.Run(name, func(t *testing.T) {
			srv := byHand(t, func(w http.ResponseWriter, _ *http.Request, req request) bool {
				if req.Method != "tools/call" {
					return false
				}
				w.Header().Set("Content-Type", "application/json")
				f(w, req)
				return true
			})
			h := one(t, Server{URL: srv.URL})
			if _, err := h.call("echo"); err == nil {
				t.Error("it was taken for an answer")
			}
			if st := h.status("s"); st.State != Up {
				t.Errorf("%+v", st)
			}
		})
	}
}

func TestAnEmptyBodyIsNoAnswer(t *testing.T) {
	srv := byHand(t, func(w http.ResponseWriter, _ *http.Request, req request) bool {
		w.Header().Set("Content-Type", "application/json")
		return req.Method == "tools/call"
	})
	h := one(t, Server{URL: srv.URL})
	if _, err := h.call("echo"); err == nil {
		t.Error("it was taken for an answer")
	}
}

func TestArgumentsThatGoIntoHeaders(t *testing.T) {
	server, site := serve(t, true, &mcp.StreamableHTTPOptions{Stateless: true})
	server.AddTool(&mcp.Tool{Name: "region", InputSchema: json.RawMessage(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`)},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: r.Extra.Header.Get("Mcp-Param-Region")}}}, nil
		})
	h := one(t, Server{URL: "http://" + site.addr})
	res, err := h.call("region", func(p *mcp.CallToolParams) { p.Arguments = json.RawMessage(`{"region":"eu"}`) })
	if err != nil || texts(res) != "eu" {
		t.Errorf("%+v %v", res, err)
	}
}

func TestServersThatCloseTheStreamOfNotices(t *testing.T) {
	server := sdkServer(true)
	inner := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true})
	var listens atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Method") == "subscriptions/listen" {
			listens.Add(1)
			ctx, cancel := context.WithTimeout(r.Context(), 10*time.Millisecond)
			defer cancel()
			r = r.WithContext(ctx)
		}
		inner.ServeHTTP(w, r)
	}))
	defer srv.Close()
	h := one(t, Server{URL: srv.URL})
	await(t, "it to be listened to again", func() bool { return listens.Load() >= 3 })
	add(server, "between")
	await(t, "what changed in between", func() bool { return has(names(h.last("s")), "between") })
	if n := len(h.all("s")); n != 2 || !slices.Equal(names(h.all("s")[0]), []string{"echo"}) {
		t.Errorf("%d catalogs: the server was taken for dead", n)
	}
}

func TestAServerThatIsSilentBeforeItsFirstNotice(t *testing.T) {
	for _, status := range []int{http.StatusOK, http.StatusMethodNotAllowed} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			nothingLeft(t)
			change := make(chan struct{})
			var grown atomic.Bool
			inner := byHand(t, func(w http.ResponseWriter, _ *http.Request, req request) bool {
				if req.Method != "tools/list" || !grown.Load() {
					return false
				}
				w.Header().Set("Content-Type", "application/json")
				(&fake{out: w}).result(req.ID, `{"tools":[`+plainTool("echo")+`,`+plainTool("grown")+`]}`)
				return true
			})
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodGet {
					inner.Config.Handler.ServeHTTP(w, r)
					return
				}
				select {
				case <-change:
				case <-r.Context().Done():
					return
				}
				w.Header().Set("Content-Type", "text/event-stream")
				w.WriteHeader(status)
				_, _ = io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n")
				w.(http.Flusher).Flush()
				<-r.Context().Done()
			}))
			defer srv.Close()
			h := one(t, Server{URL: srv.URL})
			if _, err := h.call("echo"); err != nil {
				t.Fatal(err)
			}
			grown.Store(true)
			close(change)
			if status == http.StatusOK {
				await(t, "the new tool", func() bool { return has(names(h.last("s")), "grown") })
			}
			if _, err := h.call("echo"); err != nil || len(h.all("s")) > 2 {
				t.Error(err)
			}
			if err := h.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
