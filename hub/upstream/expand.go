// ${VAR} in configurations.
//
//	${VAR}            the variable; an error if it is not set: an empty secret would be sent as if it were one
//	${VAR:-default}   the default where the variable is not set or empty
//	${env:VAR}        the same as ${VAR}, as some clients write it
//	$${VAR}           the text ${VAR}
//
// A "$" that no "{" follows is left alone.

package upstream

import (
	"fmt"
	"strings"
)

// expand returns s with its variables replaced, once: what a variable holds is not expanded again. Errors name variables
// and never values.
func expand(s string, getenv func(string) (string, bool)) (string, error) {
	var b strings.Builder
	for {
		at := strings.Index(s, "${")
		if at < 0 {
			b.WriteString(s)
			return b.String(), nil
		}
		if at > 0 && s[at-1] == '$' {
			b.WriteString(s[:at-1] + "${")
			s = s[at+2:]
			continue
		}
		b.WriteString(s[:at])
		body, rest, ok := strings.Cut(s[at+2:], "}")
		if !ok {
			return "", fmt.Errorf(`"${" has no "}" (write "$${" for the text itself)`)
		}
		s = rest
		name, def, hasDefault := strings.Cut(body, ":-")
		name = strings.TrimPrefix(name, "env:")
		if !variable(name) {
			return "", fmt.Errorf("${%s} is not a variable (write ${NAME} or ${NAME:-default}, and $${ for the text itself)", shownName(name))
		}
		v, set := getenv(name)
		switch {
		case set && (v != "" || !hasDefault):
			b.WriteString(v)
		case hasDefault:
			b.WriteString(def)
		default:
			return "", fmt.Errorf("the variable %s is not set (set it, or write ${%s:-default})", name, name)
		}
	}
}

func shownName(s string) string {
	if len(s) > 40 {
		return s[:40] + "…"
	}
	return s
}

func variable(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}
