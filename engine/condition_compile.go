package engine

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// compiledCondition is a condition made ready: immutable, sharing nothing with what it was made from.
type compiledCondition struct {
	op     conditionOp
	path   string   // the ops from the outermost to this one, joined by dots, for errors
	texts  []string // of equals and in: the wanted strings, sorted
	values []wanted // of equals and in: the other wanted values; of contains: the one
	types  uint8    // of equals and in: bit t is set where a wanted value has the valueType t
	re     *regexp.Regexp
	root   *pathRoot
	want   bool
	parts  []compiledCondition // of each and any; at least one
}

// compileCondition checks c and compiles it. The error joins a *ConditionError for every bad part.
func compileCondition(c Condition) (compiledCondition, error) {
	var errs []error
	left := maxConditions
	cc := compileConditionPart(c, "", maxDepth, &left, &errs)
	if len(errs) > 0 {
		return compiledCondition{}, joinConditionErrors(errs)
	}
	return cc, nil
}

// joinConditionErrors returns the only one of errs, or all of them joined.
func joinConditionErrors(errs []error) error {
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

// maxConditions bounds the conditions of one rule at all depths: conditions that share their parts could stand for more
// than there is time to visit.
const maxConditions = 1 << 12

// compileConditionPart compiles c, which stands depth levels above the deepest one, and takes it off what is left.
func compileConditionPart(c Condition, outer string, depth int, left *int, errs *[]error) compiledCondition {
	cc := compiledCondition{op: c.op, path: outer + c.op.String(), want: c.want}
	bad := func(err error) { *errs = append(*errs, &ConditionError{Op: cc.path, Err: err}) }
	if *left--; *left < 0 {
		if *left == -1 {
			bad(ErrTooLarge)
		}
		return cc
	}
	switch c.op {
	case condEquals, condIn, condContains:
		if len(c.values) == 0 {
			bad(errors.New("no value to compare with (name at least one)"))
		}
		for i, v := range c.values {
			w, err := compileWanted(v)
			if err != nil {
				if c.op == condIn {
					err = fmt.Errorf("value %d: %w", i, err)
				}
				bad(err)
				continue
			}
			cc.types |= 1 << w.typ
			if w.typ == jsonString && c.op != condContains {
				cc.texts = append(cc.texts, w.text)
			} else {
				cc.values = append(cc.values, w)
			}
		}
		slices.Sort(cc.texts)
	case condRegexp:
		if c.re == nil || len(c.re.SubexpNames()) == 0 {
			bad(errors.New("the regular expression is nil or was never compiled"))
			break
		}
		re := *c.re // UnmarshalText and Longest change the original
		cc.re = &re
	case condInside, condOutside:
		root, err := compilePathRoot(c.root)
		if err != nil {
			bad(err)
		}
		cc.root = root
	case condExists:
	case condEach, condAny:
		switch {
		case len(c.parts) == 0:
			bad(errors.New("no condition on the elements (name at least one)"))
		case depth == 0:
			bad(ErrTooDeep)
		default:
			for _, part := range c.parts {
				if cc.parts = append(cc.parts, compileConditionPart(part, cc.path+".", depth-1, left, errs)); *left < 0 {
					break
				}
			}
		}
	default:
		bad(errors.New("the zero Condition tests nothing (make one with Equals, In, Match or another constructor)"))
	}
	return cc
}

// compiledLookup is every condition on one key, made ready. It is immutable.
type compiledLookup struct {
	key        string
	tokens     []string            // of a JSON Pointer, unescaped; nil for a top-level key
	conditions []compiledCondition // at least one
	twins      bool                // a key that differs only in case makes the lookup fail
}

// compileLookup compiles the conditions on one key of the arguments or the attributes. The error joins a
// *ConditionError for everything that is wrong.
func compileLookup(key string, conds []Condition, isArgs bool) (*compiledLookup, error) {
	l := &compiledLookup{key: key}
	var errs []error
	switch {
	case key == "":
		errs = append(errs, &ConditionError{Err: errors.New(`the key is empty (write "/" for the member whose name is empty)`)})
	case !utf8.ValidString(key):
		errs = append(errs, &ConditionError{Key: key, Err: errors.New("the key is not valid UTF-8")})
	case key[0] == '/':
		tokens, err := splitPointer(key)
		if err != nil {
			errs = append(errs, &ConditionError{Key: key, Err: err})
		}
		l.tokens = tokens
	default:
		l.twins = isArgs
	}
	if len(conds) == 0 {
		errs = append(errs, &ConditionError{Key: key, Err: errors.New("no condition (name at least one, such as exists)")})
	}
	left := maxConditions
	for _, c := range conds {
		from := len(errs)
		l.conditions = append(l.conditions, compileConditionPart(c, "", maxDepth, &left, &errs))
		for _, err := range errs[from:] {
			err.(*ConditionError).Key = key
		}
	}
	if len(errs) > 0 {
		return nil, joinConditionErrors(errs)
	}
	return l, nil
}

// splitPointer returns the tokens of a JSON Pointer (RFC 6901) that begins with '/'.
func splitPointer(pointer string) ([]string, error) {
	for i := range len(pointer) {
		if pointer[i] == '~' && (i+1 == len(pointer) || pointer[i+1] != '0' && pointer[i+1] != '1') {
			return nil, fmt.Errorf("'~' at byte %d of a JSON Pointer (write ~0 for '~' and ~1 for '/')", i)
		}
	}
	tokens := strings.Split(pointer[1:], "/")
	for i, t := range tokens {
		tokens[i] = strings.ReplaceAll(strings.ReplaceAll(t, "~1", "/"), "~0", "~")
	}
	return tokens, nil
}
