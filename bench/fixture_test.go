package bench

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/penstock-mcp/penstock/engine"
)

// fixture is everything that benchmarks of one size share: built when first asked for, checked once.
type fixture struct {
	*Workload
	naive  *Naive
	policy *engine.Policy
	filter *engine.Filter
	engine *engine.Engine

	known, unseen []engine.Call // in random order, with strings of their own
	requests      [len(Situations)]*engine.Request
	checked       map[string]bool
	kept          map[string]any // what else was built for it
}

// keep returns what build returned when it was first called for what.
func keep[T any](f *fixture, what string, build func() T) T {
	if v, ok := f.kept[what]; ok {
		return v.(T)
	}
	v := build()
	f.kept[what] = v
	return v
}

// Views of a fixture's engine.
const (
	openView     = "open"     // the policy, and a filter that hides nothing
	filteredView = "filtered" // the policy and the filter
)

var fixtures = struct {
	sync.Mutex
	m map[Size]*fixture
}{m: make(map[Size]*fixture)}

// getFixture returns the fixture of a size.
func getFixture(tb testing.TB, size Size) *fixture {
	tb.Helper()
	fixtures.Lock()
	defer fixtures.Unlock()
	f := fixtures.m[size]
	if f == nil {
		f = newFixture(tb, size)
		fixtures.m[size] = f
	}
	return f
}

func newFixture(tb testing.TB, size Size) *fixture {
	tb.Helper()
	w := New(size)
	f := &fixture{Workload: w, naive: NewNaive(w), requests: Requests(), checked: make(map[string]bool), kept: make(map[string]any)}
	var err error
	if f.policy, err = engine.CompilePolicy(w.PolicyOptions()); err != nil {
		tb.Fatal(err)
	}
	if f.filter, err = engine.CompileFilter(w.FilterOptions()); err != nil {
		tb.Fatal(err)
	}
	if f.engine, err = engine.New(f.config(tb)); err != nil {
		tb.Fatal(err)
	}
	refreshAll(tb, f.engine, w.Catalog())
	f.known, f.unseen = w.Calls(w.Known), w.Calls(w.Unseen)
	return f
}

// config returns the fixture's views and baseline.
func (f *fixture) config(tb testing.TB) engine.Config {
	tb.Helper()
	all, err := engine.CompileFilter(engine.FilterOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	return engine.Config{
		Views:    map[string]engine.View{openView: {Filter: all, Policy: f.policy}, filteredView: {Filter: f.filter, Policy: f.policy}},
		Baseline: f.Baseline(),
	}
}

// refreshAll refreshes every server of a catalog.
func refreshAll(tb testing.TB, e *engine.Engine, catalog []ServerTools) {
	tb.Helper()
	for _, s := range catalog {
		refresh(tb, e, s)
	}
}

func refresh(tb testing.TB, e *engine.Engine, s ServerTools) {
	tb.Helper()
	r, err := e.Refresh(s.ID, s.Tools)
	if err != nil {
		tb.Fatal(err)
	}
	if r.Tools != len(s.Tools) {
		tb.Fatalf("server %s: %d of %d tools, quarantined %v", s.ID, r.Tools, len(s.Tools), r.Quarantined)
	}
}

// request returns what goes with call i.
func (f *fixture) request(i int) *engine.Request { return f.requests[i%len(f.requests)] }

// Answers are checked for every name up to allPairs pairs of a rule and a name, for sampleNames names beyond.
const (
	allPairs    = 10_000_000
	sampleNames = 2_000
)

// check calls compare for the numbers of the calls whose answers are to be checked, once for each what.
func (f *fixture) check(tb testing.TB, what string, compare func(i int) error) {
	tb.Helper()
	if f.checked[what] {
		return
	}
	n, step := len(f.Order), 1
	if n*(f.Size.Rules+f.Size.Dynamic) > allPairs && n > sampleNames {
		step = n / sampleNames // the order is random already
	}
	for i := 0; i < n; i += step {
		if err := compare(i); err != nil {
			tb.Fatalf("%s: call %d: %v", what, i, err)
		}
	}
	f.checked[what] = true
}

// checkDecision compares a decision about call i, of names, with the naive answer.
func (f *fixture) checkDecision(names []Name, i int, got engine.Decision, err error, isNew bool) error {
	if err != nil {
		return err
	}
	name := names[f.Order[i]]
	want := f.naive.Decide(name, &Situations[i%len(Situations)])
	switch {
	case AnswerOf(got) != want:
		return fmt.Errorf("%v: got %v, want %v", name, got, want)
	case got.Action != actionOf(want):
		return fmt.Errorf("%v: got action %v for %v", name, got.Action, want)
	case got.New != isNew:
		return fmt.Errorf("%v: got new %t", name, got.New)
	}
	return nil
}

// actionOf is what an answer comes to with an approver at hand.
func actionOf(a Answer) engine.Action {
	switch a.List {
	case Deny:
		return engine.Deny
	case Allow:
		return engine.Allow
	default:
		return engine.Ask
	}
}

// tool returns the tool that a call is about.
func tool(c *engine.Call) engine.Tool { return engine.Tool{Server: c.Server, Name: c.Name} }

// loop returns a run of a race that does each of n operations in turn, over and over.
func loop(n int, do func(from, to int)) func(int) {
	at := 0
	return func(times int) {
		for times > 0 {
			to := min(at+times, n)
			do(at, to)
			times -= to - at
			at = to
			if at == n {
				at = 0
			}
		}
	}
}

// sinks keep results alive.
var (
	sinkInt   int
	sinkTools []*engine.Tool
	sinkAny   any
)

type mapKey struct{ server, tool string }

// mapFloor is the floor x-map: one look-up of each call's name in a Go map, in the order of the calls. The map's keys
// are strings of its own.
func mapFloor(calls []engine.Call) Rival {
	m := make(map[mapKey]int32, len(calls))
	keys := make([]mapKey, len(calls))
	for i, c := range calls {
		m[mapKey{strings.Clone(c.Server), strings.Clone(c.Name)}] = int32(i)
		keys[i] = mapKey{c.Server, c.Name}
	}
	return Rival{"x-map", loop(len(keys), func(from, to int) {
		sum := 0
		for i := from; i < to; i++ {
			sum += int(m[keys[i]])
		}
		sinkInt += sum
	})}
}

// naiveFloor is the floor x-naive.
func (f *fixture) naiveFloor(names []Name) Rival {
	return Rival{"x-naive", loop(len(f.Order), func(from, to int) {
		for i := from; i < to; i++ {
			sinkInt += int(f.naive.Decide(names[f.Order[i]], &Situations[i%len(Situations)]).List)
		}
	})}
}

var ctx = context.Background()
