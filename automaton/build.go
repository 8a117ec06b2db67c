package automaton

// This file builds the index: it tells the patterns apart by the shape of their halves and hands each to
// the part that is made for it.

import (
	"slices"
	"strings"

	"github.com/penstock-mcp/penstock/fold"
)

// shape is what the name half of a pattern looks like.
type shape uint8

const (
	literalShape shape = iota // a
	prefixShape               // a* and *
	suffixShape               // *a
	infixShape                // *a*, where a is a fragment
	globShape                 // all others; the fragment is not enough
	regexpShape               // a regexp, and what is past the bound on text
)

// part is a pattern while the index is built.
type part struct {
	text  string // the name half, folded in mode Folded: without its stars, or for globShape with them
	scope int32  // its scope; for a server glob, until all scopes are known, the complement of its number in globs
	shape shape
}

// shapeOf tells the shape of a name half, and its text.
func shapeOf(name string) (shape, string) {
	i := strings.IndexByte(name, '*')
	if i < 0 {
		return literalShape, name
	}
	body := strings.Trim(name, "*")
	switch {
	case body == "":
		return prefixShape, ""
	case strings.IndexByte(body, '*') >= 0:
		return globShape, name
	case i > 0:
		return prefixShape, body
	case name[len(name)-1] != '*':
		return suffixShape, body
	case len(body) > maxFragment:
		return globShape, name
	}
	return infixShape, body
}

// builder is an index in the making.
type builder struct {
	x     *Index
	in    []Pattern
	parts []part
	count [regexpShape + 1]int // parts of each shape
	bytes int                  // bytes of the records of the literals
	room  int                  // bytes of text that may still be indexed
	globs serverTable          // the distinct server globs
}

// Build returns the index of the patterns; pattern i has the number i. It never fails: any string is a
// pattern, and compares by its bytes.
//
// Build keeps no reference to patterns, but shares its strings and regexps.
//
// Cost: for a literal some 100 ns and 50 bytes; a prefix, suffix or infix about three times that; and the table of
// fragments, which takes up to 8 MB. Patterns past the first gigabyte of text are tried one by one. There may
// be fewer than 2^31 patterns.
func Build(mode Mode, patterns []Pattern) *Index {
	x := build(mode, patterns, maxText)
	x.setSmall(patterns)
	return x
}

// maxText bounds the text that is indexed, so that offsets in it and the number of states, which is at most
// one more, are less than sparseBit.
const maxText = sparseBit - 2

func build(mode Mode, patterns []Pattern, room int) *Index {
	x := &Index{mode: mode, n: len(patterns), floor: none}
	if x.n == 0 {
		return x
	}
	b := builder{x: x, in: patterns, parts: make([]part, x.n), room: room}
	b.split()
	b.scopes()
	b.literals()
	b.tries()
	b.machine()
	return x
}

// split finds the shape and the scope of every pattern.
func (b *builder) split() {
	x := b.x
	lastServer, lastScope := "*", anyScope
	for i := range b.in {
		p, q := &b.in[i], &b.parts[i]
		if p.Re != nil {
			q.shape = regexpShape
			b.room -= maxAlternatives * maxFragment
		} else {
			name := b.loose(p.Name)
			q.shape, q.text = shapeOf(name)
			if b.room -= len(name); b.room < 0 {
				q.shape, q.text = regexpShape, name
			}
			if q.shape == literalShape {
				b.bytes += recordSize(len(q.text))
			}
		}
		b.count[q.shape]++
		if p.Server != lastServer {
			lastServer, lastScope = p.Server, b.scopeOf(b.loose(p.Server))
		}
		q.scope = lastScope
	}
	x.servers.names = slices.Clip(x.servers.names)
}

// loose returns what s is compared as.
func (b *builder) loose(s string) string {
	if b.x.mode == Folded && !isFolded(s) {
		return fold.String(s)
	}
	return s
}

// scopeOf returns the scope of a server half, as part has it.
func (b *builder) scopeOf(server string) int32 {
	switch {
	case strings.IndexByte(server, '*') < 0:
		return b.x.servers.intern(server)
	case strings.Trim(server, "*") == "":
		return anyScope
	}
	return ^b.globs.intern(server)
}

// scopes numbers the scopes and makes the lists of those that apply to each literal server.
func (b *builder) scopes() {
	x := b.x
	x.firstGlob = int32(len(x.servers.names)) + 1
	x.scopes = make([]scope, int(x.firstGlob)+len(b.globs.names)+1)
	for i := range x.scopes {
		x.scopes[i] = scope{least: none, prefix: -1, suffix: -1}
	}
	for i := range b.parts {
		q := &b.parts[i]
		if q.scope < 0 {
			q.scope = x.firstGlob + ^q.scope - 1
		}
		s := &x.scopes[q.scope]
		s.least = min(s.least, int32(i))
		s.literals = s.literals || q.shape == literalShape
	}
	if len(b.globs.names) > 0 {
		patterns := make([]Pattern, len(b.globs.names))
		for i, g := range b.globs.names {
			patterns[i] = Pattern{Server: "*", Name: g}
		}
		x.globs = Build(Exact, patterns)
	}
	b.lists()
}

// maxListed bounds the ready-made lists of scopes, in entries for each pattern. A server that many globs
// match has a long list, and there may be many of those; past the bound lists are made when asked for.
const maxListed = 4

func (b *builder) lists() {
	x := b.x
	n := int(x.firstGlob)
	x.start = make([]uint32, 1, n+1)
	x.applies = make([]int32, 0, 2*n)
	for id := range int32(n) {
		if x.scopes[anyScope].least != none {
			x.applies = append(x.applies, anyScope)
		}
		if id > 0 {
			x.applies = append(x.applies, id)
			from := len(x.applies)
			if x.globs != nil && x.complete == id-1 && from <= maxListed*x.n+1024 {
				name := x.servers.names[id-1]
				x.applies = x.globs.all(x.applies, x.globs.anyList(), name, name)
				for i := range x.applies[from:] {
					x.applies[from+i] += x.firstGlob
				}
				x.complete = id
			}
		}
		x.start = append(x.start, uint32(len(x.applies)))
	}
	x.applies = slices.Clip(x.applies)
}

// literals fills the table of literals.
func (b *builder) literals() {
	x := b.x
	x.literals = newLiterals(b.count[literalShape], b.bytes)
	for i := range b.parts {
		if q := &b.parts[i]; q.shape == literalShape {
			x.literals.add(q.scope, int32(i), q.text)
		}
	}
}

// tries builds the prefixes and suffixes.
func (b *builder) tries() {
	x := b.x
	keys := make([]key, 0, max(b.count[prefixShape], b.count[suffixShape]))
	for i := range b.parts {
		if q := &b.parts[i]; q.shape == prefixShape {
			keys = append(keys, key{pack(q.text), q.scope, int32(i), q.text})
		}
	}
	x.prefixes = newTries(keys, false, func(scope, node int32) { x.scopes[scope].prefix = node })
	keys = keys[:0]
	for i := range b.parts {
		if q := &b.parts[i]; q.shape == suffixShape {
			r := reversed(q.text)
			keys = append(keys, key{pack(r), q.scope, int32(i), r})
		}
	}
	x.suffixes = newTries(keys, true, func(scope, node int32) { x.scopes[scope].suffix = node })
}

func reversed(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}

// machine files infixes, globs and regexps under fragments and builds the machine.
func (b *builder) machine() {
	x := b.x
	globs, res := b.count[globShape], b.count[regexpShape]
	wants := make([]want, 0, b.count[infixShape]+globs+res)
	b.fileInfixes(&wants)
	if globs > 0 || res > 0 {
		r := newRarity(4 * (globs + res))
		for i := range b.parts {
			if q := &b.parts[i]; q.shape == globShape {
				r.count(q.text)
			}
		}
		b.fileRegexps(&wants, &r)
		b.fileGlobs(&wants, &r)
	}
	for i := range wants {
		x.floor = min(x.floor, wants[i].num)
	}
	x.machine = newMachine(wants, tableBudget)
}

func (b *builder) fileInfixes(wants *[]want) {
	for i := range b.parts {
		if q := &b.parts[i]; q.shape == infixShape {
			*wants = append(*wants, want{pack(q.text), q.text, entry{q.scope, int32(i), checkNone}})
		}
	}
}

func (b *builder) fileGlobs(wants *[]want, r *rarity) {
	x := b.x
	x.globEnd = make([]uint32, 0, b.count[globShape])
	var text strings.Builder
	for i := range b.parts {
		if q := &b.parts[i]; q.shape == globShape {
			w := r.pick(q.text)
			*wants = append(*wants, want{pack(w), w, entry{q.scope, int32(i), uint32(len(x.globEnd))}})
			text.WriteString(q.text)
			x.globEnd = append(x.globEnd, uint32(text.Len()))
		}
	}
	x.globText = strings.Clone(text.String())
}

// fileRegexps counts the fragments that the regexps offer before it chooses; those of globs are counted.
func (b *builder) fileRegexps(wants *[]want, r *rarity) {
	x := b.x
	sets := make([][][]string, 0, b.count[regexpShape])
	for i := range b.parts {
		if b.parts[i].shape == regexpShape {
			var s [][]string
			if re := b.in[i].Re; re != nil && b.room >= 0 {
				s = requiredLiterals(x.mode, re.String())
				r.countSets(s)
			}
			sets = append(sets, s)
			x.res = append(x.res, regexpRule{b.in[i].Re, b.parts[i].text, int32(i)})
		}
	}
	for i, rule := range x.res {
		scope := b.parts[rule.num].scope
		fragments := r.pickSet(sets[i])
		for _, w := range fragments {
			*wants = append(*wants, want{pack(w), w, entry{scope, rule.num, uint32(i) | checkRegexp}})
		}
		if fragments == nil {
			x.bare = append(x.bare, uint32(i))
		}
	}
	scopeOf := func(i uint32) int32 { return b.parts[x.res[i].num].scope }
	slices.SortStableFunc(x.bare, func(i, j uint32) int { return int(scopeOf(i) - scopeOf(j)) })
	at := 0
	for id := range x.scopes {
		for at < len(x.bare) && scopeOf(x.bare[at]) < int32(id) {
			at++
		}
		x.scopes[id].bare = uint32(at)
	}
}
