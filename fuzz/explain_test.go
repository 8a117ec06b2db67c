package fuzz

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/penstock-mcp/penstock/engine"
)

// An explanation is worth nothing if it explains another decision than the one that is made.

func FuzzExplain(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		g := FromBytes(data)
		kind := pick(g, []Kind{Tool, Tool, Resource, Prompt})
		tryExplain(t, g, kind, &tally{})
	})
}

// FuzzExplainSnapshot compares the explanations of snapshots with their decisions.
func FuzzExplainSnapshot(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) { tryExplainSnapshot(t, FromBytes(data), &tally{}) })
}

func TestRandomExplanationsAreOfTheDecisionThatIsMade(t *testing.T) {
	g, count := FromSeed(seed(t)), &tally{}
	want := []string{"refused", "visible true", "visible false", "result no", "result yes", "result failed", "result barred",
		"decided by the first of several", "trusted true", "trusted false"}
	for _, s := range []string{"scope", "deny", "pin", "ask", "allow", "default"} {
		want = append(want, "decides "+s)
	}
	for _, k := range []engine.NearMissKind{engine.NearLoose, engine.NearNew, engine.NearServer, engine.NearName, engine.NearHalf, engine.NearHint} {
		want = append(want, "near "+k.String())
	}
	count.requireAll(t, caseCount()/2, func() {
		tryExplain(t, g, pick(g, []Kind{Tool, Tool, Tool, Resource, Prompt}), count)
	}, want...)
}

func TestRandomExplanationsOfSnapshotsAreOfTheDecisionThatIsMade(t *testing.T) {
	g, count := FromSeed(seed(t)), &tally{}
	count.requireAll(t, caseCount()/10, func() {
		tryExplainSnapshot(t, g, count)
	}, "found true, seen true", "found true, seen false", "found false, seen false", "near a server")
}

// explained is an explanation and the case it is of, for messages.
type explained struct {
	engine.Explanation
	c Case
	t *testing.T
}

func (x explained) fail(format string, args ...any) {
	x.t.Helper()
	x.t.Fatalf("%s\nexplanation: %+v\ncase: filter %+v\n policy %+v\n target %#v\n request %#v",
		fmt.Sprintf(format, args...), x.Explanation, x.c.Filter, x.c.Policy, x.c.Target, x.c.Request)
}

func tryExplain(t *testing.T, g *Gen, kind Kind, count *tally) {
	ctx := context.Background()
	g.Valid = true
	f, p := g.Filter(), g.Policy(kind)
	if kind == Tool && !p.AllowAll && (p.Scope == nil || slices.Contains(p.Scope, Tool)) && g.odds(30) {
		hint := Rule{Form: Annotation, Text: pick(g, []string{"read_only", "destructive"}), Want: true}
		p.Allow = append(p.Allow, Rule{Form: All, Rules: []Rule{{Form: Pattern, Text: "*"}, hint}})
	}
	g.Valid = false
	filter, err := f.Compile()
	if err != nil {
		t.Fatalf("%v\n%s", err, f.Text())
	}
	policy, err := p.Compile()
	if err != nil {
		t.Fatalf("%v\n%s", err, p.Text())
	}
	for range 4 {
		c := g.Question(p, kind)
		if kind == Tool && g.odds(50) {
			c.Target = g.Target(Tool, append(f.Include, f.Exclude...)...)
		}
		c.Filter = f
		tool, call, req := c.Target.Tool(), c.EngineCall(), c.Request.Engine()
		x := explained{c: c, t: t}
		switch kind {
		case Resource:
			x.Explanation = policy.ExplainResource(c.Target.Server, c.Target.Name, req)
		case Prompt:
			x.Explanation = policy.ExplainPrompt(c.Target.Server, c.Target.Name, req)
		default:
			x.Explanation = engine.Explain(ctx, filter, policy, call, tool, req)
		}
		asked := c
		asked.Filter = nil // of resources and prompts it says nothing
		want := asked.AskEngine(nil, policy)
		got := OutcomeOf(x.Decision, x.Err)
		if want != got {
			x.fail("it explains %+v, the policy says %+v", got, want)
		}
		if x.Err != nil {
			count.add("refused")
			if len(x.Steps) > 0 {
				x.fail("steps of a call that was refused")
			}
			continue
		}
		if kind == Tool && x.Visible != filter.Visible(ctx, tool, req) {
			x.fail("visible %t, and the filter says otherwise", x.Visible)
		}
		if wantTrust := kind == Tool && p.trusts(c.Target.Server); x.Trusted != wantTrust && !p.AllowAll && got.Source != "scope" {
			x.fail("trusted %t, want %t", x.Trusted, wantTrust)
		}
		if kind == Tool {
			x.checkFilter(len(f.Include) == 0)
		}
		x.checkSteps(count)
		count.add("visible %t", x.Visible)
		count.add("trusted %t", x.Trusted)
	}
}

// trusts reports whether the hints of a server are believed, by the definition.
func (p *Policy) trusts(server string) bool {
	return p.Trusted.All || slices.Contains(p.Trusted.IDs, server)
}

// checkFilter fails unless the entries that are shown make the filter's answer.
func (x explained) checkFilter(showAll bool) {
	x.t.Helper()
	hides, shows := false, showAll
	for _, tr := range x.Filter {
		x.checkTrace(tr)
		switch {
		case !tr.Counts:
		case tr.Rule.List == engine.ListExclude:
			hides = true
		default:
			shows = true
		}
	}
	if x.Visible != (shows && !hides) {
		x.fail("visible %t, by its entries %t", x.Visible, shows && !hides)
	}
}

// checkSteps fails unless the steps make the decision.
func (x explained) checkSteps(count *tally) {
	x.t.Helper()
	decided := 0
	for _, s := range x.Steps {
		var counting []engine.RuleTrace
		for _, tr := range s.Rules {
			x.checkTrace(tr)
			count.add("result %s", tr.Result)
			if tr.Counts {
				counting = append(counting, tr)
			}
		}
		if s.Decides {
			decided++
			count.add("decides %s", s.Source)
			if s.Source != x.Decision.Source {
				x.fail("step %s decides, and the source is %s", s.Source, x.Decision.Source)
			}
			id := ""
			if len(counting) > 0 {
				id = counting[0].Rule.ID
			}
			if id != x.Decision.RuleID() {
				x.fail("the first rule that counts is %q, and %q decides", id, x.Decision.RuleID())
			}
			if len(counting) > 1 {
				count.add("decided by the first of several")
			}
			if id != "" && (counting[0].Result == engine.ResultFailed) != (x.Decision.Err != nil) {
				x.fail("the deciding rule: %v, the decision: %v", counting[0].Err, x.Decision.Err)
			}
		} else if decided == 0 && len(counting) > 0 {
			x.fail("%s counts in step %s, which does not decide", counting[0].Rule.ID, s.Source)
		}
	}
	if decided != 1 {
		x.fail("%d steps decide", decided)
	}
	for _, m := range x.NearMisses {
		count.add("near %s", m.Kind)
		x.checkNearMiss(m)
	}
}

// checkTrace fails unless a rule says what its members say.
func (x explained) checkTrace(tr engine.RuleTrace) {
	x.t.Helper()
	if (tr.Err != nil) != (tr.Result == engine.ResultFailed) {
		x.fail("%s: %s, and its error is %v", tr.Rule.ID, tr.Result, tr.Err)
	}
	takesAway := tr.Rule.List != engine.ListAllow && tr.Rule.List != engine.ListInclude
	switch tr.Result {
	case engine.ResultYes:
		if !tr.Counts {
			x.fail("%s matches and does not count", tr.Rule.ID)
		}
	case engine.ResultFailed:
		if tr.Counts != takesAway {
			x.fail("%s failed, and counts: %t", tr.Rule.ID, tr.Counts)
		}
	default:
		if tr.Counts {
			x.fail("%s counts, and the result is %s", tr.Rule.ID, tr.Result)
		}
	}
	if tr.Members == nil {
		return
	}
	all := engine.ResultYes
	for _, m := range tr.Members {
		if m.Result == engine.ResultNo {
			all = engine.ResultNo
			break
		}
		if m.Result == engine.ResultFailed {
			all = engine.ResultFailed
		}
		if (m.Err != nil) != (m.Result == engine.ResultFailed) {
			x.fail("%s: member %s: %s, and its error is %v", tr.Rule.ID, m.Text, m.Result, m.Err)
		}
	}
	if got := tr.Result; got != all && !(got == engine.ResultBarred && all == engine.ResultYes) {
		x.fail("%s: %s, by its members %s", tr.Rule.ID, got, all)
	}
}

// checkNearMiss fails for a rule that matches.
func (x explained) checkNearMiss(m engine.NearMiss) {
	x.t.Helper()
	steps := append([]engine.Step{{Rules: x.Filter}}, x.Steps...)
	for _, s := range steps {
		for _, tr := range s.Rules {
			same := tr.Rule.List == m.Rule.List && tr.Rule.Index == m.Rule.Index
			if same && (tr.Counts || m.Kind != engine.NearNew || tr.Result != engine.ResultBarred) {
				x.fail("%s is near (%s), and it says %s", m.Rule.ID, m.Kind, tr.Result)
			}
		}
	}
}

func tryExplainSnapshot(t *testing.T, g *Gen, count *tally) {
	ctx := context.Background()
	g.Valid = true
	p := newPlay(t, g, count)
	p.apply(p.randomViews())
	for range 1 + g.Intn(3) {
		p.refresh(p.randomTools())
	}
	m := p.now()
	for range 6 {
		target := g.Target(Tool, p.rules(m.world)...)
		if known := toolsOf(m.world, pick(g, worldServers)); len(known) > 0 && g.odds(80) {
			target = pick(g, known)
		}
		q := g.Request(target)
		if g.odds(70) {
			q.Approved = nil
		}
		view, v := "", m.snapshot.View("")
		call := &engine.Call{Server: target.Server, Name: target.Name, Args: q.Args}
		d, err := v.Decide(ctx, call, q.Engine())
		w := m.world.Views[view]
		x := explained{v.Explain(ctx, call, q.Engine()), Case{Filter: w.Filter, Policy: w.Policy, Target: target, Request: q}, t}
		_, there := m.world.Tool(target.Server, target.Name)
		if x.Found != there || !errors.Is(x.Err, err) || x.Visible != (err == nil) {
			x.fail("found %t, error %v, visible %t; there %t, error %v", x.Found, x.Err, x.Visible, there, err)
		}
		if err == nil && OutcomeOf(d, nil) != OutcomeOf(x.Decision, nil) {
			x.fail("it explains %v, the decision is %v", x.Decision, d)
		}
		if x.Found {
			if w.Filter != nil {
				x.checkFilter(len(w.Filter.Include) == 0)
			}
			if w.Policy != nil {
				x.checkSteps(count)
			}
		} else if len(x.NearMisses) > 0 {
			count.add("near a server")
		}
		count.add("found %t, seen %t", x.Found, x.Visible)
	}
}
