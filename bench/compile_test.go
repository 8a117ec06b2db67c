package bench

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/penstock-mcp/penstock/engine"
)

// BenchmarkCompile measures the compiling of a policy: the time of one rule (ns/rule) and the heap that the compiled
// policy keeps for it (B/rule). The rules themselves, made beforehand, belong to the caller and do not count.
func BenchmarkCompile(b *testing.B) {
	for _, rules := range ruleCounts[1:] {
		b.Run(fmt.Sprintf("rules=%d", rules), func(b *testing.B) {
			f := getFixture(b, Size{Rules: rules, Tools: 5000, Servers: 50})
			options := f.PolicyOptions()
			compile := func() *engine.Policy {
				p, err := engine.CompilePolicy(options)
				if err != nil {
					b.Fatal(err)
				}
				return p
			}
			f.check(b, "compile", func(i int) error {
				t := tool(&f.unseen[i])
				d, err := f.policy.Evaluate(ctx, &f.unseen[i], &t, f.request(i))
				return f.checkDecision(f.Unseen, i, d, err, true)
			})
			heap := heapOf(func() any { return compile() })
			ns := Race(b, func(n int) {
				for range n {
					sinkAny = compile()
				}
			})
			sinkAny = nil
			b.ReportMetric(ns/float64(rules), "ns/rule")
			b.ReportMetric(heap/float64(rules), "B/rule")
		})
	}
}

// heapOf returns how many bytes of heap the result of build keeps alive. It is the least of three tries, since
// whatever else is freed or made meanwhile only adds noise.
func heapOf(build func() any) float64 {
	least := 0.0
	for i := range 3 {
		before := liveHeap()
		kept := build()
		size := liveHeap() - before
		runtime.KeepAlive(kept)
		if i == 0 || size < least {
			least = size
		}
	}
	return max(least, 0)
}

// liveHeap returns the bytes on the heap that are in use. Two collections: the first may leave what has a finalizer.
func liveHeap() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
