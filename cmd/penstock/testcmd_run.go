package main

import (
	"fmt"
	"slices"

	"github.com/penstock-mcp/penstock/engine"
)

// A result is what came out of one test.
type result struct {
	*test
	subjects int // how many there were
	faults   []fault
}

func (r *result) passed() bool { return len(r.faults) == 0 }

// A fault is one subject that did not get what it must, or a test without one.
type fault struct {
	wrong []string
	x     *explanation // nil where there is no subject
}

// run runs the tests of a suite and notes which rules they reach.
func (at *setting) run() ([]*result, error) {
	var results []*result
	for _, t := range at.tests {
		r := &result{test: t}
		var err error
		switch {
		case t.request != nil:
			err = at.judge(r, whole(t))
		case !t.property:
			err = at.judge(r, t.subject)
		default:
			err = at.all(r)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", t.at, t.path, err)
		}
		results = append(results, r)
	}
	return results, nil
}

// all judges the subjects of a property.
func (at *setting) all(r *result) error {
	subjects, err := at.subjects(r.test)
	if err != nil {
		return err
	}
	if len(subjects) == 0 {
		say := "it is about nothing: no tool, resource or prompt of the catalogs matches its subjects"
		if slices.ContainsFunc(r.rules, annotated) {
			say += ", and hints count only where the policy trusts the server"
		}
		r.faults = []fault{{wrong: []string{say}}}
	}
	for _, s := range subjects {
		if err := at.judge(r, s); err != nil {
			return err
		}
	}
	return nil
}

// annotated reports whether a rule looks at a hint.
func annotated(r engine.Rule) bool {
	s := r.Inspect()
	return s.Form == engine.FormAnnotation || slices.ContainsFunc(s.Members, annotated)
}

// whole returns the subject of a request that says everything itself.
func whole(t *test) *subject {
	q := t.request
	s := &subject{kind: q.Kind, server: q.Server, name: q.Name, tool: q.Tool}
	if q.Kind == engine.Resources {
		s.name = q.URI
	}
	return s
}

// judge judges one subject.
func (at *setting) judge(r *result, s *subject) error {
	req, args := &engine.Request{HasApprover: !r.noApprover, Taint: r.taint, Attributes: r.attributes}, r.args
	if r.request != nil {
		req, args = &r.request.Request, r.request.Call.Args
	} else if s.kind == engine.Tools {
		if r.hints != nil {
			s.tool.Hints = *r.hints
		}
		at.approve(r.test, s, req)
	}
	x := s.explain(at.policy.rules, args, req)
	if x.Err != nil {
		return x.Err
	}
	x.Found = true
	x.missing = false
	at.policy.covered.add(&x.Explanation)
	r.subjects++
	if wrong := r.want.check(s.kind, &x.Explanation); len(wrong) > 0 {
		r.faults = append(r.faults, fault{wrong, x})
	}
	return nil
}

// approve sets the baseline of req: that of the suite, or what the test says became of the tool since it was approved.
func (at *setting) approve(t *test, s *subject, req *engine.Request) {
	unlisted := len(at.catalogs) == 0 || s.missing
	target := s.tool.Target()
	switch {
	case t.definition == neverApproved:
		return
	case t.definition == changedSince:
		req.Approved = engine.NewBaseline(map[engine.Target]engine.Fingerprint{target: "another definition"})
		if unlisted {
			s.tool.Fingerprint = asGiven
		}
		return
	case t.definition == byBaseline && at.base != nil:
		req.Approved = at.base
		if approved, known := at.base.Lookup(target); known && unlisted {
			s.tool.Fingerprint = approved
		}
		return
	case unlisted:
		s.tool.Fingerprint = asGiven
	}
	req.Approved = engine.NewBaseline(map[engine.Target]engine.Fingerprint{target: s.tool.Fingerprint})
}
