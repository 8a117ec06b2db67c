package lint

// This file takes rules apart. A rule is a conjunction; nested ones are flattened, and each member is filed under what
// it looks at, so that everything else in this package looks at lists of globs, regexps and so on.

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/penstock-mcp/penstock/automaton"
	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/fold"
)

// rule is one rule of a list, flattened. It is not changed once it is made.
type rule struct {
	list  engine.List
	index int
	src   engine.Rule // without its name
	id    string      // the given id, or ""
	pos   engine.Position
	kind  engine.Kind

	globs   []glob
	res     []expr
	hints   []hint
	taints  [][]string
	lookups []lookup
	opaque  []int32 // what is compared by its text alone: functions, arguments, attributes; sorted, numbers of linter.words

	exact   bool // holds a pattern of one target: may allow new tools
	dynamic bool // holds a member that only a call can decide
}

// glob is a pattern: two segment globs, as written and folded.
type glob struct {
	server, name         string
	foldServer, foldName string
	bare                 bool
	pos                  engine.Position
}

// expr is a regexp rule.
type expr struct {
	server, foldServer string
	re                 *regexp.Regexp
	parts              *takes // what it is known to take
	pos                engine.Position
}

type hint struct {
	key  engine.HintKey
	want bool
}

type lookup struct {
	key   string
	conds []engine.Condition
	pos   engine.Position
}

// loose reports whether a list matches loosely.
func loose(l engine.List) bool {
	return l == engine.ListExclude || l == engine.ListDeny || l == engine.ListAsk
}

// mode is how an index of a list's rules compares.
func mode(l engine.List) automaton.Mode {
	if loose(l) {
		return automaton.Folded
	}
	return automaton.Exact
}

// section is the part of a document that a list stands in.
func section(l engine.List) string {
	if l == engine.ListInclude || l == engine.ListExclude {
		return "filter"
	}
	return "policy"
}

// String names the rule: policy.deny[2] (no-shell).
func (r *rule) String() string {
	s := fmt.Sprintf("%s.%s[%d]", section(r.list), r.list, r.index)
	if r.id != "" {
		name := quote(r.id)
		s += " (" + name[1:strings.LastIndexByte(name, '"')] + ")"
	}
	return s
}

// plain reports whether one pattern is all there is to the rule.
func (r *rule) plain() bool {
	return len(r.globs) == 1 && len(r.res)+len(r.hints)+len(r.taints)+len(r.opaque) == 0
}

// flatten takes a rule that compiles apart.
func (l *linter) flatten(list engine.List, index int, src engine.Rule) *rule {
	r := &rule{list: list, index: index, src: src, pos: src.Position()}
	if s := src.Inspect(); s.Form == engine.FormNamed {
		r.id, r.src = s.ID, s.Members[0]
	}
	l.add(r, r.src, r.pos)
	slices.Sort(r.opaque)
	return r
}

func (l *linter) add(r *rule, src engine.Rule, at engine.Position) {
	if p := src.Position(); !p.IsZero() {
		at = p
	}
	s := src.Inspect()
	switch s.Form {
	case engine.FormPattern:
		r.kind, r.exact = s.Kind, r.exact || s.Exact()
		r.globs = append(r.globs, glob{server: s.Server, name: s.Name, bare: s.Bare, pos: at,
			foldServer: fold.String(s.Server), foldName: fold.String(s.Name)})
	case engine.FormRegexp:
		r.kind = s.Kind
		r.res = append(r.res, expr{server: s.Server, foldServer: fold.String(s.Server), re: s.Regexp, pos: at,
			parts: takesOf(s.Regexp)})
	case engine.FormAnnotation:
		r.hints = append(r.hints, hint{s.Hint, s.Want})
	case engine.FormTainted:
		r.taints, r.dynamic = append(r.taints, s.Ignore), true
	case engine.FormAll:
		for _, m := range s.Members {
			l.add(r, m, at)
		}
	default:
		if s.Form == engine.FormArg || s.Form == engine.FormAttribute {
			r.lookups = append(r.lookups, lookup{s.Text, s.Conditions, at})
		}
		r.opaque, r.dynamic = append(r.opaque, l.words.id(src.String())), true
	}
}

// servers calls yield for each server segment of the rule.
func (r *rule) servers(yield func(server string, at engine.Position)) {
	for i := range r.globs {
		if g := &r.globs[i]; !g.bare {
			yield(g.server, g.pos)
		}
	}
	for i := range r.res {
		yield(r.res[i].server, r.res[i].pos)
	}
}

// onServer reports whether the rule's server segments all match the server.
func (r *rule) onServer(id string) bool {
	folded := ""
	if loose(r.list) {
		folded = fold.String(id)
	}
	for i := range r.globs {
		g := &r.globs[i]
		if loose(r.list) && !automaton.Match(g.foldServer, folded) || !loose(r.list) && !automaton.Match(g.server, id) {
			return false
		}
	}
	for i := range r.res {
		e := &r.res[i]
		if loose(r.list) && !automaton.Match(e.foldServer, folded) || !loose(r.list) && !automaton.Match(e.server, id) {
			return false
		}
	}
	return true
}

// named reports whether the rule's patterns and regexps all match the target. It says nothing of hints and dynamic
// members.
func (r *rule) named(server, name, foldServer, foldName string) bool {
	if !loose(r.list) {
		foldServer, foldName = server, name
	}
	for i := range r.globs {
		g := &r.globs[i]
		gs, gn := g.server, g.name
		if loose(r.list) {
			gs, gn = g.foldServer, g.foldName
		}
		if !automaton.Match(gs, foldServer) || !automaton.Match(gn, foldName) {
			return false
		}
	}
	for i := range r.res {
		e := &r.res[i]
		es := e.server
		if loose(r.list) {
			es = e.foldServer
		}
		if !automaton.Match(es, foldServer) || !e.re.MatchString(name) && !(foldName != name && e.re.MatchString(foldName)) {
			return false
		}
	}
	return true
}

// Grades of patterns, by how many names they take.
const (
	noPattern = iota
	allNames
	someNames
	oneName
)

// grade returns the grade of the best pattern of the rule.
func (r *rule) grade() int {
	best := noPattern
	for i := range r.globs {
		best = max(best, r.globs[i].grade())
	}
	return best
}

func (g *glob) grade() int {
	switch {
	case !strings.Contains(g.name, "*"):
		return oneName
	case strings.Trim(g.name, "*") == "":
		return allNames
	}
	return someNames
}

// anchor returns the member that an index finds the rule by: the one that takes least.
func (r *rule) anchor() automaton.Pattern {
	best := r.grade()
	if best < someNames && len(r.res) > 0 {
		return automaton.Pattern{Server: r.res[0].server, Re: r.res[0].re}
	}
	for i := range r.globs {
		if g := &r.globs[i]; g.grade() == best {
			return automaton.Pattern{Server: g.server, Name: g.name}
		}
	}
	return automaton.Pattern{Server: "*", Name: "*"}
}

// static is the same for rules that differ at most in their dynamic members.
func (r *rule) static() string {
	var b strings.Builder
	for i := range r.globs {
		g := &r.globs[i]
		if loose(r.list) {
			fmt.Fprintf(&b, "%q/%q ", g.foldServer, g.foldName)
		} else {
			fmt.Fprintf(&b, "%q/%q ", g.server, g.name)
		}
	}
	for i := range r.res {
		fmt.Fprintf(&b, "%q~%q ", r.res[i].server, r.res[i].re.String())
	}
	for _, h := range r.hints {
		fmt.Fprintf(&b, "%s ", h)
	}
	return b.String()
}
