package automaton

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// strs returns all strings of up to n letters, each letter being one of the alphabet.
func strs(n int, alphabet ...string) []string {
	all, from := []string{""}, 0
	for range n {
		to := len(all)
		for _, s := range all[from:to] {
			for _, a := range alphabet {
				all = append(all, s+a)
			}
		}
		from = to
	}
	return all
}

func TestMatchEveryShortGlobOnEveryShortString(t *testing.T) {
	hits := 0
	names := strs(6, "a", "b")
	for _, g := range strs(6, "a", "b", "*") {
		c := CompileGlob(g)
		for _, s := range names {
			want := naiveGlob(g, s)
			if Match(g, s) != want || c.Match(s) != want {
				t.Fatalf("%q on %q: Match %v, Glob %v, want %v", g, s, Match(g, s), c.Match(s), want)
			}
			if want {
				hits++
			}
		}
	}
	assert.Greater(t, hits, 1000)
	assert.True(t, Glob{}.Match(""))
	assert.False(t, Glob{}.Match("a"))
}

// Every pattern of up to four letters on every name of up to four letters: one index for each pattern.
func TestIndexEveryShortNamePattern(t *testing.T) {
	length := 4
	if testing.Short() {
		length = 3
	}
	alphabet := []string{"a", "A", "_", "-"}
	names := strs(length, alphabet...)
	for _, mode := range []Mode{Exact, Folded} {
		hits := 0
		for _, g := range strs(length, append(alphabet, "*")...) {
			p := []Pattern{{Server: "*", Name: g}}
			x := Build(mode, p)
			for _, n := range names {
				want := naiveMatch(mode, p[0], "s", n)
				got := x.First("s", n) == 0
				all := x.All(nil, "s", n)
				if got != want || (len(all) == 1) != want {
					t.Fatalf("mode %d: %q on %q: First %v, All %v, want %v", mode, g, n, got, all, want)
				}
				if want {
					hits++
				}
			}
		}
		assert.Greater(t, hits, 1000)
	}
}

// The same in one index that holds all patterns, so that they share tries, chains and states.
func TestIndexAllShortPatternsAtOnce(t *testing.T) {
	alphabet := []string{"a", "A", "_"}
	var patterns []Pattern
	for _, s := range []string{"*", "a", "A*"} {
		for _, g := range strs(4, append(alphabet, "*")...) {
			patterns = append(patterns, Pattern{Server: s, Name: g})
		}
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(patterns), func(i, j int) { patterns[i], patterns[j] = patterns[j], patterns[i] })
	for _, mode := range []Mode{Exact, Folded} {
		x := Build(mode, patterns)
		for _, s := range []string{"a", "A", "Ab", "b"} {
			for _, n := range strs(4, alphabet...) {
				if testing.Short() && len(n) == 4 {
					continue
				}
				agree(t, x, mode, patterns, s, n)
			}
		}
	}
}

func TestIndexEveryShortServerPattern(t *testing.T) {
	alphabet := []string{"a", "A", "-"}
	servers := strs(3, alphabet...)
	for _, mode := range []Mode{Exact, Folded} {
		var patterns []Pattern
		for _, g := range strs(3, append(alphabet, "*")...) {
			p := Pattern{Server: g, Name: "x*"}
			patterns = append(patterns, p)
			x := Build(mode, []Pattern{p})
			for _, s := range servers {
				if got, want := x.Any(s, "xy"), naiveMatch(mode, p, s, "xy"); got != want {
					t.Fatalf("mode %d: server %q on %q is %v, want %v", mode, g, s, got, want)
				}
			}
		}
		x := Build(mode, patterns)
		for _, s := range servers {
			agree(t, x, mode, patterns, s, "xy")
		}
	}
}

// vocabulary makes random patterns and names that have a fair chance to meet.
type vocabulary struct {
	*rand.Rand
	words []string
}

func (v vocabulary) word() string { return v.words[v.IntN(len(v.words))] }

func (v vocabulary) name() string {
	var b strings.Builder
	for range v.IntN(5) {
		b.WriteString(v.word())
	}
	return b.String()
}

func (v vocabulary) glob() string {
	var b strings.Builder
	for range 1 + v.IntN(4) {
		if v.IntN(2) == 0 {
			b.WriteByte('*')
		}
		b.WriteString(v.word())
		if v.IntN(6) == 0 {
			b.WriteByte('*')
		}
	}
	return b.String()
}

func (v vocabulary) server() string {
	return []string{"s", "S", "t-1", "t_1", "T.2", "u", ""}[v.IntN(7)]
}

func (v vocabulary) pattern(res []*regexp.Regexp) Pattern {
	p := Pattern{Server: v.server(), Name: v.glob()}
	switch v.IntN(6) {
	case 0, 1:
		p.Server = "*"
	case 2:
		p.Server = []string{"t*", "*1", "*", "T*", "*.*", "S*", "**"}[v.IntN(7)]
	}
	switch v.IntN(8) {
	case 0:
		p.Name = v.name()
	case 2, 3:
		p.Name = "*" + v.word() + v.word() + "*"
	case 1:
		p.Re = res[v.IntN(len(res))]
	}
	return p
}

var someRegexps = func() (res []*regexp.Regexp) {
	for _, s := range []string{"^a", "b$", "ab|ba", "(?i)ab", "(?i)s", "a+b", "x?", "a(.*_)?b", "a[a-z]?b",
		"[ab]_", "a.b", "^$", "(a|b)(_|-)a", "\uFFFD", "(?i)k", "A{2,}", "é"} {
		res = append(res, regexp.MustCompile(s))
	}
	return res
}()

func TestIndexRandomSetsAgreeWithTheReference(t *testing.T) {
	rounds := 1500
	if testing.Short() {
		rounds = 200
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	v := vocabulary{rand.New(rand.NewPCG(seed, 0)), []string{
		"a", "b", "A", "_", "-", ".", "ab", "ba", "é", "É", "İ", "i\u0307", "ſ", "K", "k", "\xff", "\xe2", "\xe2\x84", "/", "\n",
		"abcdefghijklmnopqrstuvw", "ABCDEFGHIJKLMNOPQRSTUVX", "\uFFFD", "Ⱥ"}}
	asked, hits, many, misses := 0, 0, 0, 0
	for range rounds {
		patterns := make([]Pattern, v.IntN(30))
		if v.IntN(20) == 0 {
			patterns = make([]Pattern, v.IntN(400))
		}
		for i := range patterns {
			patterns[i] = v.pattern(someRegexps)
		}
		mode := Mode(v.IntN(2))
		x := Build(mode, patterns)
		if v.IntN(4) == 0 {
			x = build(mode, patterns, v.IntN(200)) // as if most were past the bound on text
		}
		require.Equal(t, len(patterns), x.Len())
		for range 12 {
			server, name := v.server(), v.name()
			if v.IntN(3) == 0 && len(patterns) > 0 {
				name = strings.ReplaceAll(patterns[v.IntN(len(patterns))].Name, "*", v.word())
			}
			n := agree(t, x, mode, patterns, server, name)
			asked++
			switch {
			case n == 0:
				misses++
			case n > 1:
				many++
				fallthrough
			default:
				hits++
			}
		}
	}
	t.Logf("asked %d, hits %d, several %d, misses %d", asked, hits, many, misses)
	assert.Greater(t, hits, asked/10)
	assert.Greater(t, many, asked/20)
	assert.Greater(t, misses, asked/20)
}

// What is at the end of a chain is found, whatever is at its beginning: every kind of pattern under a
// fragment, and every kind under a tail of that.
func TestEveryKindUnderEveryTail(t *testing.T) {
	kinds := func(f string) []Pattern {
		return []Pattern{{Server: "*", Name: "*" + f + "*"}, {Server: "s", Name: "*" + f + "*"}, {Server: "s*", Name: "*" + f + "*"},
			{Server: "*", Name: "*" + f + "*z"}, {Server: "s", Name: "x*" + f}, {Server: "*", Re: regexp.MustCompile(f)}, {Server: "s", Re: regexp.MustCompile(f + ".*z$")}}
	}
	for _, long := range kinds("abcd") {
		for _, mid := range kinds("bcd") {
			for _, short := range kinds("d") {
				for _, p := range [][]Pattern{{long, mid, short}, {short, mid, long}, {mid, short}, {long, short}, {short, long}} {
					x := Build(Folded, p)
					for _, name := range []string{"xabcd", "abcdz", "bcd", "XABCD", "d", "dz", "xd", "q"} {
						agree(t, x, Folded, p, "s", name)
						agree(t, x, Folded, p, "r", name)
					}
				}
			}
		}
	}
}

func TestEmptyIndexMatchesNothing(t *testing.T) {
	for _, x := range []*Index{nil, {}, Build(Exact, nil), Build(Folded, []Pattern{})} {
		assert.Zero(t, x.Len())
		assert.Equal(t, -1, x.First("", ""))
		assert.Equal(t, -1, x.FirstBelow("s", "n", 5))
		assert.False(t, x.Any("*", "*"))
		assert.Nil(t, x.All(nil, "s", "n"))
		s := x.Server("s")
		assert.Equal(t, -1, x.FirstIn(s, "n"))
		assert.Nil(t, x.AllIn(nil, s, "n"))
		assert.Zero(t, x.Stats().Patterns)
	}
}

func TestScopeOfAnotherIndexIsResolvedAgain(t *testing.T) {
	a := Build(Exact, []Pattern{{Server: "s", Name: "x"}})
	b := Build(Exact, []Pattern{{Server: "r", Name: "x"}, {Server: "s*", Name: "x"}})
	assert.Equal(t, 1, b.FirstIn(a.Server("s"), "x"))
	assert.Equal(t, []int32{1}, b.AllIn(nil, a.Server("s2"), "x"))
	assert.Equal(t, -1, a.FirstIn(Scope{}, "x"))
	any := Build(Exact, []Pattern{{Server: "*", Name: "x"}})
	assert.Equal(t, 0, any.FirstIn(Scope{}, "x"), "a pattern for any server is for one not resolved, too")
}

func TestLooseIsNeverNarrowerThanExact(t *testing.T) {
	v := vocabulary{rand.New(rand.NewPCG(3, 4)), []string{"a", "B", "-", "é", "İ", "ſ", "\u212a"}}
	hits := 0
	for range 3000 {
		p := []Pattern{{Server: "*", Name: v.glob()}}
		n := v.name()
		if Build(Exact, p).Any("s", n) {
			hits++
			require.True(t, Build(Folded, p).Any("s", n), "%q on %q", p[0].Name, n)
		}
	}
	assert.Greater(t, hits, 100)
}

// An index is only read after Build: the race detector watches.
func TestIndexIsSafeForConcurrentUse(t *testing.T) {
	patterns := mixed(rand.New(rand.NewPCG(7, 8)), 3000, true)
	for i := range 100 {
		patterns = append(patterns, Pattern{Server: "*", Name: fmt.Sprintf("*get*%c*", 'a'+i%26)}, Pattern{Server: "server*", Re: regexp.MustCompile("(?i)user|repo")})
	}
	x := Build(Folded, patterns)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(9, uint64(g%2)))
			var dst []int32
			for range 300 {
				server, name := mixedServer(r), mixedName(r)
				dst = x.All(dst[:0], server, name)
				first := -1
				if len(dst) > 0 {
					first = int(dst[0])
				}
				if got := x.FirstIn(x.Server(server), strings.ToUpper(name)); got != first {
					t.Errorf("%s/%s: FirstIn %d, All begins with %d", server, name, got, first)
				}
			}
		})
	}
	wg.Wait()
}
