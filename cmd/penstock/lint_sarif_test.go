package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/lint"
	"github.com/penstock-mcp/penstock/policyfile"
)

// The schema is that of OASIS for SARIF 2.1.0, as the SARIF library has it in its source.
func compileSARIFSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	data, err := os.ReadFile("testdata/sarif-2.1.0.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	const url = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	if err := c.AddResource(url, document); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile(url)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func lintReal(t *testing.T, policy string) *lint.Report {
	t.Helper()
	doc, err := policyfile.Load(policy, policyfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	in := lint.Input{Document: doc}
	for _, c := range allCatalogs(t) {
		in.Servers = append(in.Servers, lint.Server{ID: c.Server, File: c.File, Tools: c.Tools, Resources: c.Resources, Prompts: c.Prompts})
	}
	report, err := lint.Run(in)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestSARIFIsValid(t *testing.T) {
	schema := compileSARIFSchema(t)
	reports := map[string]*lint.Report{"no findings": {}}
	for _, name := range []string{"all-kinds", "analyst", "production", "team"} {
		reports[name] = lintReal(t, filepath.Join(testdata, "policies", name+".yaml"))
	}
	odd := filepath.Join(t.TempDir(), "a b%20#é.yaml")
	text := "version: 1\npolicy:\n  deny: [\"*/é*\", \"*/é*\", {server: \"*\", regexp: \"\"}]\n"
	if err := os.WriteFile(odd, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	reports["odd"] = lintReal(t, odd)
	results := 0
	for name, r := range reports {
		var b bytes.Buffer
		if err := writeSARIF(&b, r); err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(b.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var doc struct {
			Runs []struct{ Results []json.RawMessage }
		}
		if err := json.Unmarshal(b.Bytes(), &doc); err != nil || len(doc.Runs) != 1 || len(doc.Runs[0].Results) != len(r.Findings) {
			t.Errorf("%s: %d findings, %v", name, len(r.Findings), err)
		}
		results += len(r.Findings)

		// The schema would say so if something were wrong.
		broken := strings.Replace(b.String(), `"version": "2.1.0"`, `"version": "2.1"`, 1)
		if value, err := jsonschema.UnmarshalJSON(strings.NewReader(broken)); err != nil || schema.Validate(value) == nil {
			t.Errorf("%s: the schema takes another version", name)
		}
	}
	if results < 10 {
		t.Errorf("%d results: the test is vacuous", results)
	}
}

func TestSARIFColumnsCountCharacters(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p.yaml")
	if err := os.WriteFile(file, []byte("a\r\nééé x\rz"), 0o600); err != nil {
		t.Fatal(err)
	}
	files := make(fileLines)
	for _, test := range []struct{ line, column, want int }{
		{1, 1, 1}, {2, 8, 5}, {3, 1, 1}, {9, 4, 4}, {2, 99, 99},
	} {
		if got := files.column(engine.Position{File: file, Line: int32(test.line), Column: int32(test.column)}); got != test.want {
			t.Errorf("%d:%d is column %d, want %d", test.line, test.column, got, test.want)
		}
	}
	if got := files.column(engine.Position{File: file + "x", Line: 1, Column: 7}); got != 7 {
		t.Errorf("column %d of a file that is gone", got)
	}
}

func TestFileURI(t *testing.T) {
	for path, want := range map[string]string{
		"p.yaml": "p.yaml", "a b/é.yaml": "a%20b/%C3%A9.yaml", "a:b.yaml": "./a:b.yaml", "/x/p.yaml": "file:///x/p.yaml", "../p.yaml": "../p.yaml",
	} {
		if got := fileURI(path); got != want {
			t.Errorf("%q is %q, want %q", path, got, want)
		}
	}
}

// The policies that we show are a model: nothing about them is wrong, and what surprises in them is meant.
func TestLintFindsNothingWrongWithTheExamplePolicies(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(testdata, "policies", "*.yaml"))
	if err != nil || len(files) < 4 {
		t.Fatalf("%d policies, %v", len(files), err)
	}
	for _, file := range files {
		r := lintReal(t, file)
		for _, f := range r.Findings {
			if f.Severity > lint.Info {
				t.Errorf("%s: %s %s: %s", f.Position, f.Severity, f.Code.ID, f.Sentence())
			}
		}
		if n := len(r.Findings); n > 10 {
			t.Errorf("%s: %d findings drown the reader", file, n)
		}
	}
}
