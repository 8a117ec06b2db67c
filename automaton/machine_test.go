package automaton

import (
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"github.com/cloudflare/ahocorasick"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// plainWants asks for each text under its own number.
func plainWants(texts []string) []want {
	var wants []want
	for i, s := range texts {
		wants = append(wants, want{pack(s), s, entry{anyScope, int32(i), checkNone}})
	}
	return wants
}

// found returns the numbers of all plain wants that the machine finds, each once, and the least one as the
// other kind of scan has it.
func (m *machine) found(name string) ([]int32, int32) {
	var nums []int32
	var c cursor
	for id := m.next(&c, name); id != 0; id = m.next(&c, name) {
		for ; id != 0; id = m.frags[id].link {
			nums = append(nums, m.plain[m.frags[id].plain:m.frags[id+1].plain]...)
		}
	}
	slices.Sort(nums)
	c = cursor{}
	var h hits
	return slices.Compact(nums), m.least(&c, name, none, &h)
}

func randomText(r *rand.Rand, n, letters int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte('a' + r.IntN(letters))
		if letters > 26 {
			b[i] = byte(r.IntN(letters))
		}
	}
	return string(b)
}

// The machine finds what an independent implementation of the same idea finds, with all rows, with some
// and with one.
func TestMachineAgreesWithAnIndependentOne(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	hits, sparse := 0, 0
	for range 300 {
		letters := []int{2, 3, 26, 256}[r.IntN(4)]
		texts := make([]string, 1+r.IntN(60))
		for i := range texts {
			texts[i] = randomText(r, 1+r.IntN(maxFragment), letters)
			if r.IntN(2) == 0 {
				texts[i] = randomText(r, 1+r.IntN(3), letters)
			}
		}
		oracle := ahocorasick.NewStringMatcher(texts)
		for _, budget := range []int{tableBudget, 4000, 0} {
			m := newMachine(plainWants(texts), budget)
			for range 10 {
				name := randomText(r, r.IntN(100), letters)
				if r.IntN(2) == 0 {
					name += texts[r.IntN(len(texts))] + randomText(r, r.IntN(5), letters)
				}
				// The oracle reports one of several equal texts.
				want := map[string]bool{}
				for _, i := range oracle.Match([]byte(name)) {
					want[texts[i]] = true
				}
				var nums []int32
				for i, s := range texts {
					if want[s] {
						nums = append(nums, int32(i))
					}
				}
				got, least := m.found(name)
				require.Equal(t, nums, got, "texts %q, name %q, budget %d", texts, name, budget)
				if len(nums) > 0 {
					require.Equal(t, nums[0], least)
					hits++
				} else {
					require.Equal(t, none, least)
				}
			}
			sparse += len(m.out)
		}
	}
	assert.Greater(t, hits, 1000)
	assert.Greater(t, sparse, 1000)
}

// The invariants that the fields of machine state.
func TestMachineInvariants(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, budget := range []int{tableBudget, 2000, 0} {
		var texts []string
		for range 400 {
			texts = append(texts, randomText(r, 1+r.IntN(8), 3))
		}
		m := newMachine(plainWants(texts), budget)
		distinct := slices.Compact(slices.Sorted(slices.Values(texts)))
		require.Len(t, m.frags, len(distinct)+2)
		require.LessOrEqual(t, len(m.table)*4, max(budget, int(m.width)*4))
		for i := range m.out {
			require.Less(t, m.state(m.fail[i]), uint32(i)+m.rows, "falling back leads to a lower number")
			require.LessOrEqual(t, m.child[i], m.child[i+1])
		}
		for id := 1; id < len(m.frags)-1; id++ {
			n := len(distinct[id-1])
			for j := m.frags[id].link; j != 0; j = m.frags[j].link {
				text := distinct[j-1]
				require.Less(t, len(text), n)
				require.Equal(t, text, distinct[id-1][len(distinct[id-1])-len(text):], "a chain goes from a text to its tails")
				require.LessOrEqual(t, m.frags[id].least, m.frags[j].least)
				n = len(text)
			}
		}
	}
}

func TestTriesAgreeWithALoop(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	hits := 0
	for range 300 {
		var keys []key
		for i := range r.IntN(80) {
			s := randomText(r, r.IntN(7), 1+r.IntN(4))
			keys = append(keys, key{pack(s), int32(r.IntN(3)), int32(i), s})
		}
		before := slices.Clone(keys)
		roots := map[int32]int32{}
		x := newTries(keys, false, func(scope, node int32) { roots[scope] = node })
		for range 40 {
			name := randomText(r, r.IntN(12), 4)
			for scope, root := range roots {
				var want []int32
				for _, k := range before {
					if k.scope == scope && len(k.text) <= len(name) && name[:len(k.text)] == k.text {
						want = append(want, k.num)
					}
				}
				got := x.appendAll(nil, root, name)
				slices.Sort(got)
				require.Equal(t, want, got)
				least := none
				if len(want) > 0 {
					least = want[0]
					hits++
				}
				require.Equal(t, least, x.least(root, name))
			}
		}
	}
	assert.Greater(t, hits, 1000)
}

// A fan-out of all 256 byte values, so that children are searched for in more than one word.
func TestTriesOfAllBytes(t *testing.T) {
	var keys []key
	for c := range 256 {
		s := string([]byte{byte(c)})
		keys = append(keys, key{pack(s), 0, int32(c), s})
	}
	x := newTries(keys, true, func(int32, int32) {})
	for c := range 256 {
		require.Equal(t, int32(c), x.least(0, "x"+string([]byte{byte(c)})))
	}
}

func TestFragmentWindows(t *testing.T) {
	for _, n := range []int{1, maxFragment, maxFragment + 1, 100} {
		s := randomText(rand.New(rand.NewPCG(5, uint64(n))), n, 26)
		count := 0
		windows(s, func(w string) {
			require.LessOrEqual(t, len(w), maxFragment)
			require.Contains(t, s, w)
			count++
		})
		assert.Equal(t, map[bool]int{true: 1, false: 3}[n <= maxFragment], count)
	}
}

func TestSeenRemembersWhatMovedFromTheStack(t *testing.T) {
	for _, total := range []int{49, 200, 5000} {
		for range 3 { // with pooled memory that was used before
			var s seen
			r := rand.New(rand.NewPCG(8, uint64(total)))
			have := map[uint32]bool{}
			for range 3 * total {
				id := uint32(1 + r.IntN(total-1))
				require.Equal(t, !have[id], s.add(id, total))
				have[id] = true
			}
			s.release()
		}
	}
}

func TestSortedSortsAndDropsDuplicates(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 7))
	for _, n := range []int{0, 1, 2, 12, 13, 63, 64, 1000, 5000} {
		for _, below := range []int{1, 100, 10000, 10000000} {
			list := make([]int32, n)
			for i := range list {
				list[i] = int32(r.IntN(below))
			}
			want := slices.Clone(list)
			sort.Slice(want, func(i, j int) bool { return want[i] < want[j] })
			require.Equal(t, slices.Compact(want), sorted(list, below))
		}
	}
}
