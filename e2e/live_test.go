package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

const echo = "everything__echo"

// policyOf is a policy that allows the echo tool, or denies it, with a message.
func policyOf(allow bool, message string) string {
	if allow {
		return "version: 1\npolicy:\n  allow: [\"everything/echo\"]\n"
	}
	return fmt.Sprintf("version: 1\npolicy:\n  deny:\n    - {id: closed, rule: \"everything/echo\", message: %q}\n", message)
}

func TestPolicyReloadsUnderTraffic(t *testing.T) {
	f := newFolder(t, map[string]string{
		"hub.yaml":    "version: 1\nservers: servers.json\npolicy: policy.yaml\n",
		"policy.yaml": policyOf(true, ""),
	})
	f.write("servers.json", f.servers())
	h := f.serve(3)
	watcher := connectGo(t, h.overHTTP(""), nil)
	want := outcome{Text: "Echo: hi"}
	require.Equal(t, want, watcher.call(echo, object{"message": "hi"}))

	// Traffic: two clients that call all the time. Every answer is one of the two that there are.
	stop := make(chan struct{})
	var traffic sync.WaitGroup
	var mu sync.Mutex
	ran, denied := 0, 0
	var strange []outcome
	for range 2 {
		c := connectGo(t, h.overHTTP(""), nil)
		traffic.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				o := c.call(echo, object{"message": "hi"})
				mu.Lock()
				switch {
				case o == want:
					ran++
				case o.IsError && strings.Contains(o.Text, "Closed for"):
					denied++
				default:
					strange = append(strange, o)
				}
				mu.Unlock()
			}
		})
	}
	for i := range 3 {
		message := fmt.Sprintf("Closed for round %d.", i)
		f.write("policy.yaml", policyOf(false, message))
		require.Eventually(t, func() bool {
			o := watcher.call(echo, object{"message": "hi"})
			return o.IsError && strings.Contains(o.Text, message)
		}, patience, poll, "a new policy is not in force")

		f.write("policy.yaml", "version: 1\npolicy:\n  alow: [\"everything/echo\"]\n")
		h.waitHealth(func(health healthz) bool { return health.Status == "degraded" })
		require.Contains(t, watcher.call(echo, object{"message": "hi"}).Text, message, "a bad policy changed what is in force")
		_, body, err := get(h.admin + "/healthz")
		require.NoError(t, err)
		require.Contains(t, body, "policy.yaml:3:3")
		require.Contains(t, body, "alow")

		f.write("policy.yaml", policyOf(true, ""))
		require.Eventually(t, func() bool { return watcher.call(echo, object{"message": "hi"}) == want }, patience, poll)
		h.waitHealth(func(health healthz) bool { return health.Status == "ok" })
	}
	close(stop)
	traffic.Wait()
	require.Empty(t, strange, "answers that are neither of the two")
	require.NotZero(t, ran)
	require.NotZero(t, denied)

	// A filter that hides the tool reaches the clients' lists, and they are told.
	require.Contains(t, watcher.tools(), echo)
	ts := newTSClient(t, object{"url": h.url})
	require.Contains(t, ts.tools(), echo)
	ts.seen()
	f.write("policy.yaml", policyOf(true, "")+"filter: {exclude: [\"everything/echo\"]}\n")
	ts.notified("notifications/tools/list_changed")
	require.NotContains(t, ts.tools(), echo)
	require.NotContains(t, watcher.tools(), echo)
	require.NotEmpty(t, watcher.call(echo, object{"message": "hi"}).Err, "a hidden tool is unknown")

	// What is hidden changes nothing that anybody is told of: another change of it sends no list_changed, but the next
	// one that shows does.
	_, body, err := get(h.admin + "/healthz")
	require.NoError(t, err)
	var before healthz
	require.NoError(t, json.Unmarshal([]byte(body), &before))
	changed := func() (n int) {
		for _, e := range ts.seen() {
			if e.Notification == "notifications/tools/list_changed" {
				n++
			}
		}
		return n
	}
	changed()
	f.write("policy.yaml", policyOf(true, "")+"filter: {exclude: [\"everything/echo\", \"everything/nothing\"]}\n")
	h.waitHealth(func(health healthz) bool { return health.Generation > before.Generation })
	ts.tools()
	f.write("policy.yaml", policyOf(true, ""))
	n := 0
	require.Eventually(t, func() bool { n += changed(); return n > 0 }, patience, poll)
	require.Contains(t, ts.tools(), echo)
	require.Equal(t, 1, n+changed(), "a change that does not show was told")
}

func TestAServerIsKilledAndComesBack(t *testing.T) {
	s := newFake(t, "Acts.")
	f := fakeHub(t, s)
	self := s.server()
	servers := fmt.Sprintf(`{"mcpServers": {"fake": {"command": %q, "env": {%q: %q}}, "everything": {"command": %q}}}`,
		self["command"], fakeFolder, s.dir, bin("mcp-server-everything"))
	f.write("servers.json", servers)
	f.write("policy.yaml", "version: 1\npolicy:\n  allow: [\"fake/act\", \"everything/echo\"]\n")
	h := f.serve(2)
	ts := newTSClient(t, object{"url": h.url})
	require.Contains(t, ts.tools(), act)
	require.Equal(t, outcome{Text: "acted: {}"}, ts.call(act, object{}))
	ts.seen()

	for range 2 {
		// Nothing can start while there is no description folder to write to: the server stays down until it may come back.
		pid := s.pid()
		require.NoError(t, os.Rename(s.dir, s.dir+".away"))
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		ts.notified("notifications/tools/list_changed")
		names := ts.tools()
		require.NotContains(t, names, act, "the tools of a dead server are still listed")
		require.Contains(t, names, echo)
		require.NotEmpty(t, ts.call(act, object{}).Err)
		require.Equal(t, outcome{Text: "Echo: still here"}, ts.call(echo, object{"message": "still here"}))
		h.waitHealth(func(health healthz) bool { return health.Status == "degraded" })

		require.NoError(t, os.Rename(s.dir+".away", s.dir))
		ts.notified("notifications/tools/list_changed")
		require.Eventually(t, func() bool { return ts.call(act, object{}) == outcome{Text: "acted: {}"} }, patience, poll, "it is not back")
		require.NotEqual(t, pid, s.pid())
		h.waitHealth(func(health healthz) bool { return health.Status == "ok" })
		ts.seen()
	}
}

func TestServersComeAndGoWithTheFile(t *testing.T) {
	s := newFake(t, "Acts.")
	f := fakeHub(t, s)
	h := f.serve(1)
	pid := s.pid()
	c := connectGo(t, h.overHTTP(""), nil)
	require.Equal(t, []string{act}, c.tools())
	f.write("servers.json", f.servers())
	require.Eventually(t, func() bool { return len(c.tools()) > 20 }, patience, poll)
	require.NotContains(t, c.tools(), act)
	require.Eventually(t, func() bool { return !alive(pid) }, patience, poll, "a server that was taken out still runs")
}

// newToken has the command make a token, and returns what hub.yaml knows of it, too.
func newToken(t *testing.T) (token, sum string) {
	t.Helper()
	code, out, errs := runPenstock(t, "hub", "token")
	require.Zero(t, code, errs)
	for line := range strings.Lines(out) {
		if _, s, ok := strings.Cut(line, "token_sha256:"); ok {
			sum = strings.Trim(strings.TrimSpace(s), `"`+"}")
		} else if fields := strings.Fields(line); len(fields) > 0 && token == "" {
			token = fields[len(fields)-1]
		}
	}
	require.Len(t, sum, 64, out)
	return token, sum
}

func TestCallersAndViews(t *testing.T) {
	f := newFolder(t, map[string]string{
		"policy.yaml": "version: 1\npolicy:\n  allow: [\"everything/echo\", \"memory/read_graph\"]\n",
		"reader.yaml": "version: 1\nfilter: {include: [\"memory/read_graph\"]}\npolicy:\n  allow: [\"memory/read_graph\"]\n",
	})
	f.write("servers.json", f.servers())
	alice, aliceSum := newToken(t)
	bot, botSum := newToken(t)
	require.NotEqual(t, alice, bot)
	f.write("hub.yaml", fmt.Sprintf(`version: 1
servers: servers.json
policy: policy.yaml
views:
  reader: {policy: reader.yaml}
callers:
  - {principal: alice, view: default, token_sha256: %q}
  - {principal: bot, view: reader, token_sha256: %q}
audit: {file: audit.jsonl}
`, aliceSum, botSum))
	h := f.serve(3)

	status, _, err := get(h.url)
	require.NoError(t, err)
	require.Equal(t, 401, status, "nobody comes in without a token")
	a, b := newTSClient(t, object{"url": h.url, "token": alice}), connectGo(t, h.overHTTP(bot), nil)
	require.Contains(t, a.tools(), echo)
	require.Equal(t, []string{"memory__read_graph"}, b.tools())
	require.Equal(t, outcome{Text: "Echo: hi"}, a.call(echo, object{"message": "hi"}))
	require.NotEmpty(t, b.call(echo, object{"message": "hi"}).Err)
	require.Contains(t, b.call("memory__read_graph", object{}).Text, "entities")
	audit := f.read("audit.jsonl")
	require.Contains(t, audit, `"principal":"alice"`)
	require.Contains(t, audit, `"principal":"bot"`)

	// The public port tells nothing of what is behind it, the other one all.
	status, body, err := get(strings.TrimSuffix(h.url, "/mcp") + "/healthz")
	require.NoError(t, err)
	require.Equal(t, 200, status)
	require.NotContains(t, body, "everything")
	status, _, err = get(strings.TrimSuffix(h.url, "/mcp") + "/metrics")
	require.NoError(t, err)
	require.Equal(t, 404, status)
	status, body, err = get(h.admin + "/metrics")
	require.NoError(t, err)
	require.Equal(t, 200, status)
	require.Contains(t, body, "penstock")
	require.NotContains(t, body, "alice")
}

func TestStoppingLeavesNothingBehind(t *testing.T) {
	for _, how := range []string{"its input ends", "it is asked to"} {
		t.Run(how, func(t *testing.T) {
			s := newFake(t, "Acts.")
			f := fakeHub(t, s)
			cmd := exec.Command(penstock, "hub", "-c", f.path("hub.yaml"))
			in, err := cmd.StdinPipe()
			require.NoError(t, err)
			log := new(lockedBuffer)
			cmd.Stderr = log
			require.NoError(t, cmd.Start())
			require.Eventually(t, func() bool { _, err := os.Stat(s.path("pid")); return err == nil }, patience, poll, "%s", log)
			pid := s.pid()
			require.True(t, alive(pid))
			if how == "its input ends" {
				require.NoError(t, in.Close())
			} else {
				require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
			}
			require.NoError(t, cmd.Wait(), "%s", log)
			require.Eventually(t, func() bool { return !alive(pid) }, patience, poll, "server %s is an orphan", strconv.Itoa(pid))
		})
	}
}
