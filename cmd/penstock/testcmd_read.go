package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/policyfile"
)

// A suite is one file of tests as it was read. Its paths are relative to the folder it stands in.
type suite struct {
	file     string
	policy   string
	catalogs []string
	baseline string // "" is none
	tests    []*test

	policyAt, catalogsAt, baselineAt engine.Position
}

// A test is one case, or one property.
type test struct {
	name string
	at   engine.Position
	path string // in the file, for messages: "cases[2]"

	// What is asked about: one subject, or a whole request, or of a property everything that the rules match.
	subject   *subject
	subjectAt engine.Position
	request   *policyfile.Request
	property  bool
	rules     []engine.Rule
	except    []engine.Rule

	args       map[string]any
	hints      *engine.Hints // nil: those of the catalog
	definition definition
	noApprover bool
	taint      []string
	attributes map[string]any

	want expectation // what each subject must get
}

// A definition says what became of a tool since it was approved.
type definition uint8

const (
	byBaseline definition = iota // what the baseline says; without one it is approved as it is
	approvedAsIs
	neverApproved
	changedSince
)

var definitionWords = []string{approvedAsIs - 1: "approved", neverApproved - 1: "new", changedSince - 1: "changed"}

// readSuite reads a file of tests.
func readSuite(file string) (*suite, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, policyfile.MaxSize+1))
	if err != nil {
		return nil, err
	}
	return parseSuite(file, data)
}

// parseSuite reads a file of tests from data.
func parseSuite(file string, data []byte) (*suite, error) {
	s := &suite{file: file}
	return s, policyfile.Read(data, policyfile.Options{File: file}, s.read)
}

func (s *suite) read(v policyfile.Value) {
	r := &suiteReader{suite: s, names: make(map[string]bool)}
	empty := true
	list := func(what, path string, read func(policyfile.Value, *test)) func(policyfile.Value) {
		return func(v policyfile.Value) {
			empty = empty && v.IsList() && v.Len() == 0
			i := 0
			v.List(what, func(v policyfile.Value) {
				t := &test{at: v.Position(), path: fmt.Sprintf("%s[%d]", path, i)}
				i++
				read(v, t)
				s.tests = append(s.tests, t)
			})
		}
	}
	ok := v.Object("a mapping that begins with version: 1",
		policyfile.Key{Name: "version", Read: policyfile.Value.Version, Required: true},
		policyfile.Key{Name: "policy", Read: func(v policyfile.Value) { s.policy, s.policyAt = s.pathOf(v), v.Position() }, Required: true},
		policyfile.Key{Name: "catalogs", Read: func(v policyfile.Value) {
			s.catalogsAt = v.Position()
			v.List("paths", func(v policyfile.Value) { s.catalogs = append(s.catalogs, s.pathOf(v)) })
		}},
		policyfile.Key{Name: "baseline", Read: func(v policyfile.Value) { s.baseline, s.baselineAt = s.pathOf(v), v.Position() }},
		policyfile.Key{Name: "cases", Read: list("cases", "cases", r.testCase)},
		policyfile.Key{Name: "properties", Read: list("properties", "properties", r.property)},
	)
	switch {
	case !ok:
	case empty:
		v.Fail("there is no case (a file of tests has cases or properties)")
	case len(s.catalogs) == 0 && slices.ContainsFunc(s.tests, func(t *test) bool { return t.property }):
		v.Fail(`the key "catalogs" is missing (a property is about what catalogs list)`)
	}
}

// pathOf reads a path.
func (s *suite) pathOf(v policyfile.Value) string {
	path, _ := v.Text("a path")
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(s.file), path)
}

// suiteReader reads the tests of one suite.
type suiteReader struct {
	*suite
	names map[string]bool
}

// subjectKeys name what a case is about, one of them.
var subjectKeys = []string{"tool", "resource", "prompt", "request"}

func (r *suiteReader) testCase(v policyfile.Value, t *test) {
	keys := append(r.common(t),
		policyfile.Key{Name: "tool", Read: func(v policyfile.Value) { t.read(v, engine.Tools) }},
		policyfile.Key{Name: "resource", Read: func(v policyfile.Value) { t.read(v, engine.Resources) }},
		policyfile.Key{Name: "prompt", Read: func(v policyfile.Value) { t.read(v, engine.Prompts) }},
		policyfile.Key{Name: "request", Read: func(v policyfile.Value) { t.request, _ = v.Request() }},
		policyfile.Key{Name: "annotations", Read: func(v policyfile.Value) {
			if _, ok := v.JSON(); !ok {
				return
			}
			h, err := engine.HintsFromJSON(v.Encode())
			if err != nil {
				v.Fail("%w", err)
			}
			t.hints = &h
		}},
		policyfile.Key{Name: "expect", Read: func(v policyfile.Value) { t.want = expected(v, t) }, Required: true},
	)
	if !v.Object("a case", keys...) {
		return
	}
	var about []string
	for _, key := range subjectKeys {
		if v.Has(key) {
			about = append(about, key)
		}
	}
	switch {
	case len(about) == 0:
		v.Fail("one of the keys %s is missing", or(quoted(subjectKeys)))
	case len(about) > 1:
		v.Fail("a case is about one thing, not about %s and %s", about[0], about[1])
	case about[0] == "request":
		for _, key := range []string{"args", "annotations", "definition", "approver", "taint", "attributes"} {
			if v.Has(key) {
				v.Fail("%q stands beside a request, which says itself what it is", key)
			}
		}
	case about[0] != "tool":
		if t.want.visible != nil {
			v.Fail("a %s is not filtered: it has no \"visible\"", about[0])
		}
		for _, key := range []string{"args", "annotations", "definition"} {
			if v.Has(key) {
				v.Fail("a %s has no %q", about[0], key)
			}
		}
	}
}

func (r *suiteReader) property(v policyfile.Value, t *test) {
	outcomes := func(to *[]string) func(policyfile.Value) {
		return func(v policyfile.Value) { *to = wordList(v, outcomeWords) }
	}
	t.property = true
	var never, always []string
	keys := append(r.common(t),
		policyfile.Key{Name: "subjects", Read: func(v policyfile.Value) { t.rules = selector(v) }, Required: true},
		policyfile.Key{Name: "except", Read: func(v policyfile.Value) { t.except = selector(v) }},
		policyfile.Key{Name: "never", Read: outcomes(&never)},
		policyfile.Key{Name: "always", Read: outcomes(&always)},
	)
	if !v.Object("a property", keys...) {
		return
	}
	switch {
	case v.Has("never") == v.Has("always"):
		v.Fail(`a property says either "never" or "always"`)
	case v.Has("always"):
		t.want.outcomes = always
	default:
		for _, w := range outcomeWords {
			if !slices.Contains(never, w) {
				t.want.outcomes = append(t.want.outcomes, w)
			}
		}
		if len(t.want.outcomes) == 0 {
			v.Fail("never anything: that cannot hold")
		}
	}
}

// common returns the keys of cases and properties.
func (r *suiteReader) common(t *test) []policyfile.Key {
	return []policyfile.Key{
		{Name: "name", Required: true, Read: func(v policyfile.Value) {
			t.name, _ = v.Text("a sentence")
			if t.name != "" && r.names[t.name] {
				v.Fail("two tests have this name")
			}
			r.names[t.name] = true
		}},
		{Name: "args", Read: func(v policyfile.Value) { t.args, _ = v.JSON() }},
		{Name: "definition", Read: func(v policyfile.Value) {
			if w, ok := v.Word(definitionWords...); ok {
				t.definition = definition(slices.Index(definitionWords, w)) + approvedAsIs
			}
		}},
		{Name: "approver", Read: func(v policyfile.Value) {
			b, ok := v.Bool()
			t.noApprover = ok && !b
		}},
		{Name: "taint", Read: func(v policyfile.Value) {
			v.List("server ids", func(v policyfile.Value) {
				id, ok := v.Text("a server id")
				if err := engine.CheckServerID(id); ok && err != nil {
					v.Fail("%w", err)
				}
				t.taint = append(t.taint, id)
			})
		}},
		{Name: "attributes", Read: func(v policyfile.Value) { t.attributes, _ = v.JSON() }},
	}
}

// read reads the subject of a case.
func (t *test) read(v policyfile.Value, kind engine.Kind) {
	what := []string{engine.Tools: "SERVER/TOOL", engine.Resources: "SERVER/URI", engine.Prompts: "SERVER/NAME"}[kind]
	word, ok := v.Text(what)
	if !ok {
		return
	}
	s, err := newSubject(kind, word)
	if err != nil {
		v.Fail("%w", err)
		return
	}
	if s == nil {
		v.Fail("want %s", what)
		return
	}
	t.subject, t.subjectAt = s, v.Position()
}

// selector reads the rules that choose the subjects of a property.
func selector(v policyfile.Value) []engine.Rule {
	if v.IsList() && v.Len() == 0 {
		v.Fail("an empty list chooses nothing")
	}
	rules := v.Rules()
	var bad engine.CompileError
	for i, r := range rules {
		if !chooses(r) {
			bad.Entries = append(bad.Entries, &engine.EntryError{Index: i, Position: r.Position(),
				Err: errors.New("what is chosen does not depend on a call (write a pattern, a regexp, an annotation or all of them)")})
		}
	}
	if len(bad.Entries) > 0 {
		v.FailRules(&bad)
	}
	_, err := choose(rules, &policyfile.Document{})
	v.FailRules(err)
	return rules
}

// chooses reports whether a rule says something of a tool, resource or prompt itself. A rule that was refused does.
func chooses(r engine.Rule) bool {
	s := r.Inspect()
	switch s.Form {
	case engine.FormNone, engine.FormPattern, engine.FormRegexp, engine.FormAnnotation:
		return true
	case engine.FormAll:
		return !slices.ContainsFunc(s.Members, func(m engine.Rule) bool { return !chooses(m) })
	default:
		return false
	}
}

// choose compiles rules that choose subjects: what they match is denied. They match as deny rules do, loosely, and
// hints count as in the policy of the document.
func choose(rules []engine.Rule, doc *policyfile.Document) (*engine.Policy, error) {
	return engine.CompilePolicy(engine.PolicyOptions{
		Deny:     rules,
		Scope:    []engine.Kind{engine.Tools, engine.Resources, engine.Prompts},
		TrustAll: doc.Policy.TrustAll,
		Trusted:  doc.Policy.Trusted,
	})
}

func quoted(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = `"` + w + `"`
	}
	return out
}
