package engine_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/penstock-mcp/penstock/engine"
)

func yes(context.Context, engine.Input) (bool, error) { return true, nil }

// everywhere compiles r alone in every list that takes tool rules and returns the errors.
func everywhere(r engine.Rule) map[string]error {
	rules := []engine.Rule{r}
	filter := func(o engine.FilterOptions) error { _, err := engine.CompileFilter(o); return err }
	policy := func(o engine.PolicyOptions) error { _, err := engine.CompilePolicy(o); return err }
	return map[string]error{
		"filter.include": filter(engine.FilterOptions{Include: rules}),
		"filter.exclude": filter(engine.FilterOptions{Exclude: rules}),
		"policy.deny":    policy(engine.PolicyOptions{Deny: rules}),
		"policy.ask":     policy(engine.PolicyOptions{Ask: rules}),
		"policy.allow":   policy(engine.PolicyOptions{Allow: rules}),
	}
}

func TestEveryListRefusesABadPatternAndSaysWhy(t *testing.T) {
	for _, c := range []struct {
		pattern string
		offset  int
		want    string
	}{
		{"", 0, `it is empty (write "*" for every tool)`},
		{"/", 0, "the server segment is empty"},
		{"/x", 0, "the server segment is empty"},
		{"fs/", 3, `the tool segment is empty (write "fs/*" for every tool)`},
		{"a//b", 2, "the tool segment begins with '/'"},
		{"a:b/c", 1, `the server segment "a:b" holds ':'`},
		{"*:*/c", 1, "holds ':'"},
		{"a b/c", 1, "holds white space"},
		{" fs/x", 0, "holds white space"},
		{"fs /x", 2, "holds white space"},
		{"fs\u00a0x/x", 2, "holds white space"},
		{"fs/ x", 3, "the tool segment begins with white space"},
		{"fs/x ", 4, "the tool segment ends with white space"},
		{"fs/x\u3000", 4, "the tool segment ends with white space"},
		{" x", 0, "the tool segment begins with white space"},
		{"x\t", 1, "the tool segment holds the control character U+0009"},
		{"fs/a\nb", 4, "the tool segment holds the control character U+000A"},
		{"f\x00s/a", 1, "the server segment holds the control character U+0000"},
		{"fs/a\u0085b", 4, "the tool segment holds the control character U+0085"},
		{"fs/del\u200bete", 6, "the tool segment holds the invisible character U+200B"},
		{"f\u2060s/x", 1, "the server segment holds the invisible character U+2060"},
		{"fs/a\u00adb", 4, "the tool segment holds the invisible character U+00AD"},
		{"fs/\ufeffx", 3, "the tool segment holds the invisible character U+FEFF"},
		{"fs/a\xff", 4, "the tool segment is not valid UTF-8 at byte 1 (0xff)"},
		{"f\xc3/a", 1, "the server segment is not valid UTF-8"},
		{"fs/\xed\xa0\x80", 3, "the tool segment is not valid UTF-8"},
		{"fs/" + strings.Repeat("a", 4094), 4096, "it has 4097 bytes, more than 4096"},
		{"fs/" + strings.Repeat("*a", 65), 0, "it has 65 stars, more than 64"},
	} {
		errs := everywhere(engine.Pattern(c.pattern))
		require.Len(t, errs, 5)
		for option, err := range errs {
			require.Error(t, err, "%s took %q", option, c.pattern)
			assert.Contains(t, err.Error(), option+"[0]: pattern ", "%q", c.pattern)
			assert.Contains(t, err.Error(), c.want, "%q in %s", c.pattern, option)
			var entry *engine.EntryError
			require.ErrorAs(t, err, &entry)
			assert.Equal(t, c.offset, entry.Offset, "offset in %q", c.pattern)
			assert.Equal(t, 0, entry.Index)
			var cause *engine.PatternError
			require.ErrorAs(t, err, &cause)
			assert.Equal(t, c.pattern, cause.Pattern)
			assert.NotContains(t, err.Error(), "\x00")
			assert.Less(t, len(err.Error()), 600, "a message that nobody can read")
		}
	}
}

func TestEveryListTakesAGoodPattern(t *testing.T) {
	for _, p := range []string{
		"*", "*/*", "x", "fs/x", "a/b/c", "fs/*", "*/x", "f*s/x", "fs/a b", "fs/a:b", "ns:tool", "fs/[a]", "fs/{a,b}", `fs/a\b`, "fs/a?",
		"fs/a/", "fs/ü", "fs/a\u0301", "fs/\ufffd", "**", "fs/a**b", "ü/x",
		"fs/" + strings.Repeat("a", 4093), "fs/" + strings.Repeat("*a", 64),
	} {
		for option, err := range everywhere(engine.Pattern(p)) {
			assert.NoError(t, err, "%s refused %q", option, p)
		}
	}
}

func TestRegexpRules(t *testing.T) {
	re := regexp.MustCompile("x")
	for _, c := range []struct {
		server string
		want   string
	}{
		{"", "the server segment is empty"},
		{"a:b", "holds ':'"},
		{"a/b", "holds '/', which no server id has (give the server alone)"},
		{"a b", "holds white space"},
		{"a\x01", "holds the control character U+0001"},
		{"a\u200d", "holds the invisible character U+200D"},
		{"a\xff", "not valid UTF-8"},
		{strings.Repeat("a", 4097), "more than 4096"},
		{strings.Repeat("*", 65), "more than 64"},
	} {
		for option, err := range everywhere(engine.Regexp(c.server, re)) {
			assert.ErrorContains(t, err, option+"[0]")
			assert.ErrorContains(t, err, c.want)
		}
	}
	for option, err := range everywhere(engine.Regexp("fs", nil)) {
		assert.ErrorContains(t, err, option+"[0]: {server: \"fs\", regexp: nil}: the regular expression is nil")
	}
	for _, err := range everywhere(engine.Regexp("f*", re)) {
		assert.NoError(t, err)
	}
	for _, err := range everywhere(engine.Regexp("f", regexp.MustCompile(strings.Repeat("a", 4097)))) {
		assert.ErrorContains(t, err, "the regular expression has 4097 bytes, more than 4096")
	}
}

func TestRulesThatAreNothing(t *testing.T) {
	for option, err := range everywhere(engine.Rule{}) {
		assert.ErrorContains(t, err, option+"[0]: {}: the rule is empty")
	}
	for option, err := range everywhere(engine.Func("f", nil)) {
		assert.ErrorContains(t, err, option+"[0]: {predicate: f}: the function is nil")
	}
	cause := errors.New("no such thing")
	for option, err := range everywhere(engine.Bad("{pair: x}", cause)) {
		assert.ErrorContains(t, err, option+"[0]: {pair: x}: no such thing")
		assert.ErrorIs(t, err, cause)
	}
	for _, list := range []string{"deny", "ask", "allow"} {
		assert.ErrorContains(t, everywhere(engine.Args("f", nil))["policy."+list], "the function is nil")
		assert.ErrorContains(t, everywhere(engine.Arg("path"))["policy."+list], "policy."+list+"[0]")
		assert.ErrorContains(t, everywhere(engine.All())["policy."+list], "all needs at least one member")
		assert.ErrorContains(t, everywhere(engine.Tainted("a:b"))["policy."+list], `server id "a:b": it holds ':'`)
		assert.ErrorContains(t, everywhere(engine.Annotation(99, true))["policy."+list], "unknown annotation key 99")
	}
}

func TestAFilterRefusesWhatBelongsToThePolicy(t *testing.T) {
	for word, r := range map[string]engine.Rule{
		"annotation": engine.Annotation(engine.HintReadOnly, true),
		"args":       engine.Arg("path", engine.Exists(true)),
		"attribute":  engine.Attribute("group", engine.Exists(true)),
		"tainted":    engine.Tainted(),
		"all":        engine.All(engine.Pattern("x")),
		"named":      engine.Named("n", engine.Pattern("x")),
		"resource":   engine.Pattern("resource:fs/x"),
		"prompt":     engine.Pattern("prompt:fs/x"),
	} {
		errs := everywhere(r)
		for _, option := range []string{"filter.include", "filter.exclude"} {
			assert.ErrorContains(t, errs[option], option+"[0]", word)
			assert.ErrorContains(t, errs[option], "a rule of form "+word+" belongs to the policy")
		}
	}
	for _, r := range []engine.Rule{
		engine.ResourceRegexp("fs", regexp.MustCompile("x")), engine.PromptRegexp("fs", regexp.MustCompile("x")), engine.Args("f", yes),
	} {
		assert.ErrorContains(t, everywhere(r)["filter.include"], "belongs to the policy")
		assert.ErrorContains(t, everywhere(r)["filter.exclude"], "belongs to the policy")
	}
}

func TestResourceAndPromptPatterns(t *testing.T) {
	all := []engine.Kind{engine.Tools, engine.Resources, engine.Prompts}
	compile := func(p string, scope ...engine.Kind) error {
		_, err := engine.CompilePolicy(engine.PolicyOptions{Deny: []engine.Rule{engine.Pattern(p)}, Scope: scope})
		return err
	}
	for p, want := range map[string]string{
		"resource:x":          `a resource pattern needs a server (write "resource:*/x" for any server)`,
		"prompt:x":            `a prompt pattern needs a server (write "prompt:*/x" for any server)`,
		"resource:":           "a resource pattern needs a server",
		"resource:repo://x":   `(a resource pattern needs a server: write "resource:*/repo://x")`,
		"resource:fs/":        "the uri segment is empty",
		"resource:/x":         "the server segment is empty",
		"prompt:fs/":          "the prompt segment is empty",
		"prompt:fs//x":        "the prompt segment begins with '/'",
		"resource:a b/x":      "holds white space",
		"resource:fs/x ":      "the uri segment ends with white space",
		"resource:fs/\u200bx": "the uri segment holds the invisible character U+200B",
		"Resource:fs/x":       `the server segment "Resource:fs" holds ':'`,
		"tool:fs/x":           `the server segment "tool:fs" holds ':'`,
	} {
		assert.ErrorContains(t, compile(p, all...), want, p)
	}
	for _, p := range []string{"resource:*/repo://x", "resource:fs/file:///etc/*", "resource:fs/*", "resource:fs//x", "prompt:*/*", "prompt:gh/a/b"} {
		assert.NoError(t, compile(p, all...), p)
	}
	assert.ErrorContains(t, compile("resource:fs/x"), "a resource rule in a policy whose scope lacks resources can never act (add resources to scope)")
	assert.ErrorContains(t, compile("prompt:fs/x", engine.Tools, engine.Resources), "scope lacks prompts")
	assert.ErrorContains(t, compile("fs/x", engine.Resources), "scope lacks tools")
	for _, r := range []engine.Rule{
		engine.Annotation(engine.HintReadOnly, true), engine.Tainted(), engine.Func("f", yes), engine.Args("f", yes),
		engine.Arg("k", engine.Exists(true)), engine.Attribute("k", engine.Exists(true)), engine.Named("n", engine.All(engine.Func("f", yes))),
	} {
		_, err := engine.CompilePolicy(engine.PolicyOptions{Allow: []engine.Rule{r}, Scope: []engine.Kind{engine.Prompts}})
		assert.ErrorContains(t, err, "a tool rule in a policy whose scope lacks tools can never act", r.String())
	}
}

func TestAllIsOfOneKindAndHoldsNoNamedRules(t *testing.T) {
	all := []engine.Kind{engine.Tools, engine.Resources, engine.Prompts}
	tool := []engine.Rule{engine.Pattern("x"), engine.Annotation(engine.HintReadOnly, true), engine.Tainted(), engine.Func("f", yes), engine.Args("f", yes),
		engine.Arg("k", engine.Exists(true)), engine.Attribute("k", engine.Exists(true)), engine.Regexp("fs", regexp.MustCompile("x"))}
	resource := []engine.Rule{engine.Pattern("resource:fs/x"), engine.ResourceRegexp("fs", regexp.MustCompile("x"))}
	prompt := []engine.Rule{engine.Pattern("prompt:fs/x"), engine.PromptRegexp("fs", regexp.MustCompile("x"))}
	groups := [][]engine.Rule{tool, resource, prompt}
	for i, as := range groups {
		for j, bs := range groups {
			for _, a := range as {
				for _, b := range bs {
					for _, r := range []engine.Rule{engine.All(a, b), engine.All(engine.All(a), engine.All(engine.All(b)))} {
						_, err := engine.CompilePolicy(engine.PolicyOptions{Ask: []engine.Rule{r}, Scope: all})
						if i == j {
							assert.NoError(t, err, r.String())
						} else {
							assert.ErrorContains(t, err, "all mixes kinds and could never match", r.String())
						}
					}
				}
			}
		}
	}
	named := engine.Named("n", engine.Pattern("x"))
	assert.ErrorContains(t, everywhere(engine.All(named))["policy.ask"], "a named rule cannot be a member of all (name the whole rule)")
	assert.ErrorContains(t, everywhere(engine.All(engine.Pattern("x"), engine.All(named)))["policy.ask"], "cannot be a member of all")
	assert.ErrorContains(t, everywhere(engine.Named("m", named))["policy.ask"], "a named rule does not nest in a named rule")
	deep := engine.Pattern("x")
	for range 10_000 {
		deep = engine.All(deep)
	}
	assert.ErrorContains(t, everywhere(deep)["policy.deny"], "nests deeper than 64")
}

func TestIdsOfNamedRules(t *testing.T) {
	for id, want := range map[string]string{
		"":           "the id is empty",
		"deny[2]":    "has the form of an unnamed rule's id",
		"allow[007]": "has the form of an unnamed rule's id",
		"ask[0]":     "has the form of an unnamed rule's id",
	} {
		assert.ErrorContains(t, everywhere(engine.Named(id, engine.Pattern("x")))["policy.deny"], want)
	}
	for _, id := range []string{"deny", "deny[]", "deny[x]", "deny[1]x", "no-shell", "denied[1]", "x deny[1]"} {
		assert.NoError(t, everywhere(engine.Named(id, engine.Pattern("x")))["policy.deny"], id)
	}
	_, err := engine.CompilePolicy(engine.PolicyOptions{
		Deny:  []engine.Rule{engine.Pattern("a"), engine.Named("n", engine.Pattern("x"))},
		Allow: []engine.Rule{engine.Named("n", engine.Pattern("y"))},
	})
	assert.ErrorContains(t, err, "policy.allow[0] (n): the id is already that of deny[1]")
	assert.ErrorContains(t, everywhere(engine.Pattern("x").WithMessage("no"))["policy.deny"], "a message needs a named rule")
}

func TestOptionsThatAreNotLists(t *testing.T) {
	_, err := engine.CompilePolicy(engine.PolicyOptions{
		NoMatch: 7, Scope: []engine.Kind{engine.Tools, 9}, Trusted: []string{"fs", "*", "a:b", "", "a b"},
	})
	require.Error(t, err)
	for _, want := range []string{
		"policy.default: unknown value 7", "policy.scope[1]: unknown kind 9",
		`policy.trusted[1]: server id "*": it holds '*'`, `policy.trusted[2]: server id "a:b"`, `policy.trusted[3]: server id ""`, `policy.trusted[4]`,
	} {
		assert.ErrorContains(t, err, want)
	}
}

func TestEveryBadEntryIsReportedInOrder(t *testing.T) {
	bad := func(n int) (rules []engine.Rule) {
		for i := range n {
			rules = append(rules, engine.Pattern("ok"), engine.Pattern("fs/").At(engine.Position{File: "p.yaml", Line: int32(i + 1), Column: 7}))
		}
		return rules
	}
	_, err := engine.CompilePolicy(engine.PolicyOptions{Deny: bad(3), Ask: bad(2), Allow: bad(4), Trusted: []string{"*"}})
	var all *engine.CompileError
	require.ErrorAs(t, err, &all)
	var got []string
	for _, e := range all.Entries {
		got = append(got, fmt.Sprintf("%s[%d]", e.Option, e.Index))
	}
	assert.Equal(t, []string{"deny[1]", "deny[3]", "deny[5]", "ask[1]", "ask[3]", "allow[1]", "allow[3]", "allow[5]", "allow[7]", "trusted[0]"}, got)
	assert.Equal(t, `p.yaml:2:7: policy.deny[3]: pattern "fs/": the tool segment is empty (write "fs/*" for every tool)`, all.Entries[1].Error())
	assert.Len(t, strings.Split(err.Error(), "\n"), 10)
}

func TestAFailedUpdateKeepsTheStoredPolicy(t *testing.T) {
	var p engine.Policies
	assert.Nil(t, p.Get("hub"))
	require.NoError(t, p.Update("hub", engine.PolicyOptions{Deny: []engine.Rule{engine.Pattern("x")}}))
	before := p.Get("hub")
	require.Error(t, p.Update("hub", engine.PolicyOptions{Deny: []engine.Rule{engine.Pattern("x/")}}))
	assert.Same(t, before, p.Get("hub"))
	p.Set("hub", engine.AllowAll())
	assert.NotSame(t, before, p.Get("hub"))
	p.Delete("hub")
	assert.Nil(t, p.Get("hub"))
	d, err := p.Get("hub").Evaluate(context.Background(), &engine.Call{Server: "fs", Name: "x"}, &engine.Tool{Server: "fs", Name: "x"}, &engine.Request{HasApprover: true})
	assert.NoError(t, err)
	assert.Equal(t, engine.Deny, d.Action)
}

func TestAllowAllAllowsNewAndChangedTools(t *testing.T) {
	tool := &engine.Tool{Server: "fs", Name: "x", Fingerprint: "B"}
	for _, base := range []*engine.Baseline{nil, engine.NewBaseline(map[engine.Target]engine.Fingerprint{{Server: "fs", Name: "x"}: "A"})} {
		d, err := engine.AllowAll().Evaluate(context.Background(), &engine.Call{Server: "fs", Name: "x"}, tool, &engine.Request{Approved: base})
		assert.NoError(t, err)
		assert.Equal(t, engine.Allow, d.Action)
	}
}
