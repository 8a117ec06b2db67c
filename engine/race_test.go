package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/penstock-mcp/penstock/engine"
)

// A marked configuration has its number in every part: of the tools k0_x, k1_x, … that each server has, the filter of
// configuration k shows kN_x alone, its policy allows kN_x alone, by the rule kN, and its baseline holds kN_x alone.
// Whoever sees a part of one configuration and a part of another sees a tool that the policy does not allow, by another
// rule, or that is new.
type marked struct {
	configs [8]engine.Config
	byRule  map[string]int
}

const (
	markedServers = 6
	markedTools   = 8 // as many as configurations
)

func newMarked(t testing.TB) *marked {
	m := &marked{byRule: map[string]int{}}
	for k := range m.configs {
		mark := fmt.Sprintf("k%d", k)
		m.byRule[mark] = k
		f := compileFilter(t, engine.FilterOptions{Include: rules("*/" + mark + "_*")})
		p := compilePolicy(t, engine.PolicyOptions{
			Allow:         []engine.Rule{engine.Named(mark, engine.Pattern("*/"+mark+"_*"))},
			AllowNewTools: true, DisablePins: true,
		})
		// The other view has a function to ask, and a rule that is open until the call comes.
		g := compileFilter(t, engine.FilterOptions{Exclude: []engine.Rule{engine.Func("other "+mark, func(_ context.Context, in engine.Input) (bool, error) {
			return !strings.HasPrefix(in.Name(), mark+"_"), nil
		})}})
		q := compilePolicy(t, engine.PolicyOptions{
			Allow:         []engine.Rule{engine.Named(mark, engine.All(engine.Pattern("*/"+mark+"_*"), engine.Attribute("ok", engine.Equals(true))))},
			AllowNewTools: true, DisablePins: true,
		})
		approved := map[engine.Target]engine.Fingerprint{}
		for s := range markedServers {
			approved[engine.Target{Server: fmt.Sprintf("s%d", s), Name: mark + "_x"}] = "f"
		}
		m.configs[k] = engine.Config{
			Views:    map[string]engine.View{"static": {f, p}, "dynamic": {g, q}},
			Baseline: engine.NewBaseline(approved),
		}
	}
	return m
}

// tools returns the tools of one server. All of one list carry the version of it.
func (m *marked) tools(version int) []engine.Tool {
	tools := make([]engine.Tool, markedTools)
	for k := range tools {
		tools[k] = engine.Tool{Name: fmt.Sprintf("k%d_x", k), Fingerprint: engine.Fingerprint(fmt.Sprint(version))}
	}
	return tools
}

// check holds a snapshot to one world and returns its number, or -1 where there are no tools.
func (m *marked) check(t testing.TB, s *engine.Snapshot) int {
	seen := -1
	req := &engine.Request{Attributes: map[string]any{"ok": true}}
	for _, view := range []string{"static", "dynamic"} {
		v := s.View(view)
		var servers []string
		for _, tool := range v.AppendTools(ctx, nil, req) {
			servers = append(servers, tool.Server)
			d, err := v.Decide(ctx, &engine.Call{Server: tool.Server, Name: tool.Name}, req)
			ref, ok := v.Ref(tool.Server, tool.Name)
			r, refErr := v.DecideRef(ctx, ref, nil, req)
			k, known := m.byRule[d.RuleID()]
			switch {
			case err != nil || d.Action != engine.Allow || !known || d.New || !strings.HasPrefix(tool.Name, d.RuleID()+"_"):
				t.Errorf("generation %d, view %s shows %s, and the decision is %v, %v", s.Generation(), view, tool.Name, d, err)
			case seen >= 0 && k != seen:
				t.Errorf("generation %d, view %s is of configuration %d, another part of %d", s.Generation(), view, k, seen)
			case !ok || refErr != nil || r != d:
				t.Errorf("generation %d, view %s: %s by name %v, by reference %v, %v", s.Generation(), view, tool.Name, d, r, refErr)
			}
			if _, approved := s.Baseline().Lookup(tool.Target()); !approved {
				t.Errorf("generation %d: the baseline is not the one of view %s", s.Generation(), view)
			}
			seen = k
		}
		if !slices.Equal(servers, s.Servers()) {
			t.Errorf("generation %d: servers %q, in the list of view %s %q", s.Generation(), s.Servers(), view, servers)
		}
	}
	// One server's tools are of one refresh, whatever configuration shows them.
	for _, server := range s.Servers() {
		tool, ok := s.View("static").Tool(ctx, server, fmt.Sprintf("k%d_x", seen), req)
		other, also := s.View("dynamic").Tool(ctx, server, fmt.Sprintf("k%d_x", seen), req)
		if !ok || !also || tool != other {
			t.Errorf("generation %d: the views have different tools of %s", s.Generation(), server)
		}
	}
	return seen
}

func TestNoReaderSeesHalfOfAnUpdate(t *testing.T) {
	m := newMarked(t)
	e, err := engine.New(m.configs[0])
	require.NoError(t, err)
	for s := range markedServers {
		_, err := e.Refresh(fmt.Sprintf("s%d", s), m.tools(0))
		require.NoError(t, err)
	}
	rounds := 150
	if testing.Short() {
		rounds = 40
	}
	var writers, readers sync.WaitGroup
	var stop atomic.Bool
	var read atomic.Int64 // generations that a reader came to see
	// Where the readers are not given much time, the writers go on until they have seen enough.
	more := func(i int) bool { return i < rounds || read.Load() < 60 && i < 1000*rounds }
	for s := range markedServers {
		server := fmt.Sprintf("s%d", s)
		writers.Go(func() {
			for i := 0; more(i); i++ {
				if s == 0 && i%4 == 3 { // servers come and go
					e.Remove(server)
					continue
				}
				_, err := e.Refresh(server, m.tools(i))
				assert.NoError(t, err)
			}
		})
	}
	for w := range 3 {
		writers.Go(func() {
			for i := 0; more(i); i++ {
				assert.NoError(t, e.Apply(m.configs[(i*3+w)%len(m.configs)]))
			}
		})
	}
	var mu sync.Mutex
	snapshots := map[uint64]*engine.Snapshot{} // by generation, every one that was seen
	worlds := map[int]int{}
	for range 4 {
		readers.Go(func() {
			var last *engine.Snapshot
			for last == nil || !stop.Load() {
				s := e.Snapshot()
				if last != nil && s.Generation() < last.Generation() {
					t.Errorf("generation %d after %d", s.Generation(), last.Generation())
				}
				k := m.check(t, s)
				if s != last {
					mu.Lock()
					if other := snapshots[s.Generation()]; other != nil && other != s {
						t.Errorf("generation %d is two snapshots", s.Generation())
					}
					snapshots[s.Generation()] = s
					worlds[k]++
					read.Add(1)
					mu.Unlock()
				}
				last = s
			}
		})
	}
	writers.Wait()
	stop.Store(true)
	readers.Wait()

	// What a snapshot says never changes, however many follow it.
	for _, s := range snapshots {
		m.check(t, s)
	}
	t.Logf("%d of %d generations were read, in %d worlds", len(snapshots), e.Snapshot().Generation(), len(worlds))
	require.Greater(t, len(snapshots), 10, "too few generations were read to prove anything")
	require.Greater(t, len(worlds), 2, "too few configurations were read to prove anything")
}

func TestWhoeverReturnsFromAWriteReadsIt(t *testing.T) {
	e := openEngine(t)
	rounds := 200
	var writers sync.WaitGroup
	for w := range 8 {
		server := fmt.Sprintf("s%d", w)
		writers.Go(func() {
			var last uint64
			for i := range rounds {
				version := engine.Fingerprint(fmt.Sprint(i))
				report, err := e.Refresh(server, []engine.Tool{{Name: "x", Fingerprint: version}})
				s := e.Snapshot()
				tool, ok := s.View("").Tool(ctx, server, "x", nil)
				if err != nil || !ok || tool.Fingerprint != version || report.Generation <= last || report.Generation > s.Generation() {
					t.Errorf("%s, round %d: %v, %v, %t, generation %d of %d after %d", server, i, err, tool, ok, report.Generation, s.Generation(), last)
				}
				last = report.Generation
				if i%10 == 9 {
					e.Remove(server)
					if _, ok := e.Snapshot().View("").Tool(ctx, server, "x", nil); ok {
						t.Errorf("%s, round %d: it is there after its removal", server, i)
					}
				}
			}
		})
	}
	writers.Wait()
	require.LessOrEqual(t, e.Snapshot().Generation(), uint64(1+8*rounds+8*rounds/10), "at most one generation for each write")
}
