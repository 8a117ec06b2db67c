package bench

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/penstock-mcp/penstock/engine"
)

// ruleCounts are the sizes of the decision benchmarks; 5,000 tools on 50 servers go with each.
var ruleCounts = []int{10, 100, 1000, 10_000, 100_000}

// BenchmarkDecide measures one decision: about a tool of the snapshot by name (known) and by reference (ref), and about
// a name that was never seen (unseen), which goes through the rules.
func BenchmarkDecide(b *testing.B) {
	for _, way := range []struct {
		name string
		run  func(*testing.B, *fixture)
	}{{"known", benchKnown}, {"ref", benchRef}, {"unseen", benchUnseen}} {
		b.Run(way.name, func(b *testing.B) {
			for _, rules := range ruleCounts {
				b.Run(fmt.Sprintf("rules=%d", rules), func(b *testing.B) {
					way.run(b, getFixture(b, Size{Rules: rules, Tools: 5000, Servers: 50}))
				})
			}
			b.Run("rules=1000/dynamic=100", func(b *testing.B) {
				way.run(b, getFixture(b, Size{Rules: 1000, Tools: 5000, Servers: 50, Dynamic: 100}))
			})
		})
	}
}

func benchKnown(b *testing.B, f *fixture) {
	v := f.engine.Snapshot().View(openView)
	f.check(b, "known", func(i int) error {
		d, err := v.Decide(ctx, &f.known[i], f.request(i))
		return f.checkDecision(f.Known, i, d, err, false)
	})
	req := f.requests
	Race(b, loop(len(f.known), func(from, to int) {
		sum := 0
		for i := from; i < to; i++ {
			d, _ := v.Decide(ctx, &f.known[i], req[i%len(req)])
			sum += int(d.Action)
		}
		sinkInt += sum
	}), mapFloor(f.known), f.naiveFloor(f.Known))
}

func benchRef(b *testing.B, f *fixture) {
	v := f.engine.Snapshot().View(openView)
	refs := make([]engine.Ref, len(f.known))
	for i, c := range f.known {
		ref, ok := v.Ref(c.Server, c.Name)
		if !ok {
			b.Fatalf("no reference for %s of %s", c.Name, c.Server)
		}
		refs[i] = ref
	}
	f.check(b, "ref", func(i int) error {
		d, err := v.DecideRef(ctx, refs[i], f.known[i].Args, f.request(i))
		return f.checkDecision(f.Known, i, d, err, false)
	})
	req := f.requests
	Race(b, loop(len(refs), func(from, to int) {
		sum := 0
		for i := from; i < to; i++ {
			d, _ := v.DecideRef(ctx, refs[i], f.known[i].Args, req[i%len(req)])
			sum += int(d.Action)
		}
		sinkInt += sum
	}), arrayFloor(f.Order))
}

// arrayFloor is the floor x-array: one atomic load and an array by id, in the order of the calls.
func arrayFloor(order []int) Rival {
	array := make([]int32, len(order))
	ids := make([]int32, len(order))
	for i, id := range order {
		array[i], ids[i] = int32(i), int32(id)
	}
	var current atomic.Pointer[[]int32]
	current.Store(&array)
	return Rival{"x-array", loop(len(ids), func(from, to int) {
		sum := 0
		for i := from; i < to; i++ {
			sum += int((*current.Load())[ids[i]])
		}
		sinkInt += sum
	})}
}

func benchUnseen(b *testing.B, f *fixture) {
	f.check(b, "unseen", func(i int) error {
		t := tool(&f.unseen[i])
		d, err := f.policy.Evaluate(ctx, &f.unseen[i], &t, f.request(i))
		return f.checkDecision(f.Unseen, i, d, err, true)
	})
	tools := make([]engine.Tool, len(f.unseen))
	for i := range tools {
		tools[i] = tool(&f.unseen[i])
	}
	req := f.requests
	Race(b, loop(len(tools), func(from, to int) {
		sum := 0
		for i := from; i < to; i++ {
			d, _ := f.policy.Evaluate(ctx, &f.unseen[i], &tools[i], req[i%len(req)])
			sum += int(d.Action)
		}
		sinkInt += sum
	}), mapFloor(f.unseen), f.naiveFloor(f.Unseen))
}
