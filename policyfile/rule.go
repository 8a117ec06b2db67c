package policyfile

import (
	"errors"
	"regexp"
	"slices"

	"github.com/penstock-mcp/penstock/engine"
)

// form is one way to write a rule as a mapping: the keys it has.
type form struct {
	name     string   // for messages
	keys     []string // all of them; the first ones, as many as required says, must be there
	required int
	filter   bool // may stand in a filter
}

// forms are the ways to write a rule as a mapping, those of a filter first. No key belongs to two of them.
var forms = []form{
	{"regexp", []string{"server", "regexp"}, 2, true},
	{"predicate", []string{"predicate"}, 1, true},
	{"resource", []string{"resource"}, 1, false},
	{"prompt", []string{"prompt"}, 1, false},
	{"annotation", []string{"annotation"}, 1, false},
	{"args", []string{"args"}, 1, false},
	{"attribute", []string{"attribute"}, 1, false},
	{"tainted", []string{"tainted"}, 1, false},
	{"all", []string{"all"}, 1, false},
	{"named", []string{"id", "rule", "message"}, 2, false},
}

// formOf returns the form that has key, or nil.
func formOf(key string) *form {
	for i := range forms {
		if slices.Contains(forms[i].keys, key) {
			return &forms[i]
		}
	}
	return nil
}

// ruleKeys returns the keys that rules have, in a filter or anywhere.
func ruleKeys(filter bool) []string {
	if filter {
		return filterKeys
	}
	return policyKeys
}

var (
	filterKeys = keysOf(forms[:2])
	policyKeys = keysOf(forms)
)

func keysOf(forms []form) (keys []string) {
	for i := range forms {
		keys = append(keys, forms[i].keys...)
	}
	return keys
}

// errReported is the cause of a rule that stands in for one that was reported already: what the engine says of it
// is left out.
var errReported = errors.New("reported already")

// spoiled stands in for a rule that was reported, so that the others keep their index.
func (c *checker) spoiled(n *node) engine.Rule {
	return engine.Bad("", errReported).At(n.place(c.file))
}

// rules reads a list of rules.
func (c *checker) rules(n *node, at *path, filter bool) []engine.Rule {
	if n.bad {
		return nil
	}
	if n.kind != kindList {
		c.add(n, at, "want a list of rules, not %s", n.describe())
		return nil
	}
	rules := make([]engine.Rule, len(n.items))
	for i := range n.items {
		rules[i] = c.rule(&n.items[i], at.at(i), filter)
	}
	return rules
}

// rule reads one rule in any form.
func (c *checker) rule(n *node, at *path, filter bool) engine.Rule {
	switch {
	case n.bad:
	case n.kind == kindString:
		return engine.Pattern(n.text).At(n.place(c.file))
	case n.kind == kindObject:
		return c.mapping(n, at, filter).At(n.place(c.file))
	default:
		c.add(n, at, "want a rule, a pattern in quotes or a mapping, not %s%s", n.describe(), n.wantString())
	}
	return c.spoiled(n)
}

// mapping reads a rule that is a mapping. What it holds is read even if its keys are wrong, to say all there is to
// say.
func (c *checker) mapping(n *node, at *path, filter bool) engine.Rule {
	found, ok := c.formsOf(n, at, filter)
	if len(found) == 0 {
		if ok {
			c.add(n, at, "an empty mapping is no rule (a pattern is written in quotes)")
		}
		return c.spoiled(n)
	}
	var rule engine.Rule
	for _, f := range found {
		complete := true
		for _, key := range f.keys[:f.required] {
			if n.find(key) != nil {
				continue
			}
			if complete && ok {
				c.add(n, at, "the key %s is missing%s", quote(key), missingHints[key])
			}
			complete = false
		}
		if complete {
			rule = c.inForm(f, n, at)
		} else {
			ok = false
		}
	}
	if !ok {
		return c.spoiled(n)
	}
	return rule
}

// formsOf returns the forms whose keys the rule n has: one, or else the problem is reported.
func (c *checker) formsOf(n *node, at *path, filter bool) (found []*form, ok bool) {
	ok = true
	for i := range n.keys {
		k := &n.keys[i]
		if k.bad {
			ok = false
			continue
		}
		f := formOf(k.text)
		switch {
		case f == nil:
			c.unknownKey(k, at, ruleKeys(filter))
			ok = false
		case filter && !f.filter:
			c.add(k, at, "a rule with %s belongs to the policy (a filter takes patterns, regexps and predicates)", quote(k.text))
			return nil, false
		case slices.Contains(found, f):
		default:
			if len(found) > 0 {
				c.add(k, at, "%s does not go with %s (a rule has one form; join rules with all: […])", quote(k.text), quote(found[0].name))
				ok = false
			}
			found = append(found, f)
		}
	}
	return found, ok
}

// inForm reads a rule whose form is known.
func (c *checker) inForm(f *form, n *node, at *path) engine.Rule {
	switch f.name {
	case "regexp":
		return c.regexpRule(n, at, engine.Regexp)
	case "resource":
		return c.kindRegexp(n.find("resource"), at.child("resource"), engine.ResourceRegexp)
	case "prompt":
		return c.kindRegexp(n.find("prompt"), at.child("prompt"), engine.PromptRegexp)
	case "annotation":
		return c.annotation(n.find("annotation"), at.child("annotation"))
	case "args":
		return c.lookups(n.find("args"), at.child("args"), "an argument", engine.Arg)
	case "attribute":
		return c.lookups(n.find("attribute"), at.child("attribute"), "an attribute", engine.Attribute)
	case "tainted":
		return c.tainted(n.find("tainted"), at.child("tainted"))
	case "all":
		return c.all(n.find("all"), at.child("all"))
	case "named":
		return c.named(n, at)
	default:
		return c.predicate(n.find("predicate"), at.child("predicate"))
	}
}

// missingHints says what to write for a key that is missing.
var missingHints = map[string]string{
	"server": ` (write server: "*" for any server)`,
	"regexp": " (a pattern is written as one string)",
	"id":     " (without an id, write the rule alone)",
}

// kindRegexp reads the {server, regexp} of a resource or prompt rule.
func (c *checker) kindRegexp(n *node, at *path, make func(string, *regexp.Regexp) engine.Rule) engine.Rule {
	known := forms[0].keys
	seen := func(*node, *path) {}
	if !c.object(n, at, `a mapping with "server" and "regexp"`, []option{{known[0], seen}, {known[1], seen}}) {
		return c.spoiled(n)
	}
	// A key that is not there may be the one that is misspelt.
	misspelt := slices.ContainsFunc(n.keys, func(k node) bool { return k.bad || !slices.Contains(known, k.text) })
	complete := true
	for _, key := range known {
		if n.find(key) == nil {
			if complete && !misspelt {
				c.add(n, at, "the key %s is missing%s", quote(key), missingHints[key])
			}
			complete = false
		}
	}
	if !complete {
		return c.spoiled(n)
	}
	return c.regexpRule(n, at, make)
}

func (c *checker) regexpRule(n *node, at *path, make func(string, *regexp.Regexp) engine.Rule) engine.Rule {
	server, ok := c.str(n.find("server"), at.child("server"), "a server id or glob")
	re, good := c.regexp(n.find("regexp"), at.child("regexp"))
	if !ok || !good {
		return c.spoiled(n)
	}
	return make(server, re)
}

// maxRegexp is the engine's bound of a regular expression in bytes. It is looked at before one is compiled, which costs
// more the longer it is.
const maxRegexp = 4 << 10

// regexp reads a regular expression.
func (c *checker) regexp(n *node, at *path) (*regexp.Regexp, bool) {
	text, ok := c.str(n, at, "a regular expression")
	if !ok {
		return nil, false
	}
	if len(text) > maxRegexp {
		c.add(n, at, "the regular expression has %d bytes, more than %d (split it)", len(text), maxRegexp)
		return nil, false
	}
	if !c.affordable(text, n, at) {
		return nil, false
	}
	re, err := regexp.Compile(text)
	if err != nil {
		c.addErr(n.place(c.file), at, &RegexpError{Text: text, Err: err})
		return nil, false
	}
	return re, true
}

func (c *checker) annotation(n *node, at *path) engine.Rule {
	want := list(hintWords, "or")
	switch {
	case n.bad:
		return c.spoiled(n)
	case n.kind != kindObject:
		c.add(n, at, "want a mapping such as {read_only: true}, not %s", n.describe())
		return c.spoiled(n)
	case len(n.keys) == 0:
		c.add(n, at, "want one key, %s", want)
		return c.spoiled(n)
	case len(n.keys) > 1 && !n.keys[1].bad:
		c.add(&n.keys[1], at, "want one key, not %d (join annotations with all: […])", len(n.keys))
	}
	rule := c.spoiled(n)
	for i := range n.keys {
		k := &n.keys[i]
		if k.bad {
			continue
		}
		h := slices.Index(hintWords, k.text)
		if h < 0 {
			c.unknownKey(k, at, hintWords)
			continue
		}
		if v := &n.items[i]; v.bad || v.kind != kindBool {
			c.boolean(v, at.child(k.text), false)
			continue
		}
		if len(n.keys) == 1 {
			rule = engine.Annotation(engine.HintKey(h), n.items[i].text == "true")
		}
	}
	return rule
}

// hintWords are the words for the hints, in their order.
var hintWords = []string{
	engine.HintReadOnly.String(), engine.HintDestructive.String(), engine.HintOpenWorld.String(), engine.HintIdempotent.String(),
}

func (c *checker) tainted(n *node, at *path) engine.Rule {
	var ignore []string
	ok := c.object(n, at, "a mapping, {} or {ignore: [ID…]}", []option{
		{"ignore", func(n *node, at *path) { ignore, _ = c.strs(n, at, "server id") }},
	})
	if !ok {
		return c.spoiled(n)
	}
	return engine.Tainted(ignore...)
}

func (c *checker) all(n *node, at *path) engine.Rule {
	switch {
	case n.bad:
	case n.kind != kindList:
		c.add(n, at, "want a list of rules, not %s", n.describe())
	case len(n.items) == 0:
		c.add(n, at, "an empty list would match everything (name at least one rule)")
	default:
		return engine.All(c.rules(n, at, false)...)
	}
	return c.spoiled(n)
}

func (c *checker) named(n *node, at *path) engine.Rule {
	id, ok := c.str(n.find("id"), at.child("id"), "a string")
	rule := c.rule(n.find("rule"), at.child("rule"), false)
	message := ""
	if m := n.find("message"); m != nil {
		var good bool
		message, good = c.str(m, at.child("message"), "a sentence")
		if good && message == "" {
			c.add(m, at.child("message"), "the message is empty (leave it out)")
		}
	}
	if !ok {
		return c.spoiled(n)
	}
	if message == "" {
		return engine.Named(id, rule)
	}
	return engine.Named(id, rule).WithMessage(message)
}

func (c *checker) predicate(n *node, at *path) engine.Rule {
	filter := at.section() == "filter"
	name, ok := c.str(n, at, "the name of a predicate")
	if !ok {
		return c.spoiled(n)
	}
	p, ok := c.predicates[name]
	switch {
	case !ok:
		c.add(n, at, "unknown predicate %s%s", quote(name), c.knownPredicates(name))
	case filter && p.args:
		c.add(n, at, "the predicate %s may read arguments, and a filter has none (it belongs to the policy)", quote(name))
	default:
		return p.rule(name)
	}
	return c.spoiled(n)
}

func (c *checker) knownPredicates(name string) string {
	names := c.predicates.names()
	if len(names) == 0 {
		return " (this program registers none)"
	}
	if hint := suggest(name, names); hint != "" {
		return hint
	}
	return " (known are " + list(names, "and") + ")"
}

// section returns the outermost key of p.
func (p *path) section() string {
	for p.up != nil {
		p = p.up
	}
	return p.key
}
