// Passing calls on.

package upstream

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/penstock-mcp/penstock/engine"
)

// staleWait is how long a call waits for a list that the server has announced and not shown.
const staleWait = 5 * time.Second

// CallTool calls a tool that was judged by its fingerprint. The arguments are sent as they are: a json.RawMessage goes out
// byte for byte. StructuredContent of the result is a json.RawMessage, byte for byte what the server sent. A result may
// ask for input: see mcp.CallToolResult.NeedsInput.
//
// The call is sent only if the server, by the list it showed last, has exactly one tool of that name with exactly that
// fingerprint. A tool that has no fingerprint is called if judged is "": that it was judged without one is for the policy
// to have refused, and nothing here can tell whether it is the same tool. A server that has announced another list has
// to show it first.
//
// It returns an *[Error]: ErrNoServer, ErrDown, ErrNoTool, ErrTwice, ErrChanged or ErrStale where nothing was sent; ErrLost
// where the connection ended and ErrUnreachable where there was none; ErrTimeout after Options.CallTimeout; the error of ctx; else what the server answered, as a
// *jsonrpc.Error.
//
// progress may be nil. It is called one call at a time, in order, in another goroutine, and never after CallTool returned.
func (p *Pool) CallTool(ctx context.Context, server string, judged engine.Fingerprint, params *mcp.CallToolParams, progress Progress) (*mcp.CallToolResult, error) {
	if params == nil {
		return nil, &Error{Server: server, Op: "tools/call", Err: errNoParams}
	}
	var res *mcp.CallToolResult
	err := p.call(ctx, server, "tools/call", params.Meta, progress, func(ctx context.Context, s *session, meta mcp.Meta, h *holder) error {
		if err := s.may(ctx, params.Name, judged); err != nil {
			return err
		}
		q := *params
		q.Meta = meta
		out, err := s.cs.CallTool(ctx, &q)
		if err != nil {
			return err
		}
		if raw := h.get(); raw != nil {
			out.StructuredContent = raw
		}
		res = out
		return nil
	})
	return res, err
}

// may reports whether a tool may be called: nil, or why not.
func (s *session) may(ctx context.Context, name string, judged engine.Fingerprint) error {
	if err := s.w.fresh(ctx, s); err != nil {
		return err
	}
	k, ok := s.w.known(s, name)
	switch {
	case !ok || k.times == 0:
		return ErrNoTool
	case k.times > 1:
		return ErrTwice
	case k.fingerprint != judged:
		return ErrChanged
	}
	return nil
}

// ReadResource reads a resource. It always asks the server. Its errors are those of [Pool.CallTool].
func (p *Pool) ReadResource(ctx context.Context, server string, params *mcp.ReadResourceParams, progress Progress) (*mcp.ReadResourceResult, error) {
	if params == nil {
		return nil, &Error{Server: server, Op: "resources/read", Err: errNoParams}
	}
	var res *mcp.ReadResourceResult
	err := p.call(ctx, server, "resources/read", params.Meta, progress, func(ctx context.Context, s *session, meta mcp.Meta, _ *holder) error {
		q := *params
		q.Meta = meta
		out, err := s.send(ctx, "resources/read", s.request(&q)) // the SDK's own method keeps all it ever read
		if err != nil {
			return err
		}
		r, ok := out.(*mcp.ReadResourceResult)
		if !ok || r == nil {
			return errors.New("there is no result")
		}
		res = r
		return nil
	})
	return res, err
}

// GetPrompt gets a prompt. Its errors are those of [Pool.CallTool].
func (p *Pool) GetPrompt(ctx context.Context, server string, params *mcp.GetPromptParams, progress Progress) (*mcp.GetPromptResult, error) {
	if params == nil {
		return nil, &Error{Server: server, Op: "prompts/get", Err: errNoParams}
	}
	var res *mcp.GetPromptResult
	err := p.call(ctx, server, "prompts/get", params.Meta, progress, func(ctx context.Context, s *session, meta mcp.Meta, _ *holder) (err error) {
		q := *params
		q.Meta = meta
		res, err = s.cs.GetPrompt(ctx, &q)
		return err
	})
	return res, err
}

// Complete completes an argument. Its errors are those of [Pool.CallTool].
func (p *Pool) Complete(ctx context.Context, server string, params *mcp.CompleteParams) (*mcp.CompleteResult, error) {
	if params == nil {
		return nil, &Error{Server: server, Op: "completion/complete", Err: errNoParams}
	}
	var res *mcp.CompleteResult
	err := p.call(ctx, server, "completion/complete", params.Meta, nil, func(ctx context.Context, s *session, meta mcp.Meta, _ *holder) (err error) {
		if s.capabilities().Completions == nil {
			return ErrNotSupported
		}
		q := *params
		q.Meta = meta
		res, err = s.cs.Complete(ctx, &q)
		return err
	})
	return res, err
}

// call finds the server's connection, and runs f with a context that ends with it and with the metadata to send.
func (p *Pool) call(ctx context.Context, server, op string, meta mcp.Meta, progress Progress,
	f func(context.Context, *session, mcp.Meta, *holder) error,
) error {
	fail := func(err error) error { return &Error{Server: server, Op: op, Err: err} }
	w, err := p.worker(server)
	if err != nil {
		return fail(err)
	}
	w.mu.Lock()
	s := w.session
	w.mu.Unlock()
	if s == nil {
		return fail(ErrDown)
	}
	token := ""
	if progress != nil {
		token = fmt.Sprintf("penstock-%d", s.tokens.Add(1))
	}
	err = s.during(ctx, p.o.CallTimeout, func(ctx context.Context) error {
		out, h := withHolder(ctx)
		defer s.tap.forget(h)
		if progress != nil {
			h.over = func(error) { s.unfollow(token) } // what comes behind the response is late
			stop := s.follow(ctx, token, meta["progressToken"], progress)
			defer stop()
		}
		return f(out, s, s.withMeta(maps.Clone(meta), token), h)
	})
	if err != nil {
		return fail(err)
	}
	return nil
}

// during runs f with a context that ends with the session, and after timeout, if there is one. It says which of the
// three it was: the caller, the time or the connection.
func (s *session) during(ctx context.Context, timeout time.Duration, f func(context.Context) error) error {
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.ctx, func() { cancel(context.Cause(s.ctx)) })()
	if timeout > 0 {
		timer := time.AfterFunc(timeout, func() { cancel(ErrTimeout) })
		defer timer.Stop()
	}
	err := guarded(func() error { return f(inner) })
	switch {
	case err == nil || answered(err) || ours(err):
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(context.Cause(inner), ErrTimeout):
		return ErrTimeout
	case s.ctx.Err() != nil:
		return fmt.Errorf("%w: %w", ErrLost, context.Cause(s.ctx))
	case definite(err) && !errors.Is(err, ErrTooMuch):
		err = fmt.Errorf("%w: %w", ErrLost, plain(err))
	default:
		err = fmt.Errorf("%w: %w", ErrUnreachable, plain(err))
	}
	s.poke() // the connection may be broken
	return err
}

// plain returns an error that is nobody's answer: what the SDK says of a connection must not pass for one.
func plain(err error) error {
	for _, e := range []error{ErrRedirect, ErrTooMuch, ErrPanic, mcp.ErrSessionMissing, mcp.ErrConnectionClosed} {
		if errors.Is(err, e) {
			return fmt.Errorf("%w (%s)", e, err)
		}
	}
	return errors.New(err.Error())
}

// ours reports whether a call was not sent.
func ours(err error) bool {
	for _, e := range []error{ErrDown, ErrNoTool, ErrTwice, ErrChanged, ErrStale, ErrNotSupported} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// maxProgress is how many notifications of one call wait for its Progress.
const maxProgress = 256

// unfollow stops taking progress.
func (s *session) unfollow(token string) {
	s.mu.Lock()
	delete(s.progress, token)
	s.mu.Unlock()
}

// follow passes progress on until stop is called. What came before is still passed on; stop waits for it.
func (s *session) follow(ctx context.Context, token string, theirs any, f Progress) (stop func()) {
	ch := make(chan *mcp.ProgressNotificationParams, maxProgress)
	s.mu.Lock()
	s.progress[token] = ch
	s.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for p := range ch {
			if ctx.Err() != nil {
				continue
			}
			p.ProgressToken = theirs
			s.w.callback("Progress", func() { f(ctx, p) })
		}
	}()
	return func() {
		s.unfollow(token)
		close(ch)
		<-done
	}
}
