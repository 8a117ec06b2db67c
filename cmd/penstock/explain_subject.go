package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/penstock-mcp/penstock/cmd/penstock/internal/catalog"
	"github.com/penstock-mcp/penstock/cmd/penstock/internal/text"
	"github.com/penstock-mcp/penstock/engine"
)

// subject is what a question is about: a tool, a resource or a prompt by its name, and what is known of it.
type subject struct {
	kind         engine.Kind
	server, name string // or the URI

	tool        engine.Tool // of a tool: the one that a catalog lists, or one of that name without a definition
	missing     bool        // there are catalogs, and none of them lists it
	suggestions []string    // what it may have been meant to be
	notes       []string    // what is taken for granted
}

// String returns the subject as a command line names it.
func (s *subject) String() string {
	prefix := ""
	if s.kind != engine.Tools {
		prefix = kindWords[s.kind] + ":"
	}
	return text.Plain(prefix + s.server + "/" + s.name)
}

// parseSubject reads SERVER/TOOL, resource:SERVER/URI or prompt:SERVER/NAME. The catalogs are for the error.
func parseSubject(arg string, catalogs []*catalog.Catalog) (*subject, error) {
	kind, rest := engine.Tools, arg
	for _, k := range []engine.Kind{engine.Resources, engine.Prompts} {
		if after, ok := strings.CutPrefix(arg, kindWords[k]+":"); ok {
			kind, rest = k, after
		}
	}
	s, err := newSubject(kind, rest)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%q: %w", arg, err)
	case s != nil:
		return s, nil
	}
	hint := ""
	if on := serversWith(kind, rest, catalogs); len(on) > 0 {
		hint = fmt.Sprintf(" (did you mean %s?)", &subject{kind: kind, server: on[0], name: rest})
	}
	return nil, fmt.Errorf("%q: want SERVER/TOOL, resource:SERVER/URI or prompt:SERVER/NAME%s", arg, hint)
}

// newSubject returns the subject that SERVER/NAME names, or nil if there is no "/".
func newSubject(kind engine.Kind, word string) (*subject, error) {
	server, name, ok := strings.Cut(word, "/")
	if !ok {
		return nil, nil
	}
	if err := engine.CheckServerID(server); err != nil {
		return nil, err
	}
	if name == "" {
		return nil, errors.New(`there is no name behind the "/"`)
	}
	return &subject{kind: kind, server: server, name: name, tool: engine.Tool{Server: server, Name: name}}, nil
}

// names returns what a catalog lists of a kind.
func names(c *catalog.Catalog, kind engine.Kind) []string {
	switch kind {
	case engine.Resources:
		return c.Resources
	case engine.Prompts:
		return c.Prompts
	}
	list := make([]string, len(c.Tools))
	for i := range c.Tools {
		list[i] = c.Tools[i].Name
	}
	return list
}

// serversWith returns the ids of the servers that list a name.
func serversWith(kind engine.Kind, name string, catalogs []*catalog.Catalog) (ids []string) {
	for _, c := range catalogs {
		if slices.Contains(names(c, kind), name) {
			ids = append(ids, c.Server)
		}
	}
	return ids
}

// find looks the subject up in the catalogs. Without catalogs whatever it is called is taken to be there.
func (s *subject) find(catalogs []*catalog.Catalog) {
	if len(catalogs) == 0 {
		return
	}
	s.missing = true
	var ids []string
	var here *catalog.Catalog
	for _, c := range catalogs {
		ids = append(ids, c.Server)
		if c.Server == s.server {
			here = c
		}
	}
	if here != nil {
		if i := slices.Index(names(here, s.kind), s.name); i >= 0 {
			s.missing = false
			if s.kind == engine.Tools {
				s.tool = here.Tools[i]
				s.noteTwice(here)
			}
			return
		}
		for _, name := range text.Nearest(s.name, names(here, s.kind), maxSuggestions) {
			s.suggest(s.server, name)
		}
	} else {
		for _, id := range text.Nearest(s.server, ids, maxSuggestions) {
			s.suggest(id, s.name)
		}
	}
	for _, id := range serversWith(s.kind, s.name, catalogs) {
		s.suggest(id, s.name)
	}
}

// noteTwice says where a server lists the tool more than once.
func (s *subject) noteTwice(c *catalog.Catalog) {
	n := 0
	for i := range c.Tools {
		if c.Tools[i].Name == s.name {
			n++
		}
	}
	if n > 1 {
		s.note("The server lists this tool %d times: a hub shows none of them. Explained is the first.", n)
	}
}

// maxSuggestions bounds what is suggested: more is a list to search, and the catalogs are one already.
const maxSuggestions = 3

func (s *subject) suggest(server, name string) {
	other := &subject{kind: s.kind, server: server, name: name}
	if word := other.String(); len(s.suggestions) < maxSuggestions && !slices.Contains(s.suggestions, word) {
		s.suggestions = append(s.suggestions, word)
	}
}

// asGiven stands in for the fingerprint of a tool of which no definition is known, where it is taken to be the one that
// was approved.
const asGiven = engine.Fingerprint("as given")

// approve sets the baseline of req, and notes what is taken for granted.
func (s *subject) approve(req *engine.Request, flags *explainFlags, catalogs []*catalog.Catalog) {
	if s.kind != engine.Tools {
		return
	}
	unknown := len(catalogs) == 0 || s.missing
	switch {
	case flags.allNew:
		s.note("--new: no tool is approved.")
	case req.Approved != nil:
		s.note("The baseline is %s.", flags.baseline)
		if approved, known := req.Approved.Lookup(s.tool.Target()); known && unknown {
			s.tool.Fingerprint = approved
			s.note("No catalog has the tool's definition: it is taken to be the one that was approved.")
		}
	case len(catalogs) > 0:
		req.Approved = catalog.Baseline(catalogs)
		s.note("No --baseline: the catalogs are their own baseline.")
	default:
		s.tool.Fingerprint = asGiven
		req.Approved = engine.NewBaseline(map[engine.Target]engine.Fingerprint{s.tool.Target(): asGiven})
		s.note("No catalog and no --baseline: the tool counts as approved as it is; --new says otherwise.")
	}
	if unknown && flags.annotations == "" {
		s.note("No catalog has the tool: it is taken to have no hints; --annotations gives some.")
	}
}

func (s *subject) note(format string, args ...any) {
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}
