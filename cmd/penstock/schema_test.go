package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/policyfile"
)

// The JSON Schema is held against the reader of documents here and not in policyfile, so that the root module needs no
// schema library. The documents are policyfile's own:
//
//	good.txtar    taken by both
//	bad.txtar     refused by both
//	beyond.txtar  refused by the reader for what a schema cannot say
func TestSchemaAgreesWithTheReader(t *testing.T) {
	schema := compileSchema(t)
	for _, test := range []struct {
		corpus          string
		read, validates bool
	}{
		{"good.txtar", true, true},
		{"bad.txtar", false, false},
		{"beyond.txtar", false, true},
	} {
		documents := readDocuments(t, filepath.Join("..", "..", "policyfile", "testdata", test.corpus))
		if len(documents) < 10 {
			t.Fatalf("%s has only %d documents", test.corpus, len(documents))
		}
		for name, text := range documents {
			t.Run(test.corpus+"/"+name, func(t *testing.T) {
				if err := readDocument(text); (err == nil) != test.read {
					t.Errorf("the reader says %v", err)
				}
				if err := schema.Validate(asJSONValue(t, name, text)); (err == nil) != test.validates {
					t.Errorf("the schema says %v of\n%s", err, text)
				}
			})
		}
	}
}

// Every policy that we show is valid, too.
func TestSchemaTakesOurPolicies(t *testing.T) {
	schema := compileSchema(t)
	paths, err := filepath.Glob(filepath.Join("..", "..", "testdata", "policies", "*.yaml"))
	if err != nil || len(paths) < 4 {
		t.Fatalf("%d policies, %v", len(paths), err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(asJSONValue(t, path, string(text))); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(policyfile.Schema()))
	if err != nil {
		t.Fatal(err)
	}
	const url = "policy.schema.json"
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource(url, document); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile(url)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// readDocument reads and compiles text with the predicates that the corpora use.
func readDocument(text string) error {
	yes := func(context.Context, engine.Input) (bool, error) { return true, nil }
	document, err := policyfile.Parse([]byte(text), policyfile.Options{Predicates: policyfile.Predicates{
		"business_hours": policyfile.ToolPredicate(yes),
		"args_yes":       policyfile.ArgsPredicate(yes),
	}})
	if err != nil {
		return err
	}
	_, _, err = document.Compile()
	return err
}

// asJSONValue returns what a schema validator sees of a JSON or YAML document.
func asJSONValue(t *testing.T, name, text string) any {
	t.Helper()
	if filepath.Ext(name) == ".json" {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
	var document yaml.Node
	var value any
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		t.Fatal(err)
	}
	datesAreStrings(&document)
	if err := document.Decode(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

// datesAreStrings undoes what the YAML library does to dates: in YAML 1.2, and in JSON, they are strings.
func datesAreStrings(n *yaml.Node) {
	if n.Tag == "!!timestamp" {
		n.Tag = "!!str"
	}
	for _, c := range n.Content {
		datesAreStrings(c)
	}
}

// readDocuments returns the documents of a corpus by name, without the messages that are expected of them.
func readDocuments(t *testing.T, path string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	documents := make(map[string]string)
	name := ""
	for line := range strings.Lines(string(data)) {
		if header, ok := strings.CutPrefix(line, "-- "); ok && strings.HasSuffix(header, " --\n") {
			name = strings.TrimSuffix(header, " --\n")
			continue
		}
		if !strings.HasSuffix(name, ".want") {
			documents[name] += line
		}
	}
	return documents
}
