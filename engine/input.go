package engine

import "errors"

// Input is what a predicate sees: the tool, the call's arguments and the request.
//
// Nothing a predicate can do with an Input changes the caller's values: strings, numbers and booleans are handed
// out as they are, composite values as deep copies, made only when asked for. An Input is valid during the
// predicate's call.
type Input struct {
	tool   *Tool
	args   map[string]any
	req    *Request
	base   *Baseline // the baseline the decision is made by
	keys   *keyFolds // what is learnt of the keys of args, nil where they are few
	noArgs bool      // a Func predicate, which may not look at arguments
}

// NewInput returns the Input that a predicate would see, for testing predicates. A nil call has no arguments, a nil tool
// no name.
func NewInput(tool *Tool, call *Call, req *Request) Input {
	if tool == nil {
		tool = new(Tool)
	}
	in := Input{tool: tool, req: req.or(), base: req.or().Approved}
	if call != nil {
		in.args = call.Args
	}
	return in
}

// Server returns the id of the server that the call goes to.
func (in Input) Server() string { return in.tool.Server }

// Name returns the tool's name.
func (in Input) Name() string { return in.tool.Name }

// Hints returns what the server claims about the tool: untrusted.
func (in Input) Hints() Hints { return in.tool.Hints }

// Tool returns a copy of the tool, its raw definition included.
func (in Input) Tool() Tool { return in.tool.clone() }

// Arg returns the argument with the given top-level key, and whether there is one. In a [Func] predicate, which
// must not depend on arguments, it panics, and the predicate fails.
func (in Input) Arg(key string) (any, bool) {
	in.mayReadArgs()
	v, ok := in.args[key]
	return cloneValue(v), ok
}

// Args returns a copy of all arguments, nil where there are none. In a [Func] predicate it panics like
// [Input.Arg].
func (in Input) Args() map[string]any {
	in.mayReadArgs()
	return cloneObject(in.args)
}

func (in Input) mayReadArgs() {
	if in.noArgs {
		panic(errReadsArgs)
	}
}

var errReadsArgs = errors.New("a Func predicate must not read arguments (make the rule with Args)")

// Attribute returns the caller's attribute with the given key, and whether there is one.
func (in Input) Attribute(key string) (any, bool) {
	v, ok := in.req.Attributes[key]
	return cloneValue(v), ok
}

// Attributes returns a copy of all attributes of the caller, nil where there are none.
func (in Input) Attributes() map[string]any { return cloneObject(in.req.Attributes) }

// HasApprover reports whether somebody will be asked when the answer is [Ask].
func (in Input) HasApprover() bool { return in.req.HasApprover }

// Approved returns the fingerprint the baseline approved the tool with, and whether it holds the
// tool at all.
func (in Input) Approved() (Fingerprint, bool) { return in.base.Lookup(in.tool.Target()) }

// Taint returns a copy of the ids of the servers whose output is in the model's context.
func (in Input) Taint() []string { return append([]string(nil), in.req.Taint...) }

// Tainted reports whether the taint set holds a server other than the tool's own and not in ignore.
func (in Input) Tainted(ignore ...string) bool {
	return in.req.tainted(in.tool.Server, ignore, ignoreSet(ignore))
}

func cloneObject(m map[string]any) map[string]any {
	if m == nil {
		return nil
	}
	c := make(map[string]any, len(m))
	for k, v := range m {
		c[k] = cloneValue(v)
	}
	return c
}
