package fuzz

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/penstock-mcp/penstock/engine"
)

// This file turns definitions into values of package engine. It decides nothing.

var engineKinds = map[Kind]engine.Kind{Tool: engine.Tools, Resource: engine.Resources, Prompt: engine.Prompts}

// Options returns the filter as Go options.
func (f *Filter) Options() engine.FilterOptions {
	return engine.FilterOptions{Include: engineRules(f.Include), Exclude: engineRules(f.Exclude)}
}

// Compile compiles the filter from Go options.
func (f *Filter) Compile() (*engine.Filter, error) { return engine.CompileFilter(f.Options()) }

// Options returns the policy as Go options.
func (p *Policy) Options() engine.PolicyOptions {
	o := engine.PolicyOptions{
		Deny:          engineRules(p.Deny),
		Ask:           engineRules(p.Ask),
		Allow:         engineRules(p.Allow),
		DisablePins:   p.NoPins,
		AllowNewTools: p.AllowNewTools,
		TrustAll:      p.Trusted.All,
		Trusted:       p.Trusted.IDs,
	}
	if p.Default == "deny" {
		o.NoMatch = engine.DenyNoMatch
	}
	for _, k := range p.Scope {
		o.Scope = append(o.Scope, engineKinds[k])
	}
	return o
}

// Compile compiles the policy from Go options.
func (p *Policy) Compile() (*engine.Policy, error) {
	if p.AllowAll {
		return engine.AllowAll(), nil
	}
	return engine.CompilePolicy(p.Options())
}

func engineRules(rules []Rule) []engine.Rule {
	var list []engine.Rule
	for _, r := range rules {
		list = append(list, r.Engine())
	}
	return list
}

// Engine returns the rule as package engine makes it. A regular expression that does not compile, an unknown predicate
// and an unknown annotation, which Go has no way to write, become rules that no list takes.
func (r Rule) Engine() engine.Rule {
	switch r.Form {
	case Pattern:
		return engine.Pattern(r.Text)
	case Regexp:
		re, err := regexp.Compile(r.Text)
		if err != nil {
			return engine.Bad(r.Text, err)
		}
		switch r.Kind {
		case Resource:
			return engine.ResourceRegexp(r.Server, re)
		case Prompt:
			return engine.PromptRegexp(r.Server, re)
		}
		return engine.Regexp(r.Server, re)
	case Predicate:
		p, ok := findPredicate(r.Text)
		if !ok {
			return engine.Bad(r.Text, fmt.Errorf("unknown predicate"))
		}
		return p.Rule()
	case Annotation:
		key, err := engine.ParseHintKey(r.Text)
		if err != nil {
			return engine.Bad(r.Text, err)
		}
		return engine.Annotation(key, r.Want)
	case Args:
		return engineKeys(r.Keys, engine.Arg)
	case Attribute:
		return engineKeys(r.Keys, engine.Attribute)
	case Tainted:
		return engine.Tainted(r.Ignore...)
	case All:
		return engine.All(engineRules(r.Rules)...)
	case Named:
		named := engine.Named(r.ID, r.Rules[0].Engine())
		if r.Message != "" {
			named = named.WithMessage(r.Message)
		}
		return named
	}
	return engine.Bad(string(r.Form), fmt.Errorf("unknown form"))
}

// engineKeys returns the rule for one key, or all of the rules for several.
func engineKeys(keys []Key, one func(string, ...engine.Condition) engine.Rule) engine.Rule {
	var rules []engine.Rule
	for _, k := range keys {
		conds, err := engineConds(k.Conds)
		if err != nil {
			return engine.Bad(k.Key, err)
		}
		rules = append(rules, one(k.Key, conds...))
	}
	if len(rules) == 1 {
		return rules[0]
	}
	return engine.All(rules...)
}

func engineConds(conds []Cond) ([]engine.Condition, error) {
	var list []engine.Condition
	for _, c := range conds {
		cond, err := c.engine()
		if err != nil {
			return nil, err
		}
		list = append(list, cond)
	}
	return list, nil
}

func (c Cond) engine() (engine.Condition, error) {
	text, isText := c.Value.(string)
	switch c.Op {
	case "equals":
		return engine.Equals(c.Value), nil
	case "contains":
		return engine.Contains(c.Value), nil
	case "in":
		if list, ok := c.Value.([]any); ok {
			return engine.In(list...), nil
		}
	case "exists":
		if want, ok := c.Value.(bool); ok {
			return engine.Exists(want), nil
		}
	case "inside":
		if isText {
			return engine.Inside(text), nil
		}
	case "outside":
		if isText {
			return engine.Outside(text), nil
		}
	case "regexp":
		if isText {
			re, err := regexp.Compile(text)
			return engine.Match(re), err
		}
	case "each", "any":
		conds, err := engineConds(c.Conds)
		if c.Op == "each" {
			return engine.Each(conds...), err
		}
		return engine.Any(conds...), err
	}
	return engine.Condition{}, fmt.Errorf("%s: a bad value", c.Op)
}

// Tool returns the target as a tool of package engine.
func (t Target) Tool() *engine.Tool {
	tool := &engine.Tool{Server: t.Server, Name: t.Name, Fingerprint: engine.Fingerprint(t.Fingerprint)}
	if t.Annotations != "" {
		// What cannot be read is no hint at all.
		if hints, err := engine.HintsFromJSON([]byte(t.Annotations)); err == nil {
			tool.Hints = hints
		}
	}
	if t.Raw != "" {
		tool.Raw = json.RawMessage(t.Raw)
	}
	return tool
}

// Engine returns the request as package engine has it. It panics where an approval is of a definition that has
// no fingerprint: nobody can have approved it.
func (q Request) Engine() *engine.Request {
	req := &engine.Request{HasApprover: q.HasApprover, Taint: q.Taint, Attributes: q.Attributes}
	if q.Approved != nil {
		approved := map[engine.Target]engine.Fingerprint{}
		for _, a := range q.Approved {
			f := engine.Fingerprint(a.Fingerprint)
			if a.Of != "" {
				var err error
				if f, err = engine.ComputeFingerprint([]byte(a.Of)); err != nil {
					panic(fmt.Sprintf("an approval of a definition without a fingerprint: %v", err))
				}
			}
			approved[engine.Target{Server: a.Server, Name: a.Name}] = f
		}
		req.Approved = engine.NewBaseline(approved)
	}
	return req
}

// EngineCall returns the call of a case about a tool.
func (c Case) EngineCall() *engine.Call {
	call := &engine.Call{Server: c.Target.Server, Name: c.Target.Name, Args: c.Request.Args}
	if c.Call != nil {
		call.Server, call.Name = c.Call.Server, c.Call.Name
	}
	return call
}

// AskEngine puts the case to a compiled filter and a compiled policy; a nil one is left out.
func (c Case) AskEngine(f *engine.Filter, p *engine.Policy) Outcome {
	var o Outcome
	ctx := context.Background()
	tool, req := c.Target.Tool(), c.Request.Engine()
	if p != nil {
		var d engine.Decision
		var err error
		switch c.Target.Kind {
		case Resource:
			d, err = p.EvaluateResource(c.Target.Server, c.Target.Name, req)
		case Prompt:
			d, err = p.EvaluatePrompt(c.Target.Server, c.Target.Name, req)
		default:
			d, err = p.Evaluate(ctx, c.EngineCall(), tool, req)
		}
		o = OutcomeOf(d, err)
	}
	if f != nil {
		o.Visible = f.Visible(ctx, tool, req)
		o.StaticVisible = f.StaticVisible(tool)
	}
	return o
}

// OutcomeOf returns a decision of package engine, and the error that came with it, as an outcome.
func OutcomeOf(d engine.Decision, err error) Outcome {
	return Outcome{
		Action:  d.Action.String(),
		Source:  d.Source.String(),
		Reason:  d.Reason.String(),
		Rule:    d.RuleID(),
		New:     d.New,
		Failed:  d.Err != nil,
		Refused: err != nil,
	}
}

// AskReference puts the case to the reference evaluator.
func (c Case) AskReference() Outcome {
	var o Outcome
	if c.Policy != nil {
		o = c.Policy.Decide(c.Target, c.Call, c.Request)
	}
	if c.Filter != nil {
		o.Visible, o.StaticVisible = c.Filter.Visible(c.Target, c.Request)
	}
	return o
}
