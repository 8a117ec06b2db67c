package bench

import (
	"runtime"
	"slices"
	"testing"
	"time"
)

// Rival is something that a benchmark is timed against.
type Rival struct {
	Unit string      // of the metric, such as "x-map"
	Run  func(n int) // does the rival's operation n times
}

const (
	lapTime   = time.Millisecond // long against a reading of the clock, short against what disturbs the machine
	maxRounds = 4096
)

// Race times run and the rivals in alternating rounds and reports ns/op, the median of run's laps, and for each rival the
// median over the rounds of run's time by the rival's, for one operation each. It returns the ns/op.
//
// A round is one lap of everybody. A lap is about a millisecond, or one operation where that is longer; run's is as long
// as the longest lap of a rival. What disturbs the machine for longer disturbs them alike, and what disturbs a few
// laps does not move a median. It also reports allocs/op and B/op, counted in one lap of run alone and rounded down, as
// package testing does.
func Race(b *testing.B, run func(n int), rivals ...Rival) float64 {
	b.Helper()
	counts := make([]int, len(rivals))
	ratios := make([][]float64, len(rivals))
	longest := time.Duration(lapTime)
	for i, r := range rivals {
		var took time.Duration
		counts[i], took = lapCount(r.Run, lapTime)
		ratios[i] = make([]float64, 0, maxRounds)
		longest = max(longest, took)
	}
	n := 1
	if b.N > 1 {
		n, _ = lapCount(run, longest)
		n = min(n, b.N)
	}
	n = max(n, b.N/maxRounds+1)
	laps := make([]float64, 0, maxRounds)

	b.ReportAllocs()
	allocs, bytes := allocations(run, min(n, b.N))
	b.ResetTimer()
	for left := b.N; left > 0; left -= n {
		own := lap(run, min(n, left))
		laps = append(laps, own)
		for i, r := range rivals {
			ratios[i] = append(ratios[i], own/lap(r.Run, counts[i]))
		}
	}
	b.StopTimer()
	median := Median(laps)
	b.ReportMetric(median, "ns/op")
	b.ReportMetric(allocs, "allocs/op")
	b.ReportMetric(bytes, "B/op")
	for i, r := range rivals {
		b.ReportMetric(Median(ratios[i]), r.Unit)
	}
	return median
}

// Compare times run and a rival in alternating rounds for about the given time, beside a race, and returns the
// nanoseconds of one of run's operations and the ratio, as [Race] does.
func Compare(run func(n int), rival func(n int), budget time.Duration) (ns, ratio float64) {
	theirs, took := lapCount(rival, lapTime)
	own := 1
	if budget > 0 {
		own, _ = lapCount(run, max(lapTime, took))
	}
	var laps, ratios []float64
	for start := time.Now(); len(laps) == 0 || len(laps) < maxRounds && time.Since(start) < budget; {
		l := lap(run, own)
		laps = append(laps, l)
		ratios = append(ratios, l/lap(rival, theirs))
	}
	return Median(laps), Median(ratios)
}

// allocations returns what one of n operations allocates.
func allocations(run func(n int), n int) (allocs, bytes float64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	run(n)
	runtime.ReadMemStats(&after)
	count := uint64(n)
	return float64((after.Mallocs - before.Mallocs) / count), float64((after.TotalAlloc - before.TotalAlloc) / count)
}

// lap returns the nanoseconds of one of n operations.
func lap(run func(n int), n int) float64 {
	start := time.Now()
	run(n)
	return float64(time.Since(start).Nanoseconds()) / float64(n)
}

// lapCount returns how many operations take about as long as a lap should, and how long they took.
func lapCount(run func(n int), want time.Duration) (int, time.Duration) {
	for n := 1; ; n *= 2 {
		start := time.Now()
		run(n)
		if took := time.Since(start); took >= want*3/4 || n >= 1<<24 {
			return n, took
		}
	}
}

// Median returns the median of values, which it sorts. That of none is zero.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
}
