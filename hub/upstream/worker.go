// One server's life: connect, list, wait, list again, and when it is gone, wait longer each time and start over.
//
// All of a server's states follow each other in one goroutine, so that what it offers is said in order, and a server
// that is slow or dead holds up nobody but itself.

package upstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

const (
	debounce     = 50 * time.Millisecond // changes come in bunches
	maxFailures  = 3                     // of reading the lists in a row, before the server counts as down
	changeBurst  = 3                     // announced changes that are looked at at once; then it is one a second
	changeRefill = time.Second
)

// worker keeps one server.
type worker struct {
	pool   *Pool
	id     string
	server Server
	redact redact
	says   *says
	before <-chan struct{} // the worker that had the id before has ended

	ctx     context.Context
	cancel  context.CancelFunc
	done    chan struct{} // it has ended
	settled chan struct{} // it was up, or failed, once

	mu         sync.Mutex
	status     Status
	session    *session      // nil: down
	listing    *listing      // of session
	seen       uint64        // how many announcements of another list of tools the listing takes in
	read       chan struct{} // closed, and replaced, whenever the lists were read
	subscribed map[string]bool
}

func (w *worker) run() {
	defer close(w.done)
	defer w.cancel()
	if w.before != nil {
		<-w.before
	}
	settle := sync.OnceFunc(func() { close(w.settled) })
	defer settle()
	failed, legacy := 0, false
	for w.ctx.Err() == nil {
		w.state(Connecting, nil, failed)
		s, l, err := w.begin(legacy)
		if err == nil {
			began := time.Now()
			w.up(s, l)
			settle()
			err = w.serve(s, l)
			w.down(err)
			s.close(err)
			if failed++; time.Since(began) >= w.pool.o.MaxBackoff {
				failed = 0
			}
			legacy = legacy && failed > 0
		} else {
			if w.ctx.Err() != nil {
				break
			}
			failed++
			// A program that says nothing when it is asked for the newest protocol is asked for the older one.
			legacy = !legacy && s != nil && !s.remote && !s.tap.alive()
		}
		if w.ctx.Err() != nil {
			break
		}
		w.state(Down, err, failed)
		w.warn("a server is down", err)
		settle()
		w.sleep(backoff(w.pool.o.MinBackoff, w.pool.o.MaxBackoff, failed))
	}
	w.state(Stopped, nil, 0)
}

// begin connects and reads the lists, in the time there is.
func (w *worker) begin(legacy bool) (*session, *listing, error) {
	ctx, cancel := context.WithTimeoutCause(w.ctx, w.pool.o.ConnectTimeout, ErrTimeout)
	defer cancel()
	s, err := w.connect(ctx, legacy)
	if err != nil {
		return s, nil, w.failure(ctx, "connect", err)
	}
	l, err := w.list(ctx, s)
	if err != nil {
		err = w.failure(ctx, "list", s.explain(err))
		s.close(err)
		return s, nil, err
	}
	s.renew(ctx)
	return s, l, nil
}

// list reads the lists, and gives up when the session ends.
func (w *worker) list(ctx context.Context, s *session) (l *listing, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.ctx, func() { cancel(context.Cause(s.ctx)) })()
	err = guarded(func() error { l, err = s.list(ctx); return err })
	if err != nil && s.ctx.Err() != nil {
		err = context.Cause(s.ctx)
	}
	return l, err
}

// failure says that it was the time, where it was.
func (w *worker) failure(ctx context.Context, op string, err error) error {
	if errors.Is(context.Cause(ctx), ErrTimeout) {
		err = fmt.Errorf("%w (%w)", ErrTimeout, err)
	}
	return &Error{Server: w.id, Op: op, Err: err}
}

// serve keeps the catalog up to date. It returns why the server is down, or nil when the worker is to end.
func (w *worker) serve(s *session, l *listing) error {
	failures, tokens, refill := 0, changeBurst, time.Now()
	timer := time.NewTimer(w.pool.o.every())
	defer timer.Stop()
	for {
		announced := false
		select {
		case <-w.ctx.Done():
			return nil
		case <-s.ctx.Done():
			return &Error{Server: w.id, Op: "session", Err: s.explain(context.Cause(s.ctx))}
		case <-s.changed:
			announced = true
		case <-timer.C:
		}
		if announced {
			for tokens < changeBurst && time.Since(refill) >= changeRefill {
				tokens++
				refill = refill.Add(changeRefill)
			}
			wait := debounce
			if tokens == 0 {
				wait = max(debounce, time.Until(refill.Add(changeRefill)))
				refill = time.Now()
			} else {
				if tokens == changeBurst {
					refill = time.Now()
				}
				tokens--
			}
			if !s.pause(w.ctx, wait) {
				continue
			}
			select {
			case <-s.changed:
			default:
			}
		}
		ctx, cancel := context.WithTimeoutCause(w.ctx, w.pool.o.ConnectTimeout, ErrTimeout)
		seen := s.announced.Load()
		next, err := w.list(ctx, s)
		if err != nil {
			err = w.failure(ctx, "list", err)
		}
		cancel()
		switch {
		case err == nil:
			failures = 0
			w.refreshed(s, l, next, seen)
			l = next
			timer.Reset(w.pool.o.every())
		case w.ctx.Err() != nil:
			return nil
		case s.ctx.Err() != nil:
			continue
		case definite(err):
			return err
		default:
			if failures++; failures >= maxFailures {
				return err
			}
			w.warn("the lists of a server cannot be read: trying again", err)
			timer.Reset(backoff(w.pool.o.MinBackoff, w.pool.o.MaxBackoff, failures))
		}
		w.reportJunk(s)
	}
}

// pause waits, and reports whether the session and the worker still live.
func (s *session) pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.ctx.Done():
	case <-ctx.Done():
	}
	return false
}

// up offers what a server offers.
func (w *worker) up(s *session, l *listing) {
	s.remember(l.headers)
	w.mu.Lock()
	w.session, w.listing, w.seen = s, l, 0
	w.tellRead()
	w.mu.Unlock()
	w.state(Up, nil, 0)
	w.pool.o.Logger.Info("a server is up", "server", w.id, "tools", len(l.catalog.Tools), "prompts", len(l.catalog.Prompts),
		"resources", len(l.catalog.Resources), "problems", len(l.catalog.Problems))
	w.tell(l.catalog)
	w.reportJunk(s)
}

// refreshed offers what a server offers now, if that is something else.
func (w *worker) refreshed(s *session, before, l *listing, seen uint64) {
	s.remember(l.headers)
	w.mu.Lock()
	w.listing, w.seen = l, seen
	w.tellRead()
	w.mu.Unlock()
	if before.sum != l.sum {
		w.state(Up, nil, 0)
		w.tell(l.catalog)
	}
}

// down takes back everything.
func (w *worker) down(err error) {
	w.mu.Lock()
	w.session, w.listing = nil, nil
	w.tellRead()
	w.mu.Unlock()
	if err != nil {
		w.state(Down, err, 0)
	}
	w.tell(Catalog{Server: w.id})
}

// tell hands a catalog to the embedder.
func (w *worker) tell(c Catalog) {
	if f := w.pool.o.OnCatalog; f != nil {
		w.callback("OnCatalog", func() { f(c) })
	}
}

// callback runs code of the embedder, and survives its panic.
func (w *worker) callback(what string, f func()) {
	if err := guarded(func() error { f(); return nil }); err != nil {
		w.pool.o.Logger.Error("a callback of the pool failed", "callback", what, "server", w.id, "error", err)
	}
}

func (w *worker) warn(what string, err error) {
	w.pool.o.Logger.Warn(what, "server", w.id, "error", w.redact.text(fmt.Sprint(err)))
}

// tellRead wakes who waits for the lists. The caller has the lock.
func (w *worker) tellRead() {
	close(w.read)
	w.read = make(chan struct{})
}

// fresh waits until every list of tools that the server announced has been read.
func (w *worker) fresh(ctx context.Context, s *session) error {
	want := s.announced.Load()
	timer := time.NewTimer(staleWait)
	defer timer.Stop()
	for {
		w.mu.Lock()
		ok, read := w.session == s && w.seen >= want, w.read
		gone := w.session != s
		w.mu.Unlock()
		switch {
		case ok:
			return nil
		case gone:
			return ErrDown
		}
		select {
		case <-read:
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
			return ErrStale
		}
	}
}

// known returns what the newest list says of a tool.
func (w *worker) known(s *session, name string) (known, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.session != s {
		return known{}, false
	}
	k, ok := w.listing.tools[name]
	return k, ok
}

// state notes how the server is doing.
func (w *worker) state(st State, err error, attempts int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.status.State != st {
		w.status.Since = time.Now()
	}
	if st != Connecting { // while it is tried again, it is still known why it was down
		w.status.Err = w.redact.error(err)
	}
	w.status.State, w.status.Attempts = st, attempts
	w.status.Tools, w.status.Prompts, w.status.Resources, w.status.Problems = 0, 0, 0, nil
	if w.listing != nil && st == Up {
		c := w.listing.catalog
		w.status.Tools, w.status.Prompts, w.status.Resources = len(c.Tools), len(c.Prompts), len(c.Resources)
		w.status.Problems = c.Problems
	}
}

// now returns how the server is doing, what it writes that is not MCP included.
func (w *worker) now() Status {
	w.mu.Lock()
	st, s := w.status, w.session
	w.mu.Unlock()
	if s != nil {
		if n, sample, _ := s.tap.junkReport(time.Time{}); n > 0 {
			st.Problems = append(slices.Clip(st.Problems), Problem{Server: w.id, Err: w.redact.error(junkError(n, sample))})
		}
	}
	return st
}

func junkError(n int, sample string) error {
	return fmt.Errorf("%d lines or events are not JSON-RPC and were dropped, the last one is %s (logs go to standard error)", n, sample)
}

func (w *worker) reportJunk(s *session) {
	if n, sample, due := s.tap.junkReport(time.Now()); due {
		w.pool.o.Logger.LogAttrs(w.ctx, slog.LevelWarn, "a server writes what is not MCP", slog.String("server", w.id),
			slog.String("error", w.redact.text(junkError(n, sample).Error())))
	}
}

func (w *worker) sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w.ctx.Done():
	}
}

// backoff returns how long to wait after so many failures: twice as long each time, up to a bound, and somewhere in the
// upper half of that, so that servers that died together do not come back together.
func backoff(least, most time.Duration, failures int) time.Duration {
	d := least
	for range failures - 1 {
		if d *= 2; d >= most {
			break
		}
	}
	d = max(min(d, most), 1)
	return d/2 + rand.N(d/2+1)
}
