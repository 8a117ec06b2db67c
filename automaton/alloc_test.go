//go:build !race

package automaton

// The race detector makes sync.Pool drop things at random, so allocations say nothing under it.

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestIndexAllocatesNothing(t *testing.T) {
	patterns := mixed(rand.New(rand.NewPCG(5, 6)), 2000, true)
	patterns = append(patterns, Pattern{Server: "pro*", Name: "a*b*c"}, Pattern{Server: "*", Re: regexp.MustCompile("(?i)^zzz|qqq$")},
		Pattern{Server: "*", Re: regexp.MustCompile("^.....z")})
	for _, mode := range []Mode{Exact, Folded} {
		x := Build(mode, patterns)
		dst := make([]int32, 0, len(patterns))
		for _, server := range []string{"server_07", "Server-07", "prod", "nobody"} {
			s := x.Server(server)
			for _, name := range []string{"get_user", "Get-User", "İ", "qqqq", "QQQQ", strings.Repeat("get_user_", 28), strings.Repeat("Get-User-", 28)} {
				got := testing.AllocsPerRun(100, func() {
					x.First(server, name)
					x.FirstBelow(server, name, 10)
					x.FirstIn(s, name)
					x.Any(server, name)
					dst = x.All(dst[:0], server, name)
					dst = x.AllIn(dst[:0], s, name)
				})
				assert.Zero(t, got, "mode %d, server %q, name %q", mode, server, name)
			}
		}
		long := strings.Repeat("get_user_", 10000)
		assert.Zero(t, testing.AllocsPerRun(10, func() { x.First("server_07", long) }), "a long name needs no copy if it is its own fold")
		assert.LessOrEqual(t, testing.AllocsPerRun(10, func() { x.First("server_07", long+"A") }), 4.0)
	}
}
