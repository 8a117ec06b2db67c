package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/penstock-mcp/penstock/cmd/penstock/internal/text"
	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/policyfile"
)

// The outcomes: what the caller of a tool gets. A hidden tool is not found, whatever the policy says.
var outcomeWords = []string{"allow", "ask", "deny", "hidden"}

// An expectation says what must come out. What is nil may be anything.
type expectation struct {
	outcomes                     []string // one of them
	action, source, reason, rule *string  // rule "" is none
	visible, isNew               *bool
}

// expected reads what must come out of a case: an outcome, several of which one, or parts of the decision.
func expected(v policyfile.Value, t *test) expectation {
	var e expectation
	if !v.IsObject() {
		e.outcomes = wordList(v, outcomeWords)
		return e
	}
	word := func(to **string, words ...string) func(policyfile.Value) {
		return func(v policyfile.Value) {
			if w, ok := v.Word(words...); ok {
				*to = &w
			}
		}
	}
	boolean := func(to **bool) func(policyfile.Value) {
		return func(v policyfile.Value) {
			if b, ok := v.Bool(); ok {
				*to = &b
			}
		}
	}
	v.Object("an outcome or a mapping",
		policyfile.Key{Name: "outcome", Read: func(v policyfile.Value) { e.outcomes = wordList(v, outcomeWords) }},
		policyfile.Key{Name: "action", Read: word(&e.action, "allow", "ask", "deny")},
		policyfile.Key{Name: "visible", Read: boolean(&e.visible)},
		policyfile.Key{Name: "source", Read: word(&e.source, "scope", "deny", "pin", "ask", "allow", "default")},
		policyfile.Key{Name: "reason", Read: word(&e.reason, "matched", "predicate_failed", "definition_changed", "no_approver", "no_match", "out_of_scope")},
		policyfile.Key{Name: "rule", Read: func(v policyfile.Value) {
			id := ""
			if !v.IsNull() {
				id, _ = v.Text("the id of a rule, or null")
			}
			e.rule = &id
		}},
		policyfile.Key{Name: "new", Read: boolean(&e.isNew)},
	)
	if len(v.Keys()) == 0 {
		v.Fail("nothing is expected (write an outcome: %s)", or(outcomeWords))
	}
	return e
}

// wordList reads one of a few words, or a list of them.
func wordList(v policyfile.Value, from []string) (list []string) {
	one := func(v policyfile.Value) {
		if w, ok := v.Word(from...); ok {
			list = append(list, w)
		}
	}
	if !v.IsList() {
		one(v)
		return list
	}
	if v.Len() == 0 {
		v.Fail("an empty list (name at least one: %s)", or(from))
	}
	v.List("words", one)
	return list
}

// outcome is what the caller gets.
func outcomeOf(kind engine.Kind, x *engine.Explanation) string {
	if kind == engine.Tools && !x.Visible {
		return "hidden"
	}
	return x.Decision.Action.String()
}

// check returns what is not as expected, a line each.
func (e *expectation) check(kind engine.Kind, x *engine.Explanation) (wrong []string) {
	d := x.Decision
	if got := outcomeOf(kind, x); len(e.outcomes) > 0 && !slices.Contains(e.outcomes, got) {
		how := ""
		if got != "hidden" {
			how = strings.TrimPrefix(answer(d), got)
		}
		wrong = append(wrong, fmt.Sprintf("want %s, got %s%s", or(e.outcomes), got, how))
	}
	for _, part := range []struct {
		key  string
		want *string
		got  string
	}{
		{"action", e.action, d.Action.String()},
		{"source", e.source, d.Source.String()},
		{"reason", e.reason, d.Reason.String()},
		{"rule", e.rule, d.RuleID()},
		{"visible", boolText(e.visible), strconv.FormatBool(x.Visible)},
		{"new", boolText(e.isNew), strconv.FormatBool(d.New)},
	} {
		if part.want != nil && *part.want != part.got {
			wrong = append(wrong, fmt.Sprintf("want %s %s, got %s", part.key, orNone(*part.want), orNone(part.got)))
		}
	}
	return wrong
}

func boolText(b *bool) *string {
	if b == nil {
		return nil
	}
	return new(strconv.FormatBool(*b))
}

func orNone(id string) string {
	if id == "" {
		return "none"
	}
	return text.Plain(id)
}
