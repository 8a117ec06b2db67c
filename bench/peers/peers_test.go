package peers

import (
	"fmt"
	"slices"
	"sync"
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
