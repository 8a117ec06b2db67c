package lint

// This file looks at the names that rules have in them.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/penstock-mcp/penstock/automaton"
	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/fold"
)

func (l *linter) ruleNames() {
	l.bareServers()
	l.lookalikePatterns()
}

// bareServers reports patterns without '/' that are the id of a server, as far as servers are known: from the catalogs,
// the other rules and trusted.
func (l *linter) bareServers() {
	known := make(map[string]string) // by fold
	for i := range l.in.Servers {
		known[fold.String(l.in.Servers[i].ID)] = l.in.Servers[i].ID
	}
	for _, id := range l.doc.Policy.Trusted {
		known[fold.String(id)] = id
	}
	for _, list := range lists {
		for _, r := range l.rules[list] {
			r.servers(func(server string, _ engine.Position) {
				if !strings.Contains(server, "*") {
					known[fold.String(server)] = server
				}
			})
		}
	}
	var tools map[string]bool
	for _, list := range lists {
		for _, r := range l.rules[list] {
			for i := range r.globs {
				g := &r.globs[i]
				id, ok := known[g.foldName]
				if !g.bare || !ok {
					continue
				}
				if tools == nil {
					tools = make(map[string]bool)
					for _, t := range l.names(engine.Tools) {
						tools[fold.String(t.Name)] = true
					}
				}
				if tools[g.foldName] {
					continue // a tool of that name is what is meant
				}
				l.silent[r] = true
				l.reportRule(bareServer, r,
					fmt.Sprintf("%s is a tool of that name on any server, not the tools of the server %s.", quote(g.name), quote(id)),
					fmt.Sprintf("Write %s for every tool of the server.", quote(id+"/*"))).Position = g.pos
			}
		}
	}
}

// lookalikePatterns reports patterns and ids with letters that only look like those of names.
func (l *linter) lookalikePatterns() {
	look := func(r *rule, s string, at engine.Position) {
		if plain, ok := disguised(s); ok {
			l.reportRule(lookalikePattern, r, fmt.Sprintf("%s looks like %s, and is not: it has %s.", quote(s), quote(plain), strangers(s)),
				fmt.Sprintf("Write %s if that is the name.", quote(plain))).Position = at
		}
	}
	for _, list := range lists {
		for _, r := range l.rules[list] {
			for i := range r.globs {
				g := &r.globs[i]
				look(r, g.server, g.pos)
				look(r, g.name, g.pos)
			}
			for i := range r.res {
				look(r, r.res[i].server, r.res[i].pos)
			}
		}
	}
	for i, id := range l.doc.Policy.Trusted {
		if plain, ok := disguised(id); ok {
			at, _ := l.doc.TrustedPosition(i)
			l.report(lookalikePattern, at, fmt.Sprintf("The trusted id %s looks like %s, and is not: it has %s.", quote(id), quote(plain), strangers(id)),
				fmt.Sprintf("Write %s if that is the id.", quote(plain)))
		}
	}
}

// unknownServers reports server segments and ids that match no server of the catalogs. One id is one finding, however
// many rules have it.
func (l *linter) unknownServers() {
	exact, folded := make(map[string]bool), make(map[string]string)
	for i := range l.in.Servers {
		id := l.in.Servers[i].ID
		exact[id], folded[fold.String(id)] = true, id
	}
	globs := make(map[string]bool) // whether a glob matches a server
	matches := func(segment string, loose bool) bool {
		if !strings.Contains(segment, "*") {
			_, ok := folded[fold.String(segment)]
			return exact[segment] || loose && ok
		}
		key := segment
		if loose {
			key = "\x00" + segment
		}
		ok, known := globs[key]
		for i := 0; !known && !ok && i < len(l.in.Servers); i++ {
			id, g := l.in.Servers[i].ID, segment
			if loose {
				id, g = fold.String(id), fold.String(g)
			}
			ok = automaton.Match(g, id)
		}
		globs[key] = ok
		return ok
	}
	type place struct {
		rule string
		at   engine.Position
	}
	places := make(map[string][]place)
	var order []string
	add := func(id, rule string, at engine.Position) {
		if places[id] == nil {
			order = append(order, id)
		}
		places[id] = append(places[id], place{rule, at})
	}
	for _, list := range lists {
		for _, r := range l.rules[list] {
			r.servers(func(server string, at engine.Position) {
				if !matches(server, loose(list)) {
					l.silent[r] = true
					add(server, r.String(), at)
				}
			})
			for _, ignore := range r.taints {
				for _, id := range ignore {
					if !exact[id] {
						add(id, r.String()+" (ignore)", r.pos)
					}
				}
			}
		}
	}
	for i, id := range l.doc.Policy.Trusted {
		if !exact[id] {
			at, _ := l.doc.TrustedPosition(i)
			add(id, "policy.trusted", at)
		}
	}
	for _, id := range order {
		first := places[id][0]
		message := fmt.Sprintf("No catalog is of a server %s, so this matches nothing.", quote(id))
		if strings.Contains(id, "*") {
			message = fmt.Sprintf("No catalog is of a server that %s matches, so this matches nothing.", quote(id))
		}
		write := "Correct the id, or give the catalogs of all servers."
		if other, ok := folded[fold.String(id)]; ok {
			write = fmt.Sprintf("Write %s: ids compare exactly here.", quote(other))
		} else if near := l.nearServers(id); len(near) > 0 {
			write = fmt.Sprintf("Did you mean %s?", join(near, "or"))
		}
		f := l.report(unknownServer, first.at, message, write)
		f.Rule = first.rule
		for _, p := range places[id][1:] {
			f.relate(p.at, "the same id: "+p.rule)
		}
	}
}

// nearServers returns the ids of the catalogs that are no more than two edits from id, or hold it as a word.
func (l *linter) nearServers(id string) []string {
	if strings.Contains(id, "*") {
		return nil
	}
	var edits, holds []string
	want := fold.String(id)
	for i := range l.in.Servers {
		have := fold.String(l.in.Servers[i].ID)
		switch {
		case distance(want, have, 2) <= 2 && len(want) > 3:
			edits = append(edits, quote(l.in.Servers[i].ID))
		case len(want) > 2 && slices.Contains(strings.Split(have, "_"), want):
			holds = append(holds, quote(l.in.Servers[i].ID))
		}
	}
	if edits == nil {
		edits = holds
	}
	return edits[:min(len(edits), 3)]
}

// distance returns the number of characters to add, leave out or change to make a into b, or more than limit.
func distance(a, b string, limit int) int {
	x, y := []rune(a), []rune(b)
	if len(x)-len(y) > limit || len(y)-len(x) > limit {
		return limit + 1
	}
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		diagonal := row[0]
		row[0] = i + 1
		for j := range y {
			cost := diagonal
			if x[i] != y[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(y)]
}
