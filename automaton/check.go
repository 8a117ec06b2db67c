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

// search is one search for the first match, beyond what the tables say.
type search struct {
	x       *Index
	ids     []int32
	name    []byte
	raw     string
	best    int32
	seen    seen
	waiting [maxWaiting]uint32 // indices into Index.res
	n       int                // how many wait
	steps   int                // entries looked at and bytes given to a glob or a regexp, for tests
}

// firstDeep ends what first began: it works off the hits of the machine, the rest of the scan and the
// regexps. It returns the least matching number below best, or best, and the steps it took.
func (x *Index) firstDeep(ids []int32, name []byte, raw string, best int32, c *cursor, h *hits) (int32, int) {
	s := search{x: x, ids: ids, name: name, raw: raw, best: best}
	for {
		for _, id := range h.id[:h.n] {
			s.chain(id)
		}
		h.n = 0
		if x.floor >= s.best || c.pos == len(name) {
			break
		}
		s.best = x.machine.least(c, name, s.best, h)
	}
	s.seen.release()
	if s.n > 0 || len(x.bare) > 0 {
		s.regexps()
	}
	return s.best, s.steps + c.falls
}

// chain works off a chain of fragments. Where it meets one that was worked off, so was the rest.
func (s *search) chain(id uint32) {
	m := &s.x.machine
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
			s.entries(m.extra[f.extra:end])
		}
		id = f.link
	}
}

// entries tries the entries of one fragment whose scopes apply.
func (s *search) entries(list []entry) {
	for ids := s.ids; len(list) > 0 && len(ids) > 0; {
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
				if s.try(e) {
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
func (s *search) try(e entry) bool {
	s.steps++
	switch {
	case e.check == checkNone:
		return true
	case e.check&checkRegexp == 0:
		s.steps += len(s.name)
		return match(s.x.glob(e.check), s.name)
	case s.n < maxWaiting:
		s.waiting[s.n] = e.check &^ checkRegexp
		s.n++
		return false
	}
	s.steps += 2 * len(s.name)
	return s.x.regexpMatches(s.x.res[e.check&^checkRegexp], s.name, s.raw)
}

// glob returns the i-th glob to be checked.
func (x *Index) glob(i uint32) []byte {
	from := uint32(0)
	if i > 0 {
		from = x.globEnd[i-1]
	}
	return x.globText[from:x.globEnd[i]]
}

// regexps tries the regexps that wait and those without fragments, in the order of their numbers, until
// one matches.
func (s *search) regexps() {
	slices.Sort(s.waiting[:s.n])
	var lists [8][]uint32 // what is left to try of each list; more lists than this are tried one after the other
	lists[0], s.n = s.waiting[:s.n], 1
	for _, id := range s.ids {
		list := s.x.bare[s.x.scopes[id].bare:s.x.scopes[id+1].bare]
		switch {
		case len(list) == 0:
		case s.n < len(lists):
			lists[s.n] = list
			s.n++
		default:
			s.merge([][]uint32{list})
		}
	}
	s.merge(lists[:s.n])
}

// merge tries the regexps of ascending lists, lowest first, until one matches.
func (s *search) merge(lists [][]uint32) {
	last := -1
	for {
		k := -1
		for i, l := range lists {
			if len(l) > 0 && (k < 0 || l[0] < lists[k][0]) {
				k = i
			}
		}
		if k < 0 {
			return
		}
		i := lists[k][0]
		lists[k] = lists[k][1:]
		if int(i) == last {
			continue
		}
		last = int(i)
		r := s.x.res[i]
		if r.num >= s.best {
			return
		}
		s.steps += 2 * len(s.name)
		if s.x.regexpMatches(r, s.name, s.raw) {
			s.best = r.num
			return
		}
	}
}

// regexpMatches tries the regexp on the raw name and, in mode Folded, on the fold.
func (x *Index) regexpMatches(r regexpRule, name []byte, raw string) bool {
	if r.re.MatchString(raw) {
		return true
	}
	if x.mode == Exact || string(name) == raw {
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
