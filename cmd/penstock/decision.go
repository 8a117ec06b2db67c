package main

import (
	"strconv"

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

// appendString appends s as a JSON string. Bytes that are not UTF-8, which JSON cannot hold, become U+FFFD.
func appendString(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s) // the error is about bytes that are not UTF-8; the string is complete
	return dst
}
