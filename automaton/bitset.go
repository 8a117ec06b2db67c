package automaton

import (
	"iter"
	"math/bits"
)

// Bitset is a set of small numbers, one bit each. It has the size that [NewBitset] gave it: numbers at or
// beyond it are never in the set, and adding one panics as an index out of range does. The zero Bitset is
// an empty set of size zero.
//
// The operations on two sets work in place on the words both have; see each for what becomes of the rest.
// A Bitset that nobody changes is safe for concurrent use.
type Bitset []uint64

// NewBitset returns an empty set for the numbers 0 to n-1.
func NewBitset(n int) Bitset {
	return make(Bitset, (max(n, 0)+63)/64)
}

// Set adds i, which must be within the size.
func (b Bitset) Set(i int) { b[i>>6] |= 1 << (i & 63) }

// Unset removes i, which must be within the size.
func (b Bitset) Unset(i int) { b[i>>6] &^= 1 << (i & 63) }

// Has reports whether i is in the set. Any i may be asked for.
func (b Bitset) Has(i int) bool {
	return uint(i)>>6 < uint(len(b)) && b[i>>6]&(1<<(i&63)) != 0
}

// Count returns how many numbers are in the set.
func (b Bitset) Count() int {
	n := 0
	for _, w := range b {
		n += bits.OnesCount64(w)
	}
	return n
}

// Clear empties the set.
func (b Bitset) Clear() { clear(b) }

// And keeps what is in o, too. Numbers beyond the size of o are removed.
func (b Bitset) And(o Bitset) {
	n := min(len(b), len(o))
	for i, w := range o[:n] {
		b[i] &= w
	}
	clear(b[n:])
}

// AndNot removes what is in o. Numbers beyond the size of o stay.
func (b Bitset) AndNot(o Bitset) {
	for i, w := range o[:min(len(b), len(o))] {
		b[i] &^= w
	}
}

// Or adds what is in o and within the size of b.
func (b Bitset) Or(o Bitset) {
	for i, w := range o[:min(len(b), len(o))] {
		b[i] |= w
	}
}

// Next returns the least number in the set that is at least i, or -1. For loops without a closure:
//
//	for i := b.Next(0); i >= 0; i = b.Next(i + 1) { … }
func (b Bitset) Next(i int) int {
	i = max(i, 0)
	k := i >> 6
	if k >= len(b) {
		return -1
	}
	w := b[k] >> (i & 63) << (i & 63)
	for w == 0 {
		if k++; k == len(b) {
			return -1
		}
		w = b[k]
	}
	return k<<6 + bits.TrailingZeros64(w)
}

// All returns the numbers in the set, ascending.
func (b Bitset) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for k, w := range b {
			for ; w != 0; w &= w - 1 {
				if !yield(k<<6 + bits.TrailingZeros64(w)) {
					return
				}
			}
		}
	}
}
