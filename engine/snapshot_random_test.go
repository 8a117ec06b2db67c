package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/fuzz"
)

// randomWorld is an engine with one random view, and the parts it was made of.
type randomWorld struct {
	e        *engine.Engine
	f        *engine.Filter
	p        *engine.Policy
	base     *engine.Baseline
	approved map[engine.Target]engine.Fingerprint
	tools    []*engine.Tool // server ids bytewise, then the servers' own order
	targets  []fuzz.Target  // the same
	rules    fuzz.Policy
}

func newRandomWorld(t *testing.T, g *fuzz.Gen) *randomWorld {
	w := &randomWorld{approved: map[engine.Target]engine.Fingerprint{}}
	filter, policy := g.Filter(), g.Policy(fuzz.Tool)
	if g.Intn(3) > 0 {
		filter.Include = nil // most tools are hidden else
	}
	var err error
	w.f, err = filter.Compile()
	require.NoError(t, err)
	w.p, err = policy.Compile()
	require.NoError(t, err)
	w.rules = *policy
	rules := slices.Concat(policy.Deny, policy.Ask, policy.Allow, filter.Include, filter.Exclude)
	servers := []string{"FS", "a-b", "a_b", "fs"} // ascending
	lists := make([][]engine.Tool, len(servers))
	seen := map[engine.Target]bool{}
	for i, server := range servers {
		for range g.Intn(5) {
			target := g.Target(fuzz.Tool, rules...)
			target.Server = server
			tool := target.Tool()
			if seen[tool.Target()] || fuzz.Quarantined(tool.Name) {
				continue
			}
			seen[tool.Target()] = true
			lists[i] = append(lists[i], *tool)
			w.tools, w.targets = append(w.tools, tool), append(w.targets, target)
			if approved := g.Request(target).Engine().Approved; g.Intn(3) > 0 {
				for _, to := range approved.Targets() {
					w.approved[to], _ = approved.Lookup(to)
				}
			}
		}
	}
	w.base = engine.NewBaseline(w.approved)
	w.e, err = engine.New(engine.Config{Views: map[string]engine.View{"": {w.f, w.p}}, Baseline: w.base})
	require.NoError(t, err)
	for _, i := range rand.Perm(len(servers)) { // the order of the refreshes makes no difference
		_, err := w.e.Refresh(servers[i], lists[i])
		require.NoError(t, err)
	}
	return w
}

// text is everything a decision says.
func text(d engine.Decision, err error) string {
	return fmt.Sprintf("%v by %v (%v), rule %q, new %t, failed %v; %v", d.Action, d.Source, d.Reason, d.RuleID(), d.New, d.Err, err)
}

// request makes a random request about a tool, and the one that asks the stateless functions the same.
func (w *randomWorld) request(g *fuzz.Gen, i int) (call *engine.Call, req, stateless *engine.Request) {
	q := g.Request(w.targets[i])
	req = q.Engine()
	if g.Intn(3) > 0 {
		req.Approved = nil
	}
	full := *req
	if full.Approved == nil {
		full.Approved = w.base
	}
	return &engine.Call{Server: w.tools[i].Server, Name: w.tools[i].Name, Args: q.Args}, req, &full
}

func randomWorlds(t *testing.T, run func(w *randomWorld, g *fuzz.Gen)) {
	n := rand.Uint64()
	t.Logf("seed %d", n)
	g := fuzz.FromSeed(n)
	g.Valid = true
	worlds := 3000
	if testing.Short() {
		worlds = 1200
	}
	for range worlds {
		run(newRandomWorld(t, g), g)
	}
}

func TestEveryDecisionOfASnapshotIsThatOfEvaluateBehindVisible(t *testing.T) {
	count := map[string]int{}
	randomWorlds(t, func(w *randomWorld, g *fuzz.Gen) {
		v := w.e.Snapshot().View("")
		for i, tool := range w.tools {
			call, req, stateless := w.request(g, i)
			var want string
			if w.f.Visible(ctx, tool, stateless) {
				want = text(w.p.Evaluate(ctx, call, tool, stateless))
			} else {
				want = text(engine.Decision{}, engine.ErrNotFound)
			}
			d, err := v.Decide(ctx, call, req)
			require.Equal(t, want, text(d, err), "Decide %+v\nrequest %+v\nrules %+v", call, req, w.rules)
			count[d.Source.String()]++
			if d.Err != nil {
				count["failed"]++
			}
			ref, ok := v.Ref(call.Server, call.Name)
			require.Equal(t, w.f.StaticVisible(tool), ok)
			if ok {
				require.Equal(t, want, text(v.DecideRef(ctx, ref, call.Args, req)), "DecideRef %+v\nrequest %+v\nrules %+v", call, req, w.rules)
			}
		}
	})
	for _, source := range []string{"none", "scope", "deny", "pin", "ask", "allow", "default", "failed"} {
		require.Positive(t, count[source], "%s; all: %v", source, count)
	}
}

func TestEveryExplanationIsOfTheDecision(t *testing.T) {
	count := map[string]int{}
	randomWorlds(t, func(w *randomWorld, g *fuzz.Gen) {
		v := w.e.Snapshot().View("")
		for i, tool := range w.tools {
			if g.Intn(4) > 0 {
				continue
			}
			call, req, stateless := w.request(g, i)
			d, err := v.Decide(ctx, call, req)
			evaluated, _ := w.p.Evaluate(ctx, call, tool, stateless)
			for how, x := range map[string]engine.Explanation{"snapshot": v.Explain(ctx, call, req), "stateless": engine.Explain(ctx, w.f, w.p, call, tool, stateless)} {
				require.Equal(t, tool.Target(), x.Target, how)
				require.True(t, x.Found, how)
				require.Equal(t, err == nil, x.Visible, how)
				require.Equal(t, text(evaluated, nil), text(x.Decision, nil), how)
				if how == "snapshot" {
					require.Equal(t, err, x.Err)
				}
				deciding := 0
				for _, s := range x.Steps {
					if !s.Decides {
						continue
					}
					deciding++
					require.Equal(t, evaluated.Source, s.Source, how)
					first := ""
					for _, r := range s.Rules {
						if r.Counts && first == "" {
							first = r.Rule.ID
						}
					}
					require.Equal(t, evaluated.RuleID(), first, "%s: the first rule of the step that counts is the one reported", how)
				}
				require.Equal(t, 1, deciding, how)
			}
			count[d.Source.String()]++
		}
	})
	for _, source := range []string{"none", "scope", "deny", "pin", "ask", "allow", "default"} {
		require.Positive(t, count[source], "%s; all: %v", source, count)
	}
}

func TestABaselineOfTheRequestIsJudgedLikeTheEnginesOwn(t *testing.T) {
	news, changes := 0, 0
	randomWorlds(t, func(w *randomWorld, g *fuzz.Gen) {
		s := w.e.Snapshot()
		for i := range w.tools {
			call, req, _ := w.request(g, i)
			req.Approved = nil
			want := text(s.View("").Decide(ctx, call, req))
			for _, base := range []*engine.Baseline{s.Baseline(), engine.NewBaseline(w.approved)} { // itself, and one like it
				req.Approved = base
				d, err := s.View("").Decide(ctx, call, req)
				require.Equal(t, want, text(d, err), "%+v\nrequest %+v\nrules %+v", call, req, w.rules)
				if ref, ok := s.View("").Ref(call.Server, call.Name); ok {
					require.Equal(t, want, text(s.View("").DecideRef(ctx, ref, call.Args, req)))
				}
				if d.New {
					news++
				}
				if d.Source == engine.SourcePin {
					changes++
				}
			}
		}
	})
	require.Greater(t, news, 100)
	require.Greater(t, changes, 100)
}

func TestListsHoldWhatIsVisibleInTheirOrder(t *testing.T) {
	some, hidden := 0, 0
	buffer := make([]*engine.Tool, 0, 64)
	randomWorlds(t, func(w *randomWorld, g *fuzz.Gen) {
		if len(w.tools) == 0 {
			return
		}
		v := w.e.Snapshot().View("")
		_, req, stateless := w.request(g, g.Intn(len(w.tools)))
		var want, iterated []engine.Target
		for _, tool := range w.tools {
			sees := w.f.Visible(ctx, tool, stateless)
			require.False(t, sees && !w.f.StaticVisible(tool), "StaticVisible hides what Visible shows")
			if sees {
				want = append(want, tool.Target())
			} else {
				hidden++
			}
			known, ok := v.Tool(ctx, tool.Server, tool.Name, req)
			require.Equal(t, sees, ok)
			require.True(t, !ok || known.Target() == tool.Target())
		}
		for tool := range v.Tools(ctx, req) {
			iterated = append(iterated, tool.Target())
		}
		require.Equal(t, want, iterated)
		marker := new(engine.Tool)
		appended := v.AppendTools(ctx, append(buffer[:0], marker), req)
		require.Same(t, marker, appended[0], "what stands in dst stays")
		require.Equal(t, len(want), len(appended)-1)
		for i, tool := range appended[1:] {
			require.Equal(t, want[i], tool.Target())
		}
		// Who stops early is asked nothing more.
		for range v.Tools(ctx, req) {
			break
		}
		some += len(want)
	})
	require.Greater(t, some, 1000)
	require.Greater(t, hidden, 1000)
}

func TestWhatIsHiddenAndWhatIsNotThereFailWithTheSameError(t *testing.T) {
	hide := engine.Func("hide", func(_ context.Context, in engine.Input) (bool, error) { return in.Name() == "by_function", nil })
	fail := engine.Func("fail", func(_ context.Context, in engine.Input) (bool, error) { return false, errIfNamed(in, "by_failure") })
	e := newEngine(t, engine.FilterOptions{Exclude: append(rules("*/by_pattern"), hide, fail)}, engine.PolicyOptions{Allow: rules("*"), AllowNewTools: true})
	refresh(t, e, "s", "seen", "by_pattern", "by_function", "by_failure", "")
	refresh(t, e, "gone", "seen")
	e.Remove("gone")
	s := e.Snapshot()
	want, err := s.View("").Decide(ctx, &engine.Call{Server: "s", Name: "none"}, nil)
	require.Equal(t, engine.ErrNotFound, err)
	require.Equal(t, engine.Decision{}, want)
	for _, call := range []*engine.Call{
		{Server: "s", Name: "by_pattern"}, {Server: "s", Name: "by_function"}, {Server: "s", Name: "by_failure"},
		{Server: "s", Name: ""}, {Server: "s", Name: "Seen"}, {Server: "S", Name: "seen"}, {Server: "gone", Name: "seen"}, {Server: "", Name: "seen"},
		{Server: "s/", Name: "seen"}, {Server: "*", Name: "*"}, {Server: "s", Name: "*"}, {Server: "s\x00seen"}, {Name: "s/seen"}, nil,
	} {
		for _, req := range []*engine.Request{nil, {HasApprover: true}, {Approved: engine.NewBaseline(nil)}} {
			d, err := s.View("").Decide(ctx, call, req)
			require.True(t, err == engine.ErrNotFound, "%+v: %v", call, err) // the very value: no text and no wrapping differs
			require.Equal(t, engine.Decision{}, d, "%+v", call)
			if call == nil {
				continue
			}
			if ref, ok := s.View("").Ref(call.Server, call.Name); ok {
				d, err := s.View("").DecideRef(ctx, ref, nil, req)
				require.True(t, err == engine.ErrNotFound, "%+v: %v", call, err)
				require.Equal(t, engine.Decision{}, d, "%+v", call)
			}
		}
	}
	_, err = s.View("").Decide(ctx, &engine.Call{Server: "s", Name: "seen"}, nil)
	require.NoError(t, err)
}

func errIfNamed(in engine.Input, name string) error {
	if in.Name() == name {
		return errors.New("this predicate fails")
	}
	return nil
}
