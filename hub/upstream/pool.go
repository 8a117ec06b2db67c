// The pool: which servers there are.

package upstream

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/penstock-mcp/penstock/engine"
)

// Pool keeps a connection to each of its servers and says what they offer. Its methods are safe for concurrent use.
type Pool struct {
	o        Options
	grace    grace
	discover time.Duration // of the wait for an answer to server/discover

	mu      sync.Mutex
	closed  bool
	workers map[string]*worker
	ending  map[string]<-chan struct{} // the workers that were stopped, by id, the last one each
	all     sync.WaitGroup
}

// discoverWait is how long a server may think about server/discover, before it is taken for one that has never heard
// of it.
const discoverWait = 5 * time.Second

// NewPool returns a pool without servers: see [Pool.Apply].
func NewPool(o Options) *Pool {
	def := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Refresh == 0 {
		o.Refresh = 5 * time.Minute
	}
	def(&o.ConnectTimeout, 30*time.Second)
	def(&o.MinBackoff, 500*time.Millisecond)
	def(&o.MaxBackoff, time.Minute)
	o.MaxBackoff = max(o.MaxBackoff, o.MinBackoff)
	return &Pool{
		o: o, grace: defaultGrace, discover: min(discoverWait, o.ConnectTimeout/2),
		workers: map[string]*worker{}, ending: map[string]<-chan struct{}{},
	}
}

// every returns how long to wait before lists are read unasked.
func (o *Options) every() time.Duration {
	if o.Refresh < 0 {
		return 1<<63 - 1
	}
	return o.Refresh
}

func (p *Pool) client() *mcp.Implementation {
	if p.o.Client != nil {
		return p.o.Client
	}
	return &mcp.Implementation{Name: "penstock", Version: "1"}
}

// Apply makes servers, by id, the servers of the pool. It returns at once: new ones are started, those that are gone are
// stopped, those that are reached in another way are stopped and then started, and the others are left alone. A server
// whose id engine.CheckServerID refuses is left out. After Close it does nothing.
//
// A stopped server's Catalog with Up false comes before any Catalog of its successor.
func (p *Pool) Apply(servers map[string]Server) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	maps.DeleteFunc(p.ending, func(_ string, done <-chan struct{}) bool {
		select {
		case <-done:
			return true
		default:
			return false
		}
	})
	for _, id := range slices.Sorted(maps.Keys(p.workers)) {
		w := p.workers[id]
		if s, ok := servers[id]; ok && s.Equal(w.server) {
			continue
		}
		delete(p.workers, id)
		p.ending[id] = w.done
		w.cancel()
	}
	for _, id := range slices.Sorted(maps.Keys(servers)) {
		if _, ok := p.workers[id]; ok {
			continue
		}
		if err := engine.CheckServerID(id); err != nil {
			p.o.Logger.Error("a server is left out", "error", err)
			continue
		}
		p.workers[id] = p.start(id, servers[id].clone())
	}
}

// start starts a worker. The caller has the lock.
func (p *Pool) start(id string, s Server) *worker {
	w := &worker{
		pool: p, id: id, server: s, redact: newRedact(s), says: &says{logger: p.o.Logger, server: id}, before: p.ending[id],
		done: make(chan struct{}), settled: make(chan struct{}), read: make(chan struct{}), subscribed: map[string]bool{},
		status: Status{Server: id, State: Connecting, Since: time.Now()},
	}
	delete(p.ending, id)
	w.ctx, w.cancel = context.WithCancel(context.Background())
	p.all.Add(1)
	go func() {
		defer p.all.Done()
		if s.Disabled {
			w.rest()
			return
		}
		w.run()
	}()
	return w
}

// rest is the life of a server that is disabled.
func (w *worker) rest() {
	defer close(w.done)
	defer w.cancel()
	w.state(Stopped, nil, 0)
	close(w.settled)
	if w.before != nil {
		<-w.before
	}
	<-w.ctx.Done()
}

// Settled waits until each server has been up, or has failed, once. It returns the error of ctx, or ErrClosed.
func (p *Pool) Settled(ctx context.Context) error {
	p.mu.Lock()
	closed := p.closed
	ws := slices.Collect(maps.Values(p.workers))
	p.mu.Unlock()
	if closed {
		return ErrClosed
	}
	for _, w := range ws {
		select {
		case <-w.settled:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Status returns how the servers are doing, sorted by id.
func (p *Pool) Status() []Status {
	p.mu.Lock()
	ws := slices.Collect(maps.Values(p.workers))
	p.mu.Unlock()
	slices.SortFunc(ws, func(a, b *worker) int {
		if a.id < b.id {
			return -1
		}
		return 1
	})
	out := make([]Status, len(ws))
	for i, w := range ws {
		out[i] = w.now()
	}
	return out
}

// Close ends all sessions and processes, and returns when nothing is left of them: every server's Catalog with Up false
// has been handed over by then. It must not be called by a callback of the pool. It returns nil.
func (p *Pool) Close() error {
	p.mu.Lock()
	p.closed = true
	for _, w := range p.workers {
		w.cancel()
	}
	p.mu.Unlock()
	p.all.Wait()
	p.mu.Lock()
	clear(p.workers)
	clear(p.ending)
	p.mu.Unlock()
	return nil
}

// worker returns the worker of a server.
func (p *Pool) worker(id string) (*worker, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, ErrClosed
	}
	w, ok := p.workers[id]
	if !ok {
		return nil, ErrNoServer
	}
	return w, nil
}
