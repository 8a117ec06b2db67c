package fuzz

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// This file reads JSON by hand: strictly (RFC 8259, no duplicate keys, valid UTF-8, no lone surrogates), keeping the
// text of every value. It is the reference's own, since what reads JSON decides what a fingerprint means.

// node is a JSON value and where it stands in its text.
type node struct {
	kind       byte // n, t (a boolean), 0, s, a, o
	yes        bool
	text       string  // of a string or a number
	items      []*node // of an array or an object
	keys       []string
	start, end int
	flaw       string // what strict reading refuses here and lenient reading lets through
}

type jsonReader struct {
	text     string
	at       int
	depth    int
	maxDepth int
	flaw     string // met since the last value began
}

// readJSON reads text, which must hold one value. Nesting over maxDepth is an error.
func readJSON(text string, maxDepth int) (*node, error) {
	n, err := readLenient(text, maxDepth)
	if err != nil {
		return nil, err
	}
	return n, n.sound()
}

// sound returns the first flaw of the value.
func (n *node) sound() error {
	if n.flaw != "" {
		return fmt.Errorf("offset %d: %s", n.start, n.flaw)
	}
	for _, item := range n.items {
		if err := item.sound(); err != nil {
			return err
		}
	}
	return nil
}

// readLenient is readJSON that lets duplicate keys and lone surrogates through and marks them as flaws. A file of
// vectors needs it: it holds definitions that are meant to be bad.
func readLenient(text string, maxDepth int) (*node, error) {
	r := &jsonReader{text: text, maxDepth: maxDepth}
	if !utf8.ValidString(text) {
		return nil, fmt.Errorf("not valid UTF-8")
	}
	n, err := r.value()
	if err != nil {
		return nil, err
	}
	r.space()
	if r.at != len(text) {
		return nil, fmt.Errorf("offset %d: something follows the value", r.at)
	}
	return n, nil
}

func (r *jsonReader) space() {
	for r.at < len(r.text) && strings.IndexByte(" \t\r\n", r.text[r.at]) >= 0 {
		r.at++
	}
}

func (r *jsonReader) fail(format string, args ...any) error {
	return fmt.Errorf("offset %d: %s", r.at, fmt.Sprintf(format, args...))
}

// take consumes c after white space, if it is there.
func (r *jsonReader) take(c byte) bool {
	r.space()
	if r.at < len(r.text) && r.text[r.at] == c {
		r.at++
		return true
	}
	return false
}

func (r *jsonReader) value() (*node, error) {
	r.space()
	n := &node{start: r.at}
	var err error
	switch rest := r.text[r.at:]; {
	case rest == "":
		return nil, r.fail("a value is missing")
	case strings.HasPrefix(rest, "null"):
		n.kind, r.at = 'n', r.at+4
	case strings.HasPrefix(rest, "true"):
		n.kind, n.yes, r.at = 't', true, r.at+4
	case strings.HasPrefix(rest, "false"):
		n.kind, r.at = 't', r.at+5
	case rest[0] == '"':
		n.kind = 's'
		n.text, err = r.str()
		n.flaw, r.flaw = r.flaw, ""
	case rest[0] == '[' || rest[0] == '{':
		err = r.container(n)
	default:
		n.kind = '0'
		n.text, err = r.number()
	}
	n.end = r.at
	return n, err
}

func (r *jsonReader) container(n *node) error {
	r.depth++
	defer func() { r.depth-- }()
	if r.depth > r.maxDepth {
		return r.fail("nested deeper than %d", r.maxDepth)
	}
	n.kind = 'a'
	end := byte(']')
	if r.text[r.at] == '{' {
		n.kind, end = 'o', '}'
	}
	r.at++
	if r.take(end) {
		return nil
	}
	for {
		if n.kind == 'o' {
			r.space()
			if r.at >= len(r.text) || r.text[r.at] != '"' {
				return r.fail("a key is missing")
			}
			key, err := r.str()
			if err != nil {
				return err
			}
			for _, k := range n.keys {
				if k == key {
					r.flaw = fmt.Sprintf("duplicate key %q", key)
				}
			}
			n.keys = append(n.keys, key)
			if r.flaw != "" {
				n.flaw, r.flaw = r.flaw, ""
			}
			if !r.take(':') {
				return r.fail("a ':' is missing")
			}
		}
		item, err := r.value()
		if err != nil {
			return err
		}
		n.items = append(n.items, item)
		if r.take(end) {
			return nil
		}
		if !r.take(',') {
			return r.fail("a ',' is missing")
		}
	}
}

func (r *jsonReader) number() (string, error) {
	start := r.at
	digits := func() bool {
		from := r.at
		for r.at < len(r.text) && '0' <= r.text[r.at] && r.text[r.at] <= '9' {
			r.at++
		}
		return r.at > from
	}
	is := func(set string) bool {
		if r.at < len(r.text) && strings.IndexByte(set, r.text[r.at]) >= 0 {
			r.at++
			return true
		}
		return false
	}
	is("-")
	first := r.at
	if !digits() {
		return "", r.fail("not a value")
	}
	if r.text[first] == '0' && r.at > first+1 {
		return "", r.fail("a number begins with 0")
	}
	if is(".") && !digits() {
		return "", r.fail("a digit is missing")
	}
	if is("eE") {
		is("+-")
		if !digits() {
			return "", r.fail("a digit is missing")
		}
	}
	return r.text[start:r.at], nil
}

func (r *jsonReader) str() (string, error) {
	r.at++ // the quote
	var b strings.Builder
	for {
		if r.at >= len(r.text) {
			return "", r.fail("the string has no end")
		}
		c := r.text[r.at]
		r.at++
		switch {
		case c == '"':
			return b.String(), nil
		case c < 0x20:
			return "", r.fail("a control character in a string")
		case c != '\\':
			b.WriteByte(c)
		default:
			if err := r.escape(&b); err != nil {
				return "", err
			}
		}
	}
}

func (r *jsonReader) escape(b *strings.Builder) error {
	if r.at >= len(r.text) {
		return r.fail("the string has no end")
	}
	c := r.text[r.at]
	r.at++
	if i := strings.IndexByte(`"\/bfnrt`, c); i >= 0 {
		b.WriteByte("\"\\/\b\f\n\r\t"[i])
		return nil
	}
	if c != 'u' {
		return r.fail("unknown escape")
	}
	unit, err := r.hex4()
	if err != nil {
		return err
	}
	if 0xd800 <= unit && unit <= 0xdbff && strings.HasPrefix(r.text[r.at:], `\u`) {
		r.at += 2
		low, err := r.hex4()
		if err != nil {
			return err
		}
		if 0xdc00 <= low && low <= 0xdfff {
			b.WriteRune(0x10000 + (unit-0xd800)<<10 + (low - 0xdc00))
			return nil
		}
		r.at -= 6
	}
	if 0xd800 <= unit && unit <= 0xdfff {
		r.flaw = "a lone surrogate"
	}
	b.WriteRune(unit)
	return nil
}

func (r *jsonReader) hex4() (rune, error) {
	if r.at+4 > len(r.text) {
		return 0, r.fail("a short escape")
	}
	n, err := strconv.ParseUint(r.text[r.at:r.at+4], 16, 16)
	if err != nil || strings.ContainsAny(r.text[r.at:r.at+4], "+-_") {
		return 0, r.fail("a bad escape")
	}
	r.at += 4
	return rune(n), nil
}

// plain returns the node as a Go value whose numbers are json.Number.
func (n *node) plain() any {
	switch n.kind {
	case 't':
		return n.yes
	case '0':
		return json.Number(n.text)
	case 's':
		return n.text
	case 'a':
		list := make([]any, 0, len(n.items))
		for _, item := range n.items {
			list = append(list, item.plain())
		}
		return list
	case 'o':
		object := make(map[string]any, len(n.items))
		for i, item := range n.items {
			object[n.keys[i]] = item.plain()
		}
		return object
	}
	return nil
}
