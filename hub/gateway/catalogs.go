// What the servers offer, as callers may be told.
//
// Each server's catalog goes to the engine at once. The tables of exposed names, and the lists of resources and prompts,
// are made from all catalogs; to make them anew for each of fifty servers that come up together would be quadratic, so
// one goroutine makes them a moment after something changed, whatever changed meanwhile. A tool that the engine has and
// the tables do not, or the other way round, is not there for callers.

package gateway

import (
	"bytes"
	"context"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/hub"
	"github.com/penstock-mcp/penstock/hub/upstream"
)

// gather is how long the tables wait for more to change: what starts together comes up within milliseconds.
const gather = 10 * time.Millisecond

// lists are kinds of lists that callers may have seen, as a set.
type lists uint8

const (
	toolLists lists = 1 << iota
	promptLists
	resourceLists
	allLists = toolLists | promptLists | resourceLists
)

// offers are the tables of one moment. They are immutable.
type offers struct {
	names, prompts *hub.Names
	servers        map[string]upstream.Catalog // those that are up
	promptList     []*mcp.Prompt               // under their exposed names
	resources      []*mcp.Resource             // under their exposed URIs
	templates      []*mcp.ResourceTemplate
}

// definitions are what a server's tools may be shown as. The ones before are kept, too: a list is made from a snapshot
// of the engine, which may still have the tools of a moment ago.
type definitions struct{ now, before map[string]*upstream.Tool }

// catalogs keeps the servers' catalogs and what is made of them.
type catalogs struct {
	engine  *engine.Engine
	changed func(lists) // called after the tables were made anew

	mu      sync.Mutex // guards the rest, but for what is atomic
	servers map[string]upstream.Catalog
	pending lists

	making sync.Mutex // held while tables are made, so that older ones never replace newer ones
	now    atomic.Pointer[offers]
	defs   sync.Map      // of *definitions by server
	dirty  chan struct{} // holds a token where the tables are older than the catalogs
	made   atomic.Int64  // how often the tables were made
}

func newCatalogs(e *engine.Engine, changed func(lists)) *catalogs {
	c := &catalogs{engine: e, changed: changed, servers: map[string]upstream.Catalog{}, dirty: make(chan struct{}, 1)}
	c.now.Store(&offers{})
	return c
}

// update takes a server's catalog: see upstream.Options.OnCatalog.
func (c *catalogs) update(cat upstream.Catalog) (engine.Report, error) {
	var report engine.Report
	var err error
	if cat.Up {
		tools := make([]engine.Tool, 0, len(cat.Tools))
		now := make(map[string]*upstream.Tool, len(cat.Tools))
		for i := range cat.Tools {
			// What cannot be shown is not there: a tool that can be called and is in no list would be hidden from nobody
			// but those who look.
			if t := &cat.Tools[i]; t.Definition != nil {
				tools = append(tools, t.Tool)
				now[t.Name] = t
			}
		}
		defs := &definitions{now: now}
		if old, ok := c.defs.Load(cat.Server); ok {
			defs.before = old.(*definitions).now
		}
		c.defs.Store(cat.Server, defs)
		report, err = c.engine.Refresh(cat.Server, tools)
	}
	if !cat.Up || err != nil {
		c.engine.Remove(cat.Server)
		c.defs.Delete(cat.Server)
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	what := compare(c.servers[cat.Server], cat)
	if cat.Up && err == nil {
		c.servers[cat.Server] = cat
	} else {
		delete(c.servers, cat.Server)
	}
	c.mark(what)
	return report, err
}

// mark notes that lists are others now. The mutex must be held.
func (c *catalogs) mark(what lists) {
	c.pending |= what
	select {
	case c.dirty <- struct{}{}:
	default:
	}
}

// touch has the sessions told of lists that changed for another reason.
func (c *catalogs) touch(what lists) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mark(what)
}

// compare says which lists differ between two catalogs of a server.
func compare(old, now upstream.Catalog) (what lists) {
	if len(old.Tools) != len(now.Tools) || old.Up != now.Up {
		what |= toolLists
	}
	for i := range min(len(old.Tools), len(now.Tools)) {
		a, b := &old.Tools[i], &now.Tools[i]
		if a.Name != b.Name || a.Fingerprint != b.Fingerprint || !bytes.Equal(a.Raw, b.Raw) {
			what |= toolLists
		}
	}
	if old.Up != now.Up || !reflect.DeepEqual(old.Prompts, now.Prompts) {
		what |= promptLists
	}
	if old.Up != now.Up || !reflect.DeepEqual(old.Resources, now.Resources) || !reflect.DeepEqual(old.Templates, now.Templates) {
		what |= resourceLists
	}
	return what
}

// run makes the tables anew whenever something changed, until ctx ends.
func (c *catalogs) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.dirty:
		}
		t := time.NewTimer(gather)
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-t.C:
		}
		c.flush()
	}
}

// flush makes the tables anew, now, and has the sessions told.
func (c *catalogs) flush() {
	c.making.Lock()
	defer c.making.Unlock()
	select {
	case <-c.dirty:
	default:
	}
	c.mu.Lock()
	servers := make(map[string]upstream.Catalog, len(c.servers))
	for id, cat := range c.servers {
		servers[id] = cat
	}
	what := c.pending
	c.pending = 0
	c.mu.Unlock()
	c.now.Store(newOffers(servers))
	c.made.Add(1)
	if what != 0 && c.changed != nil {
		c.changed(what)
	}
}

func newOffers(servers map[string]upstream.Catalog) *offers {
	o := &offers{servers: servers}
	var tools, prompts []engine.Target
	ids := sorted(servers)
	for _, id := range ids {
		for i := range servers[id].Tools {
			if t := &servers[id].Tools[i]; t.Definition != nil {
				tools = append(tools, engine.Target{Server: id, Name: t.Name})
			}
		}
		for _, p := range servers[id].Prompts {
			if p != nil {
				prompts = append(prompts, engine.Target{Server: id, Name: p.Name})
			}
		}
	}
	o.names, o.prompts = hub.NewNames(tools), hub.NewNames(prompts)

	// Of what a server lists twice the first counts.
	seen := map[string]bool{}
	first := func(exposed string) bool {
		if seen[exposed] {
			return false
		}
		seen[exposed] = true
		return true
	}
	for _, id := range ids {
		for _, p := range servers[id].Prompts {
			if p == nil {
				continue
			}
			if name, ok := o.prompts.Exposed(engine.Target{Server: id, Name: p.Name}); ok && first("p"+name) {
				q := *p
				q.Name = name
				o.promptList = append(o.promptList, &q)
			}
		}
		for _, r := range servers[id].Resources {
			if r == nil {
				continue
			}
			if uri := ExposeURI(engine.Target{Server: id, Name: r.URI}); first("r" + uri) {
				q := *r
				q.URI = uri
				o.resources = append(o.resources, &q)
			}
		}
		for _, t := range servers[id].Templates {
			if t == nil {
				continue
			}
			if uri := ExposeURI(engine.Target{Server: id, Name: t.URITemplate}); first("t" + uri) {
				q := *t
				q.URITemplate = uri
				o.templates = append(o.templates, &q)
			}
		}
	}
	return o
}

// maxURI is the longest URI that is known: what subscribes is kept, and more than this is no name.
const maxURI = 8 << 10

// resolve is a hub.Resolve, for resources and templates alike. Any URI of a server that is up is one that the server may
// have: its templates say less than it answers. Whether it is there the server says.
func (c *catalogs) resolve(uri string) (engine.Target, bool) {
	if len(uri) > maxURI {
		return engine.Target{}, false
	}
	t, ok := OriginalURI(uri)
	if !ok {
		return t, false
	}
	_, ok = c.now.Load().servers[t.Server]
	return t, ok
}

// definition is GuardOptions.Definition: what t, as the engine has it, is shown as.
func (c *catalogs) definition(t *engine.Tool) (*mcp.Tool, bool) {
	v, ok := c.defs.Load(t.Server)
	if !ok {
		return nil, false
	}
	d := v.(*definitions)
	for _, m := range []map[string]*upstream.Tool{d.now, d.before} {
		if u := m[t.Name]; u != nil && u.Fingerprint == t.Fingerprint && bytes.Equal(u.Raw, t.Raw) {
			return u.Definition, true
		}
	}
	return nil, false
}
