package fuzz

import (
	"slices"
	"testing"
)

// worldServers are the servers that random worlds are about: some differ only by case or fold.
var worldServers = []string{"fs", "FS", "a_b", "a-b", "gh"}

// viewNames are the views of random worlds. The last one is never configured.
var viewNames = []string{"", "agents", "nobody"}

// step makes one random change, or asks.
func (p *play) step() {
	g := p.g
	switch n := g.Intn(100); {
	case n < 20:
		p.questions(pick(g, p.moments), 2)
	case n < 55:
		p.refresh(p.randomTools())
	case n < 65:
		p.remove(pick(g, worldServers))
	default:
		p.apply(p.randomViews())
	}
}

func (p *play) randomTools() (string, []Target) {
	g, id := p.g, pick(p.g, worldServers)
	rules := p.rules(p.now().world)
	var tools []Target
	for range g.Intn(6) {
		t := g.Target(Tool, rules...)
		t.Server = id
		switch {
		case g.odds(30):
			t.Server = ""
		case g.odds(2):
			t.Server = pick(g, worldServers)
		}
		tools = append(tools, t)
		if g.odds(8) {
			t.Fingerprint = "B"
			tools = append(tools, t) // the name twice
		}
	}
	if old := toolsOf(p.now().world, id); len(old) > 0 && g.odds(40) { // some stay, some with another definition
		for _, t := range old {
			if g.odds(30) {
				t.Fingerprint, t.Raw = "", pick(g, raws)
			}
			tools = append(tools, t)
		}
	}
	if g.odds(2) {
		id = pick(g, badServers)
	}
	return id, tools
}

// rules returns the rules of all views of a world.
func (p *play) rules(w World) []Rule {
	var rules []Rule
	for _, name := range viewNames {
		v := w.Views[name]
		if v.Filter != nil {
			rules = slices.Concat(rules, v.Filter.Include, v.Filter.Exclude)
		}
		if v.Policy != nil {
			rules = slices.Concat(rules, v.Policy.Deny, v.Policy.Ask, v.Policy.Allow)
		}
	}
	return rules
}

// randomViews changes one part of the configuration, or several.
func (p *play) randomViews() (map[string]View, []Approval) {
	g, w := p.g, p.now().world
	views := map[string]View{}
	for _, name := range viewNames[:2] {
		if v, ok := w.Views[name]; ok {
			views[name] = v
		}
		if len(w.Views) > 0 && g.odds(40) {
			continue
		}
		v := views[name]
		if len(p.filters) < 2 || g.odds(30) {
			p.filters = append(p.filters, p.randomFilter())
		}
		if len(p.policies) < 2 || g.odds(40) {
			p.policies = append(p.policies, g.Policy(Tool))
		}
		if v.Filter == nil || g.odds(50) {
			v.Filter = pick(g, p.filters)
		}
		if v.Policy == nil || g.odds(70) {
			v.Policy = pick(g, p.policies)
		}
		if g.odds(3) {
			v.Filter = nil
		}
		if g.odds(3) {
			v.Policy = nil
		}
		views[name] = v
		if g.odds(5) {
			delete(views, name)
		}
	}
	baseline := w.Baseline
	switch {
	case baseline == nil && g.odds(70), g.odds(40):
		baseline = []Approval{}
		for _, s := range w.Servers {
			for _, t := range s.Tools {
				if g.odds(70) {
					baseline = append(baseline, g.approvals(t)...)
				}
			}
		}
	case g.odds(5):
		baseline = nil
	}
	return views, baseline
}

// randomFilter hides less than any filter would, so that something is left to decide.
func (p *play) randomFilter() *Filter {
	f := p.g.Filter()
	if p.g.odds(60) {
		f.Include = nil
	}
	if p.g.odds(60) {
		f.Exclude = nil
	}
	return f
}

// questions asks a moment n times, about tools that it has and others.
func (p *play) questions(m moment, n int) {
	g := p.g
	view := pick(g, viewNames)
	if g.odds(85) {
		view = viewNames[g.Intn(2)]
	}
	var q Request
	for range n {
		t := g.Target(Tool, p.rules(m.world)...)
		if other := pick(g, p.moments); g.odds(90) {
			if g.odds(80) {
				other = m
			}
			var known []Target
			for _, s := range other.world.Servers {
				known = append(known, s.Tools...)
			}
			if len(known) > 0 {
				t = pick(g, known)
			}
		}
		q = g.Request(t)
		g.satisfy(p.rules(m.world), &q)
		if g.odds(70) {
			q.Approved = nil
		}
		call := Call{Server: t.Server, Name: t.Name}
		p.ask(m, view, call, q)
		p.hold(view, call)
	}
	p.list(m, view, q)
	p.askRefs(m, view, q)
}

// playOut makes random changes and then asks every moment.
func playOut(t *testing.T, g *Gen, count *tally) {
	g.Valid = true
	p := newPlay(t, g, count)
	p.apply(p.randomViews())
	p.refresh(p.randomTools())
	for range g.Intn(10) {
		p.step()
	}
	for _, m := range p.moments {
		p.questions(m, 3)
	}
}

func TestRandomInterleavingsAnswerLikeTheReferenceOfTheirGeneration(t *testing.T) {
	g, count := FromSeed(seed(t)), &tally{}
	count.requireAll(t, max(600, caseCount()/20), func() {
		playOut(t, g, count)
	}, "refresh", "refused refresh", "remove", "apply", "quarantine",
		"action deny", "action ask", "action allow",
		"source none", "source scope", "source deny", "source pin", "source ask", "source allow", "source default",
		"found true, there true", "found false, there true", "found false, there false",
		"own baseline true, approver true", "own baseline false, approver true", "own baseline true, approver false",
		"list empty true", "list empty false", "stale reference", "good reference",
	)
}

// FuzzSnapshot turns the input into changes of an engine and questions to all of its generations.
func FuzzSnapshot(f *testing.F) {
	for n := range uint64(8) {
		g := FromSeed(n)
		data := make([]byte, 400)
		for i := range data {
			data[i] = byte(g.Intn(256))
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		playOut(t, FromBytes(data), &tally{})
	})
}
