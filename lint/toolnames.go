package lint

// This file looks at the names in the catalogs themselves.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/penstock-mcp/penstock/engine"
)

// place is where a finding about the tools of a server stands: its catalog.
func (s *Server) place() engine.Position { return engine.Position{File: s.File} }

// catalog is the place of the server with the given id.
func (l *linter) catalog(id string) engine.Position {
	i := slices.IndexFunc(l.in.Servers, func(s Server) bool { return s.ID == id })
	return l.in.Servers[i].place()
}

func (l *linter) toolNames() {
	l.invisible()
	l.lookalikes()
	l.sameNames()
}

// sameNames reports the names that visible tools of several servers have, all in one finding.
func (l *linter) sameNames() {
	on := make(map[string][]int) // by name: tools, one of each server
	var order []string
	for i := range l.tools {
		s := &l.tools[i]
		if s.hidden {
			continue
		}
		of := on[s.Name]
		if of == nil {
			order = append(order, s.Name)
		}
		if len(of) == 0 || l.tools[of[len(of)-1]].Server != s.Server {
			on[s.Name] = append(of, i)
		}
	}
	n := 0
	var f *Finding
	for _, name := range order {
		of := on[name]
		if len(of) < 2 {
			continue
		}
		if n++; n == 1 {
			f = l.report(sameName, l.catalog(l.tools[of[0]].Server), "", "Hide those that are not needed, and write rules with the server in them.")
		}
		if len(f.Targets)+len(of) <= 2*maxTargets && f.MoreTargets == 0 {
			for _, i := range of {
				f.Targets = append(f.Targets, l.tools[i].Target)
			}
		} else {
			f.MoreTargets += len(of)
		}
	}
	switch n {
	case 0:
	case 1:
		f.Message = "One name stands on several servers."
	default:
		f.Message = fmt.Sprintf("%d names stand on several servers.", n)
	}
}

// lookalikes reports names and server ids that look like others, or like ASCII.
func (l *linter) lookalikes() {
	type holder struct {
		name   string
		server int
		tool   bool
	}
	by := make(map[string][]holder) // by skeleton, each spelling once
	var order []string
	add := func(h holder) {
		k := skeleton(h.name)
		if h.tool {
			k = "\x00" + k // a server does not look like a tool
		}
		of := by[k]
		for _, o := range of {
			if o.name == h.name {
				return
			}
		}
		if of == nil {
			order = append(order, k)
		}
		by[k] = append(of, h)
	}
	for i := range l.in.Servers {
		add(holder{l.in.Servers[i].ID, i, false})
		for j := range l.in.Servers[i].Tools {
			add(holder{l.in.Servers[i].Tools[j].Name, i, true})
		}
	}
	what := map[bool]string{true: "tool", false: "server"}
	for _, k := range order {
		of := by[k]
		odd := 0 // the one to blame: the first with a character beyond ASCII, or the last
		for odd < len(of)-1 && ascii(of[odd].name) {
			odd++
		}
		h := of[odd]
		p, alone := disguised(h.name)
		if len(of) < 2 && !alone {
			continue
		}
		message := fmt.Sprintf("The %s name %s looks like %s, and is not: it has %s.", what[h.tool], quote(h.name), quote(p), strangers(h.name))
		if len(of) > 1 {
			var others []string
			for i, o := range of {
				if i != odd && len(others) < 3 {
					others = append(others, quote(o.name))
				}
			}
			message = fmt.Sprintf("The %s name %s looks like %s.", what[h.tool], quote(h.name), join(others, "and"))
		}
		f := l.report(lookalikeName, l.in.Servers[h.server].place(), message, "Exclude the tool until you know why it is called that.")
		if h.tool {
			for _, o := range of {
				f.show(engine.Target{Server: l.in.Servers[o.server].ID, Name: o.name})
			}
		}
	}
}

// invisible reports names with what nobody sees, one finding for each server.
func (l *linter) invisible() {
	for i := range l.in.Servers {
		s := &l.in.Servers[i]
		var f *Finding
		for j := range s.Tools {
			name := s.Tools[j].Name
			at := strings.IndexFunc(name, unseen)
			if at < 0 && strings.TrimSpace(name) == name {
				continue
			}
			if f == nil {
				message := fmt.Sprintf("The tool name %s begins or ends with white space.", quote(name))
				if at >= 0 {
					message = fmt.Sprintf("The tool name %s has the character %U, which nobody sees.", quote(name), []rune(name[at:])[0])
				}
				f = l.report(invisibleName, s.place(), message, "Exclude the tool and ask the server's makers.")
			}
			f.show(engine.Target{Server: s.ID, Name: name})
		}
	}
}
