package engine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/penstock-mcp/penstock/automaton"
	"github.com/penstock-mcp/penstock/fold"
)

// compiler turns rules into compiled rules and collects everything that is wrong with them.
type compiler struct {
	errs []*EntryError
	ids  map[string]string // named ids, and where each was given first
}

// entry is where the compiler is: one rule of one list.
type entry struct {
	list  List
	index int
	id    string
}

// fail records that something is wrong with r, which stands in entry e.
func (c *compiler) fail(e entry, r Rule, err error) {
	report := &EntryError{Section: e.list.section(), Option: e.list.String(), Index: e.index, ID: e.id,
		Offset: -1, Position: r.pos, Err: err}
	var pattern *PatternError
	if errors.As(err, &pattern) {
		report.Offset = pattern.Offset
	}
	switch {
	case r.form == formPattern:
		report.Text = "pattern " + r.String()
	case r.form != formNamed:
		report.Text = r.String()
	}
	c.errs = append(c.errs, report)
}

// failOption records that an option that is not a list of rules is wrong. The index is -1 for the option as a
// whole.
func (c *compiler) failOption(section, option string, index int, err error) {
	c.errs = append(c.errs, &EntryError{Section: section, Option: option, Index: index, Offset: -1, Err: err})
}

// err returns everything that was recorded, in the order of the lists and their entries; what is wrong with other options
// comes last.
func (c *compiler) err() error {
	if len(c.errs) == 0 {
		return nil
	}
	rank := func(e *EntryError) int {
		if i := slices.Index(listNames[:], e.Option); i >= 0 {
			return i
		}
		return len(listNames)
	}
	slices.SortStableFunc(c.errs, func(a, b *EntryError) int {
		if ra, rb := rank(a), rank(b); ra != rb || ra == len(listNames) {
			return cmp.Compare(ra, rb)
		}
		return cmp.Compare(a.Index, b.Index)
	})
	return &CompileError{Entries: c.errs}
}

// compiledList is one list, compiled: its rules in list order, and for each the pattern that anchors it.
type compiledList struct {
	rules   []compiledRule
	anchors []automaton.Pattern
}

// list compiles the rules of one list. Bad ones are recorded and leave a hole that nobody sees, since a compiler
// with errors gives no result.
func (c *compiler) list(l List, rules []Rule) compiledList {
	out := compiledList{rules: make([]compiledRule, len(rules)), anchors: make([]automaton.Pattern, len(rules))}
	ids := ruleIDs(l, len(rules))
	for i, r := range rules {
		to := &out.rules[i]
		to.list, to.index, to.id = l, int32(i), ids[i]
		e := entry{list: l, index: i}
		if r.form == formNamed {
			e.id = r.more.id
			if l.section() == "filter" {
				c.fail(e, r, errNotInFilter("named"))
				continue
			}
			c.name(e, r)
			to.named, to.id = r.more, r.more.id
			inner := r.more.members[0]
			if inner.pos.IsZero() {
				inner.pos = r.pos
			}
			r = inner
		}
		to.src = r
		before := len(c.errs)
		if c.rule(e, r, to, &out.anchors[i]); len(c.errs) > before {
			to.kind = kinds // of a bad rule nothing is known
			continue
		}
		to.src = r.frozen()
	}
	return out
}

// name checks the id of a named rule.
func (c *compiler) name(e entry, r Rule) {
	id := r.more.id
	switch first, used := c.ids[id]; {
	case id == "":
		c.fail(e, r, errors.New("the id is empty"))
	case looksLikeIndex(id):
		c.fail(e, r, fmt.Errorf("the id %q has the form of an unnamed rule's id (choose another)", id))
	case used:
		c.fail(e, r, fmt.Errorf("the id is already that of %s (ids are unique in a policy)", first))
	default:
		if c.ids == nil {
			c.ids = make(map[string]string)
		}
		c.ids[id] = fmt.Sprintf("%s[%d]", e.list, e.index)
	}
}

// looksLikeIndex reports whether id has the form list[number].
func looksLikeIndex(id string) bool {
	list, rest, ok := strings.Cut(id, "[")
	digits, closed := strings.CutSuffix(rest, "]")
	return ok && closed && slices.Contains(listNames[:], list) && digits != "" && strings.Trim(digits, "0123456789") == ""
}

// rule compiles one rule into to and its anchor.
func (c *compiler) rule(e entry, r Rule, to *compiledRule, anchor *automaton.Pattern) {
	if r.form == formPattern { // by far the most common
		p, err := parsePattern(r.text)
		if err != nil {
			err.Pattern = r.text
			c.fail(e, r, err)
			return
		}
		if p.kind != Tools && e.list.section() == "filter" {
			c.fail(e, r, errNotInFilter(p.kind.one()))
			return
		}
		to.kind, to.exact = p.kind, p.exact()
		*anchor = automaton.Pattern{Server: p.server, Name: p.name}
		return
	}
	f := flattener{c: c, e: e, anchor: automaton.Pattern{Server: "*", Name: "*"}}
	f.add(r, false, 0)
	to.kind, to.exact, *anchor = f.kind, f.exact, f.anchor
	if len(f.tests.static)+len(f.tests.dynamic) > 0 {
		tests := f.tests
		to.tests = &tests
	}
}

// flattener collects the members of one rule.
type flattener struct {
	c        *compiler
	e        entry
	kind     Kind
	first    Rule // the member that set the kind
	kinded   bool
	exact    bool
	anchored int // how good the anchor is: one of the grades below
	anchor   automaton.Pattern
	tests    ruleTests
	visited  int  // how many rules at all depths
	tooLarge bool // that has been reported
}

// Grades of anchors: the better one is met by fewer targets.
const (
	anyAnchor = iota
	regexpAnchor
	globAnchor
	literalAnchor
	targetAnchor
)

// maxMembers bounds the members of one rule at all depths, maxNesting the depth. A rule a person wrote has a
// handful; rules that share their members could stand for more than there is time to visit.
const (
	maxMembers = 1 << 12
	maxNesting = 64
)

// add adds r, which stands depth levels down; member says whether it is a member of an all.
func (f *flattener) add(r Rule, member bool, depth int) {
	if f.e.list.section() == "filter" {
		if word := policyOnly(r); word != "" {
			f.c.fail(f.e, r, errNotInFilter(word))
			return
		}
	}
	if f.visited++; depth > maxNesting || f.visited > maxMembers {
		if !f.tooLarge {
			f.c.fail(f.e, r, fmt.Errorf("the rule has more than %d members or nests deeper than %d (split it)", maxMembers, maxNesting))
		}
		f.tooLarge = true
		return
	}
	switch r.form {
	case formPattern:
		f.addPattern(r)
	case formRegexp:
		f.addRegexp(r)
	case formFunc, formArgs:
		if r.more.fn == nil {
			f.c.fail(f.e, r, errors.New("the function is nil"))
			return
		}
		f.setKind(Tools, r)
		f.tests.dynamic = append(f.tests.dynamic, dynamicTest{form: r.form, name: r.text, fn: r.more.fn})
	case formArg, formAttribute:
		f.addLookup(r)
	case formAnnotation:
		if r.more.hint >= hintKeys {
			f.c.fail(f.e, r, fmt.Errorf("unknown annotation key %d", r.more.hint))
			return
		}
		f.setKind(Tools, r)
		f.tests.static = append(f.tests.static, staticTest{form: formAnnotation, hint: r.more.hint, want: r.more.want})
	case formTainted:
		for _, id := range r.more.ignore {
			if err := CheckServerID(id); err != nil {
				f.c.fail(f.e, r, err)
			}
		}
		f.setKind(Tools, r)
		f.tests.dynamic = append(f.tests.dynamic, dynamicTest{form: formTainted, ignore: r.more.ignore, ignored: ignoreSet(r.more.ignore)})
	case formAll:
		if len(r.more.members) == 0 {
			f.c.fail(f.e, r, errors.New("all needs at least one member"))
		}
		for _, m := range r.more.members {
			if f.add(m, true, depth+1); f.tooLarge {
				return
			}
		}
	case formNamed:
		problem := "a named rule does not nest in a named rule"
		if member {
			problem = "a named rule cannot be a member of all (name the whole rule)"
		}
		f.c.fail(f.e, r, errors.New(problem))
	case formBad:
		f.c.fail(f.e, r, cmp.Or(r.more.bad, errors.New("the rule is bad")))
	default:
		f.c.fail(f.e, r, errors.New("the rule is empty (make one with Pattern or another constructor)"))
	}
}

func (f *flattener) addPattern(r Rule) {
	p, err := parsePattern(r.text)
	if err != nil {
		err.Pattern = r.text
		f.c.fail(f.e, r, err)
		return
	}
	f.setKind(p.kind, r)
	f.exact = f.exact || p.exact()
	grade := globAnchor
	switch {
	case p.exact():
		grade = targetAnchor
	case !strings.Contains(p.name, "*"):
		grade = literalAnchor
	case p.server == "*" && strings.Trim(p.name, "*") == "":
		grade = anyAnchor
	}
	f.addStatic(grade, automaton.Pattern{Server: p.server, Name: p.name})
}

func (f *flattener) addRegexp(r Rule) {
	if r.more.re == nil || len(r.more.re.SubexpNames()) == 0 {
		f.c.fail(f.e, r, errors.New("the regular expression is nil or was never compiled"))
		return
	}
	if err := parseServerGlob(r.text); err != nil {
		f.c.fail(f.e, r, err)
		return
	}
	if n := len(r.more.re.String()); n > maxPattern {
		f.c.fail(f.e, r, fmt.Errorf("the regular expression has %d bytes, more than %d (split it)", n, maxPattern))
		return
	}
	f.setKind(r.kind, r)
	re := *r.more.re // UnmarshalText and Longest change the original
	f.addStatic(regexpAnchor, automaton.Pattern{Server: r.text, Re: &re})
}

// addStatic adds a pattern or regexp, as the anchor where it is better than the one there is.
func (f *flattener) addStatic(grade int, p automaton.Pattern) {
	if grade > f.anchored {
		grade, f.anchored = f.anchored, grade
		p, f.anchor = f.anchor, p
	}
	if grade == anyAnchor {
		return
	}
	t := staticTest{form: formPattern, loose: f.e.list.loose(), re: p.Re}
	server, name := p.Server, p.Name
	if t.loose {
		server, name = fold.String(server), fold.String(name)
	}
	t.server = automaton.CompileGlob(server)
	if p.Re != nil {
		t.form = formRegexp
	} else {
		t.name = automaton.CompileGlob(name)
	}
	f.tests.static = append(f.tests.static, t)
}

func (f *flattener) addLookup(r Rule) {
	lookup, err := compileLookup(r.text, r.more.conds, r.form == formArg)
	if err != nil {
		faults := []error{err}
		if several, ok := err.(interface{ Unwrap() []error }); ok {
			faults = several.Unwrap()
		}
		for _, fault := range faults {
			f.c.fail(f.e, r, fault)
		}
		return
	}
	f.setKind(Tools, r)
	f.tests.dynamic = append(f.tests.dynamic, dynamicTest{form: r.form, lookup: lookup})
}

// setKind records that r is about targets of kind k, and that every member must be.
func (f *flattener) setKind(k Kind, r Rule) {
	if !f.kinded {
		f.kind, f.first, f.kinded = k, r, true
		return
	}
	if k != f.kind {
		f.c.fail(f.e, r, fmt.Errorf("all mixes kinds and could never match: this is a %s rule, and %s is a %s rule",
			k.one(), f.first, f.kind.one()))
	}
}

// policyOnly returns the word for a rule that belongs to the policy, or "".
func policyOnly(r Rule) string {
	switch r.form {
	case formArgs, formArg:
		return "args"
	case formAttribute:
		return "attribute"
	case formAnnotation:
		return "annotation"
	case formTainted:
		return "tainted"
	case formAll:
		return "all"
	case formNamed:
		return "named"
	case formRegexp:
		if r.kind != Tools {
			return r.kind.one()
		}
	case formPattern:
		for k := Resources; k < kinds; k++ {
			if strings.HasPrefix(r.text, kindPrefixes[k]) {
				return k.one()
			}
		}
	}
	return ""
}

func errNotInFilter(word string) error {
	return fmt.Errorf("a rule of form %s belongs to the policy, not to the filter", word)
}
