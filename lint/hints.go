package lint

// This file looks at rules about hints: what they amount to depends on whose hints are believed.

import (
	"fmt"
	"strings"

	"github.com/penstock-mcp/penstock/engine"
)

// distrusted reports whether every untrusted tool has the value that h wants.
func (h hint) distrusted() bool { return (engine.Hints{}).Effective(h.key, false) == h.want }

func (h hint) String() string { return fmt.Sprintf("%s: %t", h.key, h.want) }

func (l *linter) ruleHints() {
	if l.doc.Policy.TrustAll {
		return
	}
	for _, list := range lists {
		for _, r := range l.rules[list] {
			for _, h := range r.hints {
				if h.distrusted() {
					l.distrusted(r, h)
				} else {
					l.needsTrust(r, h)
				}
			}
		}
	}
}

// distrusted reports a rule that takes the tools of every server that is not trusted.
func (l *linter) distrusted(r *rule, h hint) {
	if l.onlyTrusted(r) {
		return
	}
	whose := "of every server that is not trusted"
	if only := r.literalServers(); len(only) > 0 {
		whose = "of " + join(only, "and") + ", which is not trusted"
	}
	if loose(r.list) {
		verb := map[engine.List]string{engine.ListDeny: "denies", engine.ListAsk: "asks about"}[r.list]
		l.reportRule(denyByDistrust, r,
			fmt.Sprintf("This %s every tool it names %s, whatever the server says of it: there %s is the value that counts.", verb, whose, h),
			"If that is not meant, add the servers whose hints you believe to trusted, or name the servers beside the hint.").group = h.String() + whose
		return
	}
	opposite := hint{h.key, !h.want}
	l.reportRule(allowByDistrust, r,
		fmt.Sprintf("This allows every tool it names %s: there %s is the value that counts, whatever the server says.", whose, h),
		fmt.Sprintf("Write {annotation: {%s}}, or name trusted servers beside it.", opposite)).group = h.String() + whose
}

// needsTrust reports a rule that only a trusted server's tools could match, where none of its servers is trusted.
func (l *linter) needsTrust(r *rule, h hint) {
	for _, id := range l.doc.Policy.Trusted {
		if r.onServer(id) {
			return
		}
	}
	l.silent[r] = true
	whose := "no server is trusted"
	if len(l.doc.Policy.Trusted) > 0 {
		whose = "no trusted server is one of its servers"
	}
	then := "It never matches"
	if loose(r.list) {
		then = "It never matches, and so takes nothing away"
	}
	l.reportRule(hintNeedsTrust, r,
		fmt.Sprintf("%s: %s is true only of tools whose hints are believed, and %s.", then, h, whose),
		"Add the servers whose hints you believe to trusted, or go by the tools' names.").group = h.String() + whose
}

// onlyTrusted reports whether every server that the rule can match is trusted, as far as that is known.
func (l *linter) onlyTrusted(r *rule) bool {
	for id := range r.serverSegments {
		if !strings.Contains(id, "*") && l.trusts(id) {
			return true
		}
	}
	if len(l.in.Servers) == 0 {
		return false
	}
	bound := false // the rule names servers at all
	for id := range r.serverSegments {
		bound = bound || strings.Trim(id, "*") != ""
	}
	if !bound {
		return false
	}
	on := false
	for i := range l.in.Servers {
		if id := l.in.Servers[i].ID; r.onServer(id) {
			if !l.trusts(id) {
				return false
			}
			on = true
		}
	}
	return on
}

// serverSegments yields the server segments of the rule.
func (r *rule) serverSegments(yield func(string) bool) {
	stop := false
	r.servers(func(server string, _ engine.Position) { stop = stop || !yield(server) })
}

// literalServers returns the server ids the rule names, quoted.
func (r *rule) literalServers() []string {
	var ids []string
	for id := range r.serverSegments {
		if !strings.Contains(id, "*") {
			ids = append(ids, quote(id))
		}
	}
	return ids
}
