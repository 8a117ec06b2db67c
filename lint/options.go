package lint

// This file looks at options whose consequences surprise.

import (
	"fmt"
	"strings"

	"github.com/penstock-mcp/penstock/engine"
)

func (l *linter) options() {
	l.allowNew()
	l.scopes()
	l.hiddenServers()
	l.corners()
	l.unpinned()
}

// star reports whether the rule takes more than one target.
func (r *rule) star() bool { return !r.exact }

func (l *linter) allowNew() {
	if !l.doc.Policy.AllowNewTools {
		return
	}
	var f *Finding
	n := 0
	for _, r := range l.rules[engine.ListAllow] {
		if r.kind != engine.Tools || !r.star() {
			continue
		}
		if n++; n == 1 {
			f = l.report(allowNewStar, l.option("policy", "allow_new_tools"), "",
				"Leave allow_new_tools out and approve tools into the baseline, or allow single tools by name.")
		}
		f.relate(r.pos, fmt.Sprintf("%s: %s", r, r.src))
	}
	if f != nil {
		f.Message = fmt.Sprintf("A tool that a server adds is allowed at once, unseen, if it matches %s that take more than one tool.", of(n, "allow rule"))
		if n == 1 {
			f.Message = "A tool that a server adds is allowed at once, unseen, if it matches an allow rule that takes more than one tool."
		}
	}
}

// open returns the kinds that are not in the scope, but for tools.
func (l *linter) open() []string {
	var open []string
	for k := engine.Resources; k <= engine.Prompts; k++ {
		if !l.scope[k] {
			open = append(open, k.String())
		}
	}
	return open
}

func (l *linter) scopes() {
	open := l.open()
	if len(open) == 0 {
		return
	}
	message := fmt.Sprintf("The policy is not about %s, so all of them are allowed.", join(open, "and"))
	if l.doc.Policy.NoMatch == engine.DenyNoMatch {
		message = fmt.Sprintf("The policy is not about %s, so all of them are allowed, in spite of default: deny.", join(open, "and"))
	}
	f := l.report(scopeOpen, l.option("policy", "scope"), message, "Write scope: [tools, resources, prompts] and rules for them.")
	for k := engine.Resources; k <= engine.Prompts; k++ {
		if l.scope[k] {
			continue
		}
		for _, t := range l.names(k) {
			f.Kind = k
			f.show(t)
		}
		if len(f.Targets) > 0 {
			return
		}
	}
}

// hiddenServers reports entries that hide all tools of a server while the rest of it is open.
func (l *linter) hiddenServers() {
	open := l.open()
	if len(open) == 0 {
		return
	}
	for _, r := range l.rules[engine.ListExclude] {
		if !r.plain() || r.globs[0].bare || strings.Trim(r.globs[0].name, "*") != "" || strings.Trim(r.globs[0].server, "*") == "" {
			continue
		}
		server := r.globs[0].server
		var deny []string
		for _, k := range open {
			deny = append(deny, quote(strings.TrimSuffix(k, "s")+":"+server+"/*"))
		}
		l.reportRule(excludeLeavesOpen, r,
			fmt.Sprintf("This hides the tools of %s; its %s can still be read, since the filter is about tools only.", quote(server), join(open, "and")),
			fmt.Sprintf("Add %s to scope, and %s to deny.", join(open, "and"), join(deny, "and"))).group = "server"
	}
}

// corners reports what comes before default: deny.
func (l *linter) corners() {
	if l.doc.Policy.NoMatch != engine.DenyNoMatch {
		return
	}
	if !l.doc.Policy.DisablePins && l.scope[engine.Tools] {
		l.report(pinLiftsDeny, l.option("policy", "default"),
			"Where there is an approver, a tool whose definition changed is asked about, also if no rule allows it: the pin comes before the default.",
			"Deny what must never run.")
	}
	for _, r := range l.rules[engine.ListAsk] {
		if len(r.opaque) > 0 { // taint alone never fails
			l.reportRule(askLiftsDeny, r,
				"Where there is an approver, a call that makes this condition fail (by a missing argument, for one) is asked about instead of denied.",
				"Deny what must never run, or keep to patterns in ask.").group = "ask"
		}
	}
}

// unpinned reports allow rules for single tools where nothing holds them to a definition.
func (l *linter) unpinned() {
	why := "without a baseline every tool is new, and a rule for one tool allows a new one"
	switch {
	case l.doc.Policy.DisablePins:
		why = "pin_tools is false"
	case l.in.Baseline != nil:
		return
	}
	var f *Finding
	n := 0
	for _, r := range l.rules[engine.ListAllow] {
		if r.kind != engine.Tools || !r.exact {
			continue
		}
		if n++; n == 1 {
			f = l.reportRule(exactUnpinned, r, "", "Keep a baseline, leave pin_tools on, and give the baseline to lint.")
			continue
		}
		f.relate(r.pos, fmt.Sprintf("%s: %s", r, r.src))
	}
	if f != nil {
		f.Message = fmt.Sprintf("This allows every definition of the tool, for ever: %s.", why)
		if n > 1 {
			f.Message += fmt.Sprintf(" So do %s more.", of(n-1, "rule"))
		}
	}
}
