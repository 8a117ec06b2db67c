package automaton

// This file chooses the fragment under which a pattern is filed.
//
// Naive: the longest piece. Where 100,000 patterns share that piece, a name that holds it leads to all of them.
// Taken is the piece that the fewest patterns have, and the longest among those. Price: every piece of
// every many-star glob is counted before one is chosen.

// rarity counts how many patterns could be filed under a fragment. Where a table is crowded, different fragments may share
// a counter: that makes one look more common than it is, and the choice worse, never wrong.
type rarity struct {
	seed     seed
	shift    uint8
	counters []counter
}

// counter counts one fragment, known by its hash; zero is free.
type counter struct {
	hash uint64
	n    uint32
}

// maxProbes is how many counters are looked at for one: with a quarter of them in use, sixteen in a row hardly ever are.
const maxProbes = 16

// newRarity returns counters for about n fragments.
func newRarity(n int) rarity {
	size, shift := 64, uint8(58)
	for size < 4*n {
		size, shift = size*2, shift-1
	}
	return rarity{newSeed(), shift, make([]counter, size)}
}

func (r *rarity) at(fragment string) *uint32 {
	h := r.seed.sum(fragment) | 1               // not zero
	i := int(h * 0x9e3779b97f4a7c15 >> r.shift) // fragments that are alike have high bits that are alike
	for range maxProbes {
		c := &r.counters[i]
		if c.hash == 0 {
			c.hash = h
		}
		if c.hash == h {
			return &c.n
		}
		i = (i + 1) & (len(r.counters) - 1)
	}
	return &r.counters[i].n
}

// windows calls f with the fragments that a piece of text offers: itself, or of a long one its beginning,
// its middle and its end.
func windows(piece string, f func(string)) {
	n := len(piece)
	if n <= maxFragment {
		f(piece)
		return
	}
	mid := (n - maxFragment) / 2
	f(piece[:maxFragment])
	f(piece[mid : mid+maxFragment])
	f(piece[n-maxFragment:])
}

// fragmentsOf calls f with every fragment that a glob offers.
func fragmentsOf(glob string, f func(string)) {
	from := 0
	for i := range len(glob) + 1 {
		if i == len(glob) || glob[i] == '*' {
			if from < i {
				windows(glob[from:i], f)
			}
			from = i + 1
		}
	}
}

// count counts the fragments that a glob offers.
func (r *rarity) count(glob string) {
	fragmentsOf(glob, func(s string) { *r.at(s)++ })
}

// countSets counts the fragments that a regexp offers.
func (r *rarity) countSets(sets [][]string) {
	for _, set := range sets {
		for _, s := range set {
			windows(s, func(w string) { *r.at(w)++ })
		}
	}
}

// pick returns the fragment to file a glob under; the glob has a piece that is not empty.
func (r *rarity) pick(glob string) string {
	return r.rarest(func(offer func(string)) { fragmentsOf(glob, offer) })
}

// rarest returns the fragment of those on offer that the fewest patterns share, of two the longer one.
func (r *rarity) rarest(fragments func(offer func(string))) string {
	best, least := "", uint32(0)
	fragments(func(s string) {
		if n := *r.at(s); best == "" || n < least || n == least && len(s) > len(best) {
			best, least = s, n
		}
	})
	return best
}

// pickSet returns the fragments to file a regexp under: for one set, one fragment of each of its strings.
// It returns nil if there are no sets.
func (r *rarity) pickSet(sets [][]string) []string {
	var best []string
	var least uint32
	for _, set := range sets {
		fragments, sum := make([]string, 0, len(set)), uint32(0)
		for _, s := range set {
			w := r.rarest(func(offer func(string)) { windows(s, offer) }) // s is text: a star in it is a star
			fragments = append(fragments, w)
			sum += *r.at(w)
		}
		if best == nil || sum < least || sum == least && shortest(fragments) > shortest(best) {
			best, least = fragments, sum
		}
	}
	return best
}
