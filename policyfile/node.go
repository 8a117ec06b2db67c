package policyfile

import (
	"encoding/json"

	"github.com/penstock-mcp/penstock/engine"
)

// A document is read twice: a notation, YAML or JSON, makes a tree of nodes, and one checker turns the tree into
// rules. Whatever the notations differ in is gone from the tree, so the same document means the same in both.

// kind is the JSON type of a node.
type kind uint8

const (
	kindNull kind = iota
	kindBool
	kindNumber
	kindString
	kindList
	kindObject
)

// node is one value of a document.
type node struct {
	kind kind

	// bad says that the value has been reported already: whatever else is wrong with it follows from that.
	bad bool

	// plain says that a scalar stands in a YAML document without quotes, so that quotes would make it a string.
	plain bool

	line, col int32  // from 1, the column in bytes
	text      string // of a string: its value; of a number or a boolean: as JSON writes it
	keys      []node // of an object: strings, in the order written, without duplicates unless they are bad
	items     []node // of a list: its elements; of an object: the values, one for each key
}

// maxDepth bounds the nesting of a document. Documents that people write nest about eight deep.
const maxDepth = 64

// place returns where n stands.
func (n *node) place(file string) engine.Position {
	return engine.Position{File: file, Line: n.line, Column: n.col}
}

// describe says what n is, for messages: `the number 123`.
func (n *node) describe() string {
	switch n.kind {
	case kindNull:
		return "null"
	case kindBool:
		return n.text
	case kindNumber:
		return "the number " + clip(n.text)
	case kindString:
		return "the string " + quote(n.text)
	case kindList:
		return "a list"
	default:
		return "a mapping"
	}
}

// wantString is what follows "want a …, not …" where a string is wanted: in YAML, quotes make one of a number.
func (n *node) wantString() string {
	if n.plain && (n.kind == kindNumber || n.kind == kindBool) {
		return " (put it in quotes to make it a string)"
	}
	return ""
}

// value returns n as encoding/json decodes it with numbers kept as json.Number.
func (n *node) value() any {
	switch n.kind {
	case kindBool:
		return n.text == "true"
	case kindNumber:
		return json.Number(n.text)
	case kindString:
		return n.text
	case kindList:
		list := make([]any, len(n.items))
		for i := range n.items {
			list[i] = n.items[i].value()
		}
		return list
	case kindObject:
		object := make(map[string]any, len(n.keys))
		for i := range n.keys {
			object[n.keys[i].text] = n.items[i].value()
		}
		return object
	default:
		return nil
	}
}

// spoiled reports whether n or anything in it has been reported already.
func (n *node) spoiled() bool {
	if n.bad {
		return true
	}
	for i := range n.keys {
		if n.keys[i].bad {
			return true
		}
	}
	for i := range n.items {
		if n.items[i].spoiled() {
			return true
		}
	}
	return false
}

// checkDuplicates reports each key of the object n that stands twice, and marks the later one as bad. Linear.
func (n *node) checkDuplicates(ps *problems, at *path) {
	report := func(first, again int) {
		k := &n.keys[again]
		ps.add(k, at, "duplicate key %s (first on line %d)", quote(k.text), n.keys[first].line)
		k.bad = true
	}
	const few = 8 // below it comparing all pairs is cheaper than a map
	if len(n.keys) <= few {
		for i := range n.keys {
			for j := range i {
				if !n.keys[i].bad && !n.keys[j].bad && n.keys[i].text == n.keys[j].text {
					report(j, i)
				}
			}
		}
		return
	}
	seen := make(map[string]int, len(n.keys))
	for i := range n.keys {
		if n.keys[i].bad {
			continue
		}
		if first, ok := seen[n.keys[i].text]; ok {
			report(first, i)
			continue
		}
		seen[n.keys[i].text] = i
	}
}
