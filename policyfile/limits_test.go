package policyfile

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// nested returns a document with a value that nests to depth in all, in three notations.
func nested(depth int) map[string]string {
	// The root, policy, the list, the rule, args, the key: six collections around the value of equals.
	inner := depth - 6
	brackets := strings.Repeat("[", inner) + strings.Repeat("]", inner)
	var block strings.Builder
	block.WriteString("version: 1\npolicy:\n  deny:\n  - args:\n      k:\n        equals:\n         ")
	for range inner {
		block.WriteString(" -")
	}
	block.WriteString(" 1\n")
	return map[string]string{
		"p.json": `{"version": 1, "policy": {"deny": [{"args": {"k": {"equals": ` + brackets + `}}}]}}`,
		"flow":   "version: 1\npolicy: {deny: [{args: {k: {equals: " + brackets + "}}}]}\n",
		"block":  block.String(),
	}
}

func TestNestingIsBounded(t *testing.T) {
	for name, text := range nested(maxDepth) {
		require.NoError(t, compile(name, text), name)
	}
	for name, text := range nested(maxDepth + 1) {
		_, err := Parse([]byte(text), Options{File: name})
		require.ErrorContains(t, err, ": the document nests deeper than 64", name)
		requireTyped(t, err)
	}
}

func TestSizeIsBounded(t *testing.T) {
	const version = `{"version": 1}`
	fits := []byte(version + strings.Repeat(" ", MaxSize-len(version)))
	_, err := Parse(fits, Options{})
	require.NoError(t, err)

	path := filepath.Join(t.TempDir(), "p.yaml")
	require.NoError(t, os.WriteFile(path, append(fits, ' '), 0o600))
	_, err = Load(path, Options{File: "p.yaml"})
	require.EqualError(t, err, "p.yaml: the document is larger than 16 MiB")
	var size *SizeError
	require.ErrorAs(t, err, &size)
}

func TestLoadNamesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.yaml")
	require.NoError(t, os.WriteFile(path, []byte("version: 2"), 0o600))
	_, err := Load(path, Options{})
	require.EqualError(t, err, path+":1:10: version: version 2 is not supported (this program reads version 1)")

	_, err = Load(path+".missing", Options{})
	require.ErrorIs(t, err, os.ErrNotExist)
}

// regexps returns a document with n rules with a regular expression.
func regexps(re string, n int) string {
	return "version: 1\npolicy:\n  deny:\n" + strings.Repeat("    - {server: a, regexp: '"+re+"'}\n", n)
}

// hostile returns texts of about 100 KB that cost some readers seconds or gigabytes.
func hostile() map[string]string {
	const size = 100_000
	repeat := func(s string) string { return strings.Repeat(s, size/len(s)) }
	numbered := func(format string) string {
		var b strings.Builder
		for i := 0; b.Len() < size; i++ {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	indented := func(line string) string {
		var b strings.Builder
		for i := 0; b.Len() < size; i++ {
			b.WriteString(strings.Repeat(" ", i) + line)
		}
		return b.String()
	}
	return map[string]string{
		"open brackets":        repeat("["),
		"open braces":          repeat("{"),
		"brackets as JSON":     `{"version": 1, "policy": ` + repeat("["),
		"closed brackets":      strings.Repeat("[", size/2) + strings.Repeat("]", size/2),
		"brackets in brackets": repeat("[[],"),
		"nested mappings":      repeat("{a: "),
		"nested JSON":          repeat(`{"a":`),
		"explicit keys":        repeat("? "),
		"flow keys":            repeat("[? "),
		"dashes":               repeat("- "),
		"indented mappings":    indented("a:\n"),
		"indented lists":       indented("-\n"),
		"keys":                 numbered("k%d: v\n"),
		"keys as JSON":         `{"version": 1, ` + numbered(`"k%d": 1, `) + `"k": 1}`,
		"equal keys":           repeat("k: v\n"),
		"equal keys as JSON":   `{` + repeat(`"k": 1, `) + `"k": 1}`,
		"keys in one line":     "{" + numbered("k%d: v,") + "}",
		"wide characters":      "{" + numbered("é%d: v,") + "}",
		"bad rules":            "version: 1\npolicy:\n  deny: [" + repeat("1,") + "]",
		"unknown keys":         "version: 1\npolicy:\n  deny:\n" + repeat("    - {annotations: 1}\n"),
		"commas":               "[" + repeat("a,") + "]",
		"anchors":              numbered("- &a%d x\n"),
		"aliases":              "- &a x\n" + repeat("- *a\n"),
		"unknown aliases":      repeat("- */x\n"),
		"unreadable aliases":   "[" + repeat("- */x\n"),
		"tags":                 repeat("- !!str x\n"),
		"billion laughs":       "a: &a [x]\n" + numbered("b%[1]d: &b%[1]d [*a, *a, *a, *a]\n"),
		"merge keys":           "a: &a {b: c}\n" + numbered("k%d: {<<: *a}\n"),
		"documents":            repeat("---\n"),
		"directives":           repeat("%FOO a\n"),
		"comments":             repeat("# c\n"),
		"comments in a list":   repeat("- # c\n"),
		"blank lines":          "a: b" + repeat("\n") + "  c",
		"spaces":               "a: b" + repeat(" ") + "  c",
		"quotes":               repeat("'"),
		"open quote":           "\"" + repeat("a\n"),
		"escapes":              "\"" + repeat("\\\\") + "\"",
		"colons":               repeat(": "),
		"pipes":                repeat("|\n"),
		"bytes":                repeat("\xff"),
		"NULs":                 repeat("\x00"),
		"a long key":           repeat("k") + ": 1",
		"a run of anchors":     "version: 1\nx: " + repeat("&"),
		"a run of aliases":     "version: 1\nx: " + repeat("*"),
		"a run of tags":        "version: 1\nx: " + repeat("!"),
		"aliases in a token":   "version: 1\nx: [" + repeat("*a[*b{"),
		"aliases in brackets":  "version: 1\nx: [" + repeat("*,"),
		"repeats":              regexps(repeat("x{1000}")[:3500], 20),
		"classes":              regexps(strings.Repeat(`\pL`, maxRegexp/3), 4),
		"a long number":        "version: " + repeat("1"),
		"a long regexp":        "version: 1\npolicy: {deny: [{server: a, regexp: '" + repeat("(a") + "'}]}",
	}
}

// A hostile text costs milliseconds; BenchmarkHostile shows how many. Here memory is bounded, which does not depend on
// what else the machine does, and time so generously that only what grows without measure can fail.
func TestHostileDocumentsAreCheap(t *testing.T) {
	for name, text := range hostile() {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			_, err := Parse([]byte(text), Options{File: "p.yaml"})
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			require.Error(t, err)
			require.NotEmpty(t, err.Error())
			assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(100<<20))
			assert.Less(t, took, time.Minute)
			t.Logf("%v, %d KiB: %.100s", took, (after.TotalAlloc-before.TotalAlloc)>>10, err)
		})
	}
}

// The scan refuses deep nesting before the parser sees it.
func TestDeepNestingNeverReachesTheParser(t *testing.T) {
	for _, name := range []string{"open brackets", "open braces", "closed brackets", "brackets in brackets", "nested mappings", "explicit keys", "flow keys",
		"dashes", "indented mappings", "indented lists"} {
		scan := scanYAML([]byte(hostile()[name]))
		assert.GreaterOrEqual(t, scan.tooDeep, 0, name)
		assert.Less(t, scan.tooDeep, 5000, name)
	}
}

// manyRules returns a document with n rules, a mix of what people write.
func manyRules(n int) []byte {
	var b bytes.Buffer
	b.WriteString("version: 1\npolicy:\n  trusted: [fs]\n  deny:\n")
	for i := range n {
		switch i % 10 {
		case 0:
			fmt.Fprintf(&b, "    - {id: rule-%d, rule: \"server%d/delete_*\", message: \"Not here.\"}\n", i, i%100)
		case 1:
			fmt.Fprintf(&b, "    - {server: server%d, regexp: \"^write_%d\"}\n", i%100, i)
		case 2:
			fmt.Fprintf(&b, "    - all: [\"server%d/*\", {annotation: {read_only: false}}]\n", i%100)
		case 3:
			fmt.Fprintf(&b, "    - all: [\"server%d/write\", {args: {path: {outside: /data/%d}}}]\n", i%100, i)
		default:
			fmt.Fprintf(&b, "    - \"server%d/tool_%d_*\"\n", i%100, i)
		}
	}
	return b.Bytes()
}

func BenchmarkParse(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		data := manyRules(n)
		b.Run(fmt.Sprintf("rules=%d", n), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				doc, err := Parse(data, Options{File: "p.yaml"})
				if err != nil || len(doc.Policy.Deny) != n {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkParseAndCompile(b *testing.B) {
	const n = 10_000
	data := manyRules(n)
	b.Run(fmt.Sprintf("rules=%d", n), func(b *testing.B) {
		for b.Loop() {
			doc, err := Parse(data, Options{File: "p.yaml"})
			if err != nil {
				b.Fatal(err)
			}
			if _, policy, err := doc.Compile(); err != nil || policy == nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkHostile(b *testing.B) {
	for name, text := range hostile() {
		b.Run(strings.ReplaceAll(name, " ", "_"), func(b *testing.B) {
			for b.Loop() {
				if _, err := Parse([]byte(text), Options{}); err == nil {
					b.Fatal("it was taken")
				}
			}
		})
	}
}

func BenchmarkDecodeRequest(b *testing.B) {
	line := []byte(`{"tool": {"server": "fs", "name": "write", "annotations": {"readOnlyHint": false}, "fingerprint": "f"},` +
		` "args": {"path": "/data/x"}, "has_approver": true, "approved": [{"server": "fs", "name": "write", "fingerprint": "f"}], "taint": ["web"]}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeRequest(line); err != nil {
			b.Fatal(err)
		}
	}
}

func TestManyRulesAreRead(t *testing.T) {
	const n = 10_000
	doc, err := Parse(manyRules(n), Options{File: "p.yaml"})
	require.NoError(t, err)
	_, policy, err := doc.Compile()
	require.NoError(t, err)
	require.NotNil(t, policy)
	require.Len(t, doc.Policy.Deny, n)
	assert.Equal(t, "p.yaml:10004:7", doc.Policy.Deny[n-1].Position().String())
}
