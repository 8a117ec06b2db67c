package engine_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/penstock-mcp/penstock/engine"
)

// Whatever the maker of a rule changes later, what a compiled policy decides and what it says of itself stay the same.
func TestACompiledRuleSharesNothingWithItsMaker(t *testing.T) {
	value := map[string]any{"a": 1, "list": []any{"x"}}
	list := []string{"x"}
	nameRe, valueRe := regexp.MustCompile("^get"), regexp.MustCompile("^v")
	p, err := engine.CompilePolicy(engine.PolicyOptions{Deny: []engine.Rule{
		engine.All(engine.Pattern("fs/*"), engine.Arg("k", engine.Equals(value)), engine.Arg("l", engine.In(list)), engine.Arg("r", engine.Match(valueRe)),
			engine.Arg("e", engine.Each(engine.Equals(value)))),
		engine.Named("n", engine.Regexp("fs", nameRe)),
	}})
	require.NoError(t, err)
	texts := func() []string {
		var out []string
		for _, name := range []string{"x", "get"} {
			args := map[string]any{"k": map[string]any{"a": 1, "list": []any{"x"}}, "l": []any{"x"}, "r": "v",
				"e": []any{map[string]any{"a": 1, "list": []any{"x"}}}}
			if name == "get" {
				args = map[string]any{"k": map[string]any{}, "l": []any{}, "r": "v", "e": []any{map[string]any{}}}
			}
			call, tool := &engine.Call{Server: "fs", Name: name, Args: args}, &engine.Tool{Server: "fs", Name: name}
			x := engine.Explain(context.Background(), nil, p, call, tool, nil)
			require.Equal(t, engine.SourceDeny, x.Decision.Source, name)
			out = append(out, fmt.Sprint(x.Decision.Rule().Text, x.Steps))
		}
		return out
	}
	before := texts()
	value["a"] = 2
	value["list"].([]any)[0] = "y"
	list[0] = "y"
	require.NoError(t, nameRe.UnmarshalText([]byte("^zzz")))
	require.NoError(t, valueRe.UnmarshalText([]byte("^zzz")))
	assert.Equal(t, before, texts())
}

// Rules and conditions that share their parts could stand for 2^60 of them. They are refused, once, with their place.
func TestRulesThatShareTheirPartsAreRefused(t *testing.T) {
	at := engine.Position{File: "p", Line: 3, Column: 4}
	rule, condition := engine.Pattern("*").At(at), engine.Exists(true)
	for range 60 {
		rule, condition = engine.All(rule, rule).At(at), engine.Each(condition, condition)
	}
	many := make([]engine.Rule, 5000)
	for i := range many {
		many[i] = engine.Pattern(fmt.Sprintf("fs/x%d", i)).At(at)
	}
	for _, c := range []struct {
		rule engine.Rule
		want string
	}{
		{rule, "more than 4096 members"}, {engine.All(many...), "more than 4096 members"}, {engine.Arg("k", condition).At(at), "too large"},
	} {
		_, err := engine.CompilePolicy(engine.PolicyOptions{Deny: []engine.Rule{c.rule}})
		require.Error(t, err)
		assert.Contains(t, err.Error(), "p:3:4: policy.deny[0]")
		assert.Contains(t, err.Error(), c.want)
		assert.Equal(t, 1, strings.Count(err.Error(), "\n")+1, "the fault is reported more than once")
	}
}

func TestDeadRulesAreReportedWithEverythingElse(t *testing.T) {
	_, err := engine.CompilePolicy(engine.PolicyOptions{
		Scope: []engine.Kind{engine.Resources},
		Deny:  []engine.Rule{engine.Pattern("x"), engine.Pattern("fs/"), engine.Pattern("resource:fs/x"), engine.Pattern("prompt:fs/x")},
		Allow: []engine.Rule{engine.Func("f", nil), engine.Annotation(engine.HintReadOnly, true)},
	})
	var all *engine.CompileError
	require.ErrorAs(t, err, &all)
	var got []string
	for _, e := range all.Entries {
		got = append(got, fmt.Sprintf("%s[%d]", e.Option, e.Index))
	}
	assert.Equal(t, []string{"deny[0]", "deny[1]", "deny[3]", "allow[0]", "allow[1]"}, got)
}

// Many keys go another way than few. Both answer alike, for every pair of spellings that are equal but for case.
func TestTwinsAmongManyKeys(t *testing.T) {
	spellings := []string{"path", "Path", "PATH", "pat\u0068", "pa\u017fs", "pass", "PASS", "Kelvin", "\u212aelvin", "kelvin", "σ", "ς", "Σ", "a\xff", "A\xff", "a\ufffd", ""}
	twins := 0
	for _, key := range spellings {
		if key == "" {
			continue
		}
		for _, other := range spellings {
			for _, own := range []bool{false, true} {
				few, many := map[string]any{other: 1}, map[string]any{other: 1}
				if own {
					few[key], many[key] = 1, 1
				}
				for i := range 100 {
					many[fmt.Sprintf("filler %d", i)] = 1
				}
				p, err := engine.CompilePolicy(engine.PolicyOptions{Deny: []engine.Rule{engine.Arg(key, engine.Exists(true))}})
				if err != nil {
					continue // the key is not UTF-8
				}
				decide := func(args map[string]any) engine.Outcome {
					d, err := p.Evaluate(context.Background(), &engine.Call{Server: "fs", Name: "x", Args: args}, &engine.Tool{Server: "fs", Name: "x"}, nil)
					require.NoError(t, err)
					return d.Outcome
				}
				want := decide(few)
				assert.Equal(t, want, decide(many), "key %q beside %q", key, other)
				if twin := other != key && strings.EqualFold(other, key); twin {
					assert.Equal(t, engine.ReasonPredicateFailed, want.Reason, "key %q beside %q", key, other)
					twins++
				}
			}
		}
	}
	assert.Greater(t, twins, 20)
}

func TestManyKeysAreFoldedOnceForACall(t *testing.T) {
	var rules []engine.Rule
	for i := range 200 {
		rules = append(rules, engine.Arg(fmt.Sprintf("key%d", i), engine.Exists(true)))
	}
	p, err := engine.CompilePolicy(engine.PolicyOptions{Deny: rules})
	require.NoError(t, err)
	args := map[string]any{}
	for i := range 5000 {
		args[fmt.Sprintf("other%d", i)] = 1
	}
	call, tool := &engine.Call{Server: "fs", Name: "x", Args: args}, &engine.Tool{Server: "fs", Name: "x"}
	allocs := testing.AllocsPerRun(2, func() { _, _ = p.Evaluate(context.Background(), call, tool, nil) })
	assert.Less(t, allocs, float64(3*5000), "the keys are folded for every rule")
}

func TestManyIgnoredServers(t *testing.T) {
	for _, n := range []int{0, 1, 8, 9, 100} {
		var ids []string
		for i := range n {
			ids = append(ids, fmt.Sprintf("s%d", i))
		}
		p, err := engine.CompilePolicy(engine.PolicyOptions{Deny: []engine.Rule{engine.Tainted(ids...)}})
		require.NoError(t, err)
		for _, c := range []struct {
			taint []string
			want  engine.Source
		}{
			{nil, engine.SourceDefault}, {ids, engine.SourceDefault}, {append([]string{"fs"}, ids...), engine.SourceDefault},
			{append([]string{"web"}, ids...), engine.SourceDeny}, {append(append([]string{}, ids...), "S0"), engine.SourceDeny},
		} {
			d, err := p.Evaluate(context.Background(), &engine.Call{Server: "fs", Name: "x"}, &engine.Tool{Server: "fs", Name: "x"}, &engine.Request{Taint: c.taint})
			require.NoError(t, err)
			assert.Equal(t, c.want, d.Source, "%d ignored, taint %v", n, c.taint)
			in := engine.NewInput(&engine.Tool{Server: "fs", Name: "x"}, nil, &engine.Request{Taint: c.taint})
			assert.Equal(t, c.want == engine.SourceDeny, in.Tainted(ids...))
		}
	}
}

func TestANilEngineRefusesWrites(t *testing.T) {
	var e *engine.Engine
	_, err := e.Refresh("fs", nil)
	assert.ErrorContains(t, err, "the engine is nil")
	assert.ErrorContains(t, e.Apply(engine.Config{}), "the engine is nil")
	e.Remove("fs")
	assert.Equal(t, "", engine.NewInput(nil, nil, nil).Server())
}
