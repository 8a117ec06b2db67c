package approval

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/hub"
	"github.com/stretchr/testify/require"
)

// What cannot be remembered as used is refused, one principal's flood is its own, and memory is free again after the
// expiry.
func TestUsedStatesAreNeverForgotten(t *testing.T) {
	d := newDesk(t, Options{})
	now := time.UnixMilli(d.now.Load())
	first := newState(now.Add(time.Minute))
	require.NoError(t, d.used.use(d.base.Caller, first, now))
	for range maxUsedEach - 1 {
		require.NoError(t, d.used.use(d.base.Caller, newState(now.Add(time.Minute)), now))
	}
	a := d.put(nil, d.asked(nil), answers("once"))
	require.Equal(t, hub.Refused, a.Verdict)
	require.ErrorIs(t, a.Err, errFull)
	require.ErrorIs(t, d.used.use(d.base.Caller, first, now), ErrUsed)
	for i := 0; len(d.used.order) < maxUsed; i++ {
		who := hub.Caller{Principal: fmt.Sprint(i / maxUsedEach)}
		require.NoError(t, d.used.use(who, newState(now.Add(time.Minute)), now))
	}
	require.ErrorIs(t, d.used.use(hub.Caller{Principal: "new"}, newState(now.Add(time.Minute)), now), errFull)
	d.now.Add(time.Minute.Milliseconds())
	require.Equal(t, hub.Approved, d.put(nil, d.asked(nil), answers("once")).Verdict)
	require.Len(t, d.used.order, 1)
	require.Len(t, d.used.has, 1)
	require.Len(t, d.used.by, 1)
}

// Questions that nobody answers count until they expire, and the principals that have any are bounded.
func TestOpenQuestionsAreBounded(t *testing.T) {
	d := newDesk(t, Options{MaxOpen: 3})
	var states []string
	for range 3 {
		states = append(states, d.asked(nil))
	}
	a := d.put(nil, "", nil)
	require.Equal(t, hub.Refused, a.Verdict)
	require.ErrorIs(t, a.Err, ErrBusy)
	d.asked(func(r *hub.ApprovalRequest) { r.Caller.Principal = "b" })
	require.Equal(t, hub.Approved, d.put(nil, states[0], answers("once")).Verdict)
	d.asked(nil)
	require.Equal(t, hub.Refused, d.put(nil, "", nil).Verdict)
	d.now.Add(defaultExpiry.Milliseconds())
	d.asked(nil)

	var o openQuestions
	now := time.UnixMilli(0)
	for i := range maxAsking {
		require.True(t, o.issue(hub.Caller{Principal: fmt.Sprint(i)}, 3, now, newState(now.Add(time.Minute))))
	}
	require.False(t, o.issue(hub.Caller{Principal: "new"}, 3, now, newState(now.Add(time.Minute))))
	require.True(t, o.issue(hub.Caller{Principal: "1"}, 3, now, newState(now.Add(time.Minute))))
	require.True(t, o.issue(hub.Caller{Principal: "new"}, 3, now.Add(time.Minute), newState(now.Add(time.Hour))))
	require.Len(t, o.of, 1)
}

// What cannot be remembered runs once and says so.
func TestRememberingFails(t *testing.T) {
	for what, f := range map[string]func(context.Context, *hub.ApprovalRequest) error{
		"error": func(context.Context, *hub.ApprovalRequest) error { return errors.New("disk full") },
		"panic": func(context.Context, *hub.ApprovalRequest) error { panic("disk full") },
	} {
		d := newDesk(t, Options{Remember: f})
		allow := func(r *hub.ApprovalRequest) {
			policy, _ := engine.CompilePolicy(engine.PolicyOptions{Allow: patterns("fs/write")})
			r.Remembered, _ = policy.Evaluate(t.Context(), &engine.Call{Server: "fs", Name: "write"}, r.Tool, nil)
		}
		a := d.put(allow, d.asked(allow), answers("always"))
		require.Equal(t, hub.Approved, a.Verdict, what)
		require.False(t, a.Remember)
		require.ErrorContains(t, a.Err, "disk full")
	}
}
