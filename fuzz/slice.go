package fuzz

// A Slicer cuts filters and policies down to the rules that can say anything about the tools of one server, for checks
// of very many answers: most rules of a large policy name one server. It asks the reference's own globs about
// every server segment, once for each pair of a segment and a server, and judges nothing else.
//
// It must not be used concurrently.
type Slicer struct {
	segments map[segmentOf]bool
}

type segmentOf struct {
	glob, server string
	loose        bool
}

// Filter returns a filter that shows the same tools of the server.
func (s *Slicer) Filter(f *Filter, server string) *Filter {
	if f == nil {
		return nil
	}
	sliced := &Filter{}
	for _, r := range f.Exclude {
		if s.canMatch(r, server, true) {
			sliced.Exclude = append(sliced.Exclude, r)
		}
	}
	for _, r := range f.Include {
		if s.canMatch(r, server, false) {
			sliced.Include = append(sliced.Include, r)
		}
	}
	if len(f.Include) > 0 && len(sliced.Include) == 0 {
		sliced.Include = f.Include[:1] // none can match, and an empty list would mean that all do
	}
	return sliced
}

// Policy returns a policy that decides alike about the tools of the server. Its rules keep the ids they had.
func (s *Slicer) Policy(p *Policy, server string) *Policy {
	if p == nil {
		return nil
	}
	sliced := *p
	sliced.Deny = s.list("deny", p.Deny, server, true)
	sliced.Ask = s.list("ask", p.Ask, server, true)
	sliced.Allow = s.list("allow", p.Allow, server, false)
	return &sliced
}

func (s *Slicer) list(name string, rules []Rule, server string, loose bool) []Rule {
	var list []Rule
	for i, r := range rules {
		if !s.canMatch(r, server, loose) {
			continue
		}
		if r.Form != Named {
			r = Rule{Form: Named, ID: r.id(name, i), Rules: []Rule{r}}
		}
		list = append(list, r)
	}
	return list
}

// canMatch reports whether a rule may match, or fail for, a tool of the server. Of an all every member has to.
func (s *Slicer) canMatch(r Rule, server string, loose bool) bool {
	switch r.Form {
	case Pattern:
		p := splitPattern(r.Text)
		return p.kind == Tool && s.segment(p.server, server, loose)
	case Regexp:
		return s.segment(r.Server, server, loose)
	case All, Named:
		for _, m := range r.Rules {
			if !s.canMatch(m, server, loose) {
				return false
			}
		}
	}
	return true
}

func (s *Slicer) segment(glob, server string, loose bool) bool {
	key := segmentOf{glob, server, loose}
	matches, ok := s.segments[key]
	if !ok {
		if s.segments == nil {
			s.segments = map[segmentOf]bool{}
		}
		matches = segment(glob, server, loose)
		s.segments[key] = matches
	}
	return matches
}
