package peers

import (
	"github.com/penstock-mcp/penstock/bench"
	"github.com/penstock-mcp/penstock/fold"
)

// Engine is one engine to compare with.
type Engine struct {
	Name   string
	Policy func(w *bench.Workload) (Decider, error) // deny before ask before allow
	Filter func(w *bench.Workload) (Lister, error)  // include and exclude
}

// Decider decides calls by a policy.
type Decider interface {
	// Decide returns the list of the rule that decides.
	Decide(server, tool string) bench.List

	// Change returns a decider with another rule in the place of one. Whatever need not be built again is not. A decider
	// that can be changed in place while others read changes itself.
	Change(c Change) (Decider, error)
}

// Change is the change of one rule.
type Change struct {
	After    *bench.Workload
	List     bench.List
	Index    int // in the list
	Old, New bench.Rule
}

// Forgetter is a Decider that remembers answers. Forget makes it forget them all, so that names are unseen again.
type Forgetter interface{ Forget() }

// Lister lists tools by a filter.
type Lister interface {
	// List appends the numbers of the known tools that are visible.
	List(dst []int32) []int32
}

// Engines returns all engines.
func Engines() []Engine {
	return []Engine{
		{"memo", memoPolicy, newMemoFilter},
		{"bucket", policyOf(newBucket), filterOf(newBucket)},
		{"naive", policyOf(naiveList), filterOf(naiveList)},
		{"regexp", policyOf(newRegexps), filterOf(newRegexps)},
		{"gobwas", policyOf(newGobwas), filterOf(newGobwas)},
		{"cel", policyOf(newCEL), filterOf(newCEL)},
		{"cedar", newCedar, newCedarFilter},
		{"cedar-rules", newCedarRules, newCedarRulesFilter},
		{"opa", newOPA, newOPAFilter},
		{"opa-data", newOPAData, newOPAFilter},
		{"casbin", newCasbin, newCasbinFilter},
		{"casbin-cached", newCasbinCached, newCasbinFilter},
	}
}

// matcher tries the rules of one list, however it does that. Where the list is loose, it is given folds.
type matcher interface {
	match(server, tool string) bool
}

// threeLists is the Decider of engines that know one list at a time.
type threeLists struct {
	lists [3]matcher // deny, ask, allow
	build func([]bench.Rule, bool) (matcher, error)
}

func policyOf[M matcher](build func(rules []bench.Rule, loose bool) (M, error)) func(*bench.Workload) (Decider, error) {
	return func(w *bench.Workload) (Decider, error) { return newThreeLists(w, build) }
}

func newThreeLists[M matcher](w *bench.Workload, build func(rules []bench.Rule, loose bool) (M, error)) (*threeLists, error) {
	d := &threeLists{build: func(rules []bench.Rule, loose bool) (matcher, error) { return build(rules, loose) }}
	for l := range d.lists {
		var err error
		list := bench.Deny + bench.List(l)
		if d.lists[l], err = d.build(w.Rules(list), list != bench.Allow); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func (d *threeLists) Decide(server, tool string) bench.List {
	foldS, foldT := fold.String(server), fold.String(tool)
	switch {
	case d.lists[0].match(foldS, foldT):
		return bench.Deny
	case d.lists[1].match(foldS, foldT):
		return bench.Ask
	case d.lists[2].match(server, tool):
		return bench.Allow
	default:
		return bench.NoRule
	}
}

// Change builds one list again.
func (d *threeLists) Change(c Change) (Decider, error) {
	next := *d
	var err error
	next.lists[c.List-bench.Deny], err = d.build(c.After.Rules(c.List), c.List != bench.Allow)
	return &next, err
}

// filterList is the Lister of engines that know one list at a time. The folds of the tools are made beforehand.
type filterList struct {
	include, exclude matcher
	all              bool // there is no include rule
	names, folds     []bench.Name
}

func filterOf[M matcher](build func(rules []bench.Rule, loose bool) (M, error)) func(*bench.Workload) (Lister, error) {
	return func(w *bench.Workload) (Lister, error) {
		f := &filterList{names: w.Known, folds: folds(w.Known), all: len(w.Include) == 0}
		var err error
		if f.include, err = build(w.Include, false); err != nil {
			return nil, err
		}
		f.exclude, err = build(w.Exclude, true)
		return f, err
	}
}

func (f *filterList) List(dst []int32) []int32 {
	for i, n := range f.names {
		if (f.all || f.include.match(n.Server, n.Tool)) && !f.exclude.match(f.folds[i].Server, f.folds[i].Tool) {
			dst = append(dst, int32(i))
		}
	}
	return dst
}

func folds(names []bench.Name) []bench.Name {
	out := make([]bench.Name, len(names))
	for i, n := range names {
		out[i] = foldName(n)
	}
	return out
}

func foldName(n bench.Name) bench.Name {
	return bench.Name{Server: fold.String(n.Server), Tool: fold.String(n.Tool)}
}

// spelled returns the rules as an engine compares them: folded where the list is loose.
func spelled(rules []bench.Rule, loose bool) []bench.Rule {
	if !loose {
		return rules
	}
	out := make([]bench.Rule, len(rules))
	for i, r := range rules {
		r.Server, r.Text = fold.String(r.Server), fold.String(r.Text)
		out[i] = r
	}
	return out
}
