package engine_test

import (
	"context"
	"errors"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/penstock-mcp/penstock/engine"
)

func explainPolicy(t *testing.T) *engine.Policy {
	t.Helper()
	p, err := engine.CompilePolicy(engine.PolicyOptions{
		Deny: []engine.Rule{
			engine.Pattern("*/delete_*"),
			engine.All(engine.Pattern("fs/*"), engine.Func("broken", func(context.Context, engine.Input) (bool, error) {
				return false, errors.New("no database")
			}), engine.Arg("path", engine.Equals("/etc"))),
		},
		Ask: []engine.Rule{engine.Regexp("fs", regexp.MustCompile("^write"))},
		Allow: []engine.Rule{
			engine.Pattern("fs/*"),
			engine.Named("reader", engine.Pattern("FS/read")),
			engine.Pattern("f/read"),
			engine.Pattern("gh/read"),
			engine.Pattern("fs/raed"),
		},
	})
	require.NoError(t, err)
	return p
}

func step(t *testing.T, x engine.Explanation, s engine.Source) engine.Step {
	t.Helper()
	for _, step := range x.Steps {
		if step.Source == s {
			return step
		}
	}
	t.Fatalf("no step %v in %+v", s, x.Steps)
	return engine.Step{}
}

func TestExplainShowsEveryStepAndTheDecisionOfEvaluate(t *testing.T) {
	p := explainPolicy(t)
	f, err := engine.CompileFilter(engine.FilterOptions{Include: []engine.Rule{engine.Pattern("fs/*")}})
	require.NoError(t, err)
	tool := &engine.Tool{Server: "fs", Name: "read"}
	call := &engine.Call{Server: "fs", Name: "read", Args: map[string]any{"path": "/etc"}}
	x := engine.Explain(context.Background(), f, p, call, tool, nil)
	want, err := p.Evaluate(context.Background(), call, tool, nil)
	require.NoError(t, err)
	assert.Equal(t, want.String(), x.Decision.String())
	assert.Equal(t, "deny[1]", x.Decision.Rule().ID)
	assert.True(t, x.Visible)
	require.Len(t, x.Filter, 1)
	assert.Equal(t, "include[0]", x.Filter[0].Rule.ID)

	var sources []engine.Source
	for _, s := range x.Steps {
		sources = append(sources, s.Source)
		assert.Equal(t, s.Source == engine.SourceDeny, s.Decides)
	}
	assert.Equal(t, []engine.Source{engine.SourceDeny, engine.SourcePin, engine.SourceAsk, engine.SourceAllow, engine.SourceDefault}, sources)

	deny := step(t, x, engine.SourceDeny)
	require.Len(t, deny.Rules, 1)
	assert.Equal(t, engine.ResultFailed, deny.Rules[0].Result)
	assert.ErrorContains(t, deny.Rules[0].Err, "no database")
	assert.True(t, deny.Rules[0].Counts)
	require.Len(t, deny.Rules[0].Members, 3)
	assert.Equal(t, engine.ResultYes, deny.Rules[0].Members[0].Result)
	assert.Equal(t, engine.ResultFailed, deny.Rules[0].Members[1].Result)
	assert.Equal(t, engine.ResultYes, deny.Rules[0].Members[2].Result)

	allow := step(t, x, engine.SourceAllow)
	require.Len(t, allow.Rules, 1)
	assert.Equal(t, engine.ResultBarred, allow.Rules[0].Result, "a glob may not allow a new tool")
	assert.False(t, allow.Rules[0].Counts)

	kinds := map[string]engine.NearMissKind{}
	for _, m := range x.NearMisses {
		kinds[m.Rule.ID] = m.Kind
	}
	assert.Equal(t, map[string]engine.NearMissKind{
		"allow[0]": engine.NearNew, "reader": engine.NearLoose, "allow[2]": engine.NearServer,
		"allow[3]": engine.NearHalf, "allow[4]": engine.NearName,
	}, kinds)
}

func TestExplainOfASnapshotNamesTheServerThatWasMeant(t *testing.T) {
	e, err := engine.New(engine.Config{Views: map[string]engine.View{"": {Policy: explainPolicy(t)}}})
	require.NoError(t, err)
	_, err = e.Refresh("github", []engine.Tool{{Name: "read"}})
	require.NoError(t, err)
	x := e.Snapshot().View("").Explain(context.Background(), &engine.Call{Server: "gihub", Name: "read"}, nil)
	assert.False(t, x.Found)
	assert.Equal(t, engine.ErrNotFound, x.Err)
	require.Len(t, x.NearMisses, 1)
	assert.Equal(t, "github", x.NearMisses[0].Target.Server)

	x = e.Snapshot().View("").Explain(context.Background(), &engine.Call{Server: "github", Name: "read"}, nil)
	assert.True(t, x.Found)
	assert.False(t, x.Visible, "the view has no filter, which shows nothing")
	assert.Equal(t, engine.ErrNotFound, x.Err)
	assert.Equal(t, engine.SourceDefault, x.Decision.Source, "the policy's answer is there all the same")
}

func TestExplainSaysWhichHintIsMissing(t *testing.T) {
	p, err := engine.CompilePolicy(engine.PolicyOptions{
		Trusted: []string{"gh"},
		Allow: []engine.Rule{
			engine.All(engine.Pattern("*/*"), engine.Annotation(engine.HintReadOnly, true)),
			engine.All(engine.Regexp("fs", regexp.MustCompile("^write")), engine.Annotation(engine.HintReadOnly, true)),
		},
	})
	require.NoError(t, err)
	tool := &engine.Tool{Server: "fs", Name: "read", Hints: engine.Hints{ReadOnly: engine.True}}
	x := engine.Explain(context.Background(), nil, p, &engine.Call{Server: "fs", Name: "read"}, tool, nil)
	assert.False(t, x.Trusted)
	require.Len(t, x.NearMisses, 1)
	m := x.NearMisses[0]
	assert.Equal(t, engine.NearHint, m.Kind)
	assert.Equal(t, "allow[0]", m.Rule.ID)
	assert.Equal(t, engine.HintReadOnly, m.Hint)
	assert.True(t, m.Want)

	tool.Server = "gh" // whose hints are believed: the rule is barred for newness alone
	x = engine.Explain(context.Background(), nil, p, &engine.Call{Server: "gh", Name: "read"}, tool, nil)
	assert.True(t, x.Trusted)
	require.Len(t, x.NearMisses, 1)
	assert.Equal(t, engine.NearNew, x.NearMisses[0].Kind)
}

func TestExplainSaysWhichEntryOfTheFilterWasMeant(t *testing.T) {
	f, err := engine.CompileFilter(engine.FilterOptions{
		Include: []engine.Rule{engine.Pattern("FS/*"), engine.Regexp("fs", regexp.MustCompile("^READ"))},
		Exclude: []engine.Rule{engine.Pattern("fss/read")},
	})
	require.NoError(t, err)
	tool := &engine.Tool{Server: "fs", Name: "read"}
	x := engine.Explain(context.Background(), f, explainPolicy(t), &engine.Call{Server: "fs", Name: "read"}, tool, nil)
	assert.False(t, x.Visible)
	assert.Empty(t, x.Filter)
	assert.Equal(t, "include[0]", x.NearMisses[0].Rule.ID)
	assert.Equal(t, engine.NearLoose, x.NearMisses[0].Kind)

	f, err = engine.CompileFilter(engine.FilterOptions{Exclude: []engine.Rule{engine.Pattern("fss/read"), engine.Pattern("fs/reed")}})
	require.NoError(t, err)
	x = engine.Explain(context.Background(), f, explainPolicy(t), &engine.Call{Server: "fs", Name: "read"}, tool, nil)
	assert.True(t, x.Visible)
	assert.Equal(t, engine.NearServer, x.NearMisses[0].Kind)
	assert.Equal(t, engine.NearName, x.NearMisses[1].Kind)
	assert.Equal(t, "exclude[1]", x.NearMisses[1].Rule.ID)
}

func TestExplainOfNoPolicyAndNoFilterSaysThatNothingIsLetThrough(t *testing.T) {
	tool := &engine.Tool{Server: "fs", Name: "read"}
	for _, p := range []*engine.Policy{nil, {}} {
		for _, f := range []*engine.Filter{nil, {}} {
			x := engine.Explain(context.Background(), f, p, &engine.Call{Server: "fs", Name: "read"}, tool, nil)
			assert.False(t, x.Visible)
			require.Len(t, x.Steps, 1)
			assert.Equal(t, engine.SourceDefault, x.Steps[0].Source)
			assert.Contains(t, x.Steps[0].Note, "denies everything")
			assert.Equal(t, engine.Deny, x.Decision.Action)
		}
	}
}
