package engine

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// verdict is the answer of a condition, in Kleene's three-valued logic. The zero verdict is no.
type verdict uint8

const (
	verdictNo     verdict = iota
	verdictYes            // it holds
	verdictFailed         // it cannot answer
)

func verdictOf(yes bool) verdict {
	if yes {
		return verdictYes
	}
	return verdictNo
}

// failure is why a condition could not answer, kept as a small value so that one which a plain no overrules
// costs nothing.
type failure struct {
	cond   *compiledCondition // nil where the lookup itself failed
	cause  failureCause
	typ    valueType    // what the value is
	goType reflect.Type // of a value that is not JSON; nil where it lies deeper
	path   pathRefusal
}

type failureCause uint8

const (
	causeNone failureCause = iota
	causeMissing
	causeNotJSON
	causeType
	causePath
	causeTwin
)

// eval reports whether every condition holds of the value that m has under the key. A nil m holds nothing. The
// error is a *ConditionError and non-nil exactly when the verdict is verdictFailed.
//
// keys is what is known of the keys of m, or nil.
//
// Cost: for arguments one pass over the keys of m, unless keys are given; then that of the conditions. It allocates only to
// fail, given the types that encoding/json decodes into.
func (l *compiledLookup) eval(m map[string]any, keys *keyFolds) (verdict, error) {
	if l.twins && keys.twin(m, l.key) {
		return verdictFailed, l.fails(failure{cause: causeTwin})
	}
	v, present, f := l.find(m)
	if f.cause != causeNone {
		return verdictFailed, l.fails(f)
	}
	all, f := meetsAll(l.conditions, v, present)
	if all == verdictFailed {
		return verdictFailed, l.fails(f)
	}
	return all, nil
}

// find returns the value under the key. The failure has a cause where a value on the way is not JSON, so that
// nobody knows what is below it.
func (l *compiledLookup) find(m map[string]any) (v any, present bool, f failure) {
	if l.tokens == nil {
		v, present = m[l.key]
		return v, present, f
	}
	v, present = any(m), true
	for _, token := range l.tokens {
		g := givenOf(v)
		switch g.typ {
		case jsonObject:
			v, present = g.get(token)
		case jsonArray:
			i, ok := pointerIndex(token, g.len())
			if present = ok; ok {
				v = g.at(i)
			}
		case notJSON:
			return nil, false, failure{cause: causeNotJSON, goType: reflect.TypeOf(v)}
		default:
			present = false
		}
		if !present {
			return nil, false, f
		}
	}
	return v, true, f
}

// pointerIndex returns the index that a token of a JSON Pointer is in a list of n: decimal digits without
// a leading zero.
func pointerIndex(token string, n int) (i int, ok bool) {
	if token == "" || token[0] == '0' && len(token) > 1 {
		return 0, false
	}
	for k := range len(token) {
		if token[k] < '0' || '9' < token[k] || i >= n {
			return 0, false
		}
		i = i*10 + int(token[k]-'0')
	}
	return i, i < n
}

// meetsAll is the conjunction: one plain no makes it no, else a failure makes it fail. The first failure in the
// order of the conditions is the one returned.
func meetsAll(conds []compiledCondition, v any, present bool) (verdict, failure) {
	all, first := verdictYes, failure{}
	for i := range conds {
		switch answer, f := conds[i].eval(v, present); answer {
		case verdictNo:
			return verdictNo, failure{}
		case verdictFailed:
			if all == verdictYes {
				all, first = verdictFailed, f
			}
		}
	}
	return all, first
}

// eval reports whether c holds of v.
func (c *compiledCondition) eval(v any, present bool) (verdict, failure) {
	if c.op == condExists {
		return verdictOf(present == c.want), failure{}
	}
	if !present {
		return verdictFailed, failure{cond: c, cause: causeMissing}
	}
	g := givenOf(v)
	if g.typ == notJSON {
		return verdictFailed, failure{cond: c, cause: causeNotJSON, goType: reflect.TypeOf(v)}
	}
	switch c.op {
	case condEquals, condIn:
		if c.types&(1<<g.typ) == 0 {
			break
		}
		return c.equalsOne(&g)
	case condContains:
		if g.typ != jsonArray {
			break
		}
		return c.contains(&g)
	case condRegexp:
		if g.typ != jsonString {
			break
		}
		return verdictOf(c.re.MatchString(g.text)), failure{}
	case condInside, condOutside:
		if g.typ != jsonString {
			break
		}
		return c.holdsPath(g.text)
	case condEach:
		if g.typ != jsonArray {
			break
		}
		return c.each(&g)
	case condAny:
		if g.typ != jsonArray {
			break
		}
		return c.any(&g)
	}
	return verdictFailed, failure{cond: c, cause: causeType, typ: g.typ}
}

func (c *compiledCondition) equalsOne(g *given) (verdict, failure) {
	if g.typ == jsonString {
		_, found := slices.BinarySearch(c.texts, g.text)
		return verdictOf(found), failure{}
	}
	one, f := verdictNo, failure{}
	for i := range c.values {
		switch c.values[i].equalsGiven(g) {
		case verdictYes:
			return verdictYes, failure{}
		case verdictFailed:
			one, f = verdictFailed, failure{cond: c, cause: causeNotJSON}
		}
	}
	return one, f
}

func (c *compiledCondition) contains(g *given) (verdict, failure) {
	one, f := verdictNo, failure{}
	for i := range g.len() {
		switch c.values[0].equals(g.at(i)) {
		case verdictYes:
			return verdictYes, failure{}
		case verdictFailed:
			one, f = verdictFailed, failure{cond: c, cause: causeNotJSON}
		}
	}
	return one, f
}

func (c *compiledCondition) holdsPath(path string) (verdict, failure) {
	v, refusal := c.root.holds(path)
	switch {
	case v == verdictFailed:
		return verdictFailed, failure{cond: c, cause: causePath, path: refusal}
	case c.op == condOutside:
		return verdictOf(v == verdictNo), failure{}
	default:
		return v, failure{}
	}
}

// each is the conjunction over the elements, and no for an empty list, of which it would hold idly.
func (c *compiledCondition) each(g *given) (verdict, failure) {
	if g.len() == 0 {
		return verdictNo, failure{}
	}
	all, first := verdictYes, failure{}
	for i := range g.len() {
		switch answer, f := meetsAll(c.parts, g.at(i), true); answer {
		case verdictNo:
			return verdictNo, failure{}
		case verdictFailed:
			if all == verdictYes {
				all, first = verdictFailed, f
			}
		}
	}
	return all, first
}

// any is the disjunction over the elements.
func (c *compiledCondition) any(g *given) (verdict, failure) {
	one, first := verdictNo, failure{}
	for i := range g.len() {
		switch answer, f := meetsAll(c.parts, g.at(i), true); answer {
		case verdictYes:
			return verdictYes, failure{}
		case verdictFailed:
			if one == verdictNo {
				one, first = verdictFailed, f
			}
		}
	}
	return one, first
}

// fails returns the error for a failure.
func (l *compiledLookup) fails(f failure) error {
	e := &ConditionError{Key: l.key}
	if f.cond != nil {
		e.Op = f.cond.path
	}
	switch f.cause {
	case causeMissing:
		e.Err = ErrMissing
	case causeTwin:
		e.Err = ErrAmbiguousKey
	case causePath:
		e.Err = f.path
	case causeNotJSON:
		e.Err = fmt.Errorf("the value holds a part that is %w", ErrNotJSON)
		if f.goType != nil {
			e.Err = &ValueError{Type: f.goType.String(), Err: ErrNotJSON}
		}
	case causeType:
		e.Err = fmt.Errorf("%w: it takes %s, and the value is %s", ErrWrongType, f.cond.takes(), f.typ)
	}
	return e
}

// takes names the JSON types that c takes.
func (c *compiledCondition) takes() string {
	switch c.op {
	case condRegexp, condInside, condOutside:
		return jsonString.String()
	case condEquals, condIn:
		var names []string
		for t := jsonNull; t <= jsonObject; t++ {
			if c.types&(1<<t) != 0 {
				names = append(names, t.String())
			}
		}
		return strings.Join(names, " or ")
	default:
		return jsonArray.String()
	}
}
