package lint

// This file finds, for a rule, the rules of a list that take everything it takes.
//
// Naive: hold every rule against every other one. Instead, a rule that is one pattern is looked up in an index as if its
// text were a name: see automaton.Contains for why that finds exactly the patterns that contain it. First gives the
// earliest of them, and an index built backwards the last. Rules with more members are found by one of them: a pattern
// that takes some names only by the index; else a function or a condition by its text, which a contained rule must have,
// too; else whatever pattern or regexp there is. Those are candidates, and contains decides.

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/penstock-mcp/penstock/automaton"
	"github.com/penstock-mcp/penstock/engine"
)

// cover holds the rules of one list and kind.
type cover struct {
	loose    bool
	rules    []*rule // those of one pattern, in list order
	forward  *automaton.Index
	backward *automaton.Index

	open     []*rule // the others that an index finds
	index    *automaton.Index
	byOpaque map[int32][]*rule
	byRegexp map[string][]*rule
	bare     []*rule // those with hints or taints alone
}

// newCover returns the cover of those rules that keep accepts.
func newCover(list engine.List, rules []*rule, keep func(*rule) bool) *cover {
	c := &cover{loose: loose(list), byOpaque: make(map[int32][]*rule), byRegexp: make(map[string][]*rule)}
	var plain, anchors []automaton.Pattern
	for _, r := range outermost(rules, keep) {
		switch {
		case r.plain():
			c.rules = append(c.rules, r)
			plain = append(plain, automaton.Pattern{Server: r.globs[0].server, Name: r.globs[0].name})
		case len(r.opaque) > 0 && r.grade() < someNames:
			c.byOpaque[r.opaque[0]] = append(c.byOpaque[r.opaque[0]], r)
		case len(r.globs)+len(r.res) > 0:
			anchor := r.anchor()
			if anchor.Re != nil {
				c.byRegexp[anchor.Re.String()] = append(c.byRegexp[anchor.Re.String()], r)
			}
			c.open, anchors = append(c.open, r), append(anchors, anchor)
		default:
			c.bare = append(c.bare, r)
		}
	}
	m := mode(list)
	c.forward, c.index = automaton.Build(m, plain), automaton.Build(m, anchors)
	slices.Reverse(plain)
	c.backward = automaton.Build(m, plain)
	return c
}

// outermost returns the rules that keep accepts; of several that are the same only the first and the last.
func outermost(rules []*rule, keep func(*rule) bool) []*rule {
	last := make(map[string]*rule)
	keys := make([]string, len(rules))
	for i, r := range rules {
		if keep(r) {
			keys[i] = fmt.Sprint(r.kind, r.exact, r.static(), r.opaque, r.taints)
			last[keys[i]] = r
		}
	}
	var out []*rule
	seen := make(map[string]bool, len(last))
	for i, r := range rules {
		if keep(r) && (!seen[keys[i]] || last[keys[i]] == r) {
			seen[keys[i]] = true
			out = append(out, r)
		}
	}
	return out
}

// maxQueries bounds the look-ups for one rule. A rule that a person wrote has one or two patterns; of one with more pairs
// of halves not everything is found.
const maxQueries = 64

// queries calls yield for the pairs of halves of a that a pattern which contains a must take.
func queries(a *rule, yield func(server, name string)) {
	servers, names := []string{}, []string{}
	for i := range a.globs {
		servers, names = append(servers, a.globs[i].server), append(names, a.globs[i].name)
	}
	for i := range a.res {
		servers = append(servers, a.res[i].server)
	}
	if len(servers) == 0 || len(names) == 0 {
		servers, names = append(servers, "*"), append(names, "*")
	}
	slices.Sort(servers)
	slices.Sort(names)
	servers, names = slices.Compact(servers), slices.Compact(names)
	if len(servers)*len(names) > maxQueries {
		servers, names = servers[:1], names[:min(len(names), maxQueries)]
	}
	for _, s := range servers {
		for _, n := range names {
			yield(s, n)
		}
	}
}

// first returns the earliest rule other than a that contains a; nil where there is none.
func (c *cover) first(a *rule) *rule {
	var best *rule
	queries(a, func(server, name string) {
		// If it is a itself, others come later, and last finds them.
		if n := c.forward.First(server, name); n >= 0 && c.rules[n] != a && (best == nil || c.rules[n].index < best.index) {
			best = c.rules[n]
		}
	})
	for list := range c.candidates(a) {
		for _, b := range list {
			if best != nil && b.index >= best.index {
				break
			}
			if b != a && c.contains(b, a) {
				best = b
			}
		}
	}
	return best
}

// last returns the last rule other than a that contains a; nil where there is none.
func (c *cover) last(a *rule) *rule {
	var best *rule
	queries(a, func(server, name string) {
		if n := c.backward.First(server, name); n >= 0 {
			if b := c.rules[len(c.rules)-1-n]; b != a && (best == nil || b.index > best.index) {
				best = b
			}
		}
	})
	for list := range c.candidates(a) {
		for _, b := range slices.Backward(list) {
			if best != nil && b.index <= best.index {
				break
			}
			if b != a && c.contains(b, a) {
				best = b
			}
		}
	}
	return best
}

// candidates yields lists, each in list order, of the rules with several members that could contain a, some of them
// more than once.
func (c *cover) candidates(a *rule) iter.Seq[[]*rule] {
	return func(yield func([]*rule) bool) {
		yield(c.bare)
		for _, id := range a.opaque {
			yield(c.byOpaque[id])
		}
		for i := range a.res {
			yield(c.byRegexp[a.res[i].re.String()])
		}
		if len(c.open) == 0 {
			return
		}
		var numbers []int32
		var found []*rule
		queries(a, func(server, name string) {
			found = found[:0]
			numbers = c.index.All(numbers[:0], server, name)
			for _, n := range numbers {
				found = append(found, c.open[n])
			}
			yield(found)
		})
	}
}

// contains reports whether rule b of this list is known to match whatever a matches: every member of b must follow from
// the members of a.
func (c *cover) contains(b, a *rule) bool {
	if b.kind != a.kind {
		return false
	}
	for _, id := range b.opaque {
		if _, ok := slices.BinarySearch(a.opaque, id); !ok {
			return false
		}
	}
	for _, h := range b.hints {
		if !slices.Contains(a.hints, h) {
			return false
		}
	}
	for _, ignore := range b.taints {
		if !slices.ContainsFunc(a.taints, func(more []string) bool { return subset(ignore, more) }) {
			return false
		}
	}
	for i := range b.globs {
		g := &b.globs[i]
		server, name := g.server, g.name
		if c.loose {
			server, name = g.foldServer, g.foldName
		}
		if !c.holdsServer(server, a) || !c.holdsName(name, a) {
			return false
		}
	}
	for i := range b.res {
		e := &b.res[i]
		server := e.server
		if c.loose {
			server = e.foldServer
		}
		if !c.holdsServer(server, a) || !c.holdsExpr(e, a) {
			return false
		}
	}
	return true
}

// holdsServer reports whether a server segment, folded where this list is, takes the servers of a.
func (c *cover) holdsServer(server string, a *rule) bool {
	if strings.Trim(server, "*") == "" {
		return true
	}
	holds := func(plain, folded string) bool {
		if c.loose {
			plain = folded
		}
		return automaton.Contains(server, plain)
	}
	for i := range a.globs {
		if holds(a.globs[i].server, a.globs[i].foldServer) {
			return true
		}
	}
	for i := range a.res {
		if holds(a.res[i].server, a.res[i].foldServer) {
			return true
		}
	}
	return false
}

// holdsName reports whether a name segment, folded where this list is, takes the names of a.
func (c *cover) holdsName(name string, a *rule) bool {
	if strings.Trim(name, "*") == "" {
		return true
	}
	for i := range a.globs {
		inner := a.globs[i].name
		if c.loose {
			inner = a.globs[i].foldName
		}
		if automaton.Contains(name, inner) {
			return true
		}
	}
	return false
}

// holdsExpr reports whether the expression e of this list is known to match the names of a. In a loose list it is
// tried on the name and on its fold; of the names of a rule that is loose itself only the fold is known.
func (c *cover) holdsExpr(e *expr, a *rule) bool {
	for i := range a.res {
		if a.res[i].re.String() == e.re.String() {
			return true
		}
	}
	for i := range a.globs {
		g := &a.globs[i]
		if !loose(a.list) && e.parts.glob(g.name) || c.loose && e.parts.glob(g.foldName) {
			return true
		}
	}
	return false
}

// subset reports whether every one of a is in b.
func subset(a, b []string) bool {
	for _, s := range a {
		if !slices.Contains(b, s) {
			return false
		}
	}
	return true
}
