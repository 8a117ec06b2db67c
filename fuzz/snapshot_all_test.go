package fuzz

import "testing"

// Everything that can happen in a small world, in every order: two servers whose ids are nearly one, two names, four
// configurations that share parts.
var (
	smallFilter  = &Filter{Exclude: []Rule{{Form: Pattern, Text: "a_b/x"}}} // hides x on both servers
	smallDynamic = &Filter{Include: []Rule{{Form: Predicate, Text: "hide_attribute"}, {Form: Pattern, Text: "a-b/*"}}}
	smallPolicy  = &Policy{
		Deny:  []Rule{{Form: All, Rules: []Rule{{Form: Pattern, Text: "y"}, {Form: Tainted}}}},
		Allow: []Rule{{Form: Pattern, Text: "a_b/x"}, {Form: Pattern, Text: "*/y"}},
	}
	smallOther = &Policy{Ask: []Rule{{Form: Pattern, Text: "a-b/*"}}, Default: "deny"}

	smallBaseline = []Approval{{Server: "a_b", Name: "x", Fingerprint: "A"}, {Server: "a_b", Name: "y", Fingerprint: "A"}}

	smallServers = []string{"a_b", "a-b"}
	smallNames   = []string{"x", "y"}
)

// smallSteps are all changes of the small world.
func smallSteps() []func(*play) {
	var steps []func(*play)
	x, y, changed := Target{Kind: Tool, Name: "x", Fingerprint: "A"}, Target{Kind: Tool, Name: "y", Fingerprint: "A"}, Target{Kind: Tool, Name: "x", Fingerprint: "B"}
	for _, id := range smallServers {
		for _, tools := range [][]Target{{y, x}, {changed}} {
			steps = append(steps, func(p *play) { p.refresh(id, tools) })
		}
		steps = append(steps, func(p *play) { p.remove(id) })
	}
	steps = append(steps,
		func(p *play) { p.refresh("a_b", []Target{x, x}) }, // both in quarantine
		func(p *play) { p.refresh("a:b", []Target{x}) },    // refused
	)
	for _, c := range []struct {
		view     View
		baseline []Approval
	}{
		{View{&Filter{}, smallPolicy}, nil},
		{View{smallFilter, smallPolicy}, smallBaseline},
		{View{smallDynamic, smallPolicy}, smallBaseline},
		{View{smallFilter, smallOther}, smallBaseline},
	} {
		steps = append(steps, func(p *play) { p.apply(map[string]View{"": c.view}, c.baseline) })
	}
	return steps
}

// smallRequests differ in whatever the small policies and filters look at.
var smallRequests = []Request{
	{},
	{HasApprover: true, Taint: []string{"web"}, Attributes: map[string]any{"hide": true}},
	{HasApprover: true, Approved: []Approval{{Server: "a-b", Name: "y", Fingerprint: "A"}}},
}

func TestEveryInterleavingOfASmallWorldAnswersLikeTheReference(t *testing.T) {
	length := 4
	if testing.Short() {
		length = 3
	}
	steps, count := smallSteps(), &tally{}
	run := func(sequence []int) {
		p := newPlay(t, nil, count)
		for _, n := range sequence {
			steps[n](p)
			for _, server := range smallServers {
				p.hold("", Call{Server: server, Name: "y"})
			}
		}
		// A moment that a shorter sequence asked about is asked again, now that more has been published.
		for _, m := range p.moments {
			for _, q := range smallRequests {
				for _, server := range smallServers {
					for _, name := range smallNames {
						p.ask(m, "", Call{Server: server, Name: name}, q)
					}
				}
				p.list(m, "", q)
				p.askRefs(m, "", q)
			}
		}
	}
	sequence := make([]int, length)
	for {
		run(sequence)
		i := length - 1
		for ; i >= 0; i-- {
			if sequence[i]++; sequence[i] < len(steps) {
				break
			}
			sequence[i] = 0
		}
		if i < 0 {
			break
		}
	}
	count.requireAll(t, 0, nil,
		"refresh", "refused refresh", "remove", "apply", "quarantine",
		"source deny", "source pin", "source ask", "source allow", "source default",
		"found true, there true", "found false, there true", "found false, there false", "stale reference", "good reference",
	)
}
