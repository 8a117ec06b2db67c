package engine

import (
	"strings"
	"unicode"
)

// This file finds keys of arguments that are equal to another key but for case. A rule about path cannot answer where
// there is a Path as well: a careless decoder may take either. Case is that of strings.EqualFold, as in the decoders
// that match without it.

// manyKeys is from how many keys on they are folded once for a call. Below it each rule goes through all of them, which
// costs less and allocates nothing; a call with 10,000 keys against 200 rules took 48 ms that way.
const manyKeys = 32

// keyFolds holds the keys of one object by what they are but for case. It is made when it is first asked, by the one
// goroutine that makes the decision. A nil *keyFolds knows nothing.
type keyFolds struct {
	byFold map[string]keyGroup
}

// keyGroup is the keys that are equal but for case.
type keyGroup struct {
	first string
	more  bool // there are others
}

// newKeyFolds returns the place for what is learnt of the keys of args, nil where it is not worth it.
func newKeyFolds(args map[string]any) *keyFolds {
	if len(args) < manyKeys {
		return nil
	}
	return new(keyFolds)
}

// twin reports whether m has a key other than key that is equal to it but for case.
func (f *keyFolds) twin(m map[string]any, key string) bool {
	if f == nil {
		for k := range m {
			if k != key && strings.EqualFold(k, key) {
				return true
			}
		}
		return false
	}
	if f.byFold == nil {
		f.byFold = make(map[string]keyGroup, len(m))
		for k := range m {
			folded := caseFold(k)
			if g, ok := f.byFold[folded]; ok {
				g.more = true
				f.byFold[folded] = g
			} else {
				f.byFold[folded] = keyGroup{first: k}
			}
		}
	}
	g, ok := f.byFold[caseFold(key)]
	return ok && (g.more || g.first != key)
}

// caseFold returns a string that two strings share exactly when strings.EqualFold holds for them: of each character the
// least one that is equal to it but for case.
func caseFold(s string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for x := unicode.SimpleFold(r); x != r; x = unicode.SimpleFold(x) {
			least = min(least, x)
		}
		return least
	}, s)
}
