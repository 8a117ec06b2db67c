package automaton

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/penstock-mcp/penstock/fold"
)

// Every byte at every place of strings of every short length, and random ones: the word at a time says
// what package fold says.
func TestLooseIsFold(t *testing.T) {
	check := func(s string) {
		var buf [maxStackName]byte
		require.Equal(t, fold.String(s), loose(buf[:0], s), "%q", s)
		require.Equal(t, fold.Is(s), isFolded(s), "%q", s)
	}
	for n := range 26 {
		for at := range n {
			for c := range 256 {
				b := []byte(strings.Repeat("a", n))
				b[at] = byte(c)
				check(string(b))
			}
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	changed := 0
	for range 20000 {
		s := randomText(r, r.IntN(60), 128)
		if r.IntN(3) == 0 {
			s += []string{"é", "İ", "\xff", "Ⱥ", "K"}[r.IntN(5)] + randomText(r, r.IntN(300), 128)
		}
		check(s)
		if !isFolded(s) {
			changed++
		}
	}
	assert.Greater(t, changed, 1000)
}

func TestHashDependsOnEveryByte(t *testing.T) {
	s := newSeed()
	for n := range 70 {
		b := make([]byte, n)
		h := s.sum(string(b))
		for i := range b {
			b[i] = 1
			require.NotEqual(t, h, s.sum(string(b)), "byte %d of %d", i, n)
			b[i] = 0
		}
	}
	assert.NotEqual(t, s.sum("x"), newSeed().sum("x"), "every index has its own seed")
}
