// The gate: a hook that the library calls with every request before it looks at the method, and whose error ends it.

package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/penstock-mcp/penstock/engine"
)

// passed are the methods that a part of the guard judges, or that touch nothing. Whatever else the library can do, now or
// in its next version, is refused: here subscriptions, completion, which tells whether a prompt or a resource exists, and
// tasks/list, which shows everybody's tasks where there are no sessions.
var passed = map[string]bool{
	"initialize": true, "ping": true, "server/discover": true, "logging/setLevel": true,
	"tools/list": true, "tools/call": true,
	"resources/list": true, "resources/templates/list": true, "resources/read": true,
	"prompts/list": true, "prompts/get": true,
	"tasks/get": true, "tasks/result": true, "tasks/cancel": true, // of one task, whose id nobody can guess
}

// gate reads a message with the library's own types, so that both read the same, and refuses what nothing else would.
func (g *guard) gate(ctx context.Context, _, message any) error {
	raw, ok := message.(json.RawMessage)
	if !ok {
		return fmt.Errorf("a message of type %T cannot be judged", message)
	}
	var head struct {
		Method string `json:"method"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return err
	}
	switch {
	case !passed[head.Method]:
		return fmt.Errorf("method %q is not offered here", head.Method)
	case head.Method == "resources/read":
		return g.gateRead(ctx, raw)
	case head.Method == "tools/call":
		return g.gateTask(ctx, raw)
	}
	return nil
}

// gateRead gives a denied resource and one that is not there the same error.
func (g *guard) gateRead(ctx context.Context, raw []byte) error {
	var req mcp.ReadResourceRequest
	if err := json.Unmarshal(raw, &req); err != nil {
		return err
	}
	uri := req.Params.URI
	if !g.hasResource(uri) || !g.mayRead(ctx, uri) {
		return fmt.Errorf("resource %q not found", uri)
	}
	return nil
}

func (g *guard) hasResource(uri string) bool {
	if g.resources[uri] {
		return true
	}
	for _, t := range g.templates {
		if t.URITemplate.Regexp().MatchString(uri) { // what the library asks
			return true
		}
	}
	return false
}

// gateTask judges calls that are to run as a task, whether or not the middleware will run for them. A tool that is not
// seen is left to the filter, which makes the error of one that is not there.
func (g *guard) gateTask(ctx context.Context, raw []byte) error {
	var req mcp.CallToolRequest
	if err := json.Unmarshal(raw, &req); err != nil {
		return err
	}
	if req.Params.Task == nil {
		return nil
	}
	if _, visible := g.engine.Snapshot().View(view).Tool(ctx, serverID, req.Params.Name, request(ctx)); !visible {
		return nil
	}
	_, err := g.judge(ctx, req.Params)
	return err
}

// beforeTask hands on the arguments of a task as they were judged. It cannot refuse, but it can take the task away: then
// the call has to go through the middleware, or nowhere.
func beforeTask(_ context.Context, _ any, req *mcp.CallToolRequest) {
	if req.Params.Task == nil {
		return
	}
	p, _, err := decode(req.Params)
	if err != nil {
		p.Task = nil
	}
	req.Params = p
}

var _ server.OnRequestInitializationFunc = (*guard)(nil).gate

type callerKey struct{}

// request is who asks, as the engine knows it. Whoever serves has put it into the context; nobody is nobody.
func request(ctx context.Context) *engine.Request {
	user, _ := ctx.Value(callerKey{}).(string)
	return &engine.Request{Attributes: map[string]any{"user": user}}
}
