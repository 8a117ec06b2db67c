package lint

// This file reports patterns that mean a verb and go by its spelling.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/penstock-mcp/penstock/engine"
)

// crosses reports allow and include patterns that begin like reading and take a tool that writes.
func (l *linter) crosses(r *rule, h *hits, subjects []subject) {
	if loose(r.list) || h.writes == 0 || len(r.hints) > 0 {
		return
	}
	for i := range r.globs {
		g := &r.globs[i]
		head, _, star := strings.Cut(g.name, "*")
		w := words(head)
		if !star || !has(w, readWords) || has(w, writeWords) || has(w, deleteWords) {
			continue
		}
		f := l.reportRule(prefixCrosses, r, fmt.Sprintf("%s reads like reading, and takes %s that by its name or its hints writes.", quote(g.name), of(h.writes, "tool")),
			"Name the tools that are meant, or deny the ones that write.")
		f.Position = g.pos
		for _, i := range h.writers {
			f.show(subjects[i].Target)
		}
		f.MoreTargets = h.writes - len(h.writers)
		return
	}
}

// against is the rules of a loose list that mean one verb.
type against struct {
	verb  string
	rules []*rule
}

// verbs reports loose lists that have a rule against a verb and leave live tools that do the same. There is one finding
// for each list and verb, at the first of its rules.
func (l *linter) verbs(subjects []subject) {
	for _, list := range []engine.List{engine.ListExclude, engine.ListDeny, engine.ListAsk} {
		var all []against
		for _, r := range l.rules[list] {
			verb := r.verb()
			if slices.Contains(deleteWords, verb) {
				verb = "delete"
			}
			if verb == "" {
				continue
			}
			i := slices.IndexFunc(all, func(a against) bool { return a.verb == verb })
			if i < 0 {
				i, all = len(all), append(all, against{verb: verb})
			}
			all[i].rules = append(all[i].rules, r)
		}
		for _, a := range all {
			l.siblings(list, a, subjects)
		}
	}
}

// verb returns the verb that a rule of one pattern or one expression is against, or "".
func (r *rule) verb() string {
	switch {
	case r.kind != engine.Tools:
	case r.plain() && strings.Contains(r.globs[0].name, "*"):
		return verbOf(r.globs[0].name)
	case len(r.res) == 1 && len(r.globs)+len(r.hints)+len(r.taints)+len(r.opaque) == 0:
		return verbOf(simpleExpr(r.res[0].re.String()))
	}
	return ""
}

func (l *linter) siblings(list engine.List, a against, subjects []subject) {
	// Tools count as left only if nothing takes them: not these rules, and no others that are as strong.
	var f *Finding
	n := 0
	for i := range subjects {
		s := &subjects[i]
		if s.hidden || list != engine.ListExclude && s.denied || list == engine.ListAsk && s.asked {
			continue
		}
		w := words(s.Name)
		same := slices.Contains(w, a.verb) && !has(w, readWords)
		if a.verb == "delete" {
			same = deletes(s.Name)
		}
		if !same || !slices.ContainsFunc(a.rules, func(r *rule) bool { return r.onServer(s.Server) }) {
			continue
		}
		if f == nil {
			f = l.reportRule(verbLeaves, a.rules[0], "", write(a.verb))
		}
		n++
		f.show(s.Target)
	}
	if f == nil {
		return
	}
	left := map[engine.List]string{engine.ListExclude: "in sight", engine.ListDeny: "undenied", engine.ListAsk: "unasked"}[list]
	f.Message = fmt.Sprintf("It goes by the spelling and leaves %s %s that by its name does the same.", of(n, "tool"), left)
	if n > 1 {
		f.Message = fmt.Sprintf("It goes by the spelling and leaves %s %s that by their names do the same.", of(n, "tool"), left)
	}
	for _, r := range a.rules[1:] {
		f.relate(r.pos, fmt.Sprintf("%s: %s", r, r.src))
	}
}

// write says what to write against a verb.
func write(verb string) string {
	if verb == "delete" {
		return `Use an expression that finds the words wherever they stand: {server: "*", regexp: "delet|destroy|eras|purg|remov|truncat|unlink|wip(e|ing)"}.`
	}
	return fmt.Sprintf(`Use an expression that finds the word wherever it stands: {server: "*", regexp: %q}.`, verb)
}
