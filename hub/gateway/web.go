// The HTTP listener for callers.
//
// The SDK serves the two generations of the protocol by two handlers: sessions that are kept, up to 2025-11-25, and
// requests that stand alone, from 2026-07-28 on. Both lead to the same server; which of them a request is for is in its
// header, and the SDK holds the header against the body.

package gateway

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/penstock-mcp/penstock/hub"
)

const (
	mcpPath = "/mcp"

	headerTimeout = 10 * time.Second // of a request's header
	bodyTimeout   = 30 * time.Second // of its body: 4 MiB at 140 kB/s
	idleTimeout   = 2 * time.Minute  // of a connection between requests
	maxHeader     = 64 << 10         // bytes: a JWT with many claims has some
	maxBody       = 5 << 20          // bytes: arguments of 4 MiB, which is what the guard takes, and what is around them
)

// web is what callers reach over HTTP.
type web struct {
	g       *Gateway
	mcp     http.Handler // /mcp, behind the gate
	streams streams
	posts   posts

	sessions sessions
}

func newWeb(g *Gateway, c *Config) *web {
	server := func(*http.Request) *mcp.Server { return g.server }
	session := c.Timeouts.Session
	if session == 0 {
		session = defaultSession
	}
	// A web page that has got its own name to mean this machine has no token, so where tokens are asked for any Host will
	// do: a proxy passes on the one that the world knows.
	anyHost := c.authenticates()
	kept := mcp.NewStreamableHTTPHandler(server, &mcp.StreamableHTTPOptions{
		DisableLocalhostProtection: anyHost,
		Logger:                     slog.New(quiet{g.log.Handler()}), SessionTimeout: session, MaxRequestBodyBytes: maxBody,
	})
	alone := mcp.NewStreamableHTTPHandler(server, &mcp.StreamableHTTPOptions{
		DisableLocalhostProtection: anyHost,
		Logger:                     slog.New(quiet{g.log.Handler()}), Stateless: true, PropagateRequestCancellation: true, MaxRequestBodyBytes: maxBody,
	})
	w := &web{g: g}
	w.sessions.live = g.server.Sessions
	w.mcp = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw, done := newTimely(rw, takeTimeout)
		defer done()
		if r.Method == http.MethodPost {
			limitBody(rw, r)
		}
		if endless(r) {
			ctx, done, ok := w.streams.begin(r.Context(), auth.TokenInfoFromContext(r.Context()))
			if !ok {
				http.Error(rw, "stopping", http.StatusServiceUnavailable)
				return
			}
			defer done()
			r = r.WithContext(ctx)
		} else if r.Method == http.MethodPost {
			defer w.posts.begin()()
		}
		switch {
		case r.Header.Get("Mcp-Protocol-Version") >= hub.ModernProtocol:
			alone.ServeHTTP(rw, r)
		case r.Method == http.MethodPost && r.Header.Get(sessionHeader) == "":
			w.sessions.begin(rw, r, kept)
		default:
			kept.ServeHTTP(rw, r)
		}
	})
	return w
}

func (w *web) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	gate := w.g.state.Load().gate
	switch {
	case r.URL.Path == mcpPath:
		h := w.mcp
		if gate.guarded != nil {
			h = gate.guarded(h)
		}
		crossOrigin.Handler(h).ServeHTTP(rw, r)
	case r.URL.Path == "/healthz":
		w.g.serveHealth(rw, r)
	case gate.metadata != nil && r.URL.Path == gate.path:
		gate.metadata.ServeHTTP(rw, r)
	default:
		http.NotFound(rw, r)
	}
}

// crossOrigin refuses what a web page of another origin sends. It has no state of its own.
var crossOrigin = http.NewCrossOriginProtection()

// endless reports whether a request stays until somebody ends it: a stream of what a server says on its own.
func endless(r *http.Request) bool {
	return r.Method == http.MethodGet || r.Header.Get("Mcp-Method") == "subscriptions/listen"
}

// limitBody lets a body come in for a while. A limit for the whole connection would end streams, too.
func limitBody(rw http.ResponseWriter, r *http.Request) {
	c := http.NewResponseController(rw)
	if r.Body == nil || c.SetReadDeadline(time.Now().Add(bodyTimeout)) != nil {
		return
	}
	r.Body = &limitedBody{r.Body, c}
}

type limitedBody struct {
	io.ReadCloser
	c *http.ResponseController
}

func (b *limitedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		_ = b.c.SetReadDeadline(time.Time{})
	}
	return n, err
}

func newHTTPServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(quiet{log.Handler()}, slog.LevelWarn),
	}
}

// streams are the endless requests that are open. They are ended when the gateway stops, when it is no longer sure that
// those behind them may still come in, and when their tokens expire.
type streams struct {
	mu     sync.Mutex
	open   map[*context.CancelFunc]struct{}
	closed bool
}

func (s *streams) begin(ctx context.Context, t *auth.TokenInfo) (context.Context, func(), bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ctx, nil, false
	}
	ctx, cancel := context.WithCancel(ctx)
	if t != nil && !t.Expiration.IsZero() {
		var expire context.CancelFunc
		stop := cancel
		ctx, expire = context.WithDeadline(ctx, t.Expiration)
		cancel = func() { expire(); stop() }
	}
	if s.open == nil {
		s.open = map[*context.CancelFunc]struct{}{}
	}
	s.open[&cancel] = struct{}{}
	return ctx, func() {
		cancel()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.open, &cancel)
	}, true
}

// end ends all that are open.
func (s *streams) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for cancel := range s.open {
		(*cancel)()
	}
}

// close is end, and lets no more begin.
func (s *streams) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.end()
}
