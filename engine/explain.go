package engine

import (
	"cmp"
	"context"
	"slices"

	"github.com/penstock-mcp/penstock/automaton"
)

// Explanation says, step by step, why a call gets the decision it gets. It is for people: it asks every rule that
// could have a say, also those behind the one that decided, and costs accordingly.
type Explanation struct {
	Kind   Kind
	Target Target // the URI of a resource stands in Name

	// Found says whether the target is known. Outside of a snapshot every tool is.
	Found bool

	// Visible is the answer of the filter, and Filter the entries that match, exclude before include. They are
	// empty for resources and prompts, which have no filter.
	Visible bool
	Filter  []RuleTrace

	// Trusted says that the policy believes the server's hints. It is false for resources and prompts.
	Trusted bool

	// Steps are the steps of the policy in their order, those behind the one that decides included.
	Steps []Step

	// Decision and Err are what [Policy.Evaluate] returns.
	Decision Decision
	Err      error

	// NearMisses are rules that do not match but look as if they were meant to: those of the filter, then those that
	// a new tool is barred from, then the others of the policy, each in the order of the lists.
	NearMisses []NearMiss
}

// Step is one step of a policy.
type Step struct {
	Source  Source
	Decides bool        // the decision is this step's
	Rules   []RuleTrace // that match, or could not be asked, in list order
	Note    string      // what there is to say beside the rules, such as why a pin holds
}

// RuleTrace is what one rule says of a target: it matches, or its static members do and a dynamic one is in the way.
type RuleTrace struct {
	Rule    RuleInfo
	Result  Result
	Err     error         // why it failed
	Counts  bool          // the result counts as a match in this list
	Members []MemberTrace // of a rule with more than one member
}

// MemberTrace is what one member of a rule says.
type MemberTrace struct {
	Text   string
	Result Result
	Err    error
}

// Result is what a rule or a member says.
type Result uint8

// The results.
const (
	ResultNo     Result = iota // it does not hold
	ResultYes                  // it holds
	ResultFailed               // it could not be decided
	ResultBarred               // it holds, but may not allow a new tool
)

var resultNames = [...]string{"no", "yes", "failed", "barred"}

// String returns no, yes, failed or barred.
func (r Result) String() string {
	if int(r) < len(resultNames) {
		return resultNames[r]
	}
	return resultNames[0]
}

// Explain explains what [Filter.Visible] and [Policy.Evaluate] say of call.
//
// Its Decision and Err are those of Evaluate, and Visible is that of Visible. Cost: linear in the number of rules,
// besides calling every predicate whose rule could match, some of them more than once.
func Explain(ctx context.Context, f *Filter, p *Policy, call *Call, tool *Tool, req *Request) Explanation {
	x := Explanation{Kind: Tools, Found: true}
	if x.Decision, x.Err = p.Evaluate(ctx, call, tool, req); x.Err != nil {
		return x
	}
	x.Target = tool.Target()
	x.Visible = f.Visible(ctx, tool, req)
	req = req.or()
	e := evaluation{p: p, in: Input{tool: tool, args: call.Args, req: req, base: req.Approved, keys: newKeyFolds(call.Args)}}
	e.explain(ctx, f, &x)
	return x
}

// ExplainResource explains what [Policy.EvaluateResource] says of a resource.
func (p *Policy) ExplainResource(server, uri string, req *Request) Explanation {
	return p.explainOther(Resources, server, uri, req)
}

// ExplainPrompt explains what [Policy.EvaluatePrompt] says of a prompt.
func (p *Policy) ExplainPrompt(server, name string, req *Request) Explanation {
	return p.explainOther(Prompts, server, name, req)
}

func (p *Policy) explainOther(k Kind, server, name string, req *Request) Explanation {
	x := Explanation{Kind: k, Found: true, Target: Target{Server: server, Name: name}}
	if x.Decision, x.Err = p.evaluateOther(k, server, name, req); x.Err != nil {
		return x
	}
	e := evaluation{p: p, in: Input{req: req.or()}}
	e.explain(context.Background(), nil, &x)
	return x
}

// Explain explains what [ViewSnapshot.Decide] says of call: see [Explain]. Where the tool is not there, Found is false
// and Err is ErrNotFound; where it is hidden, the explanation still says what the policy would decide, while Err is
// ErrNotFound, too.
func (v *ViewSnapshot) Explain(ctx context.Context, call *Call, req *Request) Explanation {
	x := Explanation{Err: ErrNotFound}
	if call == nil {
		return x
	}
	x.Target = Target{Server: call.Server, Name: call.Name}
	set := v.Snapshot().tools(call.Server)
	if set == nil {
		for _, id := range v.Snapshot().Servers() {
			if oneEdit(id, call.Server) {
				x.NearMisses = append(x.NearMisses, NearMiss{Kind: NearServer, Target: Target{Server: id, Name: call.Name}})
			}
		}
		return x
	}
	i := set.names.find(call.Name)
	if i < 0 {
		return x
	}
	x.Found = true
	_, x.Err = v.Decide(ctx, call, req)
	req = req.or()
	tool, base := &set.tools[i], v.baseline(req)
	x.Visible = v.view.Filter != nil && x.Err == nil
	x.Decision = v.view.Policy.evaluateTool(ctx, call.Args, tool, req, base, &set.prints[i])
	e := evaluation{p: v.view.Policy, in: Input{tool: tool, args: call.Args, req: req, base: base, keys: newKeyFolds(call.Args)}, print: &set.prints[i]}
	e.explain(ctx, v.view.Filter, &x)
	return x
}

// explain fills in the steps and the near misses. The rest of x is there.
func (e *evaluation) explain(ctx context.Context, f *Filter, x *Explanation) {
	subj := subject{server: x.Target.Server, name: x.Target.Name}
	if x.Kind == Tools {
		e.approved, e.isNew = "", true
		if a, known := e.in.base.Lookup(x.Target); known {
			e.approved, e.isNew = a, false
		}
		subj.hints = e.in.tool.Hints
		x.Filter = e.explainFilter(ctx, f, &subj)
		x.NearMisses = append(x.NearMisses, filterNearMisses(f, &subj, x.Visible)...)
	}
	if e.p == nil || e.p.scope == [kinds]bool{} {
		x.Steps = []Step{{Source: SourceDefault, Decides: true, Note: "there is no policy, which denies everything"}}
		return
	}
	if x.Kind == Tools {
		x.Trusted = e.p.trusts(x.Target.Server)
		subj.trusted = x.Trusted
	}
	if !e.p.scope[x.Kind] {
		x.Steps = []Step{{Source: SourceScope, Decides: true, Note: "the policy is not about " + x.Kind.String() + ", which allows them"}}
		return
	}
	rs := &e.p.byKind[x.Kind]
	loose := ruleMatches(&subj, &rs.loose, &rs.looseOpen)
	allow := ruleMatches(&subj, &rs.exact, &rs.general, &rs.allowOpen)
	deny := Step{Source: SourceDeny, Rules: e.traces(ctx, &subj, loose, ListDeny)}
	ask := Step{Source: SourceAsk, Rules: e.traces(ctx, &subj, loose, ListAsk)}
	if len(ask.Rules) > 0 && !e.in.req.HasApprover {
		ask.Note = "nobody can be asked, which denies"
	}
	x.Steps = append(x.Steps, deny)
	if x.Kind == Tools {
		x.Steps = append(x.Steps, Step{Source: SourcePin, Note: e.pinNote()})
	}
	x.Steps = append(x.Steps, ask,
		Step{Source: SourceAllow, Rules: e.traces(ctx, &subj, allow, ListAllow)},
		Step{Source: SourceDefault, Note: e.defaultNote()})
	for i := range x.Steps {
		x.Steps[i].Decides = x.Steps[i].Source == x.Decision.Source
	}
	x.NearMisses = append(x.NearMisses, e.nearMisses(&subj, x)...)
}

// pinNote says what the pin makes of the tool.
func (e *evaluation) pinNote() string {
	switch {
	case !e.p.pins:
		return "pins are off"
	case e.isNew:
		return "the baseline lacks the tool: it is new"
	case e.approved == "":
		return "the baseline holds the tool with an empty fingerprint, which differs from every tool"
	}
	print := Fingerprint("")
	if e.print != nil {
		print = *e.print
	} else {
		print = e.in.tool.fingerprint()
	}
	switch print {
	case e.approved:
		return "the tool is the one that was approved"
	case "":
		return "the tool has no fingerprint that could be computed, so it is not the one that was approved"
	default:
		return "the tool's definition is not the one that was approved"
	}
}

func (e *evaluation) defaultNote() string {
	switch {
	case e.p.noMatch == DenyNoMatch:
		return "default: deny"
	case e.in.req.HasApprover:
		return "default: ask"
	default:
		return "default: ask, and nobody can be asked, which denies"
	}
}

// explainFilter traces the entries of the filter that match.
func (e *evaluation) explainFilter(ctx context.Context, f *Filter, s *subject) []RuleTrace {
	if f == nil {
		return nil
	}
	var out []RuleTrace
	for _, l := range [...]*filterList{&f.exclude, &f.include} {
		var found []*compiledRule
		for _, n := range l.index.All(nil, s.server, s.name) {
			i := n
			if l.static != nil {
				i = l.static[n]
			}
			found = append(found, &l.rules[i])
		}
		found = append(found, l.dynamic...)
		slices.SortFunc(found, func(a, b *compiledRule) int { return cmp.Compare(a.index, b.index) })
		for _, r := range found {
			out = append(out, e.trace(ctx, s, r))
		}
	}
	return out
}

// ruleMatches returns the rules whose anchors and static members match, in the order of list and index.
func ruleMatches(s *subject, indexes ...*ruleIndex) []*compiledRule {
	var out []*compiledRule
	for _, x := range indexes {
		for _, n := range x.index.All(nil, s.server, s.name) {
			if r := x.rules[n]; r.staticHolds(s) {
				out = append(out, r)
			}
		}
	}
	slices.SortFunc(out, func(a, b *compiledRule) int {
		return cmp.Or(cmp.Compare(a.list, b.list), cmp.Compare(a.index, b.index))
	})
	return out
}

// traces asks the rules of one list.
func (e *evaluation) traces(ctx context.Context, s *subject, rules []*compiledRule, l List) []RuleTrace {
	var out []RuleTrace
	for _, r := range rules {
		if r.list == l {
			out = append(out, e.trace(ctx, s, r))
		}
	}
	return out
}

// trace asks one rule whose static members match.
func (e *evaluation) trace(ctx context.Context, s *subject, r *compiledRule) RuleTrace {
	v, err := r.dynamicHolds(ctx, e.in)
	t := RuleTrace{Rule: r.info(), Result: resultOf(v), Err: err}
	t.Counts = v == verdictYes || v == verdictFailed && r.list.loose()
	if r.list == ListAllow && r.kind == Tools && e.isNew && !e.p.allowNew && !r.exact {
		t.Counts = false
		if v == verdictYes {
			t.Result = ResultBarred
		}
	}
	if r.src.form == formAll {
		e.members(ctx, s, r.list, r.src, &t.Members)
	}
	return t
}

func resultOf(v verdict) Result {
	switch v {
	case verdictYes:
		return ResultYes
	case verdictFailed:
		return ResultFailed
	default:
		return ResultNo
	}
}

// members traces the members of an all, flattened.
func (e *evaluation) members(ctx context.Context, s *subject, l List, r Rule, out *[]MemberTrace) {
	if r.form == formAll {
		for _, m := range r.more.members {
			e.members(ctx, s, l, m, out)
		}
		return
	}
	var c compiler
	var one compiledRule
	var anchor automaton.Pattern
	c.rule(entry{list: l}, r, &one, &anchor)
	mode := automaton.Exact
	if l.loose() {
		mode = automaton.Folded
	}
	t := MemberTrace{Text: r.String()}
	if automaton.Build(mode, []automaton.Pattern{anchor}).Any(s.server, s.name) && one.staticHolds(s) {
		v, err := one.dynamicHolds(ctx, e.in)
		t.Result, t.Err = resultOf(v), err
	}
	*out = append(*out, t)
}
