// Starting, serving and stopping.

package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/penstock-mcp/penstock/hub/upstream"
)

// patience is how long Run waits for the servers before it serves: a client that lists tools once, at the start, is to
// find those of servers that are well. One that is dead does not keep it longer.
const patience = 5 * time.Second

// Start connects to the servers and watches the files, in the background, until Close. It returns at once, and does
// nothing the second time.
func (g *Gateway) Start() {
	g.start.Do(func() {
		c := g.state.Load().config
		g.wait.Go(func() { g.catalogs.run(g.background) })
		g.pool.Apply(c.Servers)
		if c.Path != "" {
			g.wait.Go(func() { g.watch(g.background) })
		}
	})
}

// Settled waits until each server has been up or has failed once since the configuration last changed, and what they
// offer can be called. It returns the error of ctx.
func (g *Gateway) Settled(ctx context.Context) error {
	err := g.pool.Settled(ctx)
	g.catalogs.flush()
	return err
}

// writeTime is how long a session that is not over HTTP has to write the responses of calls that have just ended. The SDK
// drops what is written after a session began to close, and says nothing of when it was written; it takes microseconds.
const writeTime = 100 * time.Millisecond

// Close lets running calls end for as long as ctx lives, gives up the rest, ends all sessions and disconnects from the
// servers. A gateway that was closed is not started again.
func (g *Gateway) Close(ctx context.Context) error {
	var err error
	g.stop.Do(func() {
		g.start.Do(func() {})
		g.web.streams.close()
		g.calls.drain(ctx)
		g.web.posts.wait(giveUp) // the responses of those that ended just now
		// A session waits for its requests, which have been told to give up. A handler that does not is left behind.
		var sessions sync.WaitGroup
		all := slices.Collect(g.server.Sessions())
		if slices.ContainsFunc(all, func(ss *mcp.ServerSession) bool { return ss.ID() == "" }) {
			time.Sleep(writeTime)
		}
		for _, ss := range all {
			sessions.Go(func() { _ = ss.Close() })
		}
		within(&sessions, time.Second)
		g.cancel()
		err = g.pool.Close()
		g.wait.Wait()
		g.closeLogs()
	})
	return err
}

// within waits for w, but not longer than d.
func within(w *sync.WaitGroup, d time.Duration) {
	done := make(chan struct{})
	go func() { w.Wait(); close(done) }()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	}
}

// Run starts the gateway, serves what the configuration says until ctx ends or a stdio caller goes, and closes it. The
// error is that of an address that cannot be listened at, or of serving; the end of ctx is none.
func (g *Gateway) Run(ctx context.Context) error {
	c := g.state.Load().config
	var web, admin net.Listener
	var err error
	if c.Listen != "" {
		if web, err = net.Listen("tcp", c.Listen); err != nil {
			return errors.Join(fmt.Errorf("listen: %w", err), g.Close(ctx))
		}
	}
	if c.Admin != "" {
		if admin, err = net.Listen("tcp", c.Admin); err != nil {
			if web != nil {
				_ = web.Close()
			}
			return errors.Join(fmt.Errorf("admin: %w", err), g.Close(ctx))
		}
		if !loopback(c.Admin) {
			g.log.Warn("the admin listener can be reached from outside, and asks nobody who he is", "address", admin.Addr().String())
		}
	}
	return g.Serve(ctx, web, admin)
}

// Serve is Run on listeners that are open, which it closes. A nil web listener stands for stdio, a nil admin for none.
func (g *Gateway) Serve(ctx context.Context, web, admin net.Listener) error {
	g.Start()
	settle, done := context.WithTimeout(ctx, patience)
	if err := g.Settled(settle); err != nil && ctx.Err() == nil {
		for _, s := range g.pool.Status() {
			if s.State == upstream.Connecting {
				g.log.Warn("a server is not up yet, and callers do not see its tools until it is", "server", s.Server)
			}
		}
	}
	done()

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := make(chan error, 2)
	var servers []*http.Server
	serve := func(l net.Listener, h http.Handler, what string) {
		s := newHTTPServer(h, g.log)
		servers = append(servers, s)
		g.log.Info("listening", "for", what, "address", l.Addr().String())
		go func() {
			if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				failed <- fmt.Errorf("%s: %w", what, err)
			}
		}()
	}
	if admin != nil {
		serve(admin, g.Admin(), "admin")
	}
	var err error
	if web != nil {
		if !g.state.Load().config.authenticates() {
			g.log.Warn("nobody has to say who he is: whoever reaches this address from this machine is in the view default")
		}
		serve(web, g.Handler(), "mcp")
		select {
		case <-ctx.Done():
		case err = <-failed:
		}
	} else {
		err = g.serveStdio(ctx, failed)
	}
	return errors.Join(err, g.shut(servers))
}

// serveStdio serves one session over standard input and output, until its end.
func (g *Gateway) serveStdio(ctx context.Context, failed <-chan error) error {
	ss, err := g.server.Connect(ctx, &mcp.StdioTransport{}, nil)
	if err != nil {
		return fmt.Errorf("stdio: %w", err)
	}
	gone := make(chan struct{})
	go func() { _ = ss.Wait(); close(gone) }()
	select {
	case <-ctx.Done():
	case <-gone: // the caller went: that is how a stdio session ends
	case err = <-failed:
	}
	return err
}

// shut stops serving: no new requests, running calls end or are given up, then everything is closed.
func (g *Gateway) shut(servers []*http.Server) error {
	drain := g.state.Load().config.Timeouts.Drain
	if drain == 0 {
		drain = defaultDrain
	}
	ctx, cancel := context.WithTimeout(context.Background(), drain)
	defer cancel()
	g.web.streams.close() // they would never end by themselves
	var down sync.WaitGroup
	for _, s := range servers {
		down.Go(func() { _ = s.Shutdown(ctx) })
	}
	down.Wait()
	err := g.Close(ctx)
	for _, s := range servers {
		_ = s.Close()
	}
	return err
}
