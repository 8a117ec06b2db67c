package main

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/penstock-mcp/penstock/cmd/penstock/internal/text"
)

type reportJSON struct {
	Tests    int            `json:"tests"`
	Failed   int            `json:"failed"`
	Files    []suiteJSON    `json:"files"`
	Coverage []coverageJSON `json:"coverage"`
}

type suiteJSON struct {
	File   string     `json:"file"`
	Policy string     `json:"policy"`
	Tests  []testJSON `json:"tests"`
}

type testJSON struct {
	Name     string      `json:"name"`
	Kind     string      `json:"kind"` // case or property
	Line     int32       `json:"line"`
	Column   int32       `json:"column"`
	Passed   bool        `json:"passed"`
	Subjects int         `json:"subjects"`
	Faults   []faultJSON `json:"faults"`
}

type faultJSON struct {
	Problems    []string         `json:"problems"`
	Explanation *explanationJSON `json:"explanation,omitempty"`
}

type coverageJSON struct {
	Policy string            `json:"policy"`
	Rules  []coveredRuleJSON `json:"rules"`
}

type coveredRuleJSON struct {
	Rule    string `json:"rule"`
	Text    string `json:"text"`
	Line    int32  `json:"line"`
	Column  int32  `json:"column"`
	Reached string `json:"reached"` // decides, matches or never
}

func (r *testReport) writeJSON(w io.Writer) error {
	j := reportJSON{Files: []suiteJSON{}, Coverage: []coverageJSON{}}
	j.Tests, j.Failed, _ = r.count()
	for _, s := range r.suites {
		file := suiteJSON{File: s.file, Policy: s.policy.file, Tests: []testJSON{}}
		for _, t := range s.results {
			one := testJSON{Name: t.name, Kind: t.kind(), Line: t.at.Line, Column: t.at.Column,
				Passed: t.passed(), Subjects: t.subjects, Faults: []faultJSON{}}
			for _, f := range t.faults {
				fj := faultJSON{Problems: f.wrong}
				if f.x != nil {
					fj.Explanation = f.x.json()
				}
				one.Faults = append(one.Faults, fj)
			}
			file.Tests = append(file.Tests, one)
		}
		j.Files = append(j.Files, file)
	}
	for _, p := range r.policies {
		c := coverageJSON{Policy: p.file, Rules: []coveredRuleJSON{}}
		for _, rule := range p.covered.all() {
			at := rule.rule.Position()
			c.Rules = append(c.Rules, coveredRuleJSON{rule.id, rule.text(), at.Line, at.Column, reachWords[rule.reach]})
		}
		j.Coverage = append(j.Coverage, c)
	}
	data, err := marshalIndent(&j)
	if err == nil {
		_, err = w.Write(data)
	}
	return err
}

func (t *test) kind() string {
	if t.property {
		return "property"
	}
	return "case"
}

// The elements of JUnit's XML that every reader of it knows.

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name      string        `xml:"name,attr"`
	ClassName string        `xml:"classname,attr"`
	File      string        `xml:"file,attr"`
	Line      int32         `xml:"line,attr"`
	Failure   *junitFailure `xml:"failure"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",cdata"`
}

// writeJUnit writes a suite for each file and, where uncovered rules fail, one for each policy with a test for each rule.
func (r *testReport) writeJUnit(w io.Writer) error {
	var all junitSuites
	add := func(s junitSuite) {
		s.Tests = len(s.Cases)
		for _, c := range s.Cases {
			if c.Failure != nil {
				s.Failures++
			}
		}
		all.Tests, all.Failures = all.Tests+s.Tests, all.Failures+s.Failures
		all.Suites = append(all.Suites, s)
	}
	for _, s := range r.suites {
		suite := junitSuite{Name: s.file}
		for _, t := range s.results {
			suite.Cases = append(suite.Cases, junitCase{t.name, s.file, s.file, t.at.Line, t.failure()})
		}
		add(suite)
	}
	for _, p := range r.policies {
		if !r.flags.failUncovered {
			break
		}
		suite := junitSuite{Name: "rules of " + p.file}
		for _, rule := range p.covered.all() {
			c := junitCase{Name: rule.id, ClassName: p.file, File: p.file, Line: rule.rule.Position().Line}
			if rule.reach != decides {
				c.Failure = &junitFailure{Message: "it decided in no test", Type: "uncovered", Text: rule.text()}
			}
			suite.Cases = append(suite.Cases, c)
		}
		add(suite)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(&all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// failure returns what JUnit shows of a test that failed.
func (r *result) failure() *junitFailure {
	if r.passed() {
		return nil
	}
	f := &junitFailure{Message: r.faults[0].String(), Type: r.kind()}
	if n := len(r.faults); n > 1 {
		f.Message = fmt.Sprintf("%s of %s; %s", text.Count(n), text.Of(r.subjects, "subject"), f.Message)
	}
	var p printer
	for i, fault := range r.faults {
		if i == maxFaults {
			break
		}
		p.line("", "", 0, fault.String())
	}
	if x := r.faults[0].x; x != nil {
		p.b.WriteByte('\n')
		p.explanation(x)
	}
	f.Text = "\n" + strings.TrimRight(p.b.String(), "\n") + "\n"
	return f
}
