// Calls that are running: a gateway that stops waits for them, and gives them up when it has waited long enough.

package gateway

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// errStopping is the cause of a call's end that was given up because the gateway stops.
var errStopping = errors.New("the gateway stops")

// errStopped is the answer to a call that comes too late.
var errStopped = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: stoppingText}

// maxCalls is how many calls of one principal may run at once. A caller of an older protocol that goes away leaves its
// calls running; without a bound one principal could take up a server for all.
const maxCalls = 256

// errManyCalls is the answer to one more.
var errManyCalls = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "too many calls at once: wait for some of them to end"}

// calls counts what runs. The zero value is ready.
type calls struct {
	mu      sync.Mutex
	of      map[string]int // by principal
	running map[*context.CancelCauseFunc]struct{}
	closed  bool
	idle    chan struct{} // closed when nothing runs any more; nil until somebody waits
}

// begin notes a call of a principal, until done. It returns an error when no more may begin.
func (c *calls) begin(ctx context.Context, principal string) (_ context.Context, done func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ctx, nil, errStopped
	}
	if c.of[principal] >= maxCalls {
		return ctx, nil, errManyCalls
	}
	if c.of == nil {
		c.of = map[string]int{}
	}
	c.of[principal]++
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
		if c.of[principal]--; c.of[principal] == 0 {
			delete(c.of, principal)
		}
		if len(c.running) == 0 && c.idle != nil {
			close(c.idle)
			c.idle = nil
		}
	}, nil
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
