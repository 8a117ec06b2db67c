package hub

import (
	"regexp"
	"strings"
	"testing"

	"github.com/penstock-mcp/penstock/engine"
)

func TestExposedNames(t *testing.T) {
	long := strings.Repeat("x", 60)
	for _, c := range []struct {
		server, tool, want string // a want that ends in "*" is of a hashed name
	}{
		{"fs", "read", "fs__read"},
		{"my-fs", "read_file", "my-fs__read_file"},
		{"a_b", "c", "a_b__c"},
		{"a", "b_c", "a__b_c"},
		{"a", "_b", "a___b"},
		{"a_", "b", "a___b_h*"},
		{"a__b", "c", "a__b__c_h*"},
		{"fs", "a.b", "fs__a_b_h*"},
		{"fs", "a/b", "fs__a_b_h*"},
		{"fs.x", "a", "fs_x__a_h*"},
		{"fs", "äöü", "fs______h*"},
		{"fs", "", "fs___h*"},
		{"fs", long, "fs__" + long},
		{"fs", long + "y", "fs__" + long[:42] + "_h*"},
		{"fs", "x_h0123456789abcdef", "fs__x_h0123456789abcdef_h*"},
	} {
		got := ExposedName(engine.Target{Server: c.server, Name: c.tool})
		want, hashed := strings.CutSuffix(c.want, "*")
		if hashed != looksHashed(got) || !strings.HasPrefix(got, want) || !hashed && got != want || len(got) > maxName {
			t.Errorf("%q %q: %s, want %s", c.server, c.tool, got, c.want)
		}
	}
}

// Where two targets would share a name neither has one, whatever the order.
func TestCollidingNamesAreLost(t *testing.T) {
	a, b, c, d := engine.Target{Server: "a"}, engine.Target{Server: "b"}, engine.Target{Server: "c"}, engine.Target{Server: "d"}
	same := func(t engine.Target) string {
		if t == d {
			return "other"
		}
		return "same"
	}
	for _, order := range [][]engine.Target{{a, b, c, d}, {d, c, a, b, a, c}, {b, a, d, a, b, c}} {
		n := newNames(order, same)
		if _, ok := n.Target("same"); ok || n.Len() != 1 || len(n.Lost()) != 3 {
			t.Errorf("%v: %d names, lost %v", order, n.Len(), n.Lost())
		}
		if got, ok := n.Target("other"); !ok || got != d {
			t.Errorf("%v", got)
		}
	}
	if _, err := NamesOf(map[string]engine.Target{"x": a, "y": a}); err == nil {
		t.Error("a target with two names")
	}
	var none *Names
	if _, ok := none.Exposed(a); ok || none.Len() != 0 {
		t.Error("nil is not empty")
	}
}

var wellFormed = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// FuzzNames: names are well formed, different, found again, and the same in every table.
func FuzzNames(f *testing.F) {
	f.Add("a_b", "c", "a", "b_c")
	f.Add("a", "_b", "a_", "b")
	f.Add("a", "b__c", "a__b", "c")
	f.Add("fs", "x_h0123456789abcdef", "fs", "x")
	f.Add("a.b", "c", "a_b", "c")
	f.Add("a", "\xff", "a", "\xfe")
	f.Fuzz(func(t *testing.T, s1, t1, s2, t2 string) {
		x, y := engine.Target{Server: s1, Name: t1}, engine.Target{Server: s2, Name: t2}
		n := NewNames([]engine.Target{x, y, x})
		if len(n.Lost()) != 0 {
			t.Fatalf("lost %v", n.Lost())
		}
		for _, target := range []engine.Target{x, y} {
			e, ok := n.Exposed(target)
			back, found := n.Target(e)
			if !ok || !found || back != target || !wellFormed.MatchString(e) || e != ExposedName(target) {
				t.Fatalf("%v: %q, back %v", target, e, back)
			}
		}
		if ex, ey := ExposedName(x), ExposedName(y); (ex == ey) != (x == y) {
			t.Fatalf("%v and %v are %q and %q", x, y, ex, ey)
		}
		// Made to look like the name of another: plain and hashed names stay apart.
		e := ExposedName(x)
		if server, tool, ok := strings.Cut(e, "__"); ok {
			if z := (engine.Target{Server: server, Name: tool}); z != x && ExposedName(z) == e {
				t.Fatalf("%v took the name of %v", z, x)
			}
		}
	})
}
