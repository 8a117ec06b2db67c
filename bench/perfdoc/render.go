package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// page is docs/perf.md in the making.
type page struct{ strings.Builder }

func (p *page) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

func (p *page) row(cells ...string) { p.line("| %s |", strings.Join(cells, " | ")) }

func (p *page) head(cells ...string) {
	p.row(cells...)
	rule := make([]string, len(cells))
	for i := range rule {
		rule[i] = "---"
	}
	p.row(rule...)
}

// render writes the page.
func render(r *results, verdicts []verdict, notes string, skipPeers bool) string {
	var p page
	p.line("# Performance")
	p.line("")
	p.line("This page is written by `go run ./bench/perfdoc`; edit docs/perf/notes.md for the text at its end. What a number is the")
	p.line("median of, and how the ratios come about, is in the package text of `bench`: each benchmark checks its answers, then runs in")
	p.line("alternating rounds with a floor in the same process. Ratios hold; absolute times differ by half from day to day.")
	p.line("")
	p.machine(r)
	p.verdicts(verdicts)
	p.measurements(r)
	p.costModel(r)
	if !skipPeers {
		p.peers(r)
	}
	p.line("")
	p.WriteString(strings.TrimSpace(notes))
	p.line("")
	return p.String()
}

// machine says what the numbers were measured on.
func (p *page) machine(r *results) {
	p.line("## Machine")
	p.line("")
	p.head("part", "commit", "Go", "processor", "memory", "date", "raw output")
	for _, part := range parts(0, "", false) {
		h, ok := r.heads[part.name]
		if !ok {
			continue
		}
		commit := h["commit"]
		if hash, more, dirty := strings.Cut(commit, " "); len(hash) > 12 {
			commit = hash[:12]
			if dirty {
				commit += " " + more
			}
		}
		p.row(part.name, commit, h["go"], fmt.Sprintf("%s, %s of them, %s", h["cpu"], h["processors"], h["kernel"]), h["memory"],
			h["date"], fmt.Sprintf("[perf/%s.txt](perf/%s.txt)", part.name, part.name))
	}
	p.line("")
	for _, part := range parts(0, "", false) {
		if h, ok := r.heads[part.name]; ok {
			p.line("- %s: `%s`", part.name, h["command"])
		}
	}
	p.line("")
}

// verdicts holds the limits of our own benchmarks against the medians.
func (p *page) verdicts(all []verdict) {
	p.line("## Limits")
	p.line("")
	p.line("x-map is one look-up in a Go `map[struct{server, tool string}]` of the same keys, x-array an atomic load and an array")
	p.line("by id, x-copy a copy of the pointers that are kept, x-all one server by all, x-quiet the readers' 99th percentile by that")
	p.line("without a writer, decision-% the share of the engine's decision in a whole call over the bare SDK, in memory. A name that")
	p.line("ends in -2 ran on two processors, all others on one.")
	p.line("")
	p.head("benchmark", "metric", "median", "limit", "")
	for _, v := range all {
		if strings.HasPrefix(v.bench, "Peers/") {
			continue
		}
		p.verdict(v)
	}
	p.line("")
}

func (p *page) verdict(v verdict) {
	value, good := number(v.value), "holds"
	switch {
	case !v.found && v.good:
		value, good = "–", "left out: too slow"
	case !v.found:
		value, good = "not measured", "**missed**"
	case !v.good:
		good = "**missed**"
	}
	p.row(v.bench, v.unit, value, v.bound(), good)
}

// measurements lists all medians of our own benchmarks.
func (p *page) measurements(r *results) {
	p.line("## Medians")
	p.line("")
	p.head("benchmark", "time", "B/op", "allocs/op", "more")
	for _, name := range r.names {
		if strings.HasPrefix(name, "Peers/") || strings.HasPrefix(name, "Scale/") {
			continue
		}
		ns, _ := r.median(name, "ns/op")
		bytes, _ := r.median(name, "B/op")
		allocs, _ := r.median(name, "allocs/op")
		var more []string
		for _, u := range r.units(name) {
			v, _ := r.median(name, u)
			more = append(more, fmt.Sprintf("%s %s", number(v), u))
		}
		p.row(name, duration(ns), number(bytes), number(allocs), strings.Join(more, ", "))
	}
	p.line("")
}

// costModel gives the model, and what it predicts beside what was measured.
func (p *page) costModel(r *results) {
	fit, largest := points(r)
	if len(fit) == 0 {
		return
	}
	p.line("## Cost model")
	p.line("")
	p.line("Fitted by least squares of the relative error to %d sizes of BenchmarkScale, from %s tools and %s rules to %s and %s; the prediction",
		len(fit), number(fit[0].tools), number(fit[0].rules), number(fit[len(fit)-1].tools), number(fit[len(fit)-1].rules))
	p.line("for a million of both was made from those alone. The typical error is the median over the sizes of the fit.")
	p.line("")
	p.head("what", "cost", "typical error", "predicted for 1,000,000 tools and 1,000,000 rules", "measured")
	million := point{tools: 1e6, rules: 1e6}
	for _, m := range models {
		f, err := m.fit(r, fit)
		if err != nil {
			p.row(m.title, err.Error(), "", "", "")
			continue
		}
		show := duration
		formula := f.String() + " ns"
		if strings.HasSuffix(m.unit, "-B") {
			show, formula = size, f.String()+" B"
		}
		measured := "not measured"
		if largest != nil {
			if v, ok := r.median(largest.name, m.unit); ok {
				measured = show(v)
			}
		}
		p.row(m.title, formula, fmt.Sprintf("%.0f %%", 100*f.typicalError(r, fit)), show(f.at(million)), measured)
	}
	p.line("")
	p.line("### The measurements")
	p.line("")
	p.head("tools", "rules", "compile", "policy", "refresh all", "tools", "known", "unseen")
	for _, pt := range append(fit, optional(largest)...) {
		cells := []string{number(pt.tools), number(pt.rules)}
		for _, u := range []string{"compile-ns", "policy-B", "refresh-ns", "tools-B", "known-ns", "unseen-ns"} {
			v, _ := r.median(pt.name, u)
			if strings.HasSuffix(u, "-B") {
				cells = append(cells, size(v))
			} else {
				cells = append(cells, duration(v))
			}
		}
		p.row(cells...)
	}
	p.line("")
}

func optional(p *point) []point {
	if p == nil {
		return nil
	}
	return []point{*p}
}

// typicalError is the median of the relative errors.
func (f *fitted) typicalError(r *results, points []point) float64 {
	var errs []float64
	for _, p := range points {
		if y, ok := r.median(p.name, f.unit); ok && y > 0 {
			errs = append(errs, math.Abs(f.at(p)-y)/y)
		}
	}
	return median(errs)
}

// number writes a number with three digits that count.
func number(v float64) string {
	switch {
	case v == math.Trunc(v) && math.Abs(v) < 1e15:
		return thousands(strconv.FormatFloat(v, 'f', -1, 64))
	case math.Abs(v) >= 100:
		return thousands(strconv.FormatFloat(v, 'f', 0, 64))
	case math.Abs(v) < 0.001:
		return strconv.FormatFloat(v, 'g', 2, 64)
	default:
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
}

func thousands(s string) string {
	if len(s) <= 4 || strings.HasPrefix(s, "-") {
		return s
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// duration writes nanoseconds.
func duration(ns float64) string {
	switch {
	case ns < 1e3:
		return number(ns) + " ns"
	case ns < 1e6:
		return number(ns/1e3) + " µs"
	case ns < 1e9:
		return number(ns/1e6) + " ms"
	default:
		return number(ns/1e9) + " s"
	}
}

// size writes bytes.
func size(b float64) string {
	switch {
	case b < 1<<10:
		return number(math.Round(b)) + " B"
	case b < 1<<20:
		return strconv.FormatFloat(b/(1<<10), 'f', 1, 64) + " KiB"
	case b < 1<<30:
		return strconv.FormatFloat(b/(1<<20), 'f', 1, 64) + " MiB"
	default:
		return strconv.FormatFloat(b/(1<<30), 'f', 2, 64) + " GiB"
	}
}
