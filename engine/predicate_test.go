package engine_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/penstock-mcp/penstock/engine"
)

func TestADefaultDecisionCarriesTheErrorOfEveryAllowRuleThatFailed(t *testing.T) {
	causes := []error{errors.New("one"), errors.New("two"), errors.New("three")}
	var allow []engine.Rule
	for _, cause := range causes {
		allow = append(allow, engine.Args("f", func(context.Context, engine.Input) (bool, error) { return true, cause }))
	}
	o := engine.PolicyOptions{Allow: allow, AllowNewTools: true}
	e := newEngine(t, engine.FilterOptions{}, o)
	refresh(t, e, "s", "x")
	call := &engine.Call{Server: "s", Name: "x"}
	for what, decide := range map[string]func() (engine.Decision, error){
		"a policy": func() (engine.Decision, error) {
			return compilePolicy(t, o).Evaluate(ctx, call, &engine.Tool{Server: "s", Name: "x"}, nil)
		},
		"a snapshot": func() (engine.Decision, error) { return e.Snapshot().View("").Decide(ctx, call, nil) },
	} {
		d, err := decide()
		require.NoError(t, err)
		assert.Equal(t, engine.SourceDefault, d.Source, what)
		for _, cause := range causes {
			assert.ErrorIs(t, d.Err, cause, what)
		}
	}
}

// A Func rule may stand in a filter, which knows no arguments; what reads them there would see none, and think that it
// has seen all.
func TestAFuncThatReadsArgumentsFailsAndAnArgsDoesNot(t *testing.T) {
	for what, read := range map[string]func(engine.Input){
		"Arg":  func(in engine.Input) { in.Arg("k") },
		"Args": func(in engine.Input) { in.Args() },
	} {
		f := func(_ context.Context, in engine.Input) (bool, error) { read(in); return false, nil }
		call, tool := &engine.Call{Server: "s", Name: "x", Args: map[string]any{"k": 1}}, &engine.Tool{Server: "s", Name: "x"}
		d, err := compilePolicy(t, engine.PolicyOptions{Deny: []engine.Rule{engine.Func("f", f)}}).Evaluate(ctx, call, tool, nil)
		require.NoError(t, err)
		assert.Equal(t, engine.ReasonPredicateFailed, d.Reason, what)
		assert.ErrorContains(t, d.Err, "must not read arguments", what)

		d, err = compilePolicy(t, engine.PolicyOptions{Deny: []engine.Rule{engine.Args("f", f)}}).Evaluate(ctx, call, tool, nil)
		require.NoError(t, err)
		assert.Equal(t, engine.ReasonNoMatch, d.Reason, what)

		hides := compileFilter(t, engine.FilterOptions{Exclude: []engine.Rule{engine.Func("f", f)}})
		assert.False(t, hides.Visible(ctx, tool, nil), what)
	}
}
