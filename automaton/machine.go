package automaton

// This file is the machine that finds every fragment inside a name in one pass (Aho and Corasick, 1975).
//
// Naive: bytes.Contains for every fragment. The machine keeps, for what it has read, the longest tail
// that begins a fragment: its state. A state that has a row in the table finds the next one with one load, and
// the table has one column for each byte value that occurs in a fragment and one for all others.
//
// States are numbered breadth first, so those that matter most come first and lie together. The first
// of them have rows, as many as the budget holds; all others have only their edges and the state to
// fall back to. Falling back always leads to a shorter tail and so to a lower number: a row is complete as soon as
// it is made, and a state without one reaches a row within maxFragment steps. There is one
// mechanism and no cliff.
//
// Numbers are stored multiplied by the row length, which saves a multiplication for each byte. Whether
// anything ends in a state is a bit of the value that leads to it, so the loop has one rarely taken branch.

const (
	// maxFragment bounds the length of a fragment, and with it the states (16 for a pattern) and the steps of one
	// fall back. Longer pieces are cut to it and checked afterwards. 16 bytes of a tool name are nearly
	// always enough: the longest of 4,504 real ones has 57.
	maxFragment = 16

	// tableBudget is the most the rows may take, in bytes. It is what 100,000 patterns of the usual mix
	// need; the second-level cache of the machines at hand has 1 to 2 MB.
	tableBudget = 8 << 20

	outBit    = 1 << 31 // a fragment ends in this state
	smallBit  = 1 << 15 // outBit of a small table
	sparseBit = 1 << 30 // the state has no row; the rest of the value is its number less the number of rows
)

// machine finds fragments. The zero machine finds nothing; start no scan on it.
type machine struct {
	class [256]uint8 // the column of each byte value; those that are in no fragment share column 0
	width uint32     // the length of a row: the columns, of which there are at most 256, and one more
	rows  uint32     // states with a row: the numbers below this
	table []uint32   // rows of values; the last place of a row is the fragment where the state's chain begins, or 0; nil if small is used
	small []uint16   // the same table with outBit moved to smallBit, where all values fit: half the memory and its cache

	// States without a row. The i-th one here has the number rows+i; children follow one another.
	child []uint32 // its children are child[i] to child[i+1]-1, counted here as i is; one more than there are states
	fail  []uint32 // the value of the state of its longest proper tail, without outBit
	out   []uint32 // the fragment where its chain begins, or 0
	enter []uint8  // the column that leads to it from its parent

	// frags describes the fragments, numbered from 1, and a sentinel. Entry 0 is no fragment.
	frags []fragment
	plain []int32 // numbers of patterns that need no more than the fragment, any server; ascending for each fragment
	extra []entry // all other patterns, by scope, then number, for each fragment
}

// fragment is what depends on one fragment having been seen.
type fragment struct {
	least int32  // the least plain number over its chain; none if there is no such number
	link  uint32 // the next fragment of the chain: the longest one that is a proper tail of this one; 0 if none
	plain uint32 // where its plain numbers begin; they end where those of the next fragment begin
	extra uint32 // the same for extra
	deep  bool   // whether any fragment of the chain, itself included, has extra entries
}

// entry is a pattern that needs more than a fragment.
type entry struct {
	scope int32  // the scope that must apply
	num   int32  // the pattern
	check uint32 // what must hold besides: nothing (checkNone), a glob, or (checkRegexp set) a regexp
}

const (
	checkNone   = 1<<31 - 1
	checkRegexp = 1 << 31
)

// cursor is where a scan stands. The zero cursor is the start.
type cursor struct {
	pos   int
	state uint32 // without outBit
	falls int    // steps taken to states without a row, for tests
}

// read reads the name on from pos until a value of at least stop is met or the name ends. The loop is bound
// by the latency of its load, some two nanoseconds a byte; all else in it is done meanwhile.
func read[T uint16 | uint32](table []T, class *[256]uint8, name string, pos int, v, stop T) (int, T) {
	for pos < len(name) {
		v = table[v+T(class[name[pos]])]
		pos++
		if v >= stop {
			break
		}
	}
	return pos, v
}

// advance reads at least one byte of the name from pos on, and more while nothing ends there.
func (m *machine) advance(c *cursor, name string, pos int, v uint32) (int, uint32) {
	switch {
	case m.small != nil:
		p, s := read(m.small, &m.class, name, pos, uint16(v), smallBit)
		return p, uint32(s) + uint32(s&smallBit)*(outBit/smallBit-1)
	case v < sparseBit:
		return read(m.table, &m.class, name, pos, v, sparseBit)
	}
	return pos + 1, m.sparse(c, v, uint32(m.class[name[pos]]))
}

// next scans on to the next position where a fragment ends and returns the fragment where the chain
// begins, or 0 at the end of the name.
func (m *machine) next(c *cursor, name string) uint32 {
	pos, v := c.pos, c.state
	for pos < len(name) {
		if pos, v = m.advance(c, name, pos, v); v >= outBit {
			v &^= outBit
			c.pos, c.state = pos, v
			return m.chain(v)
		}
	}
	c.pos, c.state = pos, v
	return 0
}

// chain returns the fragment where the chain of a state begins, or 0.
func (m *machine) chain(v uint32) uint32 {
	if v&sparseBit != 0 {
		return m.out[v&^sparseBit]
	}
	if m.small != nil {
		return uint32(m.small[v+m.width-1])
	}
	return m.table[v+m.width-1]
}

// sparse makes one step from a state without a row.
func (m *machine) sparse(c *cursor, v, column uint32) uint32 {
	for v&sparseBit != 0 {
		c.falls++
		i := v &^ sparseBit
		for j := m.child[i]; j < m.child[i+1]; j++ {
			if uint32(m.enter[j]) == column {
				return m.value(j)
			}
		}
		v = m.fail[i]
	}
	return m.table[v+column]
}

// value is the value of the i-th state without a row.
func (m *machine) value(i uint32) uint32 {
	if m.out[i] != 0 {
		return i | sparseBit | outBit
	}
	return i | sparseBit
}

// maxHits is how many different fragments with extra entries one scan collects before it hands them
// over. Names of real tools hit 0 to 4.
const maxHits = 12

// hits are the fragments found whose chains have extra entries, each at most once.
type hits struct {
	n  int
	id [maxHits]uint32
}

func (h *hits) add(id uint32) {
	for _, old := range h.id[:h.n] {
		if old == id {
			return
		}
	}
	h.id[h.n] = id
	h.n++
}

// least scans until the end of the name or until h is full. It returns the lesser of best and the least
// plain number seen, and adds to h the beginnings of the chains that have extra entries.
func (m *machine) least(c *cursor, name string, best int32, h *hits) int32 {
	pos, v := c.pos, c.state
	for pos < len(name) {
		if pos, v = m.advance(c, name, pos, v); v < outBit {
			continue
		}
		v &^= outBit
		id := m.chain(v)
		f := &m.frags[id]
		best = min(best, f.least)
		if f.deep {
			if h.add(id); h.n == maxHits {
				break
			}
		}
	}
	c.pos, c.state = pos, v
	return best
}
