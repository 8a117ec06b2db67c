package hub

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/penstock-mcp/penstock/engine"
)

// DefaultView is the view of callers that [IdentifyToken] identifies.
const DefaultView = "default"

// IdentifyToken is the Identify of a guard that has none: every caller is in the view [DefaultView], its principal is the
// user of the bearer token that the SDK verified, and the token's scopes are the attribute "scopes". Without a token, as
// in memory and over stdio, the principal is "". Headers are not looked at: whoever sends a request writes them.
func IdentifyToken(_ context.Context, _ string, req mcp.Request) (Caller, error) {
	c := Caller{View: DefaultView}
	extra := req.GetExtra()
	if extra == nil || extra.TokenInfo == nil {
		return c, nil
	}
	scopes := make([]any, len(extra.TokenInfo.Scopes))
	for i, s := range extra.TokenInfo.Scopes {
		scopes[i] = s
	}
	c.Principal = extra.TokenInfo.UserID
	c.Attributes = map[string]any{"scopes": scopes}
	return c, nil
}

// A PanicError holds what a function of the embedder panicked with.
type PanicError struct {
	Func  string
	Value any
}

// Error says which function it was, and what it panicked with.
func (e *PanicError) Error() string { return fmt.Sprintf("%s panicked: %v", e.Func, e.Value) }

// Unwrap returns the value where it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// caught turns a panic into an error: deferred, it is for functions that fail closed.
func caught(what string, err *error) {
	if v := recover(); v != nil {
		*err = &PanicError{Func: what, Value: v}
	}
}

func (g *Guard) identify(ctx context.Context, method string, req mcp.Request) (c Caller, err error) {
	defer caught("Identify", &err)
	return g.o.Identify(ctx, method, req)
}

func (g *Guard) approve(ctx context.Context, r *ApprovalRequest) (a Approval, err error) {
	defer caught("Approver", &err)
	return g.o.Approver.Approve(ctx, r)
}

// canAsk reports whether there is an approver for a caller in a session.
func (g *Guard) canAsk(ctx context.Context, c Caller, ss *mcp.ServerSession) (can bool, err error) {
	if g.o.Approver == nil {
		return false, nil
	}
	a, ok := g.o.Approver.(Asker)
	if !ok {
		return true, nil
	}
	defer caught("Approver.CanAsk", &err)
	return a.CanAsk(ctx, c, ss), nil
}

func (g *Guard) observe(ctx context.Context, e Event) {
	if g.o.Observer == nil {
		return
	}
	defer func() { _ = recover() }() // what is only told cannot change what was done
	g.o.Observer.Observe(ctx, e)
}

// resolve asks a Resolve, which may be nil.
func resolve(f Resolve, uri string) (t engine.Target, ok bool) {
	if f == nil {
		return engine.Target{}, false
	}
	defer func() {
		if recover() != nil {
			t, ok = engine.Target{}, false
		}
	}()
	return f(uri)
}
