package automaton

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBitsetAgreesWithAMap(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		n, k := r.IntN(300), r.IntN(300)
		make := func(n int) (Bitset, map[int]bool) {
			b, m := NewBitset(n), map[int]bool{}
			for range n / 2 {
				i := r.IntN(n)
				b.Set(i)
				m[i] = true
				if r.IntN(4) == 0 {
					b.Unset(i)
					delete(m, i)
				}
			}
			return b, m
		}
		b, m := make(n)
		o, om := make(k)
		// What o does not cover: And removes it, the others leave it. Whole words count, not the sizes.
		switch r.IntN(3) {
		case 0:
			b.And(o)
			for i := range m {
				if !om[i] {
					delete(m, i)
				}
			}
		case 1:
			b.AndNot(o)
			for i := range om {
				delete(m, i)
			}
		case 2:
			b.Or(o)
			for i := range om {
				if i < 64*len(b) {
					m[i] = true
				}
			}
		}
		var want, next []int
		for i := range 64 * len(b) {
			require.Equal(t, m[i], b.Has(i))
			if m[i] {
				want = append(want, i)
			}
		}
		require.Equal(t, want, slices.Collect(b.All()))
		for i := b.Next(0); i >= 0; i = b.Next(i + 1) {
			next = append(next, i)
		}
		require.Equal(t, want, next)
		require.Equal(t, len(want), b.Count())
		for i := range b.All() {
			require.Equal(t, want[0], i)
			break
		}
		b.Clear()
		require.Zero(t, b.Count())
	}
}

func TestBitsetBounds(t *testing.T) {
	var zero Bitset
	assert.False(t, zero.Has(0))
	assert.False(t, zero.Has(-1))
	assert.Equal(t, -1, zero.Next(0))
	assert.Equal(t, -1, NewBitset(64).Next(64))
	assert.Empty(t, NewBitset(-1))
	b := NewBitset(65)
	b.Set(64)
	assert.False(t, b.Has(1<<30))
	assert.Equal(t, 64, b.Next(-5))
}
