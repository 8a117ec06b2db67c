// Subscriptions to resources.
//
// A server knows the hub as one client, so the hub subscribes to a resource once, for the first session that wants it,
// and ends that with the last. Who gets an update is the SDK's to know and the guard's to allow. A session that ends
// does not unsubscribe, so each that has subscribed is waited for.

package gateway

import (
	"context"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/hub"
)

// listenKey marks what the SDK does for subscriptions/listen, whose URIs the guard has gone through.
type listenKey struct{}

// subscriptions are the resources that sessions subscribed to.
type subscriptions struct {
	subscribe   func(ctx context.Context, t engine.Target) error
	unsubscribe func(ctx context.Context, t engine.Target) error

	mu       sync.Mutex
	sessions map[*mcp.ServerSession]map[*interest]int // what each has, and how often
	wanted   map[engine.Target]*interest
}

// interest is what sessions want of one resource. What its server is told goes one after the other, or an end might
// overtake a beginning.
type interest struct {
	target   engine.Target
	sessions int // how many; guarded by the mutex of subscriptions

	wire sync.Mutex
	on   bool // the server was told; guarded by wire
}

func newSubscriptions(subscribe, unsubscribe func(context.Context, engine.Target) error) *subscriptions {
	return &subscriptions{
		subscribe: subscribe, unsubscribe: unsubscribe,
		sessions: map[*mcp.ServerSession]map[*interest]int{},
		wanted:   map[engine.Target]*interest{},
	}
}

// target is the resource of a request: what was judged, or of subscriptions/listen what the guard left.
func (g *Gateway) target(ctx context.Context, uri string) (engine.Target, error) {
	if j, ok := hub.JudgedFrom(ctx); ok {
		return j.Target, nil
	}
	if ctx.Value(listenKey{}) == nil {
		return engine.Target{}, errUnjudged
	}
	t, ok := g.catalogs.resolve(uri)
	if !ok {
		return t, notFound(uri)
	}
	return t, nil
}

// onSubscribe is mcp.ServerOptions.SubscribeHandler.
func (g *Gateway) onSubscribe(ctx context.Context, in *mcp.SubscribeRequest) error {
	t, err := g.target(ctx, in.Params.URI)
	if err != nil {
		return err
	}
	err = g.subs.add(ctx, in.Session, t)
	if missing(err) {
		return notFound(in.Params.URI)
	}
	return refused(ctx, err, false)
}

// onUnsubscribe is mcp.ServerOptions.UnsubscribeHandler. Of subscriptions/listen the context has ended by then.
func (g *Gateway) onUnsubscribe(ctx context.Context, in *mcp.UnsubscribeRequest) error {
	t, ok := OriginalURI(in.Params.URI)
	if !ok {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "invalid params"}
	}
	g.subs.remove(ctx, in.Session, t)
	return nil
}

// add notes that a session wants updates of t, and subscribes where it is the first.
func (s *subscriptions) add(ctx context.Context, ss *mcp.ServerSession, t engine.Target) error {
	s.mu.Lock()
	i := s.wanted[t]
	if i == nil {
		i = &interest{target: t}
		s.wanted[t] = i
	}
	of := s.sessions[ss]
	if of == nil {
		of = map[*interest]int{}
		s.sessions[ss] = of
		go s.await(ss)
	}
	if of[i]++; of[i] == 1 {
		i.sessions++
	}
	s.mu.Unlock()
	if err := s.settle(ctx, i); err != nil {
		s.remove(ctx, ss, t)
		return err
	}
	return nil
}

// remove is the inverse of add.
func (s *subscriptions) remove(ctx context.Context, ss *mcp.ServerSession, t engine.Target) {
	s.mu.Lock()
	i := s.wanted[t]
	of := s.sessions[ss]
	if i == nil || of[i] == 0 {
		s.mu.Unlock()
		return
	}
	if of[i]--; of[i] == 0 {
		delete(of, i)
		i.sessions--
	}
	s.mu.Unlock()
	_ = s.settle(context.WithoutCancel(ctx), i) // a server that is down has forgotten it by itself
}

// settle tells the server what its resource's sessions have come to: that there are some, or that there are none.
func (s *subscriptions) settle(ctx context.Context, i *interest) error {
	i.wire.Lock()
	defer i.wire.Unlock()
	s.mu.Lock()
	want := i.sessions > 0
	if !want && s.wanted[i.target] == i {
		delete(s.wanted, i.target)
	}
	s.mu.Unlock()
	if want == i.on {
		return nil
	}
	if !want {
		i.on = false
		return s.unsubscribe(ctx, i.target)
	}
	if err := s.subscribe(ctx, i.target); err != nil {
		return err
	}
	i.on = true
	return nil
}

// await forgets a session when it has ended.
func (s *subscriptions) await(ss *mcp.ServerSession) {
	_ = ss.Wait()
	s.mu.Lock()
	var had []*interest
	for i := range s.sessions[ss] {
		i.sessions--
		had = append(had, i)
	}
	delete(s.sessions, ss)
	s.mu.Unlock()
	for _, i := range had {
		_ = s.settle(context.Background(), i)
	}
}

// renew subscribes anew to what sessions want of a server that has come up: another one may be behind its name now. It
// is harmless where the server knows.
func (s *subscriptions) renew(ctx context.Context, server string) {
	s.mu.Lock()
	var all []*interest
	for t, i := range s.wanted {
		if t.Server == server {
			all = append(all, i)
		}
	}
	s.mu.Unlock()
	for _, i := range all {
		i.wire.Lock()
		if i.on {
			_ = s.subscribe(ctx, i.target) // where it fails, there are no updates
		}
		i.wire.Unlock()
	}
}

// wants reports whether sessions want something of a server.
func (s *subscriptions) wants(server string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for t := range s.wanted {
		if t.Server == server {
			return true
		}
	}
	return false
}
