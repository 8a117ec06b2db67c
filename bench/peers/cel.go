package peers

import (
	"fmt"
	"strconv"
	"strings"

	"cel.dev/cel-go/cel"

	"github.com/penstock-mcp/penstock/bench"
)

// celList is one expression of cel-go for a list, compiled with OptOptimize, which turns `in` on a constant list into a
// look-up in a set. Literals are joined by '/', which no server id holds, to be looked up there; the prefixes of a server
// stand behind one comparison of the server; the rest is one OR. It cannot say which rule matched, and has no notion of
// deny, ask and allow: there is a program for each. An error of an expression is the caller's to handle.
type celList struct{ program cel.Program }

func newCEL(rules []bench.Rule, loose bool) (*celList, error) {
	env, err := cel.NewEnv(cel.Variable("key", cel.StringType), cel.Variable("server", cel.StringType),
		cel.Variable("tool", cel.StringType), cel.ParserExpressionSizeLimit(1<<28), cel.ParserRecursionLimit(1<<16),
		cel.ExpressionNodeLimit(1<<24), cel.ExpressionNestingDepthLimit(1<<16))
	if err != nil {
		return nil, err
	}
	ast, issues := env.Compile(celExpression(spelled(rules, loose)))
	if issues.Err() != nil {
		return nil, issues.Err()
	}
	program, err := env.Program(ast, cel.EvalOptions(cel.OptOptimize))
	return &celList{program}, err
}

func celExpression(rules []bench.Rule) string {
	var keys, or, servers []string
	byServer := make(map[string][]string)
	for _, r := range rules {
		text := strconv.Quote(r.Text)
		switch r.Shape {
		case bench.Literal:
			keys = append(keys, strconv.Quote(r.Server+"/"+r.Text))
		case bench.ServerPrefix:
			if byServer[r.Server] == nil {
				servers = append(servers, r.Server)
			}
			byServer[r.Server] = append(byServer[r.Server], "tool.startsWith("+text+")")
		case bench.AnyPrefix:
			or = append(or, "tool.startsWith("+text+")")
		default:
			or = append(or, "tool.contains("+text+")")
		}
	}
	all := []string{"false"}
	if keys != nil {
		all = append(all, "key in ["+strings.Join(keys, ", ")+"]")
	}
	for _, s := range servers {
		all = append(all, fmt.Sprintf("server == %q && (%s)", s, strings.Join(byServer[s], " || ")))
	}
	return strings.Join(append(all, or...), " || ")
}

// celNames is the activation: it spares a map.
type celNames struct{ server, tool, key string }

func (n *celNames) ResolveName(name string) (any, bool) {
	switch name {
	case "server":
		return n.server, true
	case "tool":
		return n.tool, true
	case "key":
		return n.key, true
	default:
		return nil, false
	}
}

func (n *celNames) Parent() cel.Activation { return nil }

func (c *celList) match(server, tool string) bool {
	out, _, err := c.program.Eval(&celNames{server, tool, server + "/" + tool})
	if err != nil {
		panic(err) // the expressions have nothing that can fail
	}
	return out.Value() == true
}
