package automaton

// This file builds the machine. It needs no trie of pointers: the distinct fragments are sorted, and a state
// is a run of them that share their first bytes, so the states come out breadth first by cutting runs.

import (
	"slices"
	"strings"
)

// want is one pattern's wish to be told of a fragment. A pattern may have several: any of them will do.
type want struct {
	word uint64 // pack(text)
	text string // 1 to maxFragment bytes
	entry
}

func compareWants(a, b want) int {
	if a.word != b.word {
		if a.word < b.word {
			return -1
		}
		return 1
	}
	if c := strings.Compare(a.text, b.text); c != 0 {
		return c
	}
	if a.scope != b.scope {
		return int(a.scope - b.scope)
	}
	return int(a.num - b.num)
}

// newMachine builds the machine of the wants, which it sorts. Rows take at most budget bytes, but the
// first state always has one.
//
// Cost: the sort, then work in proportion to the bytes of the fragments and to the table.
func newMachine(wants []want, budget int) machine {
	var m machine
	if len(wants) == 0 {
		return m
	}
	slices.SortFunc(wants, compareWants)
	texts := m.setFragments(wants)
	m.setClasses(texts)
	m.setStates(texts, budget)
	m.setChains()
	m.shrink()
	return m
}

// shrink makes the table small if its values fit.
func (m *machine) shrink() {
	if len(m.table) > smallBit || len(m.frags) > smallBit || len(m.out) > 0 {
		return
	}
	m.small = make([]uint16, len(m.table))
	for i, v := range m.table {
		m.small[i] = uint16(v&^outBit) | uint16(v>>31)<<15
	}
	m.table = nil
}

// setFragments numbers the distinct fragments, files the wants under them and returns them, sorted.
func (m *machine) setFragments(wants []want) []string {
	distinct, plain, extra := 0, 0, 0
	for i := range wants {
		if i == 0 || wants[i].text != wants[i-1].text {
			distinct++
		}
		if wants[i].scope == anyScope && wants[i].check == checkNone {
			plain++
		} else {
			extra++
		}
	}
	texts := make([]string, 0, distinct)
	m.frags = make([]fragment, 1, distinct+2)
	m.frags[0].least = none
	m.plain = make([]int32, 0, plain)
	m.extra = make([]entry, 0, extra)
	for i := range wants {
		w := &wants[i]
		if i == 0 || w.text != wants[i-1].text {
			texts = append(texts, w.text)
			m.frags = append(m.frags, fragment{least: none, plain: uint32(len(m.plain)), extra: uint32(len(m.extra))})
		}
		f := &m.frags[len(m.frags)-1]
		if w.scope == anyScope && w.check == checkNone {
			f.least = min(f.least, w.num)
			m.plain = append(m.plain, w.num)
		} else {
			f.deep = true
			if n := len(m.extra); n == int(f.extra) || m.extra[n-1] != w.entry {
				m.extra = append(m.extra, w.entry)
			}
		}
	}
	m.frags = append(m.frags, fragment{plain: uint32(len(m.plain)), extra: uint32(len(m.extra))})
	return texts
}

// setClasses gives a column to every byte value that occurs.
func (m *machine) setClasses(texts []string) {
	var used [256]bool
	for _, t := range texts {
		for i := range len(t) {
			used[t[i]] = true
		}
	}
	n := 0
	for _, u := range used {
		if !u {
			n = 1 // column 0 is taken
		}
	}
	for c, u := range used {
		if u {
			m.class[c] = uint8(n)
			n++
		}
	}
	m.width = uint32(n) + 1
}

// run is a state while the machine is built: the fragments lo to hi-1 share its depth bytes.
type run struct {
	lo, hi uint32
	value  uint32 // the state's value with its outBit
	fail   uint32 // the value of the state it falls back to, without outBit
	out    uint32 // the fragment where its chain begins, or 0
	depth  uint16
	enter  uint8 // the column that leads to it
}

// countStates returns how many states there are, the first one included.
func countStates(texts []string) int {
	n, last := 1, ""
	for _, t := range texts {
		n += len(t) - common(last, t)
		last = t
	}
	return n
}

// setStates makes the states, breadth first.
func (m *machine) setStates(texts []string, budget int) {
	n := countStates(texts)
	m.rows = uint32(min(n, max(1, budget/4/int(m.width))))
	m.table = make([]uint32, m.rows*m.width)
	if sparse := n - int(m.rows); sparse > 0 {
		m.child = make([]uint32, sparse+1)
		m.fail = make([]uint32, sparse)
		m.out = make([]uint32, sparse)
		m.enter = make([]uint8, sparse)
	}
	runs := make([]run, 1, n)
	runs[0].hi = uint32(len(texts))
	for s := uint32(0); s < uint32(len(runs)); s++ {
		r := runs[s]
		if int(r.depth) == len(texts[r.lo]) {
			r.lo++ // the state's own fragment, which sorts first
		}
		var row []uint32
		if s < m.rows {
			row = m.table[s*m.width:][:m.width]
			if s > 0 {
				copy(row, m.table[r.fail:][:m.width])
			}
			row[m.width-1] = r.out
		} else {
			i := s - m.rows
			m.child[i] = uint32(len(runs)) - m.rows
			m.fail[i], m.out[i], m.enter[i] = r.fail, r.out, r.enter
		}
		for r.lo < r.hi {
			c := texts[r.lo][r.depth]
			end := r.lo + 1
			for end < r.hi && texts[end][r.depth] == c {
				end++
			}
			next := run{lo: r.lo, hi: end, depth: r.depth + 1, enter: m.class[c]}
			if s > 0 {
				next.fail = m.follow(runs, r.fail, uint32(next.enter)) &^ outBit
			}
			next.out = m.chainOf(runs, next.fail)
			if int(next.depth) == len(texts[r.lo]) {
				next.out = r.lo + 1
				m.frags[next.out].link = m.chainOf(runs, next.fail)
			}
			if t := uint32(len(runs)); t < m.rows {
				next.value = t * m.width
			} else {
				next.value = (t - m.rows) | sparseBit
			}
			if next.out != 0 {
				next.value |= outBit
			}
			if row != nil {
				row[next.enter] = next.value
			}
			runs = append(runs, next)
			r.lo = end
		}
	}
	if m.child != nil {
		m.child[len(m.child)-1] = uint32(len(runs)) - m.rows
	}
}

// state returns the number of the state with value v.
func (m *machine) state(v uint32) uint32 {
	if v &^= outBit; v&sparseBit != 0 {
		return v&^sparseBit + m.rows
	}
	return v / m.width
}

// chainOf is chain while the states are being made.
func (m *machine) chainOf(runs []run, v uint32) uint32 { return runs[m.state(v)].out }

// follow is the step from the finished state with value v.
func (m *machine) follow(runs []run, v, column uint32) uint32 {
	for v&sparseBit != 0 {
		i := v &^ sparseBit
		for j := m.child[i]; j < m.child[i+1]; j++ {
			if uint32(runs[j+m.rows].enter) == column {
				return runs[j+m.rows].value
			}
		}
		v = m.fail[i]
	}
	return m.table[v+column]
}

// setChains completes what fragments know of their chains. A link leads to a shorter fragment, so going by
// length does it; chains have at most maxFragment members, so following each to its end would, too.
func (m *machine) setChains() {
	for i := 1; i < len(m.frags)-1; i++ {
		f := &m.frags[i]
		for j := f.link; j != 0; j = m.frags[j].link {
			g := &m.frags[j]
			f.deep = f.deep || g.deep
			f.least = min(f.least, g.least)
		}
	}
}
