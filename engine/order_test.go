package engine_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/penstock-mcp/penstock/engine"
)

// stepRules are the ways to say "this tool" in a rule, the plain ones and those that need more than their pattern; absent
// says it and then does not hold.
var stepRules = map[string]engine.Rule{
	"pattern": engine.Pattern("s/x"),
	"glob":    engine.Pattern("s/*"),
	"bare":    engine.Pattern("x"),
	"regexp":  engine.Regexp("s", regexp.MustCompile("^x$")),
	"all":     engine.All(engine.Pattern("s/x"), engine.Annotation(engine.HintDestructive, true)),
	"dynamic": engine.All(engine.Pattern("s/x"), engine.Func("yes", yes)),
	"absent":  engine.All(engine.Pattern("s/x"), engine.Func("no", func(context.Context, engine.Input) (bool, error) { return false, nil })),
	"failing": engine.All(engine.Pattern("s/x"), engine.Func("fails", func(context.Context, engine.Input) (bool, error) { panic("no") })),
}

// Every set of steps that could decide about one tool, with every kind of rule in each: the first step decides,
// whether the rules of the others are there or not. A policy and a snapshot answer alike.
func TestTheFirstStepDecidesWhateverTheOthersSay(t *testing.T) {
	forms := []string{"absent", "all", "bare", "dynamic", "failing", "glob", "pattern", "regexp"}
	require.Len(t, stepRules, len(forms))
	sources := map[engine.Source]int{}
	for _, deny := range append([]string{""}, forms...) {
		for _, ask := range append([]string{""}, forms...) {
			for _, allow := range append([]string{""}, forms...) {
				o := engine.PolicyOptions{}
				for _, l := range []struct {
					form string
					list *[]engine.Rule
				}{{deny, &o.Deny}, {ask, &o.Ask}, {allow, &o.Allow}} {
					if l.form != "" {
						*l.list = []engine.Rule{stepRules[l.form]}
					}
				}
				policy := compilePolicy(t, o)
				for _, changed := range []bool{false, true} {
					tool := engine.Tool{Server: "s", Name: "x", Fingerprint: "approved"}
					if changed {
						tool.Fingerprint = "other"
					}
					base := engine.NewBaseline(map[engine.Target]engine.Fingerprint{tool.Target(): "approved"})
					for _, approver := range []bool{false, true} {
						want := firstStep(deny, changed, ask, allow, approver)
						req := &engine.Request{HasApprover: approver, Approved: base}
						call := &engine.Call{Server: "s", Name: "x"}
						got, err := policy.Evaluate(ctx, call, &tool, req)
						require.NoError(t, err)
						what := fmt.Sprintf("deny %q, changed %v, ask %q, allow %q", deny, changed, ask, allow)
						require.Equal(t, want, got.Outcome, what)
						sources[got.Source]++

						e, err := engine.New(engine.Config{Baseline: base, Views: map[string]engine.View{
							"": {Filter: compileFilter(t, engine.FilterOptions{}), Policy: policy}}})
						require.NoError(t, err)
						_, err = e.Refresh("s", []engine.Tool{tool})
						require.NoError(t, err)
						for _, own := range []*engine.Baseline{nil, base, engine.NewBaseline(map[engine.Target]engine.Fingerprint{tool.Target(): "approved"})} {
							got, err := e.Snapshot().View("").Decide(ctx, call, &engine.Request{HasApprover: approver, Approved: own})
							require.NoError(t, err)
							require.Equal(t, want, got.Outcome, "in a snapshot: "+what)
						}
					}
				}
			}
		}
	}
	for _, s := range []engine.Source{engine.SourceDeny, engine.SourcePin, engine.SourceAsk, engine.SourceAllow, engine.SourceDefault} {
		assert.NotZero(t, sources[s], "%v never decided", s)
	}
}

// firstStep is the definition: deny, pin, ask, allow, default.
func firstStep(deny string, changed bool, ask, allow string, approver bool) engine.Outcome {
	askOrDeny := engine.Deny
	if approver {
		askOrDeny = engine.Ask
	}
	matches := func(form string) bool { return form != "" && form != "absent" }
	reason := func(form string) engine.Reason {
		if form == "failing" {
			return engine.ReasonPredicateFailed
		}
		return engine.ReasonMatched
	}
	switch {
	case matches(deny):
		return engine.Outcome{Action: engine.Deny, Source: engine.SourceDeny, Reason: reason(deny)}
	case changed:
		return engine.Outcome{Action: askOrDeny, Source: engine.SourcePin, Reason: engine.ReasonDefinitionChanged}
	case matches(ask) && approver:
		return engine.Outcome{Action: engine.Ask, Source: engine.SourceAsk, Reason: reason(ask)}
	case matches(ask):
		return engine.Outcome{Action: engine.Deny, Source: engine.SourceAsk, Reason: engine.ReasonNoApprover}
	case matches(allow) && allow != "failing":
		return engine.Outcome{Action: engine.Allow, Source: engine.SourceAllow, Reason: engine.ReasonMatched}
	default:
		return engine.Outcome{Action: askOrDeny, Source: engine.SourceDefault, Reason: engine.ReasonNoMatch}
	}
}

// Within one list the first rule that matches is the one reported, whichever forms the two have.
func TestTheFirstMatchingRuleOfAListIsReported(t *testing.T) {
	names := []string{"all", "bare", "dynamic", "glob", "pattern", "regexp"}
	for _, first := range names {
		for _, second := range names {
			for _, skip := range [][]engine.Rule{nil, {engine.Pattern("s/y")}, {engine.Pattern("S/*z"), engine.Pattern("other/x")}} {
				list := append(slices.Clone(skip), stepRules[first], stepRules[second])
				for want, o := range map[string]engine.PolicyOptions{
					"deny":  {Deny: list},
					"ask":   {Ask: list},
					"allow": {Allow: list, AllowNewTools: true},
				} {
					want = fmt.Sprintf("%s[%d]", want, len(skip))
					policy := compilePolicy(t, o)
					call := &engine.Call{Server: "s", Name: "x"}
					got, err := policy.Evaluate(ctx, call, &engine.Tool{Server: "s", Name: "x"}, nil)
					require.NoError(t, err)
					require.Equal(t, want, got.RuleID(), "%s before %s", first, second)
					e := newEngine(t, engine.FilterOptions{}, o)
					refresh(t, e, "s", "x")
					got, err = e.Snapshot().View("").Decide(ctx, call, nil)
					require.NoError(t, err)
					require.Equal(t, want, got.RuleID(), "in a snapshot: %s before %s", first, second)
				}
			}
		}
	}
}
