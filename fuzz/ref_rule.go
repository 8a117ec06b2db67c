package fuzz

import (
	"fmt"
	"regexp"
	"slices"
)

// question is everything that a rule can be about.
type question struct {
	target  Target
	request Request
	trusted bool // the policy trusts the server's hints
	loose   bool // the rule stands in exclude, deny or ask
}

// kind returns what a rule is about, and whether its members agree on it.
func (r Rule) kind() (Kind, bool) {
	switch r.Form {
	case Pattern:
		return splitPattern(r.Text).kind, true
	case Regexp:
		return r.Kind, true
	case All, Named:
		if len(r.Rules) == 0 {
			return Tool, true
		}
		first, ok := r.Rules[0].kind()
		for _, m := range r.Rules {
			k, agree := m.kind()
			ok = ok && agree && k == first
		}
		return first, ok
	}
	// "annotation, args, attribute, taint and function rules are tool rules"
	return Tool, true
}

// holds decides one rule (section 5.1).
func (r Rule) holds(q question) truth {
	// "Tool rules never match resources or prompts and the other way round."
	if kind, _ := r.kind(); kind != q.target.Kind {
		return no
	}
	switch r.Form {
	case Pattern:
		return truthOf(matchPattern(r.Text, q.target, q.loose))
	case Regexp:
		return truthOf(matchRegexp(r, q.target, q.loose))
	case Predicate:
		return predicateHolds(r.Text, q)
	case Annotation:
		return truthOf(effectiveHint(r.Text, q.target, q.trusted) == r.Want)
	case Args:
		return holdsKeys(r.Keys, q.request.Args, true)
	case Attribute:
		return holdsKeys(r.Keys, q.request.Attributes, false)
	case Tainted:
		// "the request's taint set holds a server id other than the called tool's own and not in ignore. Ids
		// compare exactly."
		for _, id := range q.request.Taint {
			if id != q.target.Server && !slices.Contains(r.Ignore, id) {
				return yes
			}
		}
		return no
	case All:
		// "if the other members match, the whole [fails]; if one of them does not, the whole does not" (5.4)
		var parts []truth
		for _, m := range r.Rules {
			parts = append(parts, m.holds(q))
		}
		return every(parts)
	case Named:
		return r.Rules[0].holds(q)
	}
	panic("unknown form " + string(r.Form))
}

// exact reports whether an allow rule may match a new tool (section 5.2, step 5): "a two-segment pattern with no
// star in either half, or an all that holds one at any depth … A bare name is not exact. A name given to a rule
// changes nothing."
func (r Rule) exact() bool {
	switch r.Form {
	case Pattern:
		p := splitPattern(r.Text)
		return !p.bare && !hasStar(p.server) && !hasStar(p.name)
	case All, Named:
		return slices.ContainsFunc(r.Rules, Rule.exact)
	}
	return false
}

func hasStar(s string) bool { return slices.Contains([]byte(s), '*') }

// dynamic reports whether the rule is a function.
func (r Rule) dynamic() bool { return r.Form == Predicate }

// hintKeys are the keys of annotation rules, with the hint each reads, its value for an untrusted server, and
// its default for a trusted one (section 5.3).
var hintKeys = map[string]struct {
	hint               string
	untrusted, missing bool
}{
	"read_only":   {"readOnlyHint", false, false},
	"destructive": {"destructiveHint", true, true},
	"open_world":  {"openWorldHint", true, true},
	"idempotent":  {"idempotentHint", false, false},
}

// effectiveHint returns what an annotation rule compares with.
func effectiveHint(key string, t Target, trusted bool) bool {
	k := hintKeys[key]
	if !trusted {
		return k.untrusted
	}
	// "a read-only tool is not destructive"
	if key == "destructive" && effectiveHint("read_only", t, trusted) {
		return false
	}
	if t.Annotations != "" {
		n, err := readJSON(t.Annotations, 10000)
		if err == nil && n.kind == 'o' {
			// "A hint that is not a boolean counts as absent."
			if hint, ok := n.plain().(map[string]any)[k.hint].(bool); ok {
				return hint
			}
		}
	}
	return k.missing
}

// ruleIDForm is "of the form deny[2]".
var ruleIDForm = regexp.MustCompile(`^(deny|ask|allow)\[[0-9]+\]$`)

// check reports why a rule is refused. In a filter only patterns, regexps and functions stand.
func (r Rule) check(filter, nested bool) error {
	if filter && !slices.Contains([]Form{Pattern, Regexp, Predicate}, r.Form) {
		return fmt.Errorf("%s: not in a filter", r.Form)
	}
	if kind, _ := r.kind(); filter && kind != Tool {
		return fmt.Errorf("a %s rule in a filter", kind)
	}
	switch r.Form {
	case Pattern:
		return checkPattern(r.Text)
	case Regexp:
		if err := checkSize(r.Server); err != nil {
			return err
		}
		if err := checkServerGlob(r.Server); err != nil {
			return err
		}
		_, err := regexp.Compile(r.Text)
		return err
	case Predicate:
		if !knownPredicate(r.Text) {
			return fmt.Errorf("unknown predicate %q", r.Text)
		}
		if filter && readsArgs(r.Text) {
			return fmt.Errorf("an argument predicate in a filter")
		}
		return nil
	case Annotation:
		if _, ok := hintKeys[r.Text]; !ok {
			return fmt.Errorf("unknown annotation %q", r.Text)
		}
		return nil
	case Args, Attribute:
		return checkKeys(r.Keys)
	case Tainted:
		return nil
	case All:
		if len(r.Rules) == 0 {
			return fmt.Errorf("an empty all")
		}
		if _, agree := r.kind(); !agree {
			return fmt.Errorf("an all of several kinds")
		}
	case Named:
		if nested {
			return fmt.Errorf("a named rule inside a rule")
		}
		if r.ID == "" || ruleIDForm.MatchString(r.ID) {
			return fmt.Errorf("id %q", r.ID)
		}
	default:
		return fmt.Errorf("unknown form %q", r.Form)
	}
	for _, m := range r.Rules {
		if err := m.check(filter, true); err != nil {
			return err
		}
	}
	return nil
}
