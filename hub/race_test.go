package hub

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/penstock-mcp/penstock/engine"
)

// Calls go through while policy, baseline, lists and the table change: whatever runs is what its snapshot allowed, and
// nothing is left behind.
func TestNothingRunsThatItsSnapshotForbids(t *testing.T) {
	// Tool "tN" is allowed by policy N alone, with the argument N, and hidden by policy N-1.
	const variants = 4
	var epoch atomic.Int64 // 2*k+1 while the k-th policy is being applied, 2*k+2 while it is in force; N is k mod variants
	// Every other round the baseline says that the tool is not the one that was approved: then nothing runs at all.
	epoch.Store(2)
	configs, configsText := make([]engine.Config, 2*variants), make([]string, variants)
	for n := range variants {
		rule := engine.All(engine.Pattern(fmt.Sprintf("s/t%d", n)), engine.Arg("n", engine.Equals(n)))
		configsText[n] = rule.String()
		configs[n] = engine.Config{Views: one("a", view(t,
			engine.FilterOptions{Exclude: rules(fmt.Sprintf("s/t%d", (n+1)%variants))},
			engine.PolicyOptions{Allow: []engine.Rule{rule}, NoMatch: engine.DenyNoMatch}))}
		configs[n+variants] = configs[n]
		configs[n+variants].Baseline = engine.NewBaseline(map[engine.Target]engine.Fingerprint{{Server: "s", Name: fmt.Sprintf("t%d", n)}: "another"})
	}
	w := newWorld(t, configs[0].Views, func(o *GuardOptions) { o.Observer = nil }, nil)
	w.add("s", "t0", "t1", "t2", "t3")

	var ran, wrong atomic.Int64
	var exact, exactRan atomic.Int64
	for n := range variants {
		w.server.AddTool(&mcp.Tool{Name: fmt.Sprintf("s__t%d", n), InputSchema: map[string]any{"type": "object"}},
			func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				j, ok := JudgedFrom(ctx)
				if !ok || j.Decision.Rule().Text != configsText[n] || j.Target.Name != fmt.Sprintf("t%d", n) || j.Decision.Action != engine.Allow ||
					string(req.Params.Arguments) != fmt.Sprintf(`{"n":%d}`, n) {
					wrong.Add(1)
				}
				ran.Add(1)
				return &mcp.CallToolResult{}, nil
			})
	}

	ctx, stop := context.WithTimeout(t.Context(), 1500*time.Millisecond)
	defer stop()
	var clients, writers sync.WaitGroup
	writers.Go(func() {
		for k := 1; ctx.Err() == nil; k++ {
			epoch.Store(int64(2*k + 1))
			if err := w.engine.Apply(configs[k%len(configs)]); err != nil {
				t.Error(err)
			}
			epoch.Store(int64(2*k + 2))
			time.Sleep(time.Duration(k%7) * time.Millisecond)
		}
	})
	writers.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			w.server.AddTool(&mcp.Tool{Name: "extra", InputSchema: map[string]any{"type": "object"}}, w.handle)
			w.refresh("s") // the table, and the list
			w.server.RemoveTools("extra")
			time.Sleep(3 * time.Millisecond)
		}
	})
	sessions := make([]*mcp.ClientSession, 4)
	for i := range sessions {
		sessions[i] = w.client("a", nil)
	}
	goroutines := runtime.NumGoroutine()
	for i, cs := range sessions {
		r := rand.New(rand.NewPCG(1, uint64(i)))
		clients.Go(func() {
			for ctx.Err() == nil {
				n := r.IntN(variants)
				if r.IntN(10) == 0 {
					if _, err := cs.ListTools(context.Background(), nil); err != nil {
						t.Error(err)
					}
					continue
				}
				arg, before := n-r.IntN(2), epoch.Load()
				res, err := cs.CallTool(context.Background(), &mcp.CallToolParams{
					Name: fmt.Sprintf("s__t%d", n), Arguments: map[string]any{"n": arg},
				})
				if before%2 != 0 || epoch.Load() != before {
					continue
				}
				// One policy was in force from before the call until after it.
				exact.Add(1)
				k := int(before/2 - 1)
				policy, pinned, didRun := k%variants, k%len(configs) >= variants, err == nil && !res.IsError
				if didRun {
					exactRan.Add(1)
				}
				if want := n == policy && arg == policy && !pinned; didRun != want {
					t.Errorf("policy %d, tool %d, argument %d: ran %v", policy, n, arg, didRun)
				}
				if hidden := err != nil; hidden != (n == (policy+1)%variants) {
					t.Errorf("policy %d, tool %d: hidden %v", policy, n, hidden)
				}
			}
		})
	}
	clients.Wait()
	writers.Wait()
	if wrong.Load() != 0 || ran.Load() < 20 {
		t.Errorf("%d ran, %d of them wrong", ran.Load(), wrong.Load())
	}
	if exact.Load() < 50 || exactRan.Load() < 5 {
		t.Errorf("of %d calls under one policy %d ran: too few to say anything", exact.Load(), exactRan.Load())
	}
	t.Logf("%d calls ran; %d under one policy, of which %d ran", ran.Load(), exact.Load(), exactRan.Load())
	for range 100 {
		if runtime.NumGoroutine() <= goroutines {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), goroutines)
}

// What is remembered of a session goes with it.
func TestSessionsAreForgotten(t *testing.T) {
	w := newWorld(t, one("a", view(t, engine.FilterOptions{}, allowAll())), nil, nil)
	w.add("fs", "read")
	for range 20 {
		a, b := mcp.NewInMemoryTransports()
		ss, err := w.server.Connect(t.Context(), a, nil)
		if err != nil {
			t.Fatal(err)
		}
		cs, err := mcp.NewClient(&mcp.Implementation{Name: "a", Version: "1"}, nil).Connect(t.Context(), b, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cs.ListTools(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		cs.Close()
		ss.Wait()
	}
	size := func() int {
		w.guard.watch.mu.Lock()
		defer w.guard.watch.mu.Unlock()
		return len(w.guard.watch.sessions)
	}
	if size() == 0 {
		t.Fatal("nothing was remembered")
	}
	for range 100 {
		runtime.GC()
		if size() <= 2 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d sessions are remembered", size())
}
