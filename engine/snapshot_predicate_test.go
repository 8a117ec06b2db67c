package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/penstock-mcp/penstock/engine"
)

// everyPlace puts a predicate into each list of a filter and a policy in turn and returns the engines.
func everyPlace(t *testing.T, f func(context.Context, engine.Input) (bool, error)) map[string]*engine.Engine {
	fn, args := engine.Func("f", f), engine.Args("f", f)
	return map[string]*engine.Engine{
		"include": newEngine(t, engine.FilterOptions{Include: []engine.Rule{fn}}, engine.PolicyOptions{Allow: rules("*"), AllowNewTools: true}),
		"exclude": newEngine(t, engine.FilterOptions{Exclude: []engine.Rule{fn}}, engine.PolicyOptions{Allow: rules("*"), AllowNewTools: true}),
		"deny":    newEngine(t, engine.FilterOptions{}, engine.PolicyOptions{Deny: []engine.Rule{args}, Allow: rules("*"), AllowNewTools: true}),
		"ask":     newEngine(t, engine.FilterOptions{}, engine.PolicyOptions{Ask: []engine.Rule{args}, Allow: rules("*"), AllowNewTools: true}),
		"allow":   newEngine(t, engine.FilterOptions{}, engine.PolicyOptions{Allow: []engine.Rule{args}, AllowNewTools: true}),
		"all":     newEngine(t, engine.FilterOptions{}, engine.PolicyOptions{Deny: []engine.Rule{engine.All(engine.Pattern("s/*"), engine.Tainted(), args)}, Allow: rules("*"), AllowNewTools: true}),
	}
}

func TestAPredicateThatPanicsCountsAgainstTheCallInASnapshot(t *testing.T) {
	cause := errors.New("the cause")
	const notFound = "tool not found"
	want := map[string]string{
		"include": notFound, "exclude": notFound,
		"deny":  "deny by deny[0] (predicate_failed), new tool: predicate f: ",
		"ask":   "ask by ask[0] (predicate_failed), new tool: predicate f: ",
		"allow": "ask by default (no_match), new tool: predicate f: ",
		"all":   "deny by deny[0] (predicate_failed), new tool: predicate f: ",
	}
	for how, f := range map[string]func(){
		"panic: the cause":                      func() { panic(cause) },
		"panic: text":                           func() { panic("text") },
		"the cause":                             func() {},
		"panic: panic called with nil argument": func() { panic(nil) },
		"panic: runtime error: index out of range": func() {
			var list []int
			list[len(cause.Error())]++
		},
	} {
		for place, e := range everyPlace(t, func(context.Context, engine.Input) (bool, error) { f(); return true, cause }) {
			_, err := e.Refresh("s", []engine.Tool{{Name: "x"}, {Name: "y"}})
			require.NoError(t, err, "a refresh calls no predicate")
			v, req := e.Snapshot().View(""), &engine.Request{HasApprover: true, Taint: []string{"web"}}
			for range 3 { // a failure leaves nothing behind that changes the next answer
				d, err := v.Decide(ctx, someCall, req)
				if want[place] == notFound {
					assert.Equal(t, engine.ErrNotFound, err, "%s, %s", place, how)
					assert.Equal(t, engine.Decision{}, d)
					assert.Empty(t, v.AppendTools(ctx, nil, req))
					for range v.Tools(ctx, req) {
						t.Errorf("%s, %s: it shows a tool", place, how)
					}
					continue
				}
				require.NoError(t, err)
				assert.Contains(t, d.String(), want[place]+how, "%s, %s", place, how)
				var failure *engine.PredicateError
				assert.ErrorAs(t, d.Err, &failure)
				if how == "panic: the cause" || how == "the cause" {
					assert.ErrorIs(t, d.Err, cause)
				}
				assert.Len(t, v.AppendTools(ctx, nil, req), 2)
			}
		}
	}
}

func TestAPredicateCannotChangeWhatTheCallerPassedIn(t *testing.T) {
	raw := `{"name":"x"}`
	for place, e := range everyPlace(t, func(_ context.Context, in engine.Input) (bool, error) {
		tool := in.Tool()
		copy(tool.Raw, "#####")
		spoil(in.Attributes())
		for _, key := range []string{"list", "map", "strings", "typed"} {
			v, _ := in.Attribute(key)
			spoil(v)
		}
		taint := in.Taint()
		for i := range taint {
			taint[i] = "spoilt"
		}
		_ = append(taint[:0], "spoilt")
		func() {
			defer func() { _ = recover() }() // a filter's function may not look at arguments
			spoil(in.Args())
			for _, key := range []string{"list", "map", "strings", "typed"} {
				v, _ := in.Arg(key)
				spoil(v)
			}
		}()
		return false, nil
	}) {
		_, err := e.Refresh("s", []engine.Tool{{Name: "x", Raw: json.RawMessage(raw)}})
		require.NoError(t, err)
		values := func() map[string]any {
			return map[string]any{
				"list":    []any{"a", map[string]any{"k": []any{"v"}}},
				"map":     map[string]any{"k": []any{json.Number("1")}},
				"strings": []string{"a", "b"},
				"typed":   map[string][]int{"k": {1}},
				"s":       "text",
			}
		}
		call := &engine.Call{Server: "s", Name: "x", Args: values()}
		req := &engine.Request{Taint: append(make([]string, 0, 4), "web", "docs"), Attributes: values()}
		spare := req.Taint[:4]
		v := e.Snapshot().View("")
		_, _ = v.Decide(ctx, call, req)
		_ = v.AppendTools(ctx, nil, req)
		tool := &engine.Tool{Server: "s", Name: "x", Raw: json.RawMessage(raw)}
		req.Approved = engine.NewBaseline(nil)
		_, _ = v.Decide(ctx, call, req)
		assert.Equal(t, values(), call.Args, place)
		assert.Equal(t, values(), req.Attributes, place)
		assert.Equal(t, []string{"web", "docs", "", ""}, spare, place)
		for known := range v.Tools(ctx, nil) {
			assert.Equal(t, raw, string(known.Raw), place)
		}
		assert.Equal(t, raw, string(tool.Raw), place)
		ref, ok := v.Ref("s", "x")
		require.True(t, ok)
		_, _ = v.DecideRef(ctx, ref, call.Args, req)
		assert.Equal(t, values(), call.Args, place)
	}
}

// spoil writes to whatever of v can be written to.
func spoil(v any) {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			spoil(v[k])
			v[k] = "spoilt"
		}
		if v != nil {
			v["more"] = "spoilt"
		}
	case []any:
		for i := range v {
			spoil(v[i])
			v[i] = "spoilt"
		}
	case []string:
		for i := range v {
			v[i] = "spoilt"
		}
	case map[string][]int:
		for k := range v {
			v[k][0] = 99
			delete(v, k)
		}
	}
}

// No reader holds a lock, so a predicate may even write; the decision under way stays that of its own snapshot.
func TestAPredicateMayChangeTheEngineThatAsksIt(t *testing.T) {
	var e *engine.Engine
	calls := 0
	change := engine.Func("change", func(context.Context, engine.Input) (bool, error) {
		calls++
		e.Remove("s")
		if _, err := e.Refresh("t", []engine.Tool{{Name: "x"}}); err != nil {
			return true, err
		}
		return false, e.Apply(engine.Config{})
	})
	views := map[string]engine.View{"": {
		compileFilter(t, engine.FilterOptions{Exclude: []engine.Rule{change}}),
		compilePolicy(t, engine.PolicyOptions{Deny: []engine.Rule{change}, Allow: rules("s/x"), AllowNewTools: true}),
	}}
	var err error
	e, err = engine.New(engine.Config{Views: views})
	require.NoError(t, err)
	refresh(t, e, "s", "x", "y")
	s := e.Snapshot()
	d, err := s.View("").Decide(ctx, someCall, nil)
	require.NoError(t, err)
	assert.Equal(t, "allow by allow[0] (matched), new tool", d.String())
	var list []string
	for tool := range s.View("").Tools(ctx, nil) {
		list = append(list, tool.Name)
	}
	assert.Equal(t, []string{"x", "y"}, list)
	assert.Equal(t, 4, calls)
	assert.Equal(t, []string{"t"}, e.Snapshot().Servers())
	assertBlind(t, e.Snapshot().View(""), "after the change")
}

// A predicate is asked once for each decision it can change, in the caller's goroutine and with the caller's context,
// and not at all where something else decides.
func TestAPredicateIsAskedOnlyWhereItCouldMatter(t *testing.T) {
	var asked []string
	type key struct{}
	called := context.WithValue(ctx, key{}, "here")
	note := func(id string, result bool) engine.Rule {
		return engine.Args(id, func(c context.Context, in engine.Input) (bool, error) {
			if c.Value(key{}) != "here" {
				return false, errors.New("another context")
			}
			asked = append(asked, id+" "+in.Name())
			return result, nil
		})
	}
	e := newEngine(t, engine.FilterOptions{}, engine.PolicyOptions{
		Deny: []engine.Rule{
			engine.All(engine.Pattern("*/open*"), note("deny-0", false)), engine.Pattern("*/closed*"), engine.All(engine.Pattern("*/closed*"), note("deny-2", true)),
		},
		Ask:           []engine.Rule{engine.All(engine.Pattern("*/asked*"), note("ask-0", true)), engine.Pattern("*/asked*")},
		Allow:         []engine.Rule{engine.Pattern("*/open_yes"), engine.All(engine.Pattern("*/open*"), note("allow-1", true)), note("allow-2", true)},
		AllowNewTools: true,
	})
	refresh(t, e, "s", "open", "open_yes", "closed", "asked", "other")
	for _, c := range []struct {
		name, rule string
		asked      []string
	}{
		{"open", "allow[1]", []string{"deny-0 open", "allow-1 open"}},
		{"open_yes", "allow[0]", []string{"deny-0 open_yes"}},
		{"closed", "deny[1]", nil},
		{"asked", "ask[0]", []string{"ask-0 asked"}},
		{"other", "allow[2]", []string{"allow-2 other"}},
	} {
		asked = nil
		d, err := e.Snapshot().View("").Decide(called, &engine.Call{Server: "s", Name: c.name}, askable)
		require.NoError(t, err)
		assert.Equal(t, c.rule, d.RuleID(), c.name)
		assert.True(t, slices.Equal(c.asked, asked), "%s: asked %q, want %q", c.name, asked, c.asked)
	}
}
