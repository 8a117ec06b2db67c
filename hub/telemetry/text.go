package telemetry

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxField is enough for every name and URI that anybody means to use.
	maxField = 1 << 10
	// maxArguments keeps a record shorter than what log collectors cut, and most arguments whole.
	maxArguments = 16 << 10
)

// field returns s for a record or a span: at most maxField bytes of it, as something that prints.
func field(s string) string { return bounded(s, maxField) }

// bounded returns at most limit bytes of s, cut between characters, and says how many bytes are missing. What does not
// print, or could be taken for what follows here, is written as a Go string literal: at most four times as long for bytes
// that are no character, and at most ten times for those that are.
func bounded(s string, limit int) string {
	rest := 0
	if len(s) > limit {
		cut := limit
		for cut > limit-utf8.UTFMax && !utf8.RuneStart(s[cut]) {
			cut--
		}
		s, rest = s[:cut], len(s)-cut
	}
	if !prints(s) {
		s = strconv.Quote(s)
	}
	if rest > 0 {
		s += "… (" + strconv.Itoa(rest) + " more bytes)"
	}
	return s
}

// prints reports whether a text can be shown as it is: every character prints, and it does not begin like a literal.
func prints(s string) bool {
	if strings.HasPrefix(s, `"`) {
		return false
	}
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= utf8.RuneSelf {
			return printsUnicode(s[i:])
		} else if c < ' ' || c == 0x7f {
			return false
		}
	}
	return true
}

func printsUnicode(s string) bool {
	for _, r := range s {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}
