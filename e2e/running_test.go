package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// kill ends a process at once.
func kill(t *testing.T, pid int) {
	t.Helper()
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
}

func TestHangUpLoadsTheFiles(t *testing.T) {
	s := newFake(t, "Acts.")
	f := fakeHub(t, s)
	f.write("policy.yaml", "version: 1\npolicy:\n  allow: [\"fake/act\"]\n")
	h := f.serve(1)
	c := newTSClient(t, object{"url": h.url})
	pid := s.pid()
	for range 2 {
		_, body, err := get(h.admin + "/healthz")
		require.NoError(t, err)
		var before healthz
		require.NoError(t, json.Unmarshal([]byte(body), &before))
		require.NoError(t, h.cmd.Process.Signal(syscall.SIGHUP)) // nothing has changed: only this makes another generation
		h.waitHealth(func(health healthz) bool { return health.Generation > before.Generation && health.Status == "ok" })
		require.Equal(t, outcome{Text: "acted: {}"}, c.call(act, object{}))
	}
	require.Equal(t, pid, s.pid(), "a server that did not change was started anew")
	require.Zero(t, h.stop())
}

func TestARunningCallEndsBeforeTheHub(t *testing.T) {
	s := newFake(t, "Acts.")
	f := fakeHub(t, s)
	f.write("policy.yaml", "version: 1\npolicy:\n  allow: [\"fake/act\"]\n")
	h := f.serve(1)
	c := newTSClient(t, object{"url": h.url})
	s.write("hold", "")
	running := c.start(object{"op": "tools/call", "params": object{"name": act, "arguments": object{"n": 1}}})
	require.Eventually(t, func() bool { return len(s.calls()) == 1 }, patience, poll)
	require.NoError(t, h.cmd.Process.Signal(syscall.SIGTERM))
	require.Eventually(t, func() bool { _, _, err := get(h.admin + "/healthz"); return err != nil }, patience, poll)
	select {
	case <-h.exited:
		require.Fail(t, "the hub did not wait for a call")
	default:
	}
	require.NoError(t, os.Remove(s.path("hold")))
	a := <-running
	require.Nil(t, a.Error)
	require.Contains(t, string(a.Result), "acted: ")
	<-h.exited
	require.Zero(t, h.cmd.ProcessState.ExitCode())
	require.False(t, alive(s.pid()))
}

// TestABadFileOfAnyKindChangesNothing breaks each file of a hub in turn, while it runs.
func TestABadFileOfAnyKindChangesNothing(t *testing.T) {
	s := newFake(t, "Acts.")
	f := fakeHub(t, s)
	h := f.serve(1)
	c := connectGo(t, h.overHTTP(""), choose("always"))
	require.False(t, c.call(act, object{}).IsError)
	pid := s.pid()
	for name, bad := range map[string]string{
		"servers.json":  `{"mcpServers": {"fake": {"command": 1}}}`,
		"baseline.json": "{}",
		"policy.yaml":   "version: 1\npolicy: {deny: [\"fake/\"]}\n",
		"http.yaml":     "version: 1\nservers: servers.json\npolicy: nowhere.yaml\n",
	} {
		good := f.read(name)
		f.write(name, bad)
		require.NoError(t, h.cmd.Process.Signal(syscall.SIGHUP))
		h.waitHealth(func(health healthz) bool { return health.Status == "degraded" })
		_, body, err := get(h.admin + "/healthz")
		require.NoError(t, err)
		require.Contains(t, body, strings.TrimSuffix(name, ".yaml"), "it does not say which file is bad")
		require.Equal(t, outcome{Text: "acted: {}"}, c.call(act, object{}), name)
		_, body, err = get(strings.TrimSuffix(h.url, "/mcp") + "/healthz")
		require.NoError(t, err)
		require.JSONEq(t, `{"status": "degraded"}`, body, "callers are told more than that")
		f.write(name, good)
		require.NoError(t, h.cmd.Process.Signal(syscall.SIGHUP))
		h.waitHealth(func(health healthz) bool { return health.Status == "ok" })
	}
	require.Equal(t, outcome{Text: "acted: {}"}, c.call(act, object{}))
	require.Len(t, strings.Split(c.questions(), "\n---\n"), 1, "an approval was lost")
	require.Equal(t, pid, s.pid())
}

// TestNothingPilesUp has clients come and go, and a server die, and counts what the hub has open.
func TestNothingPilesUp(t *testing.T) {
	s := newFake(t, "Acts.")
	f := fakeHub(t, s)
	f.write("policy.yaml", "version: 1\npolicy:\n  allow: [\"fake/act\"]\n")
	h := f.serve(1)
	open := func() int {
		files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", h.cmd.Process.Pid))
		require.NoError(t, err)
		return len(files)
	}
	round := func() {
		for _, version := range []string{"", "2025-06-18", "2025-11-25"} {
			c := connectGoVersion(t, h.overHTTP(""), nil, version)
			require.Eventually(t, func() bool { return len(c.tools()) == 1 }, patience, poll) // comes a moment after the server
			require.Equal(t, outcome{Text: "acted: {}"}, c.call(act, object{}))
			require.NoError(t, c.Close())
		}
		pid := s.pid()
		kill(t, pid)
		h.waitHealth(func(health healthz) bool { return health.up() == 1 && s.pid() != pid })
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	}
	round()
	before := open()
	for range 3 {
		round()
	}
	require.Eventually(t, func() bool {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		return open() <= before+2
	}, patience, poll, "%d files were open, and now there are more", before)
}
