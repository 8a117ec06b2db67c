package engine_test

import (
	"context"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/penstock-mcp/penstock/engine"
)

var (
	someTool = &engine.Tool{Server: "s", Name: "x"}
	someCall = &engine.Call{Server: "s", Name: "x"}
	askable  = &engine.Request{HasApprover: true}
)

// What was never made must not be what lets a call through.
func TestNilAndZeroPoliciesDenyEverything(t *testing.T) {
	for name, p := range map[string]*engine.Policy{"nil": nil, "zero": new(engine.Policy)} {
		for _, req := range []*engine.Request{nil, {}, askable, {HasApprover: true, Approved: engine.NewBaseline(nil)}} {
			d, err := p.Evaluate(ctx, someCall, someTool, req)
			assert.NoError(t, err, name)
			assert.Equal(t, "deny by default (no_match), new tool", d.String(), name)
			d, err = p.EvaluateResource("s", "x", req)
			assert.NoError(t, err, name)
			assert.Equal(t, "deny by default (no_match)", d.String(), name)
			d, err = p.EvaluatePrompt("s", "x", req)
			assert.NoError(t, err, name)
			assert.Equal(t, "deny by default (no_match)", d.String(), name)

			e, err := engine.New(engine.Config{Views: map[string]engine.View{"": {compileFilter(t, engine.FilterOptions{}), p}}})
			require.NoError(t, err)
			refresh(t, e, "s", "x")
			v := e.Snapshot().View("")
			d, err = v.Decide(ctx, someCall, req)
			assert.NoError(t, err, name)
			assert.Equal(t, "deny by default (no_match), new tool", d.String(), name)
			ref, ok := v.Ref("s", "x")
			assert.True(t, ok, name)
			d, err = v.DecideRef(ctx, ref, nil, req)
			assert.NoError(t, err, name)
			assert.Equal(t, "deny by default (no_match), new tool", d.String(), name)
			d, err = v.EvaluateResource("s", "x", req)
			assert.NoError(t, err, name)
			assert.Equal(t, engine.Deny, d.Action, name)
		}
	}
	var none *engine.Policies
	assert.Nil(t, none.Get("x"))
	assert.Nil(t, new(engine.Policies).Get("x"))
	assert.Equal(t, engine.Deny, engine.Decision{}.Action)
}

func TestNilAndZeroFiltersHideEverything(t *testing.T) {
	for name, f := range map[string]*engine.Filter{"nil": nil, "zero": new(engine.Filter)} {
		assert.False(t, f.Visible(ctx, someTool, nil), name)
		assert.False(t, f.StaticVisible(someTool), name)
		e, err := engine.New(engine.Config{Views: map[string]engine.View{"": {f, engine.AllowAll()}}})
		require.NoError(t, err)
		refresh(t, e, "s", "x")
		assertBlind(t, e.Snapshot().View(""), name)
	}
	f := compileFilter(t, engine.FilterOptions{})
	assert.False(t, f.Visible(ctx, nil, nil))
	assert.False(t, f.StaticVisible(nil))
	assert.True(t, f.Visible(ctx, someTool, nil))
}

// assertBlind fails unless the view sees nothing, and says so as it says it of a tool that does not exist.
func assertBlind(t *testing.T, v *engine.ViewSnapshot, what string) {
	t.Helper()
	for _, call := range []*engine.Call{someCall, {Server: "s", Name: "none"}, {Server: "none", Name: "x"}, {}, {Server: "\xff"}, nil} {
		for _, req := range []*engine.Request{nil, askable, {Approved: engine.NewBaseline(nil)}} {
			d, err := v.Decide(ctx, call, req)
			assert.Equal(t, engine.ErrNotFound, err, what)
			assert.Equal(t, engine.Decision{}, d, what)
		}
	}
	_, ok := v.Ref("s", "x")
	assert.False(t, ok, what)
	tool, ok := v.Tool(ctx, "s", "x", nil)
	assert.False(t, ok, what)
	assert.Nil(t, tool, what)
	assert.Empty(t, v.AppendTools(ctx, nil, nil), what)
	for tool := range v.Tools(ctx, nil) {
		t.Errorf("%s: it shows %v", what, tool)
	}
	assert.Zero(t, v.Counts().Shown, what)
	for _, call := range []*engine.Call{someCall, {Server: "s", Name: "none"}, {}, nil} {
		x := v.Explain(ctx, call, nil)
		assert.Equal(t, engine.ErrNotFound, x.Err, what)
		assert.False(t, x.Visible, what)
	}
	d, err := v.DecideRef(ctx, engine.Ref{}, nil, askable)
	assert.Equal(t, engine.ErrStale, err, what)
	assert.Equal(t, engine.Decision{}, d, what)
}

func TestNilAndUnknownViewsSeeNothingAndDenyEverything(t *testing.T) {
	open := openEngine(t)
	refresh(t, open, "s", "x")
	var zero engine.Engine
	refresh(t, &zero, "s", "x")
	assert.Equal(t, []string{"s"}, zero.Snapshot().Servers())
	for what, v := range map[string]*engine.ViewSnapshot{
		"nil view":               nil,
		"zero view":              new(engine.ViewSnapshot),
		"view of nil snapshot":   (*engine.Snapshot)(nil).View(""),
		"view of zero snapshot":  new(engine.Snapshot).View(""),
		"view of nil engine":     (*engine.Engine)(nil).Snapshot().View(""),
		"view of unused engine":  new(engine.Engine).Snapshot().View(""),
		"view of zero engine":    zero.Snapshot().View(""),
		"unknown view":           open.Snapshot().View("nobody"),
		"view in other spelling": open.Snapshot().View(" "),
	} {
		assertBlind(t, v, what)
		for _, req := range []*engine.Request{nil, askable} {
			d, err := v.EvaluateResource("s", "file:///x", req)
			assert.NoError(t, err, what)
			assert.Equal(t, engine.Deny, d.Action, what)
			d, err = v.EvaluatePrompt("s", "x", req)
			assert.NoError(t, err, what)
			assert.Equal(t, engine.Deny, d.Action, what)
		}
		_ = v.Snapshot().Generation()
	}
	var none *engine.Snapshot
	assert.Zero(t, none.Generation())
	assert.Nil(t, none.Baseline())
	assert.Nil(t, none.Servers())

	// A reference of an engine that shows everything opens nothing elsewhere.
	ref, ok := open.Snapshot().View("").Ref("s", "x")
	require.True(t, ok)
	for _, v := range []*engine.ViewSnapshot{nil, zero.Snapshot().View(""), open.Snapshot().View("nobody")} {
		d, err := v.DecideRef(ctx, ref, nil, askable)
		assert.Equal(t, engine.ErrStale, err)
		assert.Equal(t, engine.Decision{}, d)
	}
}

func TestNilBaselinesAreEmptyAndNilRequestsZero(t *testing.T) {
	var none *engine.Baseline
	_, ok := none.Lookup(engine.Target{Server: "s", Name: "x"})
	assert.False(t, ok)
	assert.Zero(t, none.Len())
	assert.Empty(t, none.Targets())
	e := newEngine(t, engine.FilterOptions{}, engine.PolicyOptions{Ask: rules("x"), Allow: []engine.Rule{engine.Attribute("k", engine.Exists(false))}, AllowNewTools: true})
	refresh(t, e, "s", "x", "y")
	v := e.Snapshot().View("")
	for _, name := range []string{"x", "y"} {
		call := &engine.Call{Server: "s", Name: name}
		want, err := v.Decide(ctx, call, &engine.Request{})
		assert.NoError(t, err)
		got, err := v.Decide(ctx, call, nil)
		assert.NoError(t, err)
		assert.Equal(t, want, got)
		got, err = v.Decide(context.TODO(), call, &engine.Request{Approved: engine.NewBaseline(nil)})
		assert.NoError(t, err)
		assert.Equal(t, want, got)
	}
	p := engine.AllowAll()
	for _, c := range []struct {
		call *engine.Call
		tool *engine.Tool
	}{{nil, nil}, {someCall, nil}, {nil, someTool}} {
		d, err := p.Evaluate(ctx, c.call, c.tool, nil)
		assert.Error(t, err)
		assert.Equal(t, engine.Decision{}, d)
	}
}

// A regular expression that was never compiled panics when it is used: in a reader, or in a writer under way.
func TestARegexpThatWasNeverCompiledIsRefused(t *testing.T) {
	for _, re := range []*regexp.Regexp{nil, new(regexp.Regexp)} {
		for _, r := range []engine.Rule{
			engine.Regexp("*", re), engine.ResourceRegexp("*", re), engine.PromptRegexp("*", re),
			engine.All(engine.Pattern("x"), engine.Regexp("*", re)), engine.Named("n", engine.Regexp("*", re)),
			engine.Arg("k", engine.Match(re)),
		} {
			_, err := engine.CompilePolicy(engine.PolicyOptions{Deny: []engine.Rule{r}, Scope: []engine.Kind{engine.Tools, engine.Resources, engine.Prompts}})
			assert.ErrorContains(t, err, "the regular expression is nil or was never compiled")
		}
		_, err := engine.CompileFilter(engine.FilterOptions{Exclude: []engine.Rule{engine.Regexp("*", re)}})
		assert.ErrorContains(t, err, "the regular expression is nil or was never compiled")
	}
}

// A compiled policy keeps its own copy of a regular expression: the original can still be changed.
func TestARegexpThatIsChangedLaterChangesNoPolicy(t *testing.T) {
	plain, member := regexp.MustCompile("^x$"), regexp.MustCompile("^x$")
	f := compileFilter(t, engine.FilterOptions{Exclude: []engine.Rule{engine.Regexp("s", plain)}})
	p := compilePolicy(t, engine.PolicyOptions{Deny: []engine.Rule{engine.Regexp("s", plain), engine.All(engine.Pattern("s/*"), engine.Regexp("*", member))}})
	for _, re := range []*regexp.Regexp{plain, member} {
		require.NoError(t, re.UnmarshalText([]byte("^never$")))
	}
	assert.False(t, f.Visible(ctx, someTool, nil))
	d, err := p.Evaluate(ctx, someCall, someTool, nil)
	assert.NoError(t, err)
	assert.Equal(t, "deny[0]", d.RuleID())
}
