package automaton

// This file is the reference the index is tested against: it tries every pattern on the name, and its
// glob goes byte by byte. It shares nothing with the index but package fold, which is the definition.

import (
	"testing"

	"github.com/penstock-mcp/penstock/fold"
)

// naiveGlob matches by dynamic programming: can[j] says whether what was read of the glob matches s[:j].
func naiveGlob(glob, s string) bool {
	can := make([]bool, len(s)+1)
	can[0] = true
	for i := range len(glob) {
		if glob[i] == '*' {
			for j := 1; j <= len(s); j++ {
				can[j] = can[j] || can[j-1]
			}
			continue
		}
		for j := len(s); j > 0; j-- {
			can[j] = can[j-1] && s[j-1] == glob[i]
		}
		can[0] = false
	}
	return can[len(s)]
}

// naiveMatch is the definition of a match of one pattern.
func naiveMatch(mode Mode, p Pattern, server, name string) bool {
	glob := func(g, s string) bool {
		if mode == Folded {
			return naiveGlob(fold.String(g), fold.String(s))
		}
		return naiveGlob(g, s)
	}
	if !glob(p.Server, server) {
		return false
	}
	if p.Re != nil {
		return p.Re.MatchString(name) || mode == Folded && p.Re.MatchString(fold.String(name))
	}
	return glob(p.Name, name)
}

func naiveAll(mode Mode, patterns []Pattern, server, name string) []int32 {
	var all []int32
	for i, p := range patterns {
		if naiveMatch(mode, p, server, name) {
			all = append(all, int32(i))
		}
	}
	return all
}

// agree fails the test unless every method of x gives the answer of the reference. It returns how many
// patterns match.
func agree(t testing.TB, x *Index, mode Mode, patterns []Pattern, server, name string) int {
	t.Helper()
	want := naiveAll(mode, patterns, server, name)
	fail := func(what string, got any) {
		t.Helper()
		t.Fatalf("mode %d, patterns %q, server %q, name %q: %s is %v, want the numbers %v", mode, patterns, server, name, what, got, want)
	}
	equal := func(got []int32) bool {
		if len(got) != len(want)+1 || got[0] != -7 {
			return false
		}
		for i, w := range want {
			if got[i+1] != w {
				return false
			}
		}
		return true
	}
	first := -1
	if len(want) > 0 {
		first = int(want[0])
	}
	s := x.Server(server)
	if got := x.First(server, name); got != first {
		fail("First", got)
	}
	if got := x.FirstIn(s, name); got != first {
		fail("FirstIn", got)
	}
	if got := x.Any(server, name); got != (first >= 0) {
		fail("Any", got)
	}
	if got := x.All([]int32{-7}, server, name); !equal(got) {
		fail("All", got)
	}
	if got := x.AllIn([]int32{-7}, s, name); !equal(got) {
		fail("AllIn", got)
	}
	for _, limit := range []int{-1, 0, first, first + 1, first + 2, len(patterns) / 2, len(patterns)} {
		below := first
		if first >= limit {
			below = -1
		}
		if got := x.FirstBelow(server, name, limit); got != below {
			fail("FirstBelow", []int{limit, got})
		}
	}
	return len(want)
}
