package automaton

// This file is the search for all matches. What it finds is gathered in any order and sorted at the end.

import (
	"math/bits"
	"slices"
	"sync"
)

// All appends to dst the numbers of all patterns that match the tool, ascending, each once.
//
// Cost: what [Index.First] costs, without what its stopping early saves, and time in proportion to what it
// finds; each regexp that could match is tried once. It allocates nothing but room in dst for a name of up to 256
// bytes, and for a longer one at most its fold.
func (x *Index) All(dst []int32, server, name string) []int32 {
	if x == nil || x.n == 0 {
		return dst
	}
	ids, ok := x.known(server)
	if !ok {
		var buf [64]int32
		return x.allName(dst, x.resolve(buf[:0], server), name)
	}
	return x.allName(dst, ids, name)
}

// AllIn is [Index.All] for a server resolved before.
func (x *Index) AllIn(dst []int32, s Scope, name string) []int32 {
	if x == nil || x.n == 0 {
		return dst
	}
	return x.allName(dst, x.scopesOf(s), name)
}

func (x *Index) allName(dst []int32, ids []int32, name string) []int32 {
	if x.mode == Folded && !isFolded(name) {
		var buf [maxStackName]byte
		return x.all(dst, ids, loose(buf[:0], name), name)
	}
	return x.all(dst, ids, name, name)
}

// all appends what matches. name is raw, folded in mode Folded.
func (x *Index) all(dst []int32, ids []int32, name string, raw string) []int32 {
	from := len(dst)
	var hash uint64
	if x.literals.slots != nil {
		hash = x.literals.seed.sum(name)
	}
	open := false // whether dst holds regexps that are not tried yet
	for _, id := range ids {
		s := &x.scopes[id]
		if s.literals {
			for ref := x.literals.find(id, hash, name); ref != 0; {
				var num int32
				num, ref = x.literals.number(ref)
				dst = append(dst, num)
			}
		}
		if s.prefix >= 0 {
			dst = x.prefixes.appendAll(dst, s.prefix, name)
		}
		if s.suffix >= 0 {
			dst = x.suffixes.appendAll(dst, s.suffix, name)
		}
		for _, i := range x.bare[s.bare:x.scopes[id+1].bare] {
			dst = append(dst, x.res[i].num)
			open = true
		}
	}
	if x.machine.width != 0 {
		var c cursor
		if id := x.machine.next(&c, name); id != 0 {
			var more bool
			dst, more, _ = x.allDeep(dst, ids, name, &c, id)
			open = open || more
		}
	}
	found := sorted(dst[from:], x.n)
	if open {
		found = x.sieve(found, name, raw)
	}
	return dst[:from+len(found)]
}

// allDeep appends what the fragments in the name lead to, beginning with the chain at id. Regexps are
// appended untried, and reported; so are the steps taken.
func (x *Index) allDeep(dst []int32, ids []int32, name string, c *cursor, id uint32) ([]int32, bool, int) {
	m := &x.machine
	var done seen
	open, steps := false, 0
	for ; id != 0; id = m.next(c, name) {
		for id != 0 && done.add(id, len(m.frags)) {
			f, end := &m.frags[id], &m.frags[id+1]
			dst = append(dst, m.plain[f.plain:end.plain]...)
			steps += 1 + int(end.plain-f.plain)
			for list, ids := m.extra[f.extra:end.extra], ids; len(list) > 0 && len(ids) > 0; {
				steps++
				switch want := ids[0]; {
				case list[0].scope < want:
					list = list[skipEntries(list, want):]
				case list[0].scope > want:
					ids = ids[skipScopes(ids, list[0].scope):]
				default:
					e := list[0]
					list = list[1:]
					switch {
					case e.check == checkNone:
						dst = append(dst, e.num)
					case e.check&checkRegexp != 0:
						dst = append(dst, e.num)
						open = true
					default:
						steps += len(name)
						if Match(x.glob(e.check), name) {
							dst = append(dst, e.num)
						}
					}
				}
			}
			id = f.link
		}
	}
	done.release()
	return dst, open, steps + c.falls
}

// sieve removes from ascending numbers those of regexps that do not match.
func (x *Index) sieve(found []int32, name string, raw string) []int32 {
	kept := found[:0]
	at := 0
	for _, num := range found {
		i, ok := slices.BinarySearchFunc(x.res[at:], num, func(r regexpRule, num int32) int { return int(r.num - num) })
		at += i
		if !ok || x.regexpMatches(x.res[at], name, raw) {
			kept = append(kept, num)
		}
	}
	return kept
}

// sorted sorts a list of numbers below n in place and returns it without duplicates.
//
// A short list is sorted by insertion. For a longer one a bit is set for each number and the bits are read back:
// that is linear where sorting is not (388 numbers of 100,000: 1 µs against 10). A second level with a bit for
// each word of the first keeps the reading short; it pays until the numbers are very thin.
func sorted(list []int32, n int) []int32 {
	if len(list) <= 12 {
		for i := 1; i < len(list); i++ {
			v, j := list[i], i
			for ; j > 0 && list[j-1] > v; j-- {
				list[j] = list[j-1]
			}
			list[j] = v
		}
		return slices.Compact(list)
	}
	if len(list) < n>>15 {
		slices.Sort(list)
		return slices.Compact(list)
	}
	p := bitPool.Get().(*bitSorter)
	list = list[:p.sort(list, n)]
	bitPool.Put(p)
	return list
}

// bitSorter is room to sort in. All its bits are 0 between uses.
type bitSorter struct {
	words Bitset // the numbers
	upper Bitset // the words that are not 0
}

var bitPool = sync.Pool{New: func() any { return new(bitSorter) }}

// sort sorts the list in place and returns how many different numbers there are.
func (p *bitSorter) sort(list []int32, n int) int {
	if len(p.words)*64 < n {
		p.words = NewBitset(n)
		p.upper = NewBitset(len(p.words))
	}
	words, upper := p.words, p.upper
	for _, v := range list {
		i := uint32(v) >> 6
		words[i] |= 1 << (uint32(v) & 63)
		upper[i>>6] |= 1 << (i & 63)
	}
	k := 0
	for i, u := range upper[:(n+4095)/4096] {
		if u == 0 {
			continue
		}
		upper[i] = 0
		for ; u != 0; u &= u - 1 {
			j := i<<6 + bits.TrailingZeros64(u)
			w := words[j]
			words[j] = 0
			for ; w != 0; w &= w - 1 {
				list[k] = int32(j<<6 + bits.TrailingZeros64(w))
				k++
			}
		}
	}
	return k
}
