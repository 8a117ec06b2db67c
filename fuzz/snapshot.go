package fuzz

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// This file is the reference of a hub's live state: what package engine computes ahead of time and keeps in snapshots
// is here decided anew for every question.

// World is the state of a hub in one generation, as plain data. It is never changed: the methods that change
// something return another World, so that every generation can be kept and asked.
type World struct {
	Servers  []ServerTools // in any order, each id once
	Views    map[string]View
	Baseline []Approval // nil: every tool is new
}

// ServerTools is the tools of one server, in its own order, without those in quarantine.
type ServerTools struct {
	ID    string
	Tools []Target
}

// View defines what one group of callers sees and may do.
type View struct {
	Filter *Filter // nil shows nothing
	Policy *Policy // nil denies everything
}

// Refresh replaces the tools of one server. It returns an error for an id that no server can have and for a tool of
// another server; the world then stays what it is.
func (w World) Refresh(id string, tools []Target) (World, error) {
	if err := checkServerID(id); err != nil {
		return w, err
	}
	for _, t := range tools {
		if t.Server != "" && t.Server != id {
			return w, fmt.Errorf("a tool of server %q", t.Server)
		}
	}
	s := ServerTools{ID: id}
	for _, t := range tools {
		if Quarantined(t.Name) || copies(t.Name, tools) > 1 {
			continue
		}
		t.Server = id
		s.Tools = append(s.Tools, t)
	}
	next := w.Remove(id)
	next.Servers = append(next.Servers, s)
	return next, nil
}

// Quarantined reports whether a name is "empty, longer than 1,024 bytes, not UTF-8 or holds control or format
// characters".
func Quarantined(name string) bool {
	return name == "" || len(name) > 1024 || !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool {
		return unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r)
	})
}

// copies counts the tools of a name: "every copy of a name that stands twice" goes into quarantine.
func copies(name string, tools []Target) int {
	n := 0
	for _, t := range tools {
		if t.Name == name {
			n++
		}
	}
	return n
}

// Remove takes a server out.
func (w World) Remove(id string) World {
	var left []ServerTools
	for _, s := range w.Servers {
		if s.ID != id {
			left = append(left, s)
		}
	}
	w.Servers = left
	return w
}

// Apply replaces views and baseline.
func (w World) Apply(views map[string]View, baseline []Approval) World {
	w.Views, w.Baseline = views, baseline
	return w
}

// Tool returns the tool that a server has under a name.
func (w World) Tool(server, name string) (Target, bool) {
	for _, s := range w.Servers {
		for _, t := range s.Tools {
			if s.ID == server && t.Name == name {
				return t, true
			}
		}
	}
	return Target{}, false
}

// request completes a request: "a Request's nil Approved means the engine's baseline".
func (w World) request(q Request) Request {
	if q.Approved == nil {
		q.Approved = w.Baseline
	}
	return q
}

// Visible reports whether a caller of the view sees a tool of the world.
func (w World) Visible(view string, t Target, q Request) bool {
	f := w.Views[view].Filter
	return f != nil && f.visible(t, w.request(q)) // "A nil *Filter hides everything"
}

// Decide decides a call. A tool that is not there and one that the caller does not see are not found alike: the outcome
// is then the refused one.
func (w World) Decide(view string, call Call, q Request) Outcome {
	t, ok := w.Tool(call.Server, call.Name)
	if !ok || !w.Visible(view, t, q) {
		return Outcome{Action: "deny", Source: "none", Reason: "none", Refused: true}
	}
	return w.Views[view].Policy.Decide(t, &call, w.request(q))
}

// List returns the tools that a caller sees: "server ids bytewise, then the server's own order".
func (w World) List(view string, q Request) []Target {
	sorted := slices.Clone(w.Servers)
	slices.SortFunc(sorted, func(a, b ServerTools) int { return strings.Compare(a.ID, b.ID) })
	var list []Target
	for _, s := range sorted {
		for _, t := range s.Tools {
			if w.Visible(view, t, q) {
				list = append(list, t)
			}
		}
	}
	return list
}
