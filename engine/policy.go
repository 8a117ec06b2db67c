package engine

import (
	"errors"
	"fmt"

	"github.com/penstock-mcp/penstock/automaton"
)

// NoMatch is what a policy does with a call that no rule matches.
type NoMatch uint8

// The choices. The zero NoMatch asks, which without an approver is a deny.
const (
	AskNoMatch NoMatch = iota
	DenyNoMatch
)

// PolicyOptions are the rules and options of a policy. The zero value is the documented default: ask for
// everything about tools, and pin them.
type PolicyOptions struct {
	// Deny, Ask and Allow are the rules, tried in this order whatever their own order: see [Policy.Evaluate].
	Deny, Ask, Allow []Rule

	// NoMatch is what happens to a call that no rule matches.
	NoMatch NoMatch

	// Scope holds the kinds the policy is about; whatever it is not about is allowed. Nil or empty: tools.
	Scope []Kind

	// DisablePins turns off the check that a tool is still the one that was approved.
	DisablePins bool

	// AllowNewTools lets every allow rule match tools that the baseline lacks, not only the exact ones.
	AllowNewTools bool

	// TrustAll trusts the hints of every server, Trusted those of the servers with these ids. Ids compare
	// exactly and are not globs.
	TrustAll bool
	Trusted  []string
}

// Policy decides whether a call may run. It is immutable and safe for concurrent use. A nil *Policy and the zero
// Policy, which was never compiled, deny everything.
type Policy struct {
	deny, ask, allow []compiledRule
	byKind           [kinds]ruleset
	scope            [kinds]bool // at least one, but for the zero Policy
	noMatch          NoMatch
	pins             bool
	allowNew         bool
	trustAll         bool
	trusted          map[string]bool
}

// ruleset holds the rules of a policy that are about one kind of target, lowered to indexes. A rule is plain when
// its anchor decides it alone, else open: a hit of its anchor makes it a candidate.
type ruleset struct {
	loose     ruleIndex // plain deny and ask rules, all deny rules before all ask rules
	looseOpen ruleIndex // the open ones, in the same order
	exact     ruleIndex // plain allow rules of one target: those that may allow a new tool
	general   ruleIndex // the other plain allow rules
	allowOpen ruleIndex // open allow rules
}

// ruleIndex is an index and the rules its numbers stand for. Within one list the numbers ascend as the rules do.
type ruleIndex struct {
	index *automaton.Index
	rules []*compiledRule
}

// CompilePolicy compiles a policy. It reports every bad entry in one [CompileError].
//
// Cost: linear in the size of the rules.
func CompilePolicy(o PolicyOptions) (*Policy, error) {
	var c compiler
	deny, ask, allow := c.list(ListDeny, o.Deny), c.list(ListAsk, o.Ask), c.list(ListAllow, o.Allow)
	p := &Policy{
		deny: deny.rules, ask: ask.rules, allow: allow.rules,
		noMatch: o.NoMatch, pins: !o.DisablePins, allowNew: o.AllowNewTools, trustAll: o.TrustAll,
	}
	if o.NoMatch > DenyNoMatch {
		c.failOption("policy", "default", -1, fmt.Errorf("unknown value %d (use AskNoMatch or DenyNoMatch)", o.NoMatch))
	}
	for i, k := range o.Scope {
		if k >= kinds {
			c.failOption("policy", "scope", i, fmt.Errorf("unknown kind %d (use Tools, Resources or Prompts)", k))
			continue
		}
		p.scope[k] = true
	}
	if len(o.Scope) == 0 {
		p.scope[Tools] = true
	}
	for i, id := range o.Trusted {
		if err := CheckServerID(id); err != nil {
			c.failOption("policy", "trusted", i, err)
		}
		if p.trusted == nil {
			p.trusted = make(map[string]bool, len(o.Trusted))
		}
		p.trusted[id] = true
	}
	c.checkScope(p)
	if err := c.err(); err != nil {
		return nil, err
	}
	p.lower(deny, ask, allow)
	return p, nil
}

// checkScope records every rule whose kind is not in the policy's scope: it could never act.
func (c *compiler) checkScope(p *Policy) {
	for _, rules := range [...][]compiledRule{p.deny, p.ask, p.allow} {
		for i := range rules {
			r := &rules[i]
			if r.kind >= kinds || p.scope[r.kind] { // a bad rule has no kind, and has been reported
				continue
			}
			e := entry{list: r.list, index: i}
			if r.named != nil {
				e.id = r.id
			}
			c.fail(e, r.src, fmt.Errorf("a %s rule in a policy whose scope lacks %s can never act (add %s to scope)",
				r.kind.one(), r.kind, r.kind))
		}
	}
}

// lower builds the indexes.
func (p *Policy) lower(deny, ask, allow compiledList) {
	var loose, looseOpen, exact, general, allowOpen [kinds]indexBuilder
	for _, l := range [...]compiledList{deny, ask} {
		for i := range l.rules {
			r := &l.rules[i]
			if r.tests == nil {
				loose[r.kind].add(r, l.anchors[i])
			} else {
				looseOpen[r.kind].add(r, l.anchors[i])
			}
		}
	}
	for i := range allow.rules {
		r := &allow.rules[i]
		switch {
		case r.tests != nil:
			allowOpen[r.kind].add(r, allow.anchors[i])
		case r.exact:
			exact[r.kind].add(r, allow.anchors[i])
		default:
			general[r.kind].add(r, allow.anchors[i])
		}
	}
	for k := range kinds {
		p.byKind[k] = ruleset{
			loose:     loose[k].build(automaton.Folded),
			looseOpen: looseOpen[k].build(automaton.Folded),
			exact:     exact[k].build(automaton.Exact),
			general:   general[k].build(automaton.Exact),
			allowOpen: allowOpen[k].build(automaton.Exact),
		}
	}
}

type indexBuilder struct {
	rules   []*compiledRule
	anchors []automaton.Pattern
}

func (b *indexBuilder) add(r *compiledRule, a automaton.Pattern) {
	b.rules, b.anchors = append(b.rules, r), append(b.anchors, a)
}

func (b *indexBuilder) build(mode automaton.Mode) ruleIndex {
	if len(b.rules) == 0 {
		return ruleIndex{}
	}
	return ruleIndex{index: automaton.Build(mode, b.anchors), rules: b.rules}
}

// trusts reports whether the hints of a server are believed.
func (p *Policy) trusts(server string) bool { return p.trustAll || p.trusted[server] }

// AllowAll returns the policy that allows every tool call, new or changed: allow "*/*", AllowNewTools, no pins. It
// is never a default.
func AllowAll() *Policy {
	p, err := CompilePolicy(PolicyOptions{
		Allow: []Rule{Pattern("*/*")}, AllowNewTools: true, DisablePins: true,
	})
	if err != nil {
		panic(errors.Join(errors.New("engine: AllowAll does not compile"), err)) // cannot happen: a test compiles it
	}
	return p
}
