package fuzz

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/penstock-mcp/penstock/engine"
)

// moment is one generation of an engine and what it must answer.
type moment struct {
	snapshot *engine.Snapshot
	world    World
	log      string // how it came to be
}

// play drives an engine and the reference through the same changes and keeps every generation.
type play struct {
	t       *testing.T
	g       *Gen
	count   *tally
	e       *engine.Engine
	moments []moment
	refs    []heldRef

	// What views are made of, so that several configurations share a filter or a policy.
	filters  []*Filter
	policies []*Policy
	compiled map[any]any
}

// heldRef is a reference that was taken once, and the tool it stands for.
type heldRef struct {
	ref  engine.Ref
	call Call
	in   int // index of the moment
}

// newPlay begins with an engine without views or servers.
func newPlay(t *testing.T, g *Gen, count *tally) *play {
	e, err := engine.New(engine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	p := &play{t: t, g: g, count: count, e: e, compiled: map[any]any{}}
	p.moments = []moment{{snapshot: e.Snapshot(), log: "new"}}
	return p
}

func (p *play) now() moment { return p.moments[len(p.moments)-1] }

// published keeps the world that a change must have led to, and holds the generation to its promise.
func (p *play) published(w World, log string, args ...any) {
	before, s := p.now(), p.e.Snapshot()
	if s == before.snapshot || s.Generation() != before.snapshot.Generation()+1 {
		p.t.Fatalf("%s: generation %d follows %d", fmt.Sprintf(log, args...), s.Generation(), before.snapshot.Generation())
	}
	p.moments = append(p.moments, moment{s, w, before.log + "\n" + fmt.Sprintf(log, args...)})
}

// unchanged fails unless the last snapshot is still in force.
func (p *play) unchanged(what string) {
	if p.e.Snapshot() != p.now().snapshot {
		p.t.Fatalf("%s changed the snapshot, after %s", what, p.now().log)
	}
	p.count.add("%s", what)
}

func (p *play) refresh(id string, tools []Target) {
	w, refused := p.now().world.Refresh(id, tools)
	list := make([]engine.Tool, len(tools))
	for i, t := range tools {
		list[i] = *t.Tool()
	}
	report, err := p.e.Refresh(id, list)
	if (err == nil) != (refused == nil) {
		p.t.Fatalf("refresh %q %+v: reference %v, engine %v", id, tools, refused, err)
	}
	if refused != nil {
		p.unchanged("refused refresh")
		return
	}
	kept := w.Servers[len(w.Servers)-1].Tools
	if report.Tools != len(kept) || len(report.Quarantined) != len(tools)-len(kept) || report.Generation != p.e.Snapshot().Generation() {
		p.t.Fatalf("refresh %q %+v: report %+v, reference keeps %d", id, tools, report, len(kept))
	}
	for _, q := range report.Quarantined {
		if q.Name != tools[q.Index].Name || q.Reason == "" {
			p.t.Fatalf("refresh %q: %+v", id, q)
		}
		p.count.add("quarantine")
	}
	p.published(w, "refresh %q %+v", id, tools)
	p.count.add("refresh")
}

func (p *play) remove(id string) {
	p.e.Remove(id)
	w := p.now().world.Remove(id)
	if len(w.Servers) == len(p.now().world.Servers) {
		p.unchanged("remove of nothing")
		return
	}
	p.published(w, "remove %q", id)
	p.count.add("remove")
}

func (p *play) apply(views map[string]View, baseline []Approval) {
	c := engine.Config{Views: map[string]engine.View{}, Baseline: Request{Approved: baseline}.Engine().Approved}
	for name, v := range views {
		c.Views[name] = engine.View{Filter: p.filter(v.Filter), Policy: p.policy(v.Policy)}
	}
	if err := p.e.Apply(c); err != nil {
		p.t.Fatal(err)
	}
	text := ""
	for name, v := range views {
		text += fmt.Sprintf("\n  view %q: filter %+v policy %+v", name, v.Filter, v.Policy)
	}
	p.published(p.now().world.Apply(views, baseline), "apply %s\n  baseline %+v", text, baseline)
	p.count.add("apply")
}

func (p *play) filter(f *Filter) *engine.Filter {
	if f == nil {
		return nil
	}
	if p.compiled[f] == nil {
		c, err := f.Compile()
		if err != nil {
			p.t.Fatalf("%+v: %v", f, err)
		}
		p.compiled[f] = c
	}
	return p.compiled[f].(*engine.Filter)
}

func (p *play) policy(d *Policy) *engine.Policy {
	if d == nil {
		return nil
	}
	if p.compiled[d] == nil {
		c, err := d.Compile()
		if err != nil {
			p.t.Fatalf("%+v: %v", d, err)
		}
		p.compiled[d] = c
	}
	return p.compiled[d].(*engine.Policy)
}

// hold takes a reference to a tool of the newest moment.
func (p *play) hold(view string, call Call) {
	if ref, ok := p.now().snapshot.View(view).Ref(call.Server, call.Name); ok {
		p.refs = append(p.refs, heldRef{ref, call, len(p.moments) - 1})
	}
}

// ask compares one decision, in every way in which it can be had.
func (p *play) ask(m moment, view string, call Call, q Request) {
	ctx := context.Background()
	v, req := m.snapshot.View(view), q.Engine()
	want := m.world.Decide(view, call, q)
	d, err := v.Decide(ctx, &engine.Call{Server: call.Server, Name: call.Name, Args: q.Args}, req)
	p.same(m, view, call, q, want, d, err)

	// The way over a reference is the same, but for what nothing can make visible.
	ref, ok := v.Ref(call.Server, call.Name)
	t, there := m.world.Tool(call.Server, call.Name)
	_, static := m.world.Views[view].Filter.Visible(t, m.world.request(q))
	if ok != (there && static) {
		p.t.Fatalf("Ref of %+v in view %q: %t, reference %t, after %s", call, view, ok, there && static, m.log)
	}
	if ok {
		d, err = v.DecideRef(ctx, ref, q.Args, req)
		p.same(m, view, call, q, want, d, err)
	}
	if tool, ok := v.Tool(ctx, call.Server, call.Name, req); ok != !want.Refused || ok && tool.Target() != (engine.Target{Server: call.Server, Name: call.Name}) {
		p.t.Fatalf("Tool %+v in view %q: %v %t, reference %+v, after %s", call, view, tool, ok, want, m.log)
	}
	p.count.add("action %s", want.Action)
	p.count.add("source %s", want.Source)
	p.count.add("found %t, there %t", !want.Refused, there)
	p.count.add("own baseline %t, approver %t", q.Approved != nil, q.HasApprover)
}

// same fails unless a decision is the reference's. What a nil policy reports beside the deny is open.
func (p *play) same(m moment, view string, call Call, q Request, want Outcome, d engine.Decision, err error) {
	p.t.Helper()
	got := OutcomeOf(d, err)
	if !want.Refused && m.world.Views[view].Policy == nil {
		want, got = Outcome{Action: want.Action}, Outcome{Action: got.Action, Refused: got.Refused}
	}
	if want != got || want.Refused && err != engine.ErrNotFound {
		p.t.Fatalf("decision about %+v in view %q of generation %d\nreference: %+v\n   engine: %+v, %v\nrequest: %#v\nafter %s",
			call, view, m.snapshot.Generation(), want, got, err, q, m.log)
	}
}

// list compares a list, in every way in which it can be had.
func (p *play) list(m moment, view string, q Request) {
	ctx := context.Background()
	v, req := m.snapshot.View(view), q.Engine()
	var want, tools, appended []Target
	for _, t := range m.world.List(view, q) {
		want = append(want, Target{Server: t.Server, Name: t.Name})
	}
	for t := range v.Tools(ctx, req) {
		tools = append(tools, Target{Server: t.Server, Name: t.Name})
	}
	for _, t := range v.AppendTools(ctx, nil, req) {
		appended = append(appended, Target{Server: t.Server, Name: t.Name})
	}
	if !slices.Equal(want, tools) || !slices.Equal(want, appended) {
		p.t.Fatalf("list of view %q of generation %d\nreference: %q\n    Tools: %q\n   Append: %q\nrequest: %#v\nafter %s",
			view, m.snapshot.Generation(), want, tools, appended, q, m.log)
	}
	p.count.add("list empty %t", len(want) == 0)
}

// askRefs puts every reference that was held to one moment: it is stale where the server has another tool list by then,
// and good where neither that nor the set of servers changed. Between the two it may be either, and never wrong.
func (p *play) askRefs(m moment, view string, q Request) {
	for _, h := range p.refs {
		was := p.moments[h.in].world
		d, err := m.snapshot.View(view).DecideRef(context.Background(), h.ref, q.Args, q.Engine())
		if errors.Is(err, engine.ErrStale) {
			if d != (engine.Decision{}) {
				p.t.Fatalf("a stale reference got %v", d)
			}
			_, configured := m.world.Views[view]
			if configured && sameTools(was, m.world, h.call.Server) && slices.Equal(ids(was), ids(m.world)) {
				p.t.Fatalf("the reference to %+v went stale for nothing, after %s", h.call, m.log)
			}
			p.count.add("stale reference")
			continue
		}
		if !sameTools(was, m.world, h.call.Server) {
			p.t.Fatalf("the reference to %+v outlived its list, after %s", h.call, m.log)
		}
		p.same(m, view, h.call, q, m.world.Decide(view, h.call, q), d, err)
		p.count.add("good reference")
	}
}

// sameTools reports whether two worlds hold the tools of the very same refresh of a server. Both hold the same slice
// then, or none of both has tools.
func sameTools(a, b World, server string) bool {
	x, y := toolsOf(a, server), toolsOf(b, server)
	return len(x) == len(y) && len(x) > 0 && &x[0] == &y[0]
}

func toolsOf(w World, server string) []Target {
	for _, s := range w.Servers {
		if s.ID == server {
			return s.Tools
		}
	}
	return nil
}

func ids(w World) []string {
	var out []string
	for _, s := range w.Servers {
		out = append(out, s.ID)
	}
	slices.SortFunc(out, strings.Compare)
	return out
}
