// The server behind the gate: one that speaks MCP over streamable HTTP, and answers in JSON or in a stream of events.

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strings"
	"sync"

	"github.com/penstock-mcp/penstock/engine"
)

const (
	maxAnswer = 8 << 20
	maxPages  = 100
)

// server is a backend. It connects when it is first needed, and again after its session ended; the request that finds
// out fails, and is not sent twice.
type server struct {
	url    string
	client *http.Client
	log    *slog.Logger

	mu      sync.Mutex
	started bool
	session string // "" where the server has none
	last    int
}

func (s *server) call(ctx context.Context, name string, args []byte) (json.RawMessage, error) {
	params := map[string]any{"name": name}
	if args != nil {
		params["arguments"] = json.RawMessage(args)
	}
	return s.request(ctx, "tools/call", params)
}

// refresh tells the engine which tools the server has now. Where it cannot be asked, it has none.
func (s *server) refresh(ctx context.Context, e *engine.Engine) (engine.Report, error) {
	tools, err := s.list(ctx)
	if err != nil {
		e.Remove(serverID)
		return engine.Report{}, err
	}
	return e.Refresh(serverID, tools)
}

// list returns all tools, each with its definition as it came. One that cannot be read is left out.
func (s *server) list(ctx context.Context) ([]engine.Tool, error) {
	var tools []engine.Tool
	params := map[string]any{}
	for range maxPages {
		result, err := s.request(ctx, "tools/list", params)
		if err != nil {
			return nil, err
		}
		var page struct {
			Tools      []json.RawMessage `json:"tools"`
			NextCursor string            `json:"nextCursor"`
		}
		if err := json.Unmarshal(result, &page); err != nil {
			return nil, err
		}
		for _, raw := range page.Tools {
			tool, err := engine.ParseTool(serverID, raw)
			if err != nil {
				s.log.Warn("left out", "tool", string(raw[:min(len(raw), 200)]), "error", err)
				continue
			}
			tools = append(tools, tool)
		}
		if page.NextCursor == "" {
			return tools, nil
		}
		params["cursor"] = page.NextCursor
	}
	return nil, errors.New("the list does not end")
}

// request sends a request on a session and returns the result.
func (s *server) request(ctx context.Context, method string, params any) (json.RawMessage, error) {
	session, id, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	result, _, err := s.post(ctx, session, id, method, params)
	var lost sessionLost
	if errors.As(err, &lost) {
		s.mu.Lock()
		if s.session == session {
			s.started = false
		}
		s.mu.Unlock()
	}
	return result, err
}

// connect returns the session and an id for a request on it.
func (s *server) connect(ctx context.Context) (session string, id int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	if s.started {
		return s.session, s.last, nil
	}
	_, session, err = s.post(ctx, "", s.last, "initialize", map[string]any{
		"protocolVersion": protocol, "capabilities": map[string]any{}, // no sampling, no elicitation: whom would one ask?
		"clientInfo": map[string]any{"name": "httpgate", "version": "1"},
	})
	if err != nil {
		return "", 0, err
	}
	if _, _, err := s.post(ctx, session, 0, "notifications/initialized", map[string]any{}); err != nil {
		return "", 0, err
	}
	s.started, s.session = true, session
	s.last++
	return session, s.last, nil
}

// sessionLost says that the server does not know the session any more.
type sessionLost struct{}

func (sessionLost) Error() string { return "the server has ended the session" }

// post sends one message, a notification where the id is 0, and returns the result and the session of the answer.
func (s *server) post(ctx context.Context, session string, id int, method string, params any) (json.RawMessage, string, error) {
	m := map[string]any{"jsonrpc": "2.0", "method": method, "params": params}
	if id != 0 {
		m["id"] = id
	}
	body, err := json.Marshal(m)
	if err != nil {
		return nil, "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return nil, "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if method != "initialize" {
		req.Header.Set("Mcp-Protocol-Version", protocol)
	}
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
	}
	res, err := s.client.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer res.Body.Close()
	session = res.Header.Get("Mcp-Session-Id")
	switch {
	case res.StatusCode == http.StatusNotFound:
		return nil, "", sessionLost{}
	case res.StatusCode/100 != 2:
		return nil, "", fmt.Errorf("the server answered %s", res.Status)
	case id == 0:
		return nil, session, nil
	}
	kind, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err != nil {
		return nil, "", err
	}
	limited := io.LimitReader(res.Body, maxAnswer)
	if kind == "text/event-stream" {
		result, err := readEvents(limited, id)
		return result, session, err
	}
	all, err := io.ReadAll(limited)
	if err != nil {
		return nil, "", err
	}
	result, mine, err := readAnswer(all, id)
	if err == nil && !mine {
		err = errors.New("the server answered another request")
	}
	return result, session, err
}

// readEvents returns the answer to request id from a stream of events. Notifications and requests of the server in the
// same stream are dropped.
func readEvents(r io.Reader, id int) (json.RawMessage, error) {
	lines := bufio.NewReader(r)
	var data []string
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return nil, fmt.Errorf("the stream ended without the answer: %w", err)
		}
		line = strings.TrimRight(line, "\r\n")
		if value, ok := strings.CutPrefix(line, "data:"); ok {
			data = append(data, strings.TrimPrefix(value, " "))
			continue
		}
		if line != "" || data == nil {
			continue
		}
		result, mine, err := readAnswer([]byte(strings.Join(data, "\n")), id)
		if mine {
			return result, err
		}
		data = nil
	}
}

// readAnswer returns the result in a message, and whether the message answers request id.
func readAnswer(message []byte, id int) (result json.RawMessage, mine bool, err error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(message, &fields); err != nil {
		return nil, false, err
	}
	if _, request := fields["method"]; request || string(fields["id"]) != fmt.Sprint(id) {
		return nil, false, nil
	}
	if raw, failed := fields["error"]; failed {
		e := &rpcError{}
		if err := json.Unmarshal(raw, e); err != nil {
			return nil, true, err
		}
		return nil, true, e
	}
	if fields["result"] == nil {
		return nil, true, errors.New("the server answered without a result")
	}
	return fields["result"], true, nil
}
