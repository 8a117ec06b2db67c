package main

import (
	"fmt"

	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/policyfile"
)

// reach is how far the tests of a policy reached one of its rules.
type reach uint8

const (
	never   reach = iota // it matches in no test
	matches              // it matches, and something else decides each time
	decides              // it decides in at least one test
)

var reachWords = [...]string{never: "never", matches: "matches", decides: "decides"}

// coverage is what the tests of one policy reach, by list and index.
type coverage struct {
	lists [5][]coveredRule // by engine.List
}

type coveredRule struct {
	rule  engine.Rule
	id    string
	reach reach
}

func newCoverage(doc *policyfile.Document) coverage {
	var c coverage
	for list, rules := range [len(c.lists)][]engine.Rule{
		engine.ListInclude: doc.Filter.Include, engine.ListExclude: doc.Filter.Exclude,
		engine.ListDeny: doc.Policy.Deny, engine.ListAsk: doc.Policy.Ask, engine.ListAllow: doc.Policy.Allow,
	} {
		for i, r := range rules {
			id := fmt.Sprintf("%s[%d]", engine.List(list), i)
			if s := r.Inspect(); s.Form == engine.FormNamed {
				id = s.ID
			}
			c.lists[list] = append(c.lists[list], coveredRule{rule: r, id: id})
		}
	}
	return c
}

func (c *coverage) note(r engine.RuleInfo, how reach) {
	if to := &c.lists[r.List][r.Index]; to.reach < how {
		to.reach = how
	}
}

// add notes which rules one test reached.
func (c *coverage) add(x *engine.Explanation) {
	// Of the filter, the first entry that hides decides, or else, where there are include entries, the first that shows.
	decided := false
	for _, t := range x.Filter {
		if !t.Counts {
			continue
		}
		how := matches
		if !decided && (t.Rule.List == engine.ListExclude) == !x.Visible {
			how, decided = decides, true
		}
		c.note(t.Rule, how)
	}
	for _, s := range x.Steps {
		for _, t := range s.Rules {
			if t.Counts {
				c.note(t.Rule, matches)
			}
		}
	}
	if id := x.Decision.RuleID(); id != "" {
		c.note(x.Decision.Rule(), decides)
	}
}

// order is that in which rules are tried.
var order = []engine.List{engine.ListExclude, engine.ListInclude, engine.ListDeny, engine.ListAsk, engine.ListAllow}

// all returns every rule, in the order in which they are tried.
func (c *coverage) all() []coveredRule {
	var out []coveredRule
	for _, l := range order {
		out = append(out, c.lists[l]...)
	}
	return out
}

// missed returns the rules that decide in no test.
func (c *coverage) missed() []coveredRule {
	var out []coveredRule
	for _, r := range c.all() {
		if r.reach != decides {
			out = append(out, r)
		}
	}
	return out
}
