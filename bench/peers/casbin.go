package peers

import (
	"maps"
	"slices"
	"strings"

	"github.com/casbin/casbin/v3"
	"github.com/casbin/casbin/v3/model"

	"github.com/penstock-mcp/penstock/bench"
	"github.com/penstock-mcp/penstock/fold"
)

// casbinModel stops at the first rule that matches, and says which it was; the priority model, which the
// documentation has for deny before allow, looks at all effects again after each rule. The list is a column of the rule.
const casbinModel = `
[request_definition]
r = tool
[policy_definition]
p = list, tool
[policy_effect]
e = some(where (p.eft == allow))
[matchers]
m = toolMatch(r.tool, p.tool)
`

// casbinDecider is Casbin, sharded by server as its performance page recommends: an enforcer has the rules of one server and
// those of any, deny before ask, and another the allow rules, which compare exactly. The matcher is one Go function, as
// few steps of the expression as there can be.
//
// Casbin answers yes or no; the list comes from EnforceEx, which returns the rule that matched. Looseness needs the names
// folded, and a policy of the caller's own that is to fail closed cannot be said: an error of a matcher is an error.
type casbinDecider struct {
	loose, exact map[string]*casbin.Enforcer // by server; "" has the rules of any server alone
}

func newCasbin(w *bench.Workload) (Decider, error) {
	loose, err := casbinShards([]casbinList{{"deny", w.Deny}, {"ask", w.Ask}}, true)
	if err != nil {
		return nil, err
	}
	exact, err := casbinShards([]casbinList{{"allow", w.Allow}}, false)
	return &casbinDecider{loose, exact}, err
}

type casbinList struct {
	name  string
	rules []bench.Rule
}

func casbinShards(lists []casbinList, loose bool) (map[string]*casbin.Enforcer, error) {
	rules := map[string][][]string{"": nil}
	for _, l := range lists {
		for _, r := range spelled(l.rules, loose) {
			if r.Server != "*" {
				rules[r.Server] = nil
			}
		}
	}
	for _, l := range lists {
		for _, r := range spelled(l.rules, loose) {
			row := []string{l.name, r.Tool()}
			if r.Server != "*" {
				rules[r.Server] = append(rules[r.Server], row)
				continue
			}
			for s := range rules {
				rules[s] = append(rules[s], row)
			}
		}
	}
	out := make(map[string]*casbin.Enforcer, len(rules))
	for s, rows := range rules {
		var err error
		if out[s], err = newCasbinEnforcer(rows); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func newCasbinEnforcer(rows [][]string) (*casbin.Enforcer, error) {
	m, err := model.NewModelFromString(casbinModel)
	if err != nil {
		return nil, err
	}
	e, err := casbin.NewEnforcer(m)
	if err != nil {
		return nil, err
	}
	return e, fillCasbin(e, rows)
}

func fillCasbin(e casbin.IEnforcer, rows [][]string) error {
	e.AddFunction("toolMatch", func(args ...any) (any, error) {
		return casbinMatch(args[0].(string), args[1].(string)), nil
	})
	// Equal rules, which AddPolicies refuses, are left out.
	seen := make(map[string]bool, len(rows))
	rows = slices.DeleteFunc(slices.Clone(rows), func(r []string) bool {
		key := strings.Join(r, " ")
		defer func() { seen[key] = true }()
		return seen[key]
	})
	if len(rows) == 0 {
		return nil
	}
	_, err := e.AddPolicies(rows)
	return err
}

func casbinMatch(tool, pattern string) bool {
	text, prefix := strings.CutSuffix(pattern, "*")
	if !prefix {
		return tool == pattern
	}
	if text, infix := strings.CutPrefix(text, "*"); infix {
		return strings.Contains(tool, text)
	}
	return strings.HasPrefix(tool, text)
}

func shard[E any](shards map[string]E, server string) E {
	if e, ok := shards[server]; ok {
		return e
	}
	return shards[""]
}

func (d *casbinDecider) Decide(server, tool string) bench.List {
	if list := casbinEnforce(shard(d.loose, fold.String(server)), fold.String(tool)); list != bench.NoRule {
		return list
	}
	return casbinEnforce(shard(d.exact, server), tool)
}

func casbinEnforce(e *casbin.Enforcer, tool string) bench.List {
	ok, rule, err := e.EnforceEx(tool)
	switch {
	case err != nil:
		panic(err)
	case !ok:
		return bench.NoRule
	case rule[0] == "deny":
		return bench.Deny
	case rule[0] == "ask":
		return bench.Ask
	default:
		return bench.Allow
	}
}

// Change makes the enforcers of the rules' servers again: one that is read must not be changed, and the enforcer that
// locks for that (SyncedEnforcer) makes every reader wait.
func (d *casbinDecider) Change(c Change) (Decider, error) {
	next := *d
	var err error
	if c.List == bench.Allow {
		next.exact, err = changeCasbin(d.exact, c, []casbinList{{"allow", c.After.Allow}}, newCasbinEnforcer)
	} else {
		next.loose, err = changeCasbin(d.loose, c, []casbinList{{"deny", c.After.Deny}, {"ask", c.After.Ask}}, newCasbinEnforcer)
	}
	return &next, err
}

// changeCasbin returns a copy of the shards with new ones for the servers of the change.
func changeCasbin[E any](shards map[string]E, c Change, lists []casbinList, build func([][]string) (E, error)) (map[string]E, error) {
	next, loose := maps.Clone(shards), c.List != bench.Allow
	for _, changed := range spelled([]bench.Rule{c.Old, c.New}, loose) {
		var rows [][]string
		for _, l := range lists {
			for _, r := range spelled(l.rules, loose) {
				if r.Server == changed.Server || r.Server == "*" {
					rows = append(rows, []string{l.name, r.Tool()})
				}
			}
		}
		e, err := build(rows)
		if err != nil {
			return nil, err
		}
		next[changed.Server] = e
	}
	return next, nil
}

// casbinFilter asks the enforcers about every tool, with BatchEnforce for each server.
type casbinFilter struct {
	names            []bench.Name
	include, exclude map[string]*casbin.Enforcer
	all              bool
	parts            []casbinPart
}

type casbinPart struct {
	server, folded  string
	from            int
	requests, loose [][]any
}

func newCasbinFilter(w *bench.Workload) (Lister, error) {
	f := &casbinFilter{names: w.Known, all: len(w.Include) == 0}
	var err error
	if f.include, err = casbinShards([]casbinList{{"include", w.Include}}, false); err != nil {
		return nil, err
	}
	if f.exclude, err = casbinShards([]casbinList{{"exclude", w.Exclude}}, true); err != nil {
		return nil, err
	}
	for i, n := range w.Known {
		if i == 0 || w.Known[i-1].Server != n.Server {
			f.parts = append(f.parts, casbinPart{server: n.Server, folded: fold.String(n.Server), from: i})
		}
		p := &f.parts[len(f.parts)-1]
		p.requests = append(p.requests, []any{n.Tool})
		p.loose = append(p.loose, []any{fold.String(n.Tool)})
	}
	return f, nil
}

func (f *casbinFilter) List(dst []int32) []int32 {
	for i := range f.parts {
		p := &f.parts[i]
		hidden, err := shard(f.exclude, p.folded).BatchEnforce(p.loose)
		if err != nil {
			panic(err)
		}
		var shown []bool
		if !f.all {
			if shown, err = shard(f.include, p.server).BatchEnforce(p.requests); err != nil {
				panic(err)
			}
		}
		for n := range p.requests {
			if !hidden[n] && (f.all || shown[n]) {
				dst = append(dst, int32(p.from+n))
			}
		}
	}
	return dst
}

// casbinCached is Casbin's CachedEnforcer, sharded in the same way. It caches yes and no alone, so there is one for each list.
// Its cache is right only while no rule is added: it must be invalidated by hand (casbin#1065).
type casbinCached struct {
	lists [3]map[string]*casbin.CachedEnforcer
}

func newCasbinCached(w *bench.Workload) (Decider, error) {
	d := new(casbinCached)
	for l := range d.lists {
		list := bench.Deny + bench.List(l)
		plain, err := casbinShards([]casbinList{{"list", w.Rules(list)}}, list != bench.Allow)
		if err != nil {
			return nil, err
		}
		d.lists[l] = make(map[string]*casbin.CachedEnforcer, len(plain))
		for s, e := range plain {
			rows, err := e.GetPolicy()
			if err != nil {
				return nil, err
			}
			if d.lists[l][s], err = newCasbinCache(rows); err != nil {
				return nil, err
			}
		}
	}
	return d, nil
}

func newCasbinCache(rows [][]string) (*casbin.CachedEnforcer, error) {
	m, err := model.NewModelFromString(casbinModel)
	if err != nil {
		return nil, err
	}
	c, err := casbin.NewCachedEnforcer(m)
	if err != nil {
		return nil, err
	}
	return c, fillCasbin(c, rows)
}

func (d *casbinCached) Decide(server, tool string) bench.List {
	foldS, foldT := fold.String(server), fold.String(tool)
	for l, shards := range d.lists {
		list := bench.Deny + bench.List(l)
		s, t := foldS, foldT
		if list == bench.Allow {
			s, t = server, tool
		}
		ok, err := shard(shards, s).Enforce(t)
		if err != nil {
			panic(err)
		}
		if ok {
			return list
		}
	}
	return bench.NoRule
}

// Forget implements Forgetter.
func (d *casbinCached) Forget() {
	for _, shards := range d.lists {
		for _, e := range shards {
			if err := e.InvalidateCache(); err != nil {
				panic(err)
			}
		}
	}
}

// Change makes the enforcers of the rules' servers again, with empty caches.
func (d *casbinCached) Change(c Change) (Decider, error) {
	next := *d
	var err error
	l := c.List - bench.Deny
	next.lists[l], err = changeCasbin(d.lists[l], c, []casbinList{{"list", c.After.Rules(c.List)}}, newCasbinCache)
	return &next, err
}
