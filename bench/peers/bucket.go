package peers

import (
	"strings"

	"github.com/penstock-mcp/penstock/bench"
)

// bucket is what one writes when the loop is too slow: literals in a map, prefixes by server, and loops over what is left.
// It cannot say which rule of a list comes first without keeping an index for each and looking on after a match, which is
// left out here to its advantage; patterns with several stars and regular expressions would be one more loop.
type bucket struct {
	literals map[bench.Name]struct{}
	prefixes map[string][]string // by server
	any      []string
	infixes  []string
}

func newBucket(rules []bench.Rule, loose bool) (*bucket, error) {
	b := &bucket{literals: make(map[bench.Name]struct{}), prefixes: make(map[string][]string)}
	for _, r := range spelled(rules, loose) {
		switch r.Shape {
		case bench.Literal:
			b.literals[bench.Name{Server: r.Server, Tool: r.Text}] = struct{}{}
		case bench.ServerPrefix:
			b.prefixes[r.Server] = append(b.prefixes[r.Server], r.Text)
		case bench.AnyPrefix:
			b.any = append(b.any, r.Text)
		default:
			b.infixes = append(b.infixes, r.Text)
		}
	}
	return b, nil
}

func (b *bucket) match(server, tool string) bool {
	if _, ok := b.literals[bench.Name{Server: server, Tool: tool}]; ok {
		return true
	}
	return hasPrefix(tool, b.prefixes[server]) || hasPrefix(tool, b.any) || contains(tool, b.infixes)
}

func hasPrefix(s string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

func contains(s string, infixes []string) bool {
	for _, p := range infixes {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}
