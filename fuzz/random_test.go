package fuzz

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	seedFlag  = flag.Uint64("seed", 0, "the seed of the random tests; 0 draws one")
	casesFlag = flag.Int("cases", 8000, "how many filters or policies each random test tries")
)

// seed returns the seed of a random test and logs it, so that a failure can be run again.
func seed(t *testing.T) uint64 {
	s := *seedFlag
	for s == 0 {
		s = rand.Uint64()
	}
	t.Logf("run again with: go test ./fuzz -run '^%s$' -seed %d", t.Name(), s)
	return s
}

func caseCount() int {
	if testing.Short() {
		return *casesFlag / 10
	}
	return *casesFlag
}

// tally counts what a random test met: a comparison in which nothing happens proves nothing.
type tally struct {
	mu     sync.Mutex
	counts map[string]int
}

func (count *tally) add(format string, args ...any) {
	count.mu.Lock()
	defer count.mu.Unlock()
	if count.counts == nil {
		count.counts = map[string]int{}
	}
	count.counts[fmt.Sprintf(format, args...)]++
}

// requireAll calls try n times and then, at most 50 times as often, until every one of the things was met. It fails
// unless they all were.
func (count *tally) requireAll(t *testing.T, n int, try func(), things ...string) {
	t.Helper()
	for i := 0; i < n || i < 50*n && count.lacks(things); i++ {
		try()
	}
	var keys []string
	for k := range count.counts {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		t.Logf("%8d  %s", count.counts[k], k)
	}
	for _, thing := range things {
		require.NotZero(t, count.counts[thing], "the cases never came to %q", thing)
	}
}

// lacks reports whether one of the things was not met yet.
func (count *tally) lacks(things []string) bool {
	return slices.ContainsFunc(things, func(thing string) bool { return count.counts[thing] == 0 })
}

// complain reports a case on which two implementations differ, in every form in which it can be run again.
func complain(t *testing.T, c Case, what string, want, got Outcome) {
	t.Helper()
	line, _ := c.Vector("FOUND")
	t.Fatalf("%s differs\nreference: %+v\n   engine: %+v\nvector: %s\ncase: filter %+v\n policy %+v\n target %#v\n request %#v",
		what, want, got, line, c.Filter, c.Policy, c.Target, c.Request)
}

// sameRefusal fails unless the reference and an implementation agree on whether a definition is refused. It reports
// whether it was not.
func sameRefusal(t *testing.T, text string, want, got error) bool {
	t.Helper()
	if (want == nil) != (got == nil) {
		t.Fatalf("one refuses and one does not\nreference: %v\n   engine: %v\n%s", want, got, text)
	}
	return want == nil
}

func tryFilter(t *testing.T, g *Gen, count *tally) {
	f := g.Filter()
	compiled, err := f.Compile()
	if !sameRefusal(t, f.Text(), f.Check(), err) {
		count.add("refused")
		return
	}
	for range 4 {
		c := Case{Filter: f, Target: g.Target(Tool, slices.Concat(f.Include, f.Exclude)...)}
		c.Request = g.Request(c.Target)
		want, got := c.AskReference(), c.AskEngine(compiled, nil)
		if want != got {
			complain(t, c, "the filter", want, got)
		}
		count.add("visible %t, static %t", want.Visible, want.StaticVisible)
	}
}

func tryPolicy(t *testing.T, g *Gen, kind Kind, count *tally) {
	p := g.Policy(kind)
	compiled, err := p.Compile()
	if !sameRefusal(t, p.Text(), p.Check(), err) {
		count.add("refused")
		return
	}
	for range 4 {
		c := g.Question(p, kind)
		want, got := c.AskReference(), c.AskEngine(nil, compiled)
		if want != got {
			complain(t, c, "the policy", want, got)
		}
		count.outcome(c, want)
	}
}

// outcome counts an outcome, and what form of rule decided.
func (count *tally) outcome(c Case, o Outcome) {
	count.add("action %s", o.Action)
	count.add("source %s", o.Source)
	count.add("reason %s", o.Reason)
	count.add("%s by %s", o.Action, o.Source)
	count.add("new %t", o.New)
	count.add("failed %t at %s", o.Failed, o.Source)
	for _, list := range []struct {
		name  string
		rules []Rule
	}{{"deny", c.Policy.Deny}, {"ask", c.Policy.Ask}, {"allow", c.Policy.Allow}} {
		for i, r := range list.rules {
			if r.id(list.name, i) == o.Rule && o.Source == list.name {
				count.add("rule %s in %s", r.Form, list.name)
			}
		}
	}
}

func TestRandomFiltersAnswerLikeTheReference(t *testing.T) {
	g, count := FromSeed(seed(t)), &tally{}
	count.requireAll(t, caseCount(), func() {
		tryFilter(t, g, count)
	}, "refused", "visible true, static true", "visible false, static true", "visible false, static false")
	require.Zero(t, count.counts["visible true, static false"])
}

func TestRandomPoliciesAnswerLikeTheReference(t *testing.T) {
	g, count := FromSeed(seed(t)), &tally{}
	want := []string{"refused",
		"action deny", "action ask", "action allow",
		"source none", "source scope", "source deny", "source pin", "source ask", "source allow", "source default",
		"reason matched", "reason predicate_failed", "reason definition_changed", "reason no_approver", "reason no_match", "reason out_of_scope",
		"ask by pin", "deny by pin", "ask by ask", "deny by ask", "ask by default", "deny by default",
		"new true", "new false", "failed true at deny", "failed true at ask", "failed true at default",
	}
	for _, list := range []string{"deny", "ask", "allow"} {
		for _, form := range []Form{Pattern, Regexp, Predicate, Args, Attribute, Annotation, Tainted, All, Named} {
			want = append(want, fmt.Sprintf("rule %s in %s", form, list))
		}
	}
	count.requireAll(t, caseCount(), func() {
		tryPolicy(t, g, Tool, count)
	}, want...)
}

func TestRandomResourcePoliciesAnswerLikeTheReference(t *testing.T) {
	testOtherKind(t, Resource)
}

func TestRandomPromptPoliciesAnswerLikeTheReference(t *testing.T) {
	testOtherKind(t, Prompt)
}

func testOtherKind(t *testing.T, kind Kind) {
	g, count := FromSeed(seed(t)), &tally{}
	count.requireAll(t, caseCount(), func() {
		tryPolicy(t, g, kind, count)
	}, "refused",
		"source none", "source scope", "source deny", "source ask", "source allow", "source default",
		"reason matched", "reason no_approver", "reason no_match", "reason out_of_scope",
		"rule pattern in deny", "rule regexp in ask", "rule all in allow", "rule named in deny",
	)
	require.Zero(t, count.counts["new true"])
	require.Zero(t, count.counts["source pin"])
}

func TestRandomDocumentsMeanWhatTheGoOptionsMean(t *testing.T) {
	g, count := FromSeed(seed(t)), &tally{}
	count.requireAll(t, caseCount()/4, func() {
		tryDocument(t, g, count)
	}, "compared", "refused")
}

func TestRandomConditionsAnswerLikeTheReference(t *testing.T) {
	g, count := FromSeed(seed(t)), &tally{}
	want := []string{"refused"}
	for _, op := range []string{"equals", "in", "regexp", "contains", "inside", "outside", "exists", "each", "any"} {
		want = append(want, op+": matched", op+": no_match", op+": predicate_failed")
	}
	count.requireAll(t, 1000+caseCount()/10, func() {
		tryConditions(t, g, count)
	}, want...)
}

func TestRandomPathsAnswerLikeTheReference(t *testing.T) {
	g := FromSeed(seed(t))
	for range caseCount() / 4 {
		tryPath(t, g.Root(), g.Path())
	}
}

func TestRandomDefinitionsHaveTheFingerprintsOfTheReference(t *testing.T) {
	s := seed(t)
	g, rng := FromSeed(s), rand.New(rand.NewPCG(s, 1))
	for range caseCount() / 4 {
		data := make([]byte, 40)
		for i := range data {
			data[i] = byte(rng.Uint32())
		}
		tryFingerprint(t, jsonText(g.Value(4)), jsonText(g.Value(2)), data)
		tryFingerprint(t, pick(g, raws), pick(g, raws), data)
	}
}

func TestRandomNamesFoldLikeTheReference(t *testing.T) {
	g := FromSeed(seed(t))
	for range caseCount() {
		tryFold(t, g.Name(), g.Name())
	}
}

func TestRandomPatternsAnswerLikeTheReference(t *testing.T) {
	g := FromSeed(seed(t))
	for range caseCount() / 8 {
		tryPattern(t, g.Pattern(pick(g, []Kind{Tool, Tool, Resource, Prompt})), g.Server(), g.Name())
	}
}

func TestRandomFiltersAreStaticThenDynamic(t *testing.T) {
	g := FromSeed(seed(t))
	for range caseCount() / 4 {
		tryStaticThenDynamic(t, g)
	}
}
