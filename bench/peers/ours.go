package peers

import (
	"context"
	"fmt"

	"github.com/penstock-mcp/penstock/bench"
	"github.com/penstock-mcp/penstock/engine"
)

// ours is our engine with the workload's policy and filter in force.
type ours struct {
	engine *engine.Engine
	policy *engine.Policy
	filter *engine.Filter
	base   *engine.Baseline
}

const viewName = "all"

func newOurs(w *bench.Workload) (*ours, error) {
	o := &ours{base: w.Baseline()}
	var err error
	if o.policy, err = engine.CompilePolicy(w.PolicyOptions()); err != nil {
		return nil, err
	}
	if o.filter, err = engine.CompileFilter(w.FilterOptions()); err != nil {
		return nil, err
	}
	open, err := engine.CompileFilter(engine.FilterOptions{})
	if err != nil {
		return nil, err
	}
	if o.engine, err = engine.New(o.config(o.policy, open)); err != nil {
		return nil, err
	}
	for _, s := range w.Catalog() {
		if _, err := o.engine.Refresh(s.ID, s.Tools); err != nil {
			return nil, fmt.Errorf("refresh of %s: %w", s.ID, err)
		}
	}
	return o, nil
}

// config has a view whose filter hides nothing, for decisions, and one with the filter, for lists.
func (o *ours) config(p *engine.Policy, open *engine.Filter) engine.Config {
	return engine.Config{
		Views:    map[string]engine.View{viewName: {Filter: open, Policy: p}, "filtered": {Filter: o.filter, Policy: p}},
		Baseline: o.base,
	}
}

// known decides a call to a tool of the snapshot.
func (o *ours) known(calls []engine.Call) func(i int) bench.List {
	v := o.engine.Snapshot().View(viewName)
	ctx, req := context.Background(), &engine.Request{HasApprover: true}
	return func(i int) bench.List {
		d, _ := v.Decide(ctx, &calls[i], req)
		return listOf(d)
	}
}

// unseen decides a call to a tool that the engine never saw.
func (o *ours) unseen(calls []engine.Call) func(i int) bench.List {
	ctx, req := context.Background(), &engine.Request{HasApprover: true}
	var t engine.Tool
	return func(i int) bench.List {
		t.Server, t.Name = calls[i].Server, calls[i].Name
		d, _ := o.policy.Evaluate(ctx, &calls[i], &t, req)
		return listOf(d)
	}
}

// list returns the visible tools.
func (o *ours) list(dst []*engine.Tool) []*engine.Tool {
	return o.engine.Snapshot().View("filtered").AppendTools(context.Background(), dst, nil)
}

// listOf reads the answer off a table: a switch would cost more, in branches that nobody can foresee, than the decision.
func listOf(d engine.Decision) bench.List { return lists[d.Source] }

var lists = [...]bench.List{
	engine.SourceNone: bench.NoRule, engine.SourceScope: bench.NoRule, engine.SourceDeny: bench.Deny, engine.SourcePin: bench.NoRule,
	engine.SourceAsk: bench.Ask, engine.SourceAllow: bench.Allow, engine.SourceDefault: bench.NoRule,
}
