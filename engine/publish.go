package engine

import (
	"slices"
	"sync/atomic"
)

// with returns the snapshot that follows s when the changes are made in their order: s itself where they change nothing.
// What they leave as it is is shared with s.
func (s *Snapshot) with(changes []*update) *Snapshot {
	next := &Snapshot{generation: s.Generation() + 1}
	if s != nil {
		next.config, next.sets, next.servers = s.config, s.sets, s.servers
	}
	owned, moved := false, false // whether next.sets is a copy, and whether servers came or went
	configured := false
	for _, c := range changes {
		if c.config != nil {
			next.config, configured = *c.config, true
			continue
		}
		at, there := position(next.sets, c.server)
		if !there && c.set == nil {
			continue
		}
		if !owned {
			next.sets, owned = slices.Clone(next.sets), true
		}
		switch {
		case there && c.set != nil:
			next.sets[at] = c.set
		case there:
			next.sets, moved = slices.Delete(next.sets, at, at+1), true
		default:
			next.sets, moved = slices.Insert(next.sets, at, c.set), true
		}
	}
	if !owned && !configured {
		return s
	}
	if moved {
		next.servers = newServerTable(next.sets)
	}
	next.baseline = next.config.Baseline
	next.setViews(s)
	return next
}

// newServerTable returns the table that finds a server in sets.
func newServerTable(sets []*toolset) nameTable {
	t := newSlots(len(sets))
	for i, set := range sets {
		t.insert(set.server, set.serverHash, i)
	}
	return t
}

// setViews makes the views, taking from old, the snapshot before, what still holds.
func (s *Snapshot) setViews(old *Snapshot) {
	s.views = make(map[string]*ViewSnapshot, len(s.config.Views))
	for name, view := range s.config.Views {
		v := &ViewSnapshot{snapshot: s, view: view, servers: make([]*serverView, 0, len(s.sets)), list: new(shownList)}
		var before *ViewSnapshot
		if old != nil && old.baseline == s.baseline {
			if before = old.views[name]; before != nil && before.view != view {
				before = nil
			}
		}
		v.setServers(s.sets, before)
		s.views[name] = v
	}
}

// setServers fills in the servers of v, taking over what before, which may be nil, holds of the very same tools. Both are
// in the order of the server ids.
func (v *ViewSnapshot) setServers(sets []*toolset, before *ViewSnapshot) {
	var old []*serverView
	if before != nil {
		old = before.servers
	}
	kept := 0
	for _, set := range sets {
		for len(old) > 0 && old[0].set != set && old[0].set.server < set.server {
			old = old[1:]
		}
		if len(old) > 0 && old[0].set == set {
			v.servers = append(v.servers, old[0])
			kept++
			continue
		}
		v.servers = append(v.servers, newServerView(set, v.view, v.snapshot.baseline))
	}
	if before != nil && kept == len(v.servers) && kept == len(before.servers) {
		v.list = before.list
	}
}

// shownList is the list of the tools that a view shows, in one piece. It is made when it is first asked for, so that a
// hub that refreshes server after server does not copy it for each; snapshots with the same tools share it.
type shownList struct {
	made atomic.Pointer[shownTools]
}

type shownTools struct {
	tools  []*Tool
	sights []sight // the sight of each of them; nil where the filter has no functions to ask
}

// shown returns the list. Two readers that come at once may both make it; either result will do.
func (v *ViewSnapshot) shown() *shownTools {
	if v == nil || v.list == nil {
		return &noTools
	}
	if made := v.list.made.Load(); made != nil {
		return made
	}
	n := 0
	for _, sv := range v.servers {
		n += len(sv.shown)
	}
	made := &shownTools{tools: make([]*Tool, 0, n)}
	for _, sv := range v.servers {
		made.tools = append(made.tools, sv.shown...)
	}
	if f := v.view.Filter; f != nil && (f.include.dynamic != nil || f.exclude.dynamic != nil) {
		made.sights = make([]sight, 0, n)
		for _, sv := range v.servers {
			made.sights = append(made.sights, sv.sights...)
		}
	}
	v.list.made.Store(made)
	return made
}

var noTools shownTools
