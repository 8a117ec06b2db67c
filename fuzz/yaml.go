package fuzz

import (
	"fmt"
	"regexp"
	"strings"
)

// YAML returns a JSON document as YAML in block style. g chooses between the ways to write one thing.
func YAML(g *Gen, document string) (string, error) {
	n, err := readLenient(document, 1000)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	n.yaml(g, &b, "")
	return b.String(), nil
}

// plainScalar is what YAML reads as the same string without quotes.
var (
	plainScalar = regexp.MustCompile(`^[A-Za-z_/][A-Za-z0-9_/.-]*[A-Za-z0-9_]$`)
	notPlain    = regexp.MustCompile(`(?i)^(null|true|false|yes|no|on|off|y|n)$`)
)

// yaml writes the value behind what stands on the line already; nested lines begin with indent.
func (n *node) yaml(g *Gen, b *strings.Builder, indent string) {
	if (n.kind == 'o' || n.kind == 'a') && len(n.items) > 0 && !g.odds(20) {
		for i, item := range n.items {
			b.WriteString("\n" + indent)
			if n.kind == 'o' {
				b.WriteString(yamlString(g, n.keys[i]) + ":")
			} else {
				b.WriteString("-")
			}
			item.yaml(g, b, indent+"  ")
		}
		if g.odds(10) {
			b.WriteString("\n" + indent + "# a comment: *x")
		}
		return
	}
	b.WriteString(" " + n.flow(g))
}

// flow returns the value on one line.
func (n *node) flow(g *Gen) string {
	var parts []string
	for i, item := range n.items {
		text := item.flow(g)
		if n.kind == 'o' {
			text = yamlString(g, n.keys[i]) + ": " + text
		}
		parts = append(parts, text)
	}
	switch n.kind {
	case 'o':
		return "{" + strings.Join(parts, ", ") + "}"
	case 'a':
		return "[" + strings.Join(parts, ", ") + "]"
	case 's':
		return yamlString(g, n.text)
	case 't':
		return fmt.Sprint(n.yes)
	case 'n':
		return "null"
	}
	return n.text
}

// yamlString returns a string: plain, in single quotes or in double quotes.
func yamlString(g *Gen, s string) string {
	if plainScalar.MatchString(s) && !notPlain.MatchString(s) && g.odds(70) {
		return s
	}
	ascii := !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
	if ascii && g.odds(40) {
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r < ' ' || '~' < r && r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String() + `"`
}
