package lint

// This file looks at regular expressions.

import (
	"fmt"
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/penstock-mcp/penstock/engine"
)

func (l *linter) ruleRegexps() {
	for _, list := range lists {
		for _, r := range l.rules[list] {
			for i := range r.res {
				l.regexp(r, &r.res[i])
			}
		}
	}
}

func (l *linter) regexp(r *rule, e *expr) {
	text := quote(e.re.String())
	if e.parts.all {
		f := l.reportRule(regexpTakesAll, r, fmt.Sprintf("The expression %s matches every name.", text),
			fmt.Sprintf("Write %s if that is meant.", quote(patternFor(r.kind, e.server))))
		f.Position = e.pos
		if loose(r.list) {
			f.Severity = Info
		}
	}
	tree, err := syntax.Parse(e.re.String(), syntax.Perl)
	if err != nil {
		return
	}
	if !e.parts.all {
		l.unanchored(r, e, tree)
	}
	// One that takes all but newlines alone leaves nothing that anybody would name.
	if loose(r.list) && missesNewline(tree) && !(e.parts.all && e.re.MatchString("a\nb")) {
		l.reportRule(regexpNewline, r,
			fmt.Sprintf("The '.' in %s does not take a newline, so a name with one in that place is not matched.", text),
			"Begin the expression with (?s).").Position = e.pos
	}
}

// patternFor returns the pattern for everything of a server.
func patternFor(k engine.Kind, server string) string {
	if k == engine.Tools {
		return server + "/*"
	}
	return noun(k) + ":" + server + "/*"
}

// unanchored reports an expression that matches in the middle of a word. In a loose list, where that only takes more
// away, it takes a live name to make it a finding.
func (l *linter) unanchored(r *rule, e *expr, tree *syntax.Regexp) {
	word := ""
	for _, lead := range leads(tree) {
		if c, _ := utf8.DecodeRuneInString(lead); unicode.IsLetter(c) {
			word = lead
			break
		}
	}
	if word == "" {
		return
	}
	var live []engine.Target
	more := 0
	for _, t := range l.names(r.kind) {
		if !r.onServer(t.Server) || !midWord(e, t.Name) {
			continue
		}
		if len(live) < maxTargets {
			live = append(live, t)
		} else {
			more++
		}
	}
	if loose(r.list) && len(live) == 0 {
		return
	}
	message := fmt.Sprintf("The expression %s is tried anywhere in the name, so it matches in the middle of a word, too: %s in %s.",
		quote(e.re.String()), quote(word), quote(inWord(word)))
	if len(live) > 0 {
		message = fmt.Sprintf("The expression %s also matches in the middle of a word.", quote(e.re.String()))
	}
	f := l.reportRule(regexpUnanchored, r, message,
		fmt.Sprintf("Begin it with ^, or with (^|[^a-z]) if %s may stand behind other words.", quote(word)))
	f.Position, f.Targets, f.MoreTargets = e.pos, live, more
	if loose(r.list) {
		f.Severity = Info
	}
}

// inWord returns a word that holds lead in its middle.
func inWord(lead string) string {
	if lead == "get" || len(lead) > 3 && lead[:3] == "get" {
		return "for" + lead
	}
	return "xx" + lead
}

// prefixes are parts of words that leave the meaning of what follows: reinstall, uninstall.
var prefixes = []string{"auto", "de", "dis", "multi", "re", "un"}

// midWord reports whether every match of e in name begins inside a word: behind a letter of the same case that does not
// belong to one of prefixes.
func midWord(e *expr, name string) bool {
	all := e.re.FindAllStringIndex(name, -1)
	for _, at := range all {
		before, _ := utf8.DecodeLastRuneInString(name[:at[0]])
		first, _ := utf8.DecodeRuneInString(name[at[0]:])
		if at[0] == 0 || !unicode.IsLetter(before) || unicode.IsUpper(first) && unicode.IsLower(before) {
			return false
		}
		if w := words(name[:at[0]]); len(w) > 0 && slices.Contains(prefixes, w[len(w)-1]) {
			return false
		}
	}
	return len(all) > 0
}
