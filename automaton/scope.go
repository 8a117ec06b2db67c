package automaton

// This file resolves servers. The server halves of all patterns are told apart once, when the index is
// built: each distinct one is a scope, and a server is then no more than the short list of scopes that apply to it.
//
// Naive: compare the server half of every pattern that matched by name. With scopes the other half of
// the work is keyed by a small number, and for a server that some pattern names the list is ready made.

// anyScope is the scope of the patterns for every server.
const anyScope int32 = 0

// none is the number of no pattern.
const none int32 = 1<<31 - 1

// scope is what the index knows of one distinct server half. Scope 0 is any server, then come the literal
// ones, then the globs.
type scope struct {
	least    int32  // the least pattern number in it; none if it has no patterns
	prefix   int32  // its tree in Index.prefixes, or -1
	suffix   int32  // its tree in Index.suffixes, or -1
	bare     uint32 // where its part of Index.bare begins; it ends where that of the next scope begins
	literals bool   // whether it has patterns in Index.literals
}

// serverTable numbers distinct strings from 1, in the order they come.
type serverTable struct {
	seed  seed
	shift uint8
	slots []slot // as in literals; ref is the number
	names []string
}

// intern returns the number of name, giving it one if it has none.
func (t *serverTable) intern(name string) int32 {
	if 4*(len(t.names)+1) > 3*len(t.slots) {
		t.grow()
	}
	h := t.seed.sum(name)
	mask := uint64(len(t.slots) - 1)
	for i := h >> t.shift; ; i++ {
		s := &t.slots[i&mask]
		if s.ref == 0 {
			t.names = append(t.names, name)
			*s = slot{uint32(h), uint32(len(t.names))}
			return int32(len(t.names))
		}
		if s.tag == uint32(h) && t.names[s.ref-1] == name {
			return int32(s.ref)
		}
	}
}

func (t *serverTable) grow() {
	if t.slots == nil {
		t.seed, t.shift, t.slots = newSeed(), 61, make([]slot, 8)
		return
	}
	t.shift--
	t.slots = make([]slot, 2*len(t.slots))
	mask := uint64(len(t.slots) - 1)
	for k, name := range t.names {
		h := t.seed.sum(name)
		i := h >> t.shift
		for t.slots[i&mask].ref != 0 {
			i++
		}
		t.slots[i&mask] = slot{uint32(h), uint32(k + 1)}
	}
}

// find returns the number of name, or 0.
func (t *serverTable) find(name string) int32 {
	if t.slots == nil {
		return 0
	}
	h := t.seed.sum(name)
	mask := uint64(len(t.slots) - 1)
	for i := h >> t.shift; ; i++ {
		s := t.slots[i&mask]
		if s.ref == 0 || s.tag == uint32(h) && t.names[s.ref-1] == name {
			return int32(s.ref)
		}
	}
}

// Scope is a server as one [Index] sees it: resolve a server once with [Index.Server], then ask about many
// of its tools. A Scope of another index is resolved again, so it costs time and is never wrong. The zero
// Scope is that of the server with the empty name.
//
// A Scope is immutable and safe for concurrent use. It keeps its Index alive.
type Scope struct {
	x      *Index
	ids    []int32 // the scopes of x that apply, ascending
	server string
}

// Server resolves a server.
//
// Cost: a look-up, and for a server that no pattern names literally the server globs that match it. It
// allocates nothing for a server that a pattern names, or if there are no server globs.
func (x *Index) Server(server string) Scope {
	if x == nil || x.n == 0 {
		return Scope{}
	}
	ids, ok := x.known(server)
	if !ok {
		ids = x.resolve(nil, server)
	}
	return Scope{x, ids, server}
}

// scopes returns the scopes of s in x.
func (x *Index) scopesOf(s Scope) []int32 {
	if s.x != x {
		s = x.Server(s.server)
	}
	return s.ids
}

// known returns the scopes that apply to the server if they need no work; the slice is shared.
func (x *Index) known(server string) ([]int32, bool) {
	if x.mode == Folded && !isFolded(server) {
		var buf [maxStackName]byte
		return x.lists(x.servers.find(loose(buf[:0], server)))
	}
	return x.lists(x.servers.find(server))
}

// lists returns the ready-made list of literal scope id, and whether it is complete.
func (x *Index) lists(id int32) ([]int32, bool) {
	return x.applies[x.start[id]:x.start[id+1]], id != 0 && id <= x.complete || x.globs == nil
}

// resolve appends to dst the scopes that apply to the server, ascending.
func (x *Index) resolve(dst []int32, server string) []int32 {
	ids, ok := x.known(server)
	dst = append(dst, ids...)
	if ok {
		return dst
	}
	from := len(dst)
	if x.mode == Folded && !isFolded(server) {
		var buf [maxStackName]byte
		dst = x.globs.all(dst, x.globs.anyList(), loose(buf[:0], server), server)
	} else {
		dst = x.globs.all(dst, x.globs.anyList(), server, server)
	}
	for i := range dst[from:] {
		dst[from+i] += x.firstGlob
	}
	return dst
}

// anyList is the list of a server that no pattern names.
func (x *Index) anyList() []int32 { return x.applies[x.start[0]:x.start[1]] }
