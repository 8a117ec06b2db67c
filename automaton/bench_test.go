package automaton

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"
)

var (
	verbs = []string{"get", "list", "create", "delete", "update", "search", "read", "write", "move", "merge",
		"close", "open", "run", "stop", "start", "fetch", "send", "add", "remove", "describe", "execute", "query", "set", "sync", "watch"}
	nouns = []string{"user", "repo", "issue", "file", "branch", "commit", "pull_request", "comment", "label", "team", "project",
		"workflow", "job", "log", "metric", "alert", "dashboard", "table", "row", "column", "bucket", "object", "key", "secret", "token",
		"message", "channel", "thread", "page", "block", "database", "index", "document", "folder", "event", "calendar", "contact",
		"invoice", "order", "product", "customer", "payment", "refund", "cluster", "node", "pod", "service", "volume", "image", "network"}
)

func pick(r *rand.Rand, words []string) string { return words[r.IntN(len(words))] }

func mixedServer(r *rand.Rand) string { return fmt.Sprintf("server_%02d", r.IntN(50)) }

func mixedName(r *rand.Rand) string {
	n := pick(r, verbs) + "_" + pick(r, nouns)
	for r.IntN(2) == 0 && len(n) < 40 {
		n += "_" + pick(r, nouns)
	}
	return n
}

// mixed returns patterns of the usual mix: 60 % literal, 20 % prefixes of one server, 10 % prefixes of any server, 10 %
// infixes. Where broad is false, those for any server are for less common text, so that not every name is hit.
func mixed(r *rand.Rand, n int, broad bool) []Pattern {
	patterns := make([]Pattern, n)
	rare := func(s string) string {
		if broad {
			return s
		}
		return fmt.Sprintf("%s_%c%c%d", s, 'a'+r.IntN(26), 'a'+r.IntN(26), r.IntN(100))
	}
	for i := range patterns {
		switch k := i % 10; {
		case k < 6:
			patterns[i] = Pattern{Server: mixedServer(r), Name: mixedName(r)}
		case k < 8:
			patterns[i] = Pattern{Server: mixedServer(r), Name: pick(r, verbs) + "_" + pick(r, nouns) + "_" + pick(r, nouns)[:2] + "*"}
		case k < 9:
			patterns[i] = Pattern{Server: "*", Name: rare("delete_"+pick(r, nouns)) + "*"}
		default:
			patterns[i] = Pattern{Server: "*", Name: "*" + rare(pick(r, nouns)) + "*"}
		}
	}
	r.Shuffle(n, func(i, j int) { patterns[i], patterns[j] = patterns[j], patterns[i] })
	return patterns
}

type target struct{ server, name string }

// mixedTargets returns tools of which a part is named by the patterns.
func mixedTargets(r *rand.Rand, patterns []Pattern, n int) []target {
	targets := make([]target, n)
	for i := range targets {
		targets[i] = target{mixedServer(r), mixedName(r)}
		if i%4 == 0 {
			p := patterns[r.IntN(len(patterns))]
			if p.Server != "*" && CompileGlob(p.Name).Match(p.Name) && p.Name[len(p.Name)-1] != '*' {
				targets[i] = target{p.Server, p.Name}
			}
		}
	}
	return targets
}

// floor times one look-up of the same keys in a Go map, in random order.
func floor(targets []target) float64 {
	m := make(map[target]int32, len(targets))
	for i, t := range targets {
		m[target{string([]byte(t.server)), string([]byte(t.name))}] = int32(i)
	}
	rounds := make([]time.Duration, 9) // the median, since what it is compared with is no minimum either
	for i := range rounds {
		start, sum := time.Now(), int32(0)
		for _, t := range targets {
			sum += m[t]
		}
		rounds[i] = time.Since(start)
		runtime.KeepAlive(sum)
	}
	slices.Sort(rounds)
	return float64(rounds[4].Nanoseconds()) / float64(len(targets))
}

var benchSizes = []int{100, 1000, 10000, 100000}

func benchmarkMix(b *testing.B, f func(b *testing.B, x *Index, targets []target)) {
	for _, broad := range []bool{true, false} {
		for _, n := range benchSizes {
			b.Run(fmt.Sprintf("broad=%v/rules=%d", broad, n), func(b *testing.B) {
				r := rand.New(rand.NewPCG(11, uint64(n)))
				patterns := mixed(r, n, broad)
				targets := mixedTargets(r, patterns, 5000)
				x := Build(Folded, patterns)
				hits := 0
				for _, t := range targets[:min(len(targets), 2_000_000/n)] {
					if agree(b, x, Folded, patterns, t.server, t.name) > 0 {
						hits++
					}
				}
				if hits == 0 {
					b.Fatal("no target matches")
				}
				before := floor(targets)
				f(b, x, targets)
				ns := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
				b.ReportMetric(2*ns/(before+floor(targets)), "x-map")
			})
		}
	}
}

func BenchmarkFirst(b *testing.B) {
	benchmarkMix(b, func(b *testing.B, x *Index, targets []target) {
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			t := &targets[i]
			if i++; i == len(targets) {
				i = 0
			}
			x.First(t.server, t.name)
		}
	})
}

func BenchmarkAll(b *testing.B) {
	benchmarkMix(b, func(b *testing.B, x *Index, targets []target) {
		b.ReportAllocs()
		dst := make([]int32, 0, x.Len())
		i, sum := 0, 0
		for b.Loop() {
			t := &targets[i]
			if i++; i == len(targets) {
				i = 0
			}
			dst = x.All(dst[:0], t.server, t.name)
			sum += len(dst)
		}
		b.ReportMetric(float64(sum)/float64(b.N), "matches")
	})
}

func BenchmarkBuild(b *testing.B) {
	for _, n := range benchSizes {
		b.Run(fmt.Sprintf("rules=%d", n), func(b *testing.B) {
			patterns := mixed(rand.New(rand.NewPCG(13, uint64(n))), n, false)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			kept := Build(Folded, patterns)
			runtime.GC()
			runtime.GC()
			runtime.ReadMemStats(&after)
			b.ReportAllocs()
			for b.Loop() {
				Build(Folded, patterns)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/rule")
			b.ReportMetric(float64(int64(after.HeapAlloc)-int64(before.HeapAlloc))/float64(n), "heapB/rule")
			runtime.KeepAlive(kept)
			runtime.KeepAlive(patterns)
		})
	}
}
