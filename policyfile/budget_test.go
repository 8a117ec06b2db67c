package policyfile

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Whatever runs of marks a document has, finding where they end looks at each byte once.
func TestMarksAreSoughtInOnePass(t *testing.T) {
	const size = 1 << 20
	for _, s := range []string{"&", "*", "!", "&a", "*&!", "&a*b,", "*a ", "&é", "{*a", "*:", "- *\n", "!a{b: *c}"} {
		text := []byte("version: 1\nx: " + strings.Repeat(s, size/len(s)))
		start := time.Now()
		ps := &problems{}
		r := &yamlReader{text: text, lines: newLines(text), ps: ps, reported: make(map[int]int)}
		for _, off := range scanYAML(text).marks {
			r.mark(off, nil)
		}
		assert.LessOrEqual(t, r.looked, len(text), s)

		_, err := Parse(text, Options{})
		require.Error(t, err, s)
		assert.Less(t, len(err.Error()), 1<<20, s)
		assert.Less(t, time.Since(start), 30*time.Second, s)
	}
}

func TestRunOfMarksIsOneProblem(t *testing.T) {
	for mark, what := range map[string]string{"&": "an anchor", "*": "an alias"} {
		short := strings.Repeat(mark, maxQuoted)
		_, err := Parse([]byte("version: 1\nx: "+short+"\n"), Options{File: "p.yaml"})
		require.ErrorContains(t, err, "p.yaml:2:4: x: an unquoted "+short+" is "+what+" of YAML")
		require.Equal(t, 1, strings.Count(err.Error(), "an unquoted"))

		_, err = Parse([]byte("version: 1\nx: "+short+mark+"\n"), Options{File: "p.yaml"})
		require.ErrorContains(t, err, "an unquoted "+short+"… is "+what)
	}
	_, err := Parse([]byte("version: 1\nx: &"+strings.Repeat("é", 100)+" y\n"), Options{})
	require.ErrorContains(t, err, "é…")
	assert.NotContains(t, err.Error(), "\ufffd")
}

func badRules(n int) []byte {
	return []byte("version: 1\npolicy:\n  deny:\n" + strings.Repeat("    - 1\n", n))
}

func TestProblemsAreCountedBeyondTheFirstThousand(t *testing.T) {
	for _, n := range []int{1, MaxEntries - 1, MaxEntries, MaxEntries + 1, 2*MaxEntries - 1, 2 * MaxEntries, 2*MaxEntries + 1, 12_345} {
		_, err := Parse(badRules(n), Options{})
		var all *Error
		require.ErrorAs(t, err, &all)
		assert.Len(t, all.Entries, min(n, MaxEntries))
		assert.Equal(t, max(0, n-MaxEntries), all.More)
		assert.Equal(t, n > MaxEntries, strings.HasSuffix(err.Error(), fmt.Sprintf("\nand %d more (the first 1000 are listed)", n-MaxEntries)), n)
		for i, e := range all.Entries {
			require.EqualValues(t, 4+i, e.Position.Line)
		}
	}
}

// Which are listed depends on the place alone: not on what found them, and not on when.
func TestFirstProblemsAreListedWhateverFindsThem(t *testing.T) {
	const n = 3000
	var b strings.Builder
	b.WriteString("version: 1\npolicy:\n  deny:\n")
	for range n {
		b.WriteString("    - \"a//:\"\n    - 1\n") // one for the engine, one for the checker
	}
	_, err := Parse([]byte(b.String()), Options{File: "p"})
	requireTyped(t, err)
	var all *Error
	require.ErrorAs(t, err, &all)
	assert.Len(t, all.Entries, MaxEntries)
	assert.Equal(t, 2*n-MaxEntries, all.More)
	for i, e := range all.Entries {
		require.EqualValues(t, 4+i, e.Position.Line)
	}
}

// The estimate is what bounds memory: it must not be below what is really built.
func TestInstructionsAreNotUnderestimated(t *testing.T) {
	for _, text := range []string{
		``, `a`, `abc`, `(?i)straße`, `.`, `(?s).*`, `a|b|c`, `ab|cd|`, `a*`, `a+?`, `a??`, `(a*)*`, `(|a)*`, `(a)(b)(?:c)`, `^$`, `\b\B`, `[a-z]`, `[^a]`,
		`x{0}`, `x{1}`, `x{5}`, `x{0,5}`, `x{2,5}`, `x{0,}`, `x{3,}`, `(x{10}y){20}`, `(x{2,3}|y{4}){5,6}`, `x{1000}`, `(ab?){500}`, `\pL{100}`, `(?i)k{9}`,
		`^[a-z0-9]{1,63}(\.[a-z0-9]{1,63}){0,8}$`, `foo(bar|baz|qux)+`, `(a|){9}`, `[^\x00-\x{10FFFF}]`, `(?:){50}`, `(?:(?:a{2}){3}){4}`,
	} {
		tree, err := syntax.Parse(text, syntax.Perl)
		require.NoError(t, err, text)
		got := instructions(tree)
		tree, err = syntax.Parse(text, syntax.Perl)
		require.NoError(t, err)
		prog, err := syntax.Compile(tree.Simplify())
		require.NoError(t, err)
		assert.LessOrEqual(t, len(prog.Inst)-2, got, text) // a program has a fail and a match, too
		if got < maxRegexpWork && !strings.Contains(text, "{0}") && !strings.Contains(text, `\pL`) {
			assert.LessOrEqual(t, got, 5*len(prog.Inst), "%s: far too much", text)
		}
	}
}

func TestRegexpsHaveABudget(t *testing.T) {
	at := "p.yaml:4:27: policy.deny[0].regexp: "
	for _, re := range []string{`^(get|list)_[a-z0-9_]{1,128}$`, `x{1000}`, `^\p{L}{1,200}$`, `(?i)^[\pL\pN_.-]+$`, strings.Repeat(`(ab|cd)*`, 400)} {
		_, err := Parse([]byte(regexps(re, 1)), Options{File: "p.yaml"})
		require.NoError(t, err, re)
	}
	for _, re := range []string{strings.Repeat("x{1000}", 11), `(\pL{500}|y{500}){2}`, `\pL{1000}`, strings.Repeat(`\pL`, 1000)} {
		_, err := Parse([]byte(regexps(re, 1)), Options{File: "p.yaml"})
		require.EqualError(t, err, at+"the regular expression "+quote(re)+
			" compiles to more than 10000 instructions (shorten its repeats or split it)")
	}
	// Go's own bound.
	_, err := Parse([]byte(regexps("x{1001}", 1)), Options{File: "p.yaml"})
	require.ErrorContains(t, err, "invalid repeat count")
}

func TestDocumentsHaveABudgetOfRegexps(t *testing.T) {
	_, err := Parse([]byte(regexps("x{1000}", 1000)), Options{File: "p.yaml"})
	require.NoError(t, err)
	_, err = Parse([]byte(regexps("x{1000}", 1001)+"    - {server: a, regexp: '('}\n    - 1\n"), Options{File: "p.yaml"})
	require.EqualError(t, err, "p.yaml:1004:27: policy.deny[1000].regexp: the regular expressions up to this one compile to more than 1000000 instructions, "+
		"and the rest was not read (shorten their repeats, or write patterns)\n"+
		"p.yaml:1006:7: policy.deny[1002]: want a rule, a pattern in quotes or a mapping, not the number 1 (put it in quotes to make it a string)")

	// Expressions in conditions, and those that are no expressions, count as well.
	for _, rule := range []string{`{args: {k: {regexp: "x{1000}"}}}`, `{resource: {server: "*", regexp: "x{1000}"}}`, `{server: a, regexp: "` + strings.Repeat("a", 1000) + `("}`} {
		text := "version: 1\npolicy:\n  scope: [tools, resources]\n  deny:\n" + strings.Repeat("    - "+rule+"\n", 1001)
		_, err := Parse([]byte(text), Options{File: "p.yaml"})
		require.ErrorContains(t, err, "compile to more than 1000000 instructions", rule)
	}
}

// What a document within its budget keeps, at worst.
func TestRegexpsInBudgetHoldBoundedMemory(t *testing.T) {
	for _, re := range []string{"x{1000}", `^\pL{200}$`, `^(\pL{12}){1,16}$`, `^[\pL\pN]{20}[a-z]{800}$`} {
		compiled, err := syntax.Parse(re, syntax.Perl)
		require.NoError(t, err)
		work := instructions(compiled)
		require.LessOrEqual(t, work, maxRegexpWork, re)
		const copies = 20
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		kept := make([]*regexp.Regexp, copies)
		for i := range kept {
			kept[i] = regexp.MustCompile(re)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		per := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / int64(copies*work)
		t.Logf("%s: %d bytes an instruction", re, per)
		assert.Less(t, per, int64(400), re)
		runtime.KeepAlive(kept)
	}
}
