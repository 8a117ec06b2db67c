package fuzz

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// These properties need no reference: they relate two answers of the engine. Each holds for every policy and request.

func FuzzProperties(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) { tryProperties(t, FromBytes(data), &tally{}) })
}

func TestRandomPoliciesHaveTheProperties(t *testing.T) {
	g, count := FromSeed(seed(t)), &tally{}
	count.requireAll(t, caseCount()/4, func() {
		tryProperties(t, g, count)
	}, "more deny: lower", "more deny: same", "more ask: lower", "fewer allow: lower", "fewer allow: same",
		"permuted: other rule", "permuted: same rule", "no approver: lower", "no approver: same",
		"exact", "wrapped", "excluded", "include removed",
	)
}

var rank = map[string]int{"deny": 0, "ask": 1, "allow": 2}

// answer compiles and asks the engine.
func (c Case) answer(t *testing.T) Outcome {
	t.Helper()
	p, err := c.Policy.Compile()
	require.NoError(t, err, c.Policy.Text())
	return c.AskEngine(nil, p)
}

func tryProperties(t *testing.T, g *Gen, count *tally) {
	g.Valid = true
	kind := pick(g, []Kind{Tool, Tool, Tool, Resource, Prompt})
	p := g.Policy(kind)
	c := g.Question(p, kind)
	before := c.answer(t)
	if again := c.answer(t); again != before {
		complain(t, c, "the same question", before, again)
	}
	if before.Refused {
		return
	}
	with := func(change func(*Policy)) Outcome {
		q := *p
		q.Deny, q.Ask, q.Allow = slices.Clone(p.Deny), slices.Clone(p.Ask), slices.Clone(p.Allow)
		change(&q)
		other := c
		other.Policy = &q
		return other.answer(t)
	}
	// notRaised fails where a change that may only take away gave more.
	notRaised := func(what string, after Outcome) {
		if rank[after.Action] > rank[before.Action] {
			complain(t, c, what, before, after)
		}
		count.add("%s: %s", what, map[bool]string{true: "same", false: "lower"}[after.Action == before.Action])
	}
	of := pick(g, p.scope())
	if slices.Contains(p.scope(), kind) {
		of = kind
	}

	// More deny never raises an outcome, and more ask raises none but the default deny, and that to ask.
	extra := g.Rule(of, 2)
	notRaised("more deny", with(func(q *Policy) { q.Deny = slices.Insert(q.Deny, g.Intn(len(q.Deny)+1), extra) }))
	asking := with(func(q *Policy) { q.Ask = slices.Insert(q.Ask, g.Intn(len(q.Ask)+1), extra) })
	if before.Source != "default" || asking.Action != "ask" {
		notRaised("more ask", asking)
	}
	// Fewer allow never raises one.
	if len(p.Allow) > 0 {
		i := g.Intn(len(p.Allow))
		notRaised("fewer allow", with(func(q *Policy) { q.Allow = slices.Delete(q.Allow, i, i+1) }))
	}
	// One more member makes an all in allow match less.
	for i, r := range p.Allow {
		if r.Form != Named {
			if k, _ := r.kind(); k == of {
				member := g.Rule(of, 1)
				if !member.exact() || p.AllowNewTools || kind != Tool {
					notRaised("more members", with(func(q *Policy) { q.Allow[i] = Rule{Form: All, Rules: []Rule{r, member}} }))
				}
			}
		}
	}

	// Permuting a list changes the reported id and reason, and the error, and nothing else.
	permuted := with(func(q *Policy) {
		for _, list := range [][]Rule{q.Deny, q.Ask, q.Allow} {
			for i := len(list) - 1; i > 0; i-- {
				j := g.Intn(i + 1)
				list[i], list[j] = list[j], list[i]
			}
		}
	})
	if permuted.Action != before.Action || permuted.Source != before.Source || permuted.New != before.New {
		complain(t, c, "a permuted list", before, permuted)
	}
	count.add("permuted: %s rule", map[bool]string{true: "same", false: "other"}[permuted.Rule == before.Rule])

	// Without an approver the result is the same with ask turned into deny.
	asked, alone := c, c
	asked.Request.HasApprover, alone.Request.HasApprover = true, false
	want, got := asked.answer(t), alone.answer(t)
	if want.Source == "ask" {
		want.Reason = "no_approver"
	}
	lower := want.Action == "ask"
	if lower {
		want.Action = "deny"
	}
	if want != got {
		complain(t, c, "no approver", want, got)
	}
	count.add("no approver: %s", map[bool]string{true: "lower", false: "same"}[lower])

	tryExactAndWrapped(t, g, c, count)
	tryFilterProperties(t, g, count)
}

// tryExactAndWrapped: what a rule matches in allow it matches in deny, ask and exclude, too, and a rule wrapped in an all
// or a name of its own is the same rule.
func tryExactAndWrapped(t *testing.T, g *Gen, c Case, count *tally) {
	kind := c.Target.Kind
	r := g.Rule(kind, 2)
	g.fit(r, &c.Target)
	g.satisfy([]Rule{r}, &c.Request)
	c.Call = nil
	if checkServerID(c.Target.Server) != nil {
		return
	}
	ask := func(p Policy) Outcome {
		p.Scope, p.NoPins, p.AllowNewTools, p.Trusted = []Kind{kind}, true, true, c.Policy.Trusted
		other := c
		other.Policy = &p
		return other.answer(t)
	}
	rules := []Rule{r}
	allowed, denied, asked := ask(Policy{Allow: rules}), ask(Policy{Deny: rules}), ask(Policy{Ask: rules})
	if allowed.Source == "allow" && (denied.Source != "deny" || asked.Source != "ask") {
		complain(t, c, "exact in allow, not loose in deny or ask: "+r.Document(), allowed, denied)
	}
	if (denied.Source == "deny") != (asked.Source == "ask") {
		complain(t, c, "deny and ask: "+r.Document(), denied, asked)
	}
	if allowed.Source == "allow" {
		count.add("exact")
	}
	for _, wrapped := range []Rule{{Form: All, Rules: rules}, {Form: All, Rules: []Rule{r, r}}, {Form: Named, ID: "deny", Rules: rules}} {
		for _, p := range []Policy{{Allow: []Rule{wrapped}}, {Deny: []Rule{wrapped}}, {Ask: []Rule{wrapped}}} {
			want := asked
			if p.Allow != nil {
				want = allowed
			} else if p.Deny != nil {
				want = denied
			}
			got := ask(p)
			if wrapped.Form == Named && got.Rule != "" && got.Rule != wrapped.ID {
				complain(t, c, "the id", want, got)
			}
			want.Rule, got.Rule = "", ""
			if want != got {
				complain(t, c, "wrapped: "+wrapped.Document(), want, got)
			}
		}
	}
	count.add("wrapped")
}

// tryFilterProperties: more exclude shows nothing new, one include fewer neither, order does not matter, and what is
// visible is visible statically.
func tryFilterProperties(t *testing.T, g *Gen, count *tally) {
	f := g.Filter()
	c := Case{Filter: f, Target: g.Target(Tool, append(f.Include, f.Exclude...)...)}
	c.Request = g.Request(c.Target)
	ask := func(f Filter) Outcome {
		compiled, err := f.Compile()
		require.NoError(t, err, f.Text())
		return c.AskEngine(compiled, nil)
	}
	before := ask(*f)
	notShown := func(what string, after Outcome) {
		if after.Visible && !before.Visible || after.StaticVisible && !before.StaticVisible {
			complain(t, c, what, before, after)
		}
		if after != before {
			count.add("%s", what)
		}
	}
	if before.Visible && !before.StaticVisible {
		complain(t, c, "visible implies statically visible", before, before)
	}
	more := slices.Insert(slices.Clone(f.Exclude), g.Intn(len(f.Exclude)+1), g.filterRule())
	notShown("excluded", ask(Filter{Include: f.Include, Exclude: more}))
	if len(f.Include) > 1 {
		i := g.Intn(len(f.Include))
		notShown("include removed", ask(Filter{Include: slices.Delete(slices.Clone(f.Include), i, i+1), Exclude: f.Exclude}))
	}
	reversed := Filter{Include: slices.Clone(f.Include), Exclude: slices.Clone(f.Exclude)}
	slices.Reverse(reversed.Include)
	slices.Reverse(reversed.Exclude)
	if after := ask(reversed); after != before {
		complain(t, c, "order", before, after)
	}
	// What an include entry matches, the same entry hides in exclude.
	for _, r := range f.Include {
		if ask(Filter{Include: []Rule{r}}).Visible && ask(Filter{Exclude: []Rule{r}}).Visible {
			complain(t, c, "exact in include, not loose in exclude: "+r.Document(), before, before)
		}
	}
}
