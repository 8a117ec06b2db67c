package main

import "fmt"

// A limit is what a metric of a benchmark must not exceed, or must reach.
type limit struct {
	bench, unit string
	max         float64 // where least is false
	least       bool    // max is the least value
	than        string  // a benchmark whose same metric the limit is a multiple of, if any
}

// verdict is a limit beside what was measured.
type verdict struct {
	limit
	value float64
	found bool
	good  bool
}

// String says what was measured and what was wanted.
func (v verdict) String() string {
	if !v.found {
		return fmt.Sprintf("%s: no %s measured", v.bench, v.unit)
	}
	return fmt.Sprintf("%s: %s %s, limit %s", v.bench, v.unit, number(v.value), v.bound())
}

func (l limit) bound() string {
	sign := "≤ "
	if l.least {
		sign = "≥ "
	}
	s := sign + number(l.max)
	if l.than != "" {
		s += " × " + l.than
	}
	return s
}

// limits returns the limits of the design: those of our benchmarks and, with peers, that ours is ahead of every other
// engine but for the exceptions it names.
func limits(peers bool) []limit {
	var out []limit
	upTo := func(bench, unit string, max float64) { out = append(out, limit{bench: bench, unit: unit, max: max}) }
	unseen := map[int]float64{10: 8, 100: 14, 1000: 20, 10_000: 34, 100_000: 70}
	first := map[int]float64{100: 8, 1000: 12, 10_000: 18, 100_000: 35}
	for _, rules := range []int{10, 100, 1000, 10_000, 100_000} {
		size := fmt.Sprintf("rules=%d", rules)
		upTo("Decide/known/"+size, "x-map", 1.5)
		upTo("Decide/ref/"+size, "x-array", 15)
		upTo("Decide/unseen/"+size, "x-map", unseen[rules])
		for _, way := range []string{"known/", "ref/", "unseen/"} {
			upTo("Decide/"+way+size, "allocs/op", 0)
		}
		if rules == 10 {
			continue
		}
		upTo("Match/first/"+size, "x-map", first[rules])
		upTo("Match/first/"+size, "allocs/op", 0)
		perRule := 1000.0
		if rules == 100 {
			perRule = 2000
		}
		upTo("Compile/"+size, "ns/rule", perRule)
		upTo("Compile/"+size, "B/rule", 400)
	}
	for _, size := range []string{"tools=5000/rules=10", "tools=5000/rules=1000", "tools=5000/rules=10000",
		"tools=100000/rules=1000", "tools=100000/rules=100000"} {
		upTo("Visible/"+size, "x-copy", 3)
		upTo("Visible/"+size, "allocs/op", 0)
	}
	upTo("Refresh/tools=10000/rules=10000/one", "x-all", 1.0/50)
	upTo("Refresh/tools=10000/rules=10000/one/raw", "x-all", 1.0/50)
	upTo("Refresh/tools=100000/rules=100000/one", "x-all", 1.0/50)
	upTo("Refresh/tools=100000/rules=100000/all", "ns/op", 400e6)
	for _, churn := range []string{"20", "100", "1000"} {
		upTo("Swap/churn="+churn, "x-quiet", 2)
		upTo("Swap/churn="+churn+"-2", "x-quiet", 2)
	}
	upTo("Guard/call", "decision-%", 1)
	upTo("Guard/call-2", "decision-%", 1)
	out = append(out, limit{bench: "Decide/unseen/rules=100000", unit: "ns/op", max: 10, than: "Decide/unseen/rules=100"})
	if peers {
		out = append(out, peerLimits()...)
	}
	return out
}

// peerLimits: ours is ahead everywhere, but a warm memo may be 1.25 times as fast as known, and the bucket scheme twice as
// fast as unseen at 10 rules and 1.5 times at 100.
func peerLimits() []limit {
	var out []limit
	for _, e := range engines {
		for _, size := range sizes {
			known, unseen := 1.0, 1.0
			if e == "memo" {
				known = 1 / 1.25
			}
			if e == "bucket" {
				unseen = map[string]float64{"rules=10": 1.0 / 2, "rules=100": 1 / 1.5}[size]
				if unseen == 0 {
					unseen = 1
				}
			}
			name := "Peers/engine=" + e + "/" + size
			out = append(out,
				limit{bench: name, unit: "x-known", max: known, least: true},
				limit{bench: name, unit: "x-unseen", max: unseen, least: true},
				limit{bench: name + "/list", unit: "x-ours", max: 1, least: true})
		}
	}
	return out
}

// engines and sizes are those of bench/peers.
var (
	engines = []string{"memo", "bucket", "naive", "regexp", "gobwas", "cel", "cedar", "cedar-rules", "opa", "opa-data", "casbin", "casbin-cached"}
	sizes   = []string{"rules=10", "rules=100", "rules=1000", "rules=10000", "catalogs"}
)

// judge holds the medians against the limits. What was not measured is missed, unless the output says that it was left
// out for its slowness.
func judge(r *results, limits []limit) []verdict {
	out := make([]verdict, 0, len(limits))
	for _, l := range limits {
		v := verdict{limit: l}
		v.value, v.found = r.median(l.bench, l.unit)
		bound := l.max
		if l.than != "" {
			base, ok := r.median(l.than, l.unit)
			bound, v.found = bound*base, v.found && ok
		}
		switch {
		case !v.found:
			v.good = r.leftOut(l.bench)
		case l.least:
			v.good = v.value >= bound
		default:
			v.good = v.value <= bound
		}
		out = append(out, v)
	}
	return out
}
