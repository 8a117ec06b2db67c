package policyfile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/penstock-mcp/penstock/engine"
)

// Request is one request object: what is asked about, and what is known at the time.
type Request struct {
	Kind engine.Kind

	Server string // of the tool, resource or prompt
	Name   string // of the tool or prompt
	URI    string // of the resource

	Tool engine.Tool // of a tool
	Call engine.Call // of a tool: the same target, and the arguments; numbers are json.Number

	Request engine.Request
}

// Evaluate returns p's decision on r.
func (r *Request) Evaluate(ctx context.Context, p *engine.Policy) (engine.Decision, error) {
	switch r.Kind {
	case engine.Resources:
		return p.EvaluateResource(r.Server, r.URI, &r.Request)
	case engine.Prompts:
		return p.EvaluatePrompt(r.Server, r.Name, &r.Request)
	default:
		return p.Evaluate(ctx, &r.Call, &r.Tool, &r.Request)
	}
}

// DecodeRequest reads one request object, such as
//
//	{"tool": {"server": "fs", "name": "write"}, "args": {"path": "/data/x"}, "has_approver": true}
//
// It is strict: unknown keys, duplicate keys at any depth, wrong types, bytes that are not UTF-8 and anything
// behind the object are errors. It is lenient where a server speaks: a hint that is not a boolean counts as absent,
// and a tool's raw definition is kept byte for byte, whatever it holds; one that has no fingerprint is
// thereby never the one that was approved.
//
// The error is a *[RequestError]. DecodeRequest does not keep line.
func DecodeRequest(line []byte) (*Request, error) {
	r := &reader{text: line}
	r.reset()
	req := &Request{}
	if err := req.decode(r); err != nil {
		return nil, err
	}
	if err := r.end(); err != nil {
		return nil, err
	}
	return req, nil
}

// decode reads the whole object.
func (req *Request) decode(r *reader) error {
	var subjects []string // which of tool, resource and prompt there are
	subject := func(key string) { subjects = append(subjects, key) }
	var argsAt int64
	err := r.object("", []member{
		{"tool", func() error { subject("tool"); return req.tool(r) }},
		{"resource", func() error {
			subject("resource")
			req.Kind = engine.Resources
			return r.object("resource", []member{
				{"server", r.str("resource.server", &req.Server)},
				{"uri", r.str("resource.uri", &req.URI)},
			}, 2)
		}},
		{"prompt", func() error {
			subject("prompt")
			req.Kind = engine.Prompts
			return r.object("prompt", []member{
				{"server", r.str("prompt.server", &req.Server)},
				{"name", r.str("prompt.name", &req.Name)},
			}, 2)
		}},
		{"args", func() (err error) {
			argsAt = r.offset()
			req.Call.Args, err = r.strictObject("args", true)
			return err
		}},
		{"has_approver", func() error { return r.boolean("has_approver", &req.Request.HasApprover) }},
		{"approved", func() error { return req.approved(r) }},
		{"taint", func() error { return req.taint(r) }},
		{"attributes", func() (err error) {
			req.Request.Attributes, err = r.strictObject("attributes", false)
			return err
		}},
	}, 0)
	switch {
	case err != nil:
		return err
	case len(subjects) == 0:
		return r.fail("", 0, errors.New(`one of the keys "tool", "resource" and "prompt" is missing`))
	case len(subjects) > 1:
		return r.fail("", 0, fmt.Errorf("a request is about one thing, not %s", list(subjects, "and")))
	case req.Kind != engine.Tools && req.Call.Args != nil:
		return r.fail("args", argsAt, fmt.Errorf("a %s takes no arguments", subjects[0]))
	}
	req.Call.Server, req.Call.Name = req.Tool.Server, req.Tool.Name
	return nil
}

func (req *Request) tool(r *reader) error {
	t := &req.Tool
	err := r.object("tool", []member{
		{"server", r.str("tool.server", &t.Server)},
		{"name", r.str("tool.name", &t.Name)},
		{"annotations", func() error { return r.hints("tool.annotations", &t.Hints) }},
		{"fingerprint", r.str("tool.fingerprint", (*string)(&t.Fingerprint))},
		{"raw", func() error {
			raw, err := r.dec.ReadValue()
			if err != nil {
				return r.syntax("tool.raw", 0, err)
			}
			t.Raw = json.RawMessage(bytes.Clone(raw))
			return nil
		}},
	}, 2)
	req.Server, req.Name = t.Server, t.Name
	return err
}

// approved reads the baseline: a list of {server, name, fingerprint}.
func (req *Request) approved(r *reader) error {
	approved := make(map[engine.Target]engine.Fingerprint)
	err := r.list("approved", func(path string) error {
		var t engine.Target
		var f string
		from := r.offset()
		err := r.object(path, []member{
			{"server", r.str(path+".server", &t.Server)},
			{"name", r.str(path+".name", &t.Name)},
			{"fingerprint", r.str(path+".fingerprint", &f)},
		}, 3)
		if err != nil {
			return err
		}
		if _, twice := approved[t]; twice {
			return r.fail(path, from, fmt.Errorf("%s of %s stands here twice", quote(t.Name), quote(t.Server)))
		}
		approved[t] = engine.Fingerprint(f)
		return nil
	})
	req.Request.Approved = engine.NewBaseline(approved)
	return err
}

func (req *Request) taint(r *reader) error {
	return r.list("taint", func(path string) error {
		var id string
		err := r.str(path, &id)()
		req.Request.Taint = append(req.Request.Taint, id)
		return err
	})
}

// hints reads the annotations of a tool.
func (r *reader) hints(path string, to *engine.Hints) error {
	from, raw, err := r.strict(path)
	if err != nil {
		return err
	}
	if k := raw.Kind(); k != '{' && k != 'n' {
		return r.wrongType(path, from, "an object", raw)
	}
	*to, err = engine.HintsFromJSON(raw)
	if err != nil {
		return r.fail(path, from, err)
	}
	return nil
}

// DecodeArguments reads the arguments of a call: one JSON object, as strictly as [DecodeRequest] reads it, or null for
// none. Numbers are json.Number. The error is a *[RequestError].
func DecodeArguments(data []byte) (map[string]any, error) { return decodeObject(data, true) }

// DecodeObject is [DecodeArguments] for an object that must be one, such as the attributes of a caller.
func DecodeObject(data []byte) (map[string]any, error) { return decodeObject(data, false) }

func decodeObject(data []byte, orNull bool) (map[string]any, error) {
	r := &reader{text: data}
	r.reset()
	object, err := r.strictObject("", orNull)
	if err == nil {
		err = r.end()
	}
	if err != nil {
		return nil, err
	}
	return object, nil
}

// A RequestError says what is wrong with a request.
type RequestError struct {
	Path   string // the key, such as "tool.name"; "" for the whole request
	Offset int64  // in bytes
	Err    error  // the cause
}

// Error names the offset, the key and the cause.
func (e *RequestError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("byte %d: %v", e.Offset, e.Err)
	}
	return fmt.Sprintf("byte %d: %s: %v", e.Offset, e.Path, e.Err)
}

// Unwrap returns the cause.
func (e *RequestError) Unwrap() error { return e.Err }

// member is one key of an object and what reads its value.
type member struct {
	key  string
	read func() error
}

func memberNames(members []member) []string {
	names := make([]string, len(members))
	for i := range members {
		names[i] = members[i].key
	}
	return names
}

func findMember(members []member, key string) int {
	return slices.IndexFunc(members, func(m member) bool { return m.key == key })
}
