package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// patience is how long a test waits for what has to come.
const patience = 60 * time.Second

// poll is how often it looks.
const poll = 50 * time.Millisecond

// tsClient is a client of the TypeScript SDK: node/client.mjs, which has the commands.
type tsClient struct {
	t  *testing.T
	in io.WriteCloser

	mu      sync.Mutex
	next    int
	waiting map[int]chan tsAnswer
}

type tsAnswer struct {
	ID     int             `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *tsError        `json:"error"`
}

type tsError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *tsError) Error() string { return fmt.Sprintf("%d %s", e.Code, e.Message) }

// object is a JSON object.
type object = map[string]any

// newTSClient starts a client and connects it.
func newTSClient(t *testing.T, connect object) *tsClient {
	t.Helper()
	c := startTSClient(t)
	connect["op"] = "connect"
	c.must(connect, nil)
	return c
}

func startTSClient(t *testing.T) *tsClient {
	t.Helper()
	cmd := exec.Command("node", "client.mjs")
	cmd.Dir = "node"
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	c := &tsClient{t: t, in: in, waiting: map[int]chan tsAnswer{}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 64<<20)
		for lines.Scan() {
			var a tsAnswer
			if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
				a.Error = &tsError{Message: "no JSON: " + lines.Text()}
			}
			c.mu.Lock()
			answer := c.waiting[a.ID]
			delete(c.waiting, a.ID)
			c.mu.Unlock()
			if answer != nil {
				answer <- a
			}
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, answer := range c.waiting {
			answer <- tsAnswer{Error: &tsError{Message: "the client has ended"}}
		}
		c.waiting = nil
	}()
	t.Cleanup(func() {
		_ = in.Close()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			_ = cmd.Process.Kill()
			<-done
		}
		_ = cmd.Wait()
	})
	return c
}

// start sends a command and returns where its answer comes.
func (c *tsClient) start(command object) <-chan tsAnswer {
	answer := make(chan tsAnswer, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting == nil {
		answer <- tsAnswer{Error: &tsError{Message: "the client has ended"}}
		return answer
	}
	c.next++
	c.waiting[c.next] = answer
	line := object{}
	for k, v := range command {
		line[k] = v
	}
	line["id"] = c.next
	text, err := json.Marshal(line)
	require.NoError(c.t, err)
	_, err = c.in.Write(append(text, '\n'))
	require.NoError(c.t, err)
	return answer
}

// do sends a command and waits for its answer, which it stores in result.
func (c *tsClient) do(command object, result any) error {
	c.t.Helper()
	select {
	case a := <-c.start(command):
		if a.Error != nil {
			return a.Error
		}
		if result != nil {
			require.NoError(c.t, json.Unmarshal(a.Result, result), "%s", a.Result)
		}
		return nil
	case <-time.After(patience):
		return fmt.Errorf("no answer to %v", command["op"])
	}
}

func (c *tsClient) must(command object, result any) {
	c.t.Helper()
	require.NoError(c.t, c.do(command, result), "%v", command)
}

// request makes a request of the protocol.
func (c *tsClient) request(method string, params, result any) error {
	c.t.Helper()
	return c.do(object{"op": method, "params": params}, result)
}

// listed is a tool as the client was told of it.
type listed struct{ Name, Description string }

// list returns the tools on all pages.
func (c *tsClient) list() []listed {
	c.t.Helper()
	var tools []listed
	params := object{}
	for {
		var page struct {
			Tools      []listed
			NextCursor string
		}
		require.NoError(c.t, c.request("tools/list", params, &page))
		tools = append(tools, page.Tools...)
		if page.NextCursor == "" {
			return tools
		}
		params["cursor"] = page.NextCursor
	}
}

func (c *tsClient) tools() []string {
	c.t.Helper()
	var names []string
	for _, tool := range c.list() {
		names = append(names, tool.Name)
	}
	return names
}

func (c *tsClient) describe(name string) string {
	c.t.Helper()
	for _, tool := range c.list() {
		if tool.Name == name {
			return tool.Description
		}
	}
	return ""
}

// outcome is what a caller is told by a call: the text of its result, or its error.
type outcome struct {
	Text    string
	IsError bool
	Err     string
}

func (c *tsClient) call(name string, args object) outcome {
	c.t.Helper()
	var res struct {
		Content []struct{ Type, Text string }
		IsError bool
	}
	if err := c.request("tools/call", object{"name": name, "arguments": args}, &res); err != nil {
		return outcome{Err: err.Error()}
	}
	o := outcome{IsError: res.IsError}
	for _, content := range res.Content {
		o.Text += content.Text
	}
	return o
}

// event is what the server sent on its own.
type event struct {
	Notification string
	Params       json.RawMessage
	Elicitation  *struct {
		Message         string
		RequestedSchema json.RawMessage
	}
}

// seen returns the events since the last time.
func (c *tsClient) seen() []event {
	c.t.Helper()
	var all []event
	c.must(object{"op": "seen"}, &all)
	return all
}

// notified waits for a notification.
func (c *tsClient) notified(method string) {
	c.t.Helper()
	require.Eventually(c.t, func() bool {
		for _, e := range c.seen() {
			if e.Notification == method {
				return true
			}
		}
		return false
	}, patience, poll, "no %s", method)
}
