package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/hub"
	"github.com/penstock-mcp/penstock/lockfile"
)

// snapshots keeps the states of an engine by generation.
type snapshots struct {
	mu  sync.Mutex
	all map[uint64]*engine.Snapshot
}

func (s *snapshots) keep(now *engine.Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[now.Generation()] = now
}

func (s *snapshots) of(generation uint64) *engine.Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[generation]
}

// verdicts checks each call that ran against the snapshot it was judged by.
type verdicts struct {
	t         *testing.T
	snapshots snapshots
	mu        sync.Mutex
	ran       map[string]string // the arguments that were judged, by the nonce of the call
	denied    int
	unchecked int
}

func (v *verdicts) Observe(_ context.Context, e hub.Event) {
	if e.Method != "tools/call" {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if e.Result != hub.ResultRan {
		v.denied++
		return
	}
	s := v.snapshots.of(e.Generation)
	if s == nil {
		v.unchecked++
		return
	}
	var args map[string]any
	if err := json.Unmarshal([]byte(e.Arguments), &args); err != nil {
		v.t.Errorf("the arguments of a call that ran: %v", err)
		return
	}
	call := &engine.Call{Server: e.Target.Server, Name: e.Target.Name, Args: args}
	view := s.View(e.Caller.View)
	if _, ok := view.Tool(context.Background(), call.Server, call.Name, &engine.Request{}); !ok {
		v.t.Errorf("generation %d: %v ran, and is not there", e.Generation, e.Target)
		return
	}
	d, err := view.Decide(context.Background(), call, &engine.Request{})
	if err != nil || d.Action != engine.Allow {
		v.t.Errorf("generation %d: %v ran, and the decision is %v, %v", e.Generation, e.Target, d, err)
	}
	if nonce, _ := args["nonce"].(string); nonce != "" && !e.IsError && e.Err == nil {
		v.ran[nonce] = e.Target.Name + " " + string(e.Arguments)
	}
}

// Calls go through while the policy, the baseline and the servers' lists change. No call runs that the snapshot it was
// judged by would not allow, the server gets what was judged, and nothing is left behind.
func TestNoCallRunsThatWasNotAllowed(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	settled := resources()
	func() {
		f := newRecorder(t)
		v := &verdicts{t: t, ran: map[string]string{}, snapshots: snapshots{all: map[uint64]*engine.Snapshot{}}}
		w := newWorld(t, map[string]string{
			"hub.yaml":    hubYAML("baseline: approved.json", "ask: {elicit: false}", "audit: {file: audit.jsonl, arguments: true}"),
			"policy.yaml": policyYAML("fs/*"),
		}, map[string]*fake{"fs": f.fake}, func(w *world) { w.o.Observer = v })
		defer w.stop()
		defer f.stop()
		ctx, cancel := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		wg.Go(func() { // keeps every generation there is time for
			for ctx.Err() == nil {
				v.snapshots.keep(w.g.Engine().Snapshot())
				time.Sleep(50 * time.Microsecond)
			}
		})
		var nonces atomic.Int64
		for _, p := range protocols {
			cs := w.client(p, "", nil)
			defer cs.Close()
			for n := range 2 {
				r := rand.New(rand.NewPCG(seed, uint64(n)))
				wg.Go(func() {
					for ctx.Err() == nil {
						nonce := fmt.Sprint(nonces.Add(1))
						_, _ = cs.CallTool(ctx, &mcp.CallToolParams{Name: fmt.Sprintf("fs__t%d", r.IntN(5)), Arguments: map[string]any{"nonce": nonce}})
						if r.IntN(10) == 0 {
							_, _ = cs.ListTools(ctx, nil)
						}
					}
				})
			}
		}
		r := rand.New(rand.NewPCG(seed, 99))
		var defined time.Time
		definitions := 0
		enough := func() bool {
			v.mu.Lock()
			defer v.mu.Unlock()
			return len(v.ran) > 200 && v.denied > 50 && definitions > 3
		}
		end := time.Now().Add(20 * time.Second)
		for round := 0; round < 60 || !enough() && time.Now().Before(end); round++ {
			switch round % 4 {
			case 0:
				w.write("policy.yaml", policyYAML(fmt.Sprintf("fs/t%d", r.IntN(5)), fmt.Sprintf("fs/t%d", r.IntN(5))))
				require.NoError(t, w.g.Reload(false))
			case 1:
				if time.Since(defined) < time.Second+time.Second/2 {
					break // the hub does not read a list more often than once a second for long, and calls wait for that
				}
				defined = time.Now()
				definitions++
				f.define(fmt.Sprintf("t%d", r.IntN(5)), fmt.Sprintf("round %d", round))
			case 2:
				tool, ok := w.g.Engine().Snapshot().View("default").Tool(ctx, "fs", fmt.Sprintf("t%d", r.IntN(5)), &engine.Request{})
				if ok {
					approve(t, w.path("approved.json"), tool)
					require.NoError(t, w.g.Reload(false))
				}
			default:
				w.write("policy.yaml", policyYAML("fs/*"))
				require.NoError(t, w.g.Reload(false))
			}
			time.Sleep(5 * time.Millisecond)
		}
		cancel()
		wg.Wait()

		v.mu.Lock()
		defer v.mu.Unlock()
		require.NotEmpty(t, v.ran)
		require.NotZero(t, v.denied)
		require.Greater(t, len(v.ran), 5*v.unchecked, "nearly all calls were checked")
		seen := f.seen()
		for nonce, judged := range v.ran {
			require.Equal(t, judged, seen[nonce], "what was judged is what ran")
		}
		t.Logf("%d calls ran and were checked, %d were denied, %d are of a generation nobody saw", len(v.ran), v.denied, v.unchecked)
	}()
	settled.again(t)
}

// recorder is a fake that remembers each call by its nonce.
type recorder struct {
	*fake
	got map[string]string // the tool and the arguments
}

func newRecorder(t *testing.T) *recorder {
	r := &recorder{fake: newFake(t), got: map[string]string{}}
	for n := range 5 {
		r.define(fmt.Sprintf("t%d", n), "first")
	}
	return r
}

// define gives a tool another definition.
func (r *recorder) define(name, description string) {
	r.server.AddTool(&mcp.Tool{Name: name, Description: description, InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, in *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var args struct{ Nonce string }
			_ = json.Unmarshal(in.Params.Arguments, &args)
			r.mu.Lock()
			defer r.mu.Unlock()
			if _, twice := r.got[args.Nonce]; twice {
				r.t.Errorf("the call %s came twice", args.Nonce)
			}
			r.got[args.Nonce] = name + " " + string(in.Params.Arguments)
			return &mcp.CallToolResult{}, nil
		})
}

func (r *recorder) seen() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.got) // a call that was given up may still come
}

// approve writes a tool into a baseline.
func approve(t *testing.T, path string, tool *engine.Tool) {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		file, bad := lockfile.New([]engine.Tool{*tool}, lockfile.Options{})
		require.Empty(t, bad)
		require.NoError(t, file.Save(path))
		return
	}
	require.NoError(t, lockfile.Update(path, func(f *lockfile.File) error { return f.Approve(*tool) }))
}

// counts is what a process holds.
type counts struct{ goroutines, files int }

func resources() counts {
	c := counts{goroutines: runtime.NumGoroutine()}
	if entries, err := os.ReadDir("/proc/self/fd"); err == nil {
		c.files = len(entries)
	}
	return c
}

// again waits until nothing is held that was not held before.
func (c counts) again(t *testing.T) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		now := resources()
		if now.goroutines <= c.goroutines+2 && now.files <= c.files+2 {
			return
		}
		if time.Now().After(deadline) {
			buf := make([]byte, 1<<20)
			t.Fatalf("before %+v, now %+v\n%s", c, now, buf[:runtime.Stack(buf, true)])
		}
		closeIdle()
		time.Sleep(20 * time.Millisecond)
	}
}

// Rounds of everything leave no goroutine and no file behind.
func TestNothingIsLeftBehind(t *testing.T) {
	round := func() {
		fs := newFake(t, "read")
		fs.addOthers()
		w := newWorld(t, map[string]string{"hub.yaml": hubYAML(), "policy.yaml": policyYAML("fs/*", "resource:fs/*")}, map[string]*fake{"fs": fs}, nil)
		for _, p := range protocols {
			cs := w.client(p, "", &mcp.ClientOptions{
				ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {},
				ResourceUpdatedHandler: func(context.Context, *mcp.ResourceUpdatedNotificationRequest) {},
			})
			text, err := call(cs, "fs__read", nil)
			require.NoError(t, err)
			require.True(t, strings.HasPrefix(text, "ran"))
			require.NoError(t, cs.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "penstock:fs:demo://a"}))
			fs.add("more", "first")
			if p == protocols[0] {
				require.NoError(t, cs.Close()) // the other one is there when the hub stops
			} else {
				defer cs.Close()
			}
		}
		w.write("policy.yaml", policyYAML("fs/*"))
		require.NoError(t, w.g.Reload(false))
		w.stop()
		fs.stop()
	}
	round()
	settled := resources()
	for range 3 {
		round()
	}
	settled.again(t)
}

// A thousand tools on fifty servers: the tables are made a few times, and not once for each server.
func TestManyServersComeUpTogether(t *testing.T) {
	servers := map[string]*fake{}
	for n := range 50 {
		var tools []string
		for m := range 20 {
			tools = append(tools, fmt.Sprintf("tool-%d", m))
		}
		servers[fmt.Sprintf("server-%02d", n)] = newFake(t, tools...)
	}
	w := newWorld(t, map[string]string{"hub.yaml": hubYAML(), "policy.yaml": policyYAML("*/*")}, servers, nil)
	require.Len(t, toolNames(t, w.client(protocols[1], "", nil)), 1000)
	made := w.g.catalogs.made.Load()
	t.Logf("made %d times", made)

	// Under any scheduling: what comes while tables are waited for or made costs one more making.
	c := newCatalogs(w.g.Engine(), nil)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	c.making.Lock() // as if tables were being made all the while
	wg.Go(func() { c.run(ctx) })
	for _, cat := range w.g.catalogs.now.Load().servers {
		_, err := c.update(cat)
		require.NoError(t, err)
	}
	c.making.Unlock()
	eventually(t, "all names are there", func() bool { return c.now.Load().names.Len() == 1000 })
	cancel()
	wg.Wait()
	require.LessOrEqual(t, c.made.Load(), int64(2))
}
