package fuzz

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/penstock-mcp/penstock/engine"
)

const exhaustiveAlphabet = "aA_-*"

// wordsUpTo returns every word over the alphabet, from the empty one to those of n letters.
func wordsUpTo(n int, alphabet string) []string {
	all := []string{""}
	last := all
	for range n {
		var next []string
		for _, w := range last {
			for _, c := range alphabet {
				next = append(next, w+string(c))
			}
		}
		all = append(all, next...)
		last = next
	}
	return all
}

// halves puts a word in one half of a target or a pattern.
var halves = []struct {
	name    string
	pattern func(word string) string
	target  func(word string) Target
	beside  string // a pattern that matches anyway: the two are members of an all
}{
	{"bare tool", func(w string) string { return w }, func(w string) Target { return Target{Kind: Tool, Server: "fs", Name: w} }, ""},
	{"tool", func(w string) string { return "*/" + w }, func(w string) Target { return Target{Kind: Tool, Server: "fs", Name: w} }, ""},
	{"tool of one server", func(w string) string { return "fs/" + w }, func(w string) Target { return Target{Kind: Tool, Server: "fs", Name: w} }, ""},
	{"server", func(w string) string { return w + "/x" }, func(w string) Target { return Target{Kind: Tool, Server: w, Name: "x"} }, ""},
	{"resource", func(w string) string { return "resource:*/" + w }, func(w string) Target { return Target{Kind: Resource, Server: "fs", Name: w} }, ""},
	{"prompt", func(w string) string { return "prompt:fs/" + w }, func(w string) Target { return Target{Kind: Prompt, Server: "fs", Name: w} }, ""},
	{"member of an all", func(w string) string { return "*/" + w }, func(w string) Target { return Target{Kind: Tool, Server: "fs", Name: w} }, "f*/*"},
	{"server in an all", func(w string) string { return w + "/x" }, func(w string) Target { return Target{Kind: Tool, Server: w, Name: "x"} }, "*/x*"},
}

// wantShort tells whether each word matches each other one as a glob, by the reference: computed once for all halves, since
// the other half always matches.
func wantShort(length int, loose bool) map[[2]string]bool {
	table := map[[2]string]bool{}
	for _, glob := range wordsUpTo(length, exhaustiveAlphabet) {
		for _, name := range wordsUpTo(length, exhaustiveAlphabet) {
			if segment(glob, name, loose) {
				table[[2]string{glob, name}] = true
			}
		}
	}
	return table
}

// TestEveryShortPatternAgainstEveryShortName holds the engine against the reference, exactly (allow, include) and loosely
// (deny, ask, exclude), one pattern at a time and all of them at once, where the first one must be found.
func TestEveryShortPatternAgainstEveryShortName(t *testing.T) {
	length := 4
	if testing.Short() {
		length = 3
	}
	for _, loose := range []bool{false, true} {
		table := wantShort(length, loose)
		for _, half := range halves {
			mode := map[bool]string{false: "exact", true: "loose"}[loose]
			t.Run(half.name+", "+mode, func(t *testing.T) {
				t.Parallel()
				var patterns, words, globs []string
				for _, w := range wordsUpTo(length, exhaustiveAlphabet)[1:] {
					patterns, globs = append(patterns, half.pattern(w)), append(globs, w)
				}
				var targets []Target
				for _, w := range wordsUpTo(length, exhaustiveAlphabet) {
					if target := half.target(w); checkServerID(target.Server) == nil {
						targets, words = append(targets, target), append(words, w)
					}
				}
				hits := 0
				first := make([]int, len(targets))
				for i := range first {
					first[i] = -1
				}
				for i, pattern := range patterns {
					ask := matcher(t, []string{pattern}, half.beside, targets[0].Kind, loose)
					for j, target := range targets {
						want := table[[2]string{globs[i], words[j]}]
						if got := ask(target) == 0; got != want {
							t.Fatalf("pattern %q, target %+v: the engine says %t, the reference %t", pattern, target, got, want)
						}
						if want {
							hits++
							if first[j] < 0 {
								first[j] = i
							}
						}
					}
				}
				ask := matcher(t, patterns, half.beside, targets[0].Kind, loose)
				for j, target := range targets {
					if got := ask(target); got != first[j] {
						t.Fatalf("target %+v: the engine finds pattern %d first, the reference %d", target, got, first[j])
					}
				}
				pairs := len(patterns) * len(targets)
				t.Logf("%d patterns, %d targets, %d pairs, %d matches", len(patterns), len(targets), pairs, hits)
				require.Greater(t, hits, pairs/100)
				require.Less(t, hits, pairs/2)
			})
		}
	}
}

// matcher returns a function that tells the index of the first pattern that the engine matches, or -1. It asks every list
// that matches in the given way, and fails if two of them differ.
func matcher(t *testing.T, patterns []string, beside string, kind Kind, loose bool) func(Target) int {
	t.Helper()
	var rules []Rule
	for _, p := range patterns {
		r := Rule{Form: Pattern, Text: p}
		if beside != "" {
			r = Rule{Form: All, Rules: []Rule{{Form: Pattern, Text: beside}, r}}
		}
		rules = append(rules, r)
	}
	var policies []*engine.Policy
	lists := []*Policy{{Allow: rules}}
	if loose {
		lists = []*Policy{{Deny: rules}, {Ask: rules}}
	}
	for _, p := range lists {
		p.Scope, p.AllowNewTools = []Kind{kind}, true
		compiled, err := p.Compile()
		require.NoError(t, err)
		policies = append(policies, compiled)
	}
	var filter *engine.Filter
	if kind == Tool && beside == "" {
		f := &Filter{Include: rules}
		if loose {
			f = &Filter{Exclude: rules}
		}
		var err error
		filter, err = f.Compile()
		require.NoError(t, err)
	}
	ctx, req := context.Background(), &engine.Request{HasApprover: true}
	return func(target Target) int {
		found := -2
		agree := func(by string, index int) {
			if found != -2 && found != index {
				t.Fatalf("target %+v: %s says %d, another list %d", target, by, index, found)
			}
			found = index
		}
		tool := &engine.Tool{Server: target.Server, Name: target.Name}
		for _, p := range policies {
			var d engine.Decision
			var err error
			switch kind {
			case Resource:
				d, err = p.EvaluateResource(target.Server, target.Name, req)
			case Prompt:
				d, err = p.EvaluatePrompt(target.Server, target.Name, req)
			default:
				d, err = p.Evaluate(ctx, &engine.Call{Server: target.Server, Name: target.Name}, tool, req)
			}
			if err != nil {
				t.Fatal(err)
			}
			index := -1
			if d.Source != engine.SourceDefault {
				index = d.Rule().Index
			}
			agree(fmt.Sprint(d), index)
		}
		if filter != nil {
			if matched := filter.Visible(ctx, tool, req) != loose; matched != (found >= 0) {
				t.Fatalf("target %+v: the filter says %t, the policy finds %d", target, matched, found)
			}
			if filter.Visible(ctx, tool, req) != filter.StaticVisible(tool) {
				t.Fatalf("target %+v: Visible and StaticVisible differ", target)
			}
		}
		return found
	}
}

func TestWordsUpTo(t *testing.T) {
	require.Len(t, wordsUpTo(4, exhaustiveAlphabet), 1+5+25+125+625)
	require.Equal(t, []string{"", "a", "b", "aa", "ab", "ba", "bb"}, wordsUpTo(2, "ab"))
	require.NotContains(t, strings.Join(wordsUpTo(2, "ab"), ""), "c")
}
