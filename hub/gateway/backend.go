// The backend: middleware behind the guard that answers from the servers.
//
// It acts on what the guard let through and on nothing else: target, arguments and fingerprint come from hub.Judged, and
// a request without one is refused. The request itself holds what the protocol needs: where progress goes, and the
// answers to a server that asked for input.

package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/hub"
	"github.com/penstock-mcp/penstock/hub/approval"
	"github.com/penstock-mcp/penstock/hub/telemetry"
	"github.com/penstock-mcp/penstock/hub/upstream"
)

var errInternal = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error"}

// errUnjudged is what becomes of a request that no guard has let through.
var errUnjudged = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error: the request was not judged"}

// What a model is told when a call came to nothing. None of it says how a server is reached.
const (
	changedText  = "This tool has just changed, and the call was not sent. List the tools again before you call it."
	downText     = "The server of this tool is not connected at the moment. Try again later."
	slowText     = "The server of this tool took too long to answer. Whether the call was carried out is not known."
	lostText     = "The connection to the server of this tool ended while the call was running. Whether it was carried out is not known."
	brokenText   = "The server of this tool gave no answer that could be read."
	stoppedText  = "This server stopped while the call was running. Whether it was carried out is not known."
	stoppingText = "This server is stopping and takes no more calls."
	inputText    = "The tool asked for more input, in a way that this session cannot give."
)

// backend returns the middleware.
func (g *Gateway) backend(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, in mcp.Request) (mcp.Result, error) {
		switch in := in.(type) {
		case *mcp.ListToolsRequest: // comes from the snapshot: see GuardOptions.Definition
			return &mcp.ListToolsResult{Tools: []*mcp.Tool{}}, nil
		case *mcp.ListPromptsRequest:
			return &mcp.ListPromptsResult{Prompts: g.catalogs.now.Load().promptList}, nil
		case *mcp.ListResourcesRequest:
			return &mcp.ListResourcesResult{Resources: g.catalogs.now.Load().resources}, nil
		case *mcp.ListResourceTemplatesRequest:
			return &mcp.ListResourceTemplatesResult{ResourceTemplates: g.catalogs.now.Load().templates}, nil
		case *mcp.CallToolRequest:
			return serve(g, ctx, in, g.callTool)
		case *mcp.ReadResourceRequest:
			return serve(g, ctx, in, g.readResource)
		case *mcp.GetPromptRequest:
			return serve(g, ctx, in, g.getPrompt)
		case *mcp.CompleteRequest:
			return serve(g, ctx, in, g.complete)
		case *mcp.SubscribeRequest, *mcp.UnsubscribeRequest:
			if _, ok := hub.JudgedFrom(ctx); !ok {
				return nil, errUnjudged
			}
			return next(ctx, method, in)
		case *mcp.SubscriptionsListenRequest:
			return next(context.WithValue(ctx, listenKey{}, true), method, in)
		}
		switch method {
		case "initialize", "server/discover", "ping", "logging/setLevel":
			return next(ctx, method, in)
		}
		if strings.HasPrefix(method, "notifications/") {
			return next(ctx, method, in)
		}
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("method not found: %q", method)}
	}
}

// serve runs f on what was judged, as a call that the gateway waits for when it stops, and gives up in the end.
func serve[P mcp.Params](g *Gateway, ctx context.Context, in *mcp.ServerRequest[P],
	f func(context.Context, *mcp.ServerRequest[P], *hub.Judged) (mcp.Result, error)) (mcp.Result, error) {
	j, ok := hub.JudgedFrom(ctx)
	if !ok {
		return nil, errUnjudged
	}
	ctx, done, err := g.calls.begin(ctx, j.Caller.Principal)
	if err != nil {
		return nil, err
	}
	defer done()
	return f(ctx, in, j)
}

func (g *Gateway) callTool(ctx context.Context, in *mcp.CallToolRequest, j *hub.Judged) (mcp.Result, error) {
	p := &mcp.CallToolParams{
		Meta: outward(ctx, j, in.Params.Meta), Name: j.Target.Name,
		InputResponses: in.Params.InputResponses, RequestState: in.Params.RequestState,
	}
	if j.Args != nil {
		p.Arguments = json.RawMessage(j.Args)
	}
	res, err := g.pool.CallTool(ctx, j.Target.Server, j.Fingerprint, p, progress(ctx, in.Session, in.Params))
	if text, err := told(ctx, err); err != nil {
		return nil, err
	} else if text != "" {
		return toolError(in.Session, text), nil
	}
	if res == nil {
		return toolError(in.Session, brokenText), nil
	}
	if res.InputRequests != nil && !hub.Modern(in.Session) {
		return toolError(in.Session, inputText), nil
	}
	if asksAsHub(res.InputRequests) {
		return toolError(in.Session, brokenText), nil
	}
	return toolResult(in.Session, j.Target.Server, res), nil
}

func (g *Gateway) readResource(ctx context.Context, in *mcp.ReadResourceRequest, j *hub.Judged) (mcp.Result, error) {
	res, err := g.pool.ReadResource(ctx, j.Target.Server, &mcp.ReadResourceParams{
		Meta: outward(ctx, j, in.Params.Meta), URI: j.Target.Name,
		InputResponses: in.Params.InputResponses, RequestState: in.Params.RequestState,
	}, progress(ctx, in.Session, in.Params))
	if missing(err) {
		return nil, notFound(in.Params.URI)
	}
	if err := refused(ctx, err, res == nil || res.InputRequests != nil && !hub.Modern(in.Session) || asksAsHub(res.InputRequests)); err != nil {
		return nil, err
	}
	return resourceResult(in.Session, j.Target, in.Params.URI, res), nil
}

func (g *Gateway) getPrompt(ctx context.Context, in *mcp.GetPromptRequest, j *hub.Judged) (mcp.Result, error) {
	p := &mcp.GetPromptParams{
		Meta: outward(ctx, j, in.Params.Meta), Name: j.Target.Name,
		InputResponses: in.Params.InputResponses, RequestState: in.Params.RequestState,
	}
	if j.Args != nil {
		if err := json.Unmarshal(j.Args, &p.Arguments); err != nil {
			return nil, errInternal
		}
	}
	res, err := g.pool.GetPrompt(ctx, j.Target.Server, p, progress(ctx, in.Session, in.Params))
	if err := refused(ctx, err, res == nil || res.InputRequests != nil && !hub.Modern(in.Session) || asksAsHub(res.InputRequests)); err != nil {
		return nil, err
	}
	return promptResult(in.Session, j.Target.Server, res), nil
}

func (g *Gateway) complete(ctx context.Context, in *mcp.CompleteRequest, j *hub.Judged) (mcp.Result, error) {
	none := &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{}}}
	cat, ok := g.catalogs.now.Load().servers[j.Target.Server]
	if !ok || !cat.Completions {
		return none, nil
	}
	p := &mcp.CompleteParams{
		Meta: outward(ctx, j, in.Params.Meta), Argument: in.Params.Argument, Context: in.Params.Context,
		Ref: &mcp.CompleteReference{Type: in.Params.Ref.Type},
	}
	if p.Ref.Type == "ref/prompt" {
		p.Ref.Name = j.Target.Name
	} else {
		p.Ref.URI = j.Target.Name
	}
	res, err := g.pool.Complete(ctx, j.Target.Server, p)
	if err := refused(ctx, err, res == nil); err != nil {
		return nil, err
	}
	out := *res
	out.Meta = inward(res.Meta)
	if out.Completion.Values == nil {
		out.Completion.Values = []string{}
	}
	return &out, nil
}

// asksAsHub reports whether a server asks for input under the name that the hub's own questions have.
func asksAsHub(m mcp.InputRequestMap) bool {
	_, ok := m[approval.InputKey]
	return ok
}

// told turns the error of a tool call into what the model reads, "" for no error, or into an error of the protocol: the
// server's own, and the end of the request.
func told(ctx context.Context, err error) (string, error) {
	var own *jsonrpc.Error
	switch {
	case err == nil:
		return "", nil
	case is(err, upstream.ErrChanged, upstream.ErrNoTool, upstream.ErrTwice, upstream.ErrStale):
		return changedText, nil
	case is(err, upstream.ErrDown, upstream.ErrNoServer, upstream.ErrClosed):
		return downText, nil
	case errors.Is(context.Cause(ctx), errStopping):
		return stoppedText, nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.As(err, &own):
		return "", own
	case errors.Is(err, upstream.ErrTimeout):
		return slowText, nil
	case errors.Is(err, upstream.ErrLost):
		return lostText, nil
	default:
		return brokenText, nil
	}
}

// missing reports whether a server says that there is no such resource. What is not there is not there in the same words,
// whoever says so: the guard has them for what is hidden.
func missing(err error) bool {
	var e *jsonrpc.Error
	return errors.As(err, &e) && (e.Code == jsonrpc.CodeInvalidParams || e.Code == oldNotFound)
}

// oldNotFound is the code that versions before 2026-07-28 have for a resource that is not there.
const oldNotFound = -32002

// notFound is what the guard answers to a URI that is hidden, byte for byte.
func notFound(uri string) error {
	err := mcp.ResourceNotFoundError(uri)
	if e, ok := err.(*jsonrpc.Error); ok && !json.Valid(e.Data) { // the SDK quotes as Go does
		e.Data, _ = json.Marshal(map[string]string{"uri": uri})
	}
	return err
}

func is(err error, kinds ...error) bool {
	return slices.ContainsFunc(kinds, func(k error) bool { return errors.Is(err, k) })
}

// refused is told for methods whose results cannot say that something failed.
func refused(ctx context.Context, err error, unusable bool) error {
	text, err := told(ctx, err)
	switch {
	case err != nil:
		return err
	case text != "":
		return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: strings.NewReplacer("The server of this tool", "Its server", "the server of this tool", "its server").Replace(text)}
	case unusable:
		return errInternal
	}
	return nil
}

// hopPrefix begins the keys of _meta that speak of one connection.
const hopPrefix = "io.modelcontextprotocol/"

// outward returns the metadata that goes to a server: the caller's without what is between it and the hub, and the trace.
// A call that a person decided about has no more than the trace: nobody was shown the rest.
func outward(ctx context.Context, j *hub.Judged, meta mcp.Meta) mcp.Meta {
	if j.Approved || j.Decision.Action == engine.Ask {
		return telemetry.Inject(ctx, nil)
	}
	out := inward(meta)
	delete(out, "progressToken")
	return telemetry.Inject(ctx, out)
}

// inward returns the metadata of a server's answer without what is between it and the hub.
func inward(meta mcp.Meta) mcp.Meta {
	if len(meta) == 0 {
		return nil
	}
	out := make(mcp.Meta, len(meta))
	for k, v := range meta {
		if !strings.HasPrefix(k, hopPrefix) {
			out[k] = v
		}
	}
	return out
}

// progress passes on how far a call is, where the caller asked to be told.
func progress(ctx context.Context, ss *mcp.ServerSession, p interface{ GetProgressToken() any }) upstream.Progress {
	token := p.GetProgressToken()
	if token == nil || ss == nil {
		return nil
	}
	return func(_ context.Context, p *mcp.ProgressNotificationParams) {
		// By the context of the call: that is how the SDK finds the caller's stream. A caller that is gone needs none.
		_ = ss.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: token, Message: p.Message, Progress: p.Progress, Total: p.Total,
		})
	}
}
