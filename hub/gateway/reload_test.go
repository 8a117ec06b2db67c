package gateway

import (
	"context"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/penstock-mcp/penstock/lockfile"
)

// What changes on disk is in force without a word, and what is bad changes nothing until it is mended. The watcher does
// it all by itself here.
func TestFilesAreWatched(t *testing.T) {
	fs, web := newFake(t, "read", "write"), newFake(t, "get")
	w := newWorld(t, map[string]string{"hub.yaml": hubYAML("baseline: approved.json"), "policy.yaml": policyYAML("fs/read")}, map[string]*fake{"fs": fs}, nil)
	cs := w.client(protocols[0], "", nil)
	allowed := func(tool string) bool {
		text, err := call(cs, tool, nil)
		return err == nil && strings.HasPrefix(text, "ran ")
	}
	require.True(t, allowed("fs__read"))
	require.False(t, allowed("fs__write"))

	w.write("policy.yaml", policyYAML("fs/write"))
	eventually(t, "the new policy is in force", func() bool { return allowed("fs__write") && !allowed("fs__read") })

	w.write("policy.yaml", "version: 1\npolicy: {allow: [\"fs/\"]}\n")
	eventually(t, "the bad policy is told", func() bool { return w.g.Health().Config.Error != "" })
	require.Contains(t, w.g.Health().Config.Error, "policy.yaml:2:18: policy.allow[0]")
	require.Contains(t, w.log.String(), "policy.yaml:2:18: policy.allow[0]")
	require.Equal(t, "degraded", w.g.Health().Status)
	require.True(t, allowed("fs__write"), "the last good one stays in force")
	require.False(t, allowed("fs__read"))

	// While one file is bad, nothing else comes into force either.
	w.servers(map[string]*fake{"fs": fs, "web": web})
	require.Error(t, w.g.Reload(false))
	require.Len(t, w.g.pool.Status(), 1)

	w.write("policy.yaml", policyYAML("*/*"))
	eventually(t, "all of it is in force", func() bool { return allowed("fs__read") && allowed("web__get") })
	require.Equal(t, "ok", w.g.Health().Status)
	require.Empty(t, w.g.Health().Config.Error)
}

// A bad file of any kind leaves everything as it was, and is mended by a good one.
func TestBadFilesChangeNothing(t *testing.T) {
	fs := newFake(t, "read")
	files := map[string]string{
		"hub.yaml": hubYAML("baseline: approved.json", "views: {other: {policy: other.yaml}}"), "policy.yaml": policyYAML("fs/*"), "other.yaml": policyYAML(),
		"approved.json": "{\n  \"version\": 1,\n  \"tools\": []\n}\n",
	}
	for name, c := range map[string]struct{ file, text, want string }{
		"no hub.yaml":            {"hub.yaml", "", "no such file"},
		"a key nobody knows":     {"hub.yaml", files["hub.yaml"] + "x: y\n", `unknown key "x"`},
		"half of hub.yaml":       {"hub.yaml", "version: 1\nservers: mcp.json\n", `the key "policy" is missing`},
		"a policy that is gone":  {"other.yaml", "", "no such file"},
		"another policy":         {"hub.yaml", strings.ReplaceAll(files["hub.yaml"], "other.yaml", "third.yaml"), "third.yaml: no such file"},
		"a policy cut off":       {"policy.yaml", "version: 1\npolicy: {allow: [", "policy.yaml:2:"},
		"servers cut off":        {"mcp.json", `{"mcpServers": {`, "mcp.json"},
		"no servers":             {"mcp.json", "", "no such file"},
		"a baseline cut off":     {"approved.json", `{"version": 1, "tools": [`, "approved.json:1:"},
		"no baseline any more":   {"approved.json", "", "the baseline is gone, and with it every approval"},
		"somebody without views": {"hub.yaml", files["hub.yaml"] + "stdio: {view: nobody}\n", `unknown view "nobody"`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, files, map[string]*fake{"fs": fs}, nil)
			cs := w.client(protocols[1], "", nil)
			before, err := os.ReadFile(w.path(c.file))
			require.NoError(t, err)
			generation := w.g.Engine().Snapshot().Generation()
			if c.text == "" {
				require.NoError(t, os.Remove(w.path(c.file)))
			} else {
				w.write(c.file, c.text)
			}
			require.ErrorContains(t, w.g.Reload(false), c.want)
			require.ErrorContains(t, w.g.Reload(false), c.want, "it is told as long as it is so")
			require.Equal(t, generation, w.g.Engine().Snapshot().Generation())
			require.Contains(t, w.g.Health().Config.Error, c.want)
			text, err := call(cs, "fs__read", nil)
			require.NoError(t, err)
			require.Equal(t, "ran read first", text)
			require.Equal(t, 1, strings.Count(w.log.String(), "the configuration was not reloaded"), "once in the log")
			w.write(c.file, string(before))
			eventually(t, "it is mended", func() bool { return w.g.Reload(false) == nil })
			require.Equal(t, "ok", w.g.Health().Status)
		})
	}
}

// A file that a bad configuration names is waited for, too.
func TestAFileThatComesLater(t *testing.T) {
	w := newWorld(t, map[string]string{"hub.yaml": hubYAML(), "policy.yaml": policyYAML("fs/*")}, nil, nil)
	w.write("hub.yaml", strings.ReplaceAll(hubYAML(), "policy.yaml", "next.yaml"))
	require.Error(t, w.g.Reload(false))
	w.write("next.yaml", policyYAML())
	eventually(t, "it is there", func() bool { return w.g.Health().Config.Error == "" })
}

func TestReloadingCallers(t *testing.T) {
	w, _ := twoCallers(t)
	require.Equal(t, []string{"fs__read"}, toolNames(t, w.client(protocols[0], botToken, nil)))
	yaml, err := os.ReadFile(w.path("hub.yaml"))
	require.NoError(t, err)
	alice := w.client(protocols[0], aliceToken, nil)
	stream, done, ok := w.g.web.streams.begin(t.Context(), nil)
	require.True(t, ok)
	defer done()

	// bot goes to the default view.
	w.write("hub.yaml", strings.ReplaceAll(string(yaml), "bot, view: reader", "bot, view: default"))
	require.NoError(t, w.g.Reload(false))
	require.Error(t, stream.Err(), "streams are ended: those behind them come in anew, if they may")
	require.Equal(t, []string{"fs__read", "fs__write"}, toolNames(t, w.client(protocols[0], botToken, nil)))

	// alice goes.
	lines := strings.Split(string(yaml), "\n")
	var kept []string
	for _, l := range lines {
		if !strings.Contains(l, "alice") {
			kept = append(kept, l)
		}
	}
	w.write("hub.yaml", strings.Join(kept, "\n"))
	require.NoError(t, w.g.Reload(false))
	_, err = w.dial(protocols[0], aliceToken, nil)
	require.Error(t, err)
	_, err = call(alice, "fs__read", nil)
	require.Error(t, err, "her session is no way in either")

	// Nobody has to say who he is: that is not a thing to happen by an edit.
	w.write("hub.yaml", hubYAML())
	require.ErrorContains(t, w.g.Reload(false), "nobody would have to say who he is")
	res, _ := w.request("POST", "/mcp", "", initialize)
	require.Equal(t, 401, res.StatusCode)
}

// What needs a restart says so, and stays as it was.
func TestWhatNeedsARestart(t *testing.T) {
	w := newWorld(t, map[string]string{"hub.yaml": hubYAML(), "policy.yaml": policyYAML("fs/*")}, nil, nil)
	w.write("hub.yaml", strings.ReplaceAll(hubYAML("admin: 127.0.0.1:1", "refresh: 1m"), "127.0.0.1:0", "127.0.0.1:2"))
	require.NoError(t, w.g.Reload(false))
	require.Equal(t, []string{"listen", "admin", "refresh"}, w.g.Health().Config.Restart)
	require.Contains(t, w.log.String(), "listen, admin, refresh")
	w.write("hub.yaml", hubYAML())
	require.NoError(t, w.g.Reload(false))
	require.Empty(t, w.g.Health().Config.Restart)
}

// A signal has everything loaded anew at once.
func TestTrigger(t *testing.T) {
	trigger := make(chan os.Signal)
	w := newWorld(t, map[string]string{"hub.yaml": hubYAML(), "policy.yaml": policyYAML("fs/*")}, nil, func(w *world) { w.o.Trigger = trigger })
	trigger <- os.Interrupt
	trigger <- os.Interrupt // is taken when the first is done
	require.Contains(t, w.log.String(), "the configuration was reloaded")
}

// Under traffic, every call is answered by the old policy or the new one, and by nothing else.
func TestReloadUnderTraffic(t *testing.T) {
	fs := newFake(t, "read", "write")
	w := newWorld(t, map[string]string{"hub.yaml": hubYAML(), "policy.yaml": policyYAML("fs/read")}, map[string]*fake{"fs": fs}, nil)
	var wg sync.WaitGroup
	var stop atomic.Bool
	var ran, denied atomic.Int32
	for _, p := range protocols {
		cs := w.client(p, "", nil)
		wg.Go(func() {
			for !stop.Load() {
				for _, tool := range []string{"fs__read", "fs__write"} {
					text, err := call(cs, tool, nil)
					switch {
					case err != nil:
						t.Errorf("%s: %v", tool, err)
						return
					case strings.HasPrefix(text, "ran "):
						ran.Add(1)
					default:
						denied.Add(1)
					}
				}
			}
		})
	}
	for n := range 30 {
		switch n % 3 {
		case 0:
			w.write("policy.yaml", policyYAML("fs/write"))
			require.NoError(t, w.g.Reload(false))
		case 1:
			w.write("policy.yaml", "version: 1\npolicy: {")
			require.Error(t, w.g.Reload(false))
		default:
			w.write("policy.yaml", policyYAML("fs/read"))
			require.NoError(t, w.g.Reload(false))
		}
		time.Sleep(2 * time.Millisecond)
	}
	stop.Store(true)
	wg.Wait()
	require.NotZero(t, ran.Load())
	require.NotZero(t, denied.Load())
}

// An approval that is being written while the files are bad is in force all the same.
func TestAnApprovalWhileTheFilesAreBad(t *testing.T) {
	fs := newFake(t, "read")
	w := newWorld(t, map[string]string{"hub.yaml": hubYAML("baseline: approved.json", "ask: {elicit: true, remember: true}"), "policy.yaml": asking}, map[string]*fake{"fs": fs}, nil)
	var choice atomic.Value
	var asked atomic.Int32
	choice.Store("always")
	cs := w.client(protocols[0], "", person(&choice, &asked))
	w.write("policy.yaml", "version: 1\npolicy: {")
	require.Error(t, w.g.Reload(false))
	for range 2 {
		text, err := call(cs, "fs__read", nil)
		require.NoError(t, err)
		require.Equal(t, "ran read first", text)
	}
	require.EqualValues(t, 1, asked.Load())
	require.ErrorContains(t, w.g.Reload(false), "policy.yaml:2:")
	file, err := lockfile.Load(w.path("approved.json"))
	require.NoError(t, err)
	require.Equal(t, 1, file.Len())
}

// Sessions hear of a change that they see, and of no other.
func TestSessionsHearOfWhatChangesForThem(t *testing.T) {
	fs := newFake(t, "read", "write")
	w := newWorld(t, map[string]string{
		"hub.yaml":    hubYAML("views: {reader: {policy: reader.yaml}}", "stdio: {view: reader}"),
		"policy.yaml": policyYAML("fs/*"),
		"reader.yaml": "version: 1\nfilter: {include: [\"fs/read\"]}\npolicy: {allow_new_tools: true, allow: [\"*/*\"]}\n",
	}, map[string]*fake{"fs": fs}, nil)
	for _, p := range protocols {
		t.Run(p, func(t *testing.T) {
			var all, reader atomic.Int32
			listening := func(n *atomic.Int32) *mcp.ClientOptions {
				return &mcp.ClientOptions{ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { n.Add(1) }}
			}
			a, b := w.client(p, "", listening(&all)), w.local(p, listening(&reader))
			require.NotEmpty(t, toolNames(t, a))
			require.Equal(t, []string{"fs__read"}, toolNames(t, b))
			fs.add("new-"+p, "first")
			eventually(t, "the first caller is told", func() bool { return all.Load() > 0 })
			fs.add("read", "changed "+p)
			eventually(t, "the second caller is told of its own tool", func() bool { return reader.Load() > 0 })
			eventually(t, "both are told", func() bool { return all.Load() > 1 })
			require.EqualValues(t, 1, reader.Load(), "and not of the tool that it does not see")
		})
	}
}
