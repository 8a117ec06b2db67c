package hub

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/penstock-mcp/penstock/engine"
)

// asker is an approver that cannot ask everybody.
type asker struct {
	approverFunc
	can func(Caller, *mcp.ServerSession) bool
}

func (a asker) CanAsk(_ context.Context, c Caller, ss *mcp.ServerSession) bool { return a.can(c, ss) }

// Where the approver says that it cannot ask, nobody is asked: the engine denies, and what is listed fits.
func TestWhoCannotBeAskedIsDenied(t *testing.T) {
	for what, x := range map[string]struct {
		can   func(Caller, *mcp.ServerSession) bool
		asked bool
	}{
		"yes":   {func(c Caller, ss *mcp.ServerSession) bool { return c.Principal == "a" && ss != nil }, true},
		"no":    {func(Caller, *mcp.ServerSession) bool { return false }, false},
		"panic": {func(Caller, *mcp.ServerSession) bool { panic("no") }, false},
	} {
		t.Run(what, func(t *testing.T) {
			asked := 0
			w := askWorld(t, nil, nil)
			w.guard.o.Approver = asker{func(context.Context, *ApprovalRequest) (Approval, error) {
				asked++
				return Approval{Verdict: Approved}, nil
			}, x.can}
			cs := w.client("a", nil)
			res, err := call(t, cs, "fs__write", nil)
			e := w.last("tools/call")
			if err != nil || res.IsError == x.asked || e.Asked != x.asked {
				t.Errorf("%v, %v, %+v", text(res), err, e)
			}
			if !x.asked && (e.Result != ResultDenied || e.Decision.Action != engine.Deny ||
				e.Decision.Source != engine.SourceAsk || e.Decision.Reason != engine.ReasonNoApprover) {
				t.Errorf("%s, %v", e.Result, e.Decision)
			}
			var p *PanicError
			if errors.As(e.Err, &p) != (what == "panic") {
				t.Errorf("%v", e.Err)
			}
			resources, err := cs.ListResources(t.Context(), nil)
			_, read := cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "fs://a"})
			if err != nil || (len(resources.Resources) == 1) != x.asked || (read == nil) != x.asked {
				t.Errorf("%v, %v, %v", resources.Resources, err, read)
			}
			prompts, err := cs.ListPrompts(t.Context(), nil)
			_, got := cs.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "greet"})
			if err != nil || (len(prompts.Prompts) == 1) != x.asked || (got == nil) != x.asked {
				t.Errorf("%v, %v, %v", prompts.Prompts, err, got)
			}
			if (asked == 3) != x.asked {
				t.Errorf("asked %d times", asked)
			}
		})
	}
}

// A session is told that a list changed where it changed for what it can be asked about, by what the approver says of it.
func TestChangesOfWhatCanBeAskedAbout(t *testing.T) {
	w := askWorld(t, []string{"2025-06-18"}, nil)
	var can atomic.Bool
	w.guard.o.Approver = asker{nil, func(_ Caller, ss *mcp.ServerSession) bool { return ss != nil && can.Load() }}
	c := w.wire("a", false)
	if got := c.do("resources/list", "{}"); strings.Contains(got, "fs://a") {
		t.Fatal(got)
	}
	w.addResources("fs://b") // not seen
	if got := c.do("resources/list", "{}"); strings.Contains(got, "fs://") {
		t.Fatal(got)
	}
	can.Store(true)
	w.addResources("fs://c")
	const changed = "notifications/resources/list_changed"
	if got := c.until(func(all string) bool { return strings.Contains(all, changed) }); strings.Count(got, changed) != 1 {
		t.Errorf("told: %s", got)
	}
	if got := c.do("resources/list", "{}"); !strings.Contains(got, "fs://b") {
		t.Errorf("listed: %s", got)
	}
}

// Arguments are in an event where that is asked for, and nowhere else.
func TestEventsHoldArgumentsOnRequest(t *testing.T) {
	for _, on := range []bool{false, true} {
		w := newWorld(t, asking(t), func(o *GuardOptions) { o.Arguments = on }, nil)
		w.add("fs", "write")
		w.addPrompts("greet")
		cs := w.client("a", nil)
		_, _ = call(t, cs, "fs__write", map[string]any{"b": 1, "a": "secret"})
		_, _ = cs.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "greet", Arguments: map[string]string{"a": "secret"}})
		for method, want := range map[string]string{"tools/call": `{"a":"secret","b":1}`, "prompts/get": `{"a":"secret"}`} {
			e := w.last(method)
			if !on {
				want = ""
			}
			if string(e.Arguments) != want || e.ArgsDigest == "" {
				t.Errorf("%v, %s: %s, %s", on, method, e.Arguments, e.ArgsDigest)
			}
			e.Arguments = nil
			if all := fmt.Sprintf("%+v", e); strings.Contains(all, "secret") {
				t.Errorf("%s", all)
			}
		}
	}
}

// An approval request says what would be if the tool were in the baseline as it is: by the same policy, with the same
// arguments.
func TestWhatWouldBeIfTheToolWereApproved(t *testing.T) {
	byArg := engine.All(engine.Pattern("fs/*"), engine.Arg("n", engine.Equals(1)))
	for what, x := range map[string]struct {
		policy   engine.PolicyOptions
		baseline engine.Fingerprint
		known    bool
		source   engine.Source
		want     engine.Action
	}{
		"new, an allow rule":       {engine.PolicyOptions{Allow: rules("fs/*")}, "", false, engine.SourceDefault, engine.Allow},
		"new, by its arguments":    {engine.PolicyOptions{Allow: []engine.Rule{byArg}}, "", false, engine.SourceDefault, engine.Allow},
		"new, no rule":             {engine.PolicyOptions{}, "", false, engine.SourceDefault, engine.Ask},
		"new, an ask rule":         {engine.PolicyOptions{Ask: rules("fs/*"), Allow: rules("fs/*")}, "", false, engine.SourceAsk, engine.Ask},
		"changed, an allow rule":   {engine.PolicyOptions{Allow: rules("fs/*")}, "other", true, engine.SourcePin, engine.Allow},
		"changed, an ask rule":     {engine.PolicyOptions{Ask: rules("fs/*")}, "other", true, engine.SourcePin, engine.Ask},
		"changed, the default":     {engine.PolicyOptions{}, "other", true, engine.SourcePin, engine.Ask},
		"changed, default deny":    {engine.PolicyOptions{NoMatch: engine.DenyNoMatch}, "other", true, engine.SourcePin, engine.Deny},
		"changed, other arguments": {engine.PolicyOptions{Allow: []engine.Rule{engine.All(engine.Pattern("fs/*"), engine.Arg("n", engine.Equals(2)))}}, "other", true, engine.SourcePin, engine.Ask},
	} {
		t.Run(what, func(t *testing.T) {
			var got *ApprovalRequest
			w := newWorld(t, one("a", view(t, engine.FilterOptions{}, x.policy)), func(o *GuardOptions) {
				o.Approver = approverFunc(func(_ context.Context, r *ApprovalRequest) (Approval, error) { got = r; return Approval{}, nil })
			}, nil)
			target := engine.Target{Server: "fs", Name: "write"}
			if x.known {
				c := engine.Config{Views: one("a", view(t, engine.FilterOptions{}, x.policy)), Baseline: engine.NewBaseline(map[engine.Target]engine.Fingerprint{target: x.baseline})}
				if err := w.engine.Apply(c); err != nil {
					t.Fatal(err)
				}
			}
			w.add("fs", "write")
			_, _ = call(t, w.client("a", nil), "fs__write", map[string]any{"n": 1})
			if got == nil || got.Decision.Source != x.source || got.Remembered.Action != x.want {
				t.Fatalf("%+v", got)
			}
			if f, known := got.Baseline.Lookup(target); f != x.baseline || known != x.known {
				t.Errorf("%q, %v", f, known)
			}
		})
	}
}

// continuer approves, and seals states by putting its own text in front.
type continuer struct {
	approverFunc
	fail string // "", "error", "empty" or "panic"
}

func (c continuer) Suspend(_ context.Context, r *ApprovalRequest, state string) (string, error) {
	switch c.fail {
	case "error":
		return "x", errors.New("no")
	case "empty":
		return "", nil
	case "panic":
		panic("no")
	}
	return "mine:" + r.Exposed + ":" + state, nil
}

func (c continuer) Resume(_ context.Context, r *ApprovalRequest) (string, bool) {
	if r.State == "panic" {
		panic("no")
	}
	return strings.CutPrefix(r.State, "mine:"+r.Exposed+":")
}

// demanding answers the first time by asking for input, with a state of its own, and then says what it got.
func demanding(got *[]string) (mcp.ToolHandler, mcp.ResourceHandler, mcp.PromptHandler) {
	ask := func(in mcp.InputResponseMap, state string) (mcp.InputRequestMap, string) {
		var keys []string
		for k := range in {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		*got = append(*got, state+strings.Join(keys, ","))
		if state == "theirs" {
			return nil, ""
		}
		return mcp.InputRequestMap{"name": &mcp.ElicitParams{Message: "Your name?", RequestedSchema: map[string]any{"type": "object"}}}, "theirs"
	}
	tool := func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		res := &mcp.CallToolResult{}
		if res.InputRequests, res.RequestState = ask(req.Params.InputResponses, req.Params.RequestState); res.InputRequests == nil {
			res.Content = []mcp.Content{&mcp.TextContent{Text: "ran"}}
		}
		return res, nil
	}
	resource := func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		res := &mcp.ReadResourceResult{}
		if res.InputRequests, res.RequestState = ask(req.Params.InputResponses, req.Params.RequestState); res.InputRequests == nil {
			res.Contents = []*mcp.ResourceContents{{URI: req.Params.URI, Text: "text"}}
		}
		return res, nil
	}
	prompt := func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		res := &mcp.GetPromptResult{}
		if res.InputRequests, res.RequestState = ask(req.Params.InputResponses, req.Params.RequestState); res.InputRequests == nil {
			res.Messages = []*mcp.PromptMessage{}
		}
		return res, nil
	}
	return tool, resource, prompt
}

// An approved call whose server asks for input goes on without a second question where the approver can tell that it is
// the approved one, for every kind; and else ends, told once.
func TestApprovedCallsGoOn(t *testing.T) {
	for _, fail := range []string{"", "error", "empty", "panic"} {
		t.Run(fail, func(t *testing.T) {
			asked := 0
			w := askWorld(t, nil, nil)
			w.guard.o.Approver = continuer{func(context.Context, *ApprovalRequest) (Approval, error) {
				asked++
				return Approval{Verdict: Approved}, nil
			}, fail}
			var got []string
			tool, resource, prompt := demanding(&got)
			w.server.AddTool(&mcp.Tool{Name: "fs__write", InputSchema: map[string]any{"type": "object"}}, tool)
			w.server.AddResource(&mcp.Resource{URI: "fs://a", Name: "a"}, resource)
			w.server.AddPrompt(&mcp.Prompt{Name: "greet"}, prompt)
			cs := w.client("a", &mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{}}, nil
			}})
			for i, f := range []func() (string, error){
				func() (string, error) {
					res, err := call(t, cs, "fs__write", nil)
					if err == nil && res.IsError {
						err = errors.New(text(res))
					}
					return "tools/call", err
				},
				func() (string, error) {
					_, err := cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "fs://a"})
					return "resources/read", err
				},
				func() (string, error) {
					_, err := cs.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "greet"})
					return "prompts/get", err
				},
			} {
				got = nil
				method, err := f()
				e := w.last(method)
				if asked != i+1 {
					t.Errorf("%s: asked %d times", method, asked)
				}
				if fail != "" {
					if err == nil || !strings.Contains(err.Error(), goOnText) || !errors.Is(e.Err, ErrCannotGoOn) || len(got) != 1 {
						t.Errorf("%s: %v, %v, %q", method, err, e.Err, got)
					}
					continue
				}
				if err != nil || !slices.Equal(got, []string{"", "theirsname"}) || !e.Resumed || e.Asked || e.Result != ResultRan {
					t.Errorf("%s: %v, %q, %+v", method, err, got, e)
				}
			}
		})
	}
}

// A state that the approver does not know is an answer to nothing: it is asked, and the server sees neither state nor
// answer.
func TestStatesThatNobodySealed(t *testing.T) {
	asked := 0
	w := askWorld(t, nil, nil)
	w.guard.o.Approver = continuer{func(context.Context, *ApprovalRequest) (Approval, error) {
		asked++
		return Approval{Verdict: Approved}, nil
	}, "error"}
	var got []string
	tool, _, _ := demanding(&got)
	w.server.AddTool(&mcp.Tool{Name: "fs__write", InputSchema: map[string]any{"type": "object"}}, tool)
	c := w.wire("a", true)
	for i, state := range []string{"theirs", "mine:other:theirs", "panic"} {
		c.do("tools/call", fmt.Sprintf(`{"name":"fs__write","requestState":%q,"inputResponses":{"name":{"action":"accept","content":{}}}}`, state))
		if e := w.last("tools/call"); asked != i+1 || e.Resumed || !e.Asked {
			t.Errorf("%s: asked %d times, %+v", state, asked, e)
		}
	}
	if !slices.Equal(got, []string{"", "", ""}) {
		t.Errorf("%q", got)
	}
}

// An older session cannot be asked by an answer, also not by a backend that has none of the SDK's translation.
func TestOlderSessionsDoNotGoOn(t *testing.T) {
	w := askWorld(t, nil, nil)
	w.guard.o.Approver = continuer{func(context.Context, *ApprovalRequest) (Approval, error) { return Approval{Verdict: Approved}, nil }, ""}
	w.server = mcp.NewServer(&mcp.Implementation{Name: "hub", Version: "1"}, &mcp.ServerOptions{Capabilities: capabilities()})
	w.server.AddReceivingMiddleware(w.guard.Middleware(), func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, in mcp.Request) (mcp.Result, error) {
			if method != "tools/call" {
				return next(ctx, method, in)
			}
			return &mcp.CallToolResult{RequestState: "theirs", InputRequests: mcp.InputRequestMap{"x": &mcp.ElicitParams{Message: "?"}}}, nil
		}
	})
	for _, modern := range []bool{true, false} {
		got := w.wire("a", modern).do("tools/call", `{"name":"fs__write"}`)
		if strings.Contains(got, "mine:fs__write:theirs") != modern || strings.Contains(got, goOnText) == modern {
			t.Errorf("%v: %s", modern, got)
		}
		if e := w.last("tools/call"); errors.Is(e.Err, ErrCannotGoOn) == modern || e.IsError == modern {
			t.Errorf("%v: %+v", modern, e)
		}
	}
}
