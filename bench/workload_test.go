package bench

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/fold"
	"github.com/penstock-mcp/penstock/fuzz"
)

func TestWorkloadIsTheSameEveryTime(t *testing.T) {
	size := Size{Rules: 1000, Tools: 500, Servers: 20, Dynamic: 10}
	a, b := New(size), New(size)
	if fmt.Sprint(a) != fmt.Sprint(b) {
		t.Fatal("two workloads of one size differ")
	}
}

func TestWorkloadHasTheStatedMix(t *testing.T) {
	for _, n := range []int{10, 100, 1000, 10_000} {
		w := New(Size{Rules: n, Tools: 5000, Servers: 50})
		for _, lists := range [...][][]Rule{{w.Deny, w.Ask, w.Allow}, {w.Include, w.Exclude}} {
			var shapes [len(shares)]int
			total := 0
			for _, r := range slices.Concat(lists...) {
				shapes[r.Shape]++
				total++
			}
			if total != n {
				t.Errorf("%d rules: there are %d", n, total)
			}
			for s, percent := range shares {
				if shapes[s] != n*percent/100 {
					t.Errorf("%d rules: %d of shape %d, want %d %%", n, shapes[s], s, percent)
				}
			}
		}
	}
}

func TestWorkloadNamesAreDistinctWithinAServer(t *testing.T) {
	w := New(Size{Rules: 10, Tools: 5000, Servers: 50})
	seen := make(map[Name]bool)
	for _, n := range slices.Concat(w.Known, w.Unseen) {
		folded := Name{fold.String(n.Server), fold.String(n.Tool)}
		if seen[folded] {
			t.Errorf("%v stands twice", n)
		}
		seen[folded] = true
	}
	if len(w.Known) != 5000 || len(w.Unseen) != 5000 || len(w.Servers) != 50 || len(w.Order) != 5000 {
		t.Errorf("%d known names, %d unseen, %d servers, order of %d", len(w.Known), len(w.Unseen), len(w.Servers), len(w.Order))
	}
}

// A workload in which nearly everything came to the same answer would measure little.
func TestWorkloadAnswersAreMixed(t *testing.T) {
	for _, n := range []int{10, 100, 1000, 10_000, 100_000} {
		if testing.Short() && n > 10_000 {
			continue
		}
		w := New(Size{Rules: n, Tools: 5000, Servers: 50})
		naive := NewNaive(w)
		var known, unseen [len(listNames)]int
		shown := 0
		const step = 5 // every fifth name is enough to know the shares
		for i := 0; i < len(w.Known); i += step {
			known[naive.Decide(w.Known[i], &Situations[0]).List]++
			unseen[naive.Decide(w.Unseen[i], &Situations[0]).List]++
			if naive.Visible(w.Known[i], &Situations[0]) {
				shown++
			}
		}
		t.Logf("%6d rules: known %v, unseen %v (default, deny, ask, allow) of 1,000; visible %d; lists %d/%d/%d, %d/%d",
			n, known, unseen, shown, len(w.Deny), len(w.Ask), len(w.Allow), len(w.Include), len(w.Exclude))
		least := 10
		if n == 10 {
			least = 0 // with one ask rule about one tool
		}
		for l := range listNames {
			if known[l] < least || unseen[l] < least {
				t.Errorf("%d rules: list %s decides %d known and %d unseen names of 1,000", n, listNames[l], known[l], unseen[l])
			}
		}
		if shown < 20 || shown > 900 {
			t.Errorf("%d rules: the filter shows %d of 1,000", n, shown)
		}
	}
}

// The spelling variants must matter: an engine that compares deny rules exactly, or allow rules loosely, has to fail
// the checks.
func TestWorkloadCatchesWrongSpelling(t *testing.T) {
	w := New(Size{Rules: 1000, Tools: 5000, Servers: 50})
	right := NewNaive(w)
	exact, loose := NewNaive(w), NewNaive(w)
	exact.lists[0] = naiveRules(w.Deny, false)
	loose.lists[2] = naiveRules(w.Allow, true)
	var wrongDeny, wrongAllow int
	for _, n := range w.Known {
		want := right.Decide(n, &Situations[0])
		if exact.Decide(n, &Situations[0]) != want {
			wrongDeny++
		}
		folded := Name{fold.String(n.Server), fold.String(n.Tool)}
		if want.List == NoRule && first(loose.lists[2], folded, &Situations[0]) >= 0 {
			wrongAllow++
		}
	}
	if wrongDeny < 10 || wrongAllow < 10 {
		t.Errorf("exact deny is wrong about %d names and loose allow about %d", wrongDeny, wrongAllow)
	}
}

func TestNaiveIsTheReference(t *testing.T) {
	w := New(Size{Rules: 300, Tools: 2000, Servers: 20, Dynamic: 40})
	naive := NewNaive(w)
	policy := &fuzz.Policy{AllowNewTools: true, Deny: fuzzRules(w.Deny), Ask: fuzzRules(w.Ask), Allow: fuzzRules(w.Allow)}
	filter := &fuzz.Filter{Include: fuzzRules(w.Include), Exclude: fuzzRules(w.Exclude)}
	rng := rand.New(rand.NewPCG(5, 5))
	lists := make(map[List]int)
	for i := range 300 {
		n := append(w.Known, w.Unseen...)[rng.IntN(2*len(w.Known))]
		s := &Situations[i%len(Situations)]
		target := fuzz.Target{Kind: fuzz.Tool, Server: n.Server, Name: n.Tool}
		request := fuzz.Request{HasApprover: true, Taint: s.Taint, Args: s.Args(), Attributes: map[string]any{"on_call": s.OnCall}}
		got, want := naive.Decide(n, s), policy.Decide(target, nil, request)
		if rule := want.Rule; got.String() != rule && (got.List != NoRule || rule != "") {
			t.Errorf("%v: naive %v, reference %+v", n, got, want)
		}
		lists[got.List]++
		visible, _ := filter.Visible(target, request)
		if naive.Visible(n, s) != visible {
			t.Errorf("%v: naive %t, reference visible %t", n, !visible, visible)
		}
	}
	if len(lists) != 4 {
		t.Errorf("the names met only these lists: %v", lists)
	}
}

func fuzzRules(rules []Rule) []fuzz.Rule {
	out := make([]fuzz.Rule, len(rules))
	for i, r := range rules {
		p := fuzz.Rule{Form: fuzz.Pattern, Text: r.Pattern()}
		when := map[When]fuzz.Rule{
			OnCall:     {Form: fuzz.Attribute, Keys: []fuzz.Key{{Key: "on_call", Conds: []fuzz.Cond{{Op: "equals", Value: true}}}}},
			PathInEtc:  {Form: fuzz.Args, Keys: []fuzz.Key{{Key: "path", Conds: []fuzz.Cond{{Op: "regexp", Value: "^/etc/"}}}}},
			ModeWrites: {Form: fuzz.Args, Keys: []fuzz.Key{{Key: "mode", Conds: []fuzz.Cond{{Op: "in", Value: []any{"write", "admin"}}}}}},
			IsTainted:  {Form: fuzz.Tainted},
		}
		out[i] = p
		if r.When != Always {
			out[i] = fuzz.Rule{Form: fuzz.All, Rules: []fuzz.Rule{p, when[r.When]}}
		}
	}
	return out
}

func TestRawDefinitionsHaveFingerprints(t *testing.T) {
	for _, s := range New(Size{Rules: 10, Tools: 20, Servers: 2}).RawCatalog() {
		for _, tool := range s.Tools {
			if _, err := engine.ComputeFingerprint(tool.Raw); err != nil {
				t.Errorf("%s: %v", tool.Raw, err)
			}
		}
	}
}
