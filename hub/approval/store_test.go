package approval

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/hub"
	"github.com/penstock-mcp/penstock/lockfile"
	"github.com/stretchr/testify/require"
)

// request is one to remember a tool of server s.
func request(t testing.TB, name, description string, base *engine.Baseline) *hub.ApprovalRequest {
	t.Helper()
	tool := engine.Tool{Server: "s", Name: name, Raw: []byte(fmt.Sprintf(`{"name":%q,"description":%q}`, name, description))}
	f, err := engine.ComputeFingerprint(tool.Raw)
	require.NoError(t, err)
	return &hub.ApprovalRequest{Kind: engine.Tools, Target: tool.Target(), Tool: &tool, Fingerprint: f, Baseline: base}
}

func load(t testing.TB, path string) *lockfile.File {
	t.Helper()
	f, err := lockfile.Load(path)
	require.NoError(t, err)
	return f
}

// noLeftovers checks that nothing but the given files is in a folder.
func noLeftovers(t testing.TB, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	require.Equal(t, want, got)
}

// The first approval makes the file, for its owner alone; later ones add to it; each is told before Remember returns.
func TestApprovalsAreWritten(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "baseline.json")
	var told []*engine.Baseline
	s := NewStore(path, func(f *lockfile.File) { told = append(told, f.Baseline()) })
	a := request(t, "a", "1", nil)
	require.NoError(t, s.Remember(t.Context(), a))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	f := load(t, path)
	e, ok := f.Lookup(a.Target)
	require.True(t, ok)
	require.Equal(t, a.Fingerprint, e.Fingerprint)
	require.JSONEq(t, string(a.Tool.Raw), string(e.Definition))

	b := request(t, "b", "1", f.Baseline())
	require.NoError(t, os.Chmod(path, 0o640))
	require.NoError(t, s.Remember(t.Context(), b))
	info, err = os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o640), info.Mode().Perm())
	require.Equal(t, 2, load(t, path).Len())

	// A changed tool takes the place of the approved one.
	changed := request(t, "a", "2", load(t, path).Baseline())
	require.NoError(t, s.Remember(t.Context(), changed))
	e, _ = load(t, path).Lookup(a.Target)
	require.Equal(t, changed.Fingerprint, e.Fingerprint)

	// What is there already is not written again, and told all the same.
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, s.Remember(t.Context(), b))
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, before, after)
	require.Len(t, told, 4)
	for i, n := range []int{1, 2, 2, 2} {
		require.Equal(t, n, told[i].Len())
	}
	got, _ := told[3].Lookup(a.Target)
	require.Equal(t, changed.Fingerprint, got)
	noLeftovers(t, dir, "baseline.json")
}

// What must not be written is not.
func TestApprovalsThatAreNotWritten(t *testing.T) {
	withA := engine.NewBaseline(map[engine.Target]engine.Fingerprint{{Server: "s", Name: "a"}: "penstock1:other"})
	kind := request(t, "a", "1", nil)
	kind.Kind = engine.Prompts
	none := request(t, "a", "1", nil)
	none.Fingerprint = ""
	unnamed := request(t, "a", "1", nil)
	unnamed.Tool.Raw = []byte(`{"name":"other"}`)
	unnamed.Fingerprint, _ = engine.ComputeFingerprint(unnamed.Tool.Raw)
	for what, x := range map[string]struct {
		r    *hub.ApprovalRequest
		file bool // there is one, with "a" and "z" in it
		err  error
	}{
		"nothing":                       {nil, true, ErrNotTool},
		"a prompt":                      {kind, true, ErrNotTool},
		"no fingerprint":                {none, true, lockfile.ErrNoFingerprint},
		"new then, approved now":        {request(t, "a", "2", nil), true, ErrSuperseded},
		"approved in another way since": {request(t, "a", "2", withA), true, ErrSuperseded},
		"withdrawn since":               {request(t, "b", "1", engine.NewBaseline(map[engine.Target]engine.Fingerprint{{Server: "s", Name: "b"}: "f"})), true, ErrSuperseded},
		"the file is gone":              {request(t, "b", "1", withA), false, ErrGone},
		"another name":                  {unnamed, false, nil},
	} {
		t.Run(what, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "baseline.json")
			if x.file {
				f, refused := lockfile.New([]engine.Tool{*request(t, "a", "1", nil).Tool, *request(t, "z", "1", nil).Tool}, lockfile.Options{})
				require.Empty(t, refused)
				require.NoError(t, f.Save(path))
			}
			before, _ := os.ReadFile(path)
			err := NewStore(path, func(*lockfile.File) { t.Error("told") }).Remember(t.Context(), x.r)
			require.Error(t, err)
			if x.err != nil {
				require.ErrorIs(t, err, x.err)
			}
			after, _ := os.ReadFile(path)
			if before != nil {
				require.Equal(t, string(before), string(after))
			} else if after != nil {
				require.Zero(t, load(t, path).Len())
			}
		})
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "baseline.json")
	require.NoError(t, os.WriteFile(path, []byte("{"), 0o600))
	var bad *lockfile.Error
	require.ErrorAs(t, NewStore(path, nil).Remember(t.Context(), request(t, "a", "1", nil)), &bad)
	require.Error(t, NewStore(filepath.Join(dir, "no", "baseline.json"), nil).Remember(t.Context(), request(t, "a", "1", nil)))
	require.Error(t, NewStore(dir, nil).Remember(t.Context(), request(t, "a", "1", nil)))
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink(filepath.Join(dir, "nowhere"), link))
	require.Error(t, NewStore(link, nil).Remember(t.Context(), request(t, "a", "1", nil)))
	for _, s := range []*Store{nil, {}} {
		require.Error(t, s.Remember(t.Context(), request(t, "a", "1", nil)))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, NewStore(filepath.Join(dir, "new"), nil).Remember(ctx, request(t, "a", "1", nil)), context.Canceled)
	noLeftovers(t, dir, "baseline.json", "link")
}

// Approvals that come at once, from several stores and from penstock baseline, are all kept.
func TestApprovalsAtOnce(t *testing.T) {
	const stores, each = 4, 8
	dir := t.TempDir()
	path := filepath.Join(dir, "baseline.json")
	var wg sync.WaitGroup
	for i := range stores {
		most := 0
		s := NewStore(path, func(f *lockfile.File) {
			if f.Len() < most {
				t.Errorf("told of %d tools after %d", f.Len(), most)
			}
			most = f.Len()
		})
		for j := range each {
			wg.Go(func() {
				if err := s.Remember(context.Background(), request(t, fmt.Sprintf("t%d", i*each+j), "1", nil)); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Go(func() { // as penstock baseline approve writes
		for i := range each {
			tool := request(t, fmt.Sprintf("cli%d", i), "1", nil).Tool
			err := lockfile.Update(path, func(f *lockfile.File) error { return f.Approve(*tool) })
			for errors.Is(err, os.ErrNotExist) {
				err = lockfile.Update(path, func(f *lockfile.File) error { return f.Approve(*tool) })
			}
			if err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	require.Equal(t, (stores+1)*each, load(t, path).Len())
	noLeftovers(t, dir, "baseline.json")
}

// besideVar holds the baseline that the test binary approves tools in, when it is run as another process.
const besideVar = "APPROVAL_TEST_BASELINE"

const beside = 50 // tools

func TestMain(m *testing.M) {
	path := os.Getenv(besideVar)
	if path == "" {
		os.Exit(m.Run())
	}
	for i := range beside { // as penstock baseline approve does it
		name := fmt.Sprint("cli", i)
		tool := engine.Tool{Server: "s", Name: name, Raw: []byte(fmt.Sprintf(`{"name":%q}`, name))}
		if err := lockfile.Update(path, func(f *lockfile.File) error { return f.Approve(tool) }); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	os.Exit(0)
}

// Another process approves tools while a hub remembers others.
func TestRememberBesideAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "baseline.json")
	s := NewStore(path, nil)
	require.NoError(t, s.Remember(t.Context(), request(t, "first", "1", nil)))
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range beside {
			if err := s.Remember(context.Background(), request(t, fmt.Sprint("hub", i), "1", nil)); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Go(func() {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), besideVar+"="+path)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	wg.Wait()
	require.Equal(t, 1+2*beside, load(t, path).Len())
	noLeftovers(t, dir, "baseline.json")
}

// "Always" ends the questions: the tool is in the file, the engine has it before the call is judged again, and the next
// calls are allowed by the policy. On both kinds of session, for a new tool and for one that changed.
func TestAlwaysMeansAlways(t *testing.T) {
	for way, connect := range ways {
		for _, what := range []string{"new", "changed"} {
			t.Run(way+"/"+what, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "baseline.json")
				var w *world
				apply := func(f *lockfile.File) {
					if e, ok := f.Lookup(w.tool.Target()); ok {
						w.approved = e.Definition
					}
					w.baseline(f.Baseline())
				}
				store := NewStore(path, func(f *lockfile.File) { apply(f) })
				var questions []*mcp.ElicitParams
				w = newWorld(t, engine.PolicyOptions{Allow: patterns("fs/*")}, Options{Remember: store.Remember})
				if what == "changed" {
					f, _ := lockfile.New([]engine.Tool{w.tool}, lockfile.Options{})
					require.NoError(t, f.Save(path))
					apply(f)
					w.define("Writes a file, and tells everybody.")
				}
				cs := connect(w, "a", user(chooses("always"), &questions))
				for range 3 {
					text, _ := write(t, cs, map[string]any{"path": "/x"})
					require.Equal(t, "ran", text)
				}
				require.Len(t, questions, 1)
				require.Contains(t, questions[0].Message, alwaysText)
				if what == "changed" {
					require.Contains(t, questions[0].Message, "\nFrom: \"Writes a file.\"\nTo: \"Writes a file, and tells everybody.\"\n")
				}
				w.mu.Lock()
				var first hub.Event
				for _, e := range w.events {
					if e.Asked && e.Approval.Remember {
						first = e
					}
				}
				w.mu.Unlock()
				require.Equal(t, engine.Allow, first.Decision.Action)
				require.Equal(t, engine.SourceAllow, first.Decision.Source)
				require.NoError(t, first.Err)
				e, ok := load(t, path).Lookup(w.tool.Target())
				require.True(t, ok)
				require.JSONEq(t, string(w.tool.Raw), string(e.Definition))

				// Another definition is asked about again: what was approved was a tool, not a name.
				w.define("Deletes everything.")
				text, _ := write(t, cs, nil)
				require.Equal(t, "ran", text)
				require.Len(t, questions, 2)
				require.Contains(t, questions[1].Message, "\nTo: \"Deletes everything.\"\n")
			})
		}
	}
}

var regexpAlways = regexp.MustCompile(`\balways\b`)

// "Always" is offered where it ends the questions about this call, and nowhere else.
func TestWhereAlwaysIsOffered(t *testing.T) {
	for what, x := range map[string]struct {
		p       engine.PolicyOptions
		offered bool
	}{
		"a new tool that a rule would allow": {engine.PolicyOptions{Allow: patterns("fs/*")}, true},
		"an ask rule":                        {engine.PolicyOptions{Ask: patterns("fs/*"), Allow: patterns("fs/*")}, false},
		"no rule":                            {engine.PolicyOptions{}, false},
	} {
		for way, connect := range ways {
			var questions []*mcp.ElicitParams
			remembered := 0
			w := newWorld(t, x.p, Options{Remember: func(context.Context, *hub.ApprovalRequest) error { remembered++; return nil }})
			cs := connect(w, "a", user(chooses("once"), &questions))
			text, _ := write(t, cs, nil)
			require.Equal(t, "ran", text)
			choice := questions[0].RequestedSchema.(map[string]any)["properties"].(map[string]any)["decision"].(map[string]any)
			offered := fmt.Sprint(choice["enum"], choice["oneOf"])
			require.Equal(t, x.offered, regexpAlways.MatchString(offered), "%s, %s: %s", what, way, offered)
			require.Zero(t, remembered)
		}
	}
}

// What could not be remembered runs once, says so, and is asked about the next time.
func TestAlwaysThatFails(t *testing.T) {
	for way, connect := range ways {
		var questions []*mcp.ElicitParams
		store := NewStore(filepath.Join(t.TempDir(), "no", "baseline.json"), nil)
		w := newWorld(t, engine.PolicyOptions{Allow: patterns("fs/*")}, Options{Remember: store.Remember})
		cs := connect(w, "a", user(chooses("always"), &questions))
		for n := 1; n <= 2; n++ {
			text, _ := write(t, cs, nil)
			require.Equal(t, "ran", text, way)
			require.Len(t, questions, n)
			e := w.last("tools/call")
			require.False(t, e.Approval.Remember)
			require.ErrorIs(t, e.Err, os.ErrNotExist)
		}
	}
}
