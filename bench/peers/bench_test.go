package peers

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/penstock-mcp/penstock/bench"
	"github.com/penstock-mcp/penstock/engine"
)

// Limits of what is run: an operation that takes longer is left out, and the log says so.
const (
	decideCap = 100 * time.Millisecond
	listCap   = 8 * time.Second
	buildCap  = 8 * time.Second
)

// BenchmarkPeers measures each engine beside ours, in alternating rounds: one decision (ns/op is a known tool,
// unseen-ns one that was never seen), a list of 5,000 tools, compiling, and the change of one rule while another
// goroutine decides. x-known, x-unseen and x-ours are the engine's time by ours.
func BenchmarkPeers(b *testing.B) {
	for _, e := range Engines() {
		for _, rules := range []int{10, 100, 1000, 10_000, 0} {
			if testing.Short() && rules == 10_000 {
				continue
			}
			size := fmt.Sprintf("rules=%d", rules)
			if rules == 0 {
				size = "catalogs"
			}
			name := fmt.Sprintf("engine=%s/%s", e.Name, size)
			r := &run{Engine: e, rules: rules}
			b.Run(name, r.decide)
			b.Run(name+"/list", r.list)
			b.Run(name+"/compile", r.compile)
			b.Run(name+"/reload", r.reload)
		}
	}
}

// run is one engine at one size.
type run struct {
	Engine
	rules   int
	f       *fixture
	decider Decider // checked
	lister  Lister  // checked
	tooSlow map[string]string
}

// leaveOut skips a benchmark, now and whenever it is run again, and says so on standard output, where the log of a skipped
// benchmark does not go.
func (r *run) leaveOut(b *testing.B, what, why string) {
	b.Helper()
	if _, said := r.tooSlow[what]; !said {
		if r.tooSlow == nil {
			r.tooSlow = make(map[string]string)
		}
		r.tooSlow[what] = why
		fmt.Printf("%s: left out: %s %s\n", b.Name(), what, why)
	}
	b.Skip(why)
}

// skipSlow skips what was left out before.
func (r *run) skipSlow(b *testing.B, what string) {
	b.Helper()
	if why, slow := r.tooSlow[what]; slow {
		r.leaveOut(b, what, why)
	}
}

// build makes the decider, unless it was made before, and checks it.
func (r *run) build(b *testing.B) {
	b.Helper()
	r.f = fixtureOf(b, r.rules)
	r.skipSlow(b, "compiling")
	if r.decider != nil {
		return
	}
	var d Decider
	var err error
	late := within(buildCap, func() { d, err = r.Policy(r.f.Workload) })
	if err != nil {
		b.Fatal(err)
	}
	if late != "" {
		r.leaveOut(b, "compiling", late)
	}
	r.f.checkDecider(b, d)
	r.decider = d
}

func (r *run) decide(b *testing.B) {
	r.build(b)
	d, known, unseen := r.decider, r.f.known, r.f.unseen
	oursKnown, oursUnseen := r.f.ours.known(known), r.f.ours.unseen(unseen)
	if late := within(decideCap, func() { d.Decide(known[0].Server, known[0].Name) }); late != "" {
		r.leaveOut(b, "a decision", late)
	}
	remember := func() {}
	if f, ok := d.(Forgetter); ok {
		f.Forget()
		for _, c := range known { // known names are those it remembers
			d.Decide(c.Server, c.Name)
		}
		remember = f.Forget
	}
	bench.Race(b, loop(len(known), nil, func(i int) bench.List { return d.Decide(known[i].Server, known[i].Name) }),
		bench.Rival{Unit: "x-known", Run: loop(len(known), nil, oursKnown)})
	budget := min(b.Elapsed(), 500*time.Millisecond)
	if b.N == 1 {
		budget = 0
	}
	ns, ratio := bench.Compare(
		loop(len(unseen), remember, func(i int) bench.List { return d.Decide(unseen[i].Server, unseen[i].Name) }),
		loop(len(unseen), nil, oursUnseen), budget)
	b.ReportMetric(ns, "unseen-ns")
	b.ReportMetric(ratio, "x-unseen")
}

// loop does n things in turn, over and over, and before each round what again does.
func loop(n int, again func(), do func(i int) bench.List) func(times int) {
	at := 0
	return func(times int) {
		sum := 0
		for range times {
			if at == 0 && again != nil {
				again()
			}
			sum += int(do(at))
			if at++; at == n {
				at = 0
			}
		}
		sink += sum
	}
}

var (
	sink    int
	sinkAny any
)

func (r *run) list(b *testing.B) {
	r.f = fixtureOf(b, r.rules)
	if r.lister == nil {
		r.skipSlow(b, "a list")
		l, err := r.Filter(r.f.Workload)
		if err != nil {
			b.Fatal(err)
		}
		if late := within(listCap, func() { r.f.checkLister(b, l) }); late != "" {
			r.leaveOut(b, "a list", late)
		}
		r.lister = l
	}
	var dst []int32
	var tools []*engine.Tool
	bench.Race(b, func(n int) {
		for range n {
			dst = r.lister.List(dst[:0])
		}
		sink += len(dst)
	}, bench.Rival{Unit: "x-ours", Run: func(n int) {
		for range n {
			tools = r.f.ours.list(tools[:0])
		}
		sink += len(tools)
	}})
}

// within does something and says so if it took longer than it may.
func within(limit time.Duration, do func()) string {
	start := time.Now()
	do()
	if took := time.Since(start); took > limit {
		return fmt.Sprintf("takes %v", took.Round(time.Millisecond))
	}
	return ""
}

func (r *run) compile(b *testing.B) {
	r.build(b)
	heap := heapOf(func() any { return must(r.Policy(r.f.Workload)) })
	options := r.f.PolicyOptions()
	bench.Race(b, func(n int) {
		for range n {
			sinkAny = must(r.Policy(r.f.Workload))
		}
	}, bench.Rival{Unit: "x-ours", Run: func(n int) {
		for range n {
			sinkAny = must(engine.CompilePolicy(options))
		}
	}})
	sinkAny = nil
	b.ReportMetric(heap, "heap-B")
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// heapOf returns the bytes that the result of build keeps alive.
func heapOf(build func() any) float64 {
	live := func() float64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	before := live()
	kept := build()
	size := live() - before
	runtime.KeepAlive(kept)
	return max(size, 0)
}

// reload changes one rule and back, while another goroutine decides all the time.
func (r *run) reload(b *testing.B) {
	r.build(b)
	change, _ := r.f.change(b)
	changes := [2]Change{change, r.f.back(change)}
	var current atomic.Pointer[Decider]
	fresh, err := r.Policy(r.f.Workload) // not the one that other benchmarks go on to use
	if err != nil {
		b.Fatal(err)
	}
	current.Store(&fresh)
	stop := readers(func(at int) {
		c := &r.f.known[at%len(r.f.known)]
		(*current.Load()).Decide(c.Server, c.Name)
	})
	defer stop()
	turn := 0
	theirs := func(n int) {
		for range n {
			d, err := (*current.Load()).Change(changes[turn%2])
			if err != nil {
				b.Fatal(err)
			}
			current.Store(&d)
			turn++
		}
	}
	oursVersions := [2]engine.PolicyOptions{change.After.PolicyOptions(), r.f.PolicyOptions()}
	open, err := engine.CompileFilter(engine.FilterOptions{})
	if err != nil {
		b.Fatal(err)
	}
	oursTurn := 0
	bench.Race(b, theirs, bench.Rival{Unit: "x-ours", Run: func(n int) {
		for range n {
			p, err := engine.CompilePolicy(oursVersions[oursTurn%2])
			if err == nil {
				err = r.f.ours.engine.Apply(r.f.ours.config(p, open))
			}
			if err != nil {
				b.Fatal(err)
			}
			oursTurn++
		}
	}})
	// The engine is to end as it began.
	if err := r.f.ours.engine.Apply(r.f.ours.config(r.f.ours.policy, open)); err != nil {
		b.Fatal(err)
	}
}

// readers calls read over and over in a goroutine until it is stopped.
func readers(read func(at int)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		for at := 0; ctx.Err() == nil; at++ {
			read(at)
			runtime.Gosched()
		}
	})
	return func() { cancel(); wg.Wait() }
}
