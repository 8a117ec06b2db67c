package automaton

import "unsafe"

// Stats says what an index is made of.
type Stats struct {
	Patterns    int // all of them
	Servers     int // distinct server halves without a star
	ServerGlobs int // distinct server halves with one, other than "*"
	Literals    int // patterns whose name half has no star
	TrieNodes   int // nodes of the prefixes and suffixes
	Fragments   int // distinct texts that the machine looks for
	States      int // states of the machine
	DenseRows   int // states with a row in the table
	Checked     int // globs that must be checked once a fragment of them is seen
	Regexps     int
	Bare        int // regexps that need no literal text: they are tried on every name of their server
	Bytes       int // memory, without the server names and the regexps themselves, which are shared
}

// Stats returns what x is made of; that of a nil Index is zero.
func (x *Index) Stats() Stats {
	if x == nil {
		return Stats{}
	}
	m := &x.machine
	s := Stats{
		Patterns:    x.n,
		Servers:     len(x.servers.names),
		Fragments:   max(len(m.frags)-2, 0),
		States:      int(m.rows) + len(m.out),
		DenseRows:   int(m.rows),
		Checked:     len(x.globEnd),
		Regexps:     len(x.res),
		Bare:        len(x.bare),
		TrieNodes:   max(len(x.prefixes.nodes)-1, 0) + max(len(x.suffixes.nodes)-1, 0),
		ServerGlobs: max(len(x.scopes)-2-len(x.servers.names), 0),
	}
	s.Literals = x.literals.count
	s.Bytes = int(unsafe.Sizeof(*x)) + size(x.servers.slots) + size(x.servers.names) + size(x.scopes) + size(x.start) +
		size(x.applies) + size(x.literals.slots) + size(x.literals.text) + x.prefixes.bytes() + x.suffixes.bytes() +
		m.bytes() + len(x.globText) + size(x.globEnd) + size(x.res) + size(x.bare)
	if x.globs != nil {
		s.Bytes += x.globs.Stats().Bytes
	}
	return s
}

func (t *tries) bytes() int { return size(t.nodes) + size(t.first) + size(t.text) + size(t.posts) }

func (m *machine) bytes() int {
	return size(m.table) + size(m.small) + size(m.child) + size(m.fail) + size(m.out) + size(m.enter) +
		size(m.frags) + size(m.plain) + size(m.extra)
}

// size is the memory behind a slice.
func size[T any](s []T) int {
	var t T
	return cap(s) * int(unsafe.Sizeof(t))
}
