package peers

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"

	"github.com/penstock-mcp/penstock/bench"
	"github.com/penstock-mcp/penstock/fold"
)

// opaDecider is OPA as a library, with a prepared query. There are two ways to write the rules.
//
// newOPA writes a Rego rule for each of ours, in the forms that OPA indexes: equality of server and tool, and startswith
// (since v1.21). The rules of a list are one boolean, so that the first that holds ends it. Infixes are not indexed, and
// so are one regular expression. For 400 of them a decision took 28 µs that way, 263 µs by a loop over an array and 412 µs with
// contains in a rule each.
//
// newOPAData has the rules as data, which the documentation has for what changes often: literals in nested objects, prefixes
// in arrays for strings.any_prefix_match. A change is one write to the store.
//
// Everything of our semantics can be written in Rego, by hand: deny before ask, failing predicates (with else), the rule's
// id. That the first rule is the one reported costs the early exit. Names are folded outside.
type opaDecider struct {
	query rego.PreparedEvalQuery
	store storage.Store // of newOPAData
}

const opaDecision = `
decision := "deny" if { deny } else := "ask" if { ask } else := "allow" if { allow } else := "default"
default deny := false
default ask := false
default allow := false
`

var opaTerms = map[bool]struct{ server, tool string }{true: {"input.folded_server", "input.folded"}, false: {"input.server", "input.tool"}}

func newOPA(w *bench.Workload) (Decider, error) {
	var b strings.Builder
	b.WriteString("package mcp\n" + opaDecision)
	for l := bench.Deny; l <= bench.Allow; l++ {
		name, loose := l.String(), l != bench.Allow
		in := opaTerms[loose]
		var infix []string
		for _, r := range spelled(w.Rules(l), loose) {
			text := strconv.Quote(r.Text)
			switch r.Shape {
			case bench.Literal:
				fmt.Fprintf(&b, "%s if { %s == %q; %s == %s }\n", name, in.server, r.Server, in.tool, text)
			case bench.ServerPrefix:
				fmt.Fprintf(&b, "%s if { %s == %q; startswith(%s, %s) }\n", name, in.server, r.Server, in.tool, text)
			case bench.AnyPrefix:
				fmt.Fprintf(&b, "%s if startswith(%s, %s)\n", name, in.tool, text)
			default:
				infix = append(infix, regexp.QuoteMeta(r.Text))
			}
		}
		if infix != nil {
			slices.Sort(infix)
			fmt.Fprintf(&b, "%s if regex.match(%q, %s)\n", name, strings.Join(infix, "|"), in.tool)
		}
	}
	return prepareOPA(b.String(), nil)
}

func prepareOPA(module string, store storage.Store) (*opaDecider, error) {
	options := []func(*rego.Rego){rego.Query("data.mcp.decision"), rego.Module("mcp.rego", module)}
	if store != nil {
		options = append(options, rego.Store(store))
	}
	q, err := rego.New(options...).PrepareForEval(context.Background())
	return &opaDecider{q, store}, err
}

func newOPAData(w *bench.Workload) (Decider, error) {
	data := make(map[string]any)
	var b strings.Builder
	b.WriteString("package mcp\n" + opaDecision)
	for l := bench.Deny; l <= bench.Allow; l++ {
		in := opaTerms[l != bench.Allow]
		data[l.String()] = opaData(w.Rules(l), l != bench.Allow)
		b.WriteString(opaDataRules(l.String(), l.String(), in.server, in.tool))
	}
	return prepareOPA(b.String(), opaStore(data))
}

// opaStore returns a store that holds values as evaluation needs them, so that nothing is converted when it is read.
func opaStore(data map[string]any) storage.Store {
	return inmem.NewFromObjectWithOpts(data, inmem.OptReturnASTValuesOnRead(true))
}

// opaData returns the rules of a list as data.
func opaData(rules []bench.Rule, loose bool) map[string]any {
	literal, prefix, anyServer, infix := map[string]any{}, map[string]any{}, []any{}, []string{}
	for _, r := range spelled(rules, loose) {
		switch r.Shape {
		case bench.Literal:
			if literal[r.Server] == nil {
				literal[r.Server] = map[string]any{}
			}
			literal[r.Server].(map[string]any)[r.Text] = true
		case bench.ServerPrefix:
			list, _ := prefix[r.Server].([]any)
			prefix[r.Server] = append(list, r.Text)
		case bench.AnyPrefix:
			anyServer = append(anyServer, r.Text)
		default:
			infix = append(infix, regexp.QuoteMeta(r.Text))
		}
	}
	data := map[string]any{"literal": literal, "prefix": prefix, "any": anyServer}
	if len(infix) > 0 {
		slices.Sort(infix)
		data["infix"] = strings.Join(infix, "|")
	}
	return data
}

// opaDataRules returns the rules head that try the list of the data.
func opaDataRules(head, list, server, tool string) string {
	return fmt.Sprintf(`
%[1]s if data.%[2]s.literal[%[3]s][%[4]s]
%[1]s if strings.any_prefix_match(%[4]s, data.%[2]s.prefix[%[3]s])
%[1]s if strings.any_prefix_match(%[4]s, data.%[2]s.any)
%[1]s if regex.match(data.%[2]s.infix, %[4]s)
`, head, list, server, tool)
}

var opaKeys = [4]*ast.Term{ast.InternedTerm("server"), ast.InternedTerm("tool"), ast.InternedTerm("folded_server"), ast.InternedTerm("folded")}

func (d *opaDecider) Decide(server, tool string) bench.List {
	input := ast.NewObject(
		[2]*ast.Term{opaKeys[0], ast.StringTerm(server)}, [2]*ast.Term{opaKeys[1], ast.StringTerm(tool)},
		[2]*ast.Term{opaKeys[2], ast.StringTerm(fold.String(server))}, [2]*ast.Term{opaKeys[3], ast.StringTerm(fold.String(tool))})
	results, err := d.query.Eval(context.Background(), rego.EvalParsedInput(input))
	if err != nil {
		panic(err)
	}
	switch results[0].Expressions[0].Value {
	case "deny":
		return bench.Deny
	case "ask":
		return bench.Ask
	case "allow":
		return bench.Allow
	default:
		return bench.NoRule
	}
}

// Change compiles the module again, or writes to the store.
func (d *opaDecider) Change(c Change) (Decider, error) {
	if d.store == nil {
		return newOPA(c.After)
	}
	loose := c.List != bench.Allow
	rules := spelled([]bench.Rule{c.Old, c.New}, loose)
	if rules[0].Shape != bench.Literal || rules[1].Shape != bench.Literal {
		return newOPAData(c.After)
	}
	ctx := context.Background()
	return d, storage.Txn(ctx, d.store, storage.WriteParams, func(txn storage.Transaction) error {
		path := func(r bench.Rule) storage.Path { return storage.Path{c.List.String(), "literal", r.Server, r.Text} }
		if !slices.Contains(c.After.Rules(c.List), c.Old) {
			if err := d.store.Write(ctx, txn, storage.RemoveOp, path(rules[0]), nil); err != nil {
				return err
			}
		}
		if _, err := d.store.Read(ctx, txn, path(rules[1])[:3]); storage.IsNotFound(err) {
			if err := d.store.Write(ctx, txn, storage.AddOp, path(rules[1])[:3], map[string]any{}); err != nil {
				return err
			}
		}
		return d.store.Write(ctx, txn, storage.AddOp, path(rules[1]), true)
	})
}

// opaFilter lists by one query over all tools, which are data, too.
type opaFilter struct{ query rego.PreparedEvalQuery }

func newOPAFilter(w *bench.Workload) (Lister, error) {
	tools := make([]any, len(w.Known))
	for i, n := range w.Known {
		folded := foldName(n)
		tools[i] = map[string]any{"server": n.Server, "tool": n.Tool, "folded_server": folded.Server, "folded": folded.Tool}
	}
	data := map[string]any{"tools": tools, "include": opaData(w.Include, false), "exclude": opaData(w.Exclude, true)}
	module := "package mcp\nvisible := [i | some i, t in data.tools; included(t); not excluded(t)]\n" +
		opaDataRules("excluded(t)", "exclude", "t.folded_server", "t.folded") +
		opaDataRules("included(t)", "include", "t.server", "t.tool")
	if len(w.Include) == 0 {
		module += "included(_) if true\n"
	}
	q, err := rego.New(rego.Query("data.mcp.visible"), rego.Module("mcp.rego", module), rego.Store(opaStore(data))).
		PrepareForEval(context.Background())
	return &opaFilter{q}, err
}

func (f *opaFilter) List(dst []int32) []int32 {
	results, err := f.query.Eval(context.Background())
	if err != nil {
		panic(err)
	}
	for _, v := range results[0].Expressions[0].Value.([]any) {
		n, err := v.(json.Number).Int64()
		if err != nil {
			panic(err)
		}
		dst = append(dst, int32(n))
	}
	return dst
}
