package peers

import (
	"github.com/gobwas/glob"

	"github.com/penstock-mcp/penstock/bench"
)

// gobwas is a loop over globs of github.com/gobwas/glob, compiled once. Servers are compared as strings, which spares
// most rules their glob; no rule of the workload has a glob for a server. Its patterns also know '?', '[' and '{', which ours take literally: they
// are quoted. It knows neither lists nor looseness: the loop around it does that.
type gobwas []gobwasRule

type gobwasRule struct {
	server string // "*" for any
	tool   *glob.Pattern
}

func newGobwas(rules []bench.Rule, loose bool) (gobwas, error) {
	out := make(gobwas, len(rules))
	for i, r := range spelled(rules, loose) {
		pattern := glob.QuoteMeta(r.Text)
		switch r.Shape {
		case bench.ServerPrefix, bench.AnyPrefix:
			pattern += "*"
		case bench.Infix:
			pattern = "*" + pattern + "*"
		}
		g, err := glob.Compile(pattern)
		if err != nil {
			return nil, err
		}
		out[i] = gobwasRule{r.Server, g}
	}
	return out, nil
}

func (g gobwas) match(server, tool string) bool {
	for i := range g {
		if r := &g[i]; (r.server == "*" || r.server == server) && r.tool.Match(tool) {
			return true
		}
	}
	return false
}
