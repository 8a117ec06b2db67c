package lint

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"testing"
	"time"

	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/policyfile"
)

// ruleMaker makes random small rules over few letters, so that many of them contain each other.
type ruleMaker struct{ *rand.Rand }

func (m ruleMaker) segment() string {
	parts := []string{"a", "B", "b", "-", "*", "*", "ab"}
	s := ""
	for n := 1 + m.IntN(3); n > 0; n-- {
		s += parts[m.IntN(len(parts))]
	}
	return s
}

func (m ruleMaker) expr() *regexp.Regexp {
	parts := []string{"a", "B", "b", "_", ".", "^a", "b$", "(a|b)", "a*", `\b`, "^", "$", "(^a|b$)"}
	for {
		s := ""
		for n := 1 + m.IntN(3); n > 0; n-- {
			s += parts[m.IntN(len(parts))]
		}
		if re, err := regexp.Compile(s); err == nil {
			return re
		}
	}
}

func (m ruleMaker) rule(depth int) engine.Rule {
	switch n := m.IntN(12); {
	case n < 6:
		return engine.Pattern(m.segment() + "/" + m.segment())
	case n < 7:
		return engine.Pattern(m.segment())
	case n < 9:
		return engine.Regexp(m.segment(), m.expr())
	case n < 10:
		return engine.Annotation(engine.HintReadOnly, m.IntN(2) == 0)
	case depth > 0:
		var members []engine.Rule
		for n := 1 + m.IntN(3); n > 0; n-- {
			members = append(members, m.rule(depth-1))
		}
		return engine.All(members...)
	default:
		return engine.Pattern("*")
	}
}

// names up to length n over letters.
func strs(n int, letters ...string) []string {
	all := []string{}
	last := []string{""}
	for ; n > 0; n-- {
		var next []string
		for _, s := range last {
			for _, c := range letters {
				next = append(next, s+c)
			}
		}
		all, last = append(all, next...), next
	}
	return all
}

// Whatever is reported as contained is contained: held against the engine, on every target over a few letters. The other
// way round it is exact for rules of one pattern, and for those it must find everything.
func TestContainedRulesAreContained(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	m := ruleMaker{rand.New(rand.NewPCG(seed, 1))}
	servers, names := strs(2, "a", "B", "b", "-", "x"), strs(3, "a", "B", "b", "-", "_", "x")
	type target struct {
		server, name string
		hints        engine.Hints
	}
	var targets []target
	for _, s := range servers {
		for i, n := range names {
			h := engine.Hints{}
			if (i+len(s))%2 == 0 {
				h.ReadOnly = engine.True
			}
			targets = append(targets, target{s, n, h})
		}
	}
	matches := func(list engine.List, r engine.Rule) []bool {
		o := engine.PolicyOptions{TrustAll: true, AllowNewTools: true, NoMatch: engine.DenyNoMatch, DisablePins: true}
		want := engine.SourceAllow
		if list == engine.ListAllow {
			o.Allow = []engine.Rule{r}
		} else {
			o.Deny, want = []engine.Rule{r}, engine.SourceDeny
		}
		p, err := engine.CompilePolicy(o)
		if err != nil {
			t.Fatal(err)
		}
		out := make([]bool, len(targets))
		for i, tg := range targets {
			tool := engine.Tool{Server: tg.server, Name: tg.name, Hints: tg.hints}
			d, err := p.Evaluate(context.Background(), &engine.Call{Server: tg.server, Name: tg.name}, &tool, nil)
			if err != nil {
				t.Fatal(err)
			}
			out[i] = d.Source == want
		}
		return out
	}
	contained, exact := 0, 0
	for range 20 {
		outerList, innerList := engine.ListDeny, engine.ListDeny
		if m.IntN(2) == 0 {
			innerList = engine.ListAllow
		}
		if innerList == engine.ListAllow && m.IntN(2) == 0 {
			outerList = engine.ListAllow
		}
		l := &linter{}
		var outer, inner []*rule
		for i := range 12 {
			outer = append(outer, l.flatten(outerList, i, m.rule(2)))
			inner = append(inner, l.flatten(innerList, i, m.rule(2)))
		}
		c := newCover(outerList, outer, func(*rule) bool { return true })
		sets := make(map[*rule][]bool)
		for _, r := range outer {
			sets[r] = matches(outerList, r.src)
		}
		for _, a := range inner {
			set := matches(innerList, a.src)
			holds := func(b *rule) bool {
				for i := range set {
					if set[i] && !sets[b][i] {
						return false
					}
				}
				return true
			}
			var first, last *rule
			for _, b := range outer {
				if c.contains(b, a) {
					contained++
					if first == nil {
						first = b
					}
					last = b
					if !holds(b) {
						t.Fatalf("%s %s does not contain %s %s", outerList, b.src, innerList, a.src)
					}
				} else if a.plain() && b.plain() && holds(b) && witnessed(a) {
					t.Fatalf("%s %s contains %s %s, which is not found", outerList, b.src, innerList, a.src)
				} else if a.plain() && b.plain() {
					exact++
				}
			}
			if got := c.first(a); got != first {
				t.Fatalf("first %s rule that contains %s: %v, want %v", outerList, a.src, got, first)
			}
			if got := c.last(a); got != last {
				t.Fatalf("last %s rule that contains %s: %v, want %v", outerList, a.src, got, last)
			}
		}
	}
	if contained < 30 || exact < 300 {
		t.Fatalf("%d contained pairs and %d that are not: the test is vacuous", contained, exact)
	}
}

// witnessed reports whether the targets of the test have one that no pattern takes but for its stars: the fresh letter
// x in place of each star of the rule.
func witnessed(a *rule) bool {
	g := &a.globs[0]
	return len(g.server) <= 2 && len(g.name) <= 3
}

// 10,000 rules and 10,000 tools, with rules of every kind and every one of the catalog's findings to look for.
func TestTenThousandRulesAndToolsAreFast(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a second")
	}
	var o engine.PolicyOptions
	for i := range 10_000 {
		var r engine.Rule
		switch i % 10 {
		case 0, 1, 2, 3:
			r = engine.Pattern(fmt.Sprintf("s%d/tool_%d", i%50, i))
		case 4, 5:
			r = engine.Pattern(fmt.Sprintf("s%d/get_%d*", i%50, i%700))
		case 6:
			r = engine.Pattern(fmt.Sprintf("*/*x%dy*", i%900))
		case 7:
			r = engine.Regexp("*", regexp.MustCompile(fmt.Sprintf("^list_%d(_|$)", i)))
		case 8:
			r = engine.All(engine.Pattern(fmt.Sprintf("s%d/*", i%50)), engine.Arg(fmt.Sprintf("k%d", i%100), engine.Inside("/data")))
		default:
			r = engine.Pattern(fmt.Sprintf("s%d/misspelt_%d", i%50, i))
		}
		switch i % 3 {
		case 0:
			o.Deny = append(o.Deny, r)
		case 1:
			o.Ask = append(o.Ask, r)
		default:
			o.Allow = append(o.Allow, r)
		}
	}
	var servers []Server
	for s := range 50 {
		srv := Server{ID: fmt.Sprintf("s%d", s)}
		for i := range 200 {
			srv.Tools = append(srv.Tools, engine.Tool{Server: srv.ID, Name: fmt.Sprintf("tool_%d", i*50+s)})
		}
		servers = append(servers, srv)
	}
	start := time.Now()
	report, err := Run(Input{Document: &policyfile.Document{Policy: o}, Servers: servers})
	if err != nil {
		t.Fatal(err)
	}
	took := time.Since(start)
	t.Logf("%s, %s", took, report.Summary())
	if len(report.Findings) < 100 {
		t.Fatal("the test is vacuous")
	}
	if took > 20*time.Second { // two on an idle machine; this is to catch what grows with the square
		t.Errorf("it took %s", took)
	}
}
