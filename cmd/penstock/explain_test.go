package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/penstock-mcp/penstock/cmd/penstock/internal/catalog"
	"github.com/penstock-mcp/penstock/cmd/penstock/internal/text"
	"github.com/penstock-mcp/penstock/engine"
)

var escapeSequence = regexp.MustCompile("\x1b\\[[0-9;]*m")

func explainTeam(t *testing.T) *explanation {
	t.Helper()
	rs, err := loadRules(testdata + "policies/all-kinds.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s, err := parseSubject("github-github-mcp-server/create_or_update_file", nil)
	if err != nil {
		t.Fatal(err)
	}
	return s.explain(rs, nil, &engine.Request{})
}

func TestExplanationFitsTheTerminal(t *testing.T) {
	for _, columns := range []int{40, 60, 80, 200} {
		p := printer{columns: columns, colour: true}
		p.explanation(explainTeam(t))
		broken := 0
		for line := range strings.Lines(p.b.String()) {
			line = strings.TrimSuffix(escapeSequence.ReplaceAllString(line, ""), "\n")
			// A word is never cut: what does not fit stands alone on its line.
			if text.Width(line) > columns && len(strings.Fields(line)) > 2 && columns >= 60 {
				t.Errorf("%d columns: %q", columns, line)
			}
			if strings.HasPrefix(line, strings.Repeat(" ", ruleIndent+7)) {
				broken++
			}
		}
		if columns < 100 && broken == 0 {
			t.Errorf("%d columns: no line was broken", columns)
		}
	}
}

func TestExplanationHasColoursOnlyWhereItMay(t *testing.T) {
	var plain, coloured printer
	coloured.colour = true
	plain.explanation(explainTeam(t))
	coloured.explanation(explainTeam(t))
	if strings.Contains(plain.b.String(), "\x1b") {
		t.Error("escape sequences without colour")
	}
	got := coloured.b.String()
	if !strings.Contains(got, "\x1b[31mtool create_or_update_file") || !strings.Contains(got, "\x1b[1m-> deny ") || !strings.Contains(got, "\x1b[2m   pin ") {
		t.Errorf("%q", got)
	}
	if escapeSequence.ReplaceAllString(got, "") != plain.b.String() {
		t.Error("colour changes the text")
	}
}

func TestExplainSaysWhatCheckSays(t *testing.T) {
	for _, file := range policyNames(t) {
		rs, err := loadRules(testdata + "policies/" + file)
		if err != nil {
			t.Fatal(err)
		}
		catalogs := allCatalogs(t)
		req := &engine.Request{HasApprover: true, Approved: catalog.Baseline(catalogs)}
		for i, o := range judgeAll(t, file, engine.Request{HasApprover: true}) {
			if i%7 != 0 {
				continue // each is explained from scratch: a seventh of 4,133 tools will do
			}
			s := &subject{server: o.tool.Server, name: o.tool.Name, tool: engine.Tool{Server: o.tool.Server, Name: o.tool.Name}}
			s.find(catalogs)
			x := s.explain(rs, nil, req)
			if x.Decision.Outcome != o.Outcome || x.Decision.RuleID() != o.RuleID() || x.Visible != o.visible || !x.Found {
				t.Errorf("%s: %s: explained as %v, checked as %v", file, s, x.Decision, o.Decision)
			}
		}
	}
}
