package engine

import (
	"context"
	"errors"
	"iter"
	"slices"
)

// ErrNotFound is returned for a tool that is not there and, word for word the same, for one that the caller does
// not see. The decision returned with it is a deny.
var ErrNotFound = errors.New("tool not found")

// ErrStale is returned for a [Ref] to a tool list that is no longer the server's. The decision returned with it is a
// deny.
var ErrStale = errors.New("stale tool reference")

// Snapshot is one consistent state of an [Engine]: tools, views and baseline that belong together. It is immutable
// and safe for concurrent use; a request should take one and use it to its end. A nil *Snapshot is empty.
type Snapshot struct {
	generation uint64
	baseline   *Baseline
	config     Config
	sets       []*toolset // by server id, bytewise ascending
	servers    nameTable  // finds a server in sets
	views      map[string]*ViewSnapshot
}

// Generation returns the number of the snapshot. It grows by one with every snapshot of an engine; several changes that
// come at once may share one.
func (s *Snapshot) Generation() uint64 {
	if s == nil {
		return 0
	}
	return s.generation
}

// Baseline returns the engine's baseline as of the snapshot.
func (s *Snapshot) Baseline() *Baseline {
	if s == nil {
		return nil
	}
	return s.baseline
}

// Servers returns the ids of the servers, bytewise ascending.
func (s *Snapshot) Servers() []string {
	if s == nil {
		return nil
	}
	ids := make([]string, len(s.sets))
	for i, set := range s.sets {
		ids[i] = set.server
	}
	return ids
}

// View returns the snapshot as one group of callers sees it. A view that is not configured sees nothing and denies
// everything; the result is never nil.
//
// Cost: one look-up; it allocates only for a view that is not configured.
func (s *Snapshot) View(name string) *ViewSnapshot {
	if s != nil {
		if v, ok := s.views[name]; ok {
			return v
		}
	}
	return &ViewSnapshot{snapshot: s}
}

// ViewSnapshot is a [Snapshot] as one group of callers sees it. It is immutable and safe for concurrent use: no method
// takes a lock or writes shared memory. A nil *ViewSnapshot sees nothing and denies everything.
type ViewSnapshot struct {
	snapshot *Snapshot
	view     View
	servers  []*serverView // as snapshot.sets; nil for a view that is not configured
	list     *shownList    // what StaticVisible shows, in the order of Tools
}

// Snapshot returns the snapshot that the view is a part of.
func (v *ViewSnapshot) Snapshot() *Snapshot {
	if v == nil {
		return nil
	}
	return v.snapshot
}

// Decide reports what should happen to call, as [Policy.Evaluate] does for the tool of that name that was refreshed
// last, by the engine's baseline unless req brings its own.
//
// It returns [ErrNotFound] for a tool that is not there and for one that the filter hides from this caller; the
// Decision is then a deny. Predicates fail as in [Policy.Evaluate]. A nil call is not found.
//
// Cost: two look-ups by name, however many tools and static rules there are. Where no dynamic rule can change the
// outcome or the reported id, the answer is a stored Decision; else those rules alone are asked. It
// allocates nothing unless a predicate does, a condition fails, or a rule asks about one of 32 arguments or more. A request with a baseline of its own costs what Evaluate costs.
func (v *ViewSnapshot) Decide(ctx context.Context, call *Call, req *Request) (Decision, error) {
	if v == nil || call == nil || v.servers == nil {
		return Decision{}, ErrNotFound
	}
	n := v.snapshot.servers.find(call.Server)
	if n < 0 {
		return Decision{}, ErrNotFound
	}
	sv := v.servers[n]
	i := sv.names.find(call.Name)
	if i < 0 {
		return Decision{}, ErrNotFound
	}
	at := 2 * sv.of[i]
	if req != nil {
		if req.Approved != nil {
			return v.decide(ctx, sv, i, call.Args, req)
		}
		if req.HasApprover {
			at++
		}
	}
	if d := &sv.fixed[at]; d.Source != SourceNone {
		return *d, nil
	}
	return v.decide(ctx, sv, i, call.Args, req)
}

// Ref is a tool of a snapshot, found once. The zero Ref is stale.
//
// It stays good, in later snapshots and other views, too, as long as the server's tool list is the one it was taken
// from and the set of servers does not change; whatever the policy says by then is what counts.
type Ref struct {
	epoch        uint64
	server, tool uint32
}

// Ref returns a reference to a tool for [ViewSnapshot.DecideRef], and whether there is such a tool and nothing but the
// functions of the filter could hide it.
func (v *ViewSnapshot) Ref(server, name string) (Ref, bool) {
	if v == nil || v.servers == nil {
		return Ref{}, false
	}
	n := v.snapshot.servers.find(server)
	if n < 0 {
		return Ref{}, false
	}
	sv := v.servers[n]
	i := sv.set.names.find(name)
	if i < 0 || sv.programs[sv.of[i]].sight == hidden {
		return Ref{}, false
	}
	return Ref{epoch: sv.epoch, server: uint32(n), tool: uint32(i)}, true
}

// DecideRef is [ViewSnapshot.Decide] for a tool that was found before and these arguments. It returns [ErrStale], and a
// deny, for a Ref that is no longer good.
func (v *ViewSnapshot) DecideRef(ctx context.Context, ref Ref, args map[string]any, req *Request) (Decision, error) {
	if v == nil || int(ref.server) >= len(v.servers) {
		return Decision{}, ErrStale
	}
	sv := v.servers[ref.server]
	if sv.epoch != ref.epoch {
		return Decision{}, ErrStale
	}
	at := 2 * sv.of[ref.tool]
	if req != nil {
		if req.Approved != nil {
			return v.decide(ctx, sv, int(ref.tool), args, req)
		}
		if req.HasApprover {
			at++
		}
	}
	if d := &sv.fixed[at]; d.Source != SourceNone {
		return *d, nil
	}
	return v.decide(ctx, sv, int(ref.tool), args, req)
}

// approver is the index into program.decisions.
func approver(req *Request) int {
	if req != nil && req.HasApprover {
		return 1
	}
	return 0
}

// decide is what is left of Decide where a call has a say.
func (v *ViewSnapshot) decide(ctx context.Context, sv *serverView, i int, args map[string]any, req *Request) (Decision, error) {
	req = req.or()
	if !v.sees(ctx, sv, i, req) {
		return Decision{}, ErrNotFound
	}
	tool, base := &sv.set.tools[i], v.snapshot.baseline
	if req.Approved != nil && req.Approved != base {
		return v.view.Policy.evaluateTool(ctx, args, tool, req, req.Approved, &sv.set.prints[i]), nil
	}
	p := &sv.programs[sv.of[i]]
	if p.decided {
		return p.decisions[approver(req)], nil
	}
	e := evaluation{p: v.view.Policy, in: Input{tool: tool, args: args, req: req, base: base, keys: newKeyFolds(args)}, isNew: p.isNew}
	return e.byOutlook(ctx, p.out, p.changed), nil
}

// sees reports whether the caller sees tool i.
func (v *ViewSnapshot) sees(ctx context.Context, sv *serverView, i int, req *Request) bool {
	switch s := sv.programs[sv.of[i]].sight; s {
	case hidden:
		return false
	case seen:
		return true
	default:
		return v.view.Filter.functions(ctx, &sv.set.tools[i], req, v.baseline(req), s == included)
	}
}

// baseline returns the baseline that a request is judged by.
func (v *ViewSnapshot) baseline(req *Request) *Baseline {
	if req.Approved != nil {
		return req.Approved
	}
	return v.snapshot.baseline
}

// Tools iterates over the tools that the caller sees: server ids bytewise ascending, then the server's own order. The
// tools are the engine's own and must not be changed.
//
// Cost: a step through the list that [ViewSnapshot.AppendTools] copies, plus the functions of the filter for the tools they decide.
func (v *ViewSnapshot) Tools(ctx context.Context, req *Request) iter.Seq[*Tool] {
	return func(yield func(*Tool) bool) {
		shown := v.shown()
		for i, t := range shown.tools {
			if (shown.sights == nil || v.shows(ctx, t, shown.sights[i], req.or())) && !yield(t) {
				return
			}
		}
	}
}

// AppendTools appends the tools that the caller sees to dst, in the order of [ViewSnapshot.Tools]. The tools are the
// engine's own and must not be changed.
//
// Cost: where the filter has no functions, one copy of a list of pointers. The list is made by the first call after a
// change of the tools the view shows, which costs one copy more. It allocates only then and when dst has to grow.
func (v *ViewSnapshot) AppendTools(ctx context.Context, dst []*Tool, req *Request) []*Tool {
	shown := v.shown()
	if shown.sights == nil {
		return append(dst, shown.tools...)
	}
	req = req.or()
	for i, t := range shown.tools {
		if v.shows(ctx, t, shown.sights[i], req) {
			dst = append(dst, t)
		}
	}
	return dst
}

// shows reports whether the caller sees a tool of the list.
func (v *ViewSnapshot) shows(ctx context.Context, t *Tool, s sight, req *Request) bool {
	return s == seen || v.view.Filter.functions(ctx, t, req, v.baseline(req), s == included)
}

// Tool returns the tool of a server, and whether the caller sees it. The tool is the engine's own and must not be
// changed.
func (v *ViewSnapshot) Tool(ctx context.Context, server, name string, req *Request) (*Tool, bool) {
	ref, ok := v.Ref(server, name)
	if !ok {
		return nil, false
	}
	sv, i := v.servers[ref.server], int(ref.tool)
	if !v.sees(ctx, sv, i, req.or()) {
		return nil, false
	}
	return &sv.set.tools[i], true
}

// EvaluateResource is [Policy.EvaluateResource] for the view's policy. A view that is not configured denies.
func (v *ViewSnapshot) EvaluateResource(server, uri string, req *Request) (Decision, error) {
	return v.policy().EvaluateResource(server, uri, req)
}

// EvaluatePrompt is [Policy.EvaluatePrompt] for the view's policy. A view that is not configured denies.
func (v *ViewSnapshot) EvaluatePrompt(server, name string, req *Request) (Decision, error) {
	return v.policy().EvaluatePrompt(server, name, req)
}

func (v *ViewSnapshot) policy() *Policy {
	if v == nil {
		return nil
	}
	return v.view.Policy
}

// Counts says what the static rules of a view make of the tools, for metrics. A tool that a call has a say in counts
// as Shown where it may be shown, and in none of the others.
type Counts struct {
	Tools, Shown, Denied, Asked, Allowed int
}

// Counts adds up the view's bitsets.
//
// Cost: one word for every 64 tools and list.
func (v *ViewSnapshot) Counts() Counts {
	var c Counts
	if v == nil {
		return c
	}
	for _, sv := range v.servers {
		c.Tools += len(sv.of)
		c.Denied += sv.denied.Count()
		c.Asked += sv.asked.Count()
		c.Allowed += sv.allowed.Count()
		c.Shown += len(sv.shown)
	}
	return c
}

// position returns where a server stands or would stand in sets.
func position(sets []*toolset, server string) (int, bool) {
	return slices.BinarySearchFunc(sets, server, func(s *toolset, id string) int {
		switch {
		case s.server < id:
			return -1
		case s.server > id:
			return 1
		}
		return 0
	})
}
