package fuzz

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Filter returns a filter.
func (g *Gen) Filter() *Filter {
	f := &Filter{}
	for range g.Intn(4) {
		f.Exclude = append(f.Exclude, g.filterRule())
	}
	for range g.Intn(4) {
		f.Include = append(f.Include, g.filterRule())
	}
	return f
}

func (g *Gen) filterRule() Rule {
	switch n := g.Intn(100); {
	case n < 60:
		return Rule{Form: Pattern, Text: g.Pattern(Tool)}
	case n < 80:
		return g.regexp(Tool)
	case n < 99 || g.Valid:
		return Rule{Form: Predicate, Text: g.predicate(true)}
	default:
		return g.Rule(pick(g, []Kind{Tool, Resource, Prompt}), 1) // often refused here
	}
}

// Policy returns a policy whose scope holds kind, or mostly.
func (g *Gen) Policy(kind Kind) *Policy {
	p := &Policy{Default: pick(g, []string{"", "ask", "deny"}), NoPins: g.odds(20), AllowNewTools: g.odds(25)}
	switch {
	case g.odds(40):
		p.Scope = []Kind{Tool, Resource, Prompt}
	case kind != Tool || g.odds(20):
		p.Scope = []Kind{kind}
	}
	switch g.Intn(4) {
	case 1:
		p.Trusted.All = true
	case 2:
		p.Trusted.IDs = append(somesOf(g, 3, servers), "fs")
	case 3:
		p.Trusted.Off = somesOf(g, 1, servers[:4])
		for _, id := range somesOf(g, 3, servers) {
			if !slices.Contains(p.Trusted.Off, id) && !slices.Contains(p.Trusted.IDs, id) {
				p.Trusted.IDs = append(p.Trusted.IDs, id)
			}
		}
	}
	if g.odds(1) && !g.Valid && !p.Trusted.All {
		p.Trusted.IDs = append(p.Trusted.IDs, pick(g, badServers))
	}
	if g.odds(4) { // a kind that is out of scope
		p.Scope = []Kind{pick(g, []Kind{Resource, Prompt, Tool})}
	}
	ids := 0
	for i, list := range []*[]Rule{&p.Deny, &p.Ask, &p.Allow} {
		for range g.Intn(3 + 2*i) {
			of := kind
			if g.odds(10) || !slices.Contains(p.scope(), kind) {
				of = pick(g, p.scope())
			}
			if g.odds(1) && !g.Valid {
				of = pick(g, []Kind{Tool, Resource, Prompt})
			}
			r := g.Rule(of, 3)
			if g.odds(15) && (g.Valid || r.Form != Named) {
				ids++
				r = Rule{Form: Named, ID: fmt.Sprintf("rule-%d", ids), Rules: []Rule{r}}
				if g.odds(3) && !g.Valid {
					r.ID = pick(g, []string{"", "deny[0]", "rule-1", "allow[12]", "deny[x]"})
				}
				if g.odds(50) {
					r.Message = "Ask first."
				}
			}
			*list = append(*list, r)
		}
	}
	return p
}

// Rule returns a rule of the kind that nests at most depth deep. It is never a named one.
func (g *Gen) Rule(kind Kind, depth int) Rule {
	n := g.Intn(100)
	switch {
	case n < 40 || kind != Tool && n < 60:
		return Rule{Form: Pattern, Text: g.Pattern(kind)}
	case n < 50 || kind != Tool && n < 80:
		return g.regexp(kind)
	case n < 66 && depth > 0 || kind != Tool && n < 95 && depth > 0:
		return g.all(kind, depth)
	case kind != Tool:
		return g.regexp(kind)
	case n < 75:
		return Rule{Form: Predicate, Text: g.predicate(false)}
	case n < 82:
		r := Rule{Form: Annotation, Text: pick(g, []string{"read_only", "destructive", "open_world", "idempotent"}), Want: g.odds(50)}
		if g.odds(1) && !g.Valid {
			r.Text = pick(g, []string{"readOnlyHint", "title", ""})
		}
		return r
	case n < 88:
		r := Rule{Form: Tainted}
		if g.odds(50) {
			r.Ignore = append([]string{}, somesOf(g, 2, []string{"docs", "web", "fs"})...)
		}
		return r
	case n < 96:
		return Rule{Form: Args, Keys: g.keys()}
	default:
		return Rule{Form: Attribute, Keys: g.keys()}
	}
}

func (g *Gen) all(kind Kind, depth int) Rule {
	r := Rule{Form: All}
	if g.odds(35) {
		return g.agreeing(kind)
	}
	members := 1 + g.Intn(3)
	if g.odds(1) && !g.Valid {
		members = 0
	}
	for range members {
		of := kind
		if g.odds(1) && !g.Valid {
			of = pick(g, []Kind{Tool, Resource, Prompt})
		}
		m := g.Rule(of, depth-1)
		if g.odds(1) && !g.Valid {
			m = Rule{Form: Named, ID: "inner", Rules: []Rule{m}}
		}
		r.Rules = append(r.Rules, m)
	}
	return r
}

// agreeing returns an all whose members can match together: most random ones cannot. One of them may be exact.
func (g *Gen) agreeing(kind Kind) Rule {
	prefix, name := "", pick(g, words[:len(words)-1])
	switch kind {
	case Resource:
		prefix, name = "resource:", pick(g, uris[:4])
	case Prompt:
		prefix = "prompt:"
	}
	server := pick(g, servers)
	r := Rule{Form: All}
	for range 1 + g.Intn(3) {
		switch g.Intn(6) {
		case 0:
			r.Rules = append(r.Rules, Rule{Form: Pattern, Text: prefix + server + "/" + name})
		case 1:
			r.Rules = append(r.Rules, Rule{Form: Pattern, Text: prefix + server + "/*"})
		case 2:
			r.Rules = append(r.Rules, Rule{Form: Pattern, Text: prefix + "*/" + g.starred(name)})
		case 3:
			r.Rules = append(r.Rules, Rule{Form: Regexp, Kind: kind, Server: "*", Text: pick(g, []string{"", "^", "[^a]"})})
		case 4:
			r.Rules = append(r.Rules, Rule{Form: All, Rules: []Rule{{Form: Pattern, Text: prefix + server + "/" + name}}})
		default:
			if kind == Tool {
				r.Rules = append(r.Rules, Rule{Form: Predicate, Text: pick(g, []string{"yes", "args_yes", "error"})})
			} else {
				r.Rules = append(r.Rules, Rule{Form: Pattern, Text: prefix + "*/*"})
			}
		}
	}
	return r
}

func (g *Gen) regexp(kind Kind) Rule {
	r := Rule{Form: Regexp, Kind: kind, Server: g.serverGlob(), Text: pick(g, regexps)}
	if g.odds(1) && !g.Valid {
		r.Text = pick(g, []string{"(", "a**", `\1`, "(?<!a)b", "[z-a]"})
	}
	return r
}

func (g *Gen) predicate(filter bool) string {
	names := []string{"yes", "no", "panic", "error", "hide_attribute", serverIs + "fs", serverIs + "a", "args_yes", "args_no", "args_panic", "args_error"}
	if filter && (g.Valid || g.odds(97)) {
		names = names[:7]
	}
	if g.odds(1) && !g.Valid {
		return pick(g, []string{"nobody", "", "Yes"})
	}
	return pick(g, names)
}

// argKeys are the keys of arguments and attributes, and argPointers what conditions name beside them.
var (
	argKeys     = []string{"path", "n", "list", "obj", "s", "Path", "N", "a/b", "\u212a", "k", "hide"}
	argPointers = []string{"/obj/a", "/list/0", "/list/1", "/a~1b", "/obj/list/0", "/list/-", "/list/00", "/obj/A", "/", "/obj//", "/path/0", "/n~0", "/path"}
)

func (g *Gen) keys() []Key {
	var keys []Key
	for range 1 + g.Intn(2) {
		k := pick(g, argKeys)
		if g.odds(35) {
			k = pick(g, argPointers)
		}
		if g.odds(1) && !g.Valid {
			k = pick(g, []string{"", "/~", "/~2", "/a~"})
		}
		if !slices.ContainsFunc(keys, func(o Key) bool { return o.Key == k }) {
			keys = append(keys, Key{Key: k, Conds: g.Conds(2)})
		}
	}
	return keys
}

// Conds returns conditions that nest at most depth deep.
func (g *Gen) Conds(depth int) []Cond {
	var conds []Cond
	n := 1 + g.Intn(2)
	if g.odds(1) && !g.Valid {
		n = 0
	}
	for range n {
		c := g.Cond(depth)
		if !slices.ContainsFunc(conds, func(o Cond) bool { return o.Op == c.Op }) {
			conds = append(conds, c)
		}
	}
	return conds
}

// Cond returns a condition.
func (g *Gen) Cond(depth int) Cond {
	ops := []string{"equals", "in", "regexp", "contains", "inside", "outside", "exists", "each", "any"}
	if depth == 0 {
		ops = ops[:7]
	}
	c := Cond{Op: pick(g, ops)}
	switch c.Op {
	case "equals", "contains":
		c.Value = g.Value(2)
	case "in":
		list := []any{g.Value(2)}
		for range g.Intn(3) {
			list = append(list, g.Value(1))
		}
		if g.odds(1) && !g.Valid {
			list = []any{}
		}
		c.Value = list
	case "regexp":
		c.Value = pick(g, regexps)
		if g.odds(1) && !g.Valid {
			c.Value = pick(g, []any{"(", nil})
		}
	case "inside", "outside":
		c.Value = g.Root()
	case "exists":
		c.Value = g.odds(50)
	default:
		c.Conds = g.Conds(depth - 1)
	}
	return c
}

// numbers are JSON numbers, many of one value.
var numbers = []string{
	"1", "1.0", "10e-1", "0.1e1", "0.1E+1", "-1", "0", "-0", "0.0e9", "0.1", "0.10", "1e2", "100", "1e400", "10e399", "1e401",
	"9007199254740993", "9007199254740992", "9007199254740993.0", "1e-400", "123456789012345678901234567890", "123456789012345678901234567890.0",
	"1e99999999999999999999", "10e99999999999999999998", "-1e400", "0.30000000000000004", "0.3",
}

// Value returns a JSON value.
func (g *Gen) Value(depth int) any {
	n := g.Intn(100)
	switch {
	case n < 35:
		return json.Number(pick(g, numbers))
	case n < 55:
		return pick(g, []string{"1", "", "a", "A", "read_file", "/data", "/data/x", "admins", "\u212a", "k", "x"})
	case n < 65:
		return g.Path()
	case n < 72:
		return n%2 == 0
	case n < 78 || depth == 0:
		return nil
	case n < 90:
		list := []any{}
		for range g.Intn(4) {
			list = append(list, g.Value(depth-1))
		}
		return list
	default:
		return g.objectOf(depth - 1)
	}
}

func (g *Gen) objectOf(depth int) map[string]any {
	object := map[string]any{}
	for range g.Intn(3) {
		object[pick(g, []string{"a", "A", "list", "b", "", "x"})] = g.Value(depth)
	}
	return object
}

// object returns arguments or attributes.
func (g *Gen) object() map[string]any {
	object := map[string]any{}
	for range g.Intn(5) {
		k := pick(g, argKeys)
		switch {
		case k == "list" && g.odds(80):
			list := []any{}
			for range g.Intn(4) {
				list = append(list, g.Value(1))
			}
			object[k] = list
		case k == "obj" && g.odds(80):
			object[k] = g.objectOf(2)
		case k == "path" && g.odds(80):
			object[k] = g.Path()
		default:
			object[k] = g.Value(2)
		}
	}
	return object
}

// Question returns a question to a policy about the kind.
func (g *Gen) Question(p *Policy, kind Kind) Case {
	rules := slices.Concat(p.Deny, p.Ask, p.Allow)
	c := Case{Policy: p, Target: g.Target(kind, rules...)}
	c.Request = g.Request(c.Target)
	g.satisfy(rules, &c.Request)
	if kind == Tool && g.odds(2) {
		c.Call = &Call{Server: pick(g, []string{c.Target.Server, Fold(c.Target.Server), "fs"}), Name: pick(g, []string{Fold(c.Target.Name), c.Target.Name, "x"})}
	}
	return c
}
