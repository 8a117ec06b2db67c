package main

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
)

// point is one measurement of BenchmarkScale.
type point struct {
	tools, rules float64
	name         string
}

var sizePattern = regexp.MustCompile(`^Scale/tools=(\d+)/rules=(\d+)$`)

// points returns the measurements of BenchmarkScale: those to fit to, and the largest, to be predicted.
func points(r *results) (fit []point, largest *point) {
	var all []point
	for _, name := range r.names {
		m := sizePattern.FindStringSubmatch(name)
		if m == nil {
			continue
		}
		tools, err1 := strconv.ParseFloat(m[1], 64)
		rules, err2 := strconv.ParseFloat(m[2], 64)
		if err1 == nil && err2 == nil {
			all = append(all, point{tools, rules, name})
		}
	}
	for _, p := range all {
		if p.tools >= 1e6 {
			largest = &p
		} else {
			fit = append(fit, p)
		}
	}
	return fit, largest
}

// A model says what a metric depends on: a sum of features, each times a coefficient.
type model struct {
	title, unit string
	features    []feature
	log         bool // the logarithm of the metric is the sum: a power law
}

type feature struct {
	label string
	of    func(p point) float64
}

var (
	one      = feature{"1", func(point) float64 { return 1 }}
	perTool  = feature{"tool", func(p point) float64 { return p.tools }}
	perRule  = feature{"rule", func(p point) float64 { return p.rules }}
	toolLog  = feature{"tool·log₂ rules", func(p point) float64 { return p.tools * math.Log2(p.rules) }}
	logRules = feature{"ln rules", func(p point) float64 { return math.Log(p.rules) }}
)

// models are the cost model.
var models = []model{
	{title: "compiling a policy", unit: "compile-ns", features: []feature{one, perRule}},
	{title: "heap of a policy", unit: "policy-B", features: []feature{one, perRule}},
	{title: "refreshing all tools", unit: "refresh-ns", features: []feature{one, perTool, toolLog}},
	{title: "heap of the tools", unit: "tools-B", features: []feature{one, perTool, perRule}},
	{title: "deciding an unseen call", unit: "unseen-ns", features: []feature{one, logRules}, log: true},
}

// fitted is a model with its coefficients.
type fitted struct {
	model
	coefficients []float64
}

// fit finds the coefficients by least squares of the relative error, so that small sizes count as much as large ones.
func (m model) fit(r *results, points []point) (*fitted, error) {
	n := len(m.features)
	a, b := make([][]float64, n), make([]float64, n)
	for i := range a {
		a[i] = make([]float64, n)
	}
	used := 0
	for _, p := range points {
		y, ok := r.median(p.name, m.unit)
		if !ok || y <= 0 {
			continue
		}
		used++
		weight := 1 / (y * y)
		if m.log {
			y, weight = math.Log(y), 1
		}
		for i := range n {
			for j := range n {
				a[i][j] += weight * m.features[i].of(p) * m.features[j].of(p)
			}
			b[i] += weight * m.features[i].of(p) * y
		}
	}
	if used < n {
		return nil, fmt.Errorf("%s: %d measurements for %d coefficients", m.title, used, n)
	}
	x, err := solve(a, b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.title, err)
	}
	return &fitted{m, x}, nil
}

// at returns what the model predicts.
func (f *fitted) at(p point) float64 {
	sum := 0.0
	for i, c := range f.coefficients {
		sum += c * f.features[i].of(p)
	}
	if f.log {
		return math.Exp(sum)
	}
	return sum
}

// String writes the model as a formula.
func (f *fitted) String() string {
	if f.log {
		return fmt.Sprintf("%s · rules^%.2f", number(math.Exp(f.coefficients[0])), f.coefficients[1])
	}
	s := ""
	for i, c := range f.coefficients {
		sign := ""
		switch {
		case i > 0 && c < 0:
			sign = " − "
		case i > 0:
			sign = " + "
		case c < 0:
			sign = "−"
		}
		s += sign + number(math.Abs(c))
		if f.features[i].label != "1" {
			s += " · " + f.features[i].label
		}
	}
	return s
}

// solve solves a·x = b by elimination. It changes both.
func solve(a [][]float64, b []float64) ([]float64, error) {
	n := len(b)
	for c := range n {
		best := c
		for r := c; r < n; r++ {
			if math.Abs(a[r][c]) > math.Abs(a[best][c]) {
				best = r
			}
		}
		if a[best][c] == 0 {
			return nil, fmt.Errorf("the measurements do not tell the coefficients apart")
		}
		a[c], a[best], b[c], b[best] = a[best], a[c], b[best], b[c]
		for r := c + 1; r < n; r++ {
			f := a[r][c] / a[c][c]
			for k := c; k < n; k++ {
				a[r][k] -= f * a[c][k]
			}
			b[r] -= f * b[c]
		}
	}
	x := make([]float64, n)
	for c := n - 1; c >= 0; c-- {
		x[c] = b[c]
		for k := c + 1; k < n; k++ {
			x[c] -= a[c][k] * x[k]
		}
		x[c] /= a[c][c]
	}
	return x, nil
}
