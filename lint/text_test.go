package lint

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/penstock-mcp/penstock/engine"
)

var sample = &Report{Findings: []Finding{
	{Code: unknownServer, Severity: Warning, Position: engine.Position{File: "a,b:c%.yaml", Line: 3, Column: 7},
		Rule: "policy.deny[0]", Text: "\"x\u202e/y\"", Message: "100% of it\r\nand more.", Write: "Write \"z\".",
		Related:     []Related{{engine.Position{File: "p.yaml", Line: 4, Column: 7}, "policy.deny[1]: \"x\""}},
		MoreRelated: 2,
		Targets:     []engine.Target{{Server: "fs", Name: "a"}, {Server: "fs", Name: "b\x1b[2J, c"}}, MoreTargets: 3},
	{Code: sameName, Severity: Info, Position: engine.Position{File: "fs.json"}, Message: "m.", Write: "w.", Kind: engine.Prompts,
		Targets: []engine.Target{{Server: "fs", Name: ""}}},
	{Code: invisibleName, Severity: Error, Message: "m.", Write: "w."},
}}

func TestTextForPeople(t *testing.T) {
	want := `a,b:c%.yaml:3:7: warning PS301 unknown-server: policy.deny[0]: "x\u202e/y": 100% of it` + "\r\n" + `and more.
    Write "z".
    p.yaml:4:7: policy.deny[1]: "x"
    … and 2 more
    tools: fs/a, fs/"b\x1b[2J, c" … and 3 more
fs.json: info PS401 same-tool-name: m.
    w.
    prompt: fs/""
error PS403 invisible-character: m.
    w.
1 error, 1 warning, 1 info
`
	if got := text(t, sample); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := text(t, &Report{}); got != "no findings\n" {
		t.Errorf("an empty report: %q", got)
	}
}

func TestGitHubCommandsAreEscaped(t *testing.T) {
	var b strings.Builder
	if err := sample.WriteGitHub(&b); err != nil {
		t.Fatal(err)
	}
	want := `::warning file=a%2Cb%3Ac%25.yaml,line=3,col=7,title=PS301 unknown-server::policy.deny[0]: 100%25 of it%0D%0Aand more.` +
		`%0AWrite "z".%0Atools: fs/a, fs/"b\x1b[2J, c" … and 3 more
::notice file=fs.json,title=PS401 same-tool-name::m.%0Aw.%0Aprompt: fs/""
::error title=PS403 invisible-character::m.%0Aw.
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestJSONHasEverything(t *testing.T) {
	var b strings.Builder
	if err := sample.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Findings []map[string]any
		Counts   map[string]int
	}
	if err := json.Unmarshal([]byte(b.String()), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Findings) != 3 || got.Counts["error"] != 1 || got.Counts["warning"] != 1 || got.Counts["info"] != 1 {
		t.Fatalf("%+v", got)
	}
	f := got.Findings[0]
	for key, want := range map[string]any{"code": "PS301", "name": "unknown-server", "severity": "warning", "file": "a,b:c%.yaml",
		"line": 3.0, "column": 7.0, "rule": "policy.deny[0]", "kind": "tool", "more_related": 2.0, "more_targets": 3.0} {
		if f[key] != want {
			t.Errorf("%s: %v, want %v", key, f[key], want)
		}
	}
	if len(f["targets"].([]any)) != 2 || len(f["related"].([]any)) != 1 {
		t.Errorf("%v", f)
	}
}

func TestReportCountsBySeverity(t *testing.T) {
	for _, s := range []Severity{Info, Warning, Error} {
		if got, want := sample.Count(s), 3-int(s); got != want {
			t.Errorf("%s: %d, want %d", s, got, want)
		}
		if p, err := ParseSeverity(s.String()); p != s || err != nil {
			t.Errorf("%s: %v, %v", s, p, err)
		}
	}
	if _, err := ParseSeverity("fatal"); err == nil {
		t.Error("fatal is no severity")
	}
}

// More than a few findings that say the same are one.
func TestManyEqualFindingsAreJoined(t *testing.T) {
	var b strings.Builder
	b.WriteString("policy:\n  deny:\n    - \"*\"\n")
	for range 30 {
		b.WriteString("    - fs/a\n")
	}
	report := look(t, situation{policy: b.String()})
	found := report.of(subsumedRule)
	if len(found) != 1 || len(found[0].Related) != maxRelated || found[0].MoreRelated != 30-maxRelated {
		t.Fatalf("%s", text(t, report))
	}
	if !strings.Contains(found[0].Message, "29 rules more") {
		t.Error(found[0].Message)
	}
}
