package lint

// This file looks at the hints in the catalogs. Each trusted server has its own finding; of the others, whose hints
// nobody believes, there is one for all.

import (
	"fmt"

	"github.com/penstock-mcp/penstock/engine"
)

func (l *linter) toolHints() {
	l.hints(hintAgainstName, againstName, "says by its hints that tools are harmless whose names say otherwise")
	l.hints(hintsContradict, func(t *engine.Tool) bool {
		return t.Hints.ReadOnly == engine.True && t.Hints.Destructive == engine.True
	}, "calls tools read-only and destructive")
}

// againstName reports whether a hint says that a tool is harmless, and its name that it is not.
func againstName(t *engine.Tool) bool {
	return t.Hints.ReadOnly == engine.True && changes(t.Name) ||
		t.Hints.Destructive == engine.False && t.Hints.ReadOnly != engine.True && deletes(t.Name)
}

func (l *linter) hints(c *Code, wrong func(*engine.Tool) bool, says string) {
	var (
		others  *Finding // of the servers that are not trusted
		f       *Finding // of the server at hand
		servers int
	)
	for i := range l.tools {
		s := &l.tools[i]
		if i > 0 && l.tools[i-1].Server != s.Server {
			f = nil
		}
		trusted := l.trusts(s.Server)
		if !wrong(s.tool) || trusted && (s.hidden || s.denied || s.asked) {
			continue
		}
		switch {
		case f != nil:
		case trusted:
			f = l.report(c, l.catalog(s.Server), fmt.Sprintf("The trusted server %s %s.", quote(s.Server), says),
				"Do not trust the server, or deny or ask about these tools by name.")
		default:
			if others == nil {
				others = &Finding{Code: c, Severity: Info, Position: l.catalog(s.Server), Write: "Know this before you trust them."}
			}
			f = others
			servers++
		}
		f.show(s.Target)
	}
	if others == nil {
		return
	}
	others.Message = fmt.Sprintf("A server that is not trusted %s.", says)
	if servers > 1 {
		others.Message = fmt.Sprintf("Each of %d servers that are not trusted %s.", servers, says)
	}
	l.findings = append(l.findings, *others)
}
