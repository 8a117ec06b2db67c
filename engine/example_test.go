package engine_test

import (
	"context"
	"fmt"
	"log"
	"regexp"

	"github.com/penstock-mcp/penstock/engine"
)

// The README shows this example.
func Example() {
	filter, err := engine.CompileFilter(engine.FilterOptions{
		Exclude: []engine.Rule{engine.Pattern("*/*_internal")},
	})
	if err != nil {
		log.Fatal(err) // every bad entry, not only the first
	}
	policy, err := engine.CompilePolicy(engine.PolicyOptions{
		Deny:  []engine.Rule{engine.Named("no-deletes", engine.Regexp("*", regexp.MustCompile("delet|remov")))},
		Allow: []engine.Rule{engine.All(engine.Pattern("fs/write"), engine.Arg("path", engine.Inside("/data")))},
	})
	if err != nil {
		log.Fatal(err)
	}

	ctx := context.Background()
	for _, call := range []engine.Call{
		{Server: "fs", Name: "write", Args: map[string]any{"path": "/data/report.txt"}},
		{Server: "fs", Name: "write", Args: map[string]any{"path": "/data/../etc/passwd"}},
		{Server: "github", Name: "Delete-Repo"},
		{Server: "github", Name: "sync_internal"},
	} {
		tool := engine.Tool{Server: call.Server, Name: call.Name} // and its hints and definition, as the server sent them
		if !filter.Visible(ctx, &tool, nil) {
			fmt.Printf("%s is not found\n", call.Name)
			continue
		}
		decision, err := policy.Evaluate(ctx, &call, &tool, &engine.Request{HasApprover: true})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %v\n", call.Name, decision)
	}
	// Output:
	// write: allow by allow[0] (matched), new tool
	// write: ask by default (no_match), new tool: key "path": inside: the path has a '.' or '..' segment
	// Delete-Repo: deny by no-deletes (matched), new tool
	// sync_internal is not found
}

// The README shows this example, too.
func ExampleEngine() {
	filter, err := engine.CompileFilter(engine.FilterOptions{Exclude: []engine.Rule{engine.Pattern("*/*_internal")}})
	if err != nil {
		log.Fatal(err)
	}
	policy, err := engine.CompilePolicy(engine.PolicyOptions{Allow: []engine.Rule{engine.Pattern("fs/read")}})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	request := engine.Request{HasApprover: true}

	hub, err := engine.New(engine.Config{Views: map[string]engine.View{"agents": {Filter: filter, Policy: policy}}})
	if err != nil {
		log.Fatal(err)
	}
	report, err := hub.Refresh("fs", []engine.Tool{{Name: "read"}, {Name: "write"}, {Name: "sync_internal"}})
	if err != nil {
		log.Fatal(err) // the last list stays
	}
	fmt.Println(report.Tools, "tools,", len(report.Quarantined), "quarantined")

	view := hub.Snapshot().View("agents") // one atomic load, one consistent world for a request
	for tool := range view.Tools(ctx, &request) {
		decision, err := view.Decide(ctx, &engine.Call{Server: tool.Server, Name: tool.Name}, &request)
		if err != nil {
			log.Fatal(err) // ErrNotFound: not there, or not for this caller
		}
		fmt.Println(tool.Name, decision.Action)
	}
	_, err = view.Decide(ctx, &engine.Call{Server: "fs", Name: "sync_internal"}, &request)
	fmt.Println("sync_internal:", err)
	// Output:
	// 3 tools, 0 quarantined
	// read allow
	// write ask
	// sync_internal: tool not found
}
