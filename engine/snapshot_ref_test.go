package engine_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/penstock-mcp/penstock/engine"
)

func TestAReferenceIsGoodForTheToolListItWasTakenFrom(t *testing.T) {
	shows := compileFilter(t, engine.FilterOptions{})
	allows := compilePolicy(t, engine.PolicyOptions{Allow: rules("*"), AllowNewTools: true})
	denies := compilePolicy(t, engine.PolicyOptions{Deny: rules("*")})
	views := map[string]engine.View{"allows": {shows, allows}, "denies": {shows, denies}, "hides": {nil, allows}}
	e, err := engine.New(engine.Config{Views: views})
	require.NoError(t, err)
	refresh(t, e, "b", "x", "y")
	refresh(t, e, "d", "x")
	old := e.Snapshot()
	ref, ok := old.View("allows").Ref("b", "y")
	require.True(t, ok)
	use := func(s *engine.Snapshot, view string) string {
		d, err := s.View(view).DecideRef(ctx, ref, nil, nil)
		if err != nil {
			assert.Equal(t, engine.Decision{}, d)
			return err.Error()
		}
		return d.String()
	}
	const allow, deny = "allow by allow[0] (matched), new tool", "deny by deny[0] (matched), new tool"
	stale, notFound := engine.ErrStale.Error(), engine.ErrNotFound.Error()

	assert.Equal(t, allow, use(e.Snapshot(), "allows"))
	assert.Equal(t, deny, use(e.Snapshot(), "denies"), "the view that is asked decides, not the one it was taken from")
	assert.Equal(t, notFound, use(e.Snapshot(), "hides"), "no reference shows what is hidden")
	assert.Equal(t, stale, use(e.Snapshot(), "unknown"))

	refresh(t, e, "d", "z")
	assert.Equal(t, allow, use(e.Snapshot(), "allows"), "another server's list is none of its business")
	require.NoError(t, e.Apply(engine.Config{Views: map[string]engine.View{"allows": {shows, denies}}}))
	assert.Equal(t, deny, use(e.Snapshot(), "allows"), "what the policy says by then is what counts")
	require.NoError(t, e.Apply(engine.Config{Views: map[string]engine.View{"allows": {nil, allows}}}))
	assert.Equal(t, notFound, use(e.Snapshot(), "allows"), "and what the filter says by then")
	require.NoError(t, e.Apply(engine.Config{Views: views}))
	assert.Equal(t, allow, use(e.Snapshot(), "allows"))

	for _, change := range []func(){
		func() { refresh(t, e, "b", "x", "y") }, // the same names: still another list
		func() { e.Remove("b") },
		func() { refresh(t, e, "b", "x", "y") },
		func() { refresh(t, e, "a", "q", "y") }, // another server in its place
		func() { e.Remove("b") },
		func() { e.Remove("d") },
	} {
		change()
		assert.Equal(t, stale, use(e.Snapshot(), "allows"))
	}
	assert.Equal(t, allow, use(old, "allows"), "in its own snapshot it stays good")
}

func TestNoReferenceMeansAnotherToolThanTheOneItWasTakenFor(t *testing.T) {
	e := newEngine(t, engine.FilterOptions{}, engine.PolicyOptions{Allow: []engine.Rule{
		engine.Named("is-x", engine.Pattern("*/x")), engine.Named("is-y", engine.Pattern("*/y")), engine.Named("is-z", engine.Pattern("*/z")),
	}, AllowNewTools: true})
	type held struct {
		ref  engine.Ref
		name string
	}
	var refs []held
	lists := [][]string{{"x", "y", "z"}, {"z", "x"}, {}, {"y"}, {"y", "z", "x"}}
	good := 0
	for i := range 200 {
		server := fmt.Sprintf("s%d", i*7%5)
		if i%6 == 5 {
			e.Remove(server)
		} else {
			refresh(t, e, server, lists[i%len(lists)]...)
		}
		v := e.Snapshot().View("")
		for _, name := range []string{"x", "y", "z"} {
			if ref, ok := v.Ref(server, name); ok {
				refs = append(refs, held{ref, name})
			}
		}
		for _, h := range refs {
			d, err := v.DecideRef(ctx, h.ref, nil, nil)
			if err == engine.ErrStale {
				continue
			}
			require.NoError(t, err)
			require.Equal(t, "is-"+h.name, d.RuleID())
			good++
		}
	}
	require.Greater(t, good, 500)
}

func TestReferencesOfAnotherEngineAreStale(t *testing.T) {
	one, two := openEngine(t), openEngine(t)
	refresh(t, one, "s", "x")
	refresh(t, two, "s", "x")
	ref, ok := one.Snapshot().View("").Ref("s", "x")
	require.True(t, ok)
	_, err := two.Snapshot().View("").DecideRef(ctx, ref, nil, nil)
	assert.Equal(t, engine.ErrStale, err)
	_, err = two.Snapshot().View("").DecideRef(ctx, engine.Ref{}, nil, nil)
	assert.Equal(t, engine.ErrStale, err)
}
