package automaton

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// In a table with room, no two fragments share a counter, whatever the seed: the choice of an anchor does not depend on
// luck.
func TestFewFragmentsAreCountedExactly(t *testing.T) {
	for range 2000 {
		r := newRarity(10)
		for i := range 10 {
			for range i + 1 {
				r.count(fmt.Sprintf("*fragment%d*", i))
			}
		}
		for i := range 10 {
			require.EqualValues(t, i+1, *r.at(fmt.Sprintf("fragment%d", i)))
		}
		require.Equal(t, "fragment0", r.pick("*fragment9*fragment0*fragment5*"))
	}
}

// A crowded table shares counters, and never counts too little.
func TestACrowdedTableNeverCountsTooLittle(t *testing.T) {
	r := newRarity(1)
	for i := range 1000 {
		r.count(fmt.Sprintf("*fragment%d*", i%500))
	}
	for i := range 500 {
		require.GreaterOrEqual(t, *r.at(fmt.Sprintf("fragment%d", i)), uint32(2))
	}
}
