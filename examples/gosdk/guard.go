// What puts the engine in front of the server: everything an embedder writes himself.

package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/hub"
	"github.com/penstock-mcp/penstock/policyfile"
)

// serverID is what the policy calls this server.
const serverID = "desk"

// config reads the policy. Whoever gets an error keeps what he has.
func config(path string) (engine.Config, error) {
	doc, err := policyfile.Load(path, policyfile.Options{})
	if err != nil {
		return engine.Config{}, err
	}
	filter, policy, err := doc.Compile()
	if err != nil {
		return engine.Config{}, err
	}
	views := map[string]engine.View{hub.DefaultView: {Filter: filter, Policy: policy}}
	return engine.Config{Views: views}, nil
}

// refresh tells the engine which tools there are, as the SDK's clients are told, and returns the names they have.
func refresh(e *engine.Engine, own []tool) (*hub.Names, error) {
	var tools []engine.Tool
	names := map[string]engine.Target{}
	for _, t := range own {
		raw, err := json.Marshal(t.def)
		if err != nil {
			return nil, err
		}
		tool, err := engine.ParseTool(serverID, raw)
		if err != nil {
			return nil, err
		}
		tools = append(tools, tool)
		names[tool.Name] = tool.Target()
	}
	if _, err := e.Refresh(serverID, tools); err != nil {
		return nil, err
	}
	return hub.NamesOf(names)
}

// identify says who asks: the user of the token that was verified in front of the SDK. Without one, nothing is seen.
func identify(ctx context.Context, method string, req mcp.Request) (hub.Caller, error) {
	if extra := req.GetExtra(); extra == nil || extra.TokenInfo == nil || extra.TokenInfo.UserID == "" {
		return hub.Caller{}, errors.New("no token")
	}
	return hub.IdentifyToken(ctx, method, req) // the view "default", and the scopes as an attribute
}

// resolve knows the URIs of this server's resources, and of its templates by their text.
func resolve(uri string) (engine.Target, bool) {
	return engine.Target{Server: serverID, Name: uri}, strings.HasPrefix(uri, "note://")
}

// audit writes a line for each request: who, what, and why. An Event has no argument values, only their digest.
type audit struct{ log *slog.Logger }

func (a audit) Observe(ctx context.Context, e hub.Event) {
	attrs := []slog.Attr{
		slog.String("method", e.Method), slog.String("principal", e.Caller.Principal),
		slog.String("server", e.Target.Server), slog.String("name", e.Target.Name),
		slog.String("args", e.ArgsDigest), slog.Uint64("generation", e.Generation),
	}
	if e.Decided {
		attrs = append(attrs, slog.Any("decision", e.Decision))
	}
	if e.Asked {
		attrs = append(attrs, slog.String("verdict", e.Approval.Verdict.String()), slog.String("by", e.Approval.By))
	}
	if err := errors.Join(e.IdentifyErr, e.Err); err != nil {
		attrs = append(attrs, slog.String("error", err.Error()))
	}
	a.log.LogAttrs(ctx, slog.LevelInfo, string(e.Result), attrs...)
}

// guarded returns the server with the guard before everything that it has.
func guarded(policy string, approver hub.Approver, log *slog.Logger) (*mcp.Server, *engine.Engine, error) {
	c, err := config(policy)
	if err != nil {
		return nil, nil, err
	}
	e, err := engine.New(c)
	if err != nil {
		return nil, nil, err
	}
	names, err := refresh(e, tools)
	if err != nil {
		return nil, nil, err
	}
	promptNames := map[string]engine.Target{}
	for _, p := range prompts {
		promptNames[p.Name] = engine.Target{Server: serverID, Name: p.Name}
	}
	promptTable, err := hub.NamesOf(promptNames)
	if err != nil {
		return nil, nil, err
	}
	guard, err := hub.NewGuard(hub.GuardOptions{
		Engine:    e,
		Names:     func() *hub.Names { return names },
		Prompts:   func() *hub.Names { return promptTable },
		Resources: resolve,
		Templates: resolve,
		Identify:  identify,
		Approver:  approver,
		Observer:  audit{log},
	})
	if err != nil {
		return nil, nil, err
	}
	server := newServer()
	server.AddReceivingMiddleware(guard.Middleware())
	server.AddSendingMiddleware(guard.SendingMiddleware())
	return server, e, nil
}
