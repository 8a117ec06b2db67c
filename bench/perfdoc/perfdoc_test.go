package main

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const output1 = `# commit: 0123456789abcdef0123456789abcdef01234567
# go: go1.26.8 linux/amd64
cpu: A processor
BenchmarkDecide/known/rules=10         	  514072	        41.26 ns/op	         1.640 x-map	       0 B/op	       0 allocs/op
BenchmarkDecide/known/rules=10         	  514072	        40 ns/op	         1.2 x-map	       0 B/op	       0 allocs/op
BenchmarkDecide/known/rules=10         	  514072	        42 ns/op	         1.4 x-map	       0 B/op	       0 allocs/op
BenchmarkPeers/engine=casbin/rules=10000/list: left out: a list takes 9.1s
PASS
`

func TestMediansOfSeveralRuns(t *testing.T) {
	var r results
	if err := r.read("bench", output1); err != nil {
		t.Fatal(err)
	}
	if v, ok := r.median("Decide/known/rules=10", "x-map"); !ok || v != 1.4 {
		t.Errorf("got %v, %t, want 1.4", v, ok)
	}
	if r.heads["bench"]["cpu"] != "A processor" || r.heads["bench"]["go"] != "go1.26.8 linux/amd64" {
		t.Errorf("head %v", r.heads["bench"])
	}
	if !r.leftOut("Peers/engine=casbin/rules=10000/list") || r.leftOut("Peers/engine=casbin/rules=10000") {
		t.Errorf("left out: %q", r.left)
	}
}

func TestOutputThatFailedIsRefused(t *testing.T) {
	for _, bad := range []string{"", "PASS\n", output1 + "--- FAIL: BenchmarkX\n", output1 + "panic: x\n", "BenchmarkX 1 a ns/op\n"} {
		if err := new(results).read("bench", bad); err == nil {
			t.Errorf("no error for %q", bad)
		}
	}
}

// A gate that cannot fail is none: each kind of miss is planted.
func TestPlantedMissesAreFound(t *testing.T) {
	var r results
	if err := r.read("bench", output1); err != nil {
		t.Fatal(err)
	}
	const known = "Decide/known/rules=10"
	for _, c := range []struct {
		name string
		l    limit
		good bool
	}{
		{"within", limit{bench: known, unit: "x-map", max: 1.5}, true},
		{"too slow", limit{bench: known, unit: "x-map", max: 1.3}, false},
		{"not ahead", limit{bench: known, unit: "x-map", max: 1.5, least: true}, false},
		{"ahead", limit{bench: known, unit: "x-map", max: 1.4, least: true}, true},
		{"not measured", limit{bench: "Decide/known/rules=11", unit: "x-map", max: 9}, false},
		{"metric not measured", limit{bench: known, unit: "x-array", max: 9}, false},
		{"grows too fast", limit{bench: known, unit: "ns/op", max: 0.5, than: known}, false},
		{"grows", limit{bench: known, unit: "ns/op", max: 1, than: known}, true},
		{"base not measured", limit{bench: known, unit: "ns/op", max: 1, than: "Nothing"}, false},
		{"left out", limit{bench: "Peers/engine=casbin/rules=10000/list", unit: "x-ours", max: 1, least: true}, true},
	} {
		if v := judge(&r, []limit{c.l})[0]; v.good != c.good {
			t.Errorf("%s: %v is %t", c.name, v, v.good)
		}
	}
}

func TestEveryLimitHasAName(t *testing.T) {
	seen := make(map[string]bool)
	for _, l := range limits(true) {
		key := l.bench + " " + l.unit
		if l.bench == "" || l.unit == "" || l.max < 0 || seen[key+l.than] {
			t.Errorf("bad limit %+v", l)
		}
		seen[key+l.than] = true
	}
	if len(seen) < 150 {
		t.Errorf("only %d limits", len(seen))
	}
}

func TestModelFindsTheCoefficients(t *testing.T) {
	r := results{metrics: make(map[string]map[string][]float64)}
	var fit []point
	for _, tools := range []float64{10, 100, 1000} {
		for _, rules := range []float64{10, 1000, 100_000} {
			p := point{tools, rules, number(tools) + "/" + number(rules)}
			fit = append(fit, p)
			r.metrics[p.name] = map[string][]float64{
				"linear": {5 + 7*tools + 0.25*rules},
				"power":  {3 * math.Pow(rules, 0.5)},
			}
		}
	}
	linear, err := model{unit: "linear", features: []feature{one, perTool, perRule}}.fit(&r, fit)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{5, 7, 0.25} {
		if math.Abs(linear.coefficients[i]-want) > 1e-6 {
			t.Errorf("coefficient %d is %v, want %v", i, linear.coefficients[i], want)
		}
	}
	power, err := model{unit: "power", features: []feature{one, logRules}, log: true}.fit(&r, fit)
	if err != nil {
		t.Fatal(err)
	}
	if got := power.at(point{rules: 1e6}); math.Abs(got-3000) > 1e-6 {
		t.Errorf("predicted %v, want 3000", got)
	}
	if _, err := (model{unit: "nothing", features: []feature{one}}).fit(&r, fit); err == nil {
		t.Error("no error for a model without measurements")
	}
}

func TestPageIsWrittenFromWhatWasKept(t *testing.T) {
	dir := t.TempDir()
	kept := filepath.Join(dir, "perf")
	if err := os.Mkdir(kept, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"bench.txt": output1, "notes.md": "## Notes\n\nA note.\n"} {
		if err := os.WriteFile(filepath.Join(kept, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	missed, err := run(parts(1, "1s", false), "none", true, dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(missed) == 0 {
		t.Error("nothing is missed, and nearly nothing was measured")
	}
	page, err := os.ReadFile(filepath.Join(dir, "perf.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"0123456789ab", "A processor", "| Decide/known/rules=10 | x-map | 1.4 | ≤ 1.5 | holds |", "A note."} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
}
