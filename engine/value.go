package engine

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// The Go values that stand for JSON, and when two of them are equal.
//
// A wanted value comes from a policy and is compiled once; a given value comes with a call and is looked at as it
// is. Numbers compare as exact decimals whatever Go type they have, objects without regard to order, strings by
// bytes. Any basic Go type, slice or string-keyed map stands for its JSON, under any name; nil slices and maps
// are empty ones. What is written otherwise than it looks ([]byte, anything with its own MarshalJSON or
// MarshalText), pointers, structs, NaN and the infinities are no JSON values here: about them nothing is
// claimed, and what asks fails.

// maxDepth is how deep containers may nest, in definitions, arguments and wanted values alike. It is part of what a
// fingerprint means: a definition that nests deeper has none.
const maxDepth = 128

// maxWanted and maxCopied are how many values one wanted and one copied value may hold. A request of 16 MiB cannot hold
// more than twice maxCopied, and no policy is near maxWanted; the bounds are there for Go values that share
// their parts, which depth alone would let grow to 2^128.
const (
	maxWanted = 1 << 18
	maxCopied = 1 << 22
)

var (
	// ErrNotJSON says that a Go value stands for no JSON value.
	ErrNotJSON = errors.New("not a JSON value")
	// ErrTooDeep says that JSON nests deeper than 128, or that a Go value contains itself.
	ErrTooDeep = errors.New("nested deeper than 128")
	// ErrTooLarge says that a Go value holds more values than may be compared with (262,144) or copied (4,194,304).
	ErrTooLarge = errors.New("too large")
)

// A ValueError says why a Go value cannot be used as a JSON value. It names types, never values.
type ValueError struct {
	Type string // the Go type of the offending part
	Err  error  // [ErrNotJSON], [ErrTooDeep] or [ErrTooLarge]
}

// Error names the type and the cause.
func (e *ValueError) Error() string { return fmt.Sprintf("a Go value of type %s is %v", e.Type, e.Err) }

// Unwrap returns the cause.
func (e *ValueError) Unwrap() error { return e.Err }

// valueType is one of the six types of JSON. The zero valueType is no type: the value is not JSON.
type valueType uint8

const (
	notJSON valueType = iota
	jsonNull
	jsonBool
	jsonNumber
	jsonString
	jsonArray
	jsonObject
)

// String returns the type with its article, as errors name it.
func (t valueType) String() string {
	switch t {
	case jsonNull:
		return "null"
	case jsonBool:
		return "a boolean"
	case jsonNumber:
		return "a number"
	case jsonString:
		return "a string"
	case jsonArray:
		return "a list"
	case jsonObject:
		return "an object"
	default:
		return "not a JSON value"
	}
}

// given is a Go value seen as JSON. It shares the value's memory and lives as long as one evaluation.
type given struct {
	typ  valueType
	flag bool           // of a boolean
	text string         // of a string
	num  decimal        // of a number
	list []any          // of an array, unless other is set
	obj  map[string]any // of an object, unless other is set

	other reflect.Value // a slice, array or map of another Go type
}

// givenOf returns v as JSON.
//
// Cost: constant, but for one pass over the text of a json.Number. It allocates nothing for the types
// that encoding/json decodes into.
func givenOf(v any) given {
	switch v := v.(type) {
	case nil:
		return given{typ: jsonNull}
	case bool:
		return given{typ: jsonBool, flag: v}
	case string:
		return given{typ: jsonString, text: v}
	case json.Number:
		if d, ok := parseDecimal(string(v)); ok {
			return given{typ: jsonNumber, num: d}
		}
		return given{}
	case float64:
		return givenFloat(v, 64)
	case int:
		return given{typ: jsonNumber, num: decimalOfInt(int64(v))}
	case []any:
		return given{typ: jsonArray, list: v}
	case map[string]any:
		return given{typ: jsonObject, obj: v}
	default:
		return givenByKind(v)
	}
}

func givenFloat(f float64, bits int) given {
	if d, ok := decimalOfFloat(f, bits); ok {
		return given{typ: jsonNumber, num: d}
	}
	return given{}
}

// givenByKind is givenOf for the Go types that encoding/json never decodes into.
func givenByKind(v any) given {
	switch v.(type) {
	case json.Marshaler, encoding.TextMarshaler:
		return given{}
	}
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Bool:
		return given{typ: jsonBool, flag: r.Bool()}
	case reflect.String:
		return given{typ: jsonString, text: r.String()}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return given{typ: jsonNumber, num: decimalOfInt(r.Int())}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return given{typ: jsonNumber, num: decimalOfUint(r.Uint())}
	case reflect.Float32:
		return givenFloat(r.Float(), 32)
	case reflect.Float64:
		return givenFloat(r.Float(), 64)
	case reflect.Slice, reflect.Array:
		if r.Type().Elem().Kind() != reflect.Uint8 { // written as base64
			return given{typ: jsonArray, other: r}
		}
	case reflect.Map:
		if key := r.Type().Key(); key.Kind() == reflect.String && !key.Implements(textMarshaler) {
			return given{typ: jsonObject, other: r}
		}
	}
	return given{}
}

var textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()

// len returns the number of elements or members of a list or an object.
func (g *given) len() int {
	if g.other.IsValid() {
		return g.other.Len()
	}
	return len(g.list) + len(g.obj)
}

// at returns element i of a list.
func (g *given) at(i int) any {
	if g.other.IsValid() {
		return g.other.Index(i).Interface()
	}
	return g.list[i]
}

// get returns the member of an object with the given key, and whether there is one.
func (g *given) get(key string) (any, bool) {
	if !g.other.IsValid() {
		v, ok := g.obj[key]
		return v, ok
	}
	v := g.other.MapIndex(reflect.ValueOf(key).Convert(g.other.Type().Key()))
	if !v.IsValid() {
		return nil, false
	}
	return v.Interface(), true
}

// keys returns the keys of an object, sorted bytewise.
func (g *given) keys() []string {
	keys := make([]string, 0, g.len())
	for k := range g.obj {
		keys = append(keys, k)
	}
	if g.other.IsValid() {
		for _, k := range g.other.MapKeys() {
			keys = append(keys, k.String())
		}
	}
	slices.Sort(keys)
	return keys
}

// wanted is a value from a policy, compiled: immutable, sharing nothing with what it was made from.
type wanted struct {
	typ  valueType
	flag bool
	text string
	num  decimal
	list []wanted // the elements of an array, or the members of an object in the order of keys
	keys []string // sorted
}

// compileWanted returns v as a wanted value, or a *ValueError.
func compileWanted(v any) (wanted, error) {
	left := maxWanted
	return compileWantedPart(v, maxDepth, &left)
}

func compileWantedPart(v any, depth int, left *int) (wanted, error) {
	if *left--; *left < 0 {
		return wanted{}, &ValueError{Type: fmt.Sprintf("%T", v), Err: ErrTooLarge}
	}
	g := givenOf(v)
	w := wanted{typ: g.typ, flag: g.flag, text: strings.Clone(g.text), num: g.num}
	w.num.digits, w.num.pow = strings.Clone(g.num.digits), strings.Clone(g.num.pow)
	switch {
	case g.typ == notJSON:
		return wanted{}, &ValueError{Type: fmt.Sprintf("%T", v), Err: ErrNotJSON}
	case g.typ != jsonArray && g.typ != jsonObject:
		return w, nil
	case depth == 0:
		return wanted{}, &ValueError{Type: fmt.Sprintf("%T", v), Err: ErrTooDeep}
	case g.typ == jsonObject:
		w.keys = g.keys()
	}
	for i := range g.len() {
		var part any
		if g.typ == jsonArray {
			part = g.at(i)
		} else {
			part, _ = g.get(w.keys[i])
		}
		c, err := compileWantedPart(part, depth-1, left)
		if err != nil {
			return wanted{}, err
		}
		w.list = append(w.list, c)
	}
	return w, nil
}

// equals reports whether v equals w. It fails only where no part of v differs plainly and some part is not JSON,
// so the order of members and elements does not matter.
//
// Cost: one pass over the smaller of the two; v is never followed deeper than w, so a value that contains
// itself is no danger. It allocates nothing for the types that encoding/json decodes into.
func (w *wanted) equals(v any) verdict {
	g := givenOf(v)
	return w.equalsGiven(&g)
}

func (w *wanted) equalsGiven(g *given) verdict {
	switch {
	case g.typ == notJSON:
		return verdictFailed
	case g.typ != w.typ:
		return verdictNo
	}
	switch w.typ {
	case jsonBool:
		return verdictOf(w.flag == g.flag)
	case jsonNumber:
		return verdictOf(w.num.equal(&g.num))
	case jsonString:
		return verdictOf(w.text == g.text)
	case jsonNull:
		return verdictYes
	}
	if len(w.list) != g.len() {
		return verdictNo
	}
	all := verdictYes
	for i := range w.list {
		var part any
		if w.typ == jsonArray {
			part = g.at(i)
		} else {
			var ok bool
			if part, ok = g.get(w.keys[i]); !ok {
				return verdictNo
			}
		}
		switch w.list[i].equals(part) {
		case verdictNo:
			return verdictNo
		case verdictFailed:
			all = verdictFailed
		}
	}
	return all
}
