// Calls that go on: an approved call whose server asks for input comes back as another call, with the input and the
// server's state. An Approver that is a Continuer says by the state that it is the approved one; nothing else does, for
// whoever sends the call writes all of it.

package hub

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/penstock-mcp/penstock/engine"
)

// input returns what the server gets of what the caller sent back: all of it, with the server's own state, where the
// call goes on; nothing where the approver was asked, for it is the approver's then.
func (r *request) input(responses mcp.InputResponseMap, state string) (mcp.InputResponseMap, string) {
	switch {
	case r.e.Resumed:
		return responses, r.state
	case r.e.Asked:
		return nil, ""
	default:
		return responses, state
	}
}

// resume reports whether the call is an approved one that goes on.
func (r *request) resume(a *ApprovalRequest) bool {
	if a.State == "" {
		return false
	}
	state, ok := r.g.resume(r.ctx, a)
	if !ok {
		return false
	}
	r.state, r.e.Resumed = state, true
	r.e.Approval = Approval{Verdict: Approved}
	return true
}

// suspend puts the state of an approved call that asks for input into the approver's hands. Where it returns false the
// call ends here. A call that nobody had to approve goes on as it likes.
func (r *request) suspend(a *ApprovalRequest, j judgement, state *string) bool {
	if j.decision.Action != engine.Ask {
		return true
	}
	own, err := r.g.suspend(r.ctx, a, *state)
	if err != nil || own == "" || !Modern(r.ss) {
		r.e.Err = errors.Join(ErrCannotGoOn, err)
		return false
	}
	*state = own
	return true
}

func (g *Guard) resume(ctx context.Context, a *ApprovalRequest) (state string, ok bool) {
	c, can := g.o.Approver.(Continuer)
	if !can {
		return "", false
	}
	defer func() {
		if recover() != nil {
			state, ok = "", false
		}
	}()
	return c.Resume(ctx, a)
}

// suspend returns "" where the approver has no way to let a call go on.
func (g *Guard) suspend(ctx context.Context, a *ApprovalRequest, state string) (own string, err error) {
	c, can := g.o.Approver.(Continuer)
	if !can {
		return "", nil
	}
	defer caught("Approver.Suspend", &err)
	return c.Suspend(ctx, a, state)
}
