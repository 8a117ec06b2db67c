package lint

// This file reports what the rules make of the tools, resources and prompts that the servers list.

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/penstock-mcp/penstock/automaton"
	"github.com/penstock-mcp/penstock/engine"
)

func (l *linter) againstServers() {
	for k := engine.Tools; k <= engine.Prompts; k++ {
		subjects := l.tools
		if k != engine.Tools {
			subjects = l.subjects(k, nil)
		}
		if len(subjects) == 0 {
			continue // the catalogs say nothing of this kind
		}
		near := newNearNames(subjects)
		for _, list := range lists {
			found := l.match(list, k, subjects)
			l.unmatched(list, k, found, subjects, near)
			for _, r := range l.rules[list] {
				if h := found[r]; h != nil {
					l.useless(r, h, subjects)
					l.several(r, subjects, near)
					if k == engine.Tools {
						l.crosses(r, h, subjects)
						l.bareOnSeveral(r, h, subjects)
					}
				}
			}
		}
		if k == engine.Tools {
			l.verbs(subjects)
		}
	}
}

// unmatched reports the rules of a list that match nothing, and what they may have been meant for.
func (l *linter) unmatched(list engine.List, k engine.Kind, found map[*rule]*hits, subjects []subject, near *nearNames) {
	var missed []*rule
	var anchors []automaton.Pattern
	for _, r := range l.rules[list] {
		if h := found[r]; h != nil && h.named == 0 && len(r.globs)+len(r.res) > 0 && !l.silent[r] {
			missed, anchors = append(missed, r), append(anchors, r.anchor())
		}
	}
	if len(missed) == 0 {
		return
	}
	spelt := make([][]int32, len(missed))
	more := make([]int, len(missed))
	if !loose(list) {
		x := automaton.Build(automaton.Folded, anchors)
		var numbers []int32
		for i := range subjects {
			s := &subjects[i]
			for _, n := range x.All(numbers[:0], s.Server, s.Name) {
				if r := missed[n]; len(r.res) > 0 || !looseMatch(r, s) {
					continue
				}
				if len(spelt[n]) < maxTargets {
					spelt[n] = append(spelt[n], int32(i))
				} else {
					more[n]++
				}
			}
		}
	}
	for n, r := range missed {
		if len(spelt[n]) > 0 {
			s := &subjects[spelt[n][0]]
			f := l.reportRule(allowSpelling, r,
				fmt.Sprintf("This matches no %s, since %s compares exactly: %s is the spelling of the server.", noun(k), list, quote(s.Server+"/"+s.Name)),
				"Write the names as the server does.")
			for _, i := range spelt[n] {
				f.show(subjects[i].Target)
			}
			f.MoreTargets += more[n]
			continue
		}
		l.matchesNothing(r, k, near)
	}
}

// looseMatch reports whether the patterns of a rule would match in a loose list.
func looseMatch(r *rule, s *subject) bool {
	for i := range r.globs {
		g := &r.globs[i]
		if !automaton.Match(g.foldServer, s.foldServer) || !automaton.Match(g.foldName, s.foldName) {
			return false
		}
	}
	return true
}

func (l *linter) matchesNothing(r *rule, k engine.Kind, near *nearNames) {
	write := "Correct the name, or remove the rule."
	anyServer := true
	r.servers(func(server string, _ engine.Position) { anyServer = anyServer && strings.Trim(server, "*") == "" })
	if len(r.globs) == 1 && len(r.res) == 0 {
		if means := near.like(&r.globs[0], r); len(means) > 0 {
			write = fmt.Sprintf("Did you mean %s?", join(means, "or"))
			anyServer = false
		}
	}
	f := l.reportRule(matchesNothing, r, fmt.Sprintf("This matches no %s of the catalogs.", noun(k)), write)
	if anyServer && loose(r.list) {
		f.Severity = Info
	}
	f.group = fmt.Sprintf("%s %d", r.list, f.Severity)
	if len(r.globs) == 1 && strings.Trim(r.globs[0].server, "*") != "" {
		f.group += " " + r.globs[0].server
	}
}

// useless reports allow and include rules that match tools and still do nothing.
func (l *linter) useless(r *rule, h *hits, subjects []subject) {
	if r.kind != engine.Tools || loose(r.list) || h.full == 0 || l.silent[r] {
		return
	}
	var f *Finding
	switch {
	case r.list == engine.ListInclude && h.hidden == h.full:
		f = l.reportRule(neverActs, r, fmt.Sprintf("Every tool it matches (%d) is excluded.", h.full), "Remove this rule, or narrow the excludes.")
	case r.list == engine.ListInclude:
		return
	case h.hidden+h.denied+h.asked == h.full:
		var parts []string
		for _, p := range []struct {
			n    int
			what string
		}{{h.hidden, "hidden"}, {h.denied, "denied"}, {h.asked, "asked about"}} {
			if p.n > 0 {
				parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
			}
		}
		f = l.reportRule(neverActs, r,
			fmt.Sprintf("It allows nothing: all that it matches (%d) is decided before (%s).", h.full, join(parts, "and")),
			"Remove this rule, or narrow those that come before it.")
	case h.isNew == h.full && !r.exact && !l.doc.Policy.AllowNewTools:
		f = l.reportRule(onlyNew, r,
			fmt.Sprintf("It allows nothing: all that it matches (%d) is new, and only a rule that names one tool allows a new one.", h.full),
			"Approve the tools into the baseline.")
	default:
		return
	}
	for _, i := range h.first {
		f.show(subjects[i].Target)
	}
	f.MoreTargets = h.full - len(h.first)
}

// several reports loose rules for one name that take several names of a server.
func (l *linter) several(r *rule, subjects []subject, near *nearNames) {
	if !loose(r.list) {
		return
	}
	for i := range r.globs {
		g := &r.globs[i]
		if strings.Contains(g.name, "*") {
			continue
		}
		var f *Finding
		for _, at := range near.twins[g.foldName] {
			s := &subjects[at]
			if !automaton.Match(g.foldServer, s.foldServer) {
				continue
			}
			if f == nil {
				f = l.reportRule(foldsOntoSeveral, r,
					fmt.Sprintf("%s compares folded, so this takes several %ss whose names differ only in case, '-', '.' and '_'.", r.list, noun(r.kind)),
					fmt.Sprintf("If only %s is meant, and it has capitals, '-' or '.', an expression can tell: {server: %q, regexp: %q}.",
						quote(g.name), g.server, "^"+regexp.QuoteMeta(g.name)+"$"))
				f.Position = g.pos
			}
			f.show(s.Target)
		}
	}
}

// bareOnSeveral reports allow and include patterns without a server that match on several.
func (l *linter) bareOnSeveral(r *rule, h *hits, subjects []subject) {
	if loose(r.list) || len(h.servers) < 2 || len(r.globs) != 1 || !r.globs[0].bare || len(r.res) > 0 {
		return
	}
	g := &r.globs[0]
	if strings.Contains(g.name, "*") {
		return // a star already says that several are meant
	}
	f := l.reportRule(bareSeveral, r, fmt.Sprintf("A pattern without '/' is for any server, and several have a tool %s.", quote(g.name)),
		fmt.Sprintf("Write %s for the server that is meant, or %s for all.", quote(subjects[h.servers[0]].Server+"/"+g.name), quote("*/"+g.name)))
	for _, i := range h.servers {
		f.show(subjects[i].Target)
	}
	f.MoreTargets = h.full - len(h.servers)
}
