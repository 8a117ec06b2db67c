package engine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"unicode/utf8"
)

// View is what one group of callers may see and do. A nil Filter shows nothing, a nil Policy denies everything.
type View struct {
	Filter *Filter
	Policy *Policy
}

// Config is everything of an [Engine] but the tools.
type Config struct {
	// Views are the groups of callers by name. They share the tools; a tool costs a few bytes more for each.
	Views map[string]View

	// Baseline holds the approved tools. Nil: every tool is new.
	Baseline *Baseline
}

// Engine is a hub's live state: the tools of its servers, and what each group of callers may see and do. Everything
// that does not depend on a call is computed when tools, views or baseline change; a reader takes the current
// [Snapshot] with one atomic load.
//
// All methods are safe for concurrent use. Readers never wait. Writers are serialised, and those that come while one
// is at work are published together, in one snapshot, in the order they came. Whoever returns from
// a write reads it. The zero Engine has no views and shows nothing; use [New].
type Engine struct {
	current atomic.Pointer[Snapshot]

	publishing sync.Mutex // held by the one writer that makes the next snapshot
	queue      struct {
		sync.Mutex
		changes []*update
	}
}

// update is one thing to put into the next snapshot: a server's tools, its removal, or a configuration. Its snapshot
// is set, under Engine.publishing, once it is in force.
type update struct {
	server   string
	set      *toolset // nil: remove the server
	config   *Config  // not nil: nothing else counts
	snapshot *Snapshot
}

var errNilEngine = errors.New("the engine is nil (make one with New)")

// New returns an engine with the configuration c and no servers. It returns an error where [Engine.Apply] would.
func New(c Config) (*Engine, error) {
	e := new(Engine)
	if err := e.Apply(c); err != nil {
		return nil, err
	}
	return e, nil
}

// Apply replaces the configuration: views and baseline change at once or, on an error, not at all. No reader ever sees
// a part of it.
//
// It returns an error for a view whose name is not valid UTF-8. Cost: one pass over all tools for each view whose
// filter or policy changed, or for all where the baseline did.
func (e *Engine) Apply(c Config) error {
	if e == nil {
		return errNilEngine
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(c.Views)) {
		if !utf8.ValidString(name) {
			errs = append(errs, fmt.Errorf("view %q: the name is not valid UTF-8", name))
		}
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	c.Views = maps.Clone(c.Views)
	e.publish(&update{config: &c})
	return nil
}

// Refresh replaces the tools of one server. The tools are copied; their Server may be empty or must be server.
//
// A tool whose name is empty, longer than 1,024 bytes, not UTF-8 or holds control or format characters, and every copy
// of a name that stands twice, is quarantined: in no list, and not found. The report names each.
//
// It returns a [ServerIDError] for a server id that no server can have, and an error that wraps [ErrTargetMismatch] for
// a tool of another server; the last snapshot then stays in place.
//
// Cost: in proportion to this server's tools and the number of views, plus one copy of each view's list of pointers.
// Fingerprints are computed only for definitions that changed.
func (e *Engine) Refresh(server string, tools []Tool) (Report, error) {
	if e == nil {
		return Report{}, errNilEngine
	}
	set, out, err := newToolset(server, tools, e.Snapshot().tools(server))
	if err != nil {
		return Report{}, err
	}
	s := e.publish(&update{server: server, set: set})
	return Report{Generation: s.generation, Tools: len(set.tools), Quarantined: out}, nil
}

// Remove takes a server and its tools out. Removing one that is not there does nothing.
func (e *Engine) Remove(server string) {
	if e == nil {
		return
	}
	e.publish(&update{server: server})
}

// Snapshot returns the current state: nil, which is empty, for a nil *Engine and before the first write to a zero one.
//
// Cost: one atomic load.
func (e *Engine) Snapshot() *Snapshot {
	if e == nil {
		return nil
	}
	return e.current.Load()
}

// tools returns the tools of a server, or nil.
func (s *Snapshot) tools(server string) *toolset {
	if s == nil {
		return nil
	}
	if n := s.servers.find(server); n >= 0 {
		return s.sets[n]
	}
	return nil
}

// publish puts c into the next snapshot and returns it. Changes that came meanwhile go into the same one: who gets the
// lock takes the whole queue, and the others find their change in force.
func (e *Engine) publish(c *update) *Snapshot {
	e.queue.Lock()
	e.queue.changes = append(e.queue.changes, c)
	e.queue.Unlock()

	e.publishing.Lock()
	defer e.publishing.Unlock()
	if c.snapshot != nil {
		return c.snapshot
	}
	e.queue.Lock()
	batch := e.queue.changes
	e.queue.changes = nil
	e.queue.Unlock()

	next := e.current.Load().with(batch)
	e.current.Store(next)
	for _, c := range batch {
		c.snapshot = next
	}
	return next
}
