package engine

import (
	"math/bits"
	"math/rand/v2"
	"strings"
)

// nameSeed makes the hash of names differ from process to process, so that nobody can choose names that collide.
// Keys are always compared after the hash: a collision can cost time and never an answer.
var nameSeed = [3]uint64{rand.Uint64() | 1, rand.Uint64() | 1, rand.Uint64() | 1}

// A name of 8 to 24 bytes, as nearly all are, is three words: its first, its last and its middle 8 bytes, which overlap
// and leave nothing out. Such names are hashed and compared by their words, without a branch on the length: a branch
// that lengths make unpredictable costs more than the multiplication, and a call of memequal more than three compares.

// isShort reports whether a name of n bytes is three words.
func isShort(n int) bool { return uint(n-8) <= 16 }

// hashWords returns the hash of a short name of n bytes.
func hashWords(n int, first, middle, last uint64) uint64 {
	return mix(mix(first^nameSeed[0]^uint64(n), last^nameSeed[1])^middle, nameSeed[2])
}

// hashName returns the seeded hash of s. It mixes 16 bytes with one widening multiplication; hash/maphash costs
// about twice as much on names of 10 to 20 bytes.
func hashName(s string) uint64 {
	n := len(s)
	if isShort(n) {
		return hashWords(n, load64(s, 0), load64(s, (n-8)/2), load64(s, n-8))
	}
	h := nameSeed[0] ^ uint64(n)*0x9e3779b97f4a7c15
	i := 0
	for ; n-i > 16; i += 16 {
		h = mix(load64(s, i)^h, load64(s, i+8)^nameSeed[1])
	}
	var x, y uint64
	switch {
	case n-i >= 8:
		x, y = load64(s, i), load64(s, n-8)
	case n-i >= 4:
		x, y = load32(s, i), load32(s, n-4)
	case n-i > 0:
		x = uint64(s[i]) | uint64(s[(i+n)>>1])<<8 | uint64(s[n-1])<<16
	}
	return mix(x^h, y^nameSeed[1])
}

// mix folds the 128-bit product of x and y into 64 bits.
func mix(x, y uint64) uint64 {
	hi, lo := bits.Mul64(x, y)
	return hi ^ lo
}

// load64 and load32 read little-endian words; the compiler makes one load of each.
func load64(s string, i int) uint64 {
	s = s[i : i+8]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

func load32(s string, i int) uint64 {
	s = s[i : i+4]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24
}

// nameTable finds strings by their bytes: open addressing with linear probing, at most half full. The slots hold the
// strings themselves, whose bytes lie one after the other, so that a hit touches two lines of memory. It is immutable
// once made. The zero nameTable holds nothing.
type nameTable struct {
	slots []nameSlot // a power of two of them
}

// nameSlot holds a string, the upper half of its hash, and its number plus one; zero is a free slot.
type nameSlot struct {
	name string
	hash uint32
	next uint32
}

// newNameTable returns the table of n different strings.
func newNameTable(n int, name func(i int) string) nameTable {
	if n == 0 {
		return nameTable{}
	}
	size := 0
	for i := range n {
		size += len(name(i))
	}
	var all strings.Builder
	all.Grow(size)
	for i := range n {
		all.WriteString(name(i))
	}
	t, text := newSlots(n), all.String()
	for i := range n {
		s := text[:len(name(i))]
		text = text[len(s):]
		t.insert(s, hashName(s), i)
	}
	return t
}

// newSlots returns a table with room for n strings.
func newSlots(n int) nameTable {
	if n == 0 {
		return nameTable{}
	}
	return nameTable{slots: make([]nameSlot, 1<<bits.Len(uint(2*n-1)))}
}

// insert puts in string number i, which is not there yet; h is its hash. It is for making a table.
func (t *nameTable) insert(s string, h uint64, i int) {
	at := h
	for t.slots[at&uint64(len(t.slots)-1)].next != 0 {
		at++
	}
	t.slots[at&uint64(len(t.slots)-1)] = nameSlot{name: s, hash: uint32(h >> 32), next: uint32(i) + 1}
}

// find returns the number of the string, or -1.
func (t *nameTable) find(name string) int {
	n := len(name)
	if !isShort(n) || len(t.slots) == 0 {
		return t.findLong(name)
	}
	first, middle, last := load64(name, 0), load64(name, (n-8)/2), load64(name, n-8)
	h := hashWords(n, first, middle, last)
	for at := h; ; at++ {
		s := &t.slots[at&uint64(len(t.slots)-1)]
		if s.hash == uint32(h>>32) && len(s.name) == n &&
			load64(s.name, 0) == first && load64(s.name, n-8) == last && load64(s.name, (n-8)/2) == middle {
			return int(s.next) - 1 // a slot with a name of this length is no free one
		}
		if s.next == 0 {
			return -1
		}
	}
}

// findLong is find for a name of any length.
func (t *nameTable) findLong(name string) int {
	if len(t.slots) == 0 {
		return -1
	}
	return t.findWith(name, hashName(name))
}

// findWith is find for a name whose hash is known, in a table that is not empty.
func (t *nameTable) findWith(name string, h uint64) int {
	for at := h; ; at++ {
		s := &t.slots[at&uint64(len(t.slots)-1)]
		if s.next == 0 {
			return -1
		}
		if s.hash == uint32(h>>32) && s.name == name {
			return int(s.next) - 1
		}
	}
}
