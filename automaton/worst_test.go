package automaton

// This file holds what somebody who writes names or patterns could do to make a search slow, as tests that
// count steps and as benchmarks. A step is a byte read by the machine, an entry looked at, or a byte handed to a glob or
// a regexp.

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// firstSteps is First with its steps.
func (x *Index) firstSteps(server, name string) (num, steps int) {
	ids := x.resolve(nil, server)
	folded := name
	if x.mode == Folded {
		folded = loose(nil, name)
	}
	best := int32(x.n)
	var (
		c cursor
		h hits
	)
	x2 := *x
	x2.machine = machine{}
	x2.bare = nil
	x2.floor = none
	best = x2.first(ids, folded, name, best) // without the machine: a constant number of passes
	if x.floor < best {
		best = x.machine.least(&c, folded, best, &h)
	}
	steps = len(folded)
	if h.n > 0 || len(x.bare) > 0 {
		var more int
		best, more = x.firstDeep(ids, folded, name, best, &c, &h)
		steps += more
	} else {
		steps += c.falls
	}
	if int(best) == x.n {
		return -1, steps
	}
	return int(best), steps
}

// allSteps is the machine's part of All with its steps.
func (x *Index) allSteps(server, name string) (found, steps int) {
	ids := x.resolve(nil, server)
	var c cursor
	id := x.machine.next(&c, name)
	if id == 0 {
		return 0, len(name) + c.falls
	}
	dst, _, steps := x.allDeep(nil, ids, name, &c, id)
	return len(dst), steps + len(name)
}

// worst is a bad case: patterns and a tool.
type worst struct {
	title    string
	patterns func() []Pattern
	name     string
	steps    int // the most steps that First may take
	all      int // the most steps that All may take
}

func numbered(n int, f func(i int) string) func() []Pattern {
	return func() []Pattern {
		p := make([]Pattern, n)
		for i := range p {
			p[i] = Pattern{Server: "*", Name: f(i)}
		}
		return p
	}
}

func one(glob string) func() []Pattern { return numbered(1, func(int) string { return glob }) }

var worstCases = []worst{
	{"stars/64", one("*a*a*a*a*a*a*b*"), strings.Repeat("a", 64), 64, 64},
	{"stars/64k", one("*a*a*a*a*a*a*b*"), strings.Repeat("a", 64<<10), 64 << 10, 64 << 10},
	{"stars-and-b/64k", one("*a*a*a*a*a*a*b*c"), strings.Repeat("a", 64<<10) + "b", 3*64<<10 + 10, 3*64<<10 + 10},
	// A fragment at every byte, and its glob fails each time: it must be tried once.
	{"failing-glob/64k", one("*ab*ba*c"), strings.Repeat("ab", 32<<10), 3*64<<10 + 10, 3*64<<10 + 10},
	{"mix/1MB", func() []Pattern { return mixed(rand.New(rand.NewPCG(1, 2)), 10000, true) }, strings.Repeat("x_y", 1<<20/3), 3 << 20, 3 << 20},
	{"infixes-all-hit/100k", numbered(100000, func(i int) string { return "*" + "get_user_of_x"[i%10:10+i%3] + "*" }), "get_user_of_x", 2000, 120000},
	{"popular-fragment/100k", numbered(100000, func(i int) string { return fmt.Sprintf("*popular_text*%05x*", i) }), "a_popular_text_and_more", 200, 200},
	{"popular-long-piece/100k", numbered(100000, func(i int) string { return fmt.Sprintf("*a_very_popular_text_with_%05x*", i) }), "a_very_popular_text_with_more", 200, 200},
	{"nested-fragments", numbered(16, func(i int) string { return "*" + strings.Repeat("a", i+1) + "*zz*" + strings.Repeat("b", i+1) + "*y" }), strings.Repeat("a", 64<<10), 20 * 64 << 10, 20 * 64 << 10},
}

func TestWorstCasesTakeLinearSteps(t *testing.T) {
	for _, w := range worstCases {
		t.Run(w.title, func(t *testing.T) {
			patterns := w.patterns()
			x := Build(Folded, patterns)
			first, steps := x.firstSteps("s", w.name)
			assert.Equal(t, x.First("s", w.name), first)
			assert.LessOrEqual(t, steps, w.steps)
			found, allSteps := x.allSteps("s", w.name)
			assert.LessOrEqual(t, allSteps, w.all)
			t.Logf("first %d: %d steps; all %d: %d steps", first, steps, found, allSteps)
			if len(patterns)*len(w.name) < 1<<17 {
				agree(t, x, Folded, patterns, "s", w.name)
			}
		})
	}
}

// Doubling a name never much more than doubles the steps.
func TestStepsGrowWithTheName(t *testing.T) {
	patterns := mixed(rand.New(rand.NewPCG(3, 4)), 3000, true)
	for _, g := range []string{"*a*a*b*a*b", "a*b*c*d*e*f", "*get*user*zzz", "*_*_*_*_*_*q"} {
		patterns = append(patterns, Pattern{Server: "*", Name: g}, Pattern{Server: "s*", Name: "x" + g})
	}
	patterns = append(patterns, Pattern{Server: "s", Re: regexp.MustCompile("(?i)user.*zz|q+w")})
	x := Build(Folded, patterns)
	for _, unit := range []string{"a", "ab", "get_user_", "_", "İ", "\xff", "A-", "zq"} {
		_, small := x.firstSteps("s", strings.Repeat(unit, 1000))
		_, large := x.firstSteps("s", strings.Repeat(unit, 64000))
		assert.LessOrEqual(t, large, 66*small+1000, "%q", unit)
	}
}

// The table keeps its budget, and what has no row is still found.
func TestTableKeepsItsBudget(t *testing.T) {
	patterns := longFragments()
	for _, mode := range []Mode{Exact, Folded} {
		x := Build(mode, patterns)
		s := x.Stats()
		t.Logf("%+v", s)
		assert.LessOrEqual(t, len(x.machine.table)*4, tableBudget)
		assert.Less(t, s.DenseRows, s.States)
		assert.LessOrEqual(t, s.States, maxFragment*s.Fragments+1, "fragments are cut")
		assert.Less(t, s.Bytes, tableBudget+len(patterns)*400)
		for i := 0; i < len(patterns); i += 501 {
			name := "x" + strings.Trim(patterns[i].Name, "*") + "y"
			got := x.All(nil, "s", name)
			require.Contains(t, got, int32(i))
			_, steps := x.firstSteps("s", name)
			require.LessOrEqual(t, steps, 17*len(name)+100)
		}
	}
}

// longFragments are 20,000 infixes of 12 to 30 bytes over 200 byte values.
func longFragments() []Pattern {
	r := rand.New(rand.NewPCG(5, 6))
	return numbered(20000, func(int) string {
		b := make([]byte, 12+r.IntN(19))
		for i := range b {
			for b[i] = '*'; b[i] == '*'; {
				b[i] = byte(56 + r.IntN(200))
			}
		}
		return "*" + string(b) + "*"
	})()
}

// Names whose fold is longer than they are, past the stack buffer and at its edge.
func TestNamesThatFoldLonger(t *testing.T) {
	patterns := []Pattern{{Server: "*", Name: "*İİ*x"}, {Server: "*", Name: "*\u0307X"}, {Server: "İ*", Name: "İ*"}, {Server: "*", Name: strings.Repeat("Ⱥ", 200)},
		{Server: "*", Re: regexp.MustCompile("^İ+x$")}, {Server: "*", Re: regexp.MustCompile(`^(i\x{307})+x$`)}}
	x := Build(Folded, patterns)
	hits, step := 0, 1
	if raced {
		step = 7
	}
	for _, unit := range []string{"İ", "Ⱥ", "K", "A\xff", "-"} {
		for n := 0; n < 300; n += step {
			for _, name := range []string{strings.Repeat(unit, n), strings.Repeat(unit, n) + "x"} {
				hits += agree(t, x, Folded, patterns, strings.Repeat(unit, n%5), name)
			}
		}
	}
	assert.Greater(t, hits, 200)
}

// Ten thousand different server globs are not tried one by one.
func TestManyServerGlobs(t *testing.T) {
	patterns := manyServerGlobs()
	x := Build(Folded, patterns)
	require.Equal(t, 10000, x.Stats().ServerGlobs)
	for _, server := range []string{"team-00007-prod", "TEAM_00007_prod", "x00007", "literal", "nobody"} {
		ids := x.resolve(nil, server)
		assert.LessOrEqual(t, len(ids), 4, "%q", server)
		for _, name := range []string{"get_00007", "delete_it", "a"} {
			agree(t, x, Folded, patterns, server, name)
		}
		_, steps := x.globs.firstSteps("", loose(nil, server))
		assert.LessOrEqual(t, steps, 200)
	}
}

func manyServerGlobs() []Pattern {
	patterns := []Pattern{{Server: "literal", Name: "a"}, {Server: "*", Name: "delete_*"}}
	for i := range 10000 {
		server := fmt.Sprintf("team-%05d-*", i)
		if i%2 == 1 {
			server = fmt.Sprintf("*x%05d*", i)
		}
		patterns = append(patterns, Pattern{Server: server, Name: fmt.Sprintf("get_%05d*", i)})
	}
	return patterns
}

// Many globs that all match the same many servers: the ready-made lists are bounded.
func TestListsOfScopesAreBounded(t *testing.T) {
	var patterns []Pattern
	for i := range 2000 {
		patterns = append(patterns, Pattern{Server: fmt.Sprintf("s%d", i), Name: "a"},
			Pattern{Server: "s" + strings.Repeat("*", 1+i%2) + fmt.Sprintf("%d*", i%10) + strings.Repeat("*", i), Name: fmt.Sprintf("b%d", i)})
	}
	x := Build(Exact, patterns)
	assert.Less(t, len(x.applies), 8*len(patterns)+5000)
	assert.Less(t, x.complete, int32(2000), "the bound was met")
	for _, server := range []string{"s0", "s1", "s1999", "s77x", "t"} {
		for _, name := range []string{"a", "b7", "b19"} {
			agree(t, x, Exact, patterns, server, name)
		}
	}
}

// A regexp that cannot match below what was found is not tried, and one of a fragment not seen neither.
func TestFirstTriesFewRegexps(t *testing.T) {
	var patterns []Pattern
	for i := range 1000 {
		patterns = append(patterns, Pattern{Server: "*", Re: regexp.MustCompile(fmt.Sprintf("^x.*word%d$", i))})
	}
	patterns = append(patterns, Pattern{Server: "*", Name: "hit"})
	for i := range 1000 {
		patterns = append(patterns, Pattern{Server: "*", Re: regexp.MustCompile("^.{" + fmt.Sprint(i%100) + "}$")})
	}
	x := Build(Exact, patterns)
	require.Equal(t, 1000, x.Stats().Bare)
	num, steps := x.firstSteps("s", "hit")
	assert.Equal(t, 1000, num)
	assert.LessOrEqual(t, steps, 20)
	num, steps = x.firstSteps("s", "x_word7")
	assert.Equal(t, 7, num)
	assert.LessOrEqual(t, steps, 60)
}

// More fragments, regexps and scopes in one name than the stack has room for.
func TestNameThatHoldsEverything(t *testing.T) {
	var patterns []Pattern
	var name strings.Builder
	for i := range 150 {
		patterns = append(patterns,
			Pattern{Server: fmt.Sprintf("%.*s*", i%12, "serverserver"), Name: fmt.Sprintf("*f%03d*!", i)},
			Pattern{Server: "serverserverx", Re: regexp.MustCompile(fmt.Sprintf("(r%03d|q%03d).*%d", i, i, i%3))},
			Pattern{Server: fmt.Sprintf("%.*s*", i%12, "serverserver"), Re: regexp.MustCompile(fmt.Sprintf("^.{%d}$", 400+i%4*100))})
		fmt.Fprintf(&name, "f%03dr%03dq%03d", i, i, i)
	}
	for _, mode := range []Mode{Exact, Folded} {
		x := Build(mode, patterns)
		for _, n := range []string{name.String(), name.String() + "!", strings.ToUpper(name.String()) + "!", strings.Repeat("x", 700)} {
			for _, s := range []string{"serverserverx", "serverse", "s"} {
				agree(t, x, mode, patterns, s, n)
			}
		}
	}
}

func BenchmarkWorst(b *testing.B) {
	run := func(title string, patterns []Pattern, server, name string) {
		x := Build(Folded, patterns)
		dst := make([]int32, 0, 2*len(patterns))
		b.Run(title+"/first", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				x.First(server, name)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(name)), "ns/byte")
		})
		b.Run(title+"/all", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				dst = x.All(dst[:0], server, name)
			}
			b.ReportMetric(float64(len(dst)), "matches")
		})
	}
	for _, w := range worstCases {
		run(w.title, w.patterns(), "s", w.name)
	}
	long := longFragments()
	run("long-fragments/20k", long, "s", "x"+strings.Trim(long[77].Name, "*")+"y")
	run("server-globs/10k", manyServerGlobs(), "team-00006-x", "get_00006_x")
	run("folds-longer", mixed(rand.New(rand.NewPCG(7, 8)), 1000, true), "server_01", strings.Repeat("İ", 60))
	run("not-utf8", mixed(rand.New(rand.NewPCG(7, 8)), 1000, true), "server_01", strings.Repeat("\xff\xe2", 30))
}
