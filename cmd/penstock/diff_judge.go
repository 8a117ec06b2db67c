package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/penstock-mcp/penstock/cmd/penstock/internal/catalog"
	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/policyfile"
)

// differ compares two policies over catalogs.
type differ struct {
	docs     [2]*policyfile.Document
	filters  [2]*engine.Filter
	policies [2]*engine.Policy
	oracle   oracle

	catalogs []*catalog.Catalog
	states   []pinState

	compared [engine.Prompts + 1]int
	items    []diffItem
	notes    []string
}

// pinState is what a tool is to the baseline.
type pinState struct {
	name     string
	approved *engine.Baseline
}

// diffItem is one thing about which the policies differ.
type diffItem struct {
	kind         engine.Kind
	server, name string
	anything     bool // it stands for what no catalog lists
	situations   []situation

	wider, narrower bool
}

// situation is one change in one situation.
type situation struct {
	approver  bool
	state     string // "" for resources and prompts
	old, new  standing
	when      []given // the answers that lead there; nil where all do
	uncertain bool    // there are too many combinations of answers to try them all
}

// standing is what one policy lets a caller do.
type standing struct {
	visible visibility
	action  engine.Action
	by      string // the rule, or the source where there is none; it is shown, and does not count
}

// rank orders what callers get: hidden, deny, ask, allow.
func (r standing) rank() int {
	if r.visible == hidden {
		return 0
	}
	return 1 + int(r.action)
}

func (r standing) same(other standing) bool {
	return r.visible == other.visible && r.action == other.action
}

// direction is where a change goes: up is wider, 0 is behind the filter.
func (s *situation) direction() int { return s.new.rank() - s.old.rank() }

// The thing that no catalog lists: a character that Unicode gives to nobody, which nothing but a star matches.
const nobody = "\uE000"

// otherPrint is a fingerprint that no tool has.
const otherPrint = engine.Fingerprint("another one")

func newDiffer(old, now *policyfile.Document, catalogs []*catalog.Catalog, approved *engine.Baseline) (*differ, error) {
	d := &differ{docs: [2]*policyfile.Document{old, now}, catalogs: catalogs}
	for i, doc := range d.docs {
		var err error
		if d.filters[i], err = engine.CompileFilter(doc.Filter); err != nil {
			return nil, err
		}
		if d.policies[i], err = d.oracle.policy(doc, i); err != nil {
			return nil, err
		}
	}
	if approved != nil {
		d.states = []pinState{{"baseline", approved}}
		return d, nil
	}
	asIs, changed := make(map[engine.Target]engine.Fingerprint), make(map[engine.Target]engine.Fingerprint)
	for _, c := range append(slices.Clone(catalogs), anythingElse()) {
		for i := range c.Tools {
			t := &c.Tools[i]
			asIs[t.Target()], changed[t.Target()] = t.Fingerprint, otherPrint
		}
	}
	d.states = []pinState{
		{"approved", engine.NewBaseline(asIs)},
		{"new", engine.NewBaseline(nil)},
		{"changed", engine.NewBaseline(changed)},
	}
	return d, nil
}

// anythingElse is a catalog of what no catalog lists.
func anythingElse() *catalog.Catalog {
	return &catalog.Catalog{
		Server:    nobody,
		Tools:     []engine.Tool{{Server: nobody, Name: nobody, Fingerprint: "as approved"}},
		Resources: []string{nobody},
		Prompts:   []string{nobody},
	}
}

// judge compares everything. The items are sorted: wider ones first, then narrower ones, then what is behind the filter.
func (d *differ) judge(bar *progress) error {
	for i, c := range append(slices.Clone(d.catalogs), anythingElse()) {
		bar.say("comparing", i, len(d.catalogs))
		for j := range c.Tools {
			if err := d.tool(&c.Tools[j]); err != nil {
				return err
			}
		}
		for _, other := range []struct {
			kind     engine.Kind
			names    []string
			evaluate func(p *engine.Policy, server, name string, req *engine.Request) (engine.Decision, error)
		}{
			{engine.Resources, c.Resources, (*engine.Policy).EvaluateResource},
			{engine.Prompts, c.Prompts, (*engine.Policy).EvaluatePrompt},
		} {
			for _, name := range other.names {
				err := d.item(other.kind, c.Server, name, []pinState{{}}, func(which int, req *engine.Request) (standing, error) {
					decision, err := other.evaluate(d.policies[which], c.Server, name, req)
					return standingOf(notFiltered, decision), err
				})
				if err != nil {
					return err
				}
			}
		}
	}
	order := func(i *diffItem) int {
		switch {
		case i.wider:
			return 0
		case i.narrower:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(d.items, func(a, b diffItem) int { return order(&a) - order(&b) })
	return nil
}

func (d *differ) tool(t *engine.Tool) error {
	ctx := context.Background()
	call := engine.Call{Server: t.Server, Name: t.Name}
	return d.item(engine.Tools, t.Server, t.Name, d.states, func(which int, req *engine.Request) (standing, error) {
		decision, err := d.policies[which].Evaluate(ctx, &call, t, req)
		return standingOf(visibilityOf(d.filters[which].Visible(ctx, t, req)), decision), err
	})
}

func standingOf(v visibility, d engine.Decision) standing {
	by := d.RuleID()
	if by == "" {
		by = d.Source.String()
	}
	return standing{v, d.Action, by}
}

// item compares one thing in every situation.
func (d *differ) item(kind engine.Kind, server, name string, states []pinState, evaluate func(which int, req *engine.Request) (standing, error)) error {
	isAnything := server == nobody && name == nobody
	if !isAnything {
		d.compared[kind]++
	}
	it := diffItem{kind: kind, server: server, name: name, anything: isAnything}
	for _, approver := range []bool{true, false} {
		for _, st := range states {
			req := &engine.Request{HasApprover: approver, Approved: st.approved}
			found, err := d.outcomes(req, evaluate)
			if err != nil {
				return err
			}
			for _, s := range found {
				s.approver, s.state = approver, st.name
				it.situations = append(it.situations, s)
				it.wider = it.wider || s.direction() > 0 || s.uncertain
				it.narrower = it.narrower || s.direction() < 0
			}
		}
	}
	if len(it.situations) > 0 {
		d.items = append(d.items, it)
	}
	return nil
}

// outcomes returns every change that some combination of answers brings about, the first combination of each with it.
func (d *differ) outcomes(req *engine.Request, evaluate func(which int, req *engine.Request) (standing, error)) ([]situation, error) {
	var all []situation
	complete, err := d.oracle.explore(func() error {
		var s situation
		var err error
		if s.old, err = evaluate(0, req); err != nil {
			return err
		}
		if s.new, err = evaluate(1, req); err != nil {
			return err
		}
		known := slices.ContainsFunc(all, func(o situation) bool { return o.old.same(s.old) && o.new.same(s.new) })
		if !known {
			s.when = slices.Clone(d.oracle.trail[:d.oracle.asked])
			all = append(all, s)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("comparing: %w", err)
	}
	if len(all) == 1 && complete {
		all[0].when = nil
	}
	last := all[len(all)-1]
	all = slices.DeleteFunc(all, func(s situation) bool { return s.old.same(s.new) })
	if !complete {
		last.uncertain, last.when = true, nil
		all = append(all, last)
	}
	return all, nil
}

func (d *differ) count(which func(*diffItem) bool) int {
	n := 0
	for i := range d.items {
		if which(&d.items[i]) {
			n++
		}
	}
	return n
}
