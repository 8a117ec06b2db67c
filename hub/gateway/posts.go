// Requests whose response is being written.
//
// A call is over when its handler returns; its response is not, for the SDK writes it after that. A session that is closed
// in between takes the response with it. So a gateway that stops waits for the requests, too, and not only for the calls.

package gateway

import (
	"sync"
	"time"
)

// posts counts requests that have a response in the end. The zero value is ready.
type posts struct {
	mu   sync.Mutex
	n    int
	idle chan struct{} // closed when there are none; nil until somebody waits
}

// begin notes a request, until done.
func (p *posts) begin() (done func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.n--; p.n == 0 && p.idle != nil {
			close(p.idle)
			p.idle = nil
		}
	}
}

// wait waits until there are none, but not longer than d.
func (p *posts) wait(d time.Duration) {
	p.mu.Lock()
	if p.n == 0 {
		p.mu.Unlock()
		return
	}
	if p.idle == nil {
		p.idle = make(chan struct{})
	}
	idle := p.idle
	p.mu.Unlock()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-idle:
	case <-t.C:
	}
}
