// The guard: middleware between an MCP server and its callers.
//
// What must hold, whatever an embedder, a caller or a server does:
//
//   - Every method that lists or touches something is judged; a method the guard does not know does not pass.
//   - One snapshot judges a request. Only after a human was asked is the call judged again, by a newer one.
//   - What a caller does not see is answered by the guard itself and never reaches the next handler, with the words the
//     SDK has for what is not there. So neither text nor time tells hidden from unknown.
//   - What was judged is what is sent.
//   - Whatever goes wrong here counts against the call.

package hub

import (
	"context"
	"errors"
	"hash/maphash"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/penstock-mcp/penstock/engine"
)

// Guard enforces the decisions of an engine on MCP servers. Make one with [NewGuard]; a nil *Guard and the zero Guard let
// nothing through. It is safe for concurrent use, and one Guard may stand before several servers.
type Guard struct {
	o       GuardOptions
	methods map[string]bool // that pass unjudged
	seed    maphash.Seed    // of the digests of lists, which never leave the process
	watch   watches
}

// harmless are the methods that list and touch nothing a policy speaks of.
var harmless = []string{
	"initialize", "ping", "logging/setLevel",
	"notifications/initialized", "notifications/cancelled", "notifications/progress", "notifications/roots/list_changed",
}

const defaultPageSize = 1000

// NewGuard returns a guard. It returns an error without an engine, for a negative page size, and for a method in Methods
// that the guard judges itself.
func NewGuard(o GuardOptions) (*Guard, error) {
	if o.Engine == nil {
		return nil, errors.New("hub: a guard needs an engine")
	}
	if o.PageSize < 0 {
		return nil, errors.New("hub: the page size is negative")
	}
	if o.PageSize == 0 {
		o.PageSize = defaultPageSize
	}
	if o.Identify == nil {
		o.Identify = IdentifyToken
	}
	g := &Guard{o: o, methods: map[string]bool{}, seed: maphash.MakeSeed()}
	for _, m := range o.Methods {
		if _, judged := judged[m]; judged {
			return nil, errors.New("hub: " + m + " cannot pass without being judged")
		}
		g.methods[m] = true
	}
	for _, m := range harmless {
		g.methods[m] = true
	}
	return g, nil
}

// judged are the methods the guard judges, and how.
var judged = map[string]func(*request) (mcp.Result, error){
	"server/discover":          (*request).discover,
	"tools/list":               typed((*request).listTools),
	"tools/call":               typed((*request).callTool),
	"resources/list":           typed((*request).listResources),
	"resources/templates/list": typed((*request).listTemplates),
	"resources/read":           typed((*request).readResource),
	"resources/subscribe":      typed((*request).subscribe),
	"resources/unsubscribe":    typed((*request).unsubscribe),
	"subscriptions/listen":     typed((*request).listen),
	"prompts/list":             typed((*request).listPrompts),
	"prompts/get":              typed((*request).getPrompt),
	"completion/complete":      typed((*request).complete),
}

// typed is f for requests of its type; another one, which no SDK makes, fails.
func typed[P mcp.Params](f func(*request, *mcp.ServerRequest[P]) (mcp.Result, error)) func(*request) (mcp.Result, error) {
	return func(r *request) (mcp.Result, error) {
		in, ok := r.in.(*mcp.ServerRequest[P])
		if !ok {
			return nil, errInternal
		}
		return f(r, in)
	}
}

// Middleware returns the guard as receiving middleware: see mcp.Server.AddReceivingMiddleware. Handlers behind it find
// what was judged with [JudgedFrom].
func (g *Guard) Middleware() mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, in mcp.Request) (mcp.Result, error) {
			if g == nil || g.o.Engine == nil {
				return nil, errInternal
			}
			r := &request{g: g, ctx: ctx, in: in, next: next, start: time.Now()}
			r.e.Method, r.e.Time = method, r.start
			if r.ss, _ = in.GetSession().(*mcp.ServerSession); r.ss != nil {
				r.e.Session = r.ss.ID()
			}
			res, err := r.handle()
			r.e.Duration = time.Since(r.start)
			g.observe(ctx, r.e)
			return res, err
		}
	}
}

// request is one request on its way through the guard, in one goroutine.
type request struct {
	g     *Guard
	ctx   context.Context
	in    mcp.Request        // nil where a notification is judged
	ss    *mcp.ServerSession // may be nil
	next  mcp.MethodHandler
	start time.Time

	caller   Caller
	canAsk   bool // whether there is an approver for this caller and session: one answer for the whole request
	er       engine.Request
	view     *engine.ViewSnapshot // nil for a caller that could not be identified: sees nothing
	baseline *engine.Baseline     // of the same snapshot
	state    string               // the server's own, where the call was resumed
	e        Event
}

func (r *request) handle() (mcp.Result, error) {
	method := r.e.Method
	if r.g.methods[method] {
		r.e.Result = ResultPassed
		return r.forward(r.in, nil)
	}
	f, ok := judged[method]
	if !ok {
		r.e.Result = ResultMethod
		return nil, unknownMethod(method)
	}
	r.caller, r.e.IdentifyErr = r.g.identify(r.ctx, method, r.in)
	if r.e.IdentifyErr != nil {
		r.caller = Caller{}
	}
	r.e.Caller = r.caller
	r.ask()
	r.load()
	return f(r)
}

// ask finds out whether the caller can be asked, in this session.
func (r *request) ask() {
	if r.e.IdentifyErr != nil {
		return
	}
	var err error
	r.canAsk, err = r.g.canAsk(r.ctx, r.caller, r.ss)
	if err != nil {
		r.e.Err = err
	}
}

// load takes the snapshot that the request is judged by.
func (r *request) load() {
	s := r.g.o.Engine.Snapshot()
	r.e.Generation = s.Generation()
	r.view, r.baseline = nil, s.Baseline()
	if r.e.IdentifyErr == nil {
		r.view = s.View(r.caller.View)
	}
	r.er = engine.Request{
		HasApprover: r.canAsk,
		Taint:       r.caller.Taint,
		Attributes:  r.caller.Attributes,
	}
}

// forward hands a request to the next handler, with what was judged.
func (r *request) forward(in mcp.Request, j *Judged) (mcp.Result, error) {
	ctx := r.ctx
	if j != nil {
		ctx = context.WithValue(ctx, judgedKey{}, j)
	}
	start := time.Now()
	res, err := r.next(ctx, r.e.Method, in)
	r.e.Backend += time.Since(start)
	if err != nil {
		r.e.Err = err
	}
	return res, err
}

// tool returns a tool that the caller sees.
func (r *request) tool(t engine.Target) (*engine.Tool, bool) {
	tool, ok := r.view.Tool(r.ctx, t.Server, t.Name, &r.er)
	if !ok || r.g.o.OnlyApproved && !r.unchanged(tool) {
		return nil, false
	}
	return tool, true
}

// unchanged reports whether a tool is in the baseline as it is now.
func (r *request) unchanged(tool *engine.Tool) bool {
	approved, ok := r.baseline.Lookup(tool.Target())
	return ok && approved != "" && approved == fingerprint(tool)
}

// fingerprint returns a tool's fingerprint, "" where it has none.
func fingerprint(tool *engine.Tool) engine.Fingerprint {
	if tool == nil {
		return ""
	}
	if tool.Fingerprint != "" {
		return tool.Fingerprint
	}
	f, err := engine.ComputeFingerprint(tool.Raw)
	if err != nil {
		return ""
	}
	return f
}

// table returns a table of names, which may not be there.
func table(f func() *Names) *Names {
	if f == nil {
		return nil
	}
	return f()
}

// discover passes on what a server says of itself, which is the same for every caller but must not be shared.
func (r *request) discover() (mcp.Result, error) {
	r.e.Result = ResultPassed
	res, err := r.forward(r.in, nil)
	if d, ok := res.(*mcp.DiscoverResult); ok && d != nil {
		private := *d
		private.CacheScope = scopePrivate
		res = &private
	}
	return res, err
}
