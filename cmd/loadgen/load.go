package main

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/penstock-mcp/penstock/engine"
)

// load is a hub under load. It runs in rounds: during one, readers and writers are at work and readers note down a part
// of their answers; after it all of them rest and the notes are checked. So no check is on the clock, and what has to
// be remembered to make one is dropped with the round.
type load struct {
	o       options
	h       *hub
	e       *engine.Engine
	current atomic.Pointer[config]
	history history
	plain   []*engine.Request // the situations
	own     []*engine.Request // the situations with a baseline of their own
	readers []*reader

	number int // of the newest configuration; the swapper's alone

	mu       sync.Mutex
	configs  map[*engine.Baseline]*config // by what tells a snapshot's configuration
	versions []int                        // the newest of each server
	builds   [builds]*hdrhistogram.Histogram
	failures []error // of writers

	stop   atomic.Bool
	result result
}

// build is one of the durations of writers.
type build int

const (
	buildRefresh build = iota // from the call of Refresh to its return
	buildApply
	buildCompile
	builds
)

var buildNames = [builds]string{"refresh", "apply", "compile"}

// newLoad makes the hub and brings it up: one configuration, and the first version of every server.
func newLoad(o options) (*load, error) {
	l := &load{o: o, h: newHub(o), configs: map[*engine.Baseline]*config{}, versions: make([]int, o.servers)}
	l.history.servers = make([][]entry, o.servers)
	for i := range l.builds {
		l.builds[i] = newHistogram()
	}
	l.plain, l.own = l.h.requests()
	var err error
	if l.e, err = engine.New(engine.Config{}); err != nil {
		return nil, err
	}
	if err := l.swap(); err != nil {
		return nil, err
	}
	for n := range l.h.servers {
		if err := l.refresh(n); err != nil {
			return nil, err
		}
	}
	for n := range o.readers {
		l.readers = append(l.readers, newReader(l, n))
	}
	for i := range l.builds { // what the first of everything takes is not part of the measurement
		l.builds[i].Reset()
	}
	l.result.start(l)
	return l, nil
}

// newHistogram counts nanoseconds up to a minute with three digits.
func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, int64(time.Minute), 3) }

// round lets everything run for a while.
func (l *load) round(ctx context.Context, d time.Duration, progress io.Writer) time.Duration {
	l.stop.Store(false)
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	var all sync.WaitGroup
	started := time.Now()
	for _, r := range l.readers {
		all.Go(func() { r.run(started, d) })
	}
	for w := range l.o.writers {
		all.Go(func() { l.refresher(ctx, w) })
	}
	all.Go(func() { l.swapper(ctx) })
	all.Go(func() { l.progress(ctx, started, progress) })
	<-ctx.Done()
	l.stop.Store(true)
	all.Wait()
	return time.Since(started)
}

// refresher refreshes its share of the servers. All refreshers wake up at the same time, so that writers meet.
func (l *load) refresher(ctx context.Context, w int) {
	if l.o.refreshes <= 0 {
		return
	}
	r := l.o.random(streamWriter, w, l.result.Rounds)
	tick := time.NewTicker(time.Duration(float64(l.o.writers) / l.o.refreshes * float64(time.Second)))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		share := (l.o.servers - w + l.o.writers - 1) / l.o.writers
		if share <= 0 {
			return
		}
		n := w + r.IntN(share)*l.o.writers
		if r.IntN(10) == 0 {
			l.remove(n)
		}
		if err := l.refresh(n); err != nil {
			l.fail(err)
		}
	}
}

// refresh brings up the next version of a server.
func (l *load) refresh(n int) error {
	l.mu.Lock()
	l.versions[n]++
	version := l.versions[n]
	l.mu.Unlock()
	tools := engineTools(l.h.tools(n, version))
	started := time.Now()
	report, err := l.e.Refresh(l.h.servers[n].id, tools)
	if err != nil {
		return fmt.Errorf("refresh of %s: %w", l.h.servers[n].id, err)
	}
	l.built(buildRefresh, time.Since(started))
	l.history.add(n, entry{from: report.Generation, version: version})
	return nil
}

// remove takes a server away. Which generation is the first without it, nobody says.
func (l *load) remove(n int) {
	before := l.e.Snapshot().Generation()
	l.e.Remove(l.h.servers[n].id)
	after := l.e.Snapshot().Generation()
	l.history.remove(n, before+1, after)
}

// swapper replaces the configuration.
func (l *load) swapper(ctx context.Context) {
	if l.o.swaps <= 0 {
		return
	}
	tick := time.NewTicker(time.Duration(float64(time.Second) / l.o.swaps))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := l.swap(); err != nil {
				l.fail(err)
			}
		}
	}
}

// swap brings up the next configuration.
func (l *load) swap() error {
	l.number++
	c, err := l.h.newConfig(l.number)
	if err != nil {
		return fmt.Errorf("configuration %d: %w", l.number, err)
	}
	l.mu.Lock()
	l.configs[c.engine.Baseline] = c
	l.mu.Unlock()
	started := time.Now()
	if err := l.e.Apply(c.engine); err != nil {
		return fmt.Errorf("configuration %d: %w", l.number, err)
	}
	l.built(buildApply, time.Since(started))
	l.built(buildCompile, c.compile)
	l.current.Store(c)
	return nil
}

func (l *load) built(b build, d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.builds[b].RecordValue(min(int64(d), int64(time.Minute)))
}

func (l *load) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failures = append(l.failures, err)
}

// configOf returns the configuration of a snapshot.
func (l *load) configOf(s *engine.Snapshot) *config {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.configs[s.Baseline()]
}

// forget drops whatever only the answers of the last round needed.
func (l *load) forget() {
	l.history.forget()
	current := l.current.Load()
	clear(l.configs)
	l.configs[current.engine.Baseline] = current
	for _, r := range l.readers {
		r.notes = r.notes[:0]
		clear(r.notes[:cap(r.notes)])
		clear(r.answers[:])
	}
}

// progress writes a line a second.
func (l *load) progress(ctx context.Context, started time.Time, w io.Writer) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	lastDecisions, lastLists, _ := l.counted()
	at := started
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			decisions, lists, generation := l.counted()
			seconds := now.Sub(at).Seconds()
			heap := l.result.sampleHeap()
			fmt.Fprintf(w, "%4.0fs  %6.2f M decisions/s  %7.0f lists/s  generation %d  heap %d MiB\n", time.Since(started).Seconds(),
				float64(decisions-lastDecisions)/seconds/1e6, float64(lists-lastLists)/seconds, generation, heap>>20)
			lastDecisions, lastLists, at = decisions, lists, now
		}
	}
}

// counted adds up what the readers did so far.
func (l *load) counted() (decisions, lists int64, generation uint64) {
	for _, r := range l.readers {
		decisions += r.decisions.Load()
		lists += r.lists.Load()
	}
	return decisions, lists, l.e.Snapshot().Generation()
}
