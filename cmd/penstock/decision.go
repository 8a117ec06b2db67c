package main

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-mcp/penstock/engine"
)

// A visibility is what a filter says; it has nothing to say of resources and prompts.
type visibility uint8

const (
	notFiltered visibility = iota
	visible
	hidden
)

func visibilityOf(seen bool) visibility {
	if seen {
		return visible
	}
	return hidden
}

// appendAnswer appends the members of a decision's JSON object, without the braces. It is spaced as the documents
// space it: {"visible": true, "action": "allow", "source": "allow", …}.
func appendAnswer(dst []byte, v visibility, d engine.Decision) []byte {
	if v != notFiltered {
		dst = append(dst, `"visible": `...)
		dst = strconv.AppendBool(dst, v == visible)
		dst = append(dst, ", "...)
	}
	dst = append(dst, `"action": "`...)
	dst = append(dst, d.Action.String()...)
	dst = append(dst, `", "source": "`...)
	dst = append(dst, d.Source.String()...)
	dst = append(dst, `", "reason": "`...)
	dst = append(dst, d.Reason.String()...)
	dst = append(dst, `", "rule": `...)
	if id := d.RuleID(); id != "" {
		dst = appendString(dst, id)
	} else {
		dst = append(dst, "null"...)
	}
	dst = append(dst, `, "new": `...)
	return strconv.AppendBool(dst, d.New)
}

// appendString appends s as a JSON string. Bytes that are not UTF-8, which JSON cannot hold, become U+FFFD. What does
// not print is escaped: it means the same to every reader of JSON, and nothing to a terminal.
func appendString(dst []byte, s string) []byte {
	if !strings.ContainsFunc(s, needsEscape) {
		dst, _ = jsontext.AppendQuote(dst, s) // the error is about bytes that are not UTF-8; the string is complete
		return dst
	}
	quoted, _ := jsontext.AppendQuote(nil, s)
	for _, r := range string(quoted) {
		if !needsEscape(r) {
			dst = utf8.AppendRune(dst, r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			dst = fmt.Appendf(dst, `\u%04x`, unit)
		}
	}
	return dst
}

// needsEscape reports whether r could change how a terminal shows what is around it. JSON itself escapes what is below
// the space.
func needsEscape(r rune) bool {
	return r >= 0x7f && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp))
}
