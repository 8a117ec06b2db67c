package automaton

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// The target is structured, so nothing in a name ends a star: no separator, no end of a line, no byte that is not UTF-8.
func TestAStarTakesEveryByte(t *testing.T) {
	hits := 0
	for _, glob := range []string{"*", "**", "x*", "*x", "x*x", "*x*", "x*x*x", "*x*y*", "xx*yy"} {
		compiled := CompileGlob(glob)
		for c := range 256 {
			one := string([]byte{byte(c)})
			for _, name := range []string{one, "x" + one, one + "x", "x" + one + "x", one + "x" + one, "x" + one + "x" + one + "x", one + "x" + one + "y" + one, "xx" + one + one + "yy"} {
				want := naiveGlob(glob, name)
				if Match(glob, name) != want || compiled.Match(name) != want {
					t.Fatalf("%q on %q: Match %v, Glob %v, want %v", glob, name, Match(glob, name), compiled.Match(name), want)
				}
				for _, p := range []Pattern{{Server: "*", Name: glob}, {Server: "s", Name: glob}} {
					for _, mode := range []Mode{Exact, Folded} {
						hits += agree(t, Build(mode, []Pattern{p}), mode, []Pattern{p}, "s", name)
					}
				}
			}
		}
	}
	assert.Greater(t, hits, 10000)
}
