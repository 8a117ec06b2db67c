package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/fuzz"
)

// The two views: one whose filter is static, one whose filter asks functions, too.
const (
	agents = "agents"
	staff  = "staff"
)

// config is one configuration: what views and baseline were made of, for the reference, and what they became.
type config struct {
	number   int
	policy   *fuzz.Policy // of both views
	filters  map[string]*fuzz.Filter
	compiled *engine.Policy
	engine   engine.Config
	compile  time.Duration // what compiling took
}

// newConfig draws and compiles the configuration of a number.
func (h *hub) newConfig(number int) (*config, error) {
	a := author{h: h, r: h.o.random(streamConfig, number), used: map[string]bool{}}
	c := &config{number: number, policy: a.policy()}
	c.filters = map[string]*fuzz.Filter{agents: a.filter(false), staff: a.filter(true)}
	started := time.Now()
	compiled, err := c.policy.Compile()
	if err != nil {
		return nil, err
	}
	views := map[string]engine.View{}
	for name, f := range c.filters {
		filter, err := f.Compile()
		if err != nil {
			return nil, err
		}
		views[name] = engine.View{Filter: filter, Policy: compiled}
	}
	c.compile = time.Since(started)
	c.compiled = compiled
	c.engine = engine.Config{Views: views, Baseline: h.baseline(number)}
	return c, nil
}

// author writes rules about the tools of a hub.
type author struct {
	h    *hub
	r    *rand.Rand
	used map[string]bool
}

// policy writes a policy: 60 % of the rules name one tool, 20 % begin a name on one server, 10 % begin one on any
// server, and 10 % are a part of one on any server. One rule in eight of those that match loosely is written in
// another spelling. The dynamic rules come on top, at random places.
func (a *author) policy() *fuzz.Policy {
	p := &fuzz.Policy{AllowNewTools: a.r.IntN(2) == 0, NoPins: a.r.IntN(8) == 0}
	if a.r.IntN(2) == 0 {
		p.Default = "deny"
	}
	for range len(a.h.servers) / 4 {
		p.Trusted.IDs = append(p.Trusted.IDs, a.server().id)
	}
	lists := []*[]fuzz.Rule{&p.Deny, &p.Ask, &p.Allow}
	for i := range a.h.o.rules {
		list := [10]int{0, 0, 0, 1, 1, 1, 2, 2, 2, 2}[a.r.IntN(10)]
		r := a.static(i%10, list < 2)
		if a.r.IntN(20) == 0 {
			r = fuzz.Rule{Form: fuzz.Named, ID: fmt.Sprintf("rule-%d", i), Rules: []fuzz.Rule{r}}
		}
		*lists[list] = append(*lists[list], r)
	}
	for i := range a.h.o.dynamic {
		l := lists[a.r.IntN(3)]
		*l = slices.Insert(*l, a.r.IntN(len(*l)+1), a.dynamic(i))
	}
	return p
}

// static writes one static rule; shape is 0 to 9.
func (a *author) static(shape int, loose bool) fuzz.Rule {
	for tries := 0; ; tries++ {
		s := a.server()
		name := a.name(s)
		words := tokens(name)
		var p string
		switch {
		case len(words) == 0:
			continue
		case shape < 6:
			p = s.id + "/" + name
		case shape < 8:
			p = s.id + "/" + name[:min(len(name), 3+a.r.IntN(8))] + "*"
		case shape < 9:
			p = "*/" + name[:min(len(name), 6+a.r.IntN(8))] + "*"
		default:
			p = "*/*" + a.h.words[a.r.IntN(len(a.h.words))] + "_" + words[len(words)-1] + "*"
			if i := a.r.IntN(len(words)); i > 0 {
				p = "*/*" + words[i-1] + "_" + words[i] + "*"
			}
		}
		if loose && a.r.IntN(8) == 0 {
			p = respell(p)
		}
		if a.used[p] && tries < 100 {
			continue
		}
		a.used[p] = true
		return fuzz.Rule{Form: fuzz.Pattern, Text: p}
	}
}

// respell writes a pattern in another spelling.
func respell(p string) string {
	return strings.ToUpper(strings.NewReplacer("_", "-", "-", ".").Replace(p))
}

// dynamic writes one rule that only a call can decide, every kind in turn.
func (a *author) dynamic(i int) fuzz.Rule {
	s := a.server()
	name := a.name(s)
	about := fuzz.Rule{Form: fuzz.Pattern, Text: s.id + "/" + name[:min(len(name), 1+a.r.IntN(4))] + "*"}
	if i%5 == 0 {
		about.Text = "*/" + name[:min(len(name), 4)] + "*"
	}
	arg := func(key, op string, value any) fuzz.Rule {
		return fuzz.Rule{Form: fuzz.Args, Keys: []fuzz.Key{{Key: key, Conds: []fuzz.Cond{{Op: op, Value: value}}}}}
	}
	conditions := []fuzz.Rule{
		arg("path", "inside", "/etc"),
		arg("mode", "in", []any{"write", "admin"}),
		{Form: fuzz.Tainted, Ignore: []string{"inbox"}},
		{Form: fuzz.Attribute, Keys: []fuzz.Key{{Key: "groups", Conds: []fuzz.Cond{{Op: "contains", Value: "admins"}}}}},
		{Form: fuzz.Predicate, Text: "hide_attribute"},
		{Form: fuzz.Predicate, Text: "args_yes"},
		{Form: fuzz.Predicate, Text: "server_is_" + s.id},
		{Form: fuzz.Annotation, Text: "read_only", Want: true},
		{Form: fuzz.Regexp, Kind: fuzz.Tool, Server: "*", Text: "(?i)" + tokens(name)[0]},
		{Form: fuzz.Predicate, Text: "panic"},
	}
	rules := []fuzz.Rule{about, conditions[i%len(conditions)]}
	if i%3 == 0 {
		rules = append(rules, conditions[a.r.IntN(len(conditions)-1)])
	}
	return fuzz.Rule{Form: fuzz.All, Rules: rules}
}

// filter writes a filter that shows most of nine servers in ten.
func (a *author) filter(functions bool) *fuzz.Filter {
	f := &fuzz.Filter{}
	for i := range a.h.o.filters {
		f.Exclude = append(f.Exclude, a.static(i%10, true))
	}
	for i, s := range a.h.servers {
		if a.r.IntN(10) > 0 || i == 0 {
			f.Include = append(f.Include, fuzz.Rule{Form: fuzz.Pattern, Text: s.id + "/*"})
		}
	}
	if functions {
		f.Exclude = append(f.Exclude, fuzz.Rule{Form: fuzz.Predicate, Text: "hide_attribute"})
		f.Include = append(f.Include, fuzz.Rule{Form: fuzz.Predicate, Text: "server_is_" + a.server().id})
	}
	return f
}

func (a *author) server() *server { return &a.h.servers[a.r.IntN(len(a.h.servers))] }

// name draws a name of a server: mostly one that it has.
func (a *author) name(s *server) string {
	list := s.usual
	if a.r.IntN(8) == 0 || len(list) == 0 {
		list = s.absent
	}
	return list[a.r.IntN(len(list))]
}
