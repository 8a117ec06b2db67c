package automaton

// This file is the index itself and the search for the first match.

import "regexp"

// Mode says how names compare.
type Mode uint8

const (
	// Exact compares bytes.
	Exact Mode = iota
	// Folded compares folds (package fold), in both halves. It is never narrower than Exact.
	Folded
)

// Pattern is what one rule looks for: a server and a tool.
//
// Server and Name are segment globs: '*' is any run of bytes and everything else is itself. Server "*" is
// any server. If Re is not nil, Name is ignored and Re is tried on the tool's name; in mode Folded on the name
// and on its fold, and either one is a match.
type Pattern struct {
	Server, Name string
	Re           *regexp.Regexp
}

// Index finds the patterns that match a tool, without trying them one by one. Make it with [Build]. A nil
// *Index and the zero Index match nothing.
//
// An Index is immutable: all its methods are safe for concurrent use, take no lock and write no shared memory.
type Index struct {
	mode Mode
	n    int // patterns; their numbers are 0 to n-1

	servers   serverTable // the literal server halves, folded in mode Folded; their numbers are their scopes
	scopes    []scope     // by scope; a sentinel at the end
	start     []uint32    // start[s] to start[s+1] is the list of literal scope s in applies; list 0 is that of a server without a scope
	applies   []int32     // lists of scopes, ascending
	complete  int32       // the lists of the literal scopes 1 to complete hold the globs that match, too
	globs     *Index      // the server globs, an exact index over what may already be folded; nil if there are none
	firstGlob int32       // glob g of globs is scope firstGlob+g

	literals literals // names without a star
	prefixes tries    // `a*`
	suffixes tries    // `*a`
	machine  machine  // fragments of all others
	floor    int32    // no pattern in machine has a lower number

	small []smallPattern // all patterns, where they are few enough for First to go through them; else nil

	globText string       // the globs to be checked once a fragment of them is found, one after the other
	globEnd  []uint32     // glob i ends at globEnd[i] in globText, and begins where the one before ends
	res      []regexpRule // the regexps, by number
	bare     []uint32     // indices into res of those without fragments, by scope, then number
}

// regexpRule is a pattern with a regexp.
type regexpRule struct {
	re   *regexp.Regexp
	glob string // if re is nil: the glob to try, of a pattern past maxText
	num  int32
}

// Len returns the number of patterns.
func (x *Index) Len() int {
	if x == nil {
		return 0
	}
	return x.n
}

// First returns the least number of a pattern that matches the tool, or -1.
//
// Cost: up to 12 patterns without a regexp are gone through one by one. Beyond that, a look-up of the server, one of the name, a walk down the server's prefixes and suffixes, one pass
// over the bytes of the name, and a check of each many-star glob and each regexp that could match and has
// a lower number than what was found before. Regexps that need no literal text are tried last. It allocates nothing for a
// name of up to 256 bytes, and for a longer one at most its fold.
func (x *Index) First(server, name string) int {
	return x.FirstBelow(server, name, int(none))
}

// FirstBelow returns the least number below limit of a pattern that matches the tool, or -1. It costs
// what [Index.First] costs, and less the more patterns limit rules out.
func (x *Index) FirstBelow(server, name string, limit int) int {
	if x == nil || x.n == 0 || limit <= 0 {
		return -1
	}
	if x.small != nil {
		return x.firstSmall(server, name, limit)
	}
	ids, ok := x.known(server)
	if !ok {
		var buf [64]int32
		return x.firstName(x.resolve(buf[:0], server), name, limit)
	}
	return x.firstName(ids, name, limit)
}

// FirstIn is [Index.First] for a server resolved before.
func (x *Index) FirstIn(s Scope, name string) int {
	if x == nil || x.n == 0 {
		return -1
	}
	if x.small != nil {
		return x.firstSmall(s.server, name, x.n)
	}
	return x.firstName(x.scopesOf(s), name, int(none))
}

// Any reports whether any pattern matches the tool. It costs what [Index.First] costs.
func (x *Index) Any(server, name string) bool { return x.First(server, name) >= 0 }

func (x *Index) firstName(ids []int32, name string, limit int) int {
	best := int32(min(limit, x.n))
	var num int32
	if x.mode == Folded && !isFolded(name) {
		var buf [maxStackName]byte
		num = x.first(ids, loose(buf[:0], name), name, best)
	} else {
		num = x.first(ids, name, name, best)
	}
	if num == best {
		return -1
	}
	return int(num)
}

// first returns the least number below best that matches, or best. name is raw, folded in mode Folded.
func (x *Index) first(ids []int32, name string, raw string, best int32) int32 {
	var hash uint64
	if x.literals.slots != nil {
		hash = x.literals.seed.sum(name)
	}
	for _, id := range ids {
		s := &x.scopes[id]
		if s.least >= best {
			continue
		}
		if s.literals {
			if ref := x.literals.find(id, hash, name); ref != 0 {
				num, _ := x.literals.number(ref)
				best = min(best, num)
			}
		}
		if s.prefix >= 0 {
			best = min(best, x.prefixes.least(s.prefix, name))
		}
		if s.suffix >= 0 {
			best = min(best, x.suffixes.least(s.suffix, name))
		}
	}
	var (
		c cursor
		h hits
	)
	if x.floor < best {
		best = x.machine.least(&c, name, best, &h)
	}
	if h.n > 0 || len(x.bare) > 0 {
		best, _ = x.firstDeep(ids, name, raw, best, &c, &h)
	}
	return best
}
