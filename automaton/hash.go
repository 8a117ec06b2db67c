package automaton

// This file is the hash of names. It is seeded anew for every index, so nobody can choose names that
// collide, and keys are always compared after it, so a collision can cost time and never an answer.
//
// It mixes 16 bytes with one widening multiplication. hash/maphash costs about twice as much on names
// of 10 to 20 bytes, which are nearly all there are.

import (
	"math/bits"
	"math/rand/v2"
)

// seed is two secret words. They are drawn once per index.
type seed struct{ a, b uint64 }

func newSeed() seed { return seed{rand.Uint64() | 1, rand.Uint64() | 1} }

// sum returns the hash of p.
func (s seed) sum(p string) uint64 {
	n := len(p)
	h := s.a ^ uint64(n)*0x9e3779b97f4a7c15
	for len(p) > 16 {
		h = mix(load8(p, 0)^h, load8(p, 8)^s.b)
		p = p[16:]
	}
	var x, y uint64
	switch n = len(p); {
	case n >= 8:
		x = load8(p, 0)
		y = load8(p, n-8)
	case n >= 4:
		x = uint64(load4(p, 0))
		y = uint64(load4(p, n-4))
	case n > 0:
		x = uint64(p[0]) | uint64(p[n>>1])<<8 | uint64(p[n-1])<<16
	}
	return mix(x^h, y^s.b)
}

// mix folds the 128-bit product of x and y into 64 bits.
func mix(x, y uint64) uint64 {
	hi, lo := bits.Mul64(x, y)
	return hi ^ lo
}

// spread makes the hash of a name into the hash of (scope, name).
func (s seed) spread(h uint64, scope int32) uint64 {
	return mix(h^uint64(uint32(scope))*0x9e3779b97f4a7c15, s.a)
}

// load8 returns eight bytes of s from i on, the first one lowest.
func load8(s string, i int) uint64 {
	_ = s[i+7]
	return uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
		uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
}

// load4 returns four bytes of s from i on, the first one lowest.
func load4(s string, i int) uint32 {
	_ = s[i+3]
	return uint32(s[i]) | uint32(s[i+1])<<8 | uint32(s[i+2])<<16 | uint32(s[i+3])<<24
}
