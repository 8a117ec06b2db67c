package engine_test

import (
	"fmt"
	"runtime"
	"testing"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/penstock-mcp/penstock/engine"
)

// swap makes one change of every kind, in turn, and returns weak pointers to the state that it made.
//
//go:noinline
func swap(t *testing.T, e *engine.Engine, i int) (weak.Pointer[engine.Snapshot], weak.Pointer[engine.Policy], weak.Pointer[engine.Baseline]) {
	var patterns []string
	for n := range 20 {
		patterns = append(patterns, fmt.Sprintf("s%d/tool_%d_%d", n%5, n, i))
	}
	p := compilePolicy(t, engine.PolicyOptions{Allow: rules(patterns...)})
	f := compileFilter(t, engine.FilterOptions{Exclude: rules("*/secret_*")})
	base := engine.NewBaseline(map[engine.Target]engine.Fingerprint{{Server: "s0", Name: "x"}: engine.Fingerprint(fmt.Sprint(i))})
	require.NoError(t, e.Apply(engine.Config{Views: map[string]engine.View{"": {f, p}}, Baseline: base}))
	refresh(t, e, fmt.Sprintf("s%d", i%5), patterns...)
	if i%7 == 0 {
		e.Remove(fmt.Sprintf("s%d", i%3))
	}
	s := e.Snapshot()
	if ref, ok := s.View("").Ref("s0", patterns[0]); ok { // numbers alone: it keeps nothing alive
		_, _ = s.View("").DecideRef(ctx, ref, nil, nil)
	}
	return weak.Make(s), weak.Make(p), weak.Make(base)
}

func collect() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestOldSnapshotsAreNotKept(t *testing.T) {
	e := openEngine(t)
	var snapshots []weak.Pointer[engine.Snapshot]
	var policies []weak.Pointer[engine.Policy]
	var baselines []weak.Pointer[engine.Baseline]
	const swaps = 300
	for i := range swaps {
		s, p, b := swap(t, e, i)
		snapshots, policies, baselines = append(snapshots, s), append(policies, p), append(baselines, b)
	}
	collect()
	alive := [3]int{}
	for i := range swaps {
		for n, gone := range []bool{snapshots[i].Value() == nil, policies[i].Value() == nil, baselines[i].Value() == nil} {
			if !gone {
				alive[n]++
			}
		}
	}
	assert.Equal(t, [3]int{1, 1, 1}, alive, "snapshots, policies and baselines: the current ones live")
	assert.Same(t, e.Snapshot(), snapshots[swaps-1].Value())
	runtime.KeepAlive(e)
}

func TestAHeldSnapshotIsAllThatIsKept(t *testing.T) {
	e := openEngine(t)
	held, _, _ := swap(t, e, 1)
	s := held.Value()
	first, policy, _ := swap(t, e, 2)
	for i := range 20 {
		swap(t, e, 3+i)
	}
	collect()
	assert.Nil(t, first.Value(), "a snapshot that is held does not keep those that follow it")
	assert.Nil(t, policy.Value())
	assert.Same(t, s, held.Value())
	assert.NotEmpty(t, names(s))
}

func TestTheHeapDoesNotGrowWithTheNumberOfSwaps(t *testing.T) {
	e := openEngine(t)
	for i := range 100 {
		swap(t, e, i)
	}
	before := collect()
	for i := range 1500 {
		swap(t, e, i)
	}
	after := collect()
	runtime.KeepAlive(e)
	assert.Less(t, after, before+256<<10, "bytes of heap after 100 swaps: %d", before)
}

func TestToolsOfRemovedServersAreNotKept(t *testing.T) {
	e := openEngine(t)
	old := func() weak.Pointer[engine.Tool] {
		refresh(t, e, "s", "x")
		tool, _ := e.Snapshot().View("").Tool(ctx, "s", "x", nil)
		return weak.Make(tool)
	}
	replaced := old()
	removed := old()
	e.Remove("s")
	current := old()
	collect()
	assert.Nil(t, replaced.Value())
	assert.Nil(t, removed.Value())
	assert.NotNil(t, current.Value())
	runtime.KeepAlive(e)
}
