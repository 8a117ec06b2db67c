package peers

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/penstock-mcp/penstock/bench"
	"github.com/penstock-mcp/penstock/engine"
)

const catalogs = "../../testdata/catalogs"

// fixture is a workload with the right answers and our engine on it.
type fixture struct {
	*bench.Workload
	ours          *ours
	known, unseen []engine.Call
	want          map[bool][]bench.List // by known, in the order of the calls
	visible       []int32
}

var fixtures = struct {
	sync.Mutex
	m map[string]*fixture
}{m: make(map[string]*fixture)}

// fixtureOf returns the fixture of a number of rules, or that of the real catalogs for 0.
func fixtureOf(tb testing.TB, rules int) *fixture {
	tb.Helper()
	fixtures.Lock()
	defer fixtures.Unlock()
	key := fmt.Sprint(rules)
	if fixtures.m[key] != nil {
		return fixtures.m[key]
	}
	w := bench.New(bench.Size{Rules: max(rules, 10), Tools: 5000, Servers: 50})
	var err error
	if rules == 0 {
		if w, err = bench.FromCatalogs(catalogs, 200); err != nil {
			tb.Fatal(err)
		}
	}
	f := &fixture{Workload: w, want: make(map[bool][]bench.List)}
	if f.ours, err = newOurs(w); err != nil {
		tb.Fatal(err)
	}
	f.known, f.unseen = w.Calls(w.Known), w.Calls(w.Unseen)
	naive := bench.NewNaive(w)
	for _, n := range w.Order {
		f.want[true] = append(f.want[true], naive.Decide(w.Known[n], &bench.Situations[0]).List)
		f.want[false] = append(f.want[false], naive.Decide(w.Unseen[n], &bench.Situations[0]).List)
	}
	for i, n := range w.Known {
		if naive.Visible(n, &bench.Situations[0]) {
			f.visible = append(f.visible, int32(i))
		}
	}
	f.checkOurs(tb)
	fixtures.m[key] = f
	return f
}

// checkOurs holds our engine against the right answers.
func (f *fixture) checkOurs(tb testing.TB) {
	tb.Helper()
	known, unseen := f.ours.known(f.known), f.ours.unseen(f.unseen)
	for i := range f.known {
		if got := known(i); got != f.want[true][i] {
			tb.Fatalf("ours: %v: got %v, want %v", f.known[i], got, f.want[true][i])
		}
		if got := unseen(i); got != f.want[false][i] {
			tb.Fatalf("ours: %v: got %v, want %v", f.unseen[i], got, f.want[false][i])
		}
	}
	shown := make(map[bench.Name]bool)
	for _, t := range f.ours.list(nil) {
		shown[bench.Name{Server: t.Server, Tool: t.Name}] = true
	}
	for _, i := range f.visible {
		if !shown[f.Known[i]] {
			tb.Fatalf("ours: %v is not listed", f.Known[i])
		}
	}
	if len(shown) != len(f.visible) {
		tb.Fatalf("ours: %d tools listed, want %d", len(shown), len(f.visible))
	}
}

// checkTime is how long the answers of one engine are checked, at most: an engine that takes milliseconds for a decision
// is checked on as many as it can give.
const checkTime = 5 * time.Second

// checkDecider holds a decider against the right answers and returns how many it gave.
func (f *fixture) checkDecider(tb testing.TB, d Decider) int {
	tb.Helper()
	checked := 0
	for start := time.Now(); checked < len(f.known) && time.Since(start) < checkTime; checked++ {
		for _, known := range []bool{true, false} {
			c := f.unseen[checked]
			if known {
				c = f.known[checked]
			}
			if got, want := d.Decide(c.Server, c.Name), f.want[known][checked]; got != want {
				tb.Fatalf("%s of %s: got %v, want %v", c.Name, c.Server, got, want)
			}
		}
	}
	if checked < len(f.known) {
		tb.Logf("checked %d of %d names: it takes more than %v to check them all", 2*checked, 2*len(f.known), checkTime)
	}
	return checked
}

func (f *fixture) checkLister(tb testing.TB, l Lister) {
	tb.Helper()
	got := l.List(nil)
	slices.Sort(got)
	if !slices.Equal(got, f.visible) {
		tb.Fatalf("%d tools listed, want %d", len(got), len(f.visible))
	}
}

// TestPeersAgree checks that every engine gives the right answers, before and after a change.
func TestPeersAgree(t *testing.T) {
	for _, rules := range []int{0, 10, 100, 1000} {
		f := fixtureOf(t, rules)
		for _, e := range Engines() {
			name := fmt.Sprintf("engine=%s/rules=%d", e.Name, rules)
			if rules == 0 {
				name = fmt.Sprintf("engine=%s/catalogs", e.Name)
			}
			t.Run(name, func(t *testing.T) {
				if testing.Short() && rules > 100 {
					t.Skip("short")
				}
				d, err := e.Policy(f.Workload)
				if err != nil {
					t.Fatal(err)
				}
				f.checkDecider(t, d)
				l, err := e.Filter(f.Workload)
				if err != nil {
					t.Fatal(err)
				}
				f.checkLister(t, l)
				checkChange(t, f, d)
			})
		}
	}
}

// change returns the change of a literal rule into one about a known name that no rule was about, and the name.
func (f *fixture) change(tb testing.TB) (Change, bench.Name) {
	tb.Helper()
	var name bench.Name
	for at := range f.known {
		if f.want[true][at] == bench.NoRule {
			name = f.Known[f.Order[at]]
			break
		}
	}
	for l := bench.Allow; l >= bench.Deny; l-- {
		for i, r := range f.Rules(l) {
			if r.Shape == bench.Literal {
				rule := bench.Rule{Shape: bench.Literal, Server: name.Server, Text: name.Tool}
				return Change{f.WithRule(l, i, rule), l, i, r, rule}, name
			}
		}
	}
	tb.Fatal("no literal rule to change")
	return Change{}, name
}

// back is the change that undoes c.
func (f *fixture) back(c Change) Change { return Change{f.Workload, c.List, c.Index, c.New, c.Old} }

func checkChange(t *testing.T, f *fixture, d Decider) {
	t.Helper()
	c, name := f.change(t)
	if got := d.Decide(name.Server, name.Tool); got != bench.NoRule {
		t.Fatalf("before the change: %v", got)
	}
	naive := bench.NewNaive(c.After)
	next, err := d.Change(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range append(f.Known[:300:300], name, bench.Name{Server: c.Old.Server, Tool: c.Old.Text}) {
		if got, want := next.Decide(n.Server, n.Tool), naive.Decide(n, &bench.Situations[0]).List; got != want {
			t.Fatalf("after the change, %v: got %v, want %v", n, got, want)
		}
	}
	if next, err = next.Change(f.back(c)); err != nil {
		t.Fatal(err)
	}
	if got := next.Decide(name.Server, name.Tool); got != bench.NoRule {
		t.Fatalf("after the change back: %v", got)
	}
}

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
