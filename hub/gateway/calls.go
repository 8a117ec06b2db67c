// Calls that are running: a gateway that stops waits for them, and gives them up when it has waited long enough.

package gateway

import (
	"context"
	"errors"
	"sync"
	"time"
)

// errStopping is the cause of a call's end that was given up because the gateway stops.
var errStopping = errors.New("the gateway stops")

// calls counts what runs. The zero value is ready.
type calls struct {
	mu      sync.Mutex
	running map[*context.CancelCauseFunc]struct{}
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
	ctx, cancel := context.WithCancelCause(ctx)
	if c.running == nil {
		c.running = map[*context.CancelCauseFunc]struct{}{}
	}
	c.running[&cancel] = struct{}{}
	return ctx, func() {
		cancel(nil)
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.running, &cancel)
		if len(c.running) == 0 && c.idle != nil {
			close(c.idle)
			c.idle = nil
		}
	}, true
}

// giveUp is how long calls that are given up have to say so to their callers.
const giveUp = time.Second

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
	for cancel := range c.running {
		(*cancel)(errStopping)
	}
	c.mu.Unlock()
	t := time.NewTimer(giveUp)
	defer t.Stop()
	select {
	case <-idle:
	case <-t.C:
	}
}
