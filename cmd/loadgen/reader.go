package main

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/fuzz"
)

// kind is one way to ask.
type kind int

const (
	known       kind = iota // Decide, by name
	byRef                   // DecideRef
	ownBase                 // Decide, with a baseline of the request's own
	unseen                  // Evaluate, about a tool that was never refreshed
	list                    // AppendTools, where the filter is static
	listDynamic             // AppendTools, where the filter asks functions
	kinds
)

var kindNames = [kinds]string{"known", "ref", "own_baseline", "unseen", "list", "list_dynamic"}

func (k kind) isList() bool { return k == list || k == listDynamic }

// shares are the parts of the checks, in percent. What is left, and what slow kinds do not come to, goes to known.
var shares = [kinds]int{byRef: 16, ownBase: 16, unseen: 20, list: 4, listDynamic: 4}

// cycle is what a reader does in turn: batches of decisions, and single lists.
var cycle = []kind{known, byRef, known, unseen, known, ownBase, known, list}

// cyclesPerSlowList says how often the list that asks a function for each tool is asked for.
const cyclesPerSlowList = 8

const (
	maxBatch = 1024
	poolSize = 4096 // calls of each reader, a power of two
)

// reader asks in one goroutine. Calls are made beforehand.
type reader struct {
	l     *load
	rng   *rand.Rand
	calls []call
	at    int // the next of them
	views [2]string
	kept  []*engine.Tool // the buffer of lists

	answers [maxBatch]answer // of the last batch
	refs    [maxBatch]engine.Ref
	refOf   [maxBatch]int // the call of each reference, as an offset

	latency   [kinds]*hdrhistogram.Histogram
	decisions atomic.Int64
	lists     atomic.Int64
	notes     []note
	noted     [kinds]int
	shown     int64 // tools in all lists: what is thrown away unseen might not be computed
}

// call is one call that can be made in any way.
type call struct {
	call      engine.Call
	tool      engine.Tool // of a name that no server has
	unseen    engine.Call
	server    int
	situation int
}

// answer is what came back, and of which state.
type answer struct {
	s   *engine.Snapshot
	c   *config // of unseen
	d   engine.Decision
	err error
}

// note is one answer to be checked. It holds on to nothing of the engine.
type note struct {
	kind       kind
	view       string
	config     int
	generation uint64
	server     int
	name       string
	situation  int
	outcome    fuzz.Outcome
	notFound   bool     // the error was that
	names      []string // of a list: the server's part
}

func newReader(l *load, n int) *reader {
	r := &reader{l: l, rng: l.o.random(streamReader, n), views: [2]string{agents, staff}, kept: make([]*engine.Tool, 0, l.o.tools*2)}
	for i := range r.latency {
		r.latency[i] = newHistogram()
	}
	for range poolSize {
		server := r.rng.IntN(len(l.h.servers))
		s := &l.h.servers[server]
		c := call{server: server, situation: r.rng.IntN(len(situations))}
		names := s.usual
		if odds := r.rng.IntN(100); len(names) == 0 || odds < 10 {
			names = s.spare
		} else if odds < 13 {
			names = s.absent
		}
		args := situations[c.situation].Args
		// The strings are the call's own, as those of a decoded request are.
		c.call = engine.Call{Server: strings.Clone(s.id), Name: strings.Clone(names[r.rng.IntN(len(names))]), Args: args}
		c.unseen = engine.Call{Server: strings.Clone(s.id), Name: strings.Clone(s.absent[r.rng.IntN(len(s.absent))]), Args: args}
		c.tool = engine.Tool{Server: c.unseen.Server, Name: c.unseen.Name}
		r.calls = append(r.calls, c)
	}
	return r
}

// run asks until the load stops.
func (r *reader) run(started time.Time, d time.Duration) {
	r.noted = [kinds]int{}
	per := float64(r.l.o.perRound) / float64(len(r.l.readers))
	for n := 0; !r.l.stop.Load(); n++ {
		for _, k := range cycle {
			now := r.ask(k)
			r.take(k, per, now.Sub(started), d)
			if r.l.stop.Load() {
				return
			}
		}
		if n%cyclesPerSlowList == 0 {
			now := r.ask(listDynamic)
			r.take(listDynamic, per, now.Sub(started), d)
		}
	}
}

// ask asks one batch and returns when it ended. Reading the clock costs more than a decision does: it is read once for
// a batch, and what is recorded is the mean of the batch, as often as it has decisions.
func (r *reader) ask(k kind) time.Time {
	ctx, e, n := context.Background(), r.l.e, r.l.o.batch
	view := r.views[r.at&1]
	if k.isList() {
		return r.list(k)
	}
	reqs := r.l.plain
	var started time.Time
	switch k {
	case byRef:
		s := e.Snapshot()
		v := s.View(view)
		for j := range n { // where there is no such tool, the call before is made again
			ref, ok := v.Ref(r.call(j).call.Server, r.call(j).call.Name)
			if r.refs[j], r.refOf[j] = ref, j; !ok && j > 0 {
				r.refs[j], r.refOf[j] = r.refs[j-1], r.refOf[j-1]
			}
		}
		started = time.Now()
		for j := range n {
			c := r.call(r.refOf[j])
			d, err := v.DecideRef(ctx, r.refs[j], c.call.Args, reqs[c.situation])
			r.answers[j] = answer{s: s, d: d, err: err}
		}
	case unseen:
		c := r.l.current.Load()
		s := e.Snapshot()
		started = time.Now()
		for j := range n {
			call := r.call(j)
			d, err := c.compiled.Evaluate(ctx, &call.unseen, &call.tool, reqs[call.situation])
			r.answers[j] = answer{s: s, c: c, d: d, err: err}
		}
	default:
		if k == ownBase {
			reqs = r.l.own
		}
		started = time.Now()
		for j := range n {
			c := r.call(j)
			s := e.Snapshot() // as every request would
			d, err := s.View(view).Decide(ctx, &c.call, reqs[c.situation])
			r.answers[j] = answer{s: s, d: d, err: err}
		}
	}
	ended := time.Now()
	_ = r.latency[k].RecordValues(max(1, int64(ended.Sub(started))/int64(n)), int64(n))
	r.decisions.Add(int64(n))
	return ended
}

// call returns call j of the batch.
func (r *reader) call(j int) *call { return &r.calls[(r.at+j)&(poolSize-1)] }

// list asks for one list.
func (r *reader) list(k kind) time.Time {
	view := agents
	if k == listDynamic {
		view = staff
	}
	started := time.Now()
	s := r.l.e.Snapshot()
	r.kept = s.View(view).AppendTools(context.Background(), r.kept[:0], r.l.plain[r.call(0).situation])
	ended := time.Now()
	_ = r.latency[k].RecordValue(max(1, int64(ended.Sub(started))))
	r.lists.Add(1)
	r.shown += int64(len(r.kept))
	r.answers[0] = answer{s: s}
	return ended
}

// take notes down answers of the batch just asked, as many as are due by now, and moves on to other calls. What is due
// grows evenly over the round, so that every generation gets its part.
func (r *reader) take(k kind, per float64, now, d time.Duration) {
	total := per * min(1, float64(now)/float64(d))
	due := int(total * float64(shares[k]) / 100)
	if k == known { // makes up for what the others have not come to
		due = int(total)
		for other := known + 1; other < kinds; other++ {
			due -= r.noted[other]
		}
	}
	n := r.l.o.batch
	if k.isList() {
		n = 1
	}
	for first, j := r.rng.IntN(n), 0; j < n && r.noted[k] < due; j++ {
		if note, ok := r.note(k, (first+j)%n); ok {
			if r.l.o.plant != nil {
				r.l.o.plant(&note)
			}
			r.notes = append(r.notes, note)
			r.noted[k]++
		}
	}
	r.at += n
}

// note describes answer j of the batch.
func (r *reader) note(k kind, j int) (note, bool) {
	a := &r.answers[j]
	if k == byRef {
		j = r.refOf[j]
	}
	c := r.call(j)
	n := note{kind: k, view: r.views[r.at&1], generation: a.s.Generation(), server: c.server, name: c.call.Name, situation: c.situation,
		outcome: fuzz.OutcomeOf(a.d, a.err), notFound: a.err == engine.ErrNotFound}
	conf := a.c
	switch k {
	case byRef:
		if a.err == engine.ErrStale { // there was no such tool to take a reference to
			return n, false
		}
	case unseen:
		n.name = c.unseen.Name
	case list, listDynamic:
		n.view = agents
		if k == listDynamic {
			n.view = staff
		}
		n.names = r.part(r.l.h.servers[c.server].id)
	}
	if conf == nil {
		conf = r.l.configOf(a.s)
	}
	n.config = conf.number
	return n, true
}

// part returns the names of one server in the list, in the order they stand there, wherever they stand.
func (r *reader) part(server string) []string {
	names := []string{}
	last := ""
	for _, t := range r.kept {
		if t.Server < last {
			return []string{"the servers are out of order: " + last + " before " + t.Server}
		}
		last = t.Server
		if t.Server == server {
			names = append(names, t.Name)
		}
	}
	return names
}
