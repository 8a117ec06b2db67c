package peers

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"

	"github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/x/exp/batch"

	"github.com/penstock-mcp/penstock/bench"
	"github.com/penstock-mcp/penstock/fold"
)

// cedarDecider is cedar-go with as few policies as there can be. The literals of a list are the members of an entity group,
// which `in` finds by one look-up; prefixes and infixes are `like` patterns in one condition. The policies are
// sliced, as Cedar's design has it: a request is given those of its server and the general ones only.
//
// Cedar knows permit and forbid, and evaluates every policy it is given. Deny, ask and allow are three permits here, and the
// diagnostic says which of them held; that would name the rule if there were a policy for each (cedarRules). A policy that
// fails is skipped, which for a deny is the wrong way. Neither looseness nor case can be said: the request brings
// both spellings.
type cedarDecider struct {
	general  []cedarPolicy
	byServer map[string][]cedarPolicy // by the fold for deny and ask, by the name for allow: see cedarSlice
	entities cedar.EntityMap
}

type cedarPolicy struct {
	id     cedar.PolicyID
	policy *cedar.Policy
}

// cedarTerms are the terms that stand for the tool in the conditions of one list.
type cedarTerms struct{ literal, name string }

var (
	cedarLists = map[bench.List]struct {
		id    cedar.PolicyID
		terms cedarTerms
	}{
		bench.Deny:  {"deny", cedarTerms{"context.loose", "context.folded"}},
		bench.Ask:   {"ask", cedarTerms{"context.loose", "context.folded"}},
		bench.Allow: {"allow", cedarTerms{"resource", "context.name"}},
	}
	cedarUser = cedar.NewEntityUID("User", "u")
	cedarCall = cedar.NewEntityUID("Action", "call")
)

func cedarTool(server, tool string) cedar.EntityUID {
	return cedar.NewEntityUID("Tool", cedar.String(server+"/"+tool))
}

func cedarLoose(server, tool string) cedar.EntityUID {
	return cedar.NewEntityUID("Loose", cedar.String(server+"/"+tool))
}

func newCedar(w *bench.Workload) (Decider, error) {
	d := &cedarDecider{byServer: make(map[string][]cedarPolicy), entities: make(cedar.EntityMap)}
	for l := bench.Deny; l <= bench.Allow; l++ {
		if err := d.add(w.Rules(l), l); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func (d *cedarDecider) add(rules []bench.Rule, l bench.List) error {
	list := cedarLists[l]
	general, servers, err := cedarPolicies(rules, l != bench.Allow, list.id, "permit", list.terms, d.entities)
	if err != nil {
		return err
	}
	d.general = append(d.general, general)
	for s, p := range servers {
		key := cedarSlice(s, l != bench.Allow)
		d.byServer[key] = append(d.byServer[key], p)
	}
	return nil
}

// cedarSlice is the key of the policies of a server.
func cedarSlice(server string, loose bool) string {
	if loose {
		return "~" + server
	}
	return server
}

// cedarPolicies makes the general policy of one list and those of each server, and puts the literals into entities.
func cedarPolicies(rules []bench.Rule, loose bool, id cedar.PolicyID, effect string, terms cedarTerms, entities cedar.EntityMap) (
	general cedarPolicy, byServer map[string]cedarPolicy, err error) {
	group := cedar.NewEntityUID("List", cedar.String(id))
	rest := []string{fmt.Sprintf("%s in %s", terms.literal, group)}
	servers := make(map[string][]string)
	for _, r := range spelled(rules, loose) {
		switch r.Shape {
		case bench.Literal:
			uid := cedarTool(r.Server, r.Text)
			if loose {
				uid = cedarLoose(r.Server, r.Text)
			}
			e := entities[uid]
			e.UID = uid
			e.Parents = cedar.NewEntityUIDSet(append(slices.Collect(e.Parents.All()), group)...)
			entities[uid] = e
		case bench.ServerPrefix:
			servers[r.Server] = append(servers[r.Server], cedarLike(r, terms.name))
		default:
			rest = append(rest, cedarLike(r, terms.name))
		}
	}
	if general.policy, err = newCedarPolicy(effect, rest); err != nil {
		return general, nil, err
	}
	general.id = id
	byServer = make(map[string]cedarPolicy, len(servers))
	for s, or := range servers {
		p, err := newCedarPolicy(effect, or)
		if err != nil {
			return general, nil, err
		}
		byServer[s] = cedarPolicy{id + "@", p}
	}
	return general, byServer, nil
}

func cedarLike(r bench.Rule, name string) string { return name + " like " + strconv.Quote(r.Tool()) }

func newCedarPolicy(effect string, or []string) (*cedar.Policy, error) {
	var p cedar.Policy
	err := p.UnmarshalCedar([]byte(effect + " (principal, action, resource) when { " + balanced(or) + " };"))
	return &p, err
}

// balanced joins conditions by || so that the tree they make is no deeper than it must be.
func balanced(or []string) string {
	if len(or) == 1 {
		return or[0]
	}
	return "(" + balanced(or[:len(or)/2]) + " || " + balanced(or[len(or)/2:]) + ")"
}

// cedarPart is the policies of one request.
type cedarPart [3][]cedarPolicy

// All implements cedar.PolicyIterator.
func (s *cedarPart) All() iter.Seq2[cedar.PolicyID, *cedar.Policy] {
	return func(yield func(cedar.PolicyID, *cedar.Policy) bool) {
		for _, part := range s {
			for _, p := range part {
				if !yield(p.id, p.policy) {
					return
				}
			}
		}
	}
}

func (d *cedarDecider) Decide(server, tool string) bench.List {
	part := cedarPart{d.general, d.byServer[cedarSlice(fold.String(server), true)], d.byServer[cedarSlice(server, false)]}
	return cedarDecide(&part, d.entities, server, tool)
}

func cedarDecide(policies cedar.PolicyIterator, entities cedar.EntityMap, server, tool string) bench.List {
	foldS, foldT := fold.String(server), fold.String(tool)
	_, diagnostic := cedar.Authorize(policies, entities, cedar.Request{
		Principal: cedarUser, Action: cedarCall, Resource: cedarTool(server, tool),
		Context: cedar.NewRecord(cedar.RecordMap{
			"loose": cedarLoose(foldS, foldT), "folded": cedar.String(foldT), "name": cedar.String(tool),
			"loose_server": cedar.String(foldS), "server": cedar.String(server),
		}),
	})
	first := bench.NoRule
	for _, r := range diagnostic.Reasons {
		l := bench.Allow
		switch r.PolicyID[:1] {
		case "d":
			l = bench.Deny
		case "a":
			if r.PolicyID[1] == 's' {
				l = bench.Ask
			}
		}
		if first == bench.NoRule || l < first {
			first = l
		}
	}
	return first
}

// Change makes the policies of one list again.
func (d *cedarDecider) Change(c Change) (Decider, error) {
	id := cedarLists[c.List].id
	group := cedar.NewEntityUID("List", cedar.String(id))
	next := &cedarDecider{byServer: maps.Clone(d.byServer), entities: maps.Clone(d.entities)}
	for uid, e := range next.entities {
		if e.Parents.Contains(group) {
			rest := slices.DeleteFunc(slices.Collect(e.Parents.All()), func(p cedar.EntityUID) bool { return p == group })
			e.Parents = cedar.NewEntityUIDSet(rest...)
			next.entities[uid] = e
		}
	}
	for _, p := range d.general {
		if p.id != id {
			next.general = append(next.general, p)
		}
	}
	for s, policies := range next.byServer {
		next.byServer[s] = slices.DeleteFunc(slices.Clone(policies), func(p cedarPolicy) bool { return p.id == id+"@" })
	}
	return next, next.add(c.After.Rules(c.List), c.List)
}

// cedarFilter lists by x/exp/batch, a batch for each server with its slice of the policies. Exclude is a forbid and include
// a permit, which is just what Cedar is made for.
type cedarFilter struct {
	batches  []cedarBatch
	entities cedar.EntityMap
}

type cedarBatch struct {
	policies cedar.PolicyIterator
	tools    []cedar.Value
	numbers  map[cedar.EntityUID]int32
}

var (
	cedarExclude = cedarTerms{"resource.loose", "resource.folded"}
	cedarInclude = cedarTerms{"resource", "resource.name"}
)

func newCedarFilter(w *bench.Workload) (Lister, error) {
	f := &cedarFilter{entities: make(cedar.EntityMap)}
	exclude, excludeBy, err := cedarPolicies(w.Exclude, true, "exclude", "forbid", cedarExclude, f.entities)
	if err != nil {
		return nil, err
	}
	include, includeBy, err := cedarPolicies(w.Include, false, "include", "permit", cedarInclude, f.entities)
	if err != nil {
		return nil, err
	}
	if len(w.Include) == 0 {
		if include.policy, err = newCedarPolicy("permit", []string{"true"}); err != nil {
			return nil, err
		}
	}
	cedarBatches(w, f, func(server string) cedar.PolicyIterator {
		part := &cedarPart{{exclude, include}}
		if p, ok := excludeBy[fold.String(server)]; ok {
			part[1] = append(part[1], p)
		}
		if p, ok := includeBy[server]; ok {
			part[2] = append(part[2], p)
		}
		return part
	})
	return f, nil
}

// cedarBatches adds the entities of the known tools, and a batch for each server.
func cedarBatches(w *bench.Workload, f *cedarFilter, policies func(server string) cedar.PolicyIterator) {
	for i, n := range w.Known {
		folded := foldName(n)
		uid, loose := cedarTool(n.Server, n.Tool), cedarLoose(folded.Server, folded.Tool)
		e := f.entities[uid]
		e.UID = uid
		e.Attributes = cedar.NewRecord(cedar.RecordMap{
			"loose": loose, "folded": cedar.String(folded.Tool), "name": cedar.String(n.Tool),
			"loose_server": cedar.String(folded.Server), "server": cedar.String(n.Server),
		})
		f.entities[uid] = e
		if i == 0 || w.Known[i-1].Server != n.Server {
			f.batches = append(f.batches, cedarBatch{policies: policies(n.Server), numbers: make(map[cedar.EntityUID]int32)})
		}
		b := &f.batches[len(f.batches)-1]
		b.tools, b.numbers[uid] = append(b.tools, uid), int32(i)
	}
}

func (f *cedarFilter) List(dst []int32) []int32 {
	for i := range f.batches {
		b := &f.batches[i]
		err := batch.Authorize(context.Background(), b.policies, f.entities, batch.Request{
			Principal: cedarUser, Action: cedarCall, Resource: batch.Variable("tool"), Context: cedar.Record{},
			Variables: batch.Variables{"tool": b.tools},
		}, func(r batch.Result) error {
			if r.Decision == cedar.Allow {
				dst = append(dst, b.numbers[r.Request.Resource])
			}
			return nil
		})
		if err != nil {
			panic(err)
		}
	}
	return dst
}

// cedarRules is cedar-go with a policy for each rule, as one writes it first. The diagnostic names every rule that held.
type cedarRules struct{ policies *cedar.PolicySet }

func newCedarRules(w *bench.Workload) (Decider, error) {
	d := &cedarRules{cedar.NewPolicySet()}
	for l := bench.Deny; l <= bench.Allow; l++ {
		list := cedarLists[l]
		if err := addCedarRules(d.policies, w.Rules(l), l != bench.Allow, list.id, "permit", list.terms, "context"); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func addCedarRules(set *cedar.PolicySet, rules []bench.Rule, loose bool, id cedar.PolicyID, effect string, terms cedarTerms, from string) error {
	for i, r := range spelled(rules, loose) {
		p, err := newCedarRule(r, loose, effect, terms, from)
		if err != nil {
			return err
		}
		set.Add(id+cedar.PolicyID(strconv.Itoa(i)), p)
	}
	return nil
}

func newCedarRule(r bench.Rule, loose bool, effect string, terms cedarTerms, from string) (*cedar.Policy, error) {
	server := from + ".server"
	if loose {
		server = from + ".loose_server"
	}
	scope, when := "resource", cedarLike(r, terms.name)
	switch {
	case r.Shape == bench.Literal && loose:
		when = fmt.Sprintf("%s == %s", terms.literal, cedarLoose(r.Server, r.Text))
	case r.Shape == bench.Literal:
		scope, when = fmt.Sprintf("resource == %s", cedarTool(r.Server, r.Text)), "true"
	case r.Shape == bench.ServerPrefix:
		when = fmt.Sprintf("%s == %q && %s", server, r.Server, when)
	}
	var p cedar.Policy
	err := p.UnmarshalCedar([]byte(effect + " (principal, action, " + scope + ") when { " + when + " };"))
	return &p, err
}

func (d *cedarRules) Decide(server, tool string) bench.List {
	return cedarDecide(d.policies, nil, server, tool)
}

// Change makes one policy again, and a copy of the set, which must not be changed while others read it.
func (d *cedarRules) Change(c Change) (Decider, error) {
	list, loose := cedarLists[c.List], c.List != bench.Allow
	p, err := newCedarRule(spelled([]bench.Rule{c.New}, loose)[0], loose, "permit", list.terms, "context")
	if err != nil {
		return nil, err
	}
	next := &cedarRules{cedar.NewPolicySet()}
	for id, old := range d.policies.All() {
		next.policies.Add(id, old)
	}
	next.policies.Add(list.id+cedar.PolicyID(strconv.Itoa(c.Index)), p)
	return next, nil
}

func newCedarRulesFilter(w *bench.Workload) (Lister, error) {
	f, set := &cedarFilter{entities: make(cedar.EntityMap)}, cedar.NewPolicySet()
	if err := addCedarRules(set, w.Exclude, true, "exclude", "forbid", cedarExclude, "resource"); err != nil {
		return nil, err
	}
	if err := addCedarRules(set, w.Include, false, "include", "permit", cedarInclude, "resource"); err != nil {
		return nil, err
	}
	if len(w.Include) == 0 {
		p, err := newCedarPolicy("permit", []string{"true"})
		if err != nil {
			return nil, err
		}
		set.Add("all", p)
	}
	cedarBatches(w, f, func(string) cedar.PolicyIterator { return set })
	return f, nil
}
