package lint

// This file reports rules that other rules make useless.

import (
	"fmt"

	"github.com/penstock-mcp/penstock/engine"
)

func (l *linter) overlaps() {
	dead := make(map[*rule]bool)
	everything := func(*rule) bool { return true }
	of := func(list engine.List, k engine.Kind) *cover {
		return newCover(list, l.rules[list], func(r *rule) bool { return r.kind == k })
	}
	l.shadows(dead, engine.ListInclude, newCover(engine.ListExclude, l.rules[engine.ListExclude], everything))
	for k := engine.Tools; k <= engine.Prompts; k++ {
		deny, ask := of(engine.ListDeny, k), of(engine.ListAsk, k)
		l.shadowsOf(dead, engine.ListAsk, k, deny)
		l.shadowsOf(dead, engine.ListAllow, k, deny)
		l.shadowsOf(dead, engine.ListAllow, k, ask)
	}
	l.shadows(dead, engine.ListAllow, newCover(engine.ListExclude, l.rules[engine.ListExclude], everything))
	for _, list := range lists {
		for k := engine.Tools; k <= engine.Prompts; k++ {
			l.within(dead, list, k)
		}
	}
}

// shadows is shadowsOf for the lists of a filter, which are about tools.
func (l *linter) shadows(dead map[*rule]bool, list engine.List, stronger *cover) {
	l.shadowsOf(dead, list, engine.Tools, stronger)
}

// shadowsOf reports the rules of a list that the rules of a stronger list take everything from.
func (l *linter) shadowsOf(dead map[*rule]bool, list engine.List, k engine.Kind, stronger *cover) {
	if stronger.empty() {
		return
	}
	for _, a := range l.rules[list] {
		if a.kind != k || dead[a] {
			continue
		}
		b := stronger.first(a)
		if b == nil {
			continue
		}
		dead[a], l.silent[a] = true, true
		what := map[engine.List]string{engine.ListExclude: "hides", engine.ListDeny: "denies", engine.ListAsk: "asks about"}[b.list]
		f := l.reportRule(shadowedRule, a,
			fmt.Sprintf("This rule can never act: %s %s everything it matches.", b, what),
			fmt.Sprintf("Remove this rule, or narrow %s.", b))
		f.group = b.String()
		f.relate(b.pos, fmt.Sprintf("%s: %s", b, b.src))
	}
}

func (c *cover) empty() bool {
	return len(c.rules)+len(c.open)+len(c.byOpaque)+len(c.bare) == 0
}

// within reports rules of one list that other rules of the same list contain.
func (l *linter) within(dead map[*rule]bool, list engine.List, k engine.Kind) {
	ofKind := func(r *rule) bool { return r.kind == k }
	any := newCover(list, l.rules[list], ofKind)
	exact := any
	if list == engine.ListAllow && k == engine.Tools && !l.doc.Policy.AllowNewTools {
		// A rule of one tool may allow a new one, and only such rules can stand in for it.
		exact = newCover(list, l.rules[list], func(r *rule) bool { return r.kind == k && r.exact })
	}
	for _, a := range l.rules[list] {
		if a.kind != k || dead[a] {
			continue
		}
		c := any
		if a.exact {
			c = exact
		}
		b := c.first(a)
		if b == nil || b.index > a.index {
			if b = c.last(a); b == nil || b.index < a.index || a.id != "" || c.covers(a, b) {
				continue
			}
			f := l.reportRule(redundantRule, a,
				fmt.Sprintf("%s takes everything this rule takes, and more; this rule only changes which one is reported.", b),
				"Remove this rule, or give it an id if it is to be reported by itself.")
			f.group = b.String()
			f.relate(b.pos, fmt.Sprintf("%s: %s", b, b.src))
			continue
		}
		dead[a] = true
		var f *Finding
		if c.covers(a, b) {
			f = l.reportRule(duplicateRule, a, fmt.Sprintf("%s takes exactly what this rule takes%s.", b, folded(a, b)),
				"Remove one of the two.")
		} else {
			write := "Remove this rule."
			if a.id != "" {
				write = fmt.Sprintf("Remove this rule, or put it before %s so that it is the one that is reported.", b)
			}
			f = l.reportRule(subsumedRule, a,
				fmt.Sprintf("%s stands before this rule and takes everything it takes, so this one is never the one that decides.", b), write)
		}
		f.group = b.String()
		f.relate(b.pos, fmt.Sprintf("%s: %s", b, b.src))
	}
}

// covers reports whether a takes whatever b takes.
func (c *cover) covers(a, b *rule) bool { return c.contains(a, b) }

// folded says that two duplicates are equal only folded.
func folded(a, b *rule) string {
	if loose(a.list) && a.src.String() != b.src.String() {
		return ", folded"
	}
	return ""
}
