package bench

import (
	"fmt"
	"slices"
	"testing"

	"github.com/penstock-mcp/penstock/automaton"
	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/fold"
)

// BenchmarkMatch measures the index alone, in the folded mode, on known and unseen names in turn: the first pattern that
// matches, and all of them.
func BenchmarkMatch(b *testing.B) {
	for _, way := range []string{"first", "all"} {
		b.Run(way, func(b *testing.B) {
			for _, rules := range ruleCounts[1:] {
				b.Run(fmt.Sprintf("rules=%d", rules), func(b *testing.B) { benchMatch(b, rules, way == "all") })
			}
		})
	}
}

func benchMatch(b *testing.B, rules int, all bool) {
	f := getFixture(b, Size{Rules: rules, Tools: 5000, Servers: 50})
	patterns := f.Patterns()
	index := automaton.Build(automaton.Folded, patterns)
	calls := make([]engine.Call, len(f.known))
	for i := range calls {
		calls[i] = f.known[i]
		if i%2 == 0 {
			calls[i] = f.unseen[i]
		}
	}
	loose := naiveRules(slices.Concat(f.Deny, f.Ask, f.Allow), true)
	f.check(b, "match", func(i int) error {
		c := calls[i]
		folded := Name{fold.String(c.Server), fold.String(c.Name)}
		var want []int32
		for n := range loose {
			if glob(loose[n].server, folded.Server) && glob(loose[n].tool, folded.Tool) {
				want = append(want, int32(n))
			}
		}
		if got := index.All(nil, c.Server, c.Name); !slices.Equal(got, want) {
			return fmt.Errorf("%v: all %v, want %v", c, got, want)
		}
		least := -1
		if len(want) > 0 {
			least = int(want[0])
		}
		if got := index.First(c.Server, c.Name); got != least {
			return fmt.Errorf("%v: first %d, want %d", c, got, least)
		}
		return nil
	})

	run := loop(len(calls), func(from, to int) {
		sum := 0
		for i := from; i < to; i++ {
			sum += index.First(calls[i].Server, calls[i].Name)
		}
		sinkInt += sum
	})
	if all {
		dst := make([]int32, 0, 1024)
		run = loop(len(calls), func(from, to int) {
			for i := from; i < to; i++ {
				dst = index.All(dst[:0], calls[i].Server, calls[i].Name)
				sinkInt += len(dst)
			}
		})
	}
	Race(b, run, mapFloor(calls), Rival{"x-naive", loop(len(calls), func(from, to int) {
		for i := from; i < to; i++ {
			sinkInt += first(loose, Name{fold.String(calls[i].Server), fold.String(calls[i].Name)}, nil)
		}
	})})
}
