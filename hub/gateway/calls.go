// Calls that are running: a gateway that stops waits for them, and gives them up when it has waited long enough.

package gateway

import (
	"context"
	"sync"
)

// calls counts what runs. The zero value is ready.
type calls struct {
	mu      sync.Mutex
	running map[*context.CancelFunc]struct{}
	closed  bool
	idle    chan struct{} // closed when nothing runs any more; nil until somebody waits
}

// begin notes a call, until done. It returns false when no more may begin.
func (c *calls) begin(ctx context.Context) (_ context.Context, done func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ctx, nil, false
	}
	ctx, cancel := context.WithCancel(ctx)
	if c.running == nil {
		c.running = map[*context.CancelFunc]struct{}{}
	}
	c.running[&cancel] = struct{}{}
	return ctx, func() {
		cancel()
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.running, &cancel)
		if len(c.running) == 0 && c.idle != nil {
			close(c.idle)
			c.idle = nil
		}
	}, true
}

// drain lets no more calls begin, and waits for those that run until ctx ends. Then it gives up the rest.
func (c *calls) drain(ctx context.Context) {
	c.mu.Lock()
	c.closed = true
	if len(c.running) == 0 {
		c.mu.Unlock()
		return
	}
	if c.idle == nil {
		c.idle = make(chan struct{})
	}
	idle := c.idle
	c.mu.Unlock()
	select {
	case <-idle:
		return
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for cancel := range c.running {
		(*cancel)()
	}
}
