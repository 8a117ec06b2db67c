package approval

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/hub"
	"github.com/stretchr/testify/require"
)

// desk has one modern session, and puts requests to an Elicitor without a guard, so that each field can be another one.
type desk struct {
	*Elicitor
	t    testing.TB
	now  atomic.Int64
	base hub.ApprovalRequest
}

func newDesk(t testing.TB, o Options) *desk {
	d := &desk{t: t}
	d.now.Store(1_800_000_000_000)
	o.Now = func() time.Time { return time.UnixMilli(d.now.Load()) }
	d.Elicitor = New(o)
	w := newWorld(t, askAll(), Options{})
	w.server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, in mcp.Request) (mcp.Result, error) {
			if method == "tools/call" {
				d.base.Request = in
				d.base.Session = in.GetSession().(*mcp.ServerSession)
			}
			return next(ctx, method, in)
		}
	})
	write(t, ways["memory 2026-07-28"](w, "a", user(chooses("deny"), nil)), nil)
	require.NotNil(t, d.base.Session)
	f, err := engine.ComputeFingerprint(w.tool.Raw)
	require.NoError(t, err)
	decision, err := w.engine.Snapshot().View("v").Decide(t.Context(), &engine.Call{Server: "fs", Name: "write"}, &engine.Request{HasApprover: true})
	require.NoError(t, err)
	require.Equal(t, engine.Ask, decision.Action)
	d.base.Caller = hub.Caller{Principal: "a", View: "v"}
	d.base.Target, d.base.Exposed = engine.Target{Server: "fs", Name: "write"}, "fs__write"
	d.base.Tool, d.base.Fingerprint, d.base.Decision = &w.tool, f, decision
	d.base.Args = []byte(`{"path":"/x"}`)
	return d
}

func (d *desk) put(change func(*hub.ApprovalRequest), state string, responses mcp.InputResponseMap) hub.Approval {
	d.t.Helper()
	r := d.base
	r.State, r.Responses = state, responses
	if change != nil {
		change(&r)
	}
	a, err := d.Approve(context.Background(), &r)
	require.NoError(d.t, err)
	return a
}

// asked puts a request and returns the state of the question.
func (d *desk) asked(change func(*hub.ApprovalRequest)) string {
	d.t.Helper()
	a := d.put(change, "", nil)
	require.Equal(d.t, hub.Pending, a.Verdict, "%v", a.Err)
	require.Len(d.t, a.Inputs, 1)
	require.NotEmpty(d.t, a.State)
	return a.State
}

func answers(choice string) mcp.InputResponseMap {
	return mcp.InputResponseMap{InputKey: &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": choice}}}
}

// decision returns what another policy says of the call.
func decision(t testing.TB, p engine.PolicyOptions) engine.Decision {
	policy, err := engine.CompilePolicy(p)
	require.NoError(t, err)
	d, err := policy.Evaluate(t.Context(), &engine.Call{Server: "fs", Name: "write"}, &engine.Tool{Server: "fs", Name: "write"}, &engine.Request{HasApprover: true})
	require.NoError(t, err)
	require.Equal(t, engine.Ask, d.Action)
	return d
}

// elsewhere are the ways in which a request may not be the one that was asked about.
func elsewhere(t testing.TB) map[string]func(*hub.ApprovalRequest) {
	return map[string]func(*hub.ApprovalRequest){
		"principal":    func(r *hub.ApprovalRequest) { r.Caller.Principal = "b" },
		"no principal": func(r *hub.ApprovalRequest) { r.Caller.Principal = "" },
		"view":         func(r *hub.ApprovalRequest) { r.Caller.View = "w" },
		"halves":       func(r *hub.ApprovalRequest) { r.Caller.Principal, r.Caller.View = "av", "" },
		"kind":         func(r *hub.ApprovalRequest) { r.Kind = engine.Prompts },
		"server":       func(r *hub.ApprovalRequest) { r.Target.Server = "db" },
		"tool":         func(r *hub.ApprovalRequest) { r.Target.Name = "delete" },
		"server, tool": func(r *hub.ApprovalRequest) { r.Target = engine.Target{Server: "fsw", Name: "rite"} },
		"exposed name": func(r *hub.ApprovalRequest) { r.Exposed = "fs__Write" },
		"fingerprint":  func(r *hub.ApprovalRequest) { r.Fingerprint += "0" },
		"unpinned":     func(r *hub.ApprovalRequest) { r.Fingerprint = "" },
		"arguments":    func(r *hub.ApprovalRequest) { r.Args = []byte(`{"path":"/y"}`) },
		"no arguments": func(r *hub.ApprovalRequest) { r.Args = nil },
		"void args":    func(r *hub.ApprovalRequest) { r.Args = []byte(`{}`) },
		"rule": func(r *hub.ApprovalRequest) {
			r.Decision = decision(t, engine.PolicyOptions{Ask: patterns("fs/write")})
		},
		"source":        func(r *hub.ApprovalRequest) { r.Decision = decision(t, engine.PolicyOptions{}) },
		"new":           func(r *hub.ApprovalRequest) { r.Decision.New = !r.Decision.New },
		"what was said": func(r *hub.ApprovalRequest) { tool := *r.Tool; tool.Hints.ReadOnly = engine.True; r.Tool = &tool },
	}
}

// A state is good for the very call that was asked about; any other one is asked about anew.
func TestStatesAreBoundToTheCall(t *testing.T) {
	for what, change := range elsewhere(t) {
		t.Run(what, func(t *testing.T) {
			d := newDesk(t, Options{})
			state := d.asked(nil)
			again := d.put(change, state, answers("once"))
			require.Equal(t, hub.Pending, again.Verdict)
			require.NotEqual(t, state, again.State)
			// What was asked about is not used up by somebody else's call, and the new question can be answered.
			require.Equal(t, hub.Approved, d.put(change, again.State, answers("once")).Verdict)
			require.Equal(t, hub.Approved, d.put(nil, state, answers("once")).Verdict)
		})
	}
}

// "Always" that was not offered is not taken, and where it is offered the state is another one.
func TestStatesAreBoundToTheChoices(t *testing.T) {
	remembered := 0
	d := newDesk(t, Options{Remember: func(context.Context, *hub.ApprovalRequest) error { remembered++; return nil }})
	allow := func(r *hub.ApprovalRequest) {
		policy, err := engine.CompilePolicy(engine.PolicyOptions{Allow: patterns("fs/write")})
		require.NoError(t, err)
		r.Remembered, err = policy.Evaluate(t.Context(), &engine.Call{Server: "fs", Name: "write"}, r.Tool, nil)
		require.NoError(t, err)
		require.Equal(t, engine.Allow, r.Remembered.Action)
	}
	a := d.put(nil, d.asked(nil), answers("always"))
	require.Equal(t, hub.Refused, a.Verdict)
	require.ErrorIs(t, a.Err, ErrUnexpected)
	require.Equal(t, hub.Pending, d.put(allow, d.asked(nil), answers("always")).Verdict)
	require.Equal(t, hub.Pending, d.put(nil, d.asked(allow), answers("always")).Verdict)
	require.Zero(t, remembered)
	a = d.put(allow, d.asked(allow), answers("always"))
	require.Equal(t, hub.Approved, a.Verdict)
	require.True(t, a.Remember)
	require.Equal(t, 1, remembered)
}

// What a state is for counts by itself, and so do the choices.
func TestPurposesAndChoicesCountByThemselves(t *testing.T) {
	d := newDesk(t, Options{})
	b := bindingOf(&d.base)
	s := newState(time.UnixMilli(5))
	for _, mark := range []byte{markQuestion, markContinue} {
		got, ok := d.signer.open(mark, d.signer.seal(mark, s, b, "inner"), b)
		require.True(t, ok)
		require.Equal(t, state{s.nonce, s.expiry, "inner"}, got)
	}
	_, ok := d.signer.open(markQuestion, d.signer.seal(markContinue, s, b, ""), b)
	require.False(t, ok)
	two, three := &question{choices: []string{choiceOnce, choiceDeny}}, &question{choices: []string{choiceOnce, choiceAlways, choiceDeny}}
	require.NotEqual(t, two.binding(&d.base), three.binding(&d.base))
}

// A 2026-07-28 client says with every request what it takes; one that takes no forms this time is not asked.
func TestRequestsThatTakeNoForms(t *testing.T) {
	d := newDesk(t, Options{})
	params := &mcp.CallToolParamsRaw{Meta: mcp.Meta{mcp.MetaKeyClientCapabilities: map[string]any{}}}
	a := d.put(func(r *hub.ApprovalRequest) { r.Request = &mcp.CallToolRequest{Session: r.Session, Params: params} }, "", nil)
	require.Equal(t, hub.Refused, a.Verdict)
	require.ErrorIs(t, a.Err, ErrCannotElicit)
	require.Equal(t, hub.Refused, d.put(func(r *hub.ApprovalRequest) { r.Request = nil }, "", nil).Verdict)
}

// Only an answer of the right kind, under the right key, with the state of the question, is one.
func TestAnswersAndStatesBelongTogether(t *testing.T) {
	yes := answers("once")[InputKey]
	for what, x := range map[string]struct {
		responses mcp.InputResponseMap
		err       error
	}{
		"none":        {nil, ErrUnexpected},
		"another key": {mcp.InputResponseMap{"other": yes}, ErrUnexpected},
		//lint:ignore SA1019 what a caller may send goes on after it is deprecated
		"another kind": {mcp.InputResponseMap{InputKey: &mcp.ListRootsResult{}}, ErrUnexpected},
		"nil":          {mcp.InputResponseMap{InputKey: nil}, ErrUnexpected},
		"nil result":   {mcp.InputResponseMap{InputKey: (*mcp.ElicitResult)(nil)}, ErrUnexpected},
		"declined":     {mcp.InputResponseMap{InputKey: &mcp.ElicitResult{Action: "decline"}}, ErrDeclined},
		"denied":       {answers("deny"), ErrDeclined},
	} {
		t.Run(what, func(t *testing.T) {
			d := newDesk(t, Options{})
			state := d.asked(nil)
			a := d.put(nil, state, x.responses)
			require.Equal(t, hub.Refused, a.Verdict)
			require.ErrorIs(t, a.Err, x.err)
			// It was the one answer: a better one comes too late.
			a = d.put(nil, state, answers("once"))
			require.Equal(t, hub.Refused, a.Verdict)
			require.ErrorIs(t, a.Err, ErrUsed)
		})
	}
	d := newDesk(t, Options{})
	require.Equal(t, hub.Pending, d.put(nil, "", answers("once")).Verdict) // a yes to nothing
	a := d.put(nil, "", mcp.InputResponseMap{InputKey: &mcp.ElicitResult{Action: "cancel"}})
	require.ErrorIs(t, a.Err, ErrDeclined) // a no needs no proof
}

// A state that is not ours, or that was changed anywhere, is none.
func TestForgedStates(t *testing.T) {
	d := newDesk(t, Options{MaxOpen: 1 << 20, Key: []byte("a key")})
	state := d.asked(nil)
	raw, err := base64.RawURLEncoding.DecodeString(state)
	require.NoError(t, err)
	forged := map[string]string{
		"garbage": "garbage", "not base64": "§", "spaces": " " + state, "a newline": state + "\n", "padded": state + "=",
		"twice": state + state, "huge": strings.Repeat("A", 1<<21), "upper": strings.ToUpper(state),
		"foreign key":   newDesk(t, Options{Key: []byte("another key")}).asked(nil),
		"random key":    newDesk(t, Options{}).asked(nil),
		"a shorter key": newDesk(t, Options{Key: []byte("a ke")}).asked(nil),
	}
	for n := range len(state) {
		forged[fmt.Sprint("the first ", n)] = state[:n]
	}
	for i := range raw {
		changed := append([]byte(nil), raw...)
		changed[i] ^= 1
		forged[fmt.Sprint("byte ", i)] = base64.RawURLEncoding.EncodeToString(changed)
	}
	// The last character has bits to spare: other texts decode to the same bytes.
	for _, c := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_" {
		twin := state[:len(state)-1] + string(c)
		if same, err := base64.RawURLEncoding.DecodeString(twin); err == nil && twin != state && string(same) == string(raw) {
			forged["a twin"] = twin
		}
	}
	require.Contains(t, forged, "a twin")
	longer := append(append([]byte(nil), raw[:headSize]...), 'x')
	forged["longer"] = base64.RawURLEncoding.EncodeToString(append(longer, raw[headSize:]...))
	sealed, err := d.Suspend(t.Context(), &d.base, "")
	require.NoError(t, err)
	forged["of another purpose"] = sealed
	for what, s := range forged {
		require.Equal(t, hub.Pending, d.put(nil, s, answers("once")).Verdict, what)
		_, ok := d.resumed(nil, s)
		require.Equal(t, what == "of another purpose", ok, what)
	}
	require.Equal(t, hub.Approved, d.put(nil, state, answers("once")).Verdict)

	// A key of one's own outlives the process.
	other := newDesk(t, Options{Key: []byte("a key")})
	state = d.asked(nil)
	require.Equal(t, hub.Approved, other.put(nil, state, answers("once")).Verdict)
}

// A state is good until it expires and not a moment longer; then the question is asked anew.
func TestStatesExpire(t *testing.T) {
	d := newDesk(t, Options{Expiry: time.Minute})
	state, other := d.asked(nil), d.asked(nil)
	d.now.Add(time.Minute.Milliseconds() - 1)
	require.Equal(t, hub.Approved, d.put(nil, state, answers("once")).Verdict)
	d.now.Add(1)
	again := d.put(nil, other, answers("once"))
	require.Equal(t, hub.Pending, again.Verdict)
	require.Equal(t, hub.Pending, d.put(nil, state, answers("once")).Verdict) // used and expired
	require.Equal(t, hub.Approved, d.put(nil, again.State, answers("once")).Verdict)
}

// Of many equal retries exactly one runs, one after the other and at once.
func TestStatesAreGoodOnce(t *testing.T) {
	d := newDesk(t, Options{})
	state := d.asked(nil)
	require.Equal(t, hub.Approved, d.put(nil, state, answers("once")).Verdict)
	for range 3 {
		a := d.put(nil, state, answers("once"))
		require.Equal(t, hub.Refused, a.Verdict)
		require.ErrorIs(t, a.Err, ErrUsed)
	}
	for range 20 {
		state := d.asked(nil)
		sealed, err := d.Suspend(t.Context(), &d.base, "theirs")
		require.NoError(t, err)
		var yes, resumed atomic.Int32
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				r := d.base
				r.State, r.Responses = state, answers("once")
				if a, err := d.Approve(context.Background(), &r); err == nil && a.Verdict == hub.Approved {
					yes.Add(1)
				}
				r.State = sealed
				if s, ok := d.Resume(context.Background(), &r); ok && s == "theirs" {
					resumed.Add(1)
				}
			})
		}
		wg.Wait()
		require.EqualValues(t, 1, yes.Load())
		require.EqualValues(t, 1, resumed.Load())
	}
}

func (d *desk) resumed(change func(*hub.ApprovalRequest), state string) (string, bool) {
	r := d.base
	r.State = state
	if change != nil {
		change(&r)
	}
	return d.Resume(context.Background(), &r)
}

// An approved call goes on with its server's state, and no other call does.
func TestApprovedCallsGoOnAsTheyAre(t *testing.T) {
	for what, change := range elsewhere(t) {
		if what == "what was said" { // nothing was
			continue
		}
		t.Run(what, func(t *testing.T) {
			d := newDesk(t, Options{})
			sealed, err := d.Suspend(t.Context(), &d.base, "théirs\x00")
			require.NoError(t, err)
			_, ok := d.resumed(change, sealed)
			require.False(t, ok)
			got, ok := d.resumed(nil, sealed)
			require.True(t, ok)
			require.Equal(t, "théirs\x00", got)
		})
	}
	d := newDesk(t, Options{})
	_, ok := d.resumed(nil, d.asked(nil))
	require.False(t, ok)
	sealed, err := d.Suspend(t.Context(), &d.base, "")
	require.NoError(t, err)
	d.now.Add(defaultExpiry.Milliseconds())
	_, ok = d.resumed(nil, sealed)
	require.False(t, ok)
	_, err = d.Suspend(t.Context(), &d.base, strings.Repeat("x", maxState))
	require.ErrorIs(t, err, errLargeState)
}
