// Being told of changes: subscriptions to resources and, in the newest protocol, to lists.
//
// The older protocols send changes of lists to everybody, and of resources to whoever subscribed. In the newest one
// everything has to be listened to: one request that is answered when the server stops telling. Whenever that ends, or
// something else is to be listened to, another one is sent, and then the lists are read: what changed in between was not
// told.
//
// Subscriptions belong to the pool's server, not to a connection. They are renewed on the next one.

package upstream

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxSubscriptions bounds the resources of one server that are subscribed to.
const maxSubscriptions = 10_000

// Subscribe asks a server to tell when a resource changes: see Options.OnResourceUpdated. It holds until [Pool.Unsubscribe],
// over any number of connections. Subscribing twice is the same as once.
//
// It returns an *[Error]: ErrDown, ErrNotSupported, or what the server answered.
func (p *Pool) Subscribe(ctx context.Context, server, uri string) error {
	return p.subscription(ctx, "resources/subscribe", server, uri, true)
}

// Unsubscribe is the opposite. It is no error if there was no subscription.
func (p *Pool) Unsubscribe(ctx context.Context, server, uri string) error {
	return p.subscription(ctx, "resources/unsubscribe", server, uri, false)
}

func (p *Pool) subscription(ctx context.Context, op, server, uri string, on bool) error {
	fail := func(err error) error { return &Error{Server: server, Op: op, Err: err} }
	w, err := p.worker(server)
	if err != nil {
		return fail(err)
	}
	w.mu.Lock()
	s, had := w.session, w.subscribed[uri]
	switch {
	case !on && !had:
		w.mu.Unlock()
		return nil
	case !on:
		delete(w.subscribed, uri) // even when the server is down: it is not to be renewed
	case s == nil:
		w.mu.Unlock()
		return fail(ErrDown)
	case !supportsSubscribe(s):
		w.mu.Unlock()
		return fail(ErrNotSupported)
	case had:
		w.mu.Unlock()
		return nil
	case len(w.subscribed) >= maxSubscriptions:
		w.mu.Unlock()
		return fail(fmt.Errorf("%w: %d resources are subscribed to", ErrTooMuch, len(w.subscribed)))
	default:
		w.subscribed[uri] = true
	}
	w.mu.Unlock()
	if s == nil {
		return nil
	}
	if err := s.subscribe(ctx, uri, on); err != nil {
		if on {
			w.mu.Lock()
			delete(w.subscribed, uri)
			w.mu.Unlock()
		}
		return fail(err)
	}
	return nil
}

func supportsSubscribe(s *session) bool {
	r := s.capabilities().Resources
	return r != nil && r.Subscribe
}

// subscribe subscribes or unsubscribes on this connection.
func (s *session) subscribe(ctx context.Context, uri string, on bool) error {
	if s.modern() {
		select {
		case s.listens <- struct{}{}:
		default:
		}
		return nil
	}
	return s.during(ctx, s.w.pool.o.CallTimeout, func(ctx context.Context) error {
		if on {
			return s.cs.Subscribe(ctx, &mcp.SubscribeParams{URI: uri})
		}
		return s.cs.Unsubscribe(ctx, &mcp.UnsubscribeParams{URI: uri})
	})
}

// renew subscribes anew on a new connection. What the server refuses now is dropped.
func (s *session) renew(ctx context.Context) {
	uris := s.w.subscriptions()
	if len(uris) == 0 || s.modern() || !supportsSubscribe(s) {
		return // the newest protocol listens to them anyway
	}
	for _, uri := range uris {
		if err := s.subscribe(ctx, uri, true); err != nil {
			if !answered(err) {
				return
			}
			s.w.mu.Lock()
			delete(s.w.subscribed, uri)
			s.w.mu.Unlock()
			s.w.warn("a subscription is not renewed", err)
		}
	}
}

func (w *worker) subscriptions() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.subscribed))
}

// wanted returns what is to be listened to; nil for nothing.
func (s *session) wanted() *mcp.NotificationSubscriptions {
	caps := s.capabilities()
	n := &mcp.NotificationSubscriptions{
		ToolsListChanged:     caps.Tools != nil && caps.Tools.ListChanged,
		PromptsListChanged:   caps.Prompts != nil && caps.Prompts.ListChanged,
		ResourcesListChanged: caps.Resources != nil && caps.Resources.ListChanged,
	}
	if supportsSubscribe(s) {
		n.ResourceSubscriptions = s.w.subscriptions()
	}
	if !n.ToolsListChanged && !n.PromptsListChanged && !n.ResourcesListChanged && len(n.ResourceSubscriptions) == 0 {
		return nil
	}
	return n
}

// listen keeps a subscriptions/listen open as long as the session lives.
func (s *session) listen() {
	var stop func() // ends the one that is open
	defer func() {
		if stop != nil {
			stop()
		}
	}()
	wait := s.w.pool.o.MinBackoff
	for {
		var over chan error
		again := stop != nil
		if again {
			stop() // first: a server may know who listens by the session alone, and forget it with the one that ends
			stop = nil
		}
		if n := s.wanted(); n != nil {
			over = make(chan error, 1)
			stop = s.open(n, over)
		}
		if again {
			s.poke() // what changed in between was not told
		}
		began := time.Now()
		select {
		case <-s.ctx.Done():
			return
		case <-s.listens:
			continue
		case err := <-over:
			stop()
			stop = nil
			if answered(err) || errors.Is(err, errRefused) {
				s.w.warn("the server refuses to say when something changes: its lists are read now and then", err)
				select {
				case <-s.ctx.Done():
					return
				case <-s.listens: // something else is to be listened to
					continue
				}
			}
			s.poke()
			if time.Since(began) > s.w.pool.o.MaxBackoff {
				wait = s.w.pool.o.MinBackoff
			}
			if !s.sleep(wait) {
				return
			}
			s.poke()
			wait = min(wait*2, s.w.pool.o.MaxBackoff)
		}
	}
}

// listenWait is how long a program that is told that nobody listens any more may take to say that it has heard. The protocol
// lets it say nothing; those that know who listens by the session alone say it when they have forgotten the session.
const listenWait = time.Second

// open sends a subscriptions/listen. over hears, once, that it has ended. The result ends it, and waits for that.
func (s *session) open(n *mcp.NotificationSubscriptions, over chan error) (stop func()) {
	ctx, cancel := context.WithCancel(s.ctx)
	ctx, h := withHolder(ctx)
	heard := make(chan struct{})
	answered := sync.OnceFunc(func() { close(heard) })
	end := func(err error) {
		select {
		case over <- err:
		default:
		}
	}
	h.over = func(err error) {
		answered()
		end(err)
	}
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		err := guarded(func() error {
			_, err := s.send(ctx, "subscriptions/listen", s.request(&mcp.SubscriptionsListenParams{Meta: s.meta(), Notifications: n}))
			return err
		})
		if err != nil {
			end(err)
		}
	}()
	return func() {
		cancel()
		<-sent
		if !s.remote { // where each request stands alone
			timer := time.NewTimer(listenWait)
			defer timer.Stop()
			select {
			case <-heard:
			case <-s.ctx.Done():
			case <-timer.C:
			}
		}
		s.tap.forget(h)
	}
}

func (s *session) sleep(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.ctx.Done():
		return false
	}
}
