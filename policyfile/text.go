package policyfile

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// MaxSize is the largest document that is read, in bytes: room for about 400,000 rules.
const MaxSize = 16 << 20

// byteOrderMark is what some editors put before UTF-8. It is skipped; columns count from behind it.
var byteOrderMark = []byte("\uFEFF")

// checkEncoding reports the first byte of text that is not UTF-8.
func checkEncoding(text []byte, l *lines, ps *problems) bool {
	if utf8.Valid(text) && bytes.IndexByte(text, 0) < 0 {
		return true
	}
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n == 1 {
			ps.addAt(l, i, "the document is not UTF-8: byte 0x%02x", text[i])
			return false
		}
		if r == 0 {
			ps.addAt(l, i, "the document holds a NUL character (it must be UTF-8, not UTF-16)")
			return false
		}
		i += n
	}
	return true
}

// checkCharacters reports the first character of a YAML document that no text holds, or that ends a line for some
// readers of YAML and not for others: what a person sees behind a comment must not be an entry.
func checkCharacters(text []byte, l *lines, ps *problems) bool {
	for i := 0; i < len(text); {
		if c := text[i]; c >= 0x20 && c < 0x7f || c == '\n' || c == '\r' || c == '\t' {
			i++
			continue
		}
		r, n := utf8.DecodeRune(text[i:])
		what := ""
		switch {
		case r < 0x20 || r >= 0x7f && r < 0xa0 && r != 0x85:
			what = "the control character"
		case r == 0x85 || r == 0x2028 || r == 0x2029:
			what = "the line separator"
		case r == 0xfeff:
			what = "the byte order mark"
		case r >= 0xfffe && r <= 0xffff:
			what = "the character"
		}
		if what != "" {
			escape := fmt.Sprintf(`\u%04x`, r)
			ps.addAt(l, i, "%s %U may not stand here (in double quotes, write %s)", what, r, escape)
			return false
		}
		i += n
	}
	return true
}

// addAt reports a problem of the document at an offset.
func (p *problems) addAt(l *lines, off int, format string, args ...any) {
	n := node{}
	n.line, n.col = l.at(off)
	p.add(&n, nil, format, args...)
}
