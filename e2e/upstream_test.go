package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// everythingOverHTTP starts the server at a port, and returns what ends it.
func everythingOverHTTP(t *testing.T, port int) (stop func()) {
	t.Helper()
	cmd := exec.Command(bin("mcp-server-everything"), "streamableHttp")
	cmd.Env = append(os.Environ(), fmt.Sprintf("PORT=%d", port))
	require.NoError(t, cmd.Start())
	ended := false
	stop = func() {
		if !ended {
			ended = true
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	t.Cleanup(stop)
	return stop
}

func TestAServerOverHTTP(t *testing.T) {
	port := freePort(t)
	stop := everythingOverHTTP(t, port)
	s := newFake(t, "Acts.")
	f := fakeHub(t, s)
	servers, err := json.Marshal(object{"mcpServers": object{
		"fake": s.server(), "remote": object{"type": "http", "url": fmt.Sprintf("http://127.0.0.1:%d/mcp", port)},
	}})
	require.NoError(t, err)
	f.write("servers.json", string(servers))
	f.write("policy.yaml", "version: 1\npolicy:\n  scope: [tools, resources]\n  allow: [\"fake/act\", \"remote/echo\", "+
		"\"remote/get-resource-links\", \"remote/trigger-long-running-operation\", \"resource:remote/*\"]\n")
	h := f.serve(2)
	ts := newTSClient(t, object{"url": h.url})
	const remote = "remote__echo"
	hi := outcome{Text: "Echo: hi"}
	require.Eventually(t, func() bool { return ts.call(remote, object{"message": "hi"}) == hi }, patience, poll) // starts slower than the hub
	require.True(t, ts.call("remote__get-env", object{}).IsError)

	// Links in a result can be followed, and say nothing of where the server is.
	var linked struct{ Content []struct{ Type, URI string } }
	require.NoError(t, ts.request("tools/call", object{"name": "remote__get-resource-links", "arguments": object{"count": 3}}, &linked))
	links := 0
	for _, content := range linked.Content {
		if content.Type == "resource_link" {
			links++
			require.Regexp(t, "^penstock:remote:demo://", content.URI)
			require.NoError(t, ts.request("resources/read", object{"uri": content.URI}, nil))
		}
	}
	require.Equal(t, 3, links)

	// Progress reaches the caller.
	for _, version := range []string{"", "2025-06-18"} {
		c := connectGoVersion(t, h.overHTTP(""), nil, version)
		p := &mcp.CallToolParams{Name: "remote__trigger-long-running-operation", Arguments: object{"duration": 0.3, "steps": 3}}
		p.SetProgressToken("token")
		res, err := c.CallTool(t.Context(), p)
		require.NoError(t, err)
		require.False(t, res.IsError)
		require.Eventually(t, func() bool { _, _, steps := c.told(); return steps == 3 }, patience, poll)
	}

	// It goes, in the middle of a call, and comes back.
	require.Contains(t, ts.tools(), remote)
	ts.seen()
	running := ts.start(object{"op": "tools/call", "params": object{
		"name": "remote__trigger-long-running-operation", "arguments": object{"duration": 600, "steps": 1}}})
	require.Equal(t, hi, ts.call(remote, object{"message": "hi"}), "a call that takes long holds up others")
	stop()
	cut := <-running
	require.Nil(t, cut.Error)
	require.Contains(t, string(cut.Result), `"isError":true`)
	ts.notified("notifications/tools/list_changed")
	require.Equal(t, []string{act}, ts.tools())
	require.NotEmpty(t, ts.call(remote, object{"message": "hi"}).Err)
	everythingOverHTTP(t, port)
	require.Eventually(t, func() bool { return ts.call(remote, object{"message": "hi"}) == hi }, patience, poll, "it is not back")
	require.Contains(t, ts.tools(), remote)
}

func TestAServerDiesInTheMiddleOfACall(t *testing.T) {
	s := newFake(t, "Acts.")
	f := fakeHub(t, s)
	f.write("policy.yaml", "version: 1\npolicy:\n  allow: [\"fake/act\"]\n")
	h := f.serve(1)
	for name, start := range map[string]func() func() outcome{
		"TypeScript": func() func() outcome {
			c := newTSClient(t, object{"url": h.url})
			running := c.start(object{"op": "tools/call", "params": object{"name": act, "arguments": object{}}})
			return func() outcome {
				a := <-running
				require.Nil(t, a.Error)
				var res struct {
					Content []struct{ Text string }
					IsError bool
				}
				require.NoError(t, json.Unmarshal(a.Result, &res))
				return outcome{Text: res.Content[0].Text, IsError: res.IsError}
			}
		},
		"Go": func() func() outcome {
			c := connectGo(t, h.overHTTP(""), nil)
			done := make(chan outcome, 1)
			go func() { done <- c.call(act, object{}) }()
			return func() outcome { return <-done }
		},
	} {
		before := len(s.calls())
		s.write("hold", "")
		end := start()
		require.Eventually(t, func() bool { return len(s.calls()) == before+1 }, patience, poll, name)
		kill(t, s.pid())
		o := end()
		require.True(t, o.IsError, name)
		require.Contains(t, o.Text, "Whether it was carried out is not known", name)
		require.NoError(t, os.Remove(s.path("hold")))
		c := connectGo(t, h.overHTTP(""), nil)
		require.Eventually(t, func() bool { return c.call(act, object{"n": 1}) == outcome{Text: `acted: {"n":1}`} }, patience, poll, name)
		require.Len(t, s.calls(), before+2, "a call that was cut off was sent again")
	}
}
