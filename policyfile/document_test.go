package policyfile

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/penstock-mcp/penstock/engine"
)

func parse(t *testing.T, text string) *Document {
	t.Helper()
	doc, err := Parse([]byte(text), Options{File: "p.yaml", Predicates: testPredicates})
	require.NoError(t, err)
	return doc
}

func TestDocumentsBecomeOptions(t *testing.T) {
	for _, s := range readSections(t, "testdata/good.txtar") {
		if s.name != "contract.yaml" && s.name != "contract.json" {
			continue
		}
		doc := parse(t, s.body)
		assert.True(t, doc.HasFilter)
		assert.True(t, doc.HasPolicy)
		assert.Equal(t, []string{
			"true true 0 [tools resources prompts] false false false 1", "fs",
			"2", `"github/*"`, `"fs/read_*"`,
			"2", `"*/delete_*"`, `{server: "fs", regexp: "^write"}`,
			"5", `"*/delete_*"`, `{id: "no-shell", rule: "shell/*"}`, `"resource:*/file:///etc/*"`, `{prompt: {server: "*", regexp: "^internal"}}`,
			`{all: ["mail/send", {tainted: {ignore: [docs]}}]}`,
			"2", `"github/create_*"`, `{server: "fs", regexp: "^write"}`,
			"5", `"github/get_*"`, `{all: ["fs/*", {annotation: {read_only: true}}]}`, `{all: ["fs/write", {args: {"path": {inside: "/data"}}}]}`,
			`{all: ["admin/*", {attribute: {"groups": {contains: "admins"}}}]}`, `{predicate: business_hours}`,
		}, ruleTexts(doc), s.name)
	}
}

func TestOptionsOfAPolicy(t *testing.T) {
	doc := parse(t, "version: 1\npolicy: {default: deny, pin_tools: false, allow_new_tools: true, trusted: {a: true, b: false, c: true}}\n")
	assert.Equal(t, engine.PolicyOptions{NoMatch: engine.DenyNoMatch, DisablePins: true, AllowNewTools: true, Trusted: []string{"a", "c"}}, doc.Policy)
	assert.Equal(t, engine.PolicyOptions{TrustAll: true}, parse(t, "version: 1\npolicy: {trusted: true}\n").Policy)
	assert.Equal(t, engine.PolicyOptions{}, parse(t, "version: 1\npolicy: {trusted: false, default: ask, pin_tools: true}\n").Policy)
}

func TestMissingSections(t *testing.T) {
	ctx := context.Background()
	doc := parse(t, "version: 1\n")
	assert.False(t, doc.HasFilter)
	assert.False(t, doc.HasPolicy)
	filter, policy, err := doc.Compile()
	require.NoError(t, err)
	tool := &engine.Tool{Server: "a", Name: "b"}
	assert.True(t, filter.Visible(ctx, tool, nil), "without a filter section nothing is hidden")
	d, err := policy.Evaluate(ctx, &engine.Call{Server: "a", Name: "b"}, tool, &engine.Request{HasApprover: true})
	require.NoError(t, err)
	assert.Equal(t, "ask by default (no_match), new tool", d.String(), "without a policy section everything is asked about")
}

func TestEveryRuleKnowsItsPlace(t *testing.T) {
	doc := parse(t, `version: 1
policy:
  deny:
    - a/b
    - {id: x, rule: c/d}
    - all:
        - a/b
        - args: {p: {exists: true}, q: {exists: true}}
`)
	var places []string
	for _, r := range doc.Policy.Deny {
		places = append(places, r.Position().String())
	}
	assert.Equal(t, []string{"p.yaml:4:7", "p.yaml:5:7", "p.yaml:6:7"}, places)

	// Of members only the errors of the engine tell.
	_, err := Parse([]byte("version: 1\npolicy:\n  deny:\n    - all:\n        - a/b\n        - args: {p: {inside: x}, q: {inside: y}}\n"), Options{})
	require.NoError(t, err)
	err = compile("p.yaml", "version: 1\npolicy:\n  deny:\n    - all:\n        - 'a/'\n        - args: {p: {inside: x}, q: {inside: y}}\n")
	var all *Error
	require.ErrorAs(t, err, &all)
	places = nil
	for _, e := range all.Entries {
		places = append(places, e.Position.String())
	}
	assert.Equal(t, []string{"p.yaml:5:11", "p.yaml:6:18", "p.yaml:6:34"}, places)
}

func TestMessagesReachTheDecision(t *testing.T) {
	doc := parse(t, "version: 1\npolicy:\n  deny:\n    - {id: no-shell, rule: 'shell/*', message: Shell access needs a ticket.}\n")
	_, policy, err := doc.Compile()
	require.NoError(t, err)
	d, err := policy.Evaluate(context.Background(), &engine.Call{Server: "shell", Name: "x"}, &engine.Tool{Server: "shell", Name: "x"}, nil)
	require.NoError(t, err)
	assert.Equal(t, "no-shell", d.Rule().ID)
	assert.Equal(t, "Shell access needs a ticket.", d.Rule().Message)
}

func TestPredicatesThatAreNotMade(t *testing.T) {
	doc, err := Parse([]byte("version: 1\npolicy: {deny: [{predicate: x}]}\n"), Options{File: "p.yaml", Predicates: Predicates{"x": {}}})
	require.NoError(t, err)
	_, _, err = doc.Compile()
	require.EqualError(t, err, "p.yaml:2:17: policy.deny[0]: {predicate: x}: the function is nil")

	_, err = Parse([]byte("version: 1\npolicy: {deny: [{predicate: x}]}\n"), Options{File: "p.yaml"})
	require.EqualError(t, err, `p.yaml:2:29: policy.deny[0].predicate: unknown predicate "x" (this program registers none)`)
}

func TestParseDoesNotKeepItsInput(t *testing.T) {
	for _, s := range readSections(t, "testdata/good.txtar") {
		data := []byte(s.body)
		doc, err := Parse(data, Options{File: s.name, Predicates: testPredicates})
		require.NoError(t, err)
		before := ruleTexts(doc)
		clear(data)
		assert.Equal(t, before, ruleTexts(doc))
	}
}

func TestSchemaIsTheCallersOwn(t *testing.T) {
	s := Schema()
	require.NotEmpty(t, s)
	clear(s)
	require.NotEqual(t, s, Schema())
}

func TestSuggestions(t *testing.T) {
	words := []string{"equals", "in", "regexp", "read_only", "allow_new_tools"}
	for got, want := range map[string]string{
		"equal": "equals", "euqals": "equals", "equal_s": "equals", "Equals": "equals", "regex": "regexp", "rgx": "",
		"readOnlyHint": "read_only", "read-only": "read_only", "ReadOnly": "read_only", "allowNewTools": "allow_new_tools",
		"inn": "in", "i": "", "an": "", "": "", "something": "",
	} {
		s := suggest(got, words)
		if want == "" {
			assert.Empty(t, s, got)
		} else {
			assert.Equal(t, ` (did you mean "`+want+`"?)`, s, got)
		}
	}
}
