package peers

import (
	"regexp"
	"slices"
	"strings"

	"github.com/penstock-mcp/penstock/bench"
)

// regexps is package regexp with one alternation for each of three kinds of rule, sorted, so that the parser can share
// what alternatives begin with. The server and the tool are joined by '/', which no server id holds. It cannot say
// which rule matched, and looseness needs the names folded.
type regexps struct {
	server *regexp.Regexp // literals and prefixes of one server, on "server/tool"
	any    *regexp.Regexp // prefixes on any server, on the tool
	infix  *regexp.Regexp
}

func newRegexps(rules []bench.Rule, loose bool) (*regexps, error) {
	var server, anyServer, infix []string
	for _, r := range spelled(rules, loose) {
		switch text := regexp.QuoteMeta(r.Text); r.Shape {
		case bench.Literal:
			server = append(server, regexp.QuoteMeta(r.Server)+"/"+text+"$")
		case bench.ServerPrefix:
			server = append(server, regexp.QuoteMeta(r.Server)+"/"+text)
		case bench.AnyPrefix:
			anyServer = append(anyServer, text)
		default:
			infix = append(infix, text)
		}
	}
	var out regexps
	for _, c := range []struct {
		to           **regexp.Regexp
		before       string
		alternatives []string
	}{{&out.server, "^", server}, {&out.any, "^", anyServer}, {&out.infix, "", infix}} {
		if len(c.alternatives) == 0 {
			continue
		}
		slices.Sort(c.alternatives)
		re, err := regexp.Compile(c.before + "(?:" + strings.Join(c.alternatives, "|") + ")")
		if err != nil {
			return nil, err
		}
		*c.to = re
	}
	return &out, nil
}

func (m *regexps) match(server, tool string) bool {
	return m.server != nil && m.server.MatchString(server+"/"+tool) ||
		m.any != nil && m.any.MatchString(tool) ||
		m.infix != nil && m.infix.MatchString(tool)
}
