package automaton

// This file is the table of patterns without a star in the name: (scope, name) to pattern numbers.
//
// Naive: a Go map from struct{scope; name} to a slice of numbers. That hashes the name once per scope
// asked for, costs some 100 bytes and an allocation a pattern, and makes the garbage collector follow a
// pointer for each. Here the name is hashed once and the scope mixed in afterwards; a slot is 8 bytes, and a
// name that is not there is nearly always refused by the first slot, without looking at any key.

import "encoding/binary"

// slot is one place of an open addressing table.
type slot struct {
	tag uint32 // the low half of the hash
	ref uint32 // what is here plus one; 0 if nothing
}

// literals maps (scope, name) to the numbers of the patterns that hold exactly that.
type literals struct {
	count int // patterns in it
	seed  seed
	shift uint8  // 64 minus the logarithm of len(slots): a hash's home is hash >> shift
	slots []slot // a power of two of them, at most three quarters full; ref-1 is an offset in text, in units of 8 bytes
	// text holds the records, each at a multiple of 8 bytes: scope, number, next (a ref to another record with the
	// same key, or 0) and length of the name, 4 bytes each, then the name. The record that a slot refers to has the
	// least number of its key; those behind it are in no order.
	text []byte
}

const litHead = 16 // bytes of a record before its name

// newLiterals returns a table with room for n keys and records of that many bytes.
func newLiterals(n, bytes int) literals {
	if n == 0 {
		return literals{}
	}
	size, shift := 4, uint8(62)
	for size*3 < n*4 {
		size, shift = size*2, shift-1
	}
	return literals{count: n, seed: newSeed(), shift: shift, slots: make([]slot, size), text: make([]byte, 0, bytes)}
}

// recordSize is the size of the record for a name of n bytes.
func recordSize(n int) int { return (litHead + n + 7) &^ 7 }

// add enters a pattern. Patterns come in ascending order of their numbers.
func (t *literals) add(scope, num int32, name string) {
	h := t.seed.spread(t.seed.sum(name), scope)
	mask := uint32(len(t.slots) - 1)
	at := len(t.text)
	ref := uint32(at/8) + 1
	var next uint32
	for i := uint32(h >> t.shift); ; i = (i + 1) & mask {
		s := &t.slots[i]
		if s.ref == 0 {
			*s = slot{uint32(h), ref}
			break
		}
		if s.tag == uint32(h) && t.is(s.ref, scope, name) {
			p := t.text[uint64(s.ref-1)*8+8:]
			next = binary.LittleEndian.Uint32(p)
			binary.LittleEndian.PutUint32(p, ref)
			break
		}
	}
	t.text = t.text[:at+recordSize(len(name))]
	p := t.text[at:]
	binary.LittleEndian.PutUint32(p, uint32(scope))
	binary.LittleEndian.PutUint32(p[4:], uint32(num))
	binary.LittleEndian.PutUint32(p[8:], next)
	binary.LittleEndian.PutUint32(p[12:], uint32(len(name)))
	copy(p[litHead:], name)
}

// is reports whether the record at ref has this key.
func (t *literals) is(ref uint32, scope int32, name string) bool {
	p := t.text[uint64(ref-1)*8:]
	return binary.LittleEndian.Uint32(p) == uint32(scope) &&
		binary.LittleEndian.Uint32(p[12:]) == uint32(len(name)) &&
		string(p[litHead:litHead+len(name)]) == name
}

// find returns a ref to the record with the least number for (scope, name), or 0. h is the hash of the name.
func (t *literals) find(scope int32, h uint64, name string) uint32 {
	h = t.seed.spread(h, scope)
	mask := uint64(len(t.slots) - 1)
	for i := h >> t.shift; ; i++ {
		s := t.slots[i&mask]
		if s.ref == 0 {
			return 0
		}
		if s.tag == uint32(h) {
			p := t.text[uint64(s.ref-1)*8:]
			if binary.LittleEndian.Uint32(p) == uint32(scope) &&
				binary.LittleEndian.Uint32(p[12:]) == uint32(len(name)) &&
				string(p[litHead:litHead+len(name)]) == name {
				return s.ref
			}
		}
	}
}

// number returns the pattern number of a record, and the ref of another record with the same key, or 0.
func (t *literals) number(ref uint32) (num int32, next uint32) {
	p := t.text[uint64(ref-1)*8:]
	return int32(binary.LittleEndian.Uint32(p[4:])), binary.LittleEndian.Uint32(p[8:])
}
