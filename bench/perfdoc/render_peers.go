package main

import (
	"fmt"
	"strings"

	"github.com/penstock-mcp/penstock/bench"
)

func median(values []float64) float64 { return bench.Median(values) }

// leftOut reports whether the output says that a benchmark was left out for its slowness.
func (r *results) leftOut(name string) bool {
	for _, l := range r.left {
		if strings.HasPrefix(l, name+": left out: ") || strings.HasPrefix(l, name+"-") {
			return true
		}
	}
	return false
}

// peers writes the tables of the other engines.
func (p *page) peers(r *results) {
	if _, ok := r.heads["peers"]; !ok {
		return
	}
	p.line("## Other engines")
	p.line("")
	p.line("The same rules, the same tools and the same answers, checked over the whole workload; each engine written as its own")
	p.line("documentation recommends ([bench/peers](../bench/peers)). In parentheses: how many times the time of ours on the same inputs, in")
	p.line("alternating rounds. `catalogs` is a policy of 200 rules for 91 real servers.")
	for _, t := range []struct{ title, suffix, time, ratio string }{
		{"One decision about a known tool", "", "ns/op", "x-known"},
		{"One decision about a tool that was never seen", "", "unseen-ns", "x-unseen"},
		{"A list of 5,000 tools (catalogs: 2,066)", "/list", "ns/op", "x-ours"},
		{"Compiling the policy", "/compile", "ns/op", "x-ours"},
		{"Changing one rule while a reader decides", "/reload", "ns/op", "x-ours"},
	} {
		p.peerTable(r, t.title, func(name string) string {
			ns, ok := r.median(name+t.suffix, t.time)
			ratio, _ := r.median(name+t.suffix, t.ratio)
			if !ok {
				return "–"
			}
			return fmt.Sprintf("%s (%s)", duration(ns), number(ratio))
		})
	}
	p.peerTable(r, "Allocations of one decision", func(name string) string {
		n, ok := r.median(name, "allocs/op")
		if !ok {
			return "–"
		}
		return number(n)
	})
	p.peerTable(r, "Heap of the compiled policy", func(name string) string {
		n, ok := r.median(name+"/compile", "heap-B")
		if !ok {
			return "–"
		}
		return size(n)
	})
	if len(r.left) > 0 {
		p.line("")
		p.line("Left out, since one operation takes too long:")
		p.line("")
		for _, l := range r.left {
			p.line("- %s", l)
		}
	}
	p.line("")
}

func (p *page) peerTable(r *results, title string, cell func(name string) string) {
	p.line("")
	p.line("### %s", title)
	p.line("")
	p.head(append([]string{"engine"}, sizes...)...)
	for _, e := range engines {
		row := []string{e}
		for _, s := range sizes {
			row = append(row, cell("Peers/engine="+e+"/"+s))
		}
		p.row(row...)
	}
}
