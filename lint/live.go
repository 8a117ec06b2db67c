package lint

// This file holds the rules against what the servers list. Each list is one index, and each name runs through it once;
// what is found is counted on the way, so that the memory does not grow with the number of matches.

import (
	"context"

	"github.com/penstock-mcp/penstock/automaton"
	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/fold"
)

// subject is one tool, resource or prompt of the catalogs.
type subject struct {
	engine.Target
	foldServer, foldName string
	tool                 *engine.Tool // of a tool

	// What the static rules make of a tool.
	isNew         bool
	hidden        bool
	denied, asked bool
	reads, writes bool // as its name and its hints suggest
}

// hits is what one rule matches.
type hits struct {
	named                 int // by patterns and regexps
	full                  int // hints counted, too; dynamic members are left out
	hidden, denied, asked int
	isNew                 int
	reads, writes         int
	first                 []int32 // the first subjects of full
	writers               []int32 // the first that write
	servers               []int32 // the first subjects of different servers
}

// names returns every target of a kind, in the order of the catalogs.
func (l *linter) names(k engine.Kind) []engine.Target {
	var all []engine.Target
	for i := range l.in.Servers {
		s := &l.in.Servers[i]
		switch k {
		case engine.Tools:
			for j := range s.Tools {
				all = append(all, engine.Target{Server: s.ID, Name: s.Tools[j].Name})
			}
		case engine.Resources:
			for _, uri := range s.Resources {
				all = append(all, engine.Target{Server: s.ID, Name: uri})
			}
		default:
			for _, name := range s.Prompts {
				all = append(all, engine.Target{Server: s.ID, Name: name})
			}
		}
	}
	return all
}

// subjects returns everything of a kind; judge adds what the static rules make of a tool.
func (l *linter) subjects(k engine.Kind, judge func(*subject)) []subject {
	targets := l.names(k)
	all := make([]subject, len(targets))
	at := 0
	for i := range l.in.Servers {
		s := &l.in.Servers[i]
		folded := fold.String(s.ID)
		for j := 0; at < len(targets) && targets[at].Server == s.ID; at, j = at+1, j+1 {
			all[at] = subject{Target: targets[at], foldServer: folded, foldName: fold.String(targets[at].Name)}
			if k == engine.Tools {
				all[at].tool = &s.Tools[j]
				judge(&all[at])
			}
		}
	}
	return all
}

// static returns a function that says what the rules that need no call make of a tool.
func (l *linter) static() (func(*subject), error) {
	keep := func(list engine.List) (out []engine.Rule, dropped bool) {
		for _, r := range l.rules[list] {
			if r.dynamic {
				dropped = true
			} else {
				out = append(out, r.src)
			}
		}
		return out, dropped
	}
	var fo engine.FilterOptions
	var maybe bool
	fo.Exclude, _ = keep(engine.ListExclude)
	if fo.Include, maybe = keep(engine.ListInclude); maybe {
		fo.Include = nil // a function may include what no pattern does
	}
	filter, err := engine.CompileFilter(fo)
	if err != nil {
		return nil, err
	}
	po := l.doc.Policy
	po.Deny, _ = keep(engine.ListDeny)
	po.Ask, _ = keep(engine.ListAsk)
	po.Allow, po.DisablePins, po.NoMatch = nil, true, engine.AskNoMatch
	policy, err := engine.CompilePolicy(po)
	if err != nil {
		return nil, err
	}
	ctx, req := context.Background(), &engine.Request{HasApprover: true}
	return func(s *subject) {
		s.hidden = !filter.Visible(ctx, s.tool, req)
		d, err := policy.Evaluate(ctx, &engine.Call{Server: s.Server, Name: s.Name}, s.tool, req)
		if err == nil {
			s.denied, s.asked = d.Source == engine.SourceDeny, d.Source == engine.SourceAsk
		}
		if l.in.Baseline != nil {
			_, known := l.in.Baseline.Lookup(s.Target)
			s.isNew = !known
		}
		s.reads, s.writes = effect(s.tool)
	}, nil
}

// match runs every subject through the rules of a list that are of kind k. Rules that differ only in what a call decides
// share their hits.
func (l *linter) match(list engine.List, k engine.Kind, subjects []subject) map[*rule]*hits {
	var rules []*rule
	var anchors []automaton.Pattern
	number := make(map[string]int) // by static
	of := make(map[*rule]int)
	for _, r := range l.rules[list] {
		if r.kind != k {
			continue
		}
		key := r.static()
		n, ok := number[key]
		if !ok {
			n = len(rules)
			number[key] = n
			rules, anchors = append(rules, r), append(anchors, r.anchor())
		}
		of[r] = n
	}
	found := make([]hits, len(rules))
	x := automaton.Build(mode(list), anchors)
	var scope automaton.Scope
	var numbers []int32
	for i := range subjects {
		s := &subjects[i]
		if i == 0 || subjects[i-1].Server != s.Server {
			scope = x.Server(s.Server)
		}
		numbers = x.AllIn(numbers[:0], scope, s.Name)
		for _, n := range numbers {
			l.count(&found[n], rules[n], int32(i), subjects)
		}
	}
	out := make(map[*rule]*hits, len(of))
	for r, n := range of {
		out[r] = &found[n]
	}
	return out
}

// count records that the anchor of r matches subject i.
func (l *linter) count(h *hits, r *rule, i int32, subjects []subject) {
	s := &subjects[i]
	if !r.plain() && !(len(r.res) == 1 && len(r.globs) == 0) && !r.named(s.Server, s.Name, s.foldServer, s.foldName) {
		return
	}
	h.named++
	for _, want := range r.hints {
		if s.tool == nil || s.tool.Hints.Effective(want.key, l.trusts(s.Server)) != want.want {
			return
		}
	}
	h.full++
	if len(h.first) < maxTargets {
		h.first = append(h.first, i)
	}
	if n := len(h.servers); n < maxTargets && (n == 0 || subjects[h.servers[n-1]].Server != s.Server) {
		h.servers = append(h.servers, i)
	}
	switch {
	case s.hidden:
		h.hidden++
	case s.denied:
		h.denied++
	case s.asked:
		h.asked++
	}
	if s.isNew {
		h.isNew++
	}
	if s.reads {
		h.reads++
	}
	if s.writes && !s.hidden && !s.denied && !s.asked {
		h.writes++
		if len(h.writers) < maxTargets {
			h.writers = append(h.writers, i)
		}
	}
}
