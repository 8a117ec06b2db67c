package engine

import "slices"

// with returns the snapshot that follows s when the changes are made in their order. What they leave as it is is
// shared with s.
func (s *Snapshot) with(changes []*update) *Snapshot {
	next := &Snapshot{generation: s.Generation() + 1}
	if s != nil {
		next.config, next.sets, next.servers = s.config, s.sets, s.servers
	}
	owned, moved := false, false // whether next.sets is a copy, and whether servers came or went
	for _, c := range changes {
		if c.config != nil {
			next.config = *c.config
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
	if moved {
		next.servers = newNameTable(len(next.sets), func(i int) string { return next.sets[i].server })
	}
	next.baseline = next.config.Baseline
	next.setViews(s)
	return next
}

// setViews makes the views, taking from old, the snapshot before, what still holds.
func (s *Snapshot) setViews(old *Snapshot) {
	s.views = make(map[string]*ViewSnapshot, len(s.config.Views))
	for name, view := range s.config.Views {
		v := &ViewSnapshot{snapshot: s, view: view, servers: make([]*serverView, len(s.sets))}
		var before *ViewSnapshot
		if old != nil && old.baseline == s.baseline {
			if before = old.views[name]; before != nil && before.view != view {
				before = nil
			}
		}
		for i, set := range s.sets {
			v.servers[i] = before.serverView(set)
			if v.servers[i] == nil {
				v.servers[i] = newServerView(set, view, s.baseline)
			}
		}
		v.setList(before)
		s.views[name] = v
	}
}

// serverView returns what v holds of the very toolset, or nil.
func (v *ViewSnapshot) serverView(set *toolset) *serverView {
	if v == nil {
		return nil
	}
	if n := v.snapshot.servers.find(set.server); n >= 0 && v.servers[n].set == set {
		return v.servers[n]
	}
	return nil
}

// setList makes the list of the tools that the view shows, or takes the one it had before.
func (v *ViewSnapshot) setList(before *ViewSnapshot) {
	if before != nil && slices.Equal(before.servers, v.servers) {
		v.list, v.sights = before.list, before.sights
		return
	}
	n := 0
	for _, sv := range v.servers {
		n += len(sv.shown)
	}
	v.list = make([]*Tool, 0, n)
	for _, sv := range v.servers {
		v.list = append(v.list, sv.shown...)
	}
	if f := v.view.Filter; f == nil || f.include.dynamic == nil && f.exclude.dynamic == nil {
		return
	}
	v.sights = make([]sight, 0, n)
	for _, sv := range v.servers {
		v.sights = append(v.sights, sv.sights...)
	}
}
