package gateway

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Somebody moves the audit log away and says so: what comes next is in a new file, and nothing is lost.
func TestTheAuditLogIsOpenedAnew(t *testing.T) {
	trigger := make(chan os.Signal)
	fs := newFake(t, "read")
	w := newWorld(t, map[string]string{"hub.yaml": hubYAML("audit: {file: audit.jsonl}"), "policy.yaml": policyYAML("fs/*")},
		map[string]*fake{"fs": fs}, func(w *world) { w.o.Trigger = trigger })
	cs := w.client(protocols[0], "", nil)
	calls := func(name string) int {
		text, err := os.ReadFile(w.path(name))
		require.NoError(t, err)
		return strings.Count(string(text), `"method":"tools/call"`)
	}
	_, _ = call(cs, "fs__read", nil)
	require.Equal(t, 1, calls("audit.jsonl"))
	require.NoError(t, os.Rename(w.path("audit.jsonl"), w.path("old.jsonl")))
	_, _ = call(cs, "fs__read", nil)
	require.Equal(t, 2, calls("old.jsonl"), "until somebody says so it goes on in the file it has")
	trigger <- syscall.SIGHUP
	require.Eventually(t, func() bool {
		_, err := os.Stat(w.path("audit.jsonl"))
		return err == nil
	}, 20*time.Second, 10*time.Millisecond)
	_, _ = call(cs, "fs__read", nil)
	require.Eventually(t, func() bool { return calls("old.jsonl")+calls("audit.jsonl") == 3 }, 20*time.Second, 10*time.Millisecond)
	require.NotZero(t, calls("audit.jsonl"))
}

func TestAnAuditLogThatCannotBeOpenedAnewGoesOn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "logs")
	require.NoError(t, os.Mkdir(dir, 0o700))
	a, err := openAudit(filepath.Join(dir, "audit.jsonl"))
	require.NoError(t, err)
	require.NoError(t, os.Rename(dir, dir+".moved"))
	require.Error(t, a.Reopen())
	_, err = a.Write([]byte("x\n"))
	require.NoError(t, err)
	require.NoError(t, a.Close())
	text, err := os.ReadFile(filepath.Join(dir+".moved", "audit.jsonl"))
	require.NoError(t, err)
	require.Equal(t, "x\n", string(text))
}

func TestRefusedTokensAreInTheLog(t *testing.T) {
	w, _ := twoCallers(t)
	for range 20 {
		res, _ := w.request("POST", "/mcp", "some-token-of-nobody", initialize)
		require.Equal(t, 401, res.StatusCode)
	}
	text := w.log.String()
	told := strings.Count(text, "a token was refused")
	require.NotZero(t, told)
	require.Less(t, told, 20, "as many as anybody likes to send")
	require.NotContains(t, text, "some-token-of-nobody")
	require.Contains(t, text, "127.0.0.1:")
}

// A call that does not end in time when the hub stops ends in words that say what is known.
func TestACallThatIsGivenUpSaysSo(t *testing.T) {
	fs := newFake(t, "slow")
	w := newWorld(t, map[string]string{"hub.yaml": hubYAML(), "policy.yaml": policyYAML("fs/*")}, map[string]*fake{"fs": fs}, nil)
	cs := w.local(protocols[0], nil)
	type answer struct {
		text string
		err  error
	}
	got := make(chan answer, 1)
	go func() {
		text, err := call(cs, "fs__slow", nil)
		got <- answer{text, err}
	}()
	require.Eventually(t, func() bool { return len(fs.called()) == 1 }, 20*time.Second, 10*time.Millisecond)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	go w.g.Close(ctx)
	a := <-got
	require.NoError(t, a.err)
	require.Contains(t, a.text, "stopped while the call was running")
}

// What has ended is still being answered.
func TestStoppingWaitsForResponses(t *testing.T) {
	var p posts
	p.wait(time.Hour)
	one, two := p.begin(), p.begin()
	waited := make(chan struct{})
	go func() { p.wait(time.Hour); close(waited) }()
	one()
	select {
	case <-waited:
		t.Fatal("one response is not written yet")
	case <-time.After(20 * time.Millisecond):
	}
	two()
	<-waited
	three := p.begin()
	p.wait(time.Millisecond) // not for ever
	three()
	require.Zero(t, p.n)
}
