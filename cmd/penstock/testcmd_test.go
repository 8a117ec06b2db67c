package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/penstock-mcp/penstock/cmd/penstock/internal/catalog"
	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/policyfile"
)

// The tests of the policies in testdata/policies pass, and every rule decides in one of them.
func TestPoliciesPassTheirTests(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := run([]string{"test", "-v", "--fail-uncovered", testdata + "policytests"}, nil, &stdout, &stderr); code != exitOK {
		t.Fatalf("exit code %d\n%s%s", code, stdout.String(), stderr.String())
	}
	if n := strings.Count(stdout.String(), "\n  ok    "); n < 70 {
		t.Errorf("%d tests: not much of a test\n%s", n, stdout.String())
	}
	tested := 0
	for _, file := range policyNames(t) {
		if _, err := os.Stat(filepath.Join(testdata, "policytests", strings.TrimSuffix(file, ".yaml")+".test.yaml")); err != nil {
			t.Error(err)
		}
		tested++
	}
	if tested < 4 {
		t.Errorf("%d policies", tested)
	}
}

// A change of a policy that matters is noticed: a test of it fails, and the exit code says so.
func TestTestsNoticeThatAPolicyChanged(t *testing.T) {
	for _, change := range []struct{ from, to string }{
		{"delet|destroy", "destroy"},
		{`"sentry-mcp-server/execute_sentry_tool"`, `"sentry-mcp-server/execute_sentry"`},
		{"default: ask", "default: deny"},
		{`regexp: "^(count|describe|get|list|read|search|show)($|[_.A-Z-])"`, `regexp: "^[a-z]"`},
		{"- github-github-mcp-server", "- nobody"},
	} {
		policy, err := os.ReadFile(testdata + "policies/team.yaml")
		if err != nil {
			t.Fatal(err)
		}
		changed := strings.Replace(string(policy), change.from, change.to, 1)
		if changed == string(policy) {
			t.Errorf("the policy has no %s", change.from)
			continue
		}
		catalogs, err := filepath.Abs(testdata + "catalogs")
		if err != nil {
			t.Fatal(err)
		}
		tests, err := os.ReadFile(testdata + "policytests/team.test.yaml")
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		file := filepath.Join(dir, "team.test.yaml")
		moved := strings.NewReplacer("../policies/", "", "[../catalogs]", "["+catalogs+"]").Replace(string(tests))
		for name, text := range map[string]string{file: moved, filepath.Join(dir, "team.yaml"): changed} {
			if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		var stdout, stderr bytes.Buffer
		if code := run([]string{"test", file}, nil, &stdout, &stderr); code != exitFindings {
			t.Errorf("%q in place of %q: exit code %d\n%s%s", change.to, change.from, code, stdout.String(), stderr.String())
		}
	}
}

func TestJUnitIsXMLWhateverTheNamesAre(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"p.yaml":      "version: 1\n",
		"t.test.yaml": "version: 1\npolicy: p.yaml\ncases:\n  - {name: \"a\\u0001<b>]]>\\e[31m\", tool: \"fs/\\e[31m</failure>\", expect: allow}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var stdout, stderr bytes.Buffer
	if code := run([]string{"test", "--format", "junit", filepath.Join(dir, "t.test.yaml")}, nil, &stdout, &stderr); code != exitFindings {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	if strings.Contains(stdout.String(), "\x1b") || strings.Contains(stdout.String(), "\x01") {
		t.Errorf("%q", stdout.String())
	}
	dec, elements := xml.NewDecoder(&stdout), 0
	for {
		token, err := dec.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := token.(xml.StartElement); ok {
			elements++
		}
	}
	if elements != 4 {
		t.Errorf("%d elements, want 4", elements)
	}
}

// FuzzTestFile reads anything as a file of tests: it is refused, every fault with its place, or holds tests that can run.
func FuzzTestFile(f *testing.F) {
	for _, pattern := range []string{testdata + "policytests/*.yaml", testdata + "scripts/test*.txtar"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatal(files, err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			if filepath.Ext(file) != ".txtar" {
				f.Add(data)
				continue
			}
			for _, part := range txtar.Parse(data).Files {
				if strings.Contains(part.Name, ".test.") {
					f.Add(part.Data)
				}
			}
		}
	}
	catalogs := []*catalog.Catalog{{Server: "fs", Tools: []engine.Tool{{Server: "fs", Name: "x"}}, Resources: []string{"file:///x"}}}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := parseSuite("t.test.yaml", data)
		if err != nil {
			var all *policyfile.Error
			if !errors.As(err, &all) || len(all.Entries) == 0 {
				t.Fatalf("%T: %v", err, err)
			}
			for _, e := range all.Entries {
				if e.Position.Line == 0 || !strings.HasPrefix(e.Error(), "t.test.yaml:") {
					t.Errorf("a fault without a place: %v", e)
				}
			}
			return
		}
		if len(s.tests) == 0 || s.policy == "" {
			t.Fatalf("taken, and there is nothing to run: %q", data)
		}
		doc, err := policyfile.Parse([]byte("version: 1"), policyfile.Options{})
		if err != nil {
			t.Fatal(err)
		}
		tested := &testedPolicy{doc: doc, covered: newCoverage(doc)}
		if tested.filter, tested.policy, err = doc.Compile(); err != nil {
			t.Fatal(err)
		}
		at := &setting{suite: s, policy: tested, catalogs: catalogs}
		results, err := at.run()
		if err == nil && len(results) != len(s.tests) {
			t.Errorf("%d results of %d tests", len(results), len(s.tests))
		}
		report := &testReport{suites: []suiteResult{{at, results}}, policies: []*testedPolicy{tested}, flags: &testFlags{verbose: true, failUncovered: true}}
		report.print(&printer{columns: 40})
		if err := errors.Join(report.writeJSON(io.Discard), report.writeJUnit(io.Discard)); err != nil {
			t.Error(err)
		}
	})
}
