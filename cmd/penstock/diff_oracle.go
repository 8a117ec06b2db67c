package main

import (
	"context"
	"errors"
	"strings"

	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/policyfile"
)

// An openCondition is a part of a rule that only a call can decide. One that stands in both policies is the same.
type openCondition struct {
	text    string
	form    engine.Form
	pos     [2]engine.Position // where it stands first, in OLD and in NEW
	in      [2]bool            // whether it stands in OLD, in NEW
	inLoose bool               // it stands in a deny or an ask rule
	inAllow bool
}

// An oracleAnswer is what a condition says.
type oracleAnswer uint8

const (
	answerNo oracleAnswer = iota
	answerYes
	answerFails
)

var answerWords = [...]string{"no", "yes", "fails"}

// answers returns how many answers of c can make a difference. Failing is like holding in deny and ask, and like not
// holding in allow; so it is an answer of its own only for a condition that stands in both. Taint always has an answer.
func (c *openCondition) answers() oracleAnswer {
	if c.inLoose && c.inAllow && c.form != engine.FormTainted {
		return 3
	}
	return 2
}

var errNoAnswer = errors.New("no answer")

// maxRuns bounds the combinations of answers that are tried for one tool in one situation: twelve conditions.
const maxRuns = 1 << 12

// oracle answers conditions, and tries every combination of answers that matters: it runs the same computation again
// and again, and each time gives the last answer that has an alternative left another way.
type oracle struct {
	conditions []*openCondition
	byKey      map[string]*openCondition

	trail []given // the answers of this run, in the order in which they were asked for
	asked int     // how many of trail this run has used
}

type given struct {
	condition *openCondition
	answer    oracleAnswer
}

// explore calls f for every combination of answers that f asks for. It returns false where there are too many.
func (o *oracle) explore(f func() error) (all bool, err error) {
	o.trail = o.trail[:0]
	for range maxRuns {
		o.asked = 0
		if err := f(); err != nil {
			return false, err
		}
		o.trail = o.trail[:o.asked]
		for len(o.trail) > 0 {
			last := &o.trail[len(o.trail)-1]
			if last.answer+1 < last.condition.answers() {
				last.answer++
				break
			}
			o.trail = o.trail[:len(o.trail)-1]
		}
		if len(o.trail) == 0 {
			return true, nil
		}
	}
	return false, nil
}

// ask returns the answer of c in this run.
func (o *oracle) ask(c *openCondition) oracleAnswer {
	for _, g := range o.trail[:o.asked] {
		if g.condition == c {
			return g.answer
		}
	}
	if o.asked == len(o.trail) {
		o.trail = append(o.trail, given{condition: c})
	}
	g := &o.trail[o.asked]
	if g.condition != c { // an earlier answer led elsewhere
		o.trail = append(o.trail[:o.asked], given{condition: c})
		g = &o.trail[o.asked]
	}
	o.asked++
	return g.answer
}

// rule returns r with every condition in it answered by the oracle. which says whether r is of OLD (0) or NEW.
func (o *oracle) rule(r engine.Rule, which int, loose bool) engine.Rule {
	s := r.Inspect()
	switch s.Form {
	case engine.FormNamed:
		return engine.Named(s.ID, o.rule(s.Members[0], which, loose)).At(r.Position())
	case engine.FormAll:
		members := make([]engine.Rule, len(s.Members))
		for i, m := range s.Members {
			members[i] = o.rule(m, which, loose)
		}
		return engine.All(members...).At(r.Position())
	case engine.FormArg, engine.FormAttribute, engine.FormArgs, engine.FormFunc, engine.FormTainted:
	default:
		return r
	}
	key := r.String()
	if strings.Contains(key, "…") {
		key += [...]string{" old", " new"}[which] // it is not the whole text, so it cannot be told what is the same
	}
	c := o.byKey[key]
	if c == nil {
		c = &openCondition{text: r.String(), form: s.Form}
		o.conditions = append(o.conditions, c)
		if o.byKey == nil {
			o.byKey = make(map[string]*openCondition)
		}
		o.byKey[key] = c
	}
	if !c.in[which] {
		c.in[which], c.pos[which] = true, r.Position()
	}
	c.inLoose, c.inAllow = c.inLoose || loose, c.inAllow || !loose
	return engine.Args(r.String(), func(context.Context, engine.Input) (bool, error) {
		switch o.ask(c) {
		case answerYes:
			return true, nil
		case answerFails:
			return false, errNoAnswer
		default:
			return false, nil
		}
	}).At(r.Position())
}

// policy returns the policy of a document with its conditions answered by the oracle.
func (o *oracle) policy(doc *policyfile.Document, which int) (*engine.Policy, error) {
	options := doc.Policy
	list := func(rules []engine.Rule, loose bool) []engine.Rule {
		out := make([]engine.Rule, len(rules))
		for i, r := range rules {
			out[i] = o.rule(r, which, loose)
		}
		return out
	}
	options.Deny, options.Ask, options.Allow = list(options.Deny, true), list(options.Ask, true), list(options.Allow, false)
	return engine.CompilePolicy(options)
}
