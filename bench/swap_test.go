package bench

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/penstock-mcp/penstock/engine"
)

const (
	swapPhase = 200 * time.Millisecond // of quiet, then of churn
	swapBatch = 256                    // decisions between two readings of the clock, which cost more than one
)

// BenchmarkSwap measures readers while snapshots are replaced: one goroutine on every processor decides known calls, and
// a writer makes C snapshots a second, nineteen of twenty by refreshing a server and one by another policy. Phases of quiet
// and of churn take turns; an operation is one of each. p99-ns is the 99th percentile of a decision's time under churn, in
// batches of 256, and x-quiet that by the one of the quiet phase before: the median over the phases.
func BenchmarkSwap(b *testing.B) {
	for _, churn := range []int{20, 100, 1000} {
		b.Run(fmt.Sprintf("churn=%d", churn), func(b *testing.B) { benchSwap(b, churn) })
	}
}

func benchSwap(b *testing.B, churn int) {
	f := getFixture(b, Size{Rules: 1000, Tools: 5000, Servers: 50})
	f.check(b, "swap", func(i int) error {
		d, err := f.engine.Snapshot().View(openView).Decide(ctx, &f.known[i], f.request(i))
		return f.checkDecision(f.Known, i, d, err, false)
	})
	w := newSwapWriter(b, f)
	defer w.restore()
	var middle, slow, ratios []float64
	b.ResetTimer()
	for range b.N {
		quiet := f.readers(swapPhase, nil)
		busy := f.readers(swapPhase, func(stop <-chan struct{}) { w.churn(churn, stop) })
		middle = append(middle, percentile(busy, 50))
		slow = append(slow, percentile(busy, 99))
		ratios = append(ratios, percentile(busy, 99)/percentile(quiet, 99))
	}
	b.StopTimer()
	b.ReportMetric(Median(middle), "ns/op")
	b.ReportMetric(Median(slow), "p99-ns")
	b.ReportMetric(Median(ratios), "x-quiet")
	b.ReportMetric(float64(w.swaps.Load())/float64(b.N)/swapPhase.Seconds(), "swaps/s")
}

// readers runs a reader on every processor, and the writer beside them, and returns the time of a decision in each batch.
func (f *fixture) readers(phase time.Duration, writer func(stop <-chan struct{})) []float64 {
	var wg sync.WaitGroup
	out := make([][]float64, runtime.GOMAXPROCS(0))
	stop := make(chan struct{})
	time.AfterFunc(phase, func() { close(stop) })
	for r := range out {
		times := make([]float64, 0, 1<<18)
		wg.Go(func() {
			out[r] = f.read(r*len(f.known)/len(out), times, stop)
		})
	}
	if writer != nil {
		wg.Go(func() { writer(stop) })
	}
	wg.Wait()
	return slices.Concat(out...)
}

func (f *fixture) read(at int, times []float64, stop <-chan struct{}) []float64 {
	sum := 0
	for {
		select {
		case <-stop:
			return times
		default:
		}
		start := time.Now()
		for range swapBatch {
			d, _ := f.engine.Snapshot().View(openView).Decide(ctx, &f.known[at], f.requests[at%len(f.requests)])
			sum += int(d.Action)
			if at++; at == len(f.known) {
				at = 0
			}
		}
		times = append(times, float64(time.Since(start).Nanoseconds())/swapBatch)
		runtime.Gosched() // as a reader does that waits for its next request; else the writer would get its turn every 10 ms
	}
}

// restore leaves the fixture's engine as it was, for the benchmarks that share it.
func (w *swapWriter) restore() {
	if err := w.f.engine.Apply(w.configs[0]); err != nil {
		w.b.Fatal(err)
	}
	for _, s := range w.versions[1] {
		if _, err := w.f.engine.Refresh(s.ID, s.Tools); err != nil {
			w.b.Fatal(err)
		}
	}
}

// swapWriter makes snapshots of one fixture's engine.
type swapWriter struct {
	b        *testing.B
	f        *fixture
	versions [2][]ServerTools
	configs  [2]engine.Config
	made     int
	swaps    atomic.Int64
}

func newSwapWriter(b *testing.B, f *fixture) *swapWriter {
	w := &swapWriter{b: b, f: f, versions: [2][]ServerTools{other(f.Catalog()), f.Catalog()}}
	w.configs = [2]engine.Config{f.config(b), f.config(b)}
	second, err := engine.CompilePolicy(f.PolicyOptions())
	if err != nil {
		b.Fatal(err)
	}
	w.configs[1].Baseline = w.configs[0].Baseline
	w.configs[1].Views[openView] = engine.View{Filter: w.configs[0].Views[openView].Filter, Policy: second}
	return w
}

// churn makes as many snapshots a second until it is stopped.
func (w *swapWriter) churn(perSecond int, stop <-chan struct{}) {
	tick := time.NewTicker(time.Second / time.Duration(perSecond))
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			w.swap()
		}
	}
}

func (w *swapWriter) swap() {
	servers := len(w.versions[0])
	if w.made%20 == 19 {
		if err := w.f.engine.Apply(w.configs[w.made/20%2]); err != nil {
			w.b.Error(err)
		}
	} else {
		s := w.versions[w.made/servers%2][w.made%servers]
		if _, err := w.f.engine.Refresh(s.ID, s.Tools); err != nil {
			w.b.Error(err)
		}
	}
	w.made++
	w.swaps.Add(1)
}

func percentile(values []float64, p int) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[(len(values)-1)*p/100]
}
