// One connection to one server, from the first message to the end of the process.

package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	modernProtocol = "2026-07-28" // the first version without initialize, with subscriptions/listen
	legacyProtocol = "2025-11-25" // what is spoken to a server that dies of being asked for the other

	// closeWait is how long a session is given to say good-bye before its connection is closed.
	closeWait = 2 * time.Second
)

// session is a connection. Its methods are safe for concurrent use but for list and close, which its worker calls.
type session struct {
	id     string
	w      *worker
	tap    *tap
	remote bool // over HTTP
	conn   *keeper
	cs     *mcp.ClientSession
	send   mcp.MethodHandler // sends without the SDK's caches
	idle   func()

	ctx    context.Context // ends with the session; its cause says why
	cancel context.CancelCauseFunc
	net    context.Context // of everything that is sent over HTTP; it outlives ctx, since a session says good-bye
	unplug context.CancelFunc
	group  sync.WaitGroup

	changed chan struct{} // of capacity 1: a list has changed, or should be looked at
	listens chan struct{} // of capacity 1: other things are to be listened to
	updates chan string   // URIs of resources that changed

	announced  atomic.Uint64 // how often the server said that its tools changed
	tokens     atomic.Int64
	mu         sync.Mutex
	progress   map[string]chan<- *mcp.ProgressNotificationParams // by token
	complaints []string                                          // the last lines of standard error, at most maxComplaints
}

// keeper remembers the connection that the SDK was given, since it does not close it in every case.
type keeper struct {
	t    mcp.Transport
	conn mcp.Connection
}

func (k *keeper) Connect(ctx context.Context) (c mcp.Connection, err error) {
	k.conn, err = k.t.Connect(ctx)
	return k.conn, err
}

func (k *keeper) close() {
	if k.conn != nil {
		_ = k.conn.Close()
	}
}

// connect connects. legacy keeps it from asking for the newest protocol.
func (w *worker) connect(ctx context.Context, legacy bool) (s *session, err error) {
	s = &session{
		id: w.id, w: w, tap: newTap(), remote: w.server.URL != "",
		changed: make(chan struct{}, 1), listens: make(chan struct{}, 1), updates: make(chan string, 256),
		progress: map[string]chan<- *mcp.ProgressNotificationParams{}, idle: func() {},
	}
	s.tap.notify = s.notified
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	s.net, s.unplug = context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			err = s.explain(err)
			s.close(err)
		}
	}()

	if (w.server.Command == "") == (w.server.URL == "") {
		return s, errors.New("a server has either a command or a URL")
	}
	var t mcp.Transport = &stdio{server: w.server, tap: s.tap, stderr: s.complained, grace: w.pool.grace}
	if s.remote {
		if t, s.idle, err = newHTTP(s.net, w.server, s.tap); err != nil {
			return s, err
		}
	}
	s.conn = &keeper{t: t}
	client := mcp.NewClient(w.pool.client(), &mcp.ClientOptions{
		Capabilities:   &mcp.ClientCapabilities{},
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
	})
	client.AddSendingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		s.send = next
		return s.sending(next)
	})
	client.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
			failed := guarded(func() error { res, err = next(ctx, method, req); return nil })
			return res, errors.Join(err, failed)
		}
	})
	o := &mcp.ClientSessionOptions{}
	if legacy {
		o.ProtocolVersion = legacyProtocol
	}
	defer context.AfterFunc(ctx, s.unplug)() // the SDK does not end everything with ctx
	err = guarded(func() (err error) { s.cs, err = client.Connect(ctx, s.conn, o); return err })
	if err != nil {
		return s, err
	}
	s.group.Add(1)
	go func() { defer s.group.Done(); s.cancel(s.ended(s.cs.Wait())) }()
	s.group.Add(1)
	go func() { defer s.group.Done(); s.passUpdates() }()
	if s.modern() {
		s.group.Add(1)
		go func() { defer s.group.Done(); s.listen() }()
	}
	return s, nil
}

type headersKey struct{}

// sending is between the SDK's methods and the wire.
func (s *session) sending(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch method {
		case "server/discover":
			// A server that has never heard of it may say nothing at all.
			ctx, cancel := context.WithTimeout(ctx, s.w.pool.discover)
			defer cancel()
			return next(ctx, method, req)
		case "tools/list":
			if tools, ok := ctx.Value(headersKey{}).([]*mcp.Tool); ok {
				return &mcp.ListToolsResult{Tools: tools}, nil
			}
		}
		return next(ctx, method, req)
	}
}

// remember tells the SDK which tools have arguments that go into HTTP headers, too. It finds them where it keeps lists.
func (s *session) remember(tools []*mcp.Tool) {
	if s.remote && s.modern() {
		_ = guarded(func() error {
			_, err := s.cs.ListTools(context.WithValue(s.ctx, headersKey{}, tools), nil)
			return err
		})
	}
}

func (s *session) capabilities() mcp.ServerCapabilities {
	if r := s.cs.InitializeResult(); r != nil && r.Capabilities != nil {
		return *r.Capabilities
	}
	return mcp.ServerCapabilities{}
}

func (s *session) modern() bool {
	r := s.cs.InitializeResult()
	return r != nil && r.ProtocolVersion >= modernProtocol
}

// meta returns what has to be in each request of the newest protocol that the SDK's methods do not send.
func (s *session) meta() mcp.Meta {
	if !s.modern() {
		return nil
	}
	return mcp.Meta{
		mcp.MetaKeyProtocolVersion:    s.cs.InitializeResult().ProtocolVersion,
		mcp.MetaKeyClientInfo:         s.w.pool.client(),
		mcp.MetaKeyClientCapabilities: map[string]any{},
	}
}

// request returns a request for send.
func (s *session) request(p mcp.Params) mcp.Request {
	return &mcp.ClientRequest[mcp.Params]{Session: s.cs, Params: p}
}

// page asks for one page of a list and returns the result as it came. It always asks the server.
func (s *session) page(ctx context.Context, method string, p mcp.Params) ([]byte, error) {
	ctx, h := withHolder(ctx)
	defer s.tap.forget(h)
	if err := guarded(func() error { _, err := s.send(ctx, method, s.request(p)); return err }); err != nil {
		return nil, err
	}
	raw := h.get()
	if raw == nil {
		return nil, fmt.Errorf("%s: there is no result", method)
	}
	return raw, nil
}

// complained is told each line of standard error.
func (s *session) complained(line string) {
	line = s.w.redact.text(line)
	s.w.says.log("stderr", line)
	// The frames of a stack come last, and what went wrong before them.
	if t := strings.TrimSpace(line); t == "" || strings.HasPrefix(t, "at ") {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.complaints) == maxComplaints {
		s.complaints = slices.Delete(s.complaints, 0, 1)
	}
	s.complaints = append(s.complaints, line)
}

// maxComplaints is how many lines of standard error an error has: programs say goodbye in several.
const maxComplaints = 8

// explain adds what is known of why a connection failed.
func (s *session) explain(err error) error {
	if s.conn == nil {
		return err
	}
	if c, ok := s.conn.conn.(*stdioConn); ok {
		// Its output has ended, and it is about to; what it said last is still being read.
		for _, over := range []<-chan struct{}{c.process.exited, c.said} {
			select {
			case <-over:
			case <-time.After(50 * time.Millisecond):
			}
		}
		s.mu.Lock()
		words := make([]string, len(s.complaints))
		for i, line := range s.complaints {
			words[i] = shown(strings.TrimSpace(line))
		}
		s.mu.Unlock()
		if exit := c.process.exit(); exit != nil {
			err = fmt.Errorf("%w (%w)", exit, err)
		}
		if len(words) > 0 {
			err = fmt.Errorf("%w; its last words: %s", err, strings.Join(words, ", "))
		}
	}
	return err
}

// ended says why a session has ended.
func (s *session) ended(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		err = errors.New("the server closed the connection")
	}
	return err
}

// poke has the lists looked at.
func (s *session) poke() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// close ends the session and everything that belongs to it. It returns when nothing of it is left.
func (s *session) close(cause error) {
	s.cancel(cause)
	if s.cs != nil {
		late := time.AfterFunc(closeWait, func() { s.unplug(); s.conn.close() })
		_ = guarded(s.cs.Close)
		late.Stop()
	}
	s.unplug()
	if s.conn != nil {
		s.conn.close()
	}
	s.group.Wait()
	s.idle()
}

// definite reports whether trying again on the same connection is of no use.
func definite(err error) bool {
	return errors.Is(err, ErrTooMuch) || errors.Is(err, mcp.ErrConnectionClosed) || errors.Is(err, mcp.ErrSessionMissing) ||
		errors.Is(err, io.EOF)
}

// answered reports whether an error is the server's own answer. The SDK uses the same type for what happens to a
// connection, with codes that no server should send.
func answered(err error) bool {
	var answer *jsonrpc.Error
	if !errors.As(err, &answer) {
		return false
	}
	switch answer.Code {
	case -32003, -32004, -32005: // the client, or the server, is closing; rejected by the transport
		return false
	}
	return true
}

// logLevelKey is mcp.MetaKeyLogLevel, which goes with the feature; callers may go on to send it.
const logLevelKey = "io.modelcontextprotocol/logLevel"

// withMeta returns what a call sends along: what the caller wants, without its progress token, and ours.
func (s *session) withMeta(caller mcp.Meta, token string) mcp.Meta {
	m := maps.Clone(caller)
	for _, key := range []string{"progressToken", mcp.MetaKeyProtocolVersion, mcp.MetaKeyClientInfo, mcp.MetaKeyClientCapabilities, logLevelKey} {
		delete(m, key) // they are between the caller and the hub
	}
	if token != "" {
		if m == nil {
			m = mcp.Meta{}
		}
		m["progressToken"] = token
	}
	if own := s.meta(); own != nil {
		if m == nil {
			m = mcp.Meta{}
		}
		maps.Copy(m, own)
	}
	return m
}
