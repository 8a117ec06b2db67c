// The gate: an HTTP handler that reads a JSON-RPC message, judges it, and writes a new one for the server.
//
// Nothing is passed through. What the caller sent is read once, strictly; what the server gets is made from what was
// judged; a list is made from the engine's snapshot, not from the server's answer. So there are no two readers of the
// same bytes, and no cursor, header or unknown field that slips by.
//
// Not covered, and refused or dropped rather than passed: resources, prompts, completion and subscriptions; progress and
// list_changed; sampling and elicitation by the server; tasks; GET streams. There is nobody to ask: where a policy says
// ask, the engine denies. All callers share one session with the server, so a server that keeps state by session mixes
// them up.

package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strings"

	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/policyfile"
)

const (
	serverID   = "files" // what the policies call the server
	maxRequest = 1 << 20
	protocol   = "2025-06-18" // the first version without batches
)

// caller is who a token belongs to.
type caller struct {
	user string
	view string // one that is not configured sees nothing
}

// callers are found by the digest of their tokens.
type callers map[[sha256.Size]byte]caller

// find returns who sends r. There is one way to say it, and it is not said twice.
func (c callers) find(r *http.Request) (caller, bool) {
	headers := r.Header.Values("Authorization")
	if len(headers) != 1 {
		return caller{}, false
	}
	token, ok := strings.CutPrefix(headers[0], "Bearer ")
	if !ok {
		return caller{}, false
	}
	found, ok := c[sha256.Sum256([]byte(token))]
	return found, ok
}

// backend runs what was judged.
type backend interface {
	// call calls a tool with arguments in canonical JSON, nil for none, and returns the result as the server wrote it.
	// An *rpcError is the server's own.
	call(ctx context.Context, name string, args []byte) (json.RawMessage, error)
}

// gate serves MCP over HTTP, tools only. It is safe for concurrent use.
type gate struct {
	engine  *engine.Engine
	callers callers
	backend backend
	log     *slog.Logger
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	who, ok := g.callers.find(r)
	if !ok {
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "no valid token", http.StatusUnauthorized)
		return
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "POST only", http.StatusMethodNotAllowed)
		return
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		http.Error(w, "application/json only", http.StatusUnsupportedMediaType)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			http.Error(w, "the request is too large", http.StatusRequestEntityTooLarge)
		} else {
			http.Error(w, "the request could not be read", http.StatusBadRequest)
		}
		return
	}
	m, err := parse(body)
	if err != nil {
		write(w, http.StatusBadRequest, nil, nil, &rpcError{Code: invalidRequest, Message: err.Error()})
		return
	}
	if m.id == nil { // a notification: whatever it says, nothing is to be done
		w.WriteHeader(http.StatusAccepted)
		return
	}
	result, err := g.answer(r.Context(), who, m)
	write(w, http.StatusOK, m.id, result, err)
}

// message is one request, read once. All of it is canonical JSON.
type message struct {
	id     json.RawMessage // nil for a notification
	method string
	params map[string]json.RawMessage
}

// parse reads a message. What two readers could read in two ways, such as a key that stands twice, is refused, and so is
// a batch: one answer would have to come from several snapshots.
func parse(body []byte) (message, error) {
	canonical, err := engine.CanonicalJSON(body)
	if err != nil {
		return message{}, err
	}
	// Into maps: fields of a struct would be found without regard to case.
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(canonical, &fields); err != nil || fields == nil {
		return message{}, errors.New("a message is one object; batches are not taken")
	}
	m := message{id: fields["id"]}
	if string(fields["jsonrpc"]) != `"2.0"` {
		return message{}, errors.New(`jsonrpc must be "2.0"`)
	}
	if m.id != nil && m.id[0] != '"' && m.id[0] != '-' && (m.id[0] < '0' || m.id[0] > '9') {
		return message{}, errors.New("id must be a string or a number")
	}
	if err := json.Unmarshal(fields["method"], &m.method); err != nil || m.method == "" {
		return message{}, errors.New("method must be a string")
	}
	if p, ok := fields["params"]; ok {
		if err := json.Unmarshal(p, &m.params); err != nil || m.params == nil {
			return message{}, errors.New("params must be an object")
		}
	}
	return m, nil
}

// answer answers a request from one snapshot.
func (g *gate) answer(ctx context.Context, who caller, m message) (any, error) {
	view := g.engine.Snapshot().View(who.view)
	req := &engine.Request{Attributes: map[string]any{"user": who.user}}
	switch m.method {
	case "initialize":
		return map[string]any{
			"protocolVersion": protocol,
			"capabilities":    map[string]any{"tools": map[string]any{}}, // the same, whatever there is
			"serverInfo":      map[string]any{"name": "httpgate", "version": "1"},
		}, nil
	case "ping":
		return map[string]any{}, nil
	case "tools/list":
		if _, ok := m.params["cursor"]; ok {
			return nil, &rpcError{Code: invalidParams, Message: "unknown cursor"} // none was ever given out
		}
		list := []json.RawMessage{}
		for tool := range view.Tools(ctx, req) {
			list = append(list, tool.Raw)
		}
		return map[string]any{"tools": list}, nil
	case "tools/call":
		return g.call(ctx, who, view, req, m.params)
	default:
		return nil, &rpcError{Code: methodNotFound, Message: fmt.Sprintf("method %q not found", m.method)}
	}
}

// call judges a call and runs it. The order matters: nothing is said of a tool that the caller does not see.
func (g *gate) call(ctx context.Context, who caller, view *engine.ViewSnapshot, req *engine.Request, params map[string]json.RawMessage) (any, error) {
	var name string
	if err := json.Unmarshal(params["name"], &name); err != nil {
		return nil, &rpcError{Code: invalidParams, Message: "name must be a string"}
	}
	unknown := &rpcError{Code: invalidParams, Message: fmt.Sprintf("unknown tool %q", name)}
	if _, visible := view.Tool(ctx, serverID, name, req); !visible {
		return nil, unknown
	}
	args := params["arguments"]
	if string(args) == "null" {
		args = nil
	}
	var values map[string]any
	if args != nil {
		var err error
		if values, err = policyfile.DecodeArguments(args); err != nil {
			return nil, &rpcError{Code: invalidParams, Message: "arguments: " + err.Error()}
		}
	}
	d, err := view.Decide(ctx, &engine.Call{Server: serverID, Name: name, Args: values}, req)
	g.log.LogAttrs(ctx, slog.LevelInfo, "call", slog.String("user", who.user), slog.String("tool", name),
		slog.Any("decision", d), slog.Uint64("generation", view.Snapshot().Generation()))
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return nil, unknown
	case err != nil || d.Action != engine.Allow:
		return refused(d), nil
	}
	result, err := g.backend.call(ctx, name, args) // what was judged, and nothing else
	var own *rpcError
	if err != nil && !errors.As(err, &own) {
		g.log.Error("the server did not answer", "tool", name, "error", err)
		return nil, &rpcError{Code: internalError, Message: "the server did not answer"}
	}
	return result, err
}

// refused is the result of a call that did not run: a result, so that the model reads it.
func refused(d engine.Decision) any {
	text := "This call is not allowed here, and trying it again will not change that."
	if m := d.Rule().Message; m != "" {
		text += " " + m
	}
	return map[string]any{"isError": true, "content": []any{map[string]any{"type": "text", "text": text}}}
}
