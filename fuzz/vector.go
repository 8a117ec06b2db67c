package fuzz

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
)

// A Vector is one line of a file of vectors: a configuration, a question and what is fixed about the answer. The form
// is that of testdata/vectors/README.md, and nothing else: what it does not name is an error at every level.
type Vector struct {
	ID, Kind, Op string
	Config       string // the section filter or policy, as it was written
	Case         Case   // without Filter and Policy
	Expect       Expect
	Line         int
}

// Expect is what a vector fixes. Nil is not fixed.
type Expect struct {
	Visible, StaticVisible *bool
	Action, Source, Reason *string
	SourceNot, ReasonNot   *string
	Rule                   *string // "" for null: no rule decided
	New, Failed            *bool
	Error                  *bool
	Names                  []string // texts that the error's message holds
}

// A Result is what an implementation says to a vector.
type Result struct {
	Compile error // the configuration was refused
	Err     error // an error came with the decision
	Outcome Outcome
}

// ReadVectorFile reads a file of vectors. A file without a vector is an error.
func ReadVectorFile(name string) ([]Vector, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	vectors, err := ReadVectors(string(data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return vectors, nil
}

// ReadVectors reads vectors, one a line. Every line that cannot be read is reported.
func ReadVectors(text string) ([]Vector, error) {
	var vectors []Vector
	var errs []error
	for i, line := range strings.Split(text, "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		v, err := readVector(line)
		v.Line = i + 1
		if err != nil {
			errs = append(errs, fmt.Errorf("line %d (%s): %w", i+1, v.ID, err))
			continue
		}
		vectors = append(vectors, v)
	}
	if len(vectors)+len(errs) == 0 {
		errs = append(errs, errors.New("no vectors"))
	}
	return vectors, errors.Join(errs...)
}

// ops are the operations of each kind, and what each asks about.
var ops = map[string]map[string]Kind{
	"filter": {"visible": Tool, "compile": ""},
	"policy": {"evaluate": Tool, "evaluate_resource": Resource, "evaluate_prompt": Prompt, "compile": ""},
}

func readVector(line string) (Vector, error) {
	var v Vector
	n, err := readLenient(line, 100000)
	if err != nil {
		return v, err
	}
	m, err := n.flat("id", "kind", "op", "filter", "policy", "target", "call", "request", "expect")
	if err != nil {
		return v, err
	}
	for key, into := range map[string]*string{"id": &v.ID, "kind": &v.Kind, "op": &v.Op} {
		if *into, err = m[key].str(); err != nil || *into == "" {
			return v, fmt.Errorf("%s: a text is missing", key)
		}
	}
	kind, ok := ops[v.Kind][v.Op]
	if !ok {
		return v, fmt.Errorf("unknown kind %q or op %q", v.Kind, v.Op)
	}
	for key, there := range map[string]bool{
		"filter":  v.Kind == "filter",
		"policy":  v.Kind == "policy",
		"target":  v.Op != "compile",
		"call":    m["call"] != nil && v.Op == "evaluate",
		"request": m["request"] != nil && v.Op != "compile",
		"expect":  true,
	} {
		if there != (m[key] != nil) {
			return v, fmt.Errorf("%q is missing, or does not belong to op %q", key, v.Op)
		}
	}
	config := m[v.Kind]
	v.Config = line[config.start:config.end]
	if target := m["target"]; target != nil {
		if v.Case.Target, err = target.target(kind, line); err != nil {
			return v, fmt.Errorf("target: %w", err)
		}
	}
	if call := m["call"]; call != nil {
		if v.Case.Call, err = call.call(); err != nil {
			return v, fmt.Errorf("call: %w", err)
		}
	}
	if request := m["request"]; request != nil {
		if v.Case.Request, err = request.request(line); err != nil {
			return v, fmt.Errorf("request: %w", err)
		}
	}
	if v.Expect, err = m["expect"].expect(v.Op); err != nil {
		return v, fmt.Errorf("expect: %w", err)
	}
	return v, nil
}

// flat returns the members of an object that has no other keys than those, and none twice.
func (n *node) flat(keys ...string) (map[string]*node, error) {
	if n.flaw != "" {
		return nil, errors.New(n.flaw)
	}
	return n.members(nil, keys...)
}

func (n *node) target(kind Kind, line string) (Target, error) {
	t := Target{Kind: kind}
	keys := []string{"server", "name", "name_hex", "name_gen", "annotations", "fingerprint", "raw"}
	name := "name"
	if kind != Tool {
		keys = keys[:4]
	}
	if kind == Resource {
		name = "uri"
		keys[1] = name
	}
	m, err := n.flat(keys...)
	if err != nil {
		return t, err
	}
	if m["server"] == nil {
		return t, errors.New("server is missing")
	}
	if t.Server, err = m["server"].sane(); err != nil {
		return t, err
	}
	names := 0
	for _, key := range keys[1:4] {
		if v := m[key]; v != nil {
			names++
			if t.Name, err = v.name(key); err != nil {
				return t, fmt.Errorf("%s: %w", key, err)
			}
		}
	}
	if names != 1 {
		return t, fmt.Errorf("one of %v", keys[1:4])
	}
	if a := m["annotations"]; a != nil {
		t.Annotations = line[a.start:a.end]
	}
	if r := m["raw"]; r != nil {
		t.Raw = line[r.start:r.end]
	}
	if f := m["fingerprint"]; f != nil {
		t.Fingerprint, err = f.sane()
	}
	return t, err
}

func (n *node) name(key string) (string, error) {
	switch key {
	case "name_hex":
		text, err := n.sane()
		if err != nil {
			return "", err
		}
		name, err := hex.DecodeString(text)
		return string(name), err
	case "name_gen":
		m, err := n.flat("repeat", "times", "suffix")
		if err != nil {
			return "", err
		}
		var times int
		if m["repeat"] == nil || m["times"] == nil {
			return "", errors.New("repeat or times is missing")
		}
		if _, err := fmt.Sscanf(m["times"].text, "%d", &times); err != nil || times < 0 || times > 1<<26 {
			return "", errors.New("times is no number of times")
		}
		suffix := ""
		if m["suffix"] != nil {
			suffix = m["suffix"].text
		}
		return strings.Repeat(m["repeat"].text, times) + suffix, nil
	default:
		return n.sane()
	}
}

// sane returns a string without a flaw.
func (n *node) sane() (string, error) {
	if err := n.sound(); err != nil {
		return "", err
	}
	return n.str()
}

func (n *node) call() (*Call, error) {
	m, err := n.flat("server", "name")
	if err != nil {
		return nil, err
	}
	if m["server"] == nil || m["name"] == nil {
		return nil, errors.New("server or name is missing")
	}
	c := &Call{}
	if c.Server, err = m["server"].sane(); err != nil {
		return nil, err
	}
	c.Name, err = m["name"].sane()
	return c, err
}

func (n *node) request(line string) (Request, error) {
	var q Request
	m, err := n.flat("has_approver", "approved", "taint", "args", "attributes")
	if err != nil {
		return q, err
	}
	if v := m["has_approver"]; v != nil {
		if q.HasApprover, err = v.boolean(); err != nil {
			return q, fmt.Errorf("has_approver: %w", err)
		}
	}
	if v := m["approved"]; v != nil {
		if v.kind != 'a' {
			return q, errors.New("approved: not a list")
		}
		q.Approved = []Approval{}
		for _, item := range v.items {
			a, err := item.approval(line)
			if err != nil {
				return q, fmt.Errorf("approved: %w", err)
			}
			q.Approved = append(q.Approved, a)
		}
	}
	if v := m["taint"]; v != nil {
		if q.Taint, err = v.strs(); err != nil {
			return q, fmt.Errorf("taint: %w", err)
		}
	}
	for key, into := range map[string]*map[string]any{"args": &q.Args, "attributes": &q.Attributes} {
		if v := m[key]; v != nil && v.kind != 'n' {
			if v.kind != 'o' || v.sound() != nil {
				return q, fmt.Errorf("%s: not a sound object", key)
			}
			*into = v.plain().(map[string]any)
		}
	}
	return q, nil
}

func (n *node) approval(line string) (Approval, error) {
	var a Approval
	m, err := n.flat("server", "name", "fingerprint", "fingerprint_of")
	if err != nil {
		return a, err
	}
	if m["server"] == nil || m["name"] == nil || (m["fingerprint"] == nil) == (m["fingerprint_of"] == nil) {
		return a, errors.New("server, name and one of fingerprint and fingerprint_of")
	}
	if a.Server, err = m["server"].sane(); err != nil {
		return a, err
	}
	if a.Name, err = m["name"].sane(); err != nil {
		return a, err
	}
	if of := m["fingerprint_of"]; of != nil {
		a.Of = line[of.start:of.end]
		_, err := Fingerprint(a.Of)
		return a, err
	}
	a.Fingerprint, err = m["fingerprint"].sane()
	return a, err
}

func (n *node) expect(op string) (Expect, error) {
	var e Expect
	keys := []string{"action", "source", "reason", "rule", "source_not", "reason_not", "new", "failed", "error", "names"}
	switch op {
	case "compile":
		keys = []string{"error", "names"}
	case "visible":
		keys = []string{"visible", "static_visible"}
	}
	m, err := n.flat(keys...)
	if err != nil {
		return e, err
	}
	if len(m) == 0 || op == "compile" && m["error"] == nil || m["names"] != nil && m["error"] == nil {
		return e, errors.New("nothing is expected")
	}
	for key, into := range map[string]**bool{
		"visible": &e.Visible, "static_visible": &e.StaticVisible, "new": &e.New, "failed": &e.Failed, "error": &e.Error,
	} {
		if v := m[key]; v != nil {
			b, err := v.boolean()
			if err != nil {
				return e, fmt.Errorf("%s: %w", key, err)
			}
			*into = &b
		}
	}
	for key, into := range map[string]**string{
		"action": &e.Action, "source": &e.Source, "reason": &e.Reason, "rule": &e.Rule,
		"source_not": &e.SourceNot, "reason_not": &e.ReasonNot,
	} {
		v := m[key]
		switch {
		case v == nil:
		case v.kind == 'n' && key == "rule":
			*into = new(string)
		default:
			s, err := v.sane()
			if err != nil || s == "" {
				return e, fmt.Errorf("%s: a text is missing", key)
			}
			*into = &s
		}
	}
	if v := m["names"]; v != nil {
		if e.Names, err = v.strs(); err != nil {
			return e, fmt.Errorf("names: %w", err)
		}
	}
	return e, nil
}
