// Callers that do not read.
//
// The SDK writes to a caller's stream in the goroutine of whoever has something to say, one session after the other, and
// such a write knows no context. A caller that opens a stream and never reads it would keep a server's notices from
// everybody else, and the gateway from stopping. So each piece of a response has to be taken in time, or the connection
// ends. It is pieces and not the whole: a large result over a slow line is no fault.

package gateway

import (
	"net/http"
	"time"
)

const (
	takeTimeout = 10 * time.Second // of one piece: it is less than what a handler that stops is given
	takeSize    = 64 << 10         // bytes: 6 kB/s is the least that a caller takes
)

// timely is the http.ResponseWriter of a caller that has to read what it is sent.
type timely struct {
	http.ResponseWriter
	c       *http.ResponseController
	timeout time.Duration
}

// newTimely returns rw with a limit for each write, and what is called when the handler is done: what is left in buffers
// has to be taken in time as well.
func newTimely(rw http.ResponseWriter, timeout time.Duration) (http.ResponseWriter, func()) {
	t := &timely{rw, http.NewResponseController(rw), timeout}
	return t, t.begin
}

// Write is called by one goroutine at a time, as the SDK does.
func (t *timely) Write(p []byte) (n int, err error) {
	defer t.end()
	for first := true; err == nil && (first || len(p) > 0); first = false {
		t.begin()
		var m int
		m, err = t.ResponseWriter.Write(p[:min(len(p), takeSize)])
		n, p = n+m, p[m:]
	}
	return n, err
}

// FlushError is what http.ResponseController flushes by.
func (t *timely) FlushError() error {
	t.begin()
	defer t.end()
	return t.c.Flush()
}

// Unwrap is for http.ResponseController.
func (t *timely) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// begin limits what is written next. Where there is no connection to limit, as in tests, there is nobody to wait for.
func (t *timely) begin() { _ = t.c.SetWriteDeadline(time.Now().Add(t.timeout)) }
func (t *timely) end()   { _ = t.c.SetWriteDeadline(time.Time{}) }
