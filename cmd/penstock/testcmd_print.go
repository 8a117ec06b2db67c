package main

import (
	"strings"

	"github.com/penstock-mcp/penstock/cmd/penstock/internal/text"
	"github.com/penstock-mcp/penstock/engine"
)

// maxFaults bounds the subjects of a property that are listed, and only the first is explained: that many of one kind have
// one cause.
const maxFaults = 10

// print writes the report for people.
func (r *testReport) print(p *printer) {
	for _, s := range r.suites {
		s.print(p, r.flags.verbose)
	}
	for _, tested := range r.policies {
		tested.printMissed(p)
	}
	all, failed, missed := r.count()
	if missed > 0 {
		p.b.WriteByte('\n')
	}
	p.line("", "", 0, text.Of(all, "test")+" in "+text.Of(len(r.suites), "file")+": "+
		text.Count(all-failed)+" passed, "+text.Count(failed)+" failed")
}

var verdictStyle = map[bool]string{true: actionStyle[engine.Allow], false: actionStyle[engine.Deny]}

func (s *suiteResult) print(p *printer, verbose bool) {
	failed := s.failed()
	word := "ok    "
	if failed > 0 {
		word = "FAIL  "
	}
	p.b.WriteString(p.paint(verdictStyle[failed == 0], word))
	p.b.WriteString(text.Plain(s.file) + "  " + text.Of(len(s.results), "test"))
	if failed > 0 {
		p.b.WriteString(", " + text.Count(failed) + " failed")
	}
	p.b.WriteByte('\n')
	for _, r := range s.results {
		switch {
		case !r.passed():
			r.print(p)
		case verbose:
			p.line("", "  ok    ", 8, text.Line(r.name)+r.about())
		}
	}
}

// about says how many subjects a property had.
func (r *result) about() string {
	if !r.property {
		return ""
	}
	return " (" + text.Of(r.subjects, "subject") + ")"
}

// print writes what failed, and why.
func (r *result) print(p *printer) {
	p.line(verdictStyle[false], "  FAIL  ", 8, text.Line(r.name)+r.about())
	p.line("", "        ", 8, text.Line(r.at.String()))
	for i, f := range r.faults {
		if i == maxFaults {
			p.line("", "        ", 8, "and "+text.Count(len(r.faults)-i)+" more")
			break
		}
		p.line("", "        ", 10, f.String())
	}
	if f := r.faults[0]; f.x != nil {
		p.b.WriteByte('\n')
		p.margin = "        "
		p.explanation(f.x)
		p.margin = ""
		p.b.WriteByte('\n')
	}
}

// String says what is not as it must be.
func (f *fault) String() string {
	say := strings.Join(f.wrong, "; ")
	if f.x == nil {
		return say
	}
	return f.x.subject.String() + ": " + say
}

// printMissed lists the rules that decide in no test.
func (t *testedPolicy) printMissed(p *printer) {
	missed := t.covered.missed()
	if len(missed) == 0 {
		return
	}
	if !strings.HasSuffix(p.b.String(), "\n\n") {
		p.b.WriteByte('\n')
	}
	p.line(styleBold, "", 2, text.Plain(t.file)+": "+text.Count(len(missed))+" of "+text.Of(len(t.covered.all()), "rule")+
		" decided in no test")
	for _, m := range missed {
		say := "it matches in no test"
		if m.reach == matches {
			say = "it matches, and something else decides each time"
		}
		p.line("", "  ", 4, text.Plain(m.id)+"  "+text.Line(m.text())+" ("+text.Line(m.rule.Position().String())+"): "+say)
	}
}

// text returns the rule as a document writes it, without its name.
func (c *coveredRule) text() string {
	if s := c.rule.Inspect(); s.Form == engine.FormNamed {
		return s.Members[0].String()
	}
	return c.rule.String()
}
