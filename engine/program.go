package engine

import (
	"context"
	"encoding/binary"
	"unsafe"

	"github.com/penstock-mcp/penstock/automaton"
)

// program is what one view does with a tool, as far as that can be known when the tool list is refreshed: a stored
// Decision where no call can change it, else the rules that are left to ask. Tools of one server that are treated
// alike share one program. It is immutable.
type program struct {
	// decisions are the answers without and with an approver, for a program that is decided.
	decisions [2]Decision

	decided bool     // no dynamic rule can change the decision or its id
	sight   sight    // what the filter's static entries say
	isNew   bool     // the engine's baseline lacks the tool
	changed bool     // the tool is pinned and not the one that was approved
	out     *outlook // what the rules say; nil where decided
}

// sight is what the static entries of a filter say of a tool.
type sight uint8

const (
	hidden   sight = iota // nobody sees it
	maybe                 // the functions of the filter decide
	included              // a static include entry matches; the functions of exclude decide
	seen                  // everybody sees it
)

// serverView is one server's tools seen through one view. It is immutable; snapshots share it until the tools, the
// view or the baseline change.
type serverView struct {
	// What Decide and DecideRef touch comes first.
	epoch uint64    // those of set, at hand
	names nameTable //
	of    []uint32  // the program of each tool

	// fixed holds the decisions of program p at 2p without and at 2p+1 with an approver, where everybody sees the
	// tool and the program is decided. Elsewhere it holds the zero Decision, whose source is none.
	fixed []Decision

	set      *toolset
	programs []program

	// What the static rules say of each tool, list by list, rules that a call has a say in left out. An ask that
	// stands behind a deny is not looked for.
	excluded, included     automaton.Bitset
	denied, asked, allowed automaton.Bitset

	shown  []*Tool // what StaticVisible shows, in the server's order
	sights []sight // the sight of each of them
}

// programKey is what makes two programs equal. The rules left to ask are written down byte by byte.
type programKey struct {
	sight            sight
	isNew, changed   bool
	deny, ask, allow *compiledRule
	open             string
}

// viewBuilder makes the serverView of one server and one view.
type viewBuilder struct {
	view    View
	base    *Baseline
	trusted bool
	at      *at             // the server as the policy's indexes see it; nil where no rule is asked
	include automaton.Scope // and those of the filter
	exclude automaton.Scope
	scratch scratch
	keys    map[programKey]uint32
	key     []byte
	out     *serverView
}

// newServerView runs every tool of the set through the indexes of the view, once.
//
// Cost: for each tool one pass over its name for each group of lists; nothing that grows with the number of
// static rules.
func newServerView(set *toolset, view View, base *Baseline) *serverView {
	n := len(set.tools)
	b := viewBuilder{view: view, base: base, keys: make(map[programKey]uint32), out: &serverView{
		set: set, epoch: set.epoch, names: set.names, of: make([]uint32, n),
		excluded: automaton.NewBitset(n), included: automaton.NewBitset(n),
		denied: automaton.NewBitset(n), asked: automaton.NewBitset(n), allowed: automaton.NewBitset(n),
	}}
	if f := view.Filter; f != nil {
		b.include, b.exclude = f.include.index.Server(set.server), f.exclude.index.Server(set.server)
	}
	if p := view.Policy; p != nil {
		b.at, b.trusted = p.byKind[Tools].at(set.server), p.trusts(set.server)
	}
	for i := range set.tools {
		b.add(i)
	}
	b.list()
	return b.out
}

// add finds the program of tool i.
func (b *viewBuilder) add(i int) {
	t := &b.out.set.tools[i]
	p := program{sight: b.look(i, t)}
	k := programKey{sight: p.sight}
	if p.sight == hidden { // its decision is nobody's business: calls to it are not found
		b.intern(i, k, p, nil)
		return
	}
	b.judge(i, t, &p)
	out := &b.scratch.out
	k.isNew, k.changed = p.isNew, p.changed
	k.deny, k.ask, k.allow = out.deny, out.ask, out.allow
	b.key = b.key[:0]
	for _, open := range [...][]*compiledRule{out.denyOpen, out.askOpen, out.allowOpen} {
		b.key = binary.LittleEndian.AppendUint32(b.key, uint32(len(open)))
		for _, r := range open {
			b.key = binary.LittleEndian.AppendUint32(b.key, uint32(r.index))
		}
	}
	k.open = unsafe.String(unsafe.SliceData(b.key), len(b.key))
	b.intern(i, k, p, out)
}

// look asks the static entries of the filter.
func (b *viewBuilder) look(i int, t *Tool) sight {
	f := b.view.Filter
	if f == nil {
		return hidden
	}
	if f.exclude.index.FirstIn(b.exclude, t.Name) >= 0 {
		b.out.excluded.Set(i)
	}
	in := f.showAll || f.include.index.FirstIn(b.include, t.Name) >= 0
	if in {
		b.out.included.Set(i)
	}
	switch {
	case b.out.excluded.Has(i) || !in && f.include.dynamic == nil:
		return hidden
	case in && f.exclude.dynamic == nil:
		return seen
	case in:
		return included
	default:
		return maybe
	}
}

// judge asks the static rules of the policy and leaves in scratch.out what is left of them.
func (b *viewBuilder) judge(i int, t *Tool, p *program) {
	pol, out := b.view.Policy, &b.scratch.out
	approved, known := b.base.Lookup(t.Target())
	p.isNew = !known
	*out = outlook{denyOpen: out.denyOpen[:0], askOpen: out.askOpen[:0], allowOpen: out.allowOpen[:0]}
	if pol == nil || !pol.scope[Tools] {
		p.decided = true
		return
	}
	e := evaluation{p: pol, isNew: p.isNew, approved: approved, print: &b.out.set.prints[i]}
	p.changed = e.differs()
	b.scratch.subject = subject{server: t.Server, name: t.Name, hints: t.Hints, trusted: b.trusted}
	b.scratch.matchLoose(&pol.byKind[Tools], b.at)
	b.scratch.matchAllow(&pol.byKind[Tools], b.at, p.isNew && !pol.allowNew)
	for _, l := range [...]struct {
		bits automaton.Bitset
		rule *compiledRule
	}{{b.out.denied, out.deny}, {b.out.asked, out.ask}, {b.out.allowed, out.allow}} {
		if l.rule != nil {
			l.bits.Set(i)
		}
	}
	p.decided = out.settle(p.changed)
}

// settle drops what can no longer matter, since an earlier step decides for certain, and reports whether nothing is
// left that a call has a say in.
func (o *outlook) settle(changed bool) bool {
	if o.deny != nil || changed {
		o.ask, o.askOpen = nil, o.askOpen[:0]
	}
	if o.deny != nil || changed || o.ask != nil {
		o.allow, o.allowOpen = nil, o.allowOpen[:0]
	}
	return len(o.denyOpen)+len(o.askOpen)+len(o.allowOpen) == 0
}

// intern gives tool i the program p, which k describes, sharing it with the tools that have the same one.
func (b *viewBuilder) intern(i int, k programKey, p program, out *outlook) {
	id, ok := b.keys[k]
	if !ok {
		id = uint32(len(b.out.programs))
		k.open = string(b.key[:len(k.open)])
		b.keys[k] = id
		if out != nil {
			p.finish(b.view.Policy, out)
		}
		b.out.programs = append(b.out.programs, p)
		if p.decided && p.sight == seen {
			b.out.fixed = append(b.out.fixed, p.decisions[:]...)
		} else {
			b.out.fixed = append(b.out.fixed, Decision{}, Decision{})
		}
	}
	b.out.of[i] = id
}

// finish stores the decisions of a program that is decided, and the rules that are left of one that is not.
func (p *program) finish(pol *Policy, out *outlook) {
	if !p.decided {
		p.out = &outlook{deny: out.deny, ask: out.ask, allow: out.allow,
			denyOpen: cloneRules(out.denyOpen), askOpen: cloneRules(out.askOpen), allowOpen: cloneRules(out.allowOpen)}
		return
	}
	for i, req := range [...]*Request{{}, {HasApprover: true}} {
		if pol == nil || !pol.scope[Tools] {
			p.decisions[i] = pol.unasked(p.isNew)
			continue
		}
		e := evaluation{p: pol, in: Input{req: req}, isNew: p.isNew}
		p.decisions[i] = e.byOutlook(context.Background(), out, p.changed)
	}
}

func cloneRules(rules []*compiledRule) []*compiledRule {
	return append([]*compiledRule(nil), rules...)
}

// byOutlook decides by what the static rules say of the target.
func (e *evaluation) byOutlook(ctx context.Context, out *outlook, changed bool) Decision {
	if d, ok := e.first(ctx, out.denyOpen, out.deny, nil); ok {
		return d
	}
	if changed {
		return e.changed()
	}
	if d, ok := e.first(ctx, out.askOpen, out.ask, nil); ok {
		return d
	}
	return e.allowOrDefault(ctx, out)
}

// list collects what the view shows of the server: the tools that are included and not excluded, word by word, and
// those that only a function can include.
func (b *viewBuilder) list() {
	f := b.view.Filter
	if f == nil {
		return
	}
	shown := automaton.NewBitset(len(b.out.of))
	shown.Or(b.out.included)
	if f.include.dynamic != nil {
		for i := range b.out.of {
			shown.Set(i)
		}
	}
	shown.AndNot(b.out.excluded)
	n := shown.Count()
	b.out.shown, b.out.sights = make([]*Tool, 0, n), make([]sight, 0, n)
	for i := range shown.All() {
		b.out.shown = append(b.out.shown, &b.out.set.tools[i])
		b.out.sights = append(b.out.sights, b.out.programs[b.out.of[i]].sight)
	}
}
