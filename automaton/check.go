package automaton

// This file is what follows when a fragment was found that proves nothing yet: the pattern is for one
// server, or the rest of its glob or its regexp must be tried.
//
// The trap is one popular fragment: 100,000 patterns share it and a name holds it. Three things keep the
// work small: a pattern is filed under the rarest of its fragments (anchor.go), a fragment is worked off once for
// a name however often it occurs, and its entries are sorted by scope and number, so that only those of
// this server are looked at, and only until one matches or the numbers get too high.

import (
	"slices"
	"sync"
)

// maxWaiting is how many regexps First puts off until all else is known. Past it they are tried at once,
// which is only slower.
const maxWaiting = 24

// search is the state of one search for the first match, beyond what the tables say. It refers to nothing,
// which is what keeps it, and the name, on the stack: what a struct refers to is taken to go where any of it goes, and
// regexps keep what they are given.
type search struct {
	best    int32
	seen    seen
	waiting [maxWaiting]uint32 // indices into Index.res
	n       int                // how many wait
	steps   int                // entries looked at and bytes given to a glob or a regexp, for tests
}

// firstDeep ends what first began: it works off the hits of the machine, the rest of the scan and the
// regexps. It returns the least matching number below best, or best, and the steps it took.
func (x *Index) firstDeep(ids []int32, name string, raw string, best int32, c *cursor, h *hits) (int32, int) {
	s := search{best: best}
	for {
		for _, id := range h.id[:h.n] {
			x.chain(&s, ids, name, raw, id)
		}
		h.n = 0
		if x.floor >= s.best || c.pos == len(name) {
			break
		}
		s.best = x.machine.least(c, name, s.best, h)
	}
	s.seen.release()
	if s.n > 0 || len(x.bare) > 0 {
		x.regexps(&s, ids, name, raw)
	}
	return s.best, s.steps + c.falls
}

// chain works off a chain of fragments. Where it meets one that was worked off, so was the rest.
func (x *Index) chain(s *search, ids []int32, name string, raw string, id uint32) {
	m := &x.machine
	for id != 0 {
		f, end := &m.frags[id], m.frags[id+1].extra
		s.steps++
		if !f.deep {
			return
		}
		if f.extra < end {
			if !s.seen.add(id, len(m.frags)) {
				return
			}
			x.entries(s, m.extra[f.extra:end], ids, name, raw)
		}
		id = f.link
	}
}

// entries tries the entries of one fragment whose scopes apply.
func (x *Index) entries(s *search, list []entry, ids []int32, name string, raw string) {
	for len(list) > 0 && len(ids) > 0 {
		switch want := ids[0]; {
		case list[0].scope < want:
			list = list[skipEntries(list, want):]
			s.steps++
		case list[0].scope > want:
			ids = ids[skipScopes(ids, list[0].scope):]
			s.steps++
		default:
			for len(list) > 0 && list[0].scope == want && list[0].num < s.best {
				e := list[0]
				list = list[1:]
				if x.try(s, e, name, raw) {
					s.best = e.num
				}
			}
			ids = ids[1:]
		}
	}
}

// skipEntries returns how many entries at the beginning of the list have a lower scope.
func skipEntries(list []entry, scope int32) int {
	lo, step := 0, 1 // list[lo] is lower
	for lo+step < len(list) && list[lo+step].scope < scope {
		lo, step = lo+step, 2*step
	}
	hi := min(lo+step, len(list)) // list[hi] is not, or the end
	for lo+1 < hi {
		if mid := (lo + hi) / 2; list[mid].scope < scope {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

// skipScopes returns how many scopes at the beginning of ids are lower.
func skipScopes(ids []int32, scope int32) int {
	lo, step := 0, 1
	for lo+step < len(ids) && ids[lo+step] < scope {
		lo, step = lo+step, 2*step
	}
	hi := min(lo+step, len(ids))
	for lo+1 < hi {
		if mid := (lo + hi) / 2; ids[mid] < scope {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

// try reports whether the pattern of an entry matches, its scope and fragment being given. A regexp is put
// off if there is room.
func (x *Index) try(s *search, e entry, name string, raw string) bool {
	s.steps++
	switch {
	case e.check == checkNone:
		return true
	case e.check&checkRegexp == 0:
		s.steps += len(name)
		return Match(x.glob(e.check), name)
	case s.n < maxWaiting:
		s.waiting[s.n] = e.check &^ checkRegexp
		s.n++
		return false
	}
	s.steps += 2 * len(name)
	return x.regexpMatches(x.res[e.check&^checkRegexp], name, raw)
}

// glob returns the i-th glob to be checked.
func (x *Index) glob(i uint32) string {
	from := uint32(0)
	if i > 0 {
		from = x.globEnd[i-1]
	}
	return x.globText[from:x.globEnd[i]]
}

// regexps tries the regexps that wait and those without fragments, in the order of their numbers, until
// one matches.
func (x *Index) regexps(s *search, ids []int32, name, raw string) {
	slices.Sort(s.waiting[:s.n])
	var bare [8]span // what is left to try for each scope; more scopes than this are tried one after the other
	n := 0
	for _, id := range ids {
		if part := (span{x.scopes[id].bare, x.scopes[id+1].bare}); part.from < part.to {
			if n < len(bare) {
				bare[n] = part
				n++
			} else {
				x.merge(s, nil, []span{part}, name, raw)
			}
		}
	}
	x.merge(s, s.waiting[:s.n], bare[:n], name, raw)
}

// span is a part of Index.bare.
type span struct{ from, to uint32 }

// merge tries regexps, lowest number first, until one matches: waiting, which is ascending, and those of the spans.
func (x *Index) merge(s *search, waiting []uint32, bare []span, name, raw string) {
	for {
		const end = 1<<32 - 1
		next, from := uint32(end), -1
		if len(waiting) > 0 {
			next = waiting[0]
		}
		for i, b := range bare {
			if b.from < b.to && x.bare[b.from] < next {
				next, from = x.bare[b.from], i
			}
		}
		switch {
		case next == end:
			return
		case from >= 0:
			bare[from].from++
		default:
			for len(waiting) > 0 && waiting[0] == next { // once for each of its fragments
				waiting = waiting[1:]
			}
		}
		r := x.res[next]
		if r.num >= s.best {
			return
		}
		s.steps += 2 * len(name)
		if x.regexpMatches(r, name, raw) {
			s.best = r.num
			return
		}
	}
}

// regexpMatches tries the regexp on the raw name and, in mode Folded, on the fold.
func (x *Index) regexpMatches(r regexpRule, name string, raw string) bool {
	if r.re == nil {
		return Match(r.glob, name)
	}
	if r.re.MatchString(raw) {
		return true
	}
	if x.mode == Exact || name == raw {
		return false
	}
	// What regexp gets it may keep while it runs, so the fold cannot stay on the stack.
	p := foldPool.Get().(*[]byte)
	*p = append((*p)[:0], name...)
	ok := r.re.Match(*p)
	foldPool.Put(p)
	return ok
}

var foldPool = sync.Pool{New: func() any { return new([]byte) }}
