package main

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/fuzz"
)

// hub is what the simulated hub stands before: its servers and the tools they can have. It is made from the sizes and
// the seed alone, and so are the tools of each server in each of its versions and each configuration: whoever knows
// the numbers can make them again, which is how answers are checked.
type hub struct {
	o       options
	servers []server
	index   map[string]int // of a server, by its id
	words   []string       // tokens of names, as often as they stand in the catalogs
}

// server is one server and the names of its tools.
type server struct {
	id     string
	usual  []string // what it has in nearly every version
	spare  []string // what it has now and then
	absent []string // what it never has
}

// The streams of random numbers, so that a change of one draw leaves the others as they are.
const (
	streamHub uint64 = iota
	streamTools
	streamApproved
	streamConfig
	streamReader
	streamWriter
	streamCheck
)

// random returns the numbers of a stream and whatever else tells them apart.
func (o options) random(stream uint64, n ...int) *rand.Rand {
	h := o.seed
	for _, i := range n {
		h = h*0x9e3779b97f4a7c15 + uint64(i) + 1
	}
	return rand.New(rand.NewPCG(stream, h))
}

const spares = 10 // more names of each server: of those it has now and then, and of those it never has

// newHub draws the servers: each begins with the tools of a real one and is filled up with those of others.
func newHub(o options) *hub {
	h := &hub{o: o, index: map[string]int{}}
	r := o.random(streamHub)
	catalogs := realServers()
	var all []string
	for _, c := range catalogs {
		all = append(all, c.tools...)
		for _, name := range c.tools {
			h.words = append(h.words, tokens(name)...)
		}
	}
	r.Shuffle(len(catalogs), func(i, j int) { catalogs[i], catalogs[j] = catalogs[j], catalogs[i] })
	for i := range o.servers {
		c := catalogs[i%len(catalogs)]
		s := server{id: c.id}
		if n := i / len(catalogs); n > 0 {
			s.id = fmt.Sprintf("%s-%d", c.id, n+1)
		}
		many := (i+1)*o.tools/o.servers - i*o.tools/o.servers
		own := slices.Clone(c.tools)
		r.Shuffle(len(own), func(i, j int) { own[i], own[j] = own[j], own[i] })
		taken := map[string]bool{}
		take := func(n int) (names []string) {
			for len(names) < n {
				name := all[r.IntN(len(all))]
				if len(own) > 0 {
					name, own = own[0], own[1:]
				} else if taken[name] && len(taken) > len(all)/2 {
					name = fmt.Sprintf("%s_%d", name, len(taken)) // more tools than there are names
				}
				if !taken[name] {
					taken[name] = true
					names = append(names, name)
				}
			}
			return names
		}
		s.usual, s.spare, s.absent = take(many), take(spares), take(spares)
		h.index[s.id] = i
		h.servers = append(h.servers, s)
	}
	return h
}

// hints are what servers say of a tool.
var hints = []string{"", "", "", `{"readOnlyHint":true}`, `{"readOnlyHint":false,"destructiveHint":true}`, `{"destructiveHint":false,"idempotentHint":true}`, `{"readOnlyHint":"yes"}`}

// tools returns what a server lists in one of its versions: most of its usual tools, some with another definition than
// the one that was approved, and now and then one that must go into quarantine.
func (h *hub) tools(n, version int) []fuzz.Target {
	r := h.o.random(streamTools, n, version)
	s := &h.servers[n]
	var list []fuzz.Target
	for i, name := range slices.Concat(s.usual, s.spare) {
		odds := r.IntN(100)
		if i < len(s.usual) && odds < 2 || i >= len(s.usual) && odds < 70 {
			continue
		}
		t := fuzz.Target{Kind: fuzz.Tool, Server: s.id, Name: name, Annotations: hints[r.IntN(len(hints))]}
		changed := r.IntN(100) < 4
		if hasRaw(i) {
			t.Raw = definition(name, changed)
		} else if t.Fingerprint = "approved"; changed {
			t.Fingerprint = "changed"
		}
		list = append(list, t)
	}
	switch r.IntN(8) {
	case 0:
		if len(list) > 0 {
			list = append(list, list[r.IntN(len(list))])
		}
	case 1:
		list = append(list, fuzz.Target{Kind: fuzz.Tool, Server: s.id, Name: "hidden\u200bname"})
	}
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// hasRaw reports whether the tool comes with a definition in place of a fingerprint.
func hasRaw(i int) bool { return i%10 == 7 }

func definition(name string, changed bool) string {
	text := "Works on one object."
	if changed {
		text = "Works on every object."
	}
	return fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":{"type":"object","properties":{"path":{"type":"string"}}}}`, name, text)
}

// approved returns the entries of one server in a baseline: most of its tools, as they are when they are not changed.
func (h *hub) approved(number, n int) []fuzz.Approval {
	r := h.o.random(streamApproved, number, n)
	s := &h.servers[n]
	list := []fuzz.Approval{}
	for i, name := range slices.Concat(s.usual, s.spare) {
		if r.IntN(100) < 8 {
			continue
		}
		a := fuzz.Approval{Server: s.id, Name: name, Fingerprint: "approved"}
		switch {
		case r.IntN(200) == 0:
			a.Fingerprint = ""
		case hasRaw(i):
			a.Fingerprint, a.Of = "", definition(name, false)
		}
		list = append(list, a)
	}
	return list
}

// baseline returns the baseline of all servers.
func (h *hub) baseline(number int) *engine.Baseline {
	q := fuzz.Request{Approved: []fuzz.Approval{}}
	for n := range h.servers {
		q.Approved = append(q.Approved, h.approved(number, n)...)
	}
	return q.Engine().Approved
}

// engineTools returns tools as the engine takes them.
func engineTools(targets []fuzz.Target) []engine.Tool {
	list := make([]engine.Tool, len(targets))
	for i, t := range targets {
		list[i] = *t.Tool()
	}
	return list
}

// situations are what callers come with.
var situations = []fuzz.Request{
	{HasApprover: true, Args: map[string]any{"path": "/srv/data/a", "mode": "read"}, Attributes: map[string]any{"hide": false, "groups": []any{"users"}}},
	{HasApprover: true, Args: map[string]any{"path": "/etc/passwd", "mode": "write"}, Attributes: map[string]any{"hide": false, "groups": []any{"users", "admins"}}},
	{Args: map[string]any{"path": "/srv/data/b", "mode": "admin"}, Taint: []string{"fetched-pages"}, Attributes: map[string]any{"hide": true}},
	{HasApprover: true, Args: map[string]any{"path": "/srv/../etc", "mode": "read"}, Taint: []string{}, Attributes: map[string]any{"hide": false}},
	{HasApprover: true, Taint: []string{"fetched-pages", "inbox"}, Attributes: map[string]any{"hide": false, "groups": "admins"}},
	{Args: map[string]any{"path": "/srv/data/d", "Path": "/etc"}, Attributes: map[string]any{"hide": false, "groups": []any{"admins"}}},
	{HasApprover: true, Args: map[string]any{"mode": "write"}}, // the function of the filter fails
	{Attributes: map[string]any{"hide": false}},
}

// ownBaseline is the number of the baseline that requests bring along; no configuration has it.
const ownBaseline = -1

// requests returns the situations as the engine takes them, without and with a baseline of their own.
func (h *hub) requests() (plain, own []*engine.Request) {
	base := h.baseline(ownBaseline)
	for _, q := range situations {
		plain = append(plain, q.Engine())
		req := *q.Engine()
		req.Approved = base
		own = append(own, &req)
	}
	return plain, own
}
