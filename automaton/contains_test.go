package automaton

import (
	"strings"
	"testing"
)

// globsUpTo returns every string over letters of at most n bytes.
func globsUpTo(n int, letters string) []string {
	all := []string{""}
	for from := 0; n > 0; n-- {
		end := len(all)
		for _, s := range all[from:end] {
			for _, c := range letters {
				all = append(all, s+string(c))
			}
		}
		from = end
	}
	return all
}

// Every pair of globs of up to four letters over {a, b, *}, against all names of up to seven letters over {a, b, c}.
// A glob that is not contained has a witness no longer than its own pieces and one letter for each star.
func TestContainsAgreesWithEnumeration(t *testing.T) {
	globs, names := globsUpTo(4, "ab*"), globsUpTo(7, "abc")
	sets := make([]Bitset, len(globs))
	for i, g := range globs {
		sets[i] = make(Bitset, (len(names)+63)/64)
		for j, s := range names {
			if Match(g, s) {
				sets[i].Set(j)
			}
		}
	}
	yes := 0
	for i, outer := range globs {
	inner:
		for j, inner := range globs {
			want := true
			for w := range sets[i] {
				if sets[j][w]&^sets[i][w] != 0 {
					want = false
					break
				}
			}
			if got := Contains(outer, inner); got != want {
				t.Errorf("Contains(%q, %q) is %t, want %t", outer, inner, got, want)
				continue inner
			}
			if want {
				yes++
			}
		}
	}
	if len(globs) != 121 || yes < 500 {
		t.Fatalf("%d globs, %d contained pairs: the test is vacuous", len(globs), yes)
	}
}

// An index asked about the texts of patterns finds what contains them, in both halves and modes.
func TestIndexFindsThePatternsThatContainAPattern(t *testing.T) {
	halves := globsUpTo(2, "aB*")[1:]
	var patterns []Pattern
	for _, server := range halves {
		for _, name := range halves {
			patterns = append(patterns, Pattern{Server: server, Name: name})
		}
	}
	for _, mode := range []Mode{Exact, Folded} {
		x := Build(mode, patterns)
		found := 0
		for _, p := range patterns {
			got := map[int32]bool{}
			for _, n := range x.All(nil, p.Server, p.Name) {
				got[n] = true
			}
			found += len(got)
			for i, q := range patterns {
				loose := func(s string) string { return s }
				if mode == Folded {
					loose = strings.ToLower
				}
				want := Contains(loose(q.Server), loose(p.Server)) && Contains(loose(q.Name), loose(p.Name))
				if got[int32(i)] != want {
					t.Fatalf("mode %d: %v contains %v: index says %t, want %t", mode, q, p, !want, want)
				}
			}
		}
		if found < 2*len(patterns) {
			t.Fatalf("mode %d: %d contained pairs of %d patterns: the test is vacuous", mode, found, len(patterns))
		}
	}
}
