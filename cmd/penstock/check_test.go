package main

import (
	"encoding/csv"
	"strings"
	"testing"

	"github.com/penstock-mcp/penstock/cmd/penstock/internal/text"
	"github.com/penstock-mcp/penstock/engine"
)

var sample = []row{
	{engine.Tools, "fs", "read", visible, engine.Decision{Outcome: engine.Outcome{Action: engine.Allow, Source: engine.SourceAllow, Reason: engine.ReasonMatched}}},
	{engine.Tools, "fs", "a_rather_long_name_of_a_tool_that_writes", hidden, engine.Decision{Outcome: engine.Outcome{Source: engine.SourceDefault, Reason: engine.ReasonNoMatch}}},
	{engine.Tools, "web", "fetch", visible, engine.Decision{Outcome: engine.Outcome{Action: engine.Ask, Source: engine.SourceDefault, Reason: engine.ReasonNoMatch}}},
}

func tableOf(t *testing.T, style tableStyle) string {
	t.Helper()
	var b strings.Builder
	if err := printTable(&b, sample, style); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTableColoursTheDecisionOnATerminal(t *testing.T) {
	got := tableOf(t, tableStyle{columns: 120, colour: true})
	for _, want := range []string{
		"\x1b[1mfs\x1b[0m\n", "  \x1b[32mallow   \x1b[0m  ", "  \x1b[31mdeny    \x1b[0m  ", "  \x1b[33mask     \x1b[0m  ",
		"  \x1b[2ma_rather_long_name_of_a_tool_that_writes\x1b[0m  ",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
	if plain := tableOf(t, tableStyle{columns: 120}); strings.Contains(plain, "\x1b") {
		t.Errorf("an escape sequence without colour: %q", plain)
	}
}

func TestTableFitsTheTerminal(t *testing.T) {
	for _, columns := range []int{80, 100, 120} {
		for line := range strings.Lines(tableOf(t, tableStyle{columns: columns})) {
			if w := text.Width(strings.TrimRight(line, "\n")); w > columns {
				t.Errorf("%d columns in a terminal of %d: %q", w, columns, line)
			}
		}
	}
	if got := tableOf(t, tableStyle{columns: 80}); !strings.Contains(got, "…") {
		t.Errorf("the name is not shortened:\n%s", got)
	}
	// What is not a terminal gets everything.
	if got := tableOf(t, tableStyle{}); !strings.Contains(got, "a_rather_long_name_of_a_tool_that_writes") {
		t.Errorf("the name is shortened:\n%s", got)
	}
}

func TestColourIsTurnedOffByTheEnvironment(t *testing.T) {
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	if !coloured() {
		t.Error("an empty NO_COLOR counts")
	}
	t.Setenv("NO_COLOR", "1")
	if coloured() {
		t.Error("NO_COLOR is ignored")
	}
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "dumb")
	if coloured() {
		t.Error("TERM=dumb is ignored")
	}
}

func TestProgressIsForTerminals(t *testing.T) {
	var b strings.Builder
	p := newProgress(&b)
	p.start = p.start.Add(-2 * patience)
	p.say("reading", 1, 2)
	p.clear()
	if b.Len() > 0 {
		t.Errorf("progress on what is no terminal: %q", b.String())
	}

	p.on = true
	p.say("reading", 1, 2)
	p.say("reading", 2, 2) // too soon after the first
	p.clear()
	if want := "\rreading 1 of 2\x1b[K\r\x1b[K"; b.String() != want {
		t.Errorf("progress %q, want %q", b.String(), want)
	}
}

// Every reader of CSV gets the names back byte for byte, line breaks of any kind included.
func TestCSVHasTheNamesAsTheyAre(t *testing.T) {
	names := []string{"a\nb", "a\rb", "a\x1b[31mb", "a\u202eb", "a,b", `a"b`, " a ", `\.`, "", "\n", "a\n\n\"x\",\n", "a\x00b"}
	var rows []row
	for _, name := range names {
		rows = append(rows, row{kind: engine.Tools, server: "s", name: name, visible: hidden})
	}
	var b strings.Builder
	if err := printCSV(&b, rows); err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(strings.NewReader(b.String())).ReadAll()
	if err != nil || len(records) != len(names)+1 {
		t.Fatalf("%d records, want %d: %v", len(records), len(names)+1, err)
	}
	for i, name := range names {
		if got := strings.TrimPrefix(records[i+1][2], "'"); got != name {
			t.Errorf("%q comes back as %q", name, got)
		}
	}

	// The reader of the standard library takes CR LF for LF, so this is looked at as it stands.
	b.Reset()
	if err := printCSV(&b, []row{{kind: engine.Tools, server: "s", name: "a\r\nb"}}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "\ntool,s,\"a\r\nb\",") {
		t.Errorf("the line break is not in quotes as it is: %q", b.String())
	}
}

func TestCellGivesTheNameBack(t *testing.T) {
	for _, name := range []string{"", "plain", "=1+1", "+1", "-1", "@x", "'x", "''", "\tx", "\rx", "＝x", "\u0085x", "a=b"} {
		got := cell(name)
		if back := strings.TrimPrefix(got, "'"); back != name {
			t.Errorf("cell(%q) = %q, which gives %q back", name, got, back)
		}
		if got != "" && strings.ContainsRune("=+-@\t\r＝", []rune(got)[0]) {
			t.Errorf("cell(%q) = %q is a formula", name, got)
		}
	}
}
