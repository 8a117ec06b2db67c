// Reloading.
//
// All files that the configuration was made of are looked at once a second, by content. When one is another, everything
// is loaded anew; if all of it is good it takes the place of what was in force, and if anything is bad, nothing changes,
// the whole error is told, and the next change is waited for: also of a file that a bad configuration names and that is
// not there yet. So the policy in force is always one that somebody wrote.

package gateway

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"
)

// interval is how often the files are looked at.
const interval = time.Second

// reloader is what is known of the last attempt. Its mutex is held from reading the files until they are in force, so
// that what was read earlier never comes later.
type reloader struct {
	mu      sync.Mutex
	attempt []file // what the last attempt read, good or bad
	err     error  // why it failed; nil: it did not
	since   time.Time
	restart []string // what changed and is not in force until the gateway is started anew
	tried   int      // attempts, and how many of them failed; for metrics
	failed  int
}

// watch reloads what changes, until ctx ends.
func (g *Gateway) watch(ctx context.Context) {
	t := time.NewTicker(interval)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			g.Reload(false)
		case <-g.o.Trigger:
			if g.audit != nil {
				if err := g.audit.Reopen(); err != nil {
					g.log.Error("the audit log could not be opened anew, and goes on in the old file", "error", err)
				}
			}
			g.Reload(true)
		}
	}
}

// Reload loads the configuration anew if a file of it changed, or if always is true. What was in force stays in force
// where there is an error, which is also logged and told by the admin listener. A gateway that was made without a file
// has nothing to load.
func (g *Gateway) Reload(always bool) error {
	r := &g.reload
	r.mu.Lock()
	defer r.mu.Unlock()
	s := g.state.Load()
	if s.config.Path == "" || !always && !stale(r.attempt) {
		return r.err
	}
	r.tried++
	c, read, err := load(s.config.Path, g.o.Load, s.config)
	r.attempt = read
	if err == nil {
		err = g.apply(s, c)
	}
	if err != nil {
		r.failed++
		if r.err == nil || r.err.Error() != err.Error() {
			g.log.Error("the configuration was not reloaded, and stays as it was", "error", err)
		}
		if r.err == nil {
			r.since = time.Now()
		}
		r.err = err
		return err
	}
	if r.err != nil {
		g.log.Info("the configuration is in order again")
	}
	r.err = nil
	return nil
}

// apply puts a configuration in force, all of it or nothing. The mutex of the reloader is held.
func (g *Gateway) apply(s *state, c *Config) error {
	old := s.config
	if old.Baseline != nil && c.Baseline == nil && c.BaselinePath == old.BaselinePath {
		return fmt.Errorf("%s: the baseline is gone, and with it every approval (put it back, or start anew to begin without one)", c.BaselinePath)
	}
	if old.authenticates() && !c.authenticates() {
		return fmt.Errorf("%s: callers and oauth are gone, and nobody would have to say who he is (start anew to take the authentication away)", c.Path)
	}
	if old.Ask.Remember && old.BaselinePath != c.BaselinePath {
		return fmt.Errorf("baseline: approvals are being written to %s (start anew to keep them in another file)", old.BaselinePath)
	}
	restart := keep(old, c)
	if err := c.check(); err != nil {
		return err
	}
	next := &state{c, s.gate}
	admits := !reflect.DeepEqual(old.Callers, c.Callers) || !reflect.DeepEqual(old.OAuth, c.OAuth)
	if admits {
		next.gate = newGate(c, s.gate, g.refusals.note)
	}
	// The policy comes first: whoever comes in by the new callers is judged by it, and a caller whose view has gone sees
	// nothing until then.
	before := g.engine.Snapshot().Generation()
	if err := g.engine.Apply(c.engine()); err != nil {
		return err
	}
	g.state.Store(next)
	if admits {
		g.web.streams.end() // those behind them come again, if they still may
		g.web.sessions.end(func(user string) bool { return moved(old, c, user) })
	}
	if !reflect.DeepEqual(old.Servers, c.Servers) {
		g.pool.Apply(c.Servers)
	}
	g.catalogs.touch(allLists)
	g.log.Info("the configuration was reloaded", "generation", g.engine.Snapshot().Generation(), "before", before)
	if len(restart) > 0 {
		g.log.Warn("some of what changed is not in force until the hub is started anew", "options", strings.Join(restart, ", "))
	}
	g.reload.restart = restart
	return nil
}

// moved reports whether the user of a session is another caller now, or none: what the session is told unasked is judged by
// who opened it.
func moved(old, c *Config, user string) bool {
	if user == "" {
		return c.authenticates()
	}
	name, static := strings.CutPrefix(user, staticUser)
	if !static {
		return !reflect.DeepEqual(old.OAuth, c.OAuth)
	}
	of := func(c *Config) (all []Caller) {
		for _, caller := range c.Callers {
			if caller.Principal == name {
				all = append(all, caller)
			}
		}
		return all
	}
	return !reflect.DeepEqual(of(old), of(c))
}

// keep leaves what cannot change while a gateway runs as it is, and returns the names of what would have changed.
func keep(old, c *Config) []string {
	var restart []string
	note := func(name string, same bool) {
		if !same {
			restart = append(restart, name)
		}
	}
	note("listen", old.Listen == c.Listen)
	note("admin", old.Admin == c.Admin)
	note("audit", old.Audit == c.Audit)
	note("ask", reflect.DeepEqual(old.Ask, c.Ask))
	note("only_approved", old.OnlyApproved == c.OnlyApproved)
	note("refresh", old.Refresh == c.Refresh)
	note("timeouts", old.Timeouts == c.Timeouts)
	c.Listen, c.Admin, c.Audit, c.Ask = old.Listen, old.Admin, old.Audit, old.Ask
	c.OnlyApproved, c.Refresh, c.Timeouts = old.OnlyApproved, old.Refresh, old.Timeouts
	return restart
}
