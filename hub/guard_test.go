package hub

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/penstock-mcp/penstock/engine"
)

func allowAll() engine.PolicyOptions {
	return engine.PolicyOptions{Allow: rules("*/*"), AllowNewTools: true}
}

func one(name string, v engine.View) map[string]engine.View { return map[string]engine.View{name: v} }

func call(t testing.TB, cs *mcp.ClientSession, name string, args any) (*mcp.CallToolResult, error) {
	t.Helper()
	return cs.CallTool(context.Background(), &mcp.CallToolParams{Name: name, Arguments: args})
}

func text(res *mcp.CallToolResult) string {
	if res == nil || len(res.Content) == 0 {
		return ""
	}
	return res.Content[0].(*mcp.TextContent).Text
}

func code(err error) int64 {
	var e *jsonrpc.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

// Every page is full but the last, and together they are what the caller sees, once and in order.
func TestPagesAreFullAndComplete(t *testing.T) {
	for _, size := range []int{1, 2, 3, 7, 100} {
		w := newWorld(t, one("a", view(t, engine.FilterOptions{Exclude: rules("*/*3*")}, allowAll())),
			func(o *GuardOptions) { o.PageSize = size }, &mcp.ServerOptions{PageSize: 4})
		var want []string
		for i := range 40 {
			name := fmt.Sprintf("t%02d", i)
			w.add("s", name)
			if !strings.Contains(name, "3") {
				want = append(want, "s__"+name)
			}
		}
		cs := w.client("a", nil)
		var got []string
		for cursor, n := "", 0; ; n++ {
			res, err := cs.ListTools(t.Context(), &mcp.ListToolsParams{Cursor: cursor})
			if err != nil {
				t.Fatal(err)
			}
			if res.NextCursor != "" && len(res.Tools) != size {
				t.Errorf("a page of %d in the middle, size %d", len(res.Tools), size)
			}
			got = append(got, names(res.Tools)...)
			if cursor = res.NextCursor; cursor == "" || n > 100 {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("size %d: %v", size, got)
		}
	}
}

// The list of one caller does not show in that of another, and what one changes in a result is its own.
func TestViewsByCaller(t *testing.T) {
	w := newWorld(t, map[string]engine.View{
		"reader": view(t, engine.FilterOptions{Include: rules("fs/read")}, allowAll()),
		"admin":  view(t, engine.FilterOptions{}, allowAll()),
	}, nil, nil)
	w.add("fs", "read", "write")
	for _, c := range []struct {
		caller string
		want   []string
	}{{"reader", []string{"fs__read"}}, {"admin", []string{"fs__read", "fs__write"}}, {"nobody", nil}, {"", nil}} {
		cs := w.client(c.caller, nil)
		res, err := cs.ListTools(t.Context(), nil)
		if err != nil || !slices.Equal(names(res.Tools), c.want) {
			t.Errorf("%s: %v, %v", c.caller, res, err)
		}
		_, err = call(t, cs, "fs__write", nil)
		if allowed := err == nil; allowed != (c.caller == "admin") {
			t.Errorf("%s: %v", c.caller, err)
		}
	}
}

func TestListsAreCopies(t *testing.T) {
	w := newWorld(t, one("a", view(t, engine.FilterOptions{}, allowAll())), nil, nil)
	w.add("fs", "read")
	w.server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			if l, ok := res.(*mcp.ListToolsResult); ok {
				for _, tool := range l.Tools {
					tool.Description += "!"
				}
			}
			return res, err
		}
	})
	cs := w.client("a", nil)
	for range 3 {
		res, err := cs.ListTools(t.Context(), nil)
		if err != nil || res.Tools[0].Description != "d!" {
			t.Fatalf("%v, %v", res.Tools[0], err)
		}
	}
}

// The model learns that it may not, and the sentence of the rule; the operator learns why.
func TestDeniedIsAResult(t *testing.T) {
	for _, versions := range [][]string{nil, {"2025-06-18"}} {
		w := newWorld(t, one("a", view(t, engine.FilterOptions{}, engine.PolicyOptions{
			Deny: []engine.Rule{
				engine.Named("no-shell-7", engine.Pattern("fs/shell")).WithMessage("Shell access needs a ticket."),
				engine.Pattern("fs/rm*"),
			},
			Allow: rules("*/*"), AllowNewTools: true, NoMatch: engine.DenyNoMatch,
		})), nil, &mcp.ServerOptions{SupportedProtocolVersions: versions})
		w.add("fs", "shell", "rmdir", "read")
		cs := w.client("a", nil)
		for _, c := range []struct{ tool, text, rule string }{
			{"fs__shell", deniedText + " Shell access needs a ticket.", "no-shell-7"},
			{"fs__rmdir", deniedText, "deny[1]"},
		} {
			res, err := call(t, cs, c.tool, map[string]any{"secret": "value"})
			if err != nil || !res.IsError || text(res) != c.text {
				t.Errorf("%s: %v %v", c.tool, text(res), err)
			}
			e := w.last("tools/call")
			if e.Result != ResultDenied || e.Decision.Rule().ID != c.rule || e.ArgsDigest == "" || e.Caller.Principal != "a" || !e.Decided {
				t.Errorf("%s: %+v", c.tool, e)
			}
			if strings.Contains(fmt.Sprintf("%+v", e), "value") {
				t.Error("an argument's value in an event")
			}
		}
		if res, err := call(t, cs, "fs__read", nil); err != nil || res.IsError {
			t.Errorf("read: %v", err)
		}
		if ran, _ := w.calls(); len(ran) != 1 || ran[0].Target.Name != "read" {
			t.Errorf("ran: %v", ran)
		}
	}
}

// Rules about arguments leave the list alone and judge each call by what is sent.
func TestArgumentsAreJudgedAndSentAsJudged(t *testing.T) {
	w := newWorld(t, one("a", view(t, engine.FilterOptions{}, engine.PolicyOptions{
		Allow:   []engine.Rule{engine.All(engine.Pattern("fs/write"), engine.Arg("path", engine.Inside("/data"))), engine.Pattern("fs/free")},
		NoMatch: engine.DenyNoMatch,
	})), nil, nil)
	w.add("fs", "write", "free")
	c := w.wire("a", true)
	if l := c.do("tools/list", "{}"); !strings.Contains(l, "fs__write") {
		t.Errorf("not listed: %s", l)
	}
	for _, x := range []struct{ tool, args, sent, result string }{
		{"write", `{"path":"/data/x","n":1.0,"b":[true, null]}`, `{"b":[true,null],"n":1,"path":"/data/x"}`, "ran"},
		{"write", `{"path":"\u002fdata/x"}`, `{"path":"/data/x"}`, "ran"},
		{"write", `{"path":"/data/../etc"}`, "", "denied"},
		{"write", `{"path":"/data/x","Path":"/etc"}`, "", "denied"},
		{"write", `{"path":"/etc","path":"/data/x"}`, "", "malformed"},
		{"write", `{"path":"/data/\ud800"}`, "", "malformed"},
		{"write", `{"path":"/data/x","id":9007199254740993}`, "", "malformed"},
		{"write", `["/data/x"]`, "", "malformed"},
		{"write", `"x"`, "", "malformed"},
		{"write", ``, "", "denied"},
		{"write", `null`, "", "denied"},
		{"free", ``, ``, "ran"},
		{"free", `null`, ``, "ran"},
		{"free", `{}`, `{}`, "ran"},
	} {
		_, before := w.calls()
		params := `{"name":"fs__` + x.tool + `"`
		if x.args != "" {
			params += `,"arguments":` + x.args
		}
		answer := c.do("tools/call", params+"}")
		_, after := w.calls()
		e := w.last("tools/call")
		if string(e.Result) != x.result {
			t.Errorf("%s: %s, want %s: %s", x.args, e.Result, x.result, answer)
		}
		switch got := after[len(before):]; {
		case x.result != "ran" && len(got) != 0:
			t.Errorf("%s ran", x.args)
		case x.result == "ran" && (len(got) != 1 || got[0] != x.sent):
			t.Errorf("%s was sent as %v", x.args, got)
		}
		if x.result == "malformed" && !strings.Contains(answer, "-32602") {
			t.Errorf("%s: %s", x.args, answer)
		}
	}
}

// Only what is approved and unchanged is there at all.
func TestOnlyApproved(t *testing.T) {
	v := one("a", view(t, engine.FilterOptions{}, allowAll()))
	w := newWorld(t, v, func(o *GuardOptions) { o.OnlyApproved = true }, nil)
	w.add("fs", "good", "changed", "new")
	approved := map[engine.Target]engine.Fingerprint{}
	for name, d := range map[string]string{"good": "d", "changed": "as it was"} {
		f, err := engine.ComputeFingerprint(definition(name, d))
		if err != nil {
			t.Fatal(err)
		}
		approved[engine.Target{Server: "fs", Name: name}] = f
	}
	if err := w.engine.Apply(engine.Config{Views: v, Baseline: engine.NewBaseline(approved)}); err != nil {
		t.Fatal(err)
	}
	cs := w.client("a", nil)
	res, err := cs.ListTools(t.Context(), nil)
	if err != nil || !slices.Equal(names(res.Tools), []string{"fs__good"}) {
		t.Errorf("%v, %v", names(res.Tools), err)
	}
	for _, n := range []string{"good", "changed", "new"} {
		if _, err := call(t, cs, "fs__"+n, nil); (err == nil) != (n == "good") {
			t.Errorf("%s: %v", n, err)
		}
	}
}

// With Definition a list is made from the snapshot alone.
func TestDefinitionsFromTheSnapshot(t *testing.T) {
	w := newWorld(t, one("a", view(t, engine.FilterOptions{Exclude: rules("fs/b")}, allowAll())), func(o *GuardOptions) {
		o.Definition = func(tool *engine.Tool) (*mcp.Tool, bool) {
			if tool.Name == "c" {
				panic("no such luck")
			}
			return &mcp.Tool{Name: tool.Name, InputSchema: map[string]any{"type": "object"}}, true
		}
	}, nil)
	w.add("fs", "b", "c", "a", "d")
	w.server.RemoveTools("fs__d") // the server has forgotten it, the engine has not
	res, err := w.client("a", nil).ListTools(t.Context(), nil)
	if err != nil || !slices.Equal(names(res.Tools), []string{"fs__a", "fs__d"}) {
		t.Errorf("%v, %v", names(res.Tools), err)
	}
}

// Whoever cannot be identified sees nothing and may do nothing, also where there is a view "".
func TestUnidentifiedCallersSeeNothing(t *testing.T) {
	open := view(t, engine.FilterOptions{}, engine.PolicyOptions{Allow: rules("*/*"), AllowNewTools: true})
	for what, identify := range map[string]Identify{
		"error":        func(context.Context, string, mcp.Request) (Caller, error) { return Caller{View: "a"}, errors.New("no") },
		"panic":        func(context.Context, string, mcp.Request) (Caller, error) { panic("no") },
		"unknown view": func(context.Context, string, mcp.Request) (Caller, error) { return Caller{View: "none"}, nil },
	} {
		w := newWorld(t, map[string]engine.View{"": open, "a": open}, func(o *GuardOptions) { o.Identify = identify }, nil)
		w.add("fs", "read")
		w.addPrompts("greet")
		w.addResources("fs://a")
		cs := w.client("a", nil)
		res, err := cs.ListTools(t.Context(), nil)
		if err != nil || len(res.Tools) != 0 {
			t.Errorf("%s: %v, %v", what, res, err)
		}
		if _, err := call(t, cs, "fs__read", nil); code(err) != jsonrpc.CodeInvalidParams {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "fs://a"}); code(err) != jsonrpc.CodeInvalidParams {
			t.Errorf("%s: %v", what, err)
		}
		if p, err := cs.ListPrompts(t.Context(), nil); err != nil || len(p.Prompts) != 0 {
			t.Errorf("%s: %v, %v", what, p, err)
		}
		if e := w.last("tools/call"); (e.IdentifyErr != nil) != (what != "unknown view") {
			t.Errorf("%s: %+v", what, e)
		}
	}
}

// Without tables nothing is there; without a guard there is no judgement.
func TestZeroOptionsShowNothing(t *testing.T) {
	w := newWorld(t, one(DefaultView, view(t, engine.FilterOptions{}, allowAll())), func(o *GuardOptions) {
		*o = GuardOptions{Engine: o.Engine}
	}, nil)
	w.add("fs", "read")
	w.addResources("fs://a")
	cs := w.client("a", nil)
	if res, err := cs.ListTools(t.Context(), nil); err != nil || len(res.Tools) != 0 {
		t.Errorf("%v, %v", res, err)
	}
	if res, err := cs.ListResources(t.Context(), nil); err != nil || len(res.Resources) != 0 {
		t.Errorf("%v, %v", res, err)
	}
	var zero *Guard
	if _, err := zero.Middleware()(nil)(t.Context(), "tools/list", nil); err == nil {
		t.Error("a nil guard let a request through")
	}
	if _, ok := JudgedFrom(t.Context()); ok {
		t.Error("judged by nobody")
	}
	if _, err := NewGuard(GuardOptions{}); err == nil {
		t.Error("a guard without an engine")
	}
}

// A token says who it is; what a caller may write itself does not.
func TestIdentifyToken(t *testing.T) {
	req := &mcp.ListToolsRequest{Extra: &mcp.RequestExtra{
		TokenInfo: &auth.TokenInfo{UserID: "u", Scopes: []string{"read"}},
		Header:    http.Header{"X-User": {"root"}, "X-View": {"admin"}},
	}}
	c, err := IdentifyToken(t.Context(), "tools/list", req)
	if err != nil || c.Principal != "u" || c.View != DefaultView || fmt.Sprint(c.Attributes) != "map[scopes:[read]]" {
		t.Errorf("%+v, %v", c, err)
	}
	if c, err = IdentifyToken(t.Context(), "tools/list", &mcp.ListToolsRequest{}); err != nil || c.Principal != "" || c.View != DefaultView {
		t.Errorf("%+v, %v", c, err)
	}
}
