package automaton

// This file finds text that a name must hold for a regexp to match it, so that a regexp runs only where
// that text was seen. A mistake here is a rule that never fires, so every step errs towards "nothing is required".
//
// The traps, each of them a test:
//
//   - (?i) is Unicode simple folding: (?i)s also takes U+017F (ſ), which package fold keeps as it is. A letter
//     without case stands for its whole orbit, and what is required is one of the folds of the orbit.
//   - A literal U+FFFD matches a byte that is not UTF-8. So does what cannot be encoded, such as U+D800, in
//     some of the engines behind package regexp. Neither is ever part of what is required.
//   - ^, $ and \b may stand in the middle and may be in a mode for lines. They are taken to match anywhere.
//   - regexp.CompilePOSIX reads a+? as (a+)?, which needs no a. Nothing is taken from what looks lazy.
//
// In mode Folded the text is folded and looked for in the fold of the name. That covers both tries: if
// the regexp matches the name, the fold of the literal is in the fold of the name, because the fold of a
// whole is the fold of its pieces; and if it matches the fold, the same, because the fold of a fold is itself.

import (
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/penstock-mcp/penstock/fold"
)

const (
	maxAlternatives = 16 // strings in one set; a regexp that needs one of more than these has none
	maxLiteral      = 48 // a run of literals is cut here: fragments are shorter, and it keeps building linear
	maxSets         = 8  // sets to choose from for one regexp
)

// requirement is what is known of one part of a regexp.
type requirement struct {
	// exact, if not nil, is all that the part can match: the text is one of these, folded in mode Folded.
	exact []string
	// sets are sets of non-empty strings; what the part matches holds at least one string of each set. If
	// exact is not nil, they are not given.
	sets [][]string
}

// requiredLiterals returns sets of non-empty strings, none of them empty. A name that re matches, or its fold in mode
// Folded, holds at least one string of each set. There may be no sets.
//
// Cost: in proportion to the length of the expression.
func requiredLiterals(mode Mode, expr string) [][]string {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil
	}
	return required(mode, re).all()
}

// all returns the sets of r.
func (r requirement) all() [][]string {
	if r.exact == nil {
		return r.sets
	}
	if usable(r.exact) {
		return [][]string{r.exact}
	}
	return nil
}

// usable reports whether the set says anything: the empty string is in every name.
func usable(set []string) bool {
	return len(set) > 0 && !slices.Contains(set, "")
}

var nothing = []string{""}

func required(mode Mode, re *syntax.Regexp) requirement {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return requirement{exact: nothing}
	case syntax.OpLiteral:
		var c chain
		c.begin()
		for _, r := range re.Rune {
			c.add(requirement{exact: variants(mode, r, re.Flags&syntax.FoldCase != 0)})
		}
		return c.end()
	case syntax.OpCharClass:
		return requirement{exact: classVariants(mode, re.Rune)}
	case syntax.OpCapture:
		return required(mode, re.Sub[0])
	case syntax.OpConcat:
		var c chain
		c.begin()
		for _, sub := range re.Sub {
			c.add(required(mode, sub))
		}
		return c.end()
	case syntax.OpAlternate:
		return alternate(mode, re.Sub)
	case syntax.OpQuest:
		sub := required(mode, re.Sub[0])
		if sub.exact == nil || len(sub.exact) >= maxAlternatives {
			return requirement{}
		}
		return requirement{exact: union(sub.exact, nothing)}
	case syntax.OpPlus:
		if re.Flags&syntax.NonGreedy == 0 {
			return requirement{sets: required(mode, re.Sub[0]).all()}
		}
	case syntax.OpRepeat:
		if re.Flags&syntax.NonGreedy == 0 && re.Min > 0 {
			return requirement{sets: required(mode, re.Sub[0]).all()}
		}
	}
	return requirement{}
}

// variants returns the text that a literal rune can stand for, or nil if that is not known.
func variants(mode Mode, r rune, anyCase bool) []string {
	v, ok := appendVariant(nil, mode, r)
	if !ok {
		return nil
	}
	if !anyCase {
		return v
	}
	for o := unicode.SimpleFold(r); o != r; o = unicode.SimpleFold(o) {
		if v, ok = appendVariant(v, mode, o); !ok {
			return nil
		}
	}
	if mode == Exact && len(v) > 1 {
		return nil // two to the power of the letters: not worth it
	}
	return v
}

// classVariants returns the text that a small character class can stand for, or nil.
func classVariants(mode Mode, ranges []rune) []string {
	const most = 4
	var v []string
	for i := 0; i+1 < len(ranges); i += 2 {
		if ranges[i+1]-ranges[i] >= most {
			return nil
		}
		for r := ranges[i]; r <= ranges[i+1]; r++ {
			var ok bool
			if v, ok = appendVariant(v, mode, r); !ok || len(v) > most {
				return nil
			}
		}
	}
	return v
}

// appendVariant adds the text of r to the set v. It reports false for a rune that can match other bytes
// than its own.
func appendVariant(v []string, mode Mode, r rune) ([]string, bool) {
	if r == utf8.RuneError || !utf8.ValidRune(r) {
		return nil, false
	}
	s := string(r)
	if mode == Folded {
		s = fold.String(s)
	}
	if !slices.Contains(v, s) {
		v = append(v, s)
	}
	return v, true
}

// alternate returns what holds for one of the branches.
func alternate(mode Mode, subs []*syntax.Regexp) requirement {
	exact, one := []string{}, []string{}
	for _, sub := range subs {
		r := required(mode, sub)
		if exact != nil && r.exact != nil {
			exact = union(exact, r.exact)
		} else {
			exact = nil
		}
		if one != nil {
			one = union(one, longest(r.all()))
		}
	}
	if len(exact) > 0 {
		return requirement{exact: exact}
	}
	if !usable(one) {
		return requirement{}
	}
	return requirement{sets: [][]string{one}}
}

// union returns the set of what is in a or b; nil if that is too much, or if b is empty.
func union(a, b []string) []string {
	if len(b) == 0 {
		return nil
	}
	u := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(u, s) {
			u = append(u, s)
		}
	}
	if len(u) > maxAlternatives {
		return nil
	}
	return u
}

// longest returns the set whose shortest string is longest, or nil.
func longest(sets [][]string) []string {
	var best []string
	for _, s := range sets {
		if best == nil || shortest(s) > shortest(best) {
			best = s
		}
	}
	return best
}

// shortest returns the length of the shortest string of the set.
func shortest(set []string) int {
	n := len(set[0])
	for _, s := range set {
		n = min(n, len(s))
	}
	return n
}

// chain puts requirements together that follow each other.
type chain struct {
	run   []string // what the parts since the last cut can match, exactly
	sets  [][]string
	whole bool // whether there was no cut yet
}

func (c *chain) begin() { c.run, c.whole = nothing, true }

// add appends a part.
func (c *chain) add(r requirement) {
	if r.exact == nil {
		c.cut()
		for _, s := range r.sets {
			c.keep(s)
		}
		return
	}
	if len(c.run)*len(r.exact) > maxAlternatives || len(c.run[0]) >= maxLiteral {
		c.cut()
	}
	product := make([]string, 0, len(c.run)*len(r.exact))
	for _, a := range c.run {
		for _, b := range r.exact {
			if s := a + b; !slices.Contains(product, s) {
				product = append(product, s)
			}
		}
	}
	c.run = product
}

// cut ends the run.
func (c *chain) cut() {
	if usable(c.run) {
		c.keep(c.run)
	}
	c.run, c.whole = nothing, false
}

// keep adds a set; of too many it drops the one with the shortest string.
func (c *chain) keep(set []string) {
	c.sets = append(c.sets, set)
	if len(c.sets) <= maxSets {
		return
	}
	least := 0
	for i, s := range c.sets {
		if shortest(s) < shortest(c.sets[least]) {
			least = i
		}
	}
	c.sets = slices.Delete(c.sets, least, least+1)
}

func (c *chain) end() requirement {
	if c.whole {
		return requirement{exact: c.run}
	}
	c.cut()
	return requirement{sets: c.sets}
}
