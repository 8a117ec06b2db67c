package automaton

import "sync"

// seen is a set of fragments: which ones a search has worked off. It lives on the stack while it is small,
// which it is for every name of a real tool, and moves to pooled memory for a name that holds many.
type seen struct {
	n    int
	tab  [64]uint32 // open addressing; 0 is an empty place
	more *[]uint64  // one bit for each fragment, once tab is too full; nil before
}

// maxSeen is how many fragments fit on the stack: three quarters of the places.
const maxSeen = 48

// add adds id, which is less than total and not 0, and reports whether it is new.
func (s *seen) add(id uint32, total int) bool {
	if s.more == nil {
		i := id * 0x9e3779b1 >> 26
		for s.tab[i] != 0 {
			if s.tab[i] == id {
				return false
			}
			i = (i + 1) & 63
		}
		if s.n < maxSeen {
			s.tab[i] = id
			s.n++
			return true
		}
		s.more = getWords(total)
		for _, old := range s.tab {
			(*s.more)[old>>6] |= 1 << (old & 63)
		}
	}
	w := &(*s.more)[id>>6]
	if *w&(1<<(id&63)) != 0 {
		return false
	}
	*w |= 1 << (id & 63)
	return true
}

// release gives the pooled memory back.
func (s *seen) release() {
	if s.more != nil {
		wordPool.Put(s.more)
		s.more = nil
	}
}

var wordPool = sync.Pool{New: func() any { return new([]uint64) }}

// getWords returns pooled memory for n bits, all 0.
func getWords(n int) *[]uint64 {
	p := wordPool.Get().(*[]uint64)
	k := (n + 63) / 64
	if cap(*p) < k {
		*p = make([]uint64, k)
	}
	*p = (*p)[:k]
	clear(*p)
	return p
}
