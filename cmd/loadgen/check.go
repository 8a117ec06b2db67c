package main

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/penstock-mcp/penstock/fuzz"
)

// checker holds notes against the reference. What it works on is made again from the numbers in the note: the
// configuration, the tools that the server had in that generation, the baseline.
type checker struct {
	l       *load
	configs map[int]*config
	slicer  fuzz.Slicer
	sliced  map[configServer]map[string]fuzz.View
	checked int
}

type configServer struct{ config, server int }

// wholeEvery says how often a note is also checked against rules that were not cut down to those about its server.
const wholeEvery = 200

// mismatch is one answer that is not the reference's.
type mismatch struct {
	note      note
	want, got string
}

// verdict is what the checks of a round came to.
type verdict struct {
	checked     [kinds]int
	generations map[uint64]bool
	answers     map[string]int // decisions, by what decided
	wrong       []mismatch
}

// check checks all notes of a round on all cores.
func (l *load) check() verdict {
	var notes []note
	for _, r := range l.readers {
		notes = append(notes, r.notes...)
	}
	configs := map[int]*config{}
	for _, c := range l.configs {
		configs[c.number] = c
	}
	// Notes of one server go to one checker, which cuts the rules down once for all of them.
	slices.SortStableFunc(notes, func(a, b note) int { return a.server - b.server })
	v := verdict{generations: map[uint64]bool{}, answers: map[string]int{}}
	for _, n := range notes {
		v.checked[n.kind]++
		if n.kind != unseen { // which does not depend on the tools
			v.generations[n.generation] = true
		}
		switch {
		case n.notFound:
			v.answers["not_found"]++
		case !n.kind.isList():
			v.answers[n.outcome.Source]++
		}
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	workers := l.o.readers
	for w := range workers {
		part := notes[w*len(notes)/workers : (w+1)*len(notes)/workers]
		all.Go(func() {
			c := checker{l: l, configs: configs, sliced: map[configServer]map[string]fuzz.View{}}
			for _, n := range part {
				want, got, ok := c.check(n)
				if !ok {
					mu.Lock()
					v.wrong = append(v.wrong, mismatch{n, want, got})
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	slices.SortFunc(v.wrong, func(a, b mismatch) int { return int(a.note.generation) - int(b.note.generation) })
	return v
}

// check compares one note with what the reference says of the state it was made in.
func (c *checker) check(n note) (want, got string, ok bool) {
	got = n.answer()
	e := c.l.history.at(n.server, n.generation)
	c.checked++
	states := []entry{e}
	if e.unsure { // the removal of the server was under way: either state is right
		states = []entry{{version: e.version}, {gone: true}}
	}
	for _, state := range states {
		want = c.reference(n, state, c.slices(n))
		if c.checked%wholeEvery == 0 {
			if whole := c.reference(n, state, c.whole(n)); whole != want {
				return whole, "the reference itself, by the rules about the server alone: " + want, false
			}
		}
		if want == got {
			return want, got, true
		}
	}
	return want, got, false
}

// answer is what came back, as text.
func (n *note) answer() string {
	switch {
	case n.kind.isList():
		return strings.Join(n.names, " ")
	case n.notFound:
		return "not found"
	}
	return fmt.Sprintf("%+v", n.outcome)
}

// reference answers the question of a note.
func (c *checker) reference(n note, state entry, views map[string]fuzz.View) string {
	s := &c.l.h.servers[n.server]
	q := situations[n.situation]
	if n.kind == ownBase {
		q.Approved = c.l.h.approved(ownBaseline, n.server)
	}
	world := fuzz.World{Views: views, Baseline: c.l.h.approved(n.config, n.server)}
	if !state.gone {
		var err error
		if world, err = world.Refresh(s.id, c.l.h.tools(n.server, state.version)); err != nil {
			return err.Error()
		}
	}
	switch {
	case n.kind.isList():
		var names []string
		for _, t := range world.List(n.view, q) {
			names = append(names, t.Name)
		}
		return strings.Join(names, " ")
	case n.kind == unseen:
		// The stateless function knows no baseline but the request's, and the request has none.
		return fmt.Sprintf("%+v", views[n.view].Policy.Decide(fuzz.Target{Kind: fuzz.Tool, Server: s.id, Name: n.name}, nil, q))
	}
	o := world.Decide(n.view, fuzz.Call{Server: s.id, Name: n.name}, q)
	if o.Refused {
		return "not found"
	}
	return fmt.Sprintf("%+v", o)
}

// whole returns the views of the note's configuration as they were written.
func (c *checker) whole(n note) map[string]fuzz.View {
	conf := c.configs[n.config]
	views := map[string]fuzz.View{}
	for name, f := range conf.filters {
		views[name] = fuzz.View{Filter: f, Policy: conf.policy}
	}
	return views
}

// slices returns the views cut down to what is about the note's server.
func (c *checker) slices(n note) map[string]fuzz.View {
	key := configServer{n.config, n.server}
	views, ok := c.sliced[key]
	if !ok {
		id := c.l.h.servers[n.server].id
		whole := c.whole(n)
		views = map[string]fuzz.View{}
		policy := c.slicer.Policy(c.configs[n.config].policy, id)
		for name, v := range whole {
			views[name] = fuzz.View{Filter: c.slicer.Filter(v.Filter, id), Policy: policy}
		}
		if len(c.sliced) > 1000 {
			clear(c.sliced)
		}
		c.sliced[key] = views
	}
	return views
}

// String describes the case, with all that is needed to make it again.
func (m mismatch) String() string {
	n := m.note
	return fmt.Sprintf("%s in view %s, generation %d, configuration %d: server %d, name %q, situation %d %+v\n  reference: %s\n     engine: %s",
		kindNames[n.kind], n.view, n.generation, n.config, n.server, n.name, n.situation, situations[n.situation], m.want, m.got)
}
