package automaton

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// TestMain makes all other tests go through the structures, also with a handful of patterns.
func TestMain(m *testing.M) {
	smallIndex = 0
	os.Exit(m.Run())
}

// A small index answers like the structures, whatever the patterns: every pattern up to length 3 as server and name, alone
// and in random company.
func TestSmallIndexesAnswerLikeTheStructures(t *testing.T) {
	var words []string
	for _, a := range []string{"", "a", "A", "_", "-", "*", "\xff", "İ"} {
		for _, b := range []string{"", "a", "_", "*"} {
			for _, c := range []string{"", "a", "*"} {
				words = append(words, a+b+c)
			}
		}
	}
	names := append([]string{"a\xffa", "aaaa", "A-a", "i\u0307a", strings.Repeat("A", 300)}, words...)
	rnd := rand.New(rand.NewPCG(1, 2))
	matched, small := 0, 0
	check := func(mode Mode, patterns []Pattern, tries int) {
		smallIndex = 12
		x := Build(mode, patterns)
		smallIndex = 0
		y := Build(mode, patterns)
		if x.small != nil {
			small++
		}
		for range tries {
			server, name := names[rnd.IntN(len(names))], names[rnd.IntN(len(names))]
			limit := rnd.IntN(len(patterns) + 2)
			if got, want := x.First(server, name), y.First(server, name); got != want {
				t.Fatalf("mode %d, %q: First(%q, %q) is %d, want %d", mode, patterns, server, name, got, want)
			} else if want >= 0 {
				matched++
			}
			if got, want := x.FirstBelow(server, name, limit), y.FirstBelow(server, name, limit); got != want {
				t.Fatalf("mode %d, %q: FirstBelow(%q, %q, %d) is %d, want %d", mode, patterns, server, name, limit, got, want)
			}
			if got, want := x.FirstIn(x.Server(server), name), y.FirstIn(y.Server(server), name); got != want {
				t.Fatalf("mode %d, %q: FirstIn(%q, %q) is %d, want %d", mode, patterns, server, name, got, want)
			}
		}
	}
	for _, mode := range []Mode{Exact, Folded} {
		for _, server := range words {
			for _, name := range words {
				check(mode, []Pattern{{Server: server, Name: name}}, 20)
			}
		}
		for range 5000 {
			patterns := make([]Pattern, 1+rnd.IntN(14))
			for i := range patterns {
				patterns[i] = Pattern{Server: words[rnd.IntN(len(words))], Name: words[rnd.IntN(len(words))]}
			}
			check(mode, patterns, 20)
		}
	}
	if matched < 20000 || small < 20000 {
		t.Fatalf("%d matches in %d small indexes: not much of a test", matched, small)
	}
}

func TestSmallIndexesAllocateNothing(t *testing.T) {
	smallIndex = 12
	x := Build(Folded, []Pattern{{Server: "fs", Name: "delete_*"}, {Server: "*", Name: "*_x"}, {Server: "g*", Name: "a*b"}})
	smallIndex = 0
	if x.small == nil {
		t.Fatal("the index is not small")
	}
	gh := x.Server("gh")
	if n := testing.AllocsPerRun(100, func() {
		x.First("FS", "Delete-Repo")
		x.First("gh", "List.Repos")
		x.FirstIn(gh, "a_b")
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
