package text

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Unseen reports whether r does not show, or changes how what is around it shows. It goes beyond what is not printable:
// variation selectors and blank letters print, and nobody sees them.
func Unseen(r rune) bool {
	if r < utf8.RuneSelf {
		return r < ' ' || r == 0x7f
	}
	return !unicode.IsPrint(r) || r == 0x2800 || // the blank of Braille
		unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// Escape returns s, which is UTF-8, with escapes for what does not show and a second backslash for each one, so that
// different texts never look the same because of an escape.
func Escape(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r == '\\' || Unseen(r) }) {
		return s
	}
	var dst []byte
	for _, r := range s {
		switch {
		case r == '\\':
			dst = append(dst, `\\`...)
		case r == '\t':
			dst = append(dst, `\t`...)
		case r == '\r':
			dst = append(dst, `\r`...)
		case Unseen(r):
			dst = appendEscape(dst, r)
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return string(dst)
}

// EscapeJSON returns a JSON text with escapes for what does not show, which can only stand in its strings: it means the
// same. White space between values stays.
func EscapeJSON(text []byte) []byte {
	unseen := func(r rune) bool { return r != '\n' && r != '\t' && r != '\r' && Unseen(r) }
	if !strings.ContainsFunc(string(text), unseen) {
		return text
	}
	var dst []byte
	for _, r := range string(text) {
		if unseen(r) {
			dst = appendEscape(dst, r)
		} else {
			dst = utf8.AppendRune(dst, r)
		}
	}
	return dst
}

func appendEscape(dst []byte, r rune) []byte {
	for _, unit := range utf16.AppendRune(nil, r) {
		dst = fmt.Appendf(dst, `\u%04x`, unit)
	}
	return dst
}
