package lint

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/policyfile"
)

// linter is one run.
type linter struct {
	in      Input
	doc     *policyfile.Document
	file    string // the document's
	filter  *engine.Filter
	policy  *engine.Policy
	rules   [engine.ListAllow + 1][]*rule
	trusted map[string]bool
	scope   [engine.Prompts + 1]bool
	words   interner // of the members that are compared by their text alone

	tools []subject // of the catalogs, in their order

	findings []Finding
	silent   map[*rule]bool // rules of which it is known why they match nothing
}

func newLinter(in Input, filter *engine.Filter, policy *engine.Policy) *linter {
	l := &linter{in: in, doc: in.Document, filter: filter, policy: policy,
		trusted: make(map[string]bool), silent: make(map[*rule]bool)}
	pos, _ := l.doc.Position()
	l.file = pos.File
	for _, id := range l.doc.Policy.Trusted {
		l.trusted[id] = true
	}
	for _, k := range l.doc.Policy.Scope {
		l.scope[k] = true
	}
	if len(l.doc.Policy.Scope) == 0 {
		l.scope[engine.Tools] = true
	}
	options := [...][]engine.Rule{
		engine.ListInclude: l.doc.Filter.Include, engine.ListExclude: l.doc.Filter.Exclude,
		engine.ListDeny: l.doc.Policy.Deny, engine.ListAsk: l.doc.Policy.Ask, engine.ListAllow: l.doc.Policy.Allow,
	}
	for _, list := range lists {
		for i, r := range options[list] {
			l.rules[list] = append(l.rules[list], l.flatten(list, i, r))
		}
	}
	return l
}

// lists are all lists, in the order in which they are reported.
var lists = [...]engine.List{engine.ListInclude, engine.ListExclude, engine.ListDeny, engine.ListAsk, engine.ListAllow}

// trusts reports whether the hints of a server are believed.
func (l *linter) trusts(id string) bool { return l.doc.Policy.TrustAll || l.trusted[id] }

// option returns where an option stands, or else its section, or else the document.
func (l *linter) option(keys ...string) engine.Position {
	for n := len(keys); n >= 0; n-- {
		if p, ok := l.doc.Position(keys[:n]...); ok {
			return p
		}
	}
	return engine.Position{File: l.file}
}

// report adds a finding about an option or a catalog. The result is good until the next one is added.
func (l *linter) report(c *Code, at engine.Position, message, write string) *Finding {
	l.findings = append(l.findings, Finding{Code: c, Severity: c.Severity, Position: at, Message: message, Write: write})
	return &l.findings[len(l.findings)-1]
}

// reportRule adds a finding about a rule.
func (l *linter) reportRule(c *Code, r *rule, message, write string) *Finding {
	f := l.report(c, r.pos, message, write)
	f.Rule, f.Text, f.Kind = r.String(), r.src.String(), r.kind
	return f
}

// quote returns s in quotes, cut short, and escaped where it could disturb a terminal or look like something else.
func quote(s string) string {
	const limit = 120
	cut := ""
	if len(s) > limit {
		n := limit
		for n > limit-utf8.UTFMax && !utf8.RuneStart(s[n]) {
			n--
		}
		s, cut = s[:n], "…"
	}
	for _, r := range s {
		if !unicode.IsPrint(r) || r == utf8.RuneError {
			return strconv.QuoteToASCII(s) + cut
		}
	}
	return strconv.Quote(s) + cut
}

// join lists words for a message: a, b and c.
func join(words []string, and string) string {
	switch len(words) {
	case 0:
		return ""
	case 1:
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " " + and + " " + words[len(words)-1]
}

// of returns "1 tool" or "2 tools".
func of(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// noun names a kind: tool, resource, prompt.
func noun(k engine.Kind) string { return strings.TrimSuffix(k.String(), "s") }

// interner numbers strings.
type interner map[string]int32

func (in *interner) id(s string) int32 {
	if *in == nil {
		*in = make(interner)
	}
	n, ok := (*in)[s]
	if !ok {
		n = int32(len(*in))
		(*in)[s] = n
	}
	return n
}
