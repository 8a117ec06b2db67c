// Package text makes names that come from servers fit for a terminal: nothing in them can move the cursor, change
// colours, reorder what stands beside them or spoil a column.
package text

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// Plain returns s as it is where every character of it prints, and else quoted as Go quotes a string, with escapes
// for what does not print: "a\u202eb". An empty name is "", and one that could be taken for a quoted name is
// quoted, so two different names never look the same because of an escape.
func Plain(s string) string {
	if s == "" || s[0] == '"' || s[0] == ' ' || s[len(s)-1] == ' ' {
		return strconv.Quote(s)
	}
	for i, r := range s {
		if !unicode.IsPrint(r) || (r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD")) {
			return strconv.Quote(s)
		}
	}
	return s
}

// Line returns s with what does not print escaped as Go escapes it, for sentences and rules: texts that are shown and
// never taken for a name.
func Line(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }) {
		return s
	}
	quoted := strconv.Quote(s)
	return strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(quoted[1 : len(quoted)-1])
}

// Width returns the number of terminal columns that s takes, for an s that prints.
func Width(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

func runeWidth(r rune) int {
	if r < utf8.RuneSelf {
		return 1
	}
	if unicode.In(r, unicode.Mn, unicode.Me) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	default:
		return 1
	}
}

// Clip shortens s to at most columns, with an ellipsis at the end where it cuts.
func Clip(s string, columns int) string {
	if len(s) <= columns || Width(s) <= columns {
		return s
	}
	n := 0
	for i, r := range s {
		w := runeWidth(r)
		if n+w > columns-1 {
			return s[:i] + "…"
		}
		n += w
	}
	return s
}

// Pad appends spaces to s until it takes at least columns.
func Pad(s string, columns int) string {
	if n := columns - Width(s); n > 0 {
		return s + strings.Repeat(" ", n)
	}
	return s
}

// Count writes n with a comma for the thousands: 4,133.
func Count(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Of returns "1 tool" or "2 tools".
func Of(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Count(n) + " " + noun + "s"
}
