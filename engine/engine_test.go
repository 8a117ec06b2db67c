package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/penstock-mcp/penstock/engine"
)

var ctx = context.Background()

// rules are patterns as a list of rules.
func rules(patterns ...string) []engine.Rule {
	list := make([]engine.Rule, len(patterns))
	for i, p := range patterns {
		list[i] = engine.Pattern(p)
	}
	return list
}

func compileFilter(t testing.TB, o engine.FilterOptions) *engine.Filter {
	t.Helper()
	f, err := engine.CompileFilter(o)
	require.NoError(t, err)
	return f
}

func compilePolicy(t testing.TB, o engine.PolicyOptions) *engine.Policy {
	t.Helper()
	p, err := engine.CompilePolicy(o)
	require.NoError(t, err)
	return p
}

// newEngine returns an engine with one view, "".
func newEngine(t testing.TB, f engine.FilterOptions, p engine.PolicyOptions) *engine.Engine {
	t.Helper()
	e, err := engine.New(engine.Config{Views: map[string]engine.View{
		"": {Filter: compileFilter(t, f), Policy: compilePolicy(t, p)},
	}})
	require.NoError(t, err)
	return e
}

// openEngine returns an engine with one view, "", that shows everything and allows everything.
func openEngine(t testing.TB) *engine.Engine {
	return newEngine(t, engine.FilterOptions{}, engine.PolicyOptions{Allow: rules("*"), AllowNewTools: true, DisablePins: true})
}

func refresh(t testing.TB, e *engine.Engine, server string, names ...string) engine.Report {
	t.Helper()
	tools := make([]engine.Tool, len(names))
	for i, n := range names {
		tools[i].Name = n
	}
	report, err := e.Refresh(server, tools)
	assert.NoError(t, err)
	return report
}

// names returns what the view "" shows, as "server name".
func names(s *engine.Snapshot) []string {
	list := []string{}
	for tool := range s.View("").Tools(ctx, nil) {
		list = append(list, tool.Server+" "+tool.Name)
	}
	return list
}

func TestEveryPublishedStateHasAGenerationOfItsOwn(t *testing.T) {
	e := openEngine(t)
	require.EqualValues(t, 1, e.Snapshot().Generation())
	seen := map[uint64]*engine.Snapshot{1: e.Snapshot()}
	for i, change := range []func() uint64{
		func() uint64 { return refresh(t, e, "a", "x").Generation },
		func() uint64 { return refresh(t, e, "a", "x").Generation },
		func() uint64 { return refresh(t, e, "b").Generation },
		func() uint64 { e.Remove("a"); return e.Snapshot().Generation() },
		func() uint64 { assert.NoError(t, e.Apply(engine.Config{})); return e.Snapshot().Generation() },
	} {
		g := change()
		s := e.Snapshot()
		assert.EqualValues(t, i+2, g)
		assert.Equal(t, g, s.Generation())
		assert.Nil(t, seen[g])
		seen[g] = s
	}
	for g, s := range seen {
		assert.Equal(t, g, s.Generation(), "a snapshot that is held keeps its generation")
	}
}

// waitFor waits until n writers have queued their change.
func waitFor(e *engine.Engine, n int) {
	for e.Waiting() < n {
		time.Sleep(100 * time.Microsecond)
	}
}

func TestWritersThatWaitArePublishedTogether(t *testing.T) {
	e := openEngine(t)
	before := e.Snapshot().Generation()
	const writers = 50
	release := e.HoldPublishing()
	var done sync.WaitGroup
	for i := range writers {
		done.Go(func() {
			server := fmt.Sprintf("s%02d", i)
			report := refresh(t, e, server, "x")
			assert.Equal(t, before+1, report.Generation)
			assert.Contains(t, names(e.Snapshot()), server+" x", "whoever returns from a write reads it")
		})
	}
	waitFor(e, writers)
	release()
	done.Wait()
	assert.Equal(t, before+1, e.Snapshot().Generation(), "%d writers that waited need one snapshot", writers)
	assert.Len(t, names(e.Snapshot()), writers)
	assert.Zero(t, e.Waiting())
}

func TestChangesThatArePublishedTogetherTakeEffectInTheirOrder(t *testing.T) {
	e := openEngine(t)
	refresh(t, e, "gone", "x")
	before := e.Snapshot().Generation()
	release := e.HoldPublishing()
	var done sync.WaitGroup
	for i, change := range []func(){
		func() { refresh(t, e, "a", "first") },
		func() { e.Remove("a") },
		func() { refresh(t, e, "b", "first") },
		func() { e.Remove("gone") },
		func() { refresh(t, e, "a", "second", "third") },
		func() { assert.NoError(t, e.Apply(engine.Config{})) },
		func() { refresh(t, e, "b", "last") },
		func() {
			v := engine.View{Filter: compileFilter(t, engine.FilterOptions{Exclude: rules("third")})}
			assert.NoError(t, e.Apply(engine.Config{Views: map[string]engine.View{"": v}}))
		},
		func() { e.Remove("c") },
		func() { refresh(t, e, "c", "x") },
	} {
		done.Go(change)
		waitFor(e, i+1)
	}
	release()
	done.Wait()
	s := e.Snapshot()
	assert.Equal(t, before+1, s.Generation())
	assert.Equal(t, []string{"a second", "b last", "c x"}, names(s))
	assert.Equal(t, []string{"a", "b", "c"}, s.Servers())
}

// Readers are kept waiting by nothing that a writer holds: with every lock of the writers taken and a writer
// in the queue, all of them come to their end in this goroutine.
func TestReadersDoNotWaitForWriters(t *testing.T) {
	e := newEngine(t, engine.FilterOptions{Exclude: []engine.Rule{engine.Func("no", func(context.Context, engine.Input) (bool, error) { return false, nil })}},
		engine.PolicyOptions{Allow: []engine.Rule{engine.All(engine.Pattern("*/x"), engine.Attribute("ok", engine.Equals(true)))}, AllowNewTools: true})
	refresh(t, e, "a", "x", "y")
	release := e.HoldWriters()
	var done sync.WaitGroup
	done.Go(func() { refresh(t, e, "a", "z") })
	done.Go(func() { e.Remove("a") })
	done.Go(func() { assert.NoError(t, e.Apply(engine.Config{})) })

	s := e.Snapshot()
	v, req := s.View(""), &engine.Request{Attributes: map[string]any{"ok": true}}
	assert.Equal(t, []string{"a x", "a y"}, names(s))
	assert.Len(t, v.AppendTools(ctx, nil, req), 2)
	d, err := v.Decide(ctx, &engine.Call{Server: "a", Name: "x"}, req)
	assert.NoError(t, err)
	assert.Equal(t, engine.Allow, d.Action)
	d, err = v.Decide(ctx, &engine.Call{Server: "a", Name: "x"}, &engine.Request{Approved: engine.NewBaseline(nil), Attributes: req.Attributes})
	assert.NoError(t, err)
	assert.Equal(t, engine.Allow, d.Action)
	ref, ok := v.Ref("a", "y")
	assert.True(t, ok)
	_, err = v.DecideRef(ctx, ref, nil, req)
	assert.NoError(t, err)
	_, ok = v.Tool(ctx, "a", "x", req)
	assert.True(t, ok)
	assert.Equal(t, 2, v.Counts().Tools)
	release()
	done.Wait()
}

func TestARefusedWriteKeepsTheLastSnapshot(t *testing.T) {
	e := openEngine(t)
	refresh(t, e, "a", "x")
	before := e.Snapshot()
	for _, id := range []string{"", "a:b", "a/b", "*", "a b", "a\n", "\xff"} {
		report, err := e.Refresh(id, []engine.Tool{{Name: "y"}})
		var idErr *engine.ServerIDError
		assert.ErrorAs(t, err, &idErr, "%q", id)
		assert.Equal(t, engine.Report{}, report)
	}
	for _, other := range []string{"A", "a ", "b", "a_"} {
		_, err := e.Refresh("a", []engine.Tool{{Name: "y"}, {Server: other, Name: "z"}})
		assert.ErrorIs(t, err, engine.ErrTargetMismatch, "%q", other)
	}
	err := e.Apply(engine.Config{Views: map[string]engine.View{"ok": {}, "\xff": {}, "b\xc3": {}}})
	assert.ErrorContains(t, err, `"\xff"`)
	assert.ErrorContains(t, err, `"b\xc3"`, "every bad view is named")
	_, err = engine.New(engine.Config{Views: map[string]engine.View{"\xff": {}}})
	assert.Error(t, err)
	assert.Same(t, before, e.Snapshot())
	assert.Equal(t, []string{"a x"}, names(e.Snapshot()))
}

func TestAChangeComputesNothingAgainThatItLeavesAsItIs(t *testing.T) {
	f, g := compileFilter(t, engine.FilterOptions{}), compileFilter(t, engine.FilterOptions{Exclude: rules("y")})
	p, q := compilePolicy(t, engine.PolicyOptions{Allow: rules("a/x")}), compilePolicy(t, engine.PolicyOptions{Ask: rules("x")})
	base := engine.NewBaseline(nil)
	views := map[string]engine.View{"one": {f, p}, "two": {g, p}}
	e, err := engine.New(engine.Config{Views: views, Baseline: base})
	require.NoError(t, err)
	servers := []string{"a", "b", "c"}
	for _, server := range servers {
		refresh(t, e, server, "x", "y")
	}
	// kept returns which server views of two snapshots are the same.
	kept := func(before, after *engine.Snapshot) (same []string) {
		for _, view := range []string{"one", "two"} {
			for _, server := range servers {
				if before.View(view).ServerView(server) == after.View(view).ServerView(server) {
					same = append(same, view+" "+server)
				}
			}
		}
		return same
	}
	all := kept(e.Snapshot(), e.Snapshot())
	for _, c := range []struct {
		what   string
		change func()
		kept   []string
		lists  string // the views whose list is the same, too
	}{
		{"a refresh of b", func() { refresh(t, e, "b", "x", "y") }, []string{"one a", "one c", "two a", "two c"}, ""},
		{"a new server", func() { refresh(t, e, "ab", "x") }, all, ""},
		{"its removal", func() { e.Remove("ab") }, all, ""},
		{"a removal of nothing", func() { e.Remove("ab") }, all, "one two"},
		{"the same configuration", func() { assert.NoError(t, e.Apply(engine.Config{Views: views, Baseline: base})) }, all, "one two"},
		{"another policy in view two", func() {
			assert.NoError(t, e.Apply(engine.Config{Views: map[string]engine.View{"one": {f, p}, "two": {g, q}}, Baseline: base}))
		}, all[:3], "one"},
		{"another filter in view one", func() {
			assert.NoError(t, e.Apply(engine.Config{Views: map[string]engine.View{"one": {g, p}, "two": {g, q}}, Baseline: base}))
		}, all[3:], "two"},
		{"another baseline", func() {
			assert.NoError(t, e.Apply(engine.Config{Views: map[string]engine.View{"one": {g, p}, "two": {g, q}}}))
		}, nil, ""},
	} {
		before := e.Snapshot()
		c.change()
		after := e.Snapshot()
		assert.Equal(t, c.kept, kept(before, after), c.what)
		lists := ""
		for _, view := range []string{"one", "two"} {
			if before.View(view).ListStart() == after.View(view).ListStart() {
				lists = strings.TrimSpace(lists + " " + view)
			}
		}
		assert.Equal(t, c.lists, lists, c.what)
	}
}

func TestWhatTheCallerChangesLaterChangesNothing(t *testing.T) {
	policy := engine.PolicyOptions{Allow: rules("*"), Trusted: []string{"s"}}
	f, p := compileFilter(t, engine.FilterOptions{}), compilePolicy(t, policy)
	definition := `{"name":"x","description":"one"}`
	print, err := engine.ComputeFingerprint([]byte(definition))
	require.NoError(t, err)
	approved := map[engine.Target]engine.Fingerprint{{Server: "s", Name: "x"}: print}
	views := map[string]engine.View{"": {f, p}}
	e, err := engine.New(engine.Config{Views: views, Baseline: engine.NewBaseline(approved)})
	require.NoError(t, err)
	tools := []engine.Tool{{Name: "x", Raw: json.RawMessage(definition)}, {Name: "y"}}
	_, err = e.Refresh("s", tools)
	require.NoError(t, err)

	state := func() string {
		v := e.Snapshot().View("")
		d, err := v.Decide(ctx, &engine.Call{Server: "s", Name: "x"}, nil)
		tool, _ := v.Tool(ctx, "s", "x", nil)
		return fmt.Sprintf("%v %v %v %s %v", names(e.Snapshot()), d, err, tool.Raw, policy.Trusted[0] != "s")
	}
	want := state()
	assert.Contains(t, want, "allow by allow[0]")
	copy(tools[0].Raw, `{"name":"y"`)
	tools[0], tools[1] = engine.Tool{Server: "t", Name: "z"}, engine.Tool{}
	approved[engine.Target{Server: "s", Name: "x"}] = "other"
	delete(views, "")
	views["other"] = engine.View{}
	assert.Equal(t, want, state())
	assert.Equal(t, []string{"s"}, e.Snapshot().Servers())
	e.Snapshot().Servers()[0] = "changed"
	refresh(t, e, "t")
	assert.Equal(t, []string{"s", "t"}, e.Snapshot().Servers())
	assert.Equal(t, []string{"s x", "s y"}, names(e.Snapshot()), "the views are those that were applied")
}

// A tool that is handed out and comes back with another definition is another tool, whatever was computed of it.
func TestAToolThatComesBackChangedDoesNotKeepItsFingerprint(t *testing.T) {
	definition := `{"name":"x","description":"one"}`
	print, err := engine.ComputeFingerprint([]byte(definition))
	require.NoError(t, err)
	e, err := engine.New(engine.Config{
		Views:    map[string]engine.View{"": {compileFilter(t, engine.FilterOptions{}), compilePolicy(t, engine.PolicyOptions{Allow: rules("s/x")})}},
		Baseline: engine.NewBaseline(map[engine.Target]engine.Fingerprint{{Server: "s", Name: "x"}: print}),
	})
	require.NoError(t, err)
	decide := func(raw string) string {
		tool := engine.Tool{Name: "x"}
		if known, ok := e.Snapshot().View("").Tool(ctx, "s", "x", nil); ok {
			tool = *known
		}
		tool.Raw = json.RawMessage(raw)
		_, err := e.Refresh("s", []engine.Tool{tool})
		require.NoError(t, err)
		d, err := e.Snapshot().View("").Decide(ctx, &engine.Call{Server: "s", Name: "x"}, nil)
		require.NoError(t, err)
		return d.String()
	}
	const same, changed = "allow by allow[0] (matched)", "deny by pin (definition_changed)"
	definitions := []struct{ raw, want string }{
		{definition, same},
		{` { "description" : "one", "name" : "x" } `, same},
		{`{"name":"x","description":"two"}`, changed}, // as long as the approved one
		{`{"name":"x","name":"x"}`, changed},
		{``, changed},
	}
	for _, before := range definitions {
		for _, after := range definitions {
			assert.Equal(t, before.want, decide(before.raw))
			assert.Equal(t, after.want, decide(after.raw), "%s behind %s", after.raw, before.raw)
		}
	}
}

func TestRemovingAServerThatIsNotThereDoesNothing(t *testing.T) {
	var zero engine.Engine
	zero.Remove("fs")
	assert.Zero(t, zero.Snapshot().Generation())

	e := openEngine(t)
	_, err := e.Refresh("fs", []engine.Tool{{Name: "read"}})
	require.NoError(t, err)
	before := e.Snapshot()
	e.Remove("gh")
	assert.Same(t, before, e.Snapshot())
	e.Remove("fs")
	assert.Equal(t, before.Generation()+1, e.Snapshot().Generation())
}
