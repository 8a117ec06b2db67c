package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A name is found by its bytes alone: a name that differs in one byte, wherever it is, or in its length is another one.
func TestNamesAreToldApartByEveryByte(t *testing.T) {
	others := 0
	for n := range 80 {
		name := strings.Repeat("abcdefgh_-", 8)[:n]
		table := newNameTable(1, func(int) string { return name })
		assert.Equal(t, 0, table.find(name))
		assert.Equal(t, 0, table.find(strings.Clone(name)))
		for i := range n {
			for _, bit := range []byte{0x01, 0x20, 0x80} {
				other := []byte(name)
				other[i] ^= bit
				assert.Equal(t, -1, table.find(string(other)), "length %d, byte %d", n, i)
				others++
			}
		}
		assert.Equal(t, -1, table.find(name+"a"))
		assert.Equal(t, -1, table.find(name+"\x00"))
		if n > 0 {
			assert.Equal(t, -1, table.find(name[1:]))
			assert.Equal(t, -1, table.find(name[:n-1]))
		}
	}
	assert.Equal(t, 3*79*80/2, others)
	var none nameTable
	assert.Equal(t, -1, none.find(""))
	assert.Equal(t, -1, none.find("abcdefgh"))
}

// With the same hash everywhere, only the comparison tells names apart: crowded tables answer like a map.
func TestCrowdedTablesAnswerLikeAMap(t *testing.T) {
	var names []string
	for n := range 40 {
		for i := range 20 {
			names = append(names, strings.Repeat("x", n)+fmt.Sprint(i))
		}
	}
	for _, hash := range []func(string) uint64{hashName, func(string) uint64 { return 0 }, func(s string) uint64 { return hashName(s) & 7 }} {
		table, want := newSlots(len(names)), map[string]int{}
		for i, s := range names {
			if _, ok := want[s]; !ok {
				table.insert(s, hash(s), i)
				want[s] = i
			}
		}
		if got := table.findWith(names[0], hash(names[0])); got != want[names[0]] {
			t.Fatalf("%q is number %d, want %d", names[0], got, want[names[0]])
		}
		for s, i := range want {
			assert.Equal(t, i, table.findWith(s, hash(s)), "%q", s)
			assert.Equal(t, -1, table.findWith(s+"-", hash(s+"-")))
		}
	}
}
