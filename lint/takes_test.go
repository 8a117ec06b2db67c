package lint

import (
	"context"
	"regexp"
	"testing"

	"github.com/penstock-mcp/penstock/automaton"
	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/policyfile"
)

// What an expression is said to take it takes: every expression and glob over a few parts, on every short name.
func TestWhatAnExpressionTakesItTakes(t *testing.T) {
	parts := []string{"", "^", "$", "a", "b", `\b`, "a*", ".", "(?:^a|b$)", "(a|^b)"}
	var exprs []*regexp.Regexp
	for _, x := range parts {
		for _, y := range parts {
			for _, z := range parts {
				exprs = append(exprs, regexp.MustCompile(x+y+z))
			}
		}
	}
	globs := append(strs(3, "a", "b", "*"), "a*b*", "*a*b", "*a*b*")
	names := append(strs(4, "a", "b", "-"), "", "\n", "a\nb")
	matched := make([][]string, len(globs))
	for i, g := range globs {
		for _, n := range names {
			if automaton.Match(g, n) {
				matched[i] = append(matched[i], n)
			}
		}
	}
	taken := 0
	for _, re := range exprs {
		known := takesOf(re)
		for i, g := range globs {
			if !known.glob(g) {
				continue
			}
			taken++
			for _, n := range matched[i] {
				if !re.MatchString(n) {
					t.Fatalf("%s is said to take %s, and does not take %q", re, g, n)
				}
			}
		}
	}
	if taken < 5000 {
		t.Fatalf("%d pairs: the test is vacuous", taken)
	}
	for expr, glob := range map[string]string{"delete": "*my_delete_*", "^get": "get_*", "_all$": "*_all", "^x|drop": "a*drop*", "(a|_b$)": "*_b", ".*": "*", "^a$": "a"} {
		if !takesOf(regexp.MustCompile(expr)).glob(glob) {
			t.Errorf("%s takes %s", expr, glob)
		}
	}
}

func TestContainmentOfSingleRules(t *testing.T) {
	re := func(server, expr string) engine.Rule { return engine.Regexp(server, regexp.MustCompile(expr)) }
	tests := []struct {
		outerList, innerList engine.List
		outer, inner         engine.Rule
		want                 bool
	}{
		// An expression meets the name and its fold; of a loose pattern's names only the fold is known.
		{engine.ListDeny, engine.ListDeny, re("*", "B"), engine.Pattern("*/B*"), false},
		{engine.ListDeny, engine.ListDeny, re("*", "b"), engine.Pattern("*/B*"), true},
		{engine.ListDeny, engine.ListAllow, re("*", "B"), engine.Pattern("*/B*"), true},
		{engine.ListAllow, engine.ListAllow, re("*", "b"), engine.Pattern("*/B*"), false},
		{engine.ListDeny, engine.ListDeny, re("f*", "b"), re("fs", "b"), true},
		{engine.ListDeny, engine.ListDeny, re("fs", "b"), re("f*", "b"), false},
		// Who ignores more is tainted less often.
		{engine.ListDeny, engine.ListDeny, engine.Tainted("a"), engine.Tainted("a", "b"), true},
		{engine.ListDeny, engine.ListDeny, engine.Tainted("a", "b"), engine.Tainted("a"), false},
		// Every member of the outer rule must follow.
		{engine.ListDeny, engine.ListDeny, engine.All(engine.Pattern("a/*"), engine.Tainted()), engine.Pattern("a/x"), false},
		{engine.ListDeny, engine.ListDeny, engine.All(engine.Pattern("a/*"), engine.Tainted()), engine.All(engine.Tainted("z"), engine.Pattern("A/x")), true},
		{engine.ListDeny, engine.ListDeny, engine.Pattern("resource:a/*"), engine.Pattern("a/*"), false},
		{engine.ListDeny, engine.ListDeny, engine.Arg("k", engine.Equals(1)), engine.All(engine.Pattern("a/*"), engine.Arg("k", engine.Equals(1))), true},
		{engine.ListDeny, engine.ListDeny, engine.Arg("k", engine.Equals(1)), engine.Attribute("k", engine.Equals(1)), false},
	}
	for _, test := range tests {
		l := &linter{}
		b, a := l.flatten(test.outerList, 0, test.outer), l.flatten(test.innerList, 1, test.inner)
		c := newCover(test.outerList, []*rule{b}, func(*rule) bool { return true })
		if got := c.contains(b, a); got != test.want {
			t.Errorf("%s %s contains %s %s: %t", test.outerList, b.src, test.innerList, a.src, got)
		}
		if got := c.first(a) == b; got != test.want && a.kind == b.kind {
			t.Errorf("%s %s is found for %s %s: %t", test.outerList, b.src, test.innerList, a.src, got)
		}
	}
}

// A predicate in include may show what no pattern does, so nothing is taken for hidden.
func TestFunctionsInIncludeMayShowAnything(t *testing.T) {
	yes := policyfile.Predicates{"yes": policyfile.ToolPredicate(func(context.Context, engine.Input) (bool, error) { return true, nil })}
	for include, want := range map[string]int{`["fs/x"]`: 1, `["fs/x", {predicate: "yes"}]`: 0} {
		doc, err := policyfile.Parse([]byte("version: 1\nfilter:\n  include: "+include+"\npolicy:\n  allow: [fs/read_a]\n"), policyfile.Options{Predicates: yes})
		if err != nil {
			t.Fatal(err)
		}
		report, err := Run(Input{Document: doc, Servers: []Server{tools("fs", "x", "read_a")}})
		if err != nil {
			t.Fatal(err)
		}
		if got := report.of(neverActs); len(got) != want {
			t.Errorf("include %s: %s", include, text(t, report))
		}
	}
}
