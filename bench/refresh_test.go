package bench

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/penstock-mcp/penstock/engine"
)

// BenchmarkRefresh measures how the tools of a server get into force: one server, and all of them one after another, each
// with fingerprints given and with fingerprints to be computed from raw definitions that changed; and Apply, which puts
// another policy into force for all tools. The engine has one view. x-all is the time of one server by that of all.
func BenchmarkRefresh(b *testing.B) {
	for _, size := range []Size{
		{Rules: 10_000, Tools: 10_000, Servers: 200},
		{Rules: 100_000, Tools: 100_000, Servers: 1000},
	} {
		b.Run(fmt.Sprintf("tools=%d/rules=%d", size.Tools, size.Rules), func(b *testing.B) {
			f := getFixture(b, size)
			for _, c := range []struct {
				suffix string
				raw    bool
			}{{"", false}, {"/raw", true}} {
				b.Run("one"+c.suffix, func(b *testing.B) { benchRefreshOne(b, f.refreshable(b, c.raw)) })
				b.Run("all"+c.suffix, func(b *testing.B) { benchRefreshAll(b, f.refreshable(b, c.raw)) })
			}
			b.Run("apply", func(b *testing.B) { benchApply(b, f) })
		})
	}
}

// refreshable is an engine with one view, and two versions of its tools to be refreshed in turn.
type refreshable struct {
	f        *fixture
	raw      bool // fingerprints are to be computed
	engine   *engine.Engine
	versions [2][]ServerTools
	heap     float64 // what the engine keeps alive
	rounds   int
}

// refreshable builds the engine and checks its answers.
func (f *fixture) refreshable(b *testing.B, raw bool) *refreshable {
	b.Helper()
	return keep(f, fmt.Sprintf("refreshable, raw %t", raw), func() *refreshable {
		r := &refreshable{f: f, raw: raw}
		r.versions[0] = f.Catalog()
		if raw {
			r.versions[0] = f.RawCatalog()
		}
		r.versions[1] = other(r.versions[0])
		base := f.Baseline()
		r.heap = heapOf(func() any { return f.refreshed(b, r.versions[0], base) })
		r.engine = f.refreshed(b, r.versions[0], base)
		v := r.engine.Snapshot().View(filteredView)
		f.check(b, fmt.Sprintf("refresh, raw %t", raw), func(i int) error {
			d, err := v.Decide(ctx, &f.known[i], f.request(i))
			if n := f.Known[f.Order[i]]; !f.naive.Visible(n, &Situations[i%len(Situations)]) {
				if !errors.Is(err, engine.ErrNotFound) {
					return fmt.Errorf("%v is hidden: %v, %v", n, d, err)
				}
				return nil
			}
			if raw { // another fingerprint than the approved one
				return f.checkPinned(i, d, err)
			}
			return f.checkDecision(f.Known, i, d, err, false)
		})
		return r
	})
}

// checkPinned compares a decision about a tool that is not the one that was approved: a human is asked unless a deny rule
// matches.
func (f *fixture) checkPinned(i int, got engine.Decision, err error) error {
	if err != nil {
		return err
	}
	name := f.Known[f.Order[i]]
	want := f.naive.Decide(name, &Situations[i%len(Situations)])
	if denied := want.List == Deny; denied && AnswerOf(got) != want || !denied && got.Source != engine.SourcePin {
		return fmt.Errorf("%v: got %v, want %v or a pin", name, got, want)
	}
	return nil
}

// refreshed returns an engine with one view that holds the catalog.
func (f *fixture) refreshed(tb testing.TB, catalog []ServerTools, base *engine.Baseline) *engine.Engine {
	tb.Helper()
	e, err := engine.New(engine.Config{
		Views:    map[string]engine.View{filteredView: {Filter: f.filter, Policy: f.policy}},
		Baseline: base,
	})
	if err != nil {
		tb.Fatal(err)
	}
	refreshAll(tb, e, catalog)
	return e
}

// all refreshes every server, n times, with what is not there yet.
func (r *refreshable) all(b *testing.B, n int) {
	for range n {
		r.rounds++
		refreshAll(b, r.engine, r.versions[r.rounds%2])
	}
}

// other returns the catalog with every server's tools changed and in the reverse order, so that no refresh brings
// what is there already.
func other(catalog []ServerTools) []ServerTools {
	out := make([]ServerTools, len(catalog))
	for i, s := range catalog {
		out[i] = ServerTools{ID: s.ID, Tools: slices.Clone(s.Tools)}
		slices.Reverse(out[i].Tools)
		for j := range out[i].Tools {
			if t := &out[i].Tools[j]; t.Raw != nil {
				t.Raw = append(append([]byte(`{"title":"x",`), t.Raw[1:]...), ' ')
			}
		}
	}
	return out
}

func benchRefreshOne(b *testing.B, r *refreshable) {
	r.all(b, 1+r.rounds%2) // both versions are in turn from here on: version 0 is there
	turn, server := 1, 0
	Race(b, func(n int) {
		for range n {
			refresh(b, r.engine, r.versions[turn%2][server])
			if server++; server == len(r.versions[0]) {
				server, turn = 0, turn+1
			}
		}
	}, Rival{"x-all", func(n int) { r.all(b, n) }})
}

func benchRefreshAll(b *testing.B, r *refreshable) {
	ns := Race(b, func(n int) { r.all(b, n) })
	b.ReportMetric(ns/float64(r.f.Size.Tools), "ns/tool")
	b.ReportMetric(r.heap/float64(r.f.Size.Tools), "B/tool")
}

func benchApply(b *testing.B, f *fixture) {
	base := f.Baseline()
	e := f.refreshed(b, f.Catalog(), base)
	second, err := engine.CompilePolicy(f.PolicyOptions())
	if err != nil {
		b.Fatal(err)
	}
	policies := [2]*engine.Policy{second, f.policy}
	round := 0
	Race(b, func(n int) {
		for range n {
			views := map[string]engine.View{filteredView: {Filter: f.filter, Policy: policies[round%2]}}
			if err := e.Apply(engine.Config{Views: views, Baseline: base}); err != nil {
				b.Fatal(err)
			}
			round++
		}
	})
}
