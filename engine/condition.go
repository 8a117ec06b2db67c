package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A Condition is a declarative test of one argument or attribute, for [Arg] and [Attribute] rules.
//
// A condition holds, does not hold, or cannot answer: the value is missing, or of a JSON type that the condition
// does not take, or a path that is refused. A rule with a condition that cannot answer fails, which counts as
// matching in deny and ask and as not matching in allow; but where another of its conditions plainly does not
// hold, the rule does not match. Nothing is folded: strings compare by bytes.
//
// Constructors never fail: what is wrong with a Condition is reported when it is compiled. The zero Condition is
// refused. A Condition is immutable but for values and regular expressions that its maker keeps changing, and
// compiling copies those.
type Condition struct {
	op     conditionOp
	values []any // of equals, in and contains
	re     *regexp.Regexp
	root   string
	want   bool
	parts  []Condition // of each and any
}

// conditionOp is the test that a condition makes.
type conditionOp uint8

const (
	condNone conditionOp = iota
	condEquals
	condIn
	condRegexp
	condContains
	condInside
	condOutside
	condExists
	condEach
	condAny
)

// String returns the op's key in a policy document.
func (op conditionOp) String() string {
	switch op {
	case condEquals:
		return "equals"
	case condIn:
		return "in"
	case condRegexp:
		return "regexp"
	case condContains:
		return "contains"
	case condInside:
		return "inside"
	case condOutside:
		return "outside"
	case condExists:
		return "exists"
	case condEach:
		return "each"
	case condAny:
		return "any"
	default:
		return "condition"
	}
}

// Equals returns the condition that the value equals v, a JSON value: nil, a boolean, string, number or
// json.Number, or a slice or string-keyed map of those. Numbers compare as exact decimals: 1 equals 1.0 and
// differs from "1". A value of another JSON type than v cannot be answered for.
func Equals(v any) Condition { return Condition{op: condEquals, values: []any{v}} }

// In returns the condition that the value equals one of vs. A value of a JSON type that none of vs has cannot be
// answered for. Without vs it is refused.
func In(vs ...any) Condition { return Condition{op: condIn, values: slices.Clone(vs)} }

// Match returns the condition that the value is a string in which re, unanchored, finds a match.
func Match(re *regexp.Regexp) Condition { return Condition{op: condRegexp, re: re} }

// Contains returns the condition that the value is a list with an element that equals v.
func Contains(v any) Condition { return Condition{op: condContains, values: []any{v}} }

// Inside returns the condition that the value is the path root or one below it.
//
// The comparison is lexical, by whole segments: /data holds /data and /data/x, not /data-evil. Nothing is looked up,
// so a symbolic link leads wherever it leads. What could mean another file than it says is refused and cannot be
// answered for: a relative path, a segment that is ".", ".." or empty, control characters, bytes that are not
// UTF-8, and a backslash below a POSIX root.
//
// Below a POSIX root ("/data") segments compare by bytes. Below a Windows root (`C:\data`, `\\server\share\data`)
// either separator separates, letters compare without case, and refused are, too: the device namespaces `\\?\`,
// `\\.\` and `\??\`; `C:x`; any other ':'; a network share below a drive and a drive below a network share, which
// can be one place; a segment that ends in a dot or a space, or has '~' before a digit (short names); reserved
// device names; and characters that no name can have. Letters whose case the systems disagree on (such as
// U+212A, the Kelvin sign, and k) cannot be answered for either.
func Inside(root string) Condition { return Condition{op: condInside, root: root} }

// Outside returns the condition that the value is a path and not [Inside] root. What Inside refuses,
// Outside refuses, too. It reads text: where the server's files have other names (links, a file system without case, an
// address of the same share), a path that is outside by its text may be inside. In allow prefer [Inside].
func Outside(root string) Condition { return Condition{op: condOutside, root: root} }

// Exists returns the condition that there is a value, be it null, or that there is none.
func Exists(want bool) Condition { return Condition{op: condExists, want: want} }

// Each returns the condition that the value is a list with at least one element, and every element meets every one
// of c.
func Each(c ...Condition) Condition { return Condition{op: condEach, parts: slices.Clone(c)} }

// Any returns the condition that the value is a list and one of its elements meets every one of c.
func Any(c ...Condition) Condition { return Condition{op: condAny, parts: slices.Clone(c)} }

// String returns the condition in the notation of a policy document, on one line, such as equals: "x" or
// each: {inside: "/data"}.
func (c Condition) String() string {
	var b strings.Builder
	c.write(&b, maxDepth)
	return b.String()
}

func (c Condition) write(b *strings.Builder, depth int) {
	if c.op == condNone {
		b.WriteString("no condition")
		return
	}
	b.WriteString(c.op.String())
	b.WriteString(": ")
	switch c.op {
	case condEquals, condContains:
		writeValue(b, c.values[0])
	case condIn:
		b.WriteByte('[')
		for i, v := range c.values {
			if i > 0 {
				b.WriteString(", ")
			}
			writeValue(b, v)
		}
		b.WriteByte(']')
	case condRegexp:
		if c.re == nil {
			b.WriteString("nil")
			return
		}
		b.WriteString(strconv.Quote(c.re.String()))
	case condInside, condOutside:
		b.WriteString(strconv.Quote(c.root))
	case condExists:
		b.WriteString(strconv.FormatBool(c.want))
	case condEach, condAny:
		b.WriteByte('{')
		for i, part := range c.parts {
			if i > 0 {
				b.WriteString(", ")
			}
			if depth == 0 || b.Len() > maxText {
				b.WriteString("…")
				break
			}
			part.write(b, depth-1)
		}
		b.WriteByte('}')
	}
}

// frozenConditions returns copies that share nothing with conds, which have been compiled.
func frozenConditions(conds []Condition) []Condition {
	out := slices.Clone(conds)
	for i, c := range out {
		if c.re != nil {
			re := *c.re
			out[i].re = &re
		}
		out[i].values = slices.Clone(c.values)
		for j, v := range c.values {
			out[i].values[j] = cloneValue(v)
		}
		out[i].parts = frozenConditions(c.parts)
	}
	return out
}

// writeValue writes a JSON value with the keys of objects sorted, or the Go type of what is none.
func writeValue(b *strings.Builder, v any) {
	if _, err := compileWanted(v); err != nil {
		fmt.Fprintf(b, "(%T)", v)
		return
	}
	writeValuePart(b, v)
}

func writeValuePart(b *strings.Builder, v any) {
	g := givenOf(v)
	switch g.typ {
	case jsonArray:
		b.WriteByte('[')
		for i := range g.len() {
			if i > 0 {
				b.WriteString(", ")
			}
			writeValuePart(b, g.at(i))
		}
		b.WriteByte(']')
	case jsonObject:
		b.WriteByte('{')
		for i, k := range g.keys() {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(strconv.Quote(k))
			b.WriteString(": ")
			part, _ := g.get(k)
			writeValuePart(b, part)
		}
		b.WriteByte('}')
	case jsonString:
		b.WriteString(strconv.Quote(g.text))
	case jsonNumber:
		text, _ := json.Marshal(v) // not fmt, which would ask a String method
		b.Write(text)
	case jsonBool:
		b.WriteString(strconv.FormatBool(g.flag))
	default:
		b.WriteString("null")
	}
}

var (
	// ErrMissing says that there is no value under the key of a condition.
	ErrMissing = errors.New("there is no such value")
	// ErrWrongType says that a value is of a JSON type that the condition does not take.
	ErrWrongType = errors.New("wrong type")
	// ErrAmbiguousKey says that the arguments hold another key that differs only in case.
	ErrAmbiguousKey = errors.New("another key differs from this one only in case, and a careless reader may take that one")
	// ErrPathRefused says that a path could mean another file than it says.
	ErrPathRefused = errors.New("path refused")
)

// A ConditionError says why a condition cannot answer, or what is wrong with one. It names types and keys of the
// policy, never the value that was looked at, which may be a secret.
type ConditionError struct {
	Key string // as the policy has it
	Op  string // the op, such as "inside", behind those that it stands in: "each.inside"
	Err error  // the cause
}

// Error names the key, the op and the cause.
func (e *ConditionError) Error() string {
	switch {
	case e.Key == "" && e.Op == "":
		return e.Err.Error()
	case e.Key == "":
		return fmt.Sprintf("%s: %v", e.Op, e.Err)
	case e.Op == "":
		return fmt.Sprintf("key %q: %v", e.Key, e.Err)
	default:
		return fmt.Sprintf("key %q: %s: %v", e.Key, e.Op, e.Err)
	}
}

// Unwrap returns the cause.
func (e *ConditionError) Unwrap() error { return e.Err }
