package bench

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/penstock-mcp/penstock/engine"
)

var big = flag.Bool("big", false, "run BenchmarkScale with a million tools and a million rules, too")

// BenchmarkScale gives the measurements that the cost model of docs/perf.md is fitted to: it builds everything from
// nothing and reports the parts. An operation is the whole: compiling policy and filter, and the refresh of all servers.
func BenchmarkScale(b *testing.B) {
	sizes := []Size{}
	for _, tools := range []int{1000, 10_000, 100_000} {
		for _, rules := range []int{100, 1000, 10_000, 100_000} {
			sizes = append(sizes, Size{Rules: rules, Tools: tools, Servers: tools / 100})
		}
	}
	if *big {
		sizes = append(sizes, Size{Rules: 1_000_000, Tools: 1_000_000, Servers: 10_000})
	}
	for _, size := range sizes {
		b.Run(fmt.Sprintf("tools=%d/rules=%d", size.Tools, size.Rules), func(b *testing.B) { benchScale(b, size) })
	}
}

func benchScale(b *testing.B, size Size) {
	f := &fixture{Workload: New(size), requests: Requests(), checked: make(map[string]bool)}
	f.naive = NewNaive(f.Workload)
	f.known, f.unseen = f.Calls(f.Known), f.Calls(f.Unseen)
	policyOptions, filterOptions, catalog, base := f.PolicyOptions(), f.FilterOptions(), f.Catalog(), f.Baseline()
	var err error
	if f.filter, err = engine.CompileFilter(filterOptions); err != nil {
		b.Fatal(err)
	}
	parts := make(map[string][]float64)
	b.ResetTimer()
	for range b.N {
		f.policy, f.engine = nil, nil
		f.policy = measured(parts, "compile-ns", "policy-B", func() *engine.Policy {
			p, err := engine.CompilePolicy(policyOptions)
			if err != nil {
				b.Fatal(err)
			}
			return p
		})
		f.engine = measured(parts, "refresh-ns", "tools-B", func() *engine.Engine { return f.refreshed(b, catalog, base) })
	}
	b.StopTimer()
	for unit, values := range parts {
		b.ReportMetric(Median(values), unit)
	}

	v := f.engine.Snapshot().View(filteredView)
	f.check(b, "scale", func(i int) error {
		t := tool(&f.unseen[i])
		d, err := f.policy.Evaluate(ctx, &f.unseen[i], &t, f.request(i))
		if err := f.checkDecision(f.Unseen, i, d, err, true); err != nil {
			return err
		}
		n := f.Known[f.Order[i]]
		d, err = v.Decide(ctx, &f.known[i], f.request(i))
		if f.naive.Visible(n, &Situations[i%len(Situations)]) {
			return f.checkDecision(f.Known, i, d, err, false)
		}
		return nil
	})
	b.ReportMetric(timeOf(loop(len(f.known), func(from, to int) {
		for i := from; i < to; i++ {
			d, _ := v.Decide(ctx, &f.known[i], f.requests[0])
			sinkInt += int(d.Action)
		}
	})), "known-ns")
	b.ReportMetric(timeOf(loop(len(f.unseen), func(from, to int) {
		var t engine.Tool
		for i := from; i < to; i++ {
			t.Server, t.Name = f.unseen[i].Server, f.unseen[i].Name
			d, _ := f.policy.Evaluate(ctx, &f.unseen[i], &t, f.requests[0])
			sinkInt += int(d.Action)
		}
	})), "unseen-ns")
}

// measured builds something and notes how long it took and how much heap it keeps alive.
func measured[T any](parts map[string][]float64, ns, bytes string, build func() T) T {
	before := liveHeap()
	start := time.Now()
	v := build()
	parts[ns] = append(parts[ns], float64(time.Since(start).Nanoseconds()))
	parts[bytes] = append(parts[bytes], liveHeap()-before)
	return v
}

// timeOf returns the nanoseconds of one operation: the median of some laps.
func timeOf(run func(n int)) float64 {
	n, _ := lapCount(run, 10*lapTime)
	laps := make([]float64, 11)
	for i := range laps {
		laps[i] = lap(run, n)
	}
	return Median(laps)
}
