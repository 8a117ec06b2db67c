package engine

import (
	"math"
	"sync"

	"github.com/penstock-mcp/penstock/automaton"
)

// outlook is what the static rules say of one target: for each list the first rule that matches whatever the call
// is like, and before it the dynamic rules whose static members match, in list order.
type outlook struct {
	deny, ask, allow             *compiledRule
	denyOpen, askOpen, allowOpen []*compiledRule
}

// scratch is the memory one decision with candidates needs.
type scratch struct {
	subject subject
	numbers []int32
	out     outlook
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

func (s *subject) reset(server, name string) {
	*s = subject{server: server, name: name}
}

// release gives s back, holding on to nothing of the request.
func (s *scratch) release() {
	s.subject = subject{}
	o := &s.out
	o.deny, o.ask, o.allow = nil, nil, nil
	clear(o.denyOpen)
	clear(o.askOpen)
	clear(o.allowOpen)
	scratches.Put(s)
}

// at holds one server as the indexes of a ruleset see it, resolved once for many tools of it.
type at struct {
	loose, looseOpen, exact, general, allowOpen automaton.Scope
}

func (rs *ruleset) at(server string) *at {
	return &at{
		loose:     rs.loose.index.Server(server),
		looseOpen: rs.looseOpen.index.Server(server),
		exact:     rs.exact.index.Server(server),
		general:   rs.general.index.Server(server),
		allowOpen: rs.allowOpen.index.Server(server),
	}
}

// firstIn is first for a server that was resolved.
func (x *ruleIndex) firstIn(scope automaton.Scope, name string) *compiledRule {
	if n := x.index.FirstIn(scope, name); n >= 0 {
		return x.rules[n]
	}
	return nil
}

// matchLoose fills in what the deny and ask rules say of the subject. A nil at means that its server was not
// resolved.
func (s *scratch) matchLoose(rs *ruleset, at *at) {
	o := &s.out
	o.denyOpen, o.askOpen = o.denyOpen[:0], o.askOpen[:0]
	o.deny, o.ask = nil, nil
	var plain *compiledRule
	if at == nil {
		plain = rs.loose.first(s.subject.server, s.subject.name)
		s.numbers = rs.looseOpen.index.All(s.numbers[:0], s.subject.server, s.subject.name)
	} else {
		plain = rs.loose.firstIn(at.loose, s.subject.name)
		s.numbers = rs.looseOpen.index.AllIn(s.numbers[:0], at.looseOpen, s.subject.name)
	}
	if plain != nil && plain.list == ListDeny {
		o.deny = plain
	} else {
		o.ask = plain
	}
	for _, n := range s.numbers {
		r := rs.looseOpen.rules[n]
		if r.list == ListDeny {
			o.deny = s.open(r, o.deny, &o.denyOpen)
		} else {
			o.ask = s.open(r, o.ask, &o.askOpen)
		}
	}
}

// matchAllow fills in what the allow rules say of the subject; only the exact ones for a tool that is new.
func (s *scratch) matchAllow(rs *ruleset, at *at, exactOnly bool) {
	o := &s.out
	o.allowOpen = o.allowOpen[:0]
	if at == nil {
		o.allow = rs.firstAllow(s.subject.server, s.subject.name, exactOnly)
		s.numbers = rs.allowOpen.index.All(s.numbers[:0], s.subject.server, s.subject.name)
	} else {
		o.allow = rs.exact.firstIn(at.exact, s.subject.name)
		if !exactOnly {
			o.allow = earlier(o.allow, rs.general.firstIn(at.general, s.subject.name))
		}
		s.numbers = rs.allowOpen.index.AllIn(s.numbers[:0], at.allowOpen, s.subject.name)
	}
	for _, n := range s.numbers {
		if r := rs.allowOpen.rules[n]; r.exact || !exactOnly {
			o.allow = s.open(r, o.allow, &o.allowOpen)
		}
	}
}

// open looks at the candidate r of a list whose first known match is then: it returns the new first known match, and
// adds r to open where only the call can decide it.
func (s *scratch) open(r, then *compiledRule, open *[]*compiledRule) *compiledRule {
	limit := int32(math.MaxInt32)
	if then != nil {
		limit = then.index
	}
	switch {
	case r.index > limit || !r.staticHolds(&s.subject):
		return then
	case r.isDynamic():
		*open = append(*open, r)
		return then
	default:
		return r
	}
}
