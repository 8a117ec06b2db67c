// Calls: tools/call, resources/read and prompts/get, which differ in what is judged and not in how.

package hub

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/penstock-mcp/penstock/engine"
)

// judgement is what one snapshot says of one call.
type judgement struct {
	found       bool // false: not there, or hidden from the caller
	decided     bool // whether there is a decision at all
	decision    engine.Decision
	err         error // why there is none
	tool        *engine.Tool
	fingerprint engine.Fingerprint
	remembered  engine.Decision // of an ask: what it would be if the baseline had the tool as it is
}

// same reports whether a human who was asked about j has answered k.
func (j judgement) same(k judgement) bool {
	return j.fingerprint == k.fingerprint && j.decision.Outcome == k.decision.Outcome &&
		j.decision.Rule().Text == k.decision.Rule().Text
}

// callTool answers tools/call. The order matters: nothing is said of the arguments of a tool that is not there.
func (r *request) callTool(in *mcp.CallToolRequest) (mcp.Result, error) {
	if in.Params == nil {
		return nil, errInvalid
	}
	name := in.Params.Name
	r.e.Kind, r.e.Exposed = engine.Tools, name
	hidden := func() (mcp.Result, error) {
		r.e.Result = ResultHidden
		return nil, unknownTool(name)
	}
	t, ok := table(r.g.o.Names).Target(name)
	if !ok {
		return hidden()
	}
	r.e.Target = t
	if _, ok := r.tool(t); !ok {
		return hidden()
	}
	args, err := ParseArguments(in.Params.Arguments)
	if err != nil {
		r.e.Result, r.e.Err = ResultMalformed, err
		return nil, malformed(err)
	}
	r.arguments(args)

	a := &ApprovalRequest{
		Kind: engine.Tools, Target: t, Exposed: name, Args: args.JSON,
		Responses: in.Params.InputResponses, State: in.Params.RequestState,
	}
	j, res := r.settle(a, func() judgement { return r.judgeTool(t, args) })
	switch res {
	case ResultHidden:
		return hidden()
	case ResultDenied:
		return failed(in.Session, denial(j.decision)), nil
	case ResultRefused:
		return failed(in.Session, refusal(r.e.Approval)), nil
	case ResultPending:
		return pending(engine.Tools, r.e.Approval), nil
	}

	p := *in.Params
	p.Arguments = json.RawMessage(args.JSON)
	p.InputResponses, p.RequestState = r.input(p.InputResponses, p.RequestState)
	out, err := r.forward(&mcp.CallToolRequest{Session: in.Session, Params: &p, Extra: in.Extra}, r.judged(j, args.JSON))
	if c, ok := out.(*mcp.CallToolResult); ok && c != nil {
		own := *c
		if own.InputRequests != nil && !r.suspend(a, j, &own.RequestState) {
			own = *failed(in.Session, goOnText)
		}
		r.e.IsError = own.IsError
		out = &own
	}
	return out, err
}

// arguments tells the Observer of the arguments.
func (r *request) arguments(args Arguments) {
	r.e.ArgsDigest = args.Digest()
	if r.g.o.Arguments {
		r.e.Arguments = args.JSON
	}
}

// judgeTool judges a tool call by the request's snapshot.
func (r *request) judgeTool(t engine.Target, args Arguments) judgement {
	tool, ok := r.tool(t)
	if !ok {
		return judgement{}
	}
	d, err := r.view.Decide(r.ctx, &engine.Call{Server: t.Server, Name: t.Name, Args: args.Values}, &r.er)
	if errors.Is(err, engine.ErrNotFound) {
		return judgement{}
	}
	if err != nil {
		d = engine.Decision{}
	}
	j := judgement{found: true, decided: err == nil, decision: d, err: err, tool: tool, fingerprint: fingerprint(tool)}
	if d.Action == engine.Ask && j.fingerprint != "" {
		j.remembered = r.remembered(tool, j.fingerprint, args)
	}
	return j
}

// remembered judges a tool call as if the tool had been approved as it is. Whatever fails is a deny.
func (r *request) remembered(tool *engine.Tool, f engine.Fingerprint, args Arguments) engine.Decision {
	t := tool.Target()
	er := r.er
	// No rule can see more of a baseline than what it has of the tool itself.
	er.Approved = engine.NewBaseline(map[engine.Target]engine.Fingerprint{t: f})
	d, err := r.view.Decide(r.ctx, &engine.Call{Server: t.Server, Name: t.Name, Args: args.Values}, &er)
	if err != nil {
		return engine.Decision{}
	}
	return d
}

// settle judges a call and, where the decision is to ask, asks and judges again. The call may run if it returns
// [ResultRan], by the judgement it returns.
func (r *request) settle(a *ApprovalRequest, judge func() judgement) (judgement, Result) {
	j, res := r.decide(a, judge)
	r.e.Result = res
	return j, res
}

func (r *request) decide(a *ApprovalRequest, judge func() judgement) (judgement, Result) {
	j := judge()
	r.note(j)
	if !j.found {
		return j, ResultHidden
	}
	switch j.decision.Action {
	case engine.Allow:
		return j, ResultRan
	case engine.Ask:
	default:
		return j, ResultDenied
	}
	if !r.canAsk {
		return j, ResultDenied // the engine asks nobody then
	}

	a.Caller, a.Generation, a.Decision = r.caller, r.e.Generation, j.decision
	a.Tool, a.Fingerprint, a.Baseline = j.tool, j.fingerprint, r.baseline
	a.Remembered = j.remembered
	a.Session, a.Request = r.ss, r.in
	if f := r.g.o.ApprovedDefinition; f != nil && a.Kind == engine.Tools {
		a.ApprovedDefinition = f(a.Target)
	}
	if r.resume(a) {
		return j, ResultRan
	}
	start := time.Now()
	approval, err := r.g.approve(r.ctx, a)
	r.e.Waited, r.e.Asked = time.Since(start), true
	if err == nil && approval.Verdict == Pending && !Modern(a.Session) {
		err = ErrCannotAsk
	}
	if err == nil {
		err = r.ctx.Err()
	}
	if err != nil {
		r.e.Err, r.e.Approval = err, Approval{}
		return j, ResultRefused
	}
	r.e.Approval = approval
	if approval.Err != nil {
		r.e.Err = approval.Err
	}
	switch approval.Verdict {
	case Approved:
	case Pending:
		return j, ResultPending
	default:
		return j, ResultRefused
	}

	// A human takes minutes. What was asked about must still be what would run, and nobody may have denied it since.
	r.load()
	k := judge()
	r.note(k)
	if !k.found {
		return k, ResultHidden
	}
	switch {
	case k.decision.Action == engine.Deny:
		return k, ResultDenied
	case k.fingerprint != j.fingerprint, k.decision.Action == engine.Ask && !k.same(j):
		r.e.Err, r.e.Approval = ErrChanged, Approval{}
		return k, ResultRefused
	}
	return k, ResultRan
}

func (r *request) judged(j judgement, args []byte) *Judged {
	return &Judged{
		Generation:  r.e.Generation,
		Caller:      r.caller,
		Kind:        r.e.Kind,
		Target:      r.e.Target,
		Fingerprint: j.fingerprint,
		Args:        args,
		Decision:    j.decision,
		Approved:    r.e.Approval.Verdict == Approved,
	}
}

// judgeResource judges what touches a resource; one that is denied is not there.
func (r *request) judgeResource(t engine.Target) judgement {
	return judgeOther(r.view.EvaluateResource(t.Server, t.Name, &r.er))
}

// judgePrompt is judgeResource for a prompt.
func (r *request) judgePrompt(t engine.Target) judgement {
	return judgeOther(r.view.EvaluatePrompt(t.Server, t.Name, &r.er))
}

func judgeOther(d engine.Decision, err error) judgement {
	return judgement{found: err == nil && d.Action != engine.Deny, decided: err == nil, decision: d, err: err}
}

// note tells the Observer of a judgement.
func (r *request) note(j judgement) {
	r.e.Decided, r.e.Decision = j.decided, j.decision
	if j.err != nil {
		r.e.Err = j.err
	}
}

func (r *request) readResource(in *mcp.ReadResourceRequest) (mcp.Result, error) {
	if in.Params == nil {
		return nil, errInvalid
	}
	uri := in.Params.URI
	t, ok := r.resource(uri)
	if !ok {
		return nil, unknownResource(uri)
	}
	a := &ApprovalRequest{
		Kind: engine.Resources, Target: t, Exposed: uri,
		Responses: in.Params.InputResponses, State: in.Params.RequestState,
	}
	j, res := r.settle(a, func() judgement { return r.judgeResource(t) })
	switch res {
	case ResultHidden, ResultDenied:
		r.e.Result = ResultHidden
		return nil, unknownResource(uri)
	case ResultRefused:
		return nil, notAllowed(refusal(r.e.Approval))
	case ResultPending:
		return pending(engine.Resources, r.e.Approval), nil
	}
	p := *in.Params
	p.InputResponses, p.RequestState = r.input(p.InputResponses, p.RequestState)
	out, err := r.forward(&mcp.ReadResourceRequest{Session: in.Session, Params: &p, Extra: in.Extra}, r.judged(j, nil))
	if c, ok := out.(*mcp.ReadResourceResult); ok && c != nil {
		private := *c
		private.CacheScope = scopePrivate
		if private.InputRequests != nil && !r.suspend(a, j, &private.RequestState) {
			return nil, notAllowed(goOnText)
		}
		out = &private
	}
	return out, err
}

func (r *request) getPrompt(in *mcp.GetPromptRequest) (mcp.Result, error) {
	if in.Params == nil {
		return nil, errInvalid
	}
	name := in.Params.Name
	r.e.Kind, r.e.Exposed = engine.Prompts, name
	t, ok := table(r.g.o.Prompts).Target(name)
	if !ok {
		r.e.Result = ResultHidden
		return nil, unknownPrompt(name)
	}
	r.e.Target = t
	var args Arguments
	if in.Params.Arguments != nil {
		raw, err := json.Marshal(in.Params.Arguments)
		if err == nil {
			args, err = ParseArguments(raw)
		}
		if err != nil {
			r.e.Err = err
			return nil, errInternal
		}
	}
	sent := make(map[string]string, len(args.Values))
	for k, v := range args.Values {
		sent[k], _ = v.(string) // they were strings a moment ago
	}
	r.arguments(args)
	a := &ApprovalRequest{
		Kind: engine.Prompts, Target: t, Exposed: name, Args: args.JSON,
		Responses: in.Params.InputResponses, State: in.Params.RequestState,
	}
	j, res := r.settle(a, func() judgement { return r.judgePrompt(t) })
	switch res {
	case ResultHidden, ResultDenied:
		r.e.Result = ResultHidden
		return nil, unknownPrompt(name)
	case ResultRefused:
		return nil, notAllowed(refusal(r.e.Approval))
	case ResultPending:
		return pending(engine.Prompts, r.e.Approval), nil
	}
	p := *in.Params
	p.Arguments = sent
	p.InputResponses, p.RequestState = r.input(p.InputResponses, p.RequestState)
	out, err := r.forward(&mcp.GetPromptRequest{Session: in.Session, Params: &p, Extra: in.Extra}, r.judged(j, args.JSON))
	if c, ok := out.(*mcp.GetPromptResult); ok && c != nil {
		own := *c
		if own.InputRequests != nil && !r.suspend(a, j, &own.RequestState) {
			return nil, notAllowed(goOnText)
		}
		out = &own
	}
	return out, err
}

// resource finds what a URI refers to; where it is nothing, the request is over.
func (r *request) resource(uri string) (engine.Target, bool) {
	r.e.Kind, r.e.Exposed = engine.Resources, uri
	t, ok := resolve(r.g.o.Resources, uri)
	if !ok {
		r.e.Result = ResultHidden
		return t, false
	}
	r.e.Target = t
	return t, true
}
