package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/hub/gateway"
	"github.com/penstock-mcp/penstock/policyfile"
)

// What the documents show is what the program does.

// blocks returns the fenced blocks of a document that are in the given language.
func blocks(t *testing.T, file, language string) []string {
	t.Helper()
	data, err := os.ReadFile("../../" + file)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for i, part := range strings.Split("\n"+string(data), "\n```") {
		if body, ok := strings.CutPrefix(part, language+"\n"); ok && i%2 == 1 {
			all = append(all, body+"\n")
		}
	}
	if len(all) == 0 {
		t.Fatalf("%s has no %s", file, language)
	}
	return all
}

func TestPoliciesInTheDocumentsCompile(t *testing.T) {
	predicates := policyfile.Predicates{
		"business_hours": policyfile.ToolPredicate(func(context.Context, engine.Input) (bool, error) { return true, nil }),
	}
	compiled := 0
	for _, file := range []string{"README.md", "docs/semantics.md"} {
		for _, text := range blocks(t, file, "yaml") {
			if !strings.HasPrefix(text, "version:") || strings.Contains(text, "mcpServers:") {
				continue // a rule or two, or the file of a hub
			}
			doc, err := policyfile.Parse([]byte(text), policyfile.Options{File: file, Predicates: predicates})
			if err == nil {
				_, _, err = doc.Compile()
			}
			if err != nil {
				t.Error(err)
			}
			compiled++
		}
	}
	if compiled != 2 {
		t.Errorf("%d policies, want 2", compiled)
	}
}

func TestTheHubInTheReadmeLoads(t *testing.T) {
	dir := t.TempDir()
	hubs := 0
	for _, text := range blocks(t, "README.md", "yaml") {
		name := "policy.yaml"
		if strings.Contains(text, "mcpServers:") {
			name = "hub.yaml"
			hubs++
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	home := func(name string) (string, bool) { return "/home/me", name == "HOME" }
	c, err := gateway.Load(filepath.Join(dir, "hub.yaml"), gateway.LoadOptions{Getenv: home})
	if err != nil {
		t.Fatal(err)
	}
	if args := c.Servers["fs"].Args; hubs != 1 || len(args) != 3 || args[2] != "/home/me/shared" {
		t.Errorf("%d hubs, and the arguments %q", hubs, args)
	}
}

func TestRequestAndDecisionInTheDocumentAreRead(t *testing.T) {
	shown := blocks(t, "docs/semantics.md", "json")
	if len(shown) != 2 {
		t.Fatalf("%d blocks, want a request and a decision", len(shown))
	}
	rs := rulesOf(t, `
version: 1
policy:
  allow: ["fs/a", "fs/b", "fs/write"]
`)
	var out bytes.Buffer
	if err := runEval(rs, strings.NewReader(strings.ReplaceAll(shown[0], "\n", " ")+"\n"), &out); err != nil {
		t.Fatal(err, out.String())
	}
	if out.String() != shown[1] {
		t.Errorf("answer %q, the document shows %q", out.String(), shown[1])
	}
}

func TestREADMEShowsTheExample(t *testing.T) {
	example, err := os.ReadFile("../../engine/example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	for line := range strings.Lines(string(example)) {
		code.WriteString(strings.TrimLeft(line, "\t"))
	}
	for _, text := range blocks(t, "README.md", "go") {
		var flat strings.Builder
		for line := range strings.Lines(text) {
			flat.WriteString(strings.TrimLeft(line, "\t"))
		}
		if !strings.Contains(code.String(), flat.String()) {
			t.Errorf("engine/example_test.go does not have\n%s", text)
		}
	}
}

func TestREADMEShowsWhatCheckPrints(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := run([]string{"check", "-p", testdata + "policies/team.yaml", testdata + "catalogs"}, nil, &stdout, &stderr); code != exitOK {
		t.Fatal(code, stderr.String())
	}
	shown := blocks(t, "README.md", "")
	if !strings.HasSuffix(stdout.String(), shown[0]) {
		tail := stdout.String()[max(0, stdout.Len()-len(shown[0])):]
		t.Errorf("the README shows\n%s\nand it ends like this:\n%s", shown[0], tail)
	}
}
