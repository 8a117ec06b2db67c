package policyfile

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-mcp/penstock/engine"
)

// Value is one value of a document that is about policies without being one, such as a file of tests. It is read as
// strictly as a policy, in either notation, and may hold rules in the form of a policy document.
//
// Whatever a method finds wrong goes into the error of [Read]; the method then returns the zero value and, where it has
// a second result, false. What was reported once, by the notation or by another method, is not reported again. Values
// are not safe for concurrent use.
type Value struct {
	c  *checker
	n  *node
	at *path
}

// Read reads data as [Parse] reads a policy and calls f with the whole document. The error is an *[Error] with
// everything that is wrong with the notation or that f reported, or nil. Where the notation allows no reading at all,
// f is not called.
func Read(data []byte, opts Options, f func(Value)) error {
	ps := &problems{file: opts.File}
	if root := readTree(data, ps); root != nil {
		f(Value{&checker{problems: ps, predicates: opts.Predicates}, root, nil})
	}
	return ps.err()
}

// Key is one key of an object and what is called with its value. The value of a key that was reported is left out.
type Key struct {
	Name     string
	Read     func(Value)
	Required bool
}

// Position returns where the value stands.
func (v Value) Position() engine.Position { return v.n.place(v.c.file) }

// Fail reports that something is wrong with the value.
func (v Value) Fail(format string, args ...any) { v.c.add(v.n, v.at, format, args...) }

// FailUnknown reports that got, which the value holds, is none of words, and suggests the one that may have been meant.
func (v Value) FailUnknown(what, got string, words []string) {
	v.Fail("unknown %s %s%s", what, quote(got), suggest(got, words))
}

// IsText reports whether the value is a string.
func (v Value) IsText() bool { return v.n.kind == kindString }

// IsList reports whether the value is a list.
func (v Value) IsList() bool { return v.n.kind == kindList }

// IsObject reports whether the value is an object.
func (v Value) IsObject() bool { return v.n.kind == kindObject }

// IsNull reports whether the value is null.
func (v Value) IsNull() bool { return v.n.kind == kindNull && !v.n.bad }

// Object reads an object that has no other keys than these; what says what it is, in messages. It reports whether the
// value is an object that has all required keys.
func (v Value) Object(what string, keys ...Key) bool {
	options := make([]option, len(keys))
	for i, k := range keys {
		options[i] = option{k.Name, func(n *node, at *path) {
			if !n.bad {
				k.Read(Value{v.c, n, at})
			}
		}}
	}
	if !v.c.object(v.n, v.at, what, options) {
		return false
	}
	ok := true
	for _, k := range keys {
		if !k.Required || v.n.find(k.Name) != nil {
			continue
		}
		ok = false
		// A key that is not there may be one that was reported, since it is misspelt or stands twice.
		misspelt := slices.ContainsFunc(v.n.keys, func(key node) bool {
			return key.bad || !slices.ContainsFunc(keys, func(k Key) bool { return k.Name == key.text })
		})
		if !misspelt {
			v.Fail("the key %s is missing", quote(k.Name))
		}
	}
	return ok
}

// Has reports whether the value is an object with the key.
func (v Value) Has(key string) bool { return v.n.kind == kindObject && v.n.find(key) != nil }

// Keys returns the keys of an object, in the order written.
func (v Value) Keys() []string {
	var keys []string
	for i := range v.n.keys {
		if !v.n.keys[i].bad {
			keys = append(keys, v.n.keys[i].text)
		}
	}
	return keys
}

// List calls item for each element of a list of what. It reports whether the value is a list.
func (v Value) List(what string, item func(Value)) bool {
	switch {
	case v.n.bad:
		return false
	case v.n.kind != kindList:
		v.Fail("want a list of %s, not %s", what, v.n.describe())
		return false
	}
	for i := range v.n.items {
		if !v.n.items[i].bad {
			item(Value{v.c, &v.n.items[i], v.at.at(i)})
		}
	}
	return true
}

// Len returns the number of elements of a list, bad ones included.
func (v Value) Len() int {
	if v.n.kind != kindList {
		return 0
	}
	return len(v.n.items)
}

// Text reads a string that is not empty; what says what it is, in messages: "a path".
func (v Value) Text(what string) (string, bool) {
	s, ok := v.c.str(v.n, v.at, what)
	if ok && s == "" {
		v.Fail("it is empty (want %s)", what)
		return "", false
	}
	return s, ok
}

// Word reads one of a few words.
func (v Value) Word(words ...string) (string, bool) { return v.c.word(v.n, v.at, words) }

// Bool reads true or false.
func (v Value) Bool() (value, ok bool) {
	value = v.c.boolean(v.n, v.at, false)
	return value, !v.n.bad && v.n.kind == kindBool
}

// Version reads the version of a document: the number 1.
func (v Value) Version() { v.c.version(v.n, v.at) }

// JSON reads an object with any members, as encoding/json decodes it, with numbers as json.Number.
func (v Value) JSON() (map[string]any, bool) {
	switch {
	case v.n.bad:
		return nil, false
	case v.n.kind != kindObject:
		v.Fail("want a mapping, not %s", v.n.describe())
		return nil, false
	case v.n.spoiled():
		return nil, false
	}
	object, ok := v.n.value().(map[string]any)
	return object, ok
}

// Encode returns the value as JSON, numbers as they are written. Of what was reported already nothing is to be expected.
func (v Value) Encode() []byte {
	text, _ := v.n.encode(nil, nil)
	return text
}

// Rules reads a list of rules, or one rule, in the form of a policy document. What only the engine knows to be wrong with
// them is known when they are compiled: see [Value.FailRules].
func (v Value) Rules() []engine.Rule {
	switch {
	case v.n.bad:
		return nil
	case v.n.kind == kindList:
		return v.c.rules(v.n, v.at, false)
	default:
		return []engine.Rule{v.c.rule(v.n, v.at, false)}
	}
}

// FailRules reports what the engine said of [Value.Rules] when they were compiled, but for what was reported already. A
// nil error is nothing to report.
func (v Value) FailRules(err error) {
	var compile *engine.CompileError
	switch {
	case err == nil:
	case !errors.As(err, &compile):
		v.Fail("%w", err)
	default:
		for _, e := range compile.Entries {
			at := v.at
			if v.n.kind == kindList && e.Index >= 0 {
				at = at.at(e.Index)
			}
			problem := e.Err
			if e.Text != "" {
				problem = fmt.Errorf("%s: %w", clip(escaped(e.Text)), problem)
			}
			if !errors.Is(problem, errReported) {
				v.c.addErr(e.Position, at, problem)
			}
		}
	}
}

// escaped returns s with what could disturb a terminal escaped.
func escaped(s string) string {
	if quoted := quoteAll(s); strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }) {
		return quoted[1 : len(quoted)-1]
	}
	return s
}

// Request reads a request object: see [DecodeRequest].
func (v Value) Request() (*Request, bool) {
	if v.n.spoiled() {
		return nil, false
	}
	text, marks := v.n.encode(nil, nil)
	req, err := DecodeRequest(text)
	if err == nil {
		return req, true
	}
	problem := &EntryError{Position: v.Position(), Path: v.at.String(), Err: err}
	var bad *RequestError
	if errors.As(err, &bad) {
		// The last value, or key, that begins where the fault is, or before it.
		for _, m := range marks {
			if m.offset > bad.Offset {
				break
			}
			problem.Position = m.n.place(v.c.file)
		}
		if bad.Path != "" {
			problem.Path += "." + bad.Path
		}
		problem.Err = bad.Err
	}
	v.c.append(problem)
	return nil, false
}

// mark is where a node begins in its encoding.
type mark struct {
	offset int64
	n      *node
}

// encode appends n as JSON, and notes where everything in it begins.
func (n *node) encode(dst []byte, marks []mark) ([]byte, []mark) {
	marks = append(marks, mark{int64(len(dst)), n})
	switch n.kind {
	case kindBool, kindNumber:
		dst = append(dst, n.text...)
	case kindString:
		dst, _ = jsontext.AppendQuote(dst, n.text) // documents are UTF-8
	case kindList:
		dst = append(dst, '[')
		for i := range n.items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst, marks = n.items[i].encode(dst, marks)
		}
		dst = append(dst, ']')
	case kindObject:
		dst = append(dst, '{')
		for i := range n.keys {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst, marks = n.keys[i].encode(dst, marks)
			dst = append(dst, ':')
			dst, marks = n.items[i].encode(dst, marks)
		}
		dst = append(dst, '}')
	default:
		dst = append(dst, "null"...)
	}
	return dst, marks
}
