package engine

import (
	"context"
	"errors"
	"fmt"
)

// Evaluate reports what should happen to call.
//
// The steps are tried in the order deny, pin, ask, allow, default; within a list the lowest-indexed
// matching rule is the one reported. Equal inputs get equal Decisions unless a [Func] or [Args] rule
// says otherwise.
//
// It returns an error that wraps [ErrTargetMismatch] when call and tool name different targets, and a
// [ServerIDError] for a server id that no server can have; the Decision is then a deny. A predicate that
// fails counts as matching in deny and ask and as not matching in allow, and Decision.Err wraps its cause. A
// nil *Policy and the zero Policy deny everything.
//
// Cost: one pass over the bytes of the two names for each group of lists, whatever the number of static
// rules, plus one call for each predicate that pass leaves open; where a pin has to be checked and the tool brings
// no fingerprint, that of computing it. It allocates nothing unless a predicate or a fingerprint does, a condition fails,
// an all rule has to fold a name that is not its own fold, or a rule asks about one of 32 arguments or more.
//
// Evaluate is safe for concurrent use: it takes no lock and writes no shared memory.
func (p *Policy) Evaluate(ctx context.Context, call *Call, tool *Tool, req *Request) (Decision, error) {
	if err := checkCall(call, tool); err != nil {
		return Decision{}, err
	}
	req = req.or()
	return p.evaluateTool(ctx, call.Args, tool, req, req.Approved, nil), nil
}

// checkCall returns an error unless call and tool name one target, and one that can exist.
func checkCall(call *Call, tool *Tool) error {
	if call == nil || tool == nil {
		return errors.New("call and tool must not be nil")
	}
	if call.Server != tool.Server || call.Name != tool.Name {
		return fmt.Errorf("%w: call %s, tool %s", ErrTargetMismatch,
			clip(Target{call.Server, call.Name}.String()), clip(tool.Target().String()))
	}
	if !validServerID(tool.Server) {
		return CheckServerID(tool.Server)
	}
	return nil
}

// evaluateTool is Evaluate for a call that was checked, by the baseline base. print is the tool's fingerprint, nil
// where it is not known yet.
func (p *Policy) evaluateTool(ctx context.Context, args map[string]any, tool *Tool, req *Request, base *Baseline, print *Fingerprint) Decision {
	approved, known := base.Lookup(tool.Target())
	if p == nil || !p.scope[Tools] {
		return p.unasked(!known)
	}
	rs := &p.byKind[Tools]
	e := evaluation{p: p, in: Input{tool: tool, args: args, req: req, base: base, keys: newKeyFolds(args)}, isNew: !known, approved: approved, print: print}
	if rs.looseOpen.index != nil || rs.allowOpen.index != nil {
		return e.general(ctx, rs, tool.Server, tool.Name)
	}

	// No rule needs more than its anchor: what follows is evaluation.general without candidates.
	loose := rs.loose.first(tool.Server, tool.Name)
	if loose != nil && loose.list == ListDeny {
		return e.matched(loose, verdictYes, nil)
	}
	if e.differs() {
		return e.changed()
	}
	if loose != nil {
		return e.matched(loose, verdictYes, nil)
	}
	if allow := rs.firstAllow(tool.Server, tool.Name, e.isNew && !p.allowNew); allow != nil {
		return e.matched(allow, verdictYes, nil)
	}
	return e.noMatch(nil)
}

// EvaluateResource reports what should happen to a read of the resource uri of a server. Only resource rules
// apply, and there is no pinning. The uri is not normalised.
//
// It returns a [ServerIDError], and a deny, for a server id that no server can have. Cost and concurrency are
// those of [Policy.Evaluate].
func (p *Policy) EvaluateResource(server, uri string, req *Request) (Decision, error) {
	return p.evaluateOther(Resources, server, uri, req)
}

// EvaluatePrompt is [Policy.EvaluateResource] for a get of the prompt name of a server.
func (p *Policy) EvaluatePrompt(server, name string, req *Request) (Decision, error) {
	return p.evaluateOther(Prompts, server, name, req)
}

func (p *Policy) evaluateOther(k Kind, server, name string, req *Request) (Decision, error) {
	if !validServerID(server) {
		return Decision{}, CheckServerID(server)
	}
	if p == nil || !p.scope[k] {
		return p.unasked(false), nil
	}
	e := evaluation{p: p, in: Input{req: req.or()}}
	return e.general(context.Background(), &p.byKind[k], server, name), nil
}

// unasked is the decision where no rule is asked: an allow about what is out of the policy's scope, a deny where the
// policy is nil or the zero Policy, the only one with nothing in its scope.
func (p *Policy) unasked(isNew bool) Decision {
	if p == nil || p.scope == [kinds]bool{} {
		return Decision{Outcome: Outcome{Source: SourceDefault, Reason: ReasonNoMatch, New: isNew}}
	}
	return Decision{Outcome: Outcome{Action: Allow, Source: SourceScope, Reason: ReasonOutOfScope, New: isNew}}
}

// first returns the first rule of x that matches, or nil.
func (x *ruleIndex) first(server, name string) *compiledRule {
	if n := x.index.First(server, name); n >= 0 {
		return x.rules[n]
	}
	return nil
}

// firstAllow returns the first plain allow rule that matches; only an exact one for a tool that is new.
func (rs *ruleset) firstAllow(server, name string, exactOnly bool) *compiledRule {
	exact := rs.exact.first(server, name)
	if exactOnly {
		return exact
	}
	return earlier(exact, rs.general.first(server, name))
}

// earlier returns the one of two rules of a list, either of which may be nil, that comes first.
func earlier(exact, general *compiledRule) *compiledRule {
	if exact == nil || general != nil && general.index < exact.index {
		return general
	}
	return exact
}

// evaluation is one decision in the making.
type evaluation struct {
	p        *Policy
	in       Input
	isNew    bool         // the baseline lacks the tool
	approved Fingerprint  // what the baseline holds of it
	print    *Fingerprint // the tool's fingerprint, nil where it is not known yet
}

// differs reports whether the tool is pinned and not the one that was approved.
func (e *evaluation) differs() bool {
	if e.isNew || !e.p.pins {
		return false
	}
	if e.approved == "" {
		return true
	}
	if e.print != nil {
		return *e.print != e.approved
	}
	return e.in.tool.fingerprint() != e.approved
}

// general decides with everything there is: candidates, dynamic rules, failures.
func (e *evaluation) general(ctx context.Context, rs *ruleset, server, name string) Decision {
	s := scratches.Get().(*scratch)
	defer s.release()
	s.subject.reset(server, name)
	if e.in.tool != nil {
		s.subject.hints, s.subject.trusted = e.in.tool.Hints, e.p.trusts(server)
	}
	s.matchLoose(rs, nil)
	if d, ok := e.first(ctx, s.out.denyOpen, s.out.deny, nil); ok {
		return d
	}
	if e.in.tool != nil && e.differs() {
		return e.changed()
	}
	if d, ok := e.first(ctx, s.out.askOpen, s.out.ask, nil); ok {
		return d
	}
	s.matchAllow(rs, nil, e.isNew && !e.p.allowNew)
	return e.allowOrDefault(ctx, &s.out)
}

// allowOrDefault is the last two steps.
func (e *evaluation) allowOrDefault(ctx context.Context, out *outlook) Decision {
	var failures []error
	if d, ok := e.first(ctx, out.allowOpen, out.allow, &failures); ok {
		return d
	}
	return e.noMatch(errors.Join(failures...))
}

// first tries the open rules of one list, in order, and then the rule that is known to match. Where failures is
// nil, a rule that fails matches; else it does not, and failures collects why.
func (e *evaluation) first(ctx context.Context, open []*compiledRule, then *compiledRule, failures *[]error) (Decision, bool) {
	for _, r := range open {
		v, err := r.dynamicHolds(ctx, e.in)
		switch {
		case v == verdictNo:
		case v == verdictFailed && failures != nil:
			*failures = append(*failures, err)
		default:
			return e.matched(r, v, err), true
		}
	}
	if then != nil {
		return e.matched(then, verdictYes, nil), true
	}
	return Decision{}, false
}

// matched is the decision of rule r.
func (e *evaluation) matched(r *compiledRule, v verdict, err error) Decision {
	d := Decision{Outcome: Outcome{Reason: ReasonMatched, New: e.isNew}, rule: r, Err: err}
	if v == verdictFailed {
		d.Reason = ReasonPredicateFailed
	}
	switch {
	case r.list == ListDeny:
		d.Source = SourceDeny
	case r.list == ListAllow:
		d.Source, d.Action = SourceAllow, Allow
	case e.in.req.HasApprover:
		d.Source, d.Action = SourceAsk, Ask
	default:
		d.Source, d.Reason = SourceAsk, ReasonNoApprover
	}
	return d
}

// changed is the decision about a tool that is not the one that was approved.
func (e *evaluation) changed() Decision {
	return Decision{Outcome: Outcome{Action: e.askOrDeny(), Source: SourcePin, Reason: ReasonDefinitionChanged, New: e.isNew}}
}

// noMatch is the decision about a target that no rule matches.
func (e *evaluation) noMatch(failures error) Decision {
	d := Decision{Outcome: Outcome{Source: SourceDefault, Reason: ReasonNoMatch, New: e.isNew}, Err: failures}
	if e.p.noMatch == AskNoMatch {
		d.Action = e.askOrDeny()
	}
	return d
}

// askOrDeny is Ask, or Deny without anybody to ask.
func (e *evaluation) askOrDeny() Action {
	if e.in.req.HasApprover {
		return Ask
	}
	return Deny
}
