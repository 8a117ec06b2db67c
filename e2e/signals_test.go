package e2e

import (
	"encoding/json"
	"os"
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
