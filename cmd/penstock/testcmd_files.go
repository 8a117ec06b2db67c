package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/penstock-mcp/penstock/cmd/penstock/internal/catalog"
	"github.com/penstock-mcp/penstock/engine"
	"github.com/penstock-mcp/penstock/policyfile"
)

// testFiles returns the files that the arguments stand for: themselves, and every *.test.yaml, *.test.yml and *.test.json
// directly in a folder.
func testFiles(args []string) (files []string, err error) {
	var errs []error
	for _, arg := range args {
		info, err := os.Stat(arg)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if !info.IsDir() {
			files = append(files, arg)
			continue
		}
		entries, err := os.ReadDir(arg)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		before := len(files)
		for _, e := range entries {
			name := e.Name()
			if strings.HasSuffix(name, ".test.yaml") || strings.HasSuffix(name, ".test.yml") || strings.HasSuffix(name, ".test.json") {
				files = append(files, filepath.Join(arg, name))
			}
		}
		if len(files) == before {
			errs = append(errs, fmt.Errorf("%s: the folder holds no *.test.yaml, *.test.yml or *.test.json", arg))
		}
	}
	return files, errors.Join(errs...)
}

// library holds what suites are about. Several suites share a policy and its coverage, and their catalogs.
type library struct {
	policies []*testedPolicy // in the order of their first use
	catalogs map[string][]*catalog.Catalog
}

// testedPolicy is a policy and which of its rules were reached.
type testedPolicy struct {
	rules
	file string
	doc  *policyfile.Document

	covered coverage
}

// policy returns the policy in a file, which is read once.
func (l *library) policy(file string) (*testedPolicy, error) {
	for _, p := range l.policies {
		if p.file == file {
			return p, nil
		}
	}
	doc, err := policyfile.Load(file, policyfile.Options{File: file})
	if err != nil {
		return nil, err
	}
	p := &testedPolicy{file: file, doc: doc}
	if p.filter, p.rules.policy, err = doc.Compile(); err != nil {
		return nil, err
	}
	p.covered = newCoverage(doc)
	l.policies = append(l.policies, p)
	return p, nil
}

// load reads the catalogs at paths.
func (l *library) load(paths []string) ([]*catalog.Catalog, error) {
	key := strings.Join(paths, "\x00")
	if known, ok := l.catalogs[key]; ok {
		return known, nil
	}
	catalogs, err := catalog.Load(paths, nil)
	if err != nil {
		return nil, err
	}
	if l.catalogs == nil {
		l.catalogs = make(map[string][]*catalog.Catalog)
	}
	l.catalogs[key] = catalogs
	return catalogs, nil
}

// setting is a suite with everything it is about.
type setting struct {
	*suite
	policy   *testedPolicy
	catalogs []*catalog.Catalog
	base     *engine.Baseline // nil: every tool is approved as it is
}

// open reads what the suite is about. Every fault has the place in the suite that led to it, or one of its own.
func (l *library) open(s *suite) (*setting, error) {
	at := &setting{suite: s}
	var errs []error
	fail := func(place engine.Position, key string, err error) {
		var os *os.PathError
		if errors.As(err, &os) {
			err = &policyfile.EntryError{Position: place, Path: key, Err: err}
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	var err error
	at.policy, err = l.policy(s.policy)
	fail(s.policyAt, "policy", err)
	at.catalogs, err = l.load(s.catalogs)
	fail(s.catalogsAt, "catalogs", err)
	if s.baseline != "" {
		at.base, err = readBaseline(s.baseline)
		fail(s.baselineAt, "baseline", err)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	for _, t := range s.tests {
		// What resources a server has is not all in its list, and a tool that nobody approved need not be there yet.
		if t.subject == nil || t.subject.kind != engine.Tools {
			continue
		}
		t.subject.find(at.catalogs)
		if !t.subject.missing || t.definition == neverApproved {
			continue
		}
		problem := fmt.Sprintf("no catalog lists %s", t.subject)
		if len(t.subject.suggestions) > 0 {
			problem += fmt.Sprintf(" (did you mean %s?)", or(t.subject.suggestions))
		} else {
			problem += " (with definition: new it need not)"
		}
		errs = append(errs, &policyfile.EntryError{Position: t.subjectAt, Path: t.path + ".tool", Err: errors.New(problem)})
	}
	return at, errors.Join(errs...)
}

// subjects returns what the property is about.
func (at *setting) subjects(t *test) ([]*subject, error) {
	chosen, err := choose(t.rules, at.policy.doc)
	if err != nil {
		return nil, err
	}
	spared, err := choose(t.except, at.policy.doc)
	if err != nil {
		return nil, err
	}
	var all []*subject
	add := func(s *subject) {
		if denies(chosen, s) && !denies(spared, s) {
			all = append(all, s)
		}
	}
	for _, c := range at.catalogs {
		for i := range c.Tools {
			add(&subject{server: c.Server, name: c.Tools[i].Name, tool: c.Tools[i]})
		}
		for _, kind := range []engine.Kind{engine.Resources, engine.Prompts} {
			for _, name := range names(c, kind) {
				add(&subject{kind: kind, server: c.Server, name: name})
			}
		}
	}
	return all, nil
}

// denies reports whether a deny rule of p matches.
func denies(p *engine.Policy, s *subject) bool {
	var d engine.Decision
	switch s.kind {
	case engine.Resources:
		d, _ = p.EvaluateResource(s.server, s.name, nil)
	case engine.Prompts:
		d, _ = p.EvaluatePrompt(s.server, s.name, nil)
	default:
		d, _ = p.Evaluate(context.Background(), &engine.Call{Server: s.server, Name: s.name}, &s.tool, nil)
	}
	return d.Source == engine.SourceDeny
}
