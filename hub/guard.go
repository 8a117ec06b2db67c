package hub

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Guard enforces an engine's decisions on an MCP server.
type Guard struct{ o GuardOptions }

// NewGuard returns a guard.
func NewGuard(o GuardOptions) (*Guard, error) {
	if o.Engine == nil {
		return nil, errors.New("hub: a guard needs an engine")
	}
	return &Guard{o: o}, nil
}

// Middleware returns the guard as receiving middleware.
func (g *Guard) Middleware() mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			return nil, errors.New("hub: not there yet")
		}
	}
}

// SendingMiddleware returns the guard as sending middleware.
func (g *Guard) SendingMiddleware() mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler { return next }
}

// IdentifyToken is the default [Identify].
func IdentifyToken(ctx context.Context, method string, req mcp.Request) (Caller, error) {
	return Caller{}, nil
}
