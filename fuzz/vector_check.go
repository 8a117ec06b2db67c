package fuzz

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/penstock-mcp/penstock/engine"
)

// Check compares what an implementation says with what the vector fixes. The texts that an error's message
// must hold are compared only where names is true: the reference has other words.
func (v Vector) Check(r Result, names bool) error {
	wantErr := v.Expect.Error != nil && *v.Expect.Error
	err := r.Err
	if v.Op == "compile" {
		err = r.Compile
	} else if r.Compile != nil {
		return fmt.Errorf("does not compile: %w", r.Compile)
	}
	if (err != nil) != wantErr {
		return fmt.Errorf("error is %v, want an error: %t", err, wantErr)
	}
	for _, name := range v.Expect.Names {
		if names && wantErr && !strings.Contains(err.Error(), name) {
			return fmt.Errorf("the message lacks %q: %w", name, err)
		}
	}
	if v.Op == "compile" {
		return nil
	}
	if wantErr && r.Outcome.Action != "deny" {
		return fmt.Errorf("an error came with action %s", r.Outcome.Action)
	}
	e, o := v.Expect, r.Outcome
	var errs []error
	for _, c := range []struct {
		what string
		want *bool
		got  bool
	}{
		{"visible", e.Visible, o.Visible},
		{"static_visible", e.StaticVisible, o.StaticVisible},
		{"new", e.New, o.New},
		{"failed", e.Failed, o.Failed},
	} {
		if c.want != nil && *c.want != c.got {
			errs = append(errs, fmt.Errorf("%s is %t, want %t", c.what, c.got, *c.want))
		}
	}
	for _, c := range []struct {
		what string
		want *string
		got  string
		not  bool
	}{
		{"action", e.Action, o.Action, false},
		{"source", e.Source, o.Source, false},
		{"reason", e.Reason, o.Reason, false},
		{"rule", e.Rule, o.Rule, false},
		{"source", e.SourceNot, o.Source, true},
		{"reason", e.ReasonNot, o.Reason, true},
	} {
		if c.want != nil && (*c.want == c.got) == c.not {
			errs = append(errs, fmt.Errorf("%s is %q, want %q (not: %t)", c.what, c.got, *c.want, c.not))
		}
	}
	return errors.Join(errs...)
}

// Document returns the whole document of the vector's configuration, and false where AllowAll stands in its place.
func (v Vector) Document() (string, bool) {
	if v.Kind == "policy" && allowAllForm.MatchString(v.Config) {
		return "", false
	}
	return fmt.Sprintf(`{"version": 1, %q: %s}`, v.Kind, v.Config), true
}

var allowAllForm = regexp.MustCompile(`^\{\s*"allow_all"\s*:\s*true\s*\}$`)

var serverIsName = regexp.MustCompile(serverIs + `([A-Za-z0-9_.-]+)`)

// Predicates returns the predicates that the vector's configuration may use.
func (v Vector) Predicates() []NamedPredicate {
	var servers []string
	for _, m := range serverIsName.FindAllStringSubmatch(v.Config, -1) {
		if !slices.Contains(servers, m[1]) {
			servers = append(servers, m[1])
		}
	}
	return Predicates(servers...)
}

// Reference answers the vector by the reference evaluator.
func (v Vector) Reference() Result {
	c := v.Case
	var err error
	if v.Kind == "filter" {
		if c.Filter, err = ReadFilter(v.Config); err == nil {
			err = c.Filter.Check()
		}
	} else {
		if c.Policy, err = ReadPolicy(v.Config); err == nil {
			err = c.Policy.Check()
		}
	}
	if err != nil || v.Op == "compile" {
		return Result{Compile: err}
	}
	o := c.AskReference()
	if o.Refused {
		err = errors.New("refused")
	}
	return Result{Outcome: o, Err: err}
}

// Vector returns the case as a line of a file of vectors, with the reference's answer as what is expected, and whether
// there is one that says it: in JSON a server and an approval have no bytes that are not UTF-8.
func (c Case) Vector(id string) (string, bool) {
	kind, op, config := "policy", "evaluate", ""
	if c.Policy == nil {
		kind, op, config = "filter", "visible", c.Filter.Text()
	} else {
		config = c.Policy.Text()
	}
	name := "name"
	switch c.Target.Kind {
	case Resource:
		op, name = "evaluate_resource", "uri"
	case Prompt:
		op = "evaluate_prompt"
	}
	line := fmt.Sprintf(`{"id": %s, "kind": %q, "op": %q, %q: %s, "target": {"server": %s, `,
		quote(id), kind, op, kind, config, quote(c.Target.Server))
	if text := quote(c.Target.Name); text == notUTF8 {
		line += fmt.Sprintf(`"name_hex": "%x"`, c.Target.Name)
	} else {
		line += fmt.Sprintf(`%q: %s`, name, text)
	}
	if c.Target.Annotations != "" {
		line += `, "annotations": ` + c.Target.Annotations
	}
	if c.Target.Fingerprint != "" {
		line += `, "fingerprint": ` + quote(c.Target.Fingerprint)
	}
	if c.Target.Raw != "" {
		line += `, "raw": ` + c.Target.Raw
	}
	line += "}"
	if c.Call != nil {
		line += fmt.Sprintf(`, "call": {"server": %s, "name": %s}`, quote(c.Call.Server), quote(c.Call.Name))
	}
	line += `, "request": ` + c.Request.Text() + `, "expect": `
	o := c.AskReference()
	switch {
	case kind == "filter":
		line += fmt.Sprintf(`{"visible": %t, "static_visible": %t}}`, o.Visible, o.StaticVisible)
	case o.Refused:
		line += `{"error": true}}`
	default:
		rule := "null"
		if o.Rule != "" {
			rule = quote(o.Rule)
		}
		line += fmt.Sprintf(`{"action": %q, "source": %q, "reason": %q, "rule": %s, "new": %t, "failed": %t}}`,
			o.Action, o.Source, o.Reason, rule, o.New, o.Failed)
	}
	return line, !strings.Contains(line, notUTF8)
}

// Text returns the request as a vector writes it, as JSON.
func (q Request) Text() string {
	parts := []string{fmt.Sprintf(`"has_approver": %t`, q.HasApprover)}
	if q.Approved != nil {
		var list []string
		for _, a := range q.Approved {
			what := `"fingerprint": ` + quote(a.Fingerprint)
			if a.Of != "" {
				what = `"fingerprint_of": ` + a.Of
			}
			list = append(list, fmt.Sprintf(`{"server": %s, "name": %s, %s}`, quote(a.Server), quote(a.Name), what))
		}
		parts = append(parts, `"approved": [`+strings.Join(list, ", ")+"]")
	}
	if q.Taint != nil {
		parts = append(parts, `"taint": `+quoteAll(q.Taint))
	}
	if q.Args != nil {
		parts = append(parts, `"args": `+jsonText(q.Args))
	}
	if q.Attributes != nil {
		parts = append(parts, `"attributes": `+jsonText(q.Attributes))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// RequestObject returns the question as a request object (section 6), and whether there is one: bytes that are not
// UTF-8, a call that differs from its tool, and arguments of what takes none cannot be written.
func (c Case) RequestObject() (string, bool) {
	t := c.Target
	var line string
	switch t.Kind {
	case Resource:
		line = fmt.Sprintf(`{"resource": {"server": %s, "uri": %s}`, quote(t.Server), quote(t.Name))
	case Prompt:
		line = fmt.Sprintf(`{"prompt": {"server": %s, "name": %s}`, quote(t.Server), quote(t.Name))
	default:
		line = fmt.Sprintf(`{"tool": {"server": %s, "name": %s`, quote(t.Server), quote(t.Name))
		if t.Annotations != "" {
			line += `, "annotations": ` + t.Annotations
		}
		if t.Fingerprint != "" {
			line += `, "fingerprint": ` + quote(t.Fingerprint)
		}
		if t.Raw != "" {
			line += `, "raw": ` + t.Raw
		}
		line += "}"
	}
	if c.Call != nil || t.Kind != Tool && c.Request.Args != nil {
		return "", false
	}
	q := c.Request
	q.Approved = slices.Clone(q.Approved)
	for i, a := range q.Approved {
		if a.Of == "" {
			continue
		}
		f, err := engine.ComputeFingerprint([]byte(a.Of))
		if err != nil {
			return "", false
		}
		q.Approved[i] = Approval{Server: a.Server, Name: a.Name, Fingerprint: string(f)}
	}
	line += ", " + strings.TrimPrefix(q.Text(), "{")
	return line, !strings.Contains(line, notUTF8)
}
