package lint

// This file says what a regular expression is known to take. In general that is costly to decide; here it is enough to
// be sound: an expression without assertions that matches a piece of text matches every text that holds the piece.

import (
	"regexp"
	"regexp/syntax"
	"strings"
)

// takes is an expression, cut at its outermost alternatives: it takes what one of them takes.
type takes struct {
	parts []takesPart
	all   bool // it matches every name there could be, but perhaps the empty one and those with newlines
}

// takesPart is one alternative and the assertions in it.
type takesPart struct {
	re         *regexp.Regexp
	begin, end bool // ^ or $ of the text
	other      bool // an assertion that looks at neighbours
}

func takesOf(re *regexp.Regexp) *takes {
	t := &takes{all: takesAll(re)}
	tree, err := syntax.Parse(re.String(), syntax.Perl)
	if err != nil {
		return t
	}
	for _, sub := range alternatives(tree) {
		p := takesPart{re: re}
		if sub != tree {
			if p.re, err = regexp.Compile(sub.String()); err != nil {
				return &takes{all: t.all}
			}
		}
		p.scan(sub)
		t.parts = append(t.parts, p)
	}
	return t
}

// alternatives returns the outermost alternatives of tree.
func alternatives(tree *syntax.Regexp) []*syntax.Regexp {
	switch tree.Op {
	case syntax.OpCapture:
		if subs := alternatives(tree.Sub[0]); len(subs) > 1 {
			return subs
		}
	case syntax.OpAlternate:
		var all []*syntax.Regexp
		for _, sub := range tree.Sub {
			all = append(all, alternatives(sub)...)
		}
		return all
	}
	return []*syntax.Regexp{tree}
}

func (p *takesPart) scan(tree *syntax.Regexp) {
	switch tree.Op {
	case syntax.OpBeginText:
		p.begin = true
	case syntax.OpEndText:
		p.end = true
	case syntax.OpBeginLine, syntax.OpEndLine, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		p.other = true
	}
	for _, sub := range tree.Sub {
		p.scan(sub)
	}
}

// glob reports whether the expression is known to match everything that the glob matches.
func (t *takes) glob(glob string) bool {
	head, rest, star := strings.Cut(glob, "*")
	for i := range t.parts {
		p := &t.parts[i]
		if !star {
			if p.re.MatchString(glob) {
				return true
			}
			continue
		}
		if p.other {
			continue
		}
		if !p.end && p.re.MatchString(head) {
			return true
		}
		if p.begin {
			continue
		}
		last := strings.LastIndexByte(rest, '*')
		if p.re.MatchString(rest[last+1:]) {
			return true
		}
		if !p.end && last >= 0 {
			for piece := range strings.SplitSeq(rest[:last], "*") {
				if p.re.MatchString(piece) {
					return true
				}
			}
		}
	}
	return false
}

// probes are names that only an expression for everything takes all of.
var probes = func() []string {
	names := []string{"\ue000", "\ue000\ue001", strings.Repeat("\ue000", 300), "get_x-y.z/w", "forgetEverything", "a b", "日本"}
	for c := byte('!'); c <= '~'; c++ {
		names = append(names, string(c))
	}
	return names
}()

// takesAll reports whether re matches every name there could be, but perhaps the empty one and those with newlines.
// That is told by trying names that nobody has in mind who means some names and not others.
func takesAll(re *regexp.Regexp) bool {
	for _, name := range probes {
		if !re.MatchString(name) {
			return false
		}
	}
	return true
}

// leads returns the texts that a match of tree can only begin with, nil where that is not known or where an assertion
// stands before them.
func leads(tree *syntax.Regexp) []string {
	switch tree.Op {
	case syntax.OpLiteral:
		return []string{string(tree.Rune)}
	case syntax.OpCapture, syntax.OpPlus:
		return leads(tree.Sub[0])
	case syntax.OpRepeat:
		if tree.Min > 0 {
			return leads(tree.Sub[0])
		}
	case syntax.OpAlternate:
		var all []string
		for _, sub := range tree.Sub {
			all = append(all, leads(sub)...)
		}
		return all
	case syntax.OpConcat:
		if len(tree.Sub) == 0 {
			return nil
		}
		if anyRun(tree.Sub[0]) { // .*get begins as get does
			return leads(&syntax.Regexp{Op: syntax.OpConcat, Sub: tree.Sub[1:]})
		}
		first := leads(tree.Sub[0])
		if tree.Sub[0].Op != syntax.OpLiteral || len(tree.Sub) == 1 {
			return first
		}
		then := leads(tree.Sub[1])
		if then == nil {
			return first
		}
		var all []string
		for _, s := range then {
			all = append(all, first[0]+s)
		}
		return all
	}
	return nil
}

// missesNewline reports whether a '.' in tree decides anything about a newline: one that stands for any run at either
// end of an expression that is not tied to that end does not.
func missesNewline(tree *syntax.Regexp) bool {
	if tree.Op == syntax.OpConcat {
		subs := tree.Sub
		for len(subs) > 0 && anyRun(subs[0]) {
			subs = subs[1:]
		}
		for len(subs) > 0 && anyRun(subs[len(subs)-1]) {
			subs = subs[:len(subs)-1]
		}
		for _, sub := range subs {
			if holdsDot(sub) {
				return true
			}
		}
		return false
	}
	if tree.Op == syntax.OpCapture || tree.Op == syntax.OpAlternate {
		for _, sub := range tree.Sub {
			if missesNewline(sub) {
				return true
			}
		}
		return false
	}
	return !anyRun(tree) && holdsDot(tree)
}

func anyRun(tree *syntax.Regexp) bool {
	return tree.Op == syntax.OpStar && tree.Sub[0].Op == syntax.OpAnyCharNotNL
}

func holdsDot(tree *syntax.Regexp) bool {
	if tree.Op == syntax.OpAnyCharNotNL {
		return true
	}
	for _, sub := range tree.Sub {
		if holdsDot(sub) {
			return true
		}
	}
	return false
}
