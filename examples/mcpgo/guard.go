// The engine before a server of mark3labs/mcp-go v1.2.1.
//
// That library has no place where every request passes and can be answered, so the work is divided:
//
//	tool filter       hidden tools, when listing and when calling: the library then says "not found" by itself
//	tool middleware   decides about calls, and hands on the arguments that were judged
//	gate              runs before any dispatch and can refuse: methods that nothing here judges, tasks, resources
//	prompt filter     denied prompts, when listing and when getting
//	list hooks        denied resources and templates, which have no filter
//
// The gate is needed for tasks because the middleware does not run for tools that were added with AddTaskTool, and for
// resources because no middleware can make the error of a resource that is not there.
//
// Nobody is asked here: where the policy says ask, the engine denies.

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/policyfile"
)

// serverID is what the policy calls this server, view what the engine calls its callers.
const serverID, view = "desk", "default"

// guard is the engine, and what the library does not say of itself. It is safe for concurrent use after refresh.
type guard struct {
	engine    *engine.Engine
	resources map[string]bool // URIs that are there
	templates []mcp.ResourceTemplate
}

// refresh tells the engine which tools there are. A tool that is missing here is hidden, wherever it was added.
func (g *guard) refresh(defs []mcp.Tool) error {
	var tools []engine.Tool
	for _, def := range defs {
		raw, err := json.Marshal(def)
		if err != nil {
			return err
		}
		tools = append(tools, engine.Tool{Server: serverID, Name: def.Name, Raw: raw})
	}
	_, err := g.engine.Refresh(serverID, tools)
	return err
}

// options put the guard into a server.
func (g *guard) options() []server.ServerOption {
	hooks := &server.Hooks{}
	hooks.AddOnRequestInitialization(g.gate)
	hooks.AddBeforeCallTool(beforeTask)
	hooks.AddAfterListResources(func(ctx context.Context, _ any, _ *mcp.ListResourcesRequest, res *mcp.ListResourcesResult) {
		res.NextCursor = "" // it would be the name of the last resource on the page, hidden or not: do not set a limit
		res.Resources = keep(res.Resources, func(r mcp.Resource) bool { return g.mayRead(ctx, r.URI) })
	})
	hooks.AddAfterListResourceTemplates(func(ctx context.Context, _ any, _ *mcp.ListResourceTemplatesRequest, res *mcp.ListResourceTemplatesResult) {
		res.NextCursor = ""
		res.ResourceTemplates = keep(res.ResourceTemplates, func(t mcp.ResourceTemplate) bool {
			return t.URITemplate != nil && g.mayRead(ctx, t.URITemplate.Raw())
		})
	})
	return []server.ServerOption{
		server.WithToolFilter(g.toolFilter),
		server.WithToolHandlerMiddleware(g.middleware),
		server.WithPromptFilter(g.promptFilter),
		server.WithHooks(hooks),
		// Said whatever there is. No list_changed: the library sends it to everybody, whoever's list changed.
		server.WithToolCapabilities(false),
		server.WithPromptCapabilities(false),
		server.WithResourceCapabilities(false, false),
	}
}

// keep returns those that are ok, in a list of its own: the library's could be shared.
func keep[T any](all []T, ok func(T) bool) []T {
	kept := make([]T, 0, len(all))
	for _, v := range all {
		if ok(v) {
			kept = append(kept, v)
		}
	}
	return kept
}

// toolFilter is called with all tools for a list and with one for a call, so it looks at each for itself.
func (g *guard) toolFilter(ctx context.Context, tools []mcp.Tool) []mcp.Tool {
	v, req := g.engine.Snapshot().View(view), request(ctx)
	return keep(tools, func(t mcp.Tool) bool {
		_, visible := v.Tool(ctx, serverID, t.Name, req)
		return visible
	})
}

func (g *guard) promptFilter(ctx context.Context, prompts []mcp.Prompt) []mcp.Prompt {
	v, req := g.engine.Snapshot().View(view), request(ctx)
	return keep(prompts, func(p mcp.Prompt) bool {
		d, err := v.EvaluatePrompt(serverID, p.Name, req)
		return err == nil && d.Action == engine.Allow
	})
}

func (g *guard) mayRead(ctx context.Context, uri string) bool {
	d, err := g.engine.Snapshot().View(view).EvaluateResource(serverID, uri, request(ctx))
	return err == nil && d.Action == engine.Allow
}

// middleware judges a call and hands on what was judged.
func (g *guard) middleware(next server.ToolHandlerFunc) server.ToolHandlerFunc {
	return func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		judged, err := g.judge(ctx, req.Params)
		if err != nil {
			return mcp.NewToolResultError(err.Error()), nil
		}
		req.Params = judged
		return next(ctx, req)
	}
}

const denied = "This call is not allowed here, and trying it again will not change that."

// refusal is an error that a model reads.
type refusal string

func (r refusal) Error() string { return string(r) }

// judge returns the parameters to run a call with, or an error for the model.
func (g *guard) judge(ctx context.Context, p mcp.CallToolParams) (mcp.CallToolParams, error) {
	p, values, err := decode(p)
	if err != nil {
		return p, err
	}
	call := &engine.Call{Server: serverID, Name: p.Name, Args: values}
	d, err := g.engine.Snapshot().View(view).Decide(ctx, call, request(ctx))
	switch {
	case err == nil && d.Action == engine.Allow:
		return p, nil
	case d.Rule().Message != "":
		return p, refusal(denied + " " + d.Rule().Message)
	default:
		return p, refusal(denied)
	}
}

// decode reads the arguments once: the library has read them by encoding/json, which takes the last of two equal keys and
// rounds large numbers. What could be read in two ways is refused, and what is handed on is written anew.
func decode(p mcp.CallToolParams) (mcp.CallToolParams, map[string]any, error) {
	if len(p.RawArguments) == 0 {
		if p.Arguments != nil {
			return p, nil, errors.New("arguments: they did not come as JSON")
		}
		return p, nil, nil
	}
	canonical, err := engine.CanonicalJSON(p.RawArguments)
	if err != nil {
		return p, nil, fmt.Errorf("arguments: %w", err)
	}
	values, err := policyfile.DecodeArguments(canonical) // for the engine: numbers keep every digit
	if err != nil {
		return p, nil, fmt.Errorf("arguments: %w", err)
	}
	p.RawArguments, p.Arguments = canonical, nil
	if values != nil {
		// For the handler, whose GetInt and the like want float64: the same numbers, or they would have been refused.
		err = json.Unmarshal(canonical, &p.Arguments)
	}
	return p, values, err
}
