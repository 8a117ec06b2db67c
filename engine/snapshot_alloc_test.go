//go:build !race

package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/penstock-mcp/penstock/engine"
)

// Under the race detector sync.Pool drops what it is given at random, which allocates.
func TestReadingAllocatesNothing(t *testing.T) {
	static := engine.View{
		Filter: compileFilter(t, engine.FilterOptions{Include: rules("s/*", "*/get_*"), Exclude: append(rules("*/*secret*"), engine.Regexp("*", regexp.MustCompile("^internal")))}),
		Policy: compilePolicy(t, engine.PolicyOptions{Deny: rules("*/delete_*"), Ask: rules("s/write*"), Allow: rules("s/read", "*/get_*")}),
	}
	dynamic := engine.View{
		Filter: compileFilter(t, engine.FilterOptions{Exclude: []engine.Rule{engine.Func("no", func(context.Context, engine.Input) (bool, error) { return false, nil })}}),
		Policy: compilePolicy(t, engine.PolicyOptions{
			Deny: []engine.Rule{
				engine.All(engine.Pattern("*/*"), engine.Tainted("docs")),
				engine.All(engine.Pattern("s/*"), engine.Arg("path", engine.Outside("/data")), engine.Arg("n", engine.In(7, "x"))),
			},
			Ask: []engine.Rule{engine.All(engine.Annotation(engine.HintReadOnly, true), engine.Arg("/list/0", engine.Equals(5)))},
			Allow: []engine.Rule{
				engine.All(engine.Pattern("s/*"), engine.Attribute("groups", engine.Contains("admins"))),
				engine.All(engine.Regexp("s", regexp.MustCompile("read")), engine.Arg("path", engine.Inside("/data"))),
			},
			AllowNewTools: true,
		}),
	}
	views := map[string]engine.View{"static": static, "dynamic": dynamic}
	e, err := engine.New(engine.Config{Views: views})
	require.NoError(t, err)
	var many []string
	for i := range 500 {
		many = append(many, fmt.Sprintf("get_%d", i))
	}
	refresh(t, e, "s", append(many, "read", "write_file", "delete_repo", "Delete-Repo", "secret_read")...)
	refresh(t, e, "é-Server", many...)

	own := engine.NewBaseline(map[engine.Target]engine.Fingerprint{{Server: "s", Name: "read"}: "f"})
	args := map[string]any{"path": "/data/x", "n": json.Number("7"), "list": []any{json.Number("5")}}
	attributes := map[string]any{"groups": []any{"users", "admins"}}
	// Every condition can answer: the error of one that cannot is made anew.
	requests := map[string]*engine.Request{
		"plain":    {HasApprover: true, Attributes: attributes},
		"tainted":  {HasApprover: true, Taint: []string{"docs", "s", "web"}, Attributes: attributes},
		"clean":    {Taint: []string{"docs"}, Attributes: attributes},
		"own base": {Approved: own, Attributes: attributes},
	}
	zero(t, "Decide for nobody", func() { _, _ = e.Snapshot().View("static").Decide(ctx, someCall, nil) })
	kept := make([]*engine.Tool, 0, 2000)
	for name, req := range requests {
		for view, parts := range views {
			v := e.Snapshot().View(view)
			for _, tool := range []string{"read", "write_file", "delete_repo", "Delete-Repo", "secret_read", "get_7", "none"} {
				call := &engine.Call{Server: "s", Name: tool, Args: args}
				what := fmt.Sprintf("%s of %s in view %s, request %s", "%s", tool, view, name)
				zero(t, fmt.Sprintf(what, "Decide"), func() { _, _ = e.Snapshot().View(view).Decide(ctx, call, req) })
				if ref, ok := v.Ref("s", tool); ok {
					zero(t, fmt.Sprintf(what, "DecideRef"), func() { _, _ = v.DecideRef(ctx, ref, args, req) })
				}
				zero(t, fmt.Sprintf(what, "Ref"), func() { _, _ = v.Ref("s", tool) })
				zero(t, fmt.Sprintf(what, "Tool"), func() { _, _ = v.Tool(ctx, "s", tool, req) })

				known := &engine.Tool{Server: "s", Name: tool, Fingerprint: "f"}
				zero(t, fmt.Sprintf(what, "Evaluate"), func() { _, _ = parts.Policy.Evaluate(ctx, call, known, req) })
				zero(t, fmt.Sprintf(what, "Visible"), func() { _ = parts.Filter.Visible(ctx, known, req) })
				zero(t, fmt.Sprintf(what, "StaticVisible"), func() { _ = parts.Filter.StaticVisible(known) })
			}
			zero(t, "AppendTools in view "+view, func() { kept = v.AppendTools(ctx, kept[:0], req) })
			require.NotEmpty(t, kept)
			zero(t, "Tools in view "+view, func() {
				for range v.Tools(ctx, req) {
				}
			})
			zero(t, "Counts in view "+view, func() { _ = v.Counts() })
			zero(t, "EvaluateResource in view "+view, func() { _, _ = v.EvaluateResource("s", "file:///x", req) })
		}
	}
}

func zero(t *testing.T, what string, f func()) {
	t.Helper()
	f() // the pool is empty the first time
	if n := testing.AllocsPerRun(50, f); n != 0 {
		t.Errorf("%s: %v allocations", what, n)
	}
}
