package policyfile

import (
	"context"
	"errors"
	"fmt"

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

// Evaluate returns the decision of p on req.
func (req *Request) Evaluate(ctx context.Context, p *engine.Policy) (engine.Decision, error) {
	switch req.Kind {
	case engine.Resources:
		return p.EvaluateResource(req.Server, req.URI, &req.Request)
	case engine.Prompts:
		return p.EvaluatePrompt(req.Server, req.Name, &req.Request)
	default:
		return p.Evaluate(ctx, &req.Call, &req.Tool, &req.Request)
	}
}

// DecodeRequest reads one request object, such as
//
//	{"tool": {"server": "fs", "name": "write"}, "args": {"path": "/data/x"}, "has_approver": true}
//
// It is strict: unknown keys, duplicate keys at any depth, wrong types, bytes that are not UTF-8 and anything
// behind the object are errors. It is lenient where a server speaks: a hint that is not a boolean counts as absent,
// and a tool's raw definition is kept byte for byte, whatever it holds; one that has no fingerprint is
// thereby never the one that was approved. A raw definition that is null counts as absent. One that nests deeper than
// the JSON reader goes, 10,000 levels with the line's own, makes the line a bad one.
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
	subject := func(k engine.Kind, members []member) func(*path) error {
		return func(at *path) error {
			subjects, req.Kind = append(subjects, at.key), k
			return r.object(at, members, 2)
		}
	}
	t := &req.Tool
	err := r.object(nil, []member{
		{key: "tool", read: subject(engine.Tools, []member{
			{key: "server", str: &t.Server},
			{key: "name", str: &t.Name},
			{key: "annotations", read: func(at *path) error { return r.hints(at, &t.Hints) }},
			{key: "fingerprint", str: (*string)(&t.Fingerprint)},
			{key: "raw", read: func(at *path) error { return r.raw(at, &t.Raw) }},
		})},
		{key: "resource", read: subject(engine.Resources, []member{
			{key: "server", str: &req.Server},
			{key: "uri", str: &req.URI},
		})},
		{key: "prompt", read: subject(engine.Prompts, []member{
			{key: "server", str: &req.Server},
			{key: "name", str: &req.Name},
		})},
		{key: "args", read: func(at *path) (err error) {
			req.Call.Args, err = r.strictObject(at, true)
			return err
		}},
		{key: "has_approver", read: func(at *path) error { return r.boolean(at, &req.Request.HasApprover) }},
		{key: "approved", read: func(at *path) error { return req.approved(r, at) }},
		{key: "taint", read: func(at *path) error {
			return r.list(at, func(at *path) error {
				var id string
				err := r.str(at, &id)
				req.Request.Taint = append(req.Request.Taint, id)
				return err
			})
		}},
		{key: "attributes", read: func(at *path) (err error) {
			req.Request.Attributes, err = r.strictObject(at, false)
			return err
		}},
	}, 0)
	switch {
	case err != nil:
		return err
	case len(subjects) == 0:
		return r.fail(nil, 0, errors.New(`one of the keys "tool", "resource" and "prompt" is missing`))
	case len(subjects) > 1:
		return r.fail(nil, 0, fmt.Errorf("a request is about one thing, not %s", list(subjects, "and")))
	case req.Kind == engine.Tools:
		req.Server, req.Name = t.Server, t.Name
		req.Call.Server, req.Call.Name = t.Server, t.Name
	}
	return nil
}

// approved reads the baseline: a list of {server, name, fingerprint}.
func (req *Request) approved(r *reader, at *path) error {
	approved := make(map[engine.Target]engine.Fingerprint)
	var t engine.Target
	var f string
	members := []member{{key: "server", str: &t.Server}, {key: "name", str: &t.Name}, {key: "fingerprint", str: &f}}
	err := r.list(at, func(at *path) error {
		from := r.offset()
		if err := r.object(at, members, len(members)); err != nil {
			return err
		}
		if _, twice := approved[t]; twice {
			return r.fail(at, from, fmt.Errorf("%s of %s stands here twice", quote(t.Name), quote(t.Server)))
		}
		approved[t] = engine.Fingerprint(f)
		return nil
	})
	req.Request.Approved = engine.NewBaseline(approved)
	return err
}

// DecodeArguments reads the arguments of a call: one JSON object, as strictly as [DecodeRequest] reads it, or null for
// none. Numbers are json.Number. The error is a *[RequestError].
func DecodeArguments(data []byte) (map[string]any, error) { return decodeObject(data, true) }

// DecodeObject is [DecodeArguments] for an object that must be one, such as the attributes of a caller.
func DecodeObject(data []byte) (map[string]any, error) { return decodeObject(data, false) }

func decodeObject(data []byte, orNull bool) (map[string]any, error) {
	r := &reader{text: data}
	r.reset()
	object, err := r.strictObject(nil, orNull)
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
