package fuzz

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// truth is what a rule or a condition comes to: no, yes, or that it failed (section 5.4).
type truth int

const (
	no truth = iota
	yes
	failed
)

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

// every combines what must all hold: "a condition that is plainly false makes the whole false, also beside one
// that fails"; order does not matter.
func every(parts []truth) truth {
	whole := yes
	for _, p := range parts {
		if p == no {
			return no
		}
		if p == failed {
			whole = failed
		}
	}
	return whole
}

// some combines what must hold once: one that holds is enough, also beside one that fails.
func some(parts []truth) truth {
	whole := no
	for _, p := range parts {
		if p == yes {
			return yes
		}
		if p == failed {
			whole = failed
		}
	}
	return whole
}

// holdsKeys decides an args or attribute rule: "all keys and ops must hold".
func holdsKeys(keys []Key, object map[string]any, isArgs bool) truth {
	var parts []truth
	for _, k := range keys {
		parts = append(parts, holdsKey(k, object, isArgs))
	}
	return every(parts)
}

func holdsKey(k Key, object map[string]any, isArgs bool) truth {
	// "an arguments object that also holds another key equal to a top-level KEY but for case": no condition on
	// that key can answer, exists neither. Attributes are not arguments, and a pointer is not a top-level key.
	if isArgs && !strings.HasPrefix(k.Key, "/") {
		for other := range object {
			if other != k.Key && sameButForCase(other, k.Key) {
				return failed
			}
		}
	}
	value, there := find(k.Key, object)
	var parts []truth
	for _, c := range k.Conds {
		switch {
		case c.Op == "exists":
			parts = append(parts, truthOf(there == c.Value.(bool)))
		case !there:
			parts = append(parts, failed) // "a missing key (but for exists)"
		default:
			parts = append(parts, holdsValue(c, value))
		}
	}
	return every(parts)
}

// find looks a key up: "KEY is a top-level key or, beginning with /, a JSON Pointer".
func find(key string, object map[string]any) (any, bool) {
	if !strings.HasPrefix(key, "/") {
		v, ok := object[key]
		return v, ok
	}
	var at any = object
	for _, token := range strings.Split(key[1:], "/") {
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		switch in := at.(type) {
		case map[string]any:
			v, ok := in[token]
			if !ok {
				return nil, false
			}
			at = v
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || strconv.Itoa(i) != token || i < 0 || i >= len(in) {
				return nil, false
			}
			at = in[i]
		default:
			return nil, false
		}
	}
	return at, true
}

// holdsValue decides one condition about a value that is there.
func holdsValue(c Cond, v any) truth {
	switch c.Op {
	case "equals":
		if typeOf(v) != typeOf(c.Value) {
			return failed
		}
		return truthOf(equal(v, c.Value))
	case "in":
		whole := failed
		for _, want := range c.Value.([]any) {
			if typeOf(v) == typeOf(want) {
				if equal(v, want) {
					return yes
				}
				whole = no
			}
		}
		return whole
	case "regexp":
		s, ok := v.(string)
		if !ok {
			return failed
		}
		return truthOf(regexp.MustCompile(c.Value.(string)).MatchString(s))
	case "contains":
		list, ok := v.([]any)
		if !ok {
			return failed
		}
		for _, item := range list {
			if equal(item, c.Value) {
				return yes
			}
		}
		return no
	case "inside", "outside":
		result := inside(v, c.Value.(string))
		if result == failed || c.Op == "inside" {
			return result
		}
		return truthOf(result == no)
	case "exists": // of an element, which is there
		return truthOf(c.Value.(bool))
	case "each", "any":
		list, ok := v.([]any)
		if !ok {
			return failed
		}
		var elements []truth
		for _, item := range list {
			var parts []truth
			for _, sub := range c.Conds {
				parts = append(parts, holdsValue(sub, item))
			}
			elements = append(elements, every(parts))
		}
		if c.Op == "any" {
			return some(elements) // "a list, some element"
		}
		if len(elements) == 0 {
			return no // "a non-empty list, every element"
		}
		return every(elements)
	}
	panic("unknown op " + c.Op)
}

// typeOf returns the JSON type of a value.
func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number:
		return "number"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	panic(fmt.Sprintf("%T is no JSON value", v))
}

// equal compares JSON values: "numbers compare as exact decimals".
func equal(a, b any) bool {
	if typeOf(a) != typeOf(b) {
		return false
	}
	switch a := a.(type) {
	case json.Number:
		return readDecimal(string(a)) == readDecimal(string(b.(json.Number)))
	case []any:
		b := b.([]any)
		if len(a) != len(b) {
			return false
		}
		for i := range a {
			if !equal(a[i], b[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		b := b.(map[string]any)
		if len(a) != len(b) {
			return false
		}
		for k := range a {
			v, ok := b[k]
			if !ok || !equal(a[k], v) {
				return false
			}
		}
		return true
	default:
		return a == b
	}
}

// sameButForCase reports whether two keys have the same characters but for case, by Unicode's simple case folding,
// which is what a careless decoder uses.
func sameButForCase(a, b string) bool {
	x, y := []rune(a), []rune(b)
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		same := x[i] == y[i]
		for r := unicode.SimpleFold(x[i]); r != x[i]; r = unicode.SimpleFold(r) {
			same = same || r == y[i]
		}
		if !same {
			return false
		}
	}
	return true
}

// checkKeys reports what is wrong with an args or attribute rule.
func checkKeys(keys []Key) error {
	if len(keys) == 0 {
		return fmt.Errorf("no key")
	}
	for _, k := range keys {
		if k.Key == "" || !utf8.ValidString(k.Key) {
			return fmt.Errorf("key %q", k.Key)
		}
		if strings.HasPrefix(k.Key, "/") {
			for i, c := range k.Key {
				if c == '~' && (i+1 == len(k.Key) || k.Key[i+1] != '0' && k.Key[i+1] != '1') {
					return fmt.Errorf("key %q is no JSON Pointer", k.Key)
				}
			}
		}
		if err := checkConds(k.Conds); err != nil {
			return fmt.Errorf("key %q: %w", k.Key, err)
		}
	}
	return nil
}

func checkConds(conds []Cond) error {
	if len(conds) == 0 {
		return fmt.Errorf("no condition")
	}
	for _, c := range conds {
		var err error
		switch c.Op {
		case "equals", "contains":
		case "in":
			if list, ok := c.Value.([]any); !ok || len(list) == 0 {
				err = fmt.Errorf("in: not a list of at least one value")
			}
		case "regexp":
			s, ok := c.Value.(string)
			if !ok {
				err = fmt.Errorf("regexp: not a string")
			} else {
				_, err = regexp.Compile(s)
			}
		case "inside", "outside":
			s, ok := c.Value.(string)
			if !ok {
				err = fmt.Errorf("%s: not a string", c.Op)
			} else {
				_, err = readRoot(s)
			}
		case "exists":
			if _, ok := c.Value.(bool); !ok {
				err = fmt.Errorf("exists: not a boolean")
			}
		case "each", "any":
			err = checkConds(c.Conds)
		default:
			err = fmt.Errorf("unknown op %q", c.Op)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
