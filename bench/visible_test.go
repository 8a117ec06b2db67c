package bench

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/penstock-mcp/penstock/engine"
)

// BenchmarkVisible measures the list of the tools that a caller sees, into a slice that is kept.
func BenchmarkVisible(b *testing.B) {
	for _, size := range []Size{
		{Rules: 10, Tools: 5000, Servers: 50},
		{Rules: 1000, Tools: 5000, Servers: 50},
		{Rules: 10_000, Tools: 5000, Servers: 50},
		{Rules: 1000, Tools: 100_000, Servers: 1000},
		{Rules: 100_000, Tools: 100_000, Servers: 1000},
	} {
		b.Run(fmt.Sprintf("tools=%d/rules=%d", size.Tools, size.Rules), func(b *testing.B) { benchVisible(b, getFixture(b, size)) })
	}
}

func benchVisible(b *testing.B, f *fixture) {
	v := f.engine.Snapshot().View(filteredView)
	kept := checkVisible(b, f, v)
	dst := make([]*engine.Tool, 0, len(f.Known))
	flat := make([]*engine.Tool, len(kept))
	copy(flat, kept)
	req := f.requests[0]
	Race(b, func(n int) {
		for range n {
			dst = v.AppendTools(ctx, dst[:0], req)
		}
		sinkTools = dst
	}, Rival{"x-copy", func(n int) {
		for range n {
			sinkInt += copy(dst[:len(flat)], flat)
		}
		sinkTools = dst
	}})
	b.ReportMetric(float64(len(kept)), "tools")
}

// checkVisible compares the list with the naive answers and returns it.
func checkVisible(b *testing.B, f *fixture, v *engine.ViewSnapshot) []*engine.Tool {
	b.Helper()
	list := v.AppendTools(ctx, nil, f.requests[0])
	position := make(map[Name]int, len(f.Known)) // in the order of a list: servers bytewise, then as they came
	byServer := slices.Clone(f.Known)
	slices.SortStableFunc(byServer, func(x, y Name) int { return strings.Compare(x.Server, y.Server) })
	for i, n := range byServer {
		position[n] = i
	}
	shown := make(map[Name]bool, len(list))
	last := -1
	for _, t := range list {
		n := Name{t.Server, t.Name}
		at, ok := position[n]
		if !ok || at <= last {
			b.Fatalf("%v is not a known tool or not in its place", n)
		}
		last, shown[n] = at, true
	}
	f.check(b, "visible", func(i int) error {
		n := f.Known[f.Order[i]]
		if want := f.naive.Visible(n, &Situations[0]); shown[n] != want {
			return fmt.Errorf("%v: shown %t, want %t", n, shown[n], want)
		}
		return nil
	})
	return list
}
