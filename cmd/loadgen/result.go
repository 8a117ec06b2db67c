package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// result is the report. Its JSON names are a contract.
type result struct {
	Seed            uint64  `json:"seed"`
	Servers         int     `json:"servers"`
	Tools           int     `json:"tools"`
	Rules           int     `json:"rules"`
	DynamicRules    int     `json:"dynamic_rules"`
	Readers         int     `json:"readers"`
	CPUs            int     `json:"cpus"`
	Go              string  `json:"go"`
	DurationSeconds float64 `json:"duration_seconds"`
	Rounds          int     `json:"rounds"`
	Interrupted     bool    `json:"interrupted"`

	Decisions          int64   `json:"decisions"`
	DecisionsPerSecond float64 `json:"decisions_per_second"`
	Lists              int64   `json:"lists"`
	ListsPerSecond     float64 `json:"lists_per_second"`

	Batch     int                `json:"batch"`
	LatencyNS map[string]latency `json:"latency_ns"` // of decisions the mean of a batch
	BuildNS   map[string]latency `json:"build_ns"`

	Generations        uint64 `json:"generations"`
	GenerationsChecked int    `json:"generations_checked"`
	Refreshes          int64  `json:"refreshes"`
	Swaps              int64  `json:"swaps"`

	Checked       int            `json:"checked"`
	CheckedByKind map[string]int `json:"checked_by_kind"`
	Answers       map[string]int `json:"answers"` // of the checked decisions, by what decided
	Mismatches    int            `json:"mismatches"`

	HeapMaxBytes   uint64   `json:"heap_max_bytes"`
	HeapLiveBytes  uint64   `json:"heap_live_bytes"` // after a collection, at the end
	HeapLiveRounds []uint64 `json:"-"`
	GCCycles       uint64   `json:"gc_cycles"`
	GCPauseNS      latency  `json:"gc_pause_ns"`

	heapMax    atomic.Uint64
	before     runtimeState
	generation uint64 // the one it began with
	wrong      []mismatch
}

// latency is a distribution in nanoseconds.
type latency struct {
	Count int64 `json:"count"`
	P50   int64 `json:"p50"`
	P90   int64 `json:"p90"`
	P99   int64 `json:"p99"`
	P999  int64 `json:"p99_9"`
	P9999 int64 `json:"p99_99"`
	Max   int64 `json:"max"`
}

func latencyOf(h *hdrhistogram.Histogram) latency {
	at := h.ValueAtQuantile
	return latency{h.TotalCount(), at(50), at(90), at(99), at(99.9), at(99.99), h.Max()}
}

// start notes what is there before the load.
func (r *result) start(l *load) {
	r.Seed, r.Servers, r.Tools, r.Rules, r.DynamicRules = l.o.seed, l.o.servers, l.o.tools, l.o.rules, l.o.dynamic
	r.Readers, r.CPUs, r.Go, r.Batch = l.o.readers, runtime.GOMAXPROCS(0), runtime.Version(), l.o.batch
	r.CheckedByKind, r.Answers = map[string]int{}, map[string]int{}
	r.generation = l.e.Snapshot().Generation()
	runtime.GC()
	r.before = readRuntime()
}

// endRound adds up the time of a round and what the runtime did in it.
func (r *result) endRound(took time.Duration) {
	r.Rounds++
	r.DurationSeconds += took.Seconds()
	r.sampleHeap()
}

// add adds up the checks of a round.
func (r *result) add(v verdict) {
	for k, n := range v.checked {
		r.CheckedByKind[kindNames[k]] += n
		r.Checked += n
	}
	for source, n := range v.answers {
		r.Answers[source] += n
	}
	r.GenerationsChecked += len(v.generations)
	r.Mismatches += len(v.wrong)
	r.wrong = append(r.wrong, v.wrong...)
}

// settle collects garbage and notes what is left.
func (r *result) settle() {
	runtime.GC()
	r.HeapLiveRounds = append(r.HeapLiveRounds, readRuntime().heap)
}

// finish fills in what is known at the end.
func (r *result) finish(l *load) {
	state := readRuntime()
	r.GCCycles = state.cycles - r.before.cycles
	r.GCPauseNS = pausesBetween(r.before.pauses, state.pauses)
	r.HeapMaxBytes = r.heapMax.Load()
	if n := len(r.HeapLiveRounds); n > 0 {
		r.HeapLiveBytes = r.HeapLiveRounds[n-1]
	}
	r.Generations = l.e.Snapshot().Generation() - r.generation
	r.LatencyNS, r.BuildNS = map[string]latency{}, map[string]latency{}
	for k := range kinds {
		all := newHistogram()
		for _, reader := range l.readers {
			all.Merge(reader.latency[k])
		}
		r.LatencyNS[kindNames[k]] = latencyOf(all)
	}
	for b := range builds {
		r.BuildNS[buildNames[b]] = latencyOf(l.builds[b])
	}
	r.Refreshes, r.Swaps = l.builds[buildRefresh].TotalCount(), l.builds[buildApply].TotalCount()
	r.Decisions, r.Lists, _ = l.counted()
	r.DecisionsPerSecond = float64(r.Decisions) / r.DurationSeconds
	r.ListsPerSecond = float64(r.Lists) / r.DurationSeconds
}

// problems says why the run fails.
func (r *result) problems(l *load) []string {
	var list []string
	for _, err := range l.failures {
		list = append(list, err.Error())
	}
	if r.Mismatches > 0 {
		list = append(list, fmt.Sprintf("%d of %d answers are not the reference's (seed %d); the first:", r.Mismatches, r.Checked, r.Seed))
		for _, m := range r.wrong[:min(len(r.wrong), shownCases)] {
			list = append(list, m.String())
		}
		return list
	}
	if r.Interrupted {
		return list
	}
	// A short run need not make all of its checks, and always has to make some.
	need := max(1, int(float64(l.o.checks)*min(1, r.DurationSeconds/longEnough.Seconds())/2))
	if r.DurationSeconds >= longEnough.Seconds() {
		need = l.o.checks
	}
	if r.Checked < need {
		list = append(list, fmt.Sprintf("%d answers were checked, and %d must be", r.Checked, need))
	}
	if r.DurationSeconds >= longEnough.Seconds() {
		for k := range kinds {
			if r.CheckedByKind[kindNames[k]] == 0 {
				list = append(list, fmt.Sprintf("no answer of kind %s was checked", kindNames[k]))
			}
		}
	}
	// A soak that keeps what it should drop shows it in what is live after each round.
	if n := len(r.HeapLiveRounds); n >= 4 {
		if first, last := r.HeapLiveRounds[1], r.HeapLiveRounds[n-1]; last > first+first/2+16<<20 {
			list = append(list, fmt.Sprintf("the live heap grew from %d MiB after the second round to %d MiB", first>>20, last>>20))
		}
	}
	return list
}

// write writes the report.
func (r *result) write(w io.Writer, asJSON bool) error {
	if asJSON {
		text, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(w, "%s\n", text)
		return err
	}
	line := func(format string, args ...any) {
		_, _ = fmt.Fprintf(w, format+"\n", args...)
	}
	line("%d servers, %d tools, %d rules and %d dynamic ones; %d readers, %d CPUs, %s, seed %d", r.Servers, r.Tools, r.Rules, r.DynamicRules, r.Readers, r.CPUs, r.Go, r.Seed)
	line("%.1f s: %.0f decisions/s, %.0f lists/s", r.DurationSeconds, r.DecisionsPerSecond, r.ListsPerSecond)
	line("")
	line("latency          p50      p90      p99    p99.9   p99.99      max      count   (of decisions the mean of %d)", r.Batch)
	row := func(name string, l latency) {
		line("%-12s %8s %8s %8s %8s %8s %8s %10d", name, short(l.P50), short(l.P90), short(l.P99), short(l.P999), short(l.P9999), short(l.Max), l.Count)
	}
	for k := range kinds {
		row(kindNames[k], r.LatencyNS[kindNames[k]])
	}
	for _, name := range buildNames {
		row(name, r.BuildNS[name])
	}
	row("GC pause", r.GCPauseNS)
	line("")
	line("%d generations after %d refreshes and %d swaps; heap %d MiB live, %d MiB at most; %d collections",
		r.Generations, r.Refreshes, r.Swaps, r.HeapLiveBytes>>20, r.HeapMaxBytes>>20, r.GCCycles)
	line("%d answers of %d generations checked, %d mismatches", r.Checked, r.GenerationsChecked, r.Mismatches)
	for k := range kinds {
		line("  %-12s %6d", kindNames[k], r.CheckedByKind[kindNames[k]])
	}
	decided := make([]string, 0, len(r.Answers))
	for _, source := range slices.Sorted(maps.Keys(r.Answers)) {
		decided = append(decided, fmt.Sprintf("%s %d", source, r.Answers[source]))
	}
	line("what decided: %s", strings.Join(decided, ", "))
	return nil
}

// short writes nanoseconds with three digits.
func short(ns int64) string {
	d := time.Duration(ns)
	for unit := time.Duration(1); unit < time.Minute; unit *= 10 {
		if d < 1000*unit {
			return d.Round(unit).String()
		}
	}
	return d.Round(time.Second).String()
}

// runtimeState is what the runtime tells without stopping the world.
type runtimeState struct {
	heap, cycles uint64
	pauses       *metrics.Float64Histogram
}

func readRuntime() runtimeState {
	samples := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/cycles/total:gc-cycles"}, {Name: "/sched/pauses/total/gc:seconds"},
	}
	metrics.Read(samples)
	return runtimeState{samples[0].Value.Uint64(), samples[1].Value.Uint64(), samples[2].Value.Float64Histogram()}
}

// sampleHeap returns the size of the heap and remembers the largest.
func (r *result) sampleHeap() uint64 {
	heap := readRuntime().heap
	for {
		most := r.heapMax.Load()
		if heap <= most || r.heapMax.CompareAndSwap(most, heap) {
			return heap
		}
	}
}

// pausesBetween is the distribution of the pauses between two readings, each counted as the upper end of its bucket.
func pausesBetween(before, after *metrics.Float64Histogram) latency {
	h := newHistogram()
	for i := range after.Counts {
		n := after.Counts[i] - before.Counts[i]
		end := after.Buckets[i+1]
		if math.IsInf(end, 1) {
			end = after.Buckets[i]
		}
		if n > 0 {
			_ = h.RecordValues(max(1, min(int64(end*1e9), int64(time.Minute))), int64(n))
		}
	}
	return latencyOf(h)
}
