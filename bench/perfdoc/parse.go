package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/penstock-mcp/penstock/bench"
)

// results are the benchmarks of all parts, in the order they were first seen.
type results struct {
	names   []string
	metrics map[string]map[string][]float64 // by name and unit: a value for each run
	heads   map[string]map[string]string    // by part: what its file says of itself
	left    []string                        // what was left out, as the output says
}

// read adds the output of one part. A benchmark that failed, and an output without any, is an error.
func (r *results) read(part, text string) error {
	if r.metrics == nil {
		r.metrics, r.heads = make(map[string]map[string][]float64), make(map[string]map[string]string)
	}
	head := make(map[string]string)
	r.heads[part] = head
	found := 0
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "# "):
			if key, value, ok := strings.Cut(line[2:], ": "); ok {
				head[key] = value
			}
		case strings.HasPrefix(line, "cpu: "):
			head["cpu"] = line[len("cpu: "):]
		case strings.HasPrefix(line, "--- FAIL"), strings.HasPrefix(line, "FAIL"), strings.HasPrefix(line, "panic:"):
			return fmt.Errorf("it failed: %s", line)
		case strings.HasPrefix(line, "Benchmark"):
			name, rest, _ := strings.Cut(line, " ")
			if strings.Contains(line, ": left out: ") {
				r.left = append(r.left, strings.TrimPrefix(line, "Benchmark"))
				continue
			}
			ok, err := r.add(strings.TrimPrefix(name, "Benchmark"), strings.Fields(rest))
			if err != nil {
				return fmt.Errorf("%q: %w", line, err)
			}
			if ok {
				found++
			}
		}
	}
	if found == 0 {
		return fmt.Errorf("no benchmark in it")
	}
	return nil
}

// add adds the values of one line: the number of operations, then values and units in turn.
func (r *results) add(name string, fields []string) (bool, error) {
	name = strings.TrimRight(name, "\t")
	if len(fields) < 3 || len(fields)%2 == 0 {
		return false, nil // a name alone: its log follows
	}
	if r.metrics[name] == nil {
		r.names = append(r.names, name)
		r.metrics[name] = make(map[string][]float64)
	}
	for i := 1; i < len(fields); i += 2 {
		v, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			return false, err
		}
		r.metrics[name][fields[i+1]] = append(r.metrics[name][fields[i+1]], v)
	}
	return true, nil
}

// median returns the median of one metric of one benchmark, and whether there is one.
func (r *results) median(name, unit string) (float64, bool) {
	values := slices.Clone(r.metrics[name][unit])
	return bench.Median(values), len(values) > 0
}

// units returns the units of a benchmark beside the usual ones, sorted.
func (r *results) units(name string) []string {
	var out []string
	for _, u := range slices.Sorted(maps.Keys(r.metrics[name])) {
		switch u {
		case "ns/op", "B/op", "allocs/op":
		default:
			out = append(out, u)
		}
	}
	return out
}
