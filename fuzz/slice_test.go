package fuzz

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestASliceDecidesLikeTheWholeOfTheReference(t *testing.T) {
	g, count := FromSeed(seed(t)), &tally{}
	g.Valid = true
	var s Slicer
	count.requireAll(t, max(1200, caseCount()/8), func() {
		p, f := g.Policy(Tool), g.Filter()
		for range 4 {
			c := g.Question(p, Tool)
			if g.odds(50) {
				c.Target = g.Target(Tool, slices.Concat(f.Include, f.Exclude)...)
			}
			c.Call, c.Filter = nil, f
			whole := c.AskReference()
			c.Policy, c.Filter = s.Policy(p, c.Target.Server), s.Filter(f, c.Target.Server)
			if sliced := c.AskReference(); whole != sliced {
				t.Fatalf("whole %+v, sliced %+v\ntarget %+v\nrequest %+v\npolicy %+v\nfilter %+v", whole, sliced, c.Target, c.Request, p, f)
			}
			count.add("source %s", whole.Source)
			count.add("visible %t", whole.Visible)
			count.add("smaller %t", len(c.Policy.Deny)+len(c.Policy.Ask)+len(c.Policy.Allow) < len(p.Deny)+len(p.Ask)+len(p.Allow))
			require.True(t, s.Filter(nil, "fs") == nil && s.Policy(nil, "fs") == nil)
		}
	}, "source deny", "source ask", "source allow", "source default", "source scope", "source pin",
		"visible true", "visible false", "smaller true", "smaller false")
}
