package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/penstock-mcp/penstock/cmd/penstock/internal/text"
	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/policyfile"
)

// note fills in the notes: what was compared, and what differs between the policies and cannot be seen in catalogs.
func (d *differ) note() {
	d.noteExtent()
	d.noteConditions()
	d.noteUnseenRules()
	d.noteTrust()
}

func (d *differ) add(format string, args ...any) {
	d.notes = append(d.notes, fmt.Sprintf(format, args...))
}

func (d *differ) noteExtent() {
	what := text.Of(d.compared[engine.Tools], "tool")
	for _, k := range []engine.Kind{engine.Resources, engine.Prompts} {
		if n := d.compared[k]; n > 0 {
			what += ", " + text.Of(n, kindWords[k])
		}
	}
	states := "approved, new and changed"
	if len(d.states) == 1 {
		states = "as the baseline has it"
	}
	d.add("Compared: %s of %s; each with and without somebody to ask, each tool %s. This is exact for what the catalogs list; what they do not list is judged as anything else, and may have rules of its own.",
		what, text.Of(len(d.catalogs), "server"), states)
	if d.count(func(i *diffItem) bool {
		return slices.ContainsFunc(i.situations, func(s situation) bool { return s.uncertain })
	}) > 0 {
		d.add("Too many conditions meet at some entries to try every combination of answers: those count as wider.")
	}
}

// sides are the words for the two policies.
var sides = [2]string{"OLD", "NEW"}

func (d *differ) noteConditions() {
	var only [2][]*openCondition
	for _, c := range d.oracle.conditions {
		if c.in[0] != c.in[1] {
			which := 0
			if c.in[1] {
				which = 1
			}
			only[which] = append(only[which], c)
		}
	}
	if len(d.oracle.conditions) == 0 {
		return
	}
	d.add("%s on arguments, attributes or taint: every combination of answers was tried. A change behind \"when\" comes about with those answers, and perhaps no call has all of them.",
		text.Of(len(d.oracle.conditions), "condition"))
	for which, list := range only {
		for _, c := range list {
			d.add("%s: only %s has the condition %s. Catalogs cannot show how it differs from others: it counts as independent of them.",
				c.pos[which], sides[which], text.Line(c.text))
		}
	}
}

// maxUnseen bounds the rules that are held against every tool.
const maxUnseen = 300

// oneSided is one rule that only one of the documents has.
type oneSided struct {
	which  int
	list   engine.List
	index  int
	rule   engine.Rule
	allows bool // it stands in a list that matches exactly
}

// noteUnseenRules names the rules that only one of the policies has and that nothing in the catalogs matches: what
// they change is not shown.
func (d *differ) noteUnseenRules() {
	rules := d.onlyInOne()
	if len(rules) > maxUnseen {
		d.add("%s differ; the last %d were not held against the catalogs one by one.", text.Of(len(rules), "rule"), len(rules)-maxUnseen)
		rules = rules[:maxUnseen]
	}
	for _, r := range rules {
		if d.matchesAny(&r) {
			continue
		}
		d.add("%s: only %s has %s[%d], %s, which matches nothing in these catalogs: what it changes is not shown.",
			r.rule.Position(), sides[r.which], r.list, r.index, text.Line(r.rule.String()))
	}
}

// onlyInOne returns the rules that the other document does not have in the same list, however often.
func (d *differ) onlyInOne() []oneSided {
	var out []oneSided
	lists := func(doc *policyfile.Document) [][]engine.Rule {
		return [][]engine.Rule{
			engine.ListInclude: doc.Filter.Include, engine.ListExclude: doc.Filter.Exclude,
			engine.ListDeny: doc.Policy.Deny, engine.ListAsk: doc.Policy.Ask, engine.ListAllow: doc.Policy.Allow,
		}
	}
	all := [2][][]engine.Rule{lists(d.docs[0]), lists(d.docs[1])}
	for which := range all {
		for l, rules := range all[which] {
			has := make(map[string]bool)
			for _, r := range all[1-which][l] {
				has[unnamed(r).String()] = true
			}
			for i, r := range rules {
				if !has[unnamed(r).String()] {
					list := engine.List(l)
					out = append(out, oneSided{which, list, i, r, list == engine.ListInclude || list == engine.ListAllow})
				}
			}
		}
	}
	return out
}

// unnamed returns r without its name.
func unnamed(r engine.Rule) engine.Rule {
	if s := r.Inspect(); s.Form == engine.FormNamed {
		return s.Members[0]
	}
	return r
}

// matchesAny reports whether anything in the catalogs could be matched by the rule, whatever its conditions say.
func (d *differ) matchesAny(r *oneSided) bool {
	options := engine.PolicyOptions{
		NoMatch: engine.DenyNoMatch, Scope: []engine.Kind{engine.Tools, engine.Resources, engine.Prompts}, DisablePins: true, AllowNewTools: true,
		TrustAll: d.docs[r.which].Policy.TrustAll, Trusted: d.docs[r.which].Policy.Trusted,
	}
	rule := []engine.Rule{holding(unnamed(r.rule))}
	if r.allows {
		options.Allow = rule
	} else {
		options.Deny = rule
	}
	p, err := engine.CompilePolicy(options)
	if err != nil {
		return true // it compiled in its document, so this cannot be
	}
	hit := func(decision engine.Decision, err error) bool {
		return err == nil && (decision.Source == engine.SourceDeny || decision.Source == engine.SourceAllow)
	}
	for _, c := range d.catalogs {
		for i := range c.Tools {
			t := &c.Tools[i]
			if hit(p.Evaluate(context.Background(), &engine.Call{Server: t.Server, Name: t.Name}, t, nil)) {
				return true
			}
		}
		for _, uri := range c.Resources {
			if hit(p.EvaluateResource(c.Server, uri, nil)) {
				return true
			}
		}
		for _, name := range c.Prompts {
			if hit(p.EvaluatePrompt(c.Server, name, nil)) {
				return true
			}
		}
	}
	return false
}

var everything = regexp.MustCompile("")

// holding returns r with every condition in it replaced by one that holds.
func holding(r engine.Rule) engine.Rule {
	s := r.Inspect()
	switch s.Form {
	case engine.FormAll:
		members := make([]engine.Rule, len(s.Members))
		for i, m := range s.Members {
			members[i] = holding(m)
		}
		return engine.All(members...)
	case engine.FormArg, engine.FormAttribute, engine.FormArgs, engine.FormFunc, engine.FormTainted:
		return engine.Regexp("*", everything)
	default:
		return r
	}
}

// noteTrust names the servers without a catalog whose hints only one of the policies believes.
func (d *differ) noteTrust() {
	for which := range d.docs {
		var ids []string
		for _, id := range d.docs[which].Policy.Trusted {
			known := false
			for _, c := range d.catalogs {
				known = known || c.Server == id
			}
			other := d.docs[1-which].Policy
			if !known && !other.TrustAll && !slices.Contains(other.Trusted, id) {
				ids = append(ids, text.Plain(id))
			}
		}
		if len(ids) > 0 {
			d.add("Only %s trusts %s, of which there is no catalog: what that changes is not shown.", sides[which], strings.Join(ids, ", "))
		}
	}
	if d.docs[0].Policy.TrustAll != d.docs[1].Policy.TrustAll {
		which := 0
		if d.docs[1].Policy.TrustAll {
			which = 1
		}
		d.add("Only %s trusts every server: what that changes for servers without a catalog is not shown.", sides[which])
	}
}
