package bench

import (
	"fmt"

	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/fold"
)

// Naive answers by trying every rule: the loop that one writes first. It is what the answers of everything else are
// checked with, and the floor x-naive. Patterns are folded beforehand and a name once; beyond that it does nothing
// clever. The test TestNaiveIsTheReference holds it against the reference of package fuzz.
type Naive struct {
	lists            [3][]naiveRule // deny, ask, allow
	include, exclude []naiveRule
}

type naiveRule struct {
	server, tool string
	when         When
}

// NewNaive returns the naive loop over the rules of w.
func NewNaive(w *Workload) *Naive {
	return &Naive{
		lists:   [3][]naiveRule{naiveRules(w.Deny, true), naiveRules(w.Ask, true), naiveRules(w.Allow, false)},
		include: naiveRules(w.Include, false),
		exclude: naiveRules(w.Exclude, true),
	}
}

func naiveRules(rules []Rule, loose bool) []naiveRule {
	out := make([]naiveRule, len(rules))
	for i, r := range rules {
		out[i] = naiveRule{r.Server, r.Tool(), r.When}
		if loose {
			out[i].server, out[i].tool = fold.String(r.Server), fold.String(r.Tool())
		}
	}
	return out
}

// Answer is a decision as plain data: which rule of which list decided. The zero Answer is that no rule matched.
type Answer struct {
	List  List
	Index int32 // in its list
}

// List is the list of the rule that decided, or that there was none.
type List uint8

// The lists. No rule means that a human is asked.
const (
	NoRule List = iota
	Deny
	Ask
	Allow
)

var listNames = [...]string{"default", "deny", "ask", "allow"}

// String returns the list's name in a policy.
func (l List) String() string { return listNames[l] }

// String returns the answer as a policy's decision names it: "deny[2]", "default".
func (a Answer) String() string {
	if a.List == NoRule {
		return listNames[NoRule]
	}
	return fmt.Sprintf("%s[%d]", listNames[a.List], a.Index)
}

// AnswerOf returns the answer that a decision of the engine stands for.
func AnswerOf(d engine.Decision) Answer {
	if d.RuleID() == "" {
		return Answer{}
	}
	info := d.Rule()
	return Answer{List: Deny + List(info.List-engine.ListDeny), Index: int32(info.Index)}
}

// Decide tries the rules on a name.
func (n *Naive) Decide(name Name, s *Situation) Answer {
	loose := Name{fold.String(name.Server), fold.String(name.Tool)}
	if i := first(n.lists[0], loose, s); i >= 0 {
		return Answer{Deny, int32(i)}
	}
	if i := first(n.lists[1], loose, s); i >= 0 {
		return Answer{Ask, int32(i)}
	}
	if i := first(n.lists[2], name, s); i >= 0 {
		return Answer{Allow, int32(i)}
	}
	return Answer{}
}

// Visible tries the rules of the filter on a name.
func (n *Naive) Visible(name Name, s *Situation) bool {
	if first(n.exclude, Name{fold.String(name.Server), fold.String(name.Tool)}, s) >= 0 {
		return false
	}
	return len(n.include) == 0 || first(n.include, name, s) >= 0
}

func first(rules []naiveRule, name Name, s *Situation) int {
	for i := range rules {
		r := &rules[i]
		if glob(r.server, name.Server) && glob(r.tool, name.Tool) && (r.when == Always || r.when.holds(s)) {
			return i
		}
	}
	return -1
}

// glob reports whether pattern matches the whole of s: the usual loop that remembers the last star.
func glob(pattern, s string) bool {
	star, mark, p := -1, 0, 0
	for i := 0; i < len(s); {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, i
			p++
		case p < len(pattern) && pattern[p] == s[i]:
			p++
			i++
		case star >= 0:
			p, mark = star+1, mark+1
			i = mark
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}
