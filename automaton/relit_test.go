package automaton

import (
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/penstock-mcp/penstock/fold"
)

func TestRequiredLiterals(t *testing.T) {
	for _, c := range []struct {
		expr          string
		exact, folded [][]string
	}{
		{"abc", [][]string{{"abc"}}, [][]string{{"abc"}}},
		{"Ab-c", [][]string{{"Ab-c"}}, [][]string{{"ab_c"}}},
		{`^delete\b`, [][]string{{"delete"}}, [][]string{{"delete"}}},
		{"a(b)c", [][]string{{"abc"}}, [][]string{{"abc"}}},
		{"a|b", [][]string{{"a", "b"}}, [][]string{{"a", "b"}}},
		{"read|remove", [][]string{{"read", "remove"}}, [][]string{{"read", "remove"}}},
		{"(get|list)_secret", [][]string{{"get_secret", "list_secret"}}, [][]string{{"get_secret", "list_secret"}}},
		{"ab+c", [][]string{{"a"}, {"b"}, {"c"}}, [][]string{{"a"}, {"b"}, {"c"}}},
		{"ab?c", [][]string{{"abc", "ac"}}, [][]string{{"abc", "ac"}}},
		{"a.*bc", [][]string{{"a"}, {"bc"}}, [][]string{{"a"}, {"bc"}}},
		{"x(.*y)?c", [][]string{{"x"}, {"c"}}, [][]string{{"x"}, {"c"}}},
		{"x(?:a.|b)c", [][]string{{"x"}, {"a", "b"}, {"c"}}, [][]string{{"x"}, {"a", "b"}, {"c"}}},
		{"x[a-z]?c", [][]string{{"x"}, {"c"}}, [][]string{{"x"}, {"c"}}},
		{"(abc){2,}", [][]string{{"abc"}}, [][]string{{"abc"}}},
		{"(abc){0,2}", nil, nil},
		{"(abc)*", nil, nil},
		{"a||b", nil, nil},
		{"x*|abc", nil, nil},
		{"[ab]c", [][]string{{"ac", "bc"}}, [][]string{{"ac", "bc"}}},
		{"[a-z]c", [][]string{{"c"}}, [][]string{{"c"}}},
		{"(?i)ab", nil, [][]string{{"ab"}}},
		{"(?i)12", [][]string{{"12"}}, [][]string{{"12"}}},
		{"(?i)k", nil, [][]string{{"k"}}},
		{"(?i)s", nil, [][]string{{"s", "ſ"}}},
		{"(?i)sss", nil, [][]string{{"sss", "ssſ", "sſs", "sſſ", "ſss", "ſsſ", "ſſs", "ſſſ"}}},
		{"(?i)ς", nil, [][]string{{"ς", "σ"}}},
		{"a\uFFFDb", [][]string{{"a"}, {"b"}}, [][]string{{"a"}, {"b"}}},
		{`a\x{D800}b`, [][]string{{"a"}, {"b"}}, [][]string{{"a"}, {"b"}}},
		{"[\uFFFDx]", nil, nil},
		{"a+?b+?c", [][]string{{"c"}}, [][]string{{"c"}}},
		{"(ab){2}?", nil, nil},
		{"İ", [][]string{{"İ"}}, [][]string{{"i\u0307"}}},
		{"", nil, nil},
		{"^$", nil, nil},
		{`[^\x00-\x{10FFFF}]`, nil, nil},
	} {
		sets := func(mode Mode) map[string]bool {
			m := map[string]bool{}
			for _, s := range requiredLiterals(mode, c.expr) {
				m[strings.Join(sortedStrings(s), "|")] = true
			}
			return m
		}
		want := func(sets [][]string) map[string]bool {
			m := map[string]bool{}
			for _, s := range sets {
				m[strings.Join(sortedStrings(s), "|")] = true
			}
			return m
		}
		assert.Equal(t, want(c.exact), sets(Exact), "exact %q", c.expr)
		assert.Equal(t, want(c.folded), sets(Folded), "folded %q", c.expr)
	}
	assert.Empty(t, requiredLiterals(Exact, "a(b"), "an expression that does not parse requires nothing")
}

func sortedStrings(s []string) []string {
	s = append([]string(nil), s...)
	for i := range s {
		for j := i; j > 0 && s[j] < s[j-1]; j-- {
			s[j], s[j-1] = s[j-1], s[j]
		}
	}
	return s
}

// A regexp made by CompilePOSIX reads a+? as (a+)?.
func TestRegexpsOfThePosixKindAreNotMissed(t *testing.T) {
	for _, expr := range []string{"a+?b", "(ab){2}?", "a??", "(a|b)+?c"} {
		re := regexp.MustCompilePOSIX(expr)
		p := []Pattern{{Server: "*", Re: re}}
		for _, mode := range []Mode{Exact, Folded} {
			x := Build(mode, p)
			for _, n := range strs(4, "a", "b", "c") {
				agree(t, x, mode, p, "s", n)
			}
		}
	}
}

// Every rune that is equal to another one under (?i), tried on every rune it is equal to, and on their folds.
func TestRegexpWithoutCaseForEveryRune(t *testing.T) {
	pairs := 0
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if unicode.SimpleFold(r) == r || testing.Short() && r > 0x3000 {
			continue
		}
		p := []Pattern{{Server: "*", Re: regexp.MustCompile("(?i)x" + regexp.QuoteMeta(string(r)))}}
		x := Build(Folded, p)
		for o := unicode.SimpleFold(r); ; o = unicode.SimpleFold(o) {
			for _, n := range []string{"x" + string(o), "X" + fold.Rune(o)} {
				require.Equal(t, naiveMatch(Folded, p[0], "s", n), x.Any("s", n), "%q on %q", p[0].Re, n)
			}
			require.True(t, x.Any("s", "x"+string(o)))
			pairs++
			if o == r {
				break
			}
		}
	}
	assert.Greater(t, pairs, 1000)
}

// checkLiterals fails unless every name that the regexp matches holds what it is said to require.
func checkLiterals(t testing.TB, re *regexp.Regexp, name string) (matched, required bool) {
	for _, mode := range []Mode{Exact, Folded} {
		hay, match := name, re.MatchString(name)
		if mode == Folded {
			hay = fold.String(name)
			match = match || re.MatchString(hay)
		}
		sets := requiredLiterals(mode, re.String())
		for _, set := range sets {
			if !usable(set) || len(set) > maxAlternatives {
				t.Fatalf("%q requires %q", re, set)
			}
			found := false
			for _, s := range set {
				found = found || strings.Contains(hay, s)
			}
			if match && !found {
				t.Fatalf("mode %d: %q matches %q, which holds none of %q", mode, re, name, set)
			}
		}
		matched = matched || match
		required = required || len(sets) > 0
	}
	return matched, required
}

func FuzzRegexpLiterals(f *testing.F) {
	for _, expr := range []string{"(?i)s", "a\uFFFDb", `a\x{D800}`, "(a|b)+?c", "a{2}", `(?m)^a$`, "[aA]b?", "(?i)İ", "(?U)a+", "(?s).a", `\bK`, "(?i)ⱥ|ß"} {
		for _, name := range []string{"", "aab", "ſ", "a\xffb", "\u212a", "A\na", "i\u0307", "Ⱥ", "ẞ"} {
			f.Add(expr, name)
		}
	}
	f.Fuzz(func(t *testing.T, expr, name string) {
		if len(expr) > 200 || len(name) > 1000 {
			return
		}
		if re, err := regexp.Compile(expr); err == nil {
			checkLiterals(t, re, name)
		}
		if re, err := regexp.CompilePOSIX(expr); err == nil {
			checkLiterals(t, re, name)
		}
	})
}

// A literal character is text, also where a glob would read it as a star: each one alone, doubled, in a class and between
// anchors, so that every required literal made of it alone is tried.
func TestEveryLiteralCharacterOfARegexpIsText(t *testing.T) {
	tried := 0
	for c := rune(0); c < 0x180; c++ {
		q := regexp.QuoteMeta(string(c))
		for _, expr := range []string{q, q + q, "^" + q + "$", "(" + q + ")+", q + "a", "a" + q, q + "|" + q + q, "(?i)" + q, "a" + q + "{17}"} {
			re := regexp.MustCompile(expr)
			for _, mode := range []Mode{Exact, Folded} {
				x := Build(mode, []Pattern{{Server: "*", Re: re}, {Server: "s", Name: "zzz*" + strings.ReplaceAll(string(c), "*", "q") + "*q"}})
				for _, name := range []string{string(c), string(c) + string(c), "a" + string(c), string(c) + "a", "b", "a" + strings.Repeat(string(c), 17)} {
					want := re.MatchString(name) || mode == Folded && re.MatchString(fold.String(name))
					if got := x.First("s", name) == 0; got != want {
						t.Errorf("mode %d: %q on %q is %t, want %t", mode, expr, name, got, want)
					}
					if want {
						tried++
					}
				}
			}
		}
	}
	if tried < 10000 {
		t.Fatalf("only %d matches: the test is empty", tried)
	}
}
