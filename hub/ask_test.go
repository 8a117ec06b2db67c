package hub

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/penstock-mcp/penstock/engine"
)

type approverFunc func(context.Context, *ApprovalRequest) (Approval, error)

func (f approverFunc) Approve(ctx context.Context, r *ApprovalRequest) (Approval, error) {
	return f(ctx, r)
}

func asking(t testing.TB) map[string]engine.View {
	return one("a", view(t, engine.FilterOptions{}, engine.PolicyOptions{
		Scope: []engine.Kind{engine.Tools, engine.Resources, engine.Prompts},
		Ask:   rules("fs/*", "resource:fs/*", "prompt:fs/*"),
	}))
}

func askWorld(t testing.TB, versions []string, f approverFunc) *world {
	w := newWorld(t, asking(t), func(o *GuardOptions) {
		if f != nil {
			o.Approver = f
		}
	}, &mcp.ServerOptions{SupportedProtocolVersions: versions})
	w.add("fs", "write")
	w.addPrompts("greet")
	w.addResources("fs://a")
	return w
}

// Anything but a plain yes means that nothing runs.
func TestOnlyApprovedCallsRun(t *testing.T) {
	yes := Approval{Verdict: Approved}
	for what, x := range map[string]struct {
		f      approverFunc
		result Result
	}{
		"yes":       {func(context.Context, *ApprovalRequest) (Approval, error) { return yes, nil }, ResultRan},
		"no":        {func(context.Context, *ApprovalRequest) (Approval, error) { return Approval{}, nil }, ResultRefused},
		"error":     {func(context.Context, *ApprovalRequest) (Approval, error) { return yes, errors.New("no") }, ResultRefused},
		"panic":     {func(context.Context, *ApprovalRequest) (Approval, error) { panic("no") }, ResultRefused},
		"nonsense":  {func(context.Context, *ApprovalRequest) (Approval, error) { return Approval{Verdict: 77}, nil }, ResultRefused},
		"no one":    {nil, ResultDenied},
		"old, wait": {func(context.Context, *ApprovalRequest) (Approval, error) { return Approval{Verdict: Pending}, nil }, ResultRefused},
	} {
		t.Run(what, func(t *testing.T) {
			w := askWorld(t, []string{"2025-06-18"}, x.f)
			cs := w.client("a", nil)
			res, err := call(t, cs, "fs__write", map[string]any{"b": 2, "a": 1})
			if err != nil || res.IsError != (x.result != ResultRan) {
				t.Errorf("%v, %v", text(res), err)
			}
			if e := w.last("tools/call"); e.Result != x.result {
				t.Errorf("%+v", e)
			}
			if ran, _ := w.calls(); (len(ran) == 1) != (x.result == ResultRan) {
				t.Errorf("ran %v", ran)
			}
			_, err = cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "fs://a"})
			_, err2 := cs.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "greet"})
			if (err == nil) != (x.result == ResultRan) || (err2 == nil) != (x.result == ResultRan) {
				t.Errorf("%v, %v", err, err2)
			}
		})
	}
}

// The approver gets what will be sent, and what runs is what it got.
func TestApproverSeesWhatIsSent(t *testing.T) {
	var got ApprovalRequest
	w := askWorld(t, nil, func(_ context.Context, r *ApprovalRequest) (Approval, error) {
		got = *r
		return Approval{Verdict: Approved, By: "somebody"}, nil
	})
	if _, err := call(t, w.client("a", nil), "fs__write", map[string]any{"b": 2.0, "a": "\u00e4"}); err != nil {
		t.Fatal(err)
	}
	ran, args := w.calls()
	if string(got.Args) != `{"a":"ä","b":2}` || len(args) != 1 || args[0] != string(got.Args) || string(ran[0].Args) != args[0] {
		t.Errorf("asked about %s, sent %v", got.Args, args)
	}
	if got.Target != (engine.Target{Server: "fs", Name: "write"}) || got.Caller.Principal != "a" || got.Fingerprint == "" ||
		got.Decision.Rule().ID != "ask[0]" || got.Session == nil || got.Tool == nil || got.Request == nil {
		t.Errorf("%+v", got)
	}
	if !ran[0].Approved || ran[0].Fingerprint != got.Fingerprint || ran[0].Target != got.Target {
		t.Errorf("%+v", ran[0])
	}
}

// On a modern session an approver may ask by the answer, for every kind, and the tool never sees what came back.
func TestAskingByTheAnswer(t *testing.T) {
	asked := 0
	w := askWorld(t, nil, func(_ context.Context, r *ApprovalRequest) (Approval, error) {
		if r.State == "" {
			return Approval{Verdict: Pending, State: "state", Inputs: mcp.InputRequestMap{"ok": &mcp.ElicitParams{
				Message: "May it?", RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{}},
			}}}, nil
		}
		if res, ok := r.Responses["ok"].(*mcp.ElicitResult); ok && r.State == "state" && res.Action == "accept" {
			return Approval{Verdict: Approved}, nil
		}
		return Approval{}, nil
	})
	seen := ""
	w.server.AddTool(&mcp.Tool{Name: "fs__write", InputSchema: map[string]any{"type": "object"}}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		seen = req.Params.RequestState
		if req.Params.InputResponses != nil {
			seen += "responses"
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ran"}}}, nil
	})
	for _, action := range []string{"accept", "decline"} {
		cs := w.client("a", &mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asked++
			return &mcp.ElicitResult{Action: action, Content: map[string]any{}}, nil
		}})
		res, err := call(t, cs, "fs__write", nil)
		if err != nil || (text(res) == "ran") != (action == "accept") || seen != "" {
			t.Errorf("%s: %v, %v, %q", action, text(res), err, seen)
		}
		_, err = cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "fs://a"})
		_, err2 := cs.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "greet"})
		if (err == nil) != (action == "accept") || (err2 == nil) != (action == "accept") {
			t.Errorf("%s: %v, %v", action, err, err2)
		}
	}
	if asked != 6 {
		t.Errorf("asked %d times", asked)
	}
	raw := w.wire("a", true)
	for _, p := range [][2]string{{"tools/call", `{"name":"fs__write"}`}, {"resources/read", `{"uri":"fs://a"}`}, {"prompts/get", `{"name":"greet"}`}} {
		if got := raw.do(p[0], p[1]); !strings.Contains(got, `"resultType":"input_required"`) || !strings.Contains(got, "May it?") {
			t.Errorf("%s: %s", p[0], got)
		}
	}
}

// While a human thinks, the world goes on: an approval does not outlive what it was given for.
func TestApprovalOfWhatHasChanged(t *testing.T) {
	for what, x := range map[string]struct {
		change func(*testing.T, *world)
		result Result
	}{
		"nothing": {func(*testing.T, *world) {}, ResultRan},
		"denied": {func(t *testing.T, w *world) {
			apply(t, w, engine.FilterOptions{}, engine.PolicyOptions{Deny: rules("fs/*")})
		}, ResultDenied},
		"hidden": {func(t *testing.T, w *world) {
			apply(t, w, engine.FilterOptions{Exclude: rules("fs/*")}, allowAll())
		}, ResultHidden},
		"allowed": {func(t *testing.T, w *world) { apply(t, w, engine.FilterOptions{}, allowAll()) }, ResultRan},
		"another question": {func(t *testing.T, w *world) {
			apply(t, w, engine.FilterOptions{}, engine.PolicyOptions{Ask: rules("*/write")})
		}, ResultRefused},
		"another tool": {func(_ *testing.T, w *world) {
			w.tools["fs"][0].Raw = definition("write", "poisoned")
			w.refresh("fs")
		}, ResultRefused},
		"another tool, allowed": {func(t *testing.T, w *world) {
			w.tools["fs"][0].Raw = definition("write", "poisoned")
			w.refresh("fs")
			apply(t, w, engine.FilterOptions{}, allowAll())
		}, ResultRefused},
		"gone": {func(_ *testing.T, w *world) { w.engine.Remove("fs") }, ResultHidden},
	} {
		t.Run(what, func(t *testing.T) {
			var w *world
			w = askWorld(t, nil, func(context.Context, *ApprovalRequest) (Approval, error) {
				x.change(t, w)
				return Approval{Verdict: Approved}, nil
			})
			_, _ = call(t, w.client("a", nil), "fs__write", nil)
			if e := w.last("tools/call"); e.Result != x.result {
				t.Errorf("%s: %v", e.Result, e.Err)
			}
			if ran, _ := w.calls(); (len(ran) == 1) != (x.result == ResultRan) {
				t.Errorf("ran %v", ran)
			}
		})
	}
}

// A tool that asks for input itself cannot be answered past an approval that is good for one call: said once, not asked
// for again and again.
func TestApprovedToolThatAsksItself(t *testing.T) {
	asked := 0
	w := askWorld(t, nil, func(context.Context, *ApprovalRequest) (Approval, error) {
		asked++
		return Approval{Verdict: Approved}, nil
	})
	w.server.AddTool(&mcp.Tool{Name: "fs__write", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"x": &mcp.ElicitParams{Message: "?", RequestedSchema: map[string]any{"type": "object"}}}}, nil
	})
	cs := w.client("a", &mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{}}, nil
	}})
	res, err := call(t, cs, "fs__write", nil)
	if e := w.last("tools/call"); err != nil || !res.IsError || asked != 1 || !errors.Is(e.Err, ErrCannotGoOn) {
		t.Errorf("asked %d times: %v, %v, %v", asked, text(res), err, e.Err)
	}
}

func apply(t testing.TB, w *world, f engine.FilterOptions, p engine.PolicyOptions) {
	t.Helper()
	if err := w.engine.Apply(engine.Config{Views: one("a", view(t, f, p))}); err != nil {
		t.Fatal(err)
	}
}
